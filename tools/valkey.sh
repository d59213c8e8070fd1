#!/usr/bin/env bash
# Puts Valkey 8 of bookworm-backports into .cache/valkey for tests/redis, without touching the
# system's package sources. The package is checked against Debian's keys by apt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$PWD/.cache/valkey
[[ -x $target/usr/bin/valkey-server ]] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial"
echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' \
  'http://deb.debian.org/debian bookworm-backports main' >"$work/sources.list"
apt=(apt-get -q -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
  -o Acquire::Retries=3)
((EUID != 0)) || apt+=(-o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$work" && "${apt[@]}" download valkey-tools)
mkdir -p "$target"
dpkg-deb -x "$work"/valkey-tools_*.deb "$target"
# The server, too, is this program, by its name.
ln -sf valkey-check-rdb "$target/usr/bin/valkey-server"
"$target/usr/bin/valkey-server" --version
