"""The packages of the image's last stage against the shared libraries of the release binary."""

import os
import pathlib
import re
import subprocess

from tests.lib.activescale import BINARY

_LIST = pathlib.Path(__file__).parents[1] / "packages" / "apt-runtime.txt"
# In every image of Debian.
_ESSENTIAL = {"libc6"}
# Data, of which no library can tell.
_DATA = {"ca-certificates"}


def _output(*argv: object) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def _listed() -> set[str]:
    lines = (line.partition("#")[0].strip() for line in _LIST.read_text().splitlines())
    return {line for line in lines if line}


def _needed() -> set[str]:
    """Packages of all shared libraries that the loader takes for the binary."""
    text = _output("ldd", BINARY)
    assert "not found" not in text, text
    libraries = {os.path.realpath(path) for path in re.findall(r"=> (/\S+) \(", text)}
    # /lib is a link to /usr/lib, and packages name their files by either.
    paths = libraries | {path.removeprefix("/usr") for path in libraries}
    owners = {}
    for line in _output("dpkg", "-S", *paths).splitlines():
        package, _, path = line.rpartition(": ")
        owners[os.path.realpath(path)] = package.partition(":")[0]
    assert set(owners) == libraries, f"of no package: {libraries - set(owners)}"
    return set(owners.values())


def _dependencies() -> dict[str, set[str]]:
    """What each installed package needs, one level; of alternatives the first."""
    found = {}
    fields = "${Package};${Pre-Depends},${Depends}\n"
    for line in _output("dpkg-query", "-W", "-f", fields).splitlines():
        package, _, field = line.partition(";")
        names = (re.match(r"\s*([a-z0-9.+-]+)", part) for part in field.split(","))
        found[package] = {name[1] for name in names if name}
    return found


def _installed_with(packages: set[str]) -> set[str]:
    dependencies = _dependencies()
    found, todo = set(), set(packages)
    while todo:
        found |= todo
        todo = {name for package in todo for name in dependencies.get(package, ())} - found
    return found


def test_the_image_has_every_library_of_the_binary():
    missing = _needed() - _installed_with(_listed() - _DATA) - _ESSENTIAL
    assert not missing, f"add to {_LIST.name}: {missing}"


def test_the_image_has_no_library_that_the_binary_does_not_need():
    superfluous = _listed() - _DATA - _needed()
    assert not superfluous, f"remove from {_LIST.name}: {superfluous}"
