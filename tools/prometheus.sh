#!/usr/bin/env bash
# Puts the real Prometheus and promtool of Debian 12 into .cache/prometheus for tests. The package is
# not installed: it would start a service on the machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$PWD/.cache/prometheus
[[ -x $target/usr/bin/promtool ]] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
apt=(apt-get -q -o Acquire::Retries=3)
((EUID != 0)) || apt+=(-o APT::Sandbox::User=root)
(cd "$work" && "${apt[@]}" download prometheus)
mkdir -p "$target"
dpkg-deb -x "$work"/prometheus_*.deb "$target"
"$target/usr/bin/prometheus" --version
"$target/usr/bin/promtool" --version
