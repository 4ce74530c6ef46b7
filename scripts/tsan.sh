#!/usr/bin/env bash
# Builds what has threads with ThreadSanitizer and runs its tests; then judges in many threads at
# once, again and again, for so many seconds:
#   scripts/tsan.sh [SECONDS]
# Run it through `make tsan`, which sets up first. docs/security.md says what came of it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
venv=$(realpath "${VENV:-.venv}")
build=build/tsan
cmake=cmake
"$cmake" --version 2>/dev/null | awk 'NR==1 {split($3, v, "."); exit !(v[1] > 3 || v[2] >= 25)}' ||
  cmake=$venv/bin/cmake
CMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true)
export CMAKE_CXX_COMPILER_LAUNCHER

"$cmake" --preset tsan -DPython_EXECUTABLE="$venv/bin/python" >/dev/null
"$cmake" --build "$build" --target ouroboros_tests_replay ouroboros_tests_referee

# A second thread of OpenMP's would be one that ThreadSanitizer cannot follow.
export OMP_NUM_THREADS=1 VIRTUAL_ENV=$venv OUROBOROS_LIBEXEC=$PWD/$build/src
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
# Kernels that spread addresses further than ThreadSanitizer expects: without that it does not start.
run=()
"$build/tests/cpp/ouroboros_tests_replay" --list-tags >/dev/null 2>&1 || run=(setarch -R)

"${run[@]}" "$build/tests/cpp/ouroboros_tests_replay" '~[gpu]'
"${run[@]}" "$build/tests/cpp/ouroboros_tests_referee" '-#' '[#test_referee]'
rounds=0
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
  "${run[@]}" "$build/tests/cpp/ouroboros_tests_referee" '[#test_referee_threads]' '-#'
  rounds=$((rounds + 1))
done
echo "no race in $rounds rounds of concurrent verdicts"
