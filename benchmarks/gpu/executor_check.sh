#!/usr/bin/env bash
# Runs the CUDA executor's tests on this machine's GPU and keeps the figures that they print.
#
#   benchmarks/gpu/executor_check.sh BUILD [FILE]     BUILD: a build tree with ouroboros_tests_replay
set -eu -o pipefail
build=${1:?usage: benchmarks/gpu/executor_check.sh BUILD [FILE]}
output=${2:-/dev/null}
OUROBOROS_LIBEXEC=${OUROBOROS_LIBEXEC:-$build/src} \
  "$build/tests/cpp/ouroboros_tests_replay" '-#' '[#test_cuda_gpu][gpu]' -d yes | tee "$output"
