#!/usr/bin/env bash
# Everything that needs a GPU: builds, runs the GPU tests, measures, and writes JSON.
#     scripts/gpu_evidence.sh [FOLDER]
# FOLDER gets replay.json and clock.json; by default benchmarks/results/<the GPU's name>. Logs, with the figures that
# the executor's tests print, are in build/gpu-evidence. The environment
# variable COMMIT names what is measured where this is no git checkout.
set -uo pipefail
cd "$(dirname "$0")/.."
if ! gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1); then
  echo "There is no NVIDIA GPU here (nvidia-smi does not answer): nothing was measured." >&2
  exit 1
fi
short=$(tr '[:upper:]' '[:lower:]' <<<"$gpu" | grep -oE '[a-z]*[0-9]+[a-z]*' | head -n 1)
out=$(realpath -m "${1:-benchmarks/results/${short:-gpu}}")
python=$(realpath "${VENV:-.venv}")/bin/python
commit=${COMMIT:-$(git rev-parse HEAD 2>/dev/null)}
logs=build/gpu-evidence
mkdir -p "$out" "$logs"
failed=0

run() {
  local name=$1
  shift
  echo "== $name"
  "$@" >"$logs/$name.log" 2>&1 || { failed=1; tail -n 40 "$logs/$name.log"; }
}

run build bash -c "cmake --preset ci -DPython_EXECUTABLE=$python && cmake --build --preset ci"
run ctest ctest --preset ci -V -L gpu --no-tests=error
run pytest "$python" -m pytest -q -m gpu tests/gpu
package=$("$python" -c 'import ouroboros, pathlib; print(pathlib.Path(ouroboros.__file__).parent)')
run consumer bash -c "cmake -S tests/consumer -B build/consumer-gpu -G Ninja \
    -DCMAKE_PREFIX_PATH=$package -DPython_EXECUTABLE=$python && cmake --build build/consumer-gpu &&
  build/consumer-gpu/consumer_referee tests/gpu/kernels/softmax__block.cu softmax time"
run evidence "$python" benchmarks/gpu/evidence.py --out "$out" --commit "$commit"
tail -n 8 "$logs/evidence.log"
run clock "$python" benchmarks/gpu/clock.py --out "$out" --commit "$commit"
tail -n 8 "$logs/clock.log"
[ $failed -eq 0 ] || echo "SOME PARTS FAILED: see the logs in $logs"
exit $failed
