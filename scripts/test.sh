#!/usr/bin/env bash
# Everything that must pass, step by step; a failure does not stop the steps after it.
# Run it through `make test`, which sets up first.
set -uo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath "${VENV:-.venv}")
build=build/ci
logs=build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
cmake=cmake
"$cmake" --version 2>/dev/null | awk 'NR==1 {split($3, v, "."); exit !(v[1] > 3 || v[2] >= 25)}' ||
  cmake=$venv/bin/cmake
ctest=${cmake%cmake}ctest
CMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache)
export CMAKE_CXX_COMPILER_LAUNCHER

names=()
results=()
failed=0

# step NAME FUNCTION: runs it, keeps its output in a log, shows the log's end when it fails.
step() {
  local name=$1 started=$SECONDS result=passed
  shift
  printf '== %s\n' "$name"
  # Not `if (...)`: a condition would switch `set -e` off inside.
  (set -eo pipefail; "$@") >"$logs/$name.log" 2>&1
  if [ $? -ne 0 ]; then
    result=FAILED
    failed=1
    tail -n 80 "$logs/$name.log"
  fi
  names+=("$name")
  results+=("$result in $((SECONDS - started)) s")
  printf '   %s in %d s\n' "$result" $((SECONDS - started))
}

build_cpp() {
  "$cmake" --preset ci -DPython_EXECUTABLE="$venv/bin/python"
  "$cmake" --build --preset ci
}
# The tests that compile CUDA find NVRTC in the environment.
ctest_cpp() {
  local cores
  cores=$(nproc)
  VIRTUAL_ENV=$venv "$ctest" --preset ci --no-tests=error -j $((cores < 4 ? cores : 4))
}

# The install tree is moved before it is used: nothing in it may know where it was made.
consumer() {
  rm -rf build/prefix build/moved build/consumer build/consumer-replay
  "$cmake" --install "$build" --prefix build/prefix
  mv build/prefix build/moved
  local prefix=$PWD/build/moved
  "$cmake" -S tests/consumer -B build/consumer -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DPython_EXECUTABLE="$venv/bin/python"
  "$cmake" --build build/consumer
  "$ctest" --test-dir build/consumer --output-on-failure --no-tests=error
  "$cmake" -S tests/consumer -B build/consumer-replay -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCONSUMER_WITH_REFEREE=OFF -DPython_EXECUTABLE=/nonexistent
  "$cmake" --build build/consumer-replay
  "$ctest" --test-dir build/consumer-replay --output-on-failure --no-tests=error
}

# A GPU is one thing, so its tests take turns.
python_tests() {
  local failed=0
  "$venv/bin/python" -m pytest -q -n auto --maxprocesses 4 --dist worksteal --durations=10 \
    -m 'not gpu' tests || failed=1
  "$venv/bin/python" -m pytest -q -m gpu tests || failed=1
  return $failed
}

stubs() {
  rm -rf build/stubs
  scripts/stubs.sh build/stubs
  local file
  (cd build/stubs/ouroboros && find . -type f) | while read -r file; do
    diff -u "python/ouroboros/$file" "build/stubs/ouroboros/$file"
  done
}

step build build_cpp
step ctest ctest_cpp
step consumer consumer
step fuzz scripts/fuzz.sh 60
step pytest python_tests
step stubs stubs
step lint scripts/lint.sh

printf '\n'
for i in "${!names[@]}"; do printf '%-10s %s\n' "${names[$i]}" "${results[$i]}"; done
grep -hE '^(=+ )?[0-9]+ (passed|failed)|tests passed' "$logs/pytest.log" "$logs/ctest.log" || true

# What failed, by name, and the first assertions of it: whoever reads a log from its end sees why.
if [ $failed -ne 0 ]; then
  grep -hE -A 6 '^[^ ]+:[0-9]+: FAILED|: FAILED:$|^(FAILED|ERROR) |The following tests FAILED' \
    "$logs"/*.log | head -n 60
fi

# What was skipped, and why: pytest's own lines, tests that ctest did not run, labels left out.
skips=$(
  grep -h '^SKIPPED' "$logs/pytest.log" | sed 's/^SKIPPED //'
  grep -hE '\*\*\*(Skipped|Not Run)' "$logs/ctest.log" | sed 's/^ *//'
  nvidia-smi >/dev/null 2>&1 || echo "[label gpu] no NVIDIA GPU on this machine"
)
if [ -n "$skips" ]; then
  printf 'skipped: %s\n' "$(paste -sd'|' <<<"$skips" | sed 's/|/; /g')"
else
  echo 'skipped: nothing'
fi
[ $failed -eq 0 ] && echo 'all steps passed' || echo 'SOME STEPS FAILED'
exit $failed
