"""Certificate authorities and the certificates they issue."""

import dataclasses
import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID_HOURS = 30 * 24


@dataclasses.dataclass(frozen=True)
class KeyPair:
    """A certificate and its key as PEM files."""

    cert: pathlib.Path
    key: pathlib.Path


class Authority:
    """A certificate authority that writes what it issues into one folder."""

    def __init__(self, name: str, folder: pathlib.Path):
        self.name = name
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            _builder(self._subject, self._subject, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .add_extension(_key_usage(sign_certificates=True), True)
            .sign(self._key, hashes.SHA256())
        )
        self.cert = folder / f"{name}.crt"
        self.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        self.key = _write_key(self._key, folder / f"{name}.key")

    @property
    def pem(self) -> str:
        return self.cert.read_text()

    def client(self, user: str, groups: tuple[str, ...] = (), file_name: str = "") -> KeyPair:
        """A client certificate: the common name is the user, the organizations are the groups."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        return self._issue(
            x509.Name(attributes),
            [],
            [ExtendedKeyUsageOID.CLIENT_AUTH],
            self._folder / (file_name or user.replace(":", "_")),
        )

    def server(
        self,
        file_name: str,
        names: tuple[str, ...],
        also_client: bool = False,
        valid_until_hours: float = _VALID_HOURS,
    ) -> KeyPair:
        """A serving certificate for `names` (DNS names or addresses), written as <file_name>.*.

        It is valid since an hour ago; with negative hours from now it has expired.
        """
        usages = [ExtendedKeyUsageOID.SERVER_AUTH]
        if also_client:
            usages.append(ExtendedKeyUsageOID.CLIENT_AUTH)
        return self._issue(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]),
            [_general_name(name) for name in names],
            usages,
            self._folder / file_name,
            valid_until_hours,
        )

    def _issue(
        self,
        subject: x509.Name,
        names: list[x509.GeneralName],
        usages: list[x509.ObjectIdentifier],
        stem: pathlib.Path,
        valid_until_hours: float = _VALID_HOURS,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, self._subject, key, valid_until_hours)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
            .add_extension(_key_usage(sign_certificates=False), True)
            .add_extension(x509.ExtendedKeyUsage(usages), False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        certificate = builder.sign(self._key, hashes.SHA256())
        cert_path = stem.with_name(stem.name + ".crt")
        cert_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return KeyPair(cert_path, _write_key(key, stem.with_name(stem.name + ".key")))


def signing_key(path: pathlib.Path) -> pathlib.Path:
    """A key pair for service-account tokens; the file holds the private key."""
    return _write_key(ec.generate_private_key(ec.SECP256R1()), path)


def _write_key(key: ec.EllipticCurvePrivateKey, path: pathlib.Path) -> pathlib.Path:
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)
    return path


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    valid_until_hours: float = _VALID_HOURS,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=valid_until_hours))
    )


def _key_usage(sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
