# make demo | test | lint | tsan | bench | stubs | clean. Every target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV ?= .venv
JOBS ?= $(shell nproc)
PY := $(VENV)/bin/python
export VENV

export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# One name for the compiler in every build: ccache tells `c++` from `g++`.
export CXX
# And one name for a source in every build tree, whatever checkout it is in.
export CCACHE_BASEDIR := $(CURDIR)
# The environment's tools last: the system's CMake and Ninja are preferred where they are new enough.
export PATH := $(PATH):$(abspath $(VENV))/bin

SOURCES := $(shell find CMakeLists.txt pyproject.toml README.md cmake src include bindings python \
             tests/attacks examples/kernels -type f -not -name '*.pyc' 2>/dev/null)

.PHONY: help setup demo test lint format tsan stubs bench gpu-evidence clean
help:
	@echo "make demo    judge two honest kernels and six cheats"
	@echo "make test    build and test everything"
	@echo "make lint    formatting, style, types, spelling"
	@echo "make format  rewrite sources in the house style"
	@echo "make stubs   regenerate the type stubs of the C++ module"
	@echo "make bench   run the benchmarks and rewrite benchmarks/results/cpu"
	@echo "make tsan    judge in many threads at once under ThreadSanitizer"
	@echo "make gpu-evidence  build, test and measure on this machine's GPU"
	@echo "make clean   remove build trees (the environment stays: rm -rf $(VENV))"

setup: $(VENV)/.installed

$(VENV)/.ready: scripts/setup.sh
	@scripts/setup.sh
	@touch $@

# The package with everything that a developer needs. Rebuilds are incremental. The C++ tree of
# `make test` has the same sources and flags, so with ccache it costs next to nothing after this.
$(VENV)/.installed: $(VENV)/.ready $(SOURCES)
	@echo "-- building and installing the package"
	@CMAKE_CXX_COMPILER_LAUNCHER=$$(command -v ccache || true) \
	  $(PY) -m pip --disable-pip-version-check -q install --no-build-isolation \
	  --config-settings=cmake.define.OUROBOROS_WERROR=ON '.[dev]'
	@touch $@

demo: setup
	@$(VENV)/bin/ouroboros demo

test: setup
	@scripts/test.sh

lint: setup
	@scripts/lint.sh

format: setup
	@git ls-files -co --exclude-standard '*.cpp' '*.hpp' ':!tests/attacks' | xargs $(VENV)/bin/clang-format -i
	@$(VENV)/bin/ruff check -q --fix . || true
	@$(VENV)/bin/ruff format -q .

gpu-evidence: setup
	@scripts/gpu_evidence.sh

tsan: setup
	@scripts/tsan.sh

stubs: setup
	@scripts/stubs.sh python

bench: setup
	@for program in benchmarks/*/run.py; do echo "-- $$program"; $(PY) "$$program"; done

clean:
	rm -rf build dist $(VENV)/.installed
