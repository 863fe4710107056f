#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# scripts/run-fuzzers never passes what found something.

load common

# fuzzer NAME SCRIPT: a stand-in for a fuzzer that does what SCRIPT says.
fuzzer() {
    printf '#!/bin/sh\n%s\n' "$2" > "$BATS_TEST_TMPDIR/fuzz_$1"
    chmod +x "$BATS_TEST_TMPDIR/fuzz_$1"
}

run_fuzzers() {
    mkdir -p "$BATS_TEST_TMPDIR/fuzz"
    BUILD=$BATS_TEST_TMPDIR run "$ROOT/scripts/run-fuzzers" "$@"
}

@test "fuzzers that find nothing pass, with how much they tried" {
    fuzzer one 'echo stat::number_of_executed_units: 1234'
    run_fuzzers 1 "$BATS_TEST_TMPDIR/fuzz_one"
    assert_status 0
    assert_output_has 'fuzz_one: 1234 inputs in 1 s'
    assert_equal "${lines[-1]}" '1 passed, 0 failed'
}

@test "a finding fails, and the others are still run" {
    fuzzer one 'echo ERROR: heap-buffer-overflow; exit 77'
    fuzzer two 'echo stat::number_of_executed_units: 1'
    run_fuzzers 1 "$BATS_TEST_TMPDIR/fuzz_one" "$BATS_TEST_TMPDIR/fuzz_two"
    assert_status 1
    assert_output_has 'heap-buffer-overflow'
    assert_equal "${lines[-1]}" '1 passed, 1 failed'
}

@test "no fuzzer at all is not success" {
    run_fuzzers 1
    assert_status 1
}

@test "two at a time: each waits for the other" {
    fuzzer one "mkfifo $BATS_TEST_TMPDIR/meet; echo > $BATS_TEST_TMPDIR/meet"
    fuzzer two "until read -r _ < $BATS_TEST_TMPDIR/meet; do :; done 2> /dev/null"
    fuzzer three 'exit 77'
    JOBS=2 run_fuzzers 1 "$BATS_TEST_TMPDIR/fuzz_one" "$BATS_TEST_TMPDIR/fuzz_two" \
        "$BATS_TEST_TMPDIR/fuzz_three"
    assert_status 1
    assert_equal "${lines[-1]}" '2 passed, 1 failed'
}
