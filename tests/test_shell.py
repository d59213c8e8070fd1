"""What the shell knows of `activescale`: completion, the manual page, the help."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from tests.lib.activescale import BINARY

ALL_COMMANDS = [
    "completion",
    "doctor",
    "explain",
    "help",
    "query",
    "recommend",
    "serve",
    "simulate",
    "top",
    "version",
]
_PROMPT = "READY> "
_ALL = "\x1b*"  # readline's insert-completions, and the key that zsh is given
_TO_START = "\x01"


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)


class Terminal:
    """An interactive shell that has sourced the completion, with `activescale` on its PATH."""

    def __init__(self, argv, setup, folder: pathlib.Path):
        (folder / "bin").mkdir()
        (folder / "bin/activescale").symlink_to(BINARY)
        self.work = folder / "work"
        self.work.mkdir()
        environment = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "PS1": _PROMPT,
        }
        pid, self._fd = pty.fork()
        if pid == 0:
            os.chdir(self.work)
            os.execvpe(argv[0], argv, environment)
        self._pid = pid
        for line in setup:
            self.enter(line)

    def close(self):
        os.close(self._fd)
        os.waitpid(self._pid, 0)

    def enter(self, keys: str) -> str:
        """What is printed until a marker that is echoed after `keys`."""
        mark = f"MARK{time.monotonic_ns()}"
        os.write(self._fd, f"{keys}\n".encode())
        # In two parts, so that the command itself is not taken for its output.
        os.write(self._fd, f"echo {mark[:6]}''{mark[6:]}\n".encode())
        seen = b""
        end = time.monotonic() + 20
        while not re.search(rf"^{mark}".encode(), seen, re.MULTILINE):
            assert time.monotonic() < end, seen
            if select.select([self._fd], [], [], 0.2)[0]:
                seen += os.read(self._fd, 65536)
        return seen.decode()

    def complete(self, line: str) -> str:
        """The line with all of its completions in place of its last word."""
        seen = self.enter(f"{line}{_ALL}{_TO_START}echo '@@' ")
        found = re.findall(r"^@@ (.*?)\r?$", seen, re.MULTILINE)
        assert found, seen
        return found[-1].rstrip()


@pytest.fixture
def bash(tmp_path):
    setup = [
        "bind 'set enable-bracketed-paste off'",
        "bind 'set bell-style none'",
        "source <(activescale completion bash)",
    ]
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], setup, tmp_path)
    yield terminal
    terminal.close()


CASES = [
    ("activescale doc", "activescale doctor"),
    ("activescale ", f"activescale {' '.join(ALL_COMMANDS)}"),
    ("activescale doctor --env", "activescale doctor --envoy-config"),
    ("activescale doctor --standalone --env", "activescale doctor --standalone --envoy-config"),
    ("activescale doctor --output ", "activescale doctor --output json text"),
    ("activescale doctor --output=j", "activescale doctor --output=json"),
    ("activescale top --outp", "activescale top --output"),
    ("activescale help sim", "activescale help simulate"),
    ("activescale completion ", "activescale completion bash fish zsh"),
    # Flags alone are those of serve.
    ("activescale --absent-f", "activescale --absent-family"),
    ("activescale --absent-family ", "activescale --absent-family keep zero"),
    ("activescale serve --absent-family=z", "activescale serve --absent-family=zero"),
    ("activescale serve --tls-cert-file ser", "activescale serve --tls-cert-file serving.crt"),
    ("activescale serve --cert-dir ser", "activescale serve --cert-dir serving.d/"),
    ("activescale simulate --comp", "activescale simulate --compare"),
    # Nobody but the user knows these.
    ("activescale serve --ttl ", "activescale serve --ttl"),
    ("activescale top -n ", "activescale top -n"),
    ("activescale query ", "activescale query"),
]


def test_bash_completes(bash):
    for name in ("serving.crt", "two words.pem"):
        (bash.work / name).touch()
    (bash.work / "serving.d").mkdir()
    for line, want in CASES:
        if "--tls-cert-file ser" in line:
            want += " serving.d"  # a file may be in it
        if "--cert-dir" in line:
            want = want.rstrip("/")
        found = bash.complete(line)
        assert found.replace("/", "") == want.replace("/", ""), line
    assert bash.complete("activescale doctor --envoy-config tw").endswith(" two words.pem")


def test_bash_completes_every_flag(bash):
    for command in ("serve", "doctor", "simulate"):
        told = re.findall(r"^  (?:-\w, )?(--[\w-]+)", run("help", command).stdout, re.MULTILINE)
        assert len(told) > 10
        assert set(told) <= set(bash.complete(f"activescale {command} --").split())


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes(tmp_path):
    setup = [
        "PS1='READY> '; unsetopt prompt_sp; zle_bracketed_paste=()",
        "autoload -U compinit && compinit -D -u",
        "zstyle ':completion:all:*' completer _all_matches _complete",
        "zstyle ':completion:all:*' insert true",
        "zle -C all complete-word _generic && bindkey -e && bindkey '\\e*' all",
        "source <(activescale completion zsh)",
    ]
    terminal = Terminal(["zsh", "-f", "-i"], setup, tmp_path)
    (terminal.work / "serving.crt").touch()
    (terminal.work / "serving.d").mkdir()
    for line, want in CASES:
        if "serving" in want:
            continue
        found = terminal.complete(line)
        assert sorted(found.split()) == sorted(want.split()), line
    terminal.close()


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes(tmp_path):
    script = tmp_path / "activescale.fish"
    script.write_text(run("completion", "fish").stdout)
    (tmp_path / "serving.crt").touch()
    (tmp_path / "serving.d").mkdir()
    environment = {**os.environ, "HOME": str(tmp_path)}
    for line, want in CASES:
        asked = f"source {script}; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", asked],
            capture_output=True,
            text=True,
            timeout=30,
            env=environment,
            cwd=tmp_path,
        )
        assert done.stderr == "", line
        offered = [row.split("\t")[0] for row in done.stdout.splitlines()]
        before, _, _ = line.rpartition(" ")
        wanted = want.removeprefix(before).split()
        if "--tls-cert-file" in line:
            wanted.append("serving.d/")
        assert sorted(offered) == sorted(wanted), line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_clean(shell):
    done = run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([shell, "-n"], input=done.stdout, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    if shell == "bash" and shutil.which("shellcheck"):
        lint = subprocess.run(
            ["shellcheck", "--shell=bash", "-"], input=done.stdout, capture_output=True, text=True
        )
        assert (lint.returncode, lint.stdout) == (0, "")


def test_manual_page(tmp_path):
    done = run("docs", "man")
    assert (done.returncode, done.stderr) == (0, "")
    for command in ALL_COMMANDS:
        assert f"\n.SS {command}\n" in done.stdout
    settings = re.findall(r"^\| `--([\w-]+)`", run("docs", "configuration").stdout, re.MULTILINE)
    assert len(settings) > 60
    for setting in settings:
        assert "\\fB\\-\\-" + setting.replace("-", "\\-") + "\\fR" in done.stdout
    page = tmp_path / "activescale.1"
    page.write_text(done.stdout)
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", page], capture_output=True, text=True
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "activescale - scale Kubernetes workloads" in text
    assert "--ttl=DURATION" in text and "Variable: METRIC_TTL. Default: 20s." in text
    assert "Age (±10 %) at which a connection is asked to end" in text


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (["completion"], "usage: activescale completion bash|zsh|fish"),
        (["completion", "tcsh"], "usage: activescale completion bash|zsh|fish"),
        (["docs", "all"], "usage: activescale docs configuration|man"),
        (["help", "nothing"], 'unknown command "nothing"'),
        (["nothing"], 'unknown command "nothing"'),
    ],
)
def test_what_there_is_not_is_refused(arguments, usage):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert usage in done.stderr


@pytest.mark.parametrize("command", [*ALL_COMMANDS, "docs"])
def test_help_is_grouped_and_fits_the_terminal(command):
    done = run(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("help", command).stdout
    assert f"\nusage: activescale {command}" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100
    for line in done.stdout.splitlines():
        # Each value has its unit or its choices.
        assert not re.search(r"  --[\w-]+ (TEXT|INT|UINT|FLOAT)\b.*(seconds|duration)", line)


def test_help_says_how_values_are_written():
    text = run("help", "serve").stdout
    for kind, example in (("DURATION", "300ms"), ("BYTES", "32Mi"), ("LIST", "a,b")):
        assert re.search(rf"^  {kind} +.*{example}", text, re.MULTILINE)
    assert "  --ttl DURATION " in text
    assert "[$METRIC_TTL; default 20s]" in text
    assert "Cluster:" in run("help", "doctor").stdout
