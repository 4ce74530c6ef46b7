#!/usr/bin/env bash
# Prepares this checkout: Debian packages that are missing, a virtual environment, PyTorch.
# Safe to run again: what is there is left alone. The environment variables VENV, PYTHON and TORCH
# choose the environment's folder, the interpreter it is made from and the requirement for PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
torch=${TORCH:-torch==2.13.0}

say() { printf '\033[1m-- %s\033[0m\n' "$*"; }

compiles() { printf '%s\n' "$@" | ${CXX:-g++} -std=c++20 -E -x c++ -o /dev/null - 2>/dev/null; }

# Whether an interpreter is new enough, can make an environment and has its headers.
usable_python() {
  "$1" - 2>/dev/null <<'PY'
import ensurepip, os, sys, sysconfig, venv
ok = sys.version_info >= (3, 10)
sys.exit(not (ok and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))))
PY
}

missing=()
command -v "${CXX:-g++}" >/dev/null || missing+=(g++)
command -v git >/dev/null || missing+=(git)
command -v cmake >/dev/null || missing+=(cmake)
command -v ninja >/dev/null || missing+=(ninja-build)
command -v ccache >/dev/null || missing+=(ccache)
command -v readelf >/dev/null || missing+=(binutils)
compiles '#include <fmt/format.h>' || missing+=(libfmt-dev)
compiles '#include <nlohmann/json.hpp>' || missing+=(nlohmann-json3-dev)
compiles '#include <catch2/catch.hpp>' || compiles '#include <catch2/catch_all.hpp>' ||
  missing+=(catch2)
if [ -z "${PYTHON:-}" ]; then
  PYTHON=python3
  usable_python python3 || missing+=(python3 python3-venv python3-dev)
fi

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "Missing: ${missing[*]} (names of Debian packages). Install them and run this again." >&2
    exit 1
  fi
  say "installing ${missing[*]}"
  sudo=
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq || true  # A stale list often still does; the next line is the judge.
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
fi

if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
  for candidate in "$PYTHON" /usr/bin/python3; do
    usable_python "$candidate" && break
  done
  if ! usable_python "$candidate"; then
    echo "Python 3.10 or later with venv and headers is needed: set PYTHON=..." >&2
    exit 1
  fi
  say "making $venv with $("$candidate" --version)"
  "$candidate" -m venv "$venv"
fi
pip() { "$venv/bin/python" -m pip --disable-pip-version-check -q "$@"; }

# Distributions whose CMake is too old get it from PyPI.
if ! cmake --version 2>/dev/null | awk 'NR==1 {split($3, v, "."); exit !(v[1] > 3 || v[2] >= 25)}'
then
  "$venv/bin/cmake" --version >/dev/null 2>&1 || { say "installing CMake"; pip install 'cmake>=3.25'; }
fi

if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
  # Numpy first: PyTorch warns where it is missing.
  if nvidia-smi >/dev/null 2>&1; then
    say "installing $torch"
    pip install numpy "$torch"
  else
    say "installing $torch for the CPU"
    # PyPI's own wheel brings gigabytes of CUDA libraries: the index for CPUs comes first.
    pip install --retries 0 --timeout 15 --index-url https://download.pytorch.org/whl/cpu \
      numpy "$torch" 2>/dev/null || pip install numpy "$torch"
  fi
fi

# Everything else, at the versions that pyproject.toml names. PyTorch is no build requirement, so
# isolation is off, and what builds has to be there first.
mapfile -t build < <(sed -nE 's/^ +"((pybind11|scikit-build-core)==[^"]*)",$/\1/p' pyproject.toml)
pip install "${build[@]}"
