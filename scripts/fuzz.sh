#!/usr/bin/env bash
# Fuzzes everything that reads hostile bytes: scripts/fuzz.sh [SECONDS [TARGET...]]
# SECONDS are shared by the targets: plan, module, specification, frames, results, records; without
# names all of them. With libFuzzer where there is a clang that has it, and otherwise with a driver
# of our own and g++. What it finds is left in build/fuzz/found, what it learns in build/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
all=(plan module specification frames results records)
seconds=${1:-60}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
build=build/fuzz
mkdir -p "$build/found"
cmake=cmake
[ -x "${VENV:-.venv}/bin/cmake" ] && cmake=${VENV:-.venv}/bin/cmake

# The first clang that has libFuzzer and compiles what this project is written in (15 and later).
clang_with_libfuzzer() {
  local clang
  for clang in clang++ clang++-{21..15}; do
    if "$clang" -std=c++20 -Iinclude -fsanitize=fuzzer,address -x c++ - -o "$build/probe" \
      2>/dev/null <<'CPP'
#include "ouroboros/error.hpp"
extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }
CPP
    then
      echo "$clang"
      return
    fi
  done
}

# Seeds that are made, not kept.
seeds_of() {
  local target=$1 folder=$2 file
  mkdir -p "$folder"
  case $target in
    module)
      # Linked as src/compile/compiler.cpp links candidates: the loader refuses anything else at once.
      "${CXX:-g++}" -std=c++20 -O2 -fPIC -shared -nodefaultlibs -fno-gnu-unique \
        -Wl,-z,now,-z,noexecstack,-z,text,--hash-style=both -Wl,-Bsymbolic \
        -x c++ - -o "$folder/plain" <<'CPP'
#include <cmath>
static float table[4] = {1, 2, 3, 4};
static float* const rows[2] = {table, table + 2};
static thread_local long calls = 0;
struct First {
  First() { table[3] = std::sqrt(table[2]); }
} first;
extern "C" void run_float32(const float* x, float* out, long n) {
  ++calls;
  for (long i = 0; i < n; ++i) out[i] = std::exp(x[i]) * rows[i % 2][calls % 2];
}
CPP
      ;;
    specification)
      for file in tests/gpu/kernels/*.cu; do
        { printf '\x03\x05'; cat "$file"; } >"$folder/$(basename "$file" .cu)"
      done
      { printf '\x03\x05'; cat <<'SPECIFICATION'; } >"$folder/blocks"
//! state s: int32[rows] = cols + 1
//! if rows > 2:
//!   for i in range(2):
//!     launch k<<<dim3(rows, 2), 32, 4 * cols>>>(x, out, i)
//!   memset out = 0
//! elif (cols) { launch k<<<1, 1>>>(x, s, 1); copy out = x } else if (rows) { let a = 1; }
//! else { for j in range(1, 3) { memset out = 1; } }
SPECIFICATION
      ;;
    records) cp tests/data/verdict_sample.json "$folder/verdict" ;;
  esac
}

clang=$(clang_with_libfuzzer)
libfuzzer=${clang:+ON}
"$cmake" -S tests/fuzz -B "$build/tree" -G Ninja -DCMAKE_CXX_COMPILER="${clang:-${CXX:-g++}}" \
  -DOUROBOROS_LIBFUZZER="${libfuzzer:-OFF}" >"$build/configure.log" ||
  { cat "$build/configure.log"; exit 1; }
"$cmake" --build "$build/tree" --target "${targets[@]/#/fuzz_}"

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0
each=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
for target in "${targets[@]}"; do
  echo "== $target, $each s"
  seeds=$build/seeds/$target
  rm -rf "$seeds"
  seeds_of "$target" "$seeds"
  [ ! -d "tests/fuzz/corpus/$target" ] || cp tests/fuzz/corpus/"$target"/* "$seeds"
  if [ -n "$clang" ]; then
    mkdir -p "$build/corpus/$target"
    dictionary=()
    [ "$target" != plan ] || dictionary=(-dict=tests/fuzz/plan.dict)
    "$build/tree/fuzz_$target" -max_total_time="$each" -max_len=65536 -rss_limit_mb=4096 \
      -timeout=10 -print_final_stats=1 -artifact_prefix="$build/found/" "${dictionary[@]}" \
      "$build/corpus/$target" "$seeds" 2>&1 | tee "$build/$target.log" | tail -n 40
  else
    "$build/tree/fuzz_$target" "$each" "$seeds" 2>&1 | tee "$build/$target.log"
  fi
done
