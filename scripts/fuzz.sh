#!/usr/bin/env bash
# Fuzzes the reader of launch plans: scripts/fuzz.sh [SECONDS]
# With libFuzzer where there is a clang that has it, and otherwise with a driver of our own and g++.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
build=build/fuzz
mkdir -p "$build/found"

flags=(-std=c++20 -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all
  -DFMT_HEADER_ONLY -Iinclude -Isrc)
sources=(tests/fuzz/fuzz_plan.cpp src/plan/launch_plan_*.cpp src/plan/cubin.cpp
  src/plan/sha256.cpp src/base/dtype.cpp src/base/error.cpp)

# compile COMPILER SANITIZERS PROGRAM SOURCE...
compile() {
  local compiler=$1 sanitizers=$2 program=$3
  shift 3
  local objects=() source object
  for source in "$@"; do
    object=$program-$(basename "$source" .cpp).o
    objects+=("$object")
    "$compiler" "${flags[@]}" "-fsanitize=$sanitizers" -c "$source" -o "$object"
  done
  "$compiler" "-fsanitize=$sanitizers" "${objects[@]}" -o "$program"
}

# The first clang that has libFuzzer and compiles what this project is written in (15 and later).
clang_with_libfuzzer() {
  local clang
  for clang in clang++ clang++-{21..15}; do
    if "$clang" "${flags[@]}" -fsanitize=fuzzer,address -x c++ - -o "$build/probe" 2>/dev/null <<'CPP'
#include "ouroboros/error.hpp"
extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }
CPP
    then
      echo "$clang"
      return
    fi
  done
}

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0
clang=$(clang_with_libfuzzer)
if [ -n "$clang" ]; then
  compile "$clang" fuzzer,address,undefined "$build/fuzz_plan" "${sources[@]}"
  rm -rf "$build/corpus"
  mkdir -p "$build/corpus"
  "$build/fuzz_plan" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=4096 -timeout=10 \
    -dict=tests/fuzz/plan.dict -print_final_stats=1 -artifact_prefix="$build/found/" \
    "$build/corpus" tests/fuzz/corpus/plan
else
  compile "${CXX:-g++}" address,undefined "$build/fuzz_driver" \
    tests/fuzz/fuzz_driver.cpp "${sources[@]}"
  "$build/fuzz_driver" "$seconds" tests/fuzz/corpus/plan
fi
