#!/usr/bin/env bash
# Writes the type stubs of the C++ module below a folder: scripts/stubs.sh python
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath "$1")
bin=$(realpath "${VENV:-.venv}/bin")
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$bin/pybind11-stubgen" ouroboros._ouroboros --output-dir "$fresh" --exit-code >/dev/null
"$bin/ruff" format -q --config pyproject.toml "$fresh"
mkdir -p "$target/ouroboros"
(cd "$fresh/ouroboros" && cp -r _ouroboros* "$target/ouroboros/")
