# The parts of `./dev test`, sourced by it. A part is a function `part_NAME`; what it writes to its
# results folder ($RESULTS) is counted by tools/test_results.py:
#   *.xml     JUnit files of GoogleTest, ctest or pytest
#   checks    lines "passed NAME" or "failed NAME" of checks that are no test framework's
# A part that fails without a failed test, or runs nothing, counts as one failure.
# shellcheck shell=bash

TEST_PARTS=(lint release asan tsan envoy redis hpa promql e2e)

# check NAME COMMAND...: runs one check of a part and notes its result.
check() {
  local name=$1 result=passed
  shift
  logged "$name" "$@" || result=failed
  echo "$result $name" >>"$RESULTS/checks"
  [[ $result == passed ]]
}

run_parts() {
  local parts=("$@") part start status log_dir=$CACHE/results
  ((${#parts[@]} > 0)) || parts=("${TEST_PARTS[@]}")
  for part in "${parts[@]}"; do
    declare -F "part_$part" >/dev/null || {
      say "no test part '$part'; there are: ${TEST_PARTS[*]}"
      return 2
    }
  done
  rm -rf "$log_dir"
  for part in "${parts[@]}"; do
    export RESULTS=$log_dir/$part
    mkdir -p "$RESULTS"
    start=$SECONDS status=0
    say "test part: $part"
    "part_$part" || status=$?
    echo "$status $((SECONDS - start))" >"$RESULTS/outcome"
  done
  python3 tools/test_results.py "$log_dir" "${parts[@]}"
}

# unit_tests PRESET [TARGET] [CTEST-ARGS...]: builds a preset and runs its unit tests.
unit_tests() {
  local preset=$1 target=${2:-all}
  shift $(($# < 2 ? $# : 2))
  build "$preset" "$target" || return
  export GTEST_OUTPUT=xml:$RESULTS/ GTEST_COLOR=no
  logged "unit-$preset" "${TEST_LAUNCHER[@]}" ctest --test-dir "build/$preset" -j "$(nproc)" \
    --output-on-failure --no-tests=error --output-junit "$RESULTS/ctest.xml" "$@"
}
TEST_LAUNCHER=()

part_release() { unit_tests release; }

part_asan() {
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  unit_tests asan
}

# Debian's gRPC and Abseil are not instrumented, so what passes through them looks like a race; the
# suppressions name those libraries only. Address randomization is off, where that is allowed, because
# g++ 12's runtime refuses the memory layouts of newer kernels.
part_tsan() {
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$ROOT/tools/tsan.supp
  local TEST_LAUNCHER=()
  setarch -R true 2>/dev/null && TEST_LAUNCHER=(setarch -R)
  unit_tests tsan threaded_tests -LE pure
}

part_envoy() {
  build release activescale || return
  logged envoy python -m pytest tests --ignore=tests/e2e --ignore=tests/redis -q --junitxml="$RESULTS/pytest.xml"
}

part_redis() {
  build release redis_replica || return
  logged redis tests/redis/run --short --junit "$RESULTS/pytest.xml"
}

# The HPA arithmetic against the controller's own code.
part_hpa() {
  build release hpa_test || return
  logged hpa tests/hpa/run --gtest-output "$RESULTS/hpa.xml"
}

# The real control plane around the real binary, in its short form.
part_e2e() {
  build release activescale || return
  logged e2e tests/e2e/run --short --junit "$RESULTS/pytest.xml"
}

# Short here; `COUNT=200000 ./dev test promql` asks the real engines for longer.
part_promql() {
  build release promql_test || return
  logged promql tests/promql/run --count "${COUNT:-3000}" --seed "${SEED:-1}" \
    --promql-test "$ROOT/build/release/src/promql/promql_test" \
    --gtest-output "$RESULTS/promql.xml"
}

# Ten minutes and more, so not among the parts that run by themselves.
part_faults() {
  build release redis_replica || return
  logged faults tests/redis/run --faults --junit "$RESULTS/pytest.xml"
}

part_lint() {
  local status=0 scripts files
  check configure-for-lint cmake --preset release || return
  check generated-sources cmake --build --preset release --target generated_sources || status=1
  check layers python tools/check_layers.py || status=1
  check tools-tests python -m pytest tools bench -q || status=1
  mapfile -t files < <(own_files '*.cc' '*.h' '*.proto')
  check clang-format clang-format-19 --dry-run --Werror "${files[@]}" || status=1
  mapfile -t scripts < <(own_files dev .ci/run '*.sh' bench/run web/build 'tests/*/run' |
    xargs -r grep -lE '^#!.*bash|shellcheck shell=bash')
  check web-types web/build types || status=1
  check shellcheck shellcheck -x "${scripts[@]}" || status=1
  check ruff-format ruff format --check --quiet . || status=1
  check ruff ruff check --quiet . || status=1
  check gofmt gofmt_is_clean || status=1
  check clang-tidy python tools/tidy.py build/release || status=1
  return "$status"
}

gofmt_is_clean() {
  local go unformatted
  mapfile -t go < <(own_files '*.go')
  ((${#go[@]} == 0)) && return 0
  unformatted=$(gofmt -l "${go[@]}") || return
  [[ -z $unformatted ]] || { echo "not formatted: $unformatted"; return 1; }
}
