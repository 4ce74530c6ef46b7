#!/usr/bin/env bash
# Formatting, style, types and spelling. Changes nothing: `make format` does.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=$(realpath "${VENV:-.venv}/bin")
failed=0

step() {
  local name=$1
  shift
  if output=$("$@" 2>&1); then
    printf '   %-14s ok\n' "$name"
  else
    printf '   %-14s FAILED\n%s\n' "$name" "$output" | tail -n 60
    failed=1
  fi
}

# Attacks stand as they are: some are about how a source is written.
mapfile -t cpp < <(git ls-files -co --exclude-standard '*.cpp' '*.hpp' ':!tests/attacks')
[ ${#cpp[@]} -eq 0 ] || step clang-format "$bin/clang-format" --dry-run -Werror "${cpp[@]}"
step ruff "$bin/ruff" check .
step "ruff format" "$bin/ruff" format --check .
step mypy "$bin/mypy"
mapfile -t text < <(git ls-files -co --exclude-standard '*.md' '*.py' '*.pyi' '*.cpp' '*.hpp')
[ ${#text[@]} -eq 0 ] || step codespell "$bin/codespell" "${text[@]}"
exit $failed
