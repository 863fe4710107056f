#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# scripts/run-tests counts correctly, and never passes a failure.

load common

# unit NAME SCRIPT: a unit test program that does what SCRIPT says.
unit() {
    mkdir -p "$BATS_TEST_TMPDIR/tests"
    printf '#!/bin/sh\n%s\n' "$2" > "$BATS_TEST_TMPDIR/tests/test_$1"
    chmod +x "$BATS_TEST_TMPDIR/tests/test_$1"
}

run_tests() {
    BUILD=$BATS_TEST_TMPDIR run "$ROOT/scripts/run-tests" "$BATS_TEST_TMPDIR"/tests/*
}

last_line_is() {
    assert_equal "${lines[-1]}" "$1" "the last line"
}

@test "what passed is counted" {
    unit one 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
    unit two 'echo 1..1; echo ok 1 - c'
    run_tests
    assert_status 0
    last_line_is '3 passed, 0 failed'
}

@test "a failure is counted and its output shown" {
    unit one 'echo 1..2; echo ok 1 - a; echo because of the moon; echo not ok 2 - b; exit 1'
    run_tests
    assert_status 1
    assert_output_has 'because of the moon'
    assert_output_lacks 'ok 1 - a'
    assert_equal "${lines[-2]}" 'failed   test_one: 2 - b' 'the line before'
    last_line_is '1 passed, 1 failed'
}

@test "a skipped test is reported with its reason, in both forms" {
    unit one 'echo 1..3; echo ok 1 - a; echo no moon; echo not ok 2 \# SKIP b; echo ok 3 c \# skip no sun'
    run_tests
    assert_status 0
    assert_output_has 'b (no moon)'
    assert_output_has 'no sun'
    last_line_is '1 passed, 0 failed, 2 skipped'
}

@test "the end says for each reason how many tests were skipped, and in which files" {
    unit one 'echo 1..3; echo ok 1 - a; echo ok 2 b in 3ms \# skip no sun; echo ok 3 c \# skip no sun'
    unit two 'echo 1..3; echo no moon; echo not ok 1 \# SKIP a; echo ok 2 b \# skip no sun; echo not ok 3 - c'
    run_tests
    assert_equal "$(printf '%s\n' "${lines[@]: -4:3}")" 'skipped  1 of test_two: no moon
skipped  3 of test_one test_two: no sun
failed   test_two: 3 - c'
    last_line_is '1 passed, 1 failed, 4 skipped'
}

@test "a run with only skipped tests has not passed" {
    unit one 'echo 1..1; echo ok 1 a \# skip no sun'
    run_tests
    assert_status 1
}

@test "planned tests that did not run have failed" {
    unit one 'echo 1..3; echo ok 1 - a; kill -SEGV $$'
    run_tests
    assert_status 1
    assert_equal "${lines[-2]}" 'failed   test_one: 1 passed' 'the line before'
    last_line_is '1 passed, 2 failed'
}

@test "an exit status without a failed test is a failure" {
    unit one 'echo 1..1; echo ok 1 - a; exit 23'
    run_tests
    assert_status 1
    last_line_is '1 passed, 1 failed'
}

@test "a program without output has failed" {
    unit one 'exit 0'
    run_tests
    assert_status 1
    last_line_is '0 passed, 1 failed'
}

@test "a program that hangs is killed, and that is reported" {
    unit one 'echo 1..1; exec sleep 1000'
    TEST_LIMIT=1 run_tests
    assert_status 1
    assert_output_has 'killed after its time limit'
    last_line_is '0 passed, 1 failed'
}

@test "a signal that is ignored outside is not ignored in a test" {
    unit one 'echo 1..1; kill -PIPE $$; echo ok 1 - it is ignored'
    trap '' PIPE
    run_tests
    assert_status 1
    last_line_is '0 passed, 1 failed'
}

@test "each test of a bats file is counted" {
    printf '@test "%s" {\n    %s\n}\n' a true b false c 'skip "no moon"' > "$BATS_TEST_TMPDIR/x.bats"
    BUILD=$BATS_TEST_TMPDIR run "$ROOT/scripts/run-tests" "$BATS_TEST_TMPDIR/x.bats"
    assert_status 1
    assert_output_has 'no moon'
    last_line_is '1 passed, 1 failed, 1 skipped'
}

@test "two runs in one directory at the same time do not harm each other" {
    local second
    export TEST_LIMIT=60

    # Neither copy ends before the other has begun.
    mkfifo "$BATS_TEST_TMPDIR/meet"
    unit one "cd '$BATS_TEST_TMPDIR'
        if mkdir first 2> /dev/null; then read -r word < meet; else echo hello > meet; fi
        echo 1..1; echo ok 1 - met"
    BUILD=$BATS_TEST_TMPDIR "$ROOT/scripts/run-tests" "$BATS_TEST_TMPDIR/tests/test_one" \
        > "$BATS_TEST_TMPDIR/second" &
    second=$!
    run_tests
    assert_status 0
    last_line_is '1 passed, 0 failed'
    wait $second
    assert_equal "$(tail -n 1 "$BATS_TEST_TMPDIR/second")" '1 passed, 0 failed'
    cmp "$BATS_TEST_TMPDIR"/test-logs{,-2}/test_one.log
}

@test "the slowest files are listed, and start first the next time" {
    unit quick 'echo 1..1; echo ok 1 - a'
    unit slow 'sleep 0.3; echo 1..1; echo ok 1 - b'
    printf '@test "one" { sleep 0.5; }\n@test "the slow one" { sleep 0.7; }\n' > "$BATS_TEST_TMPDIR/tests/x.bats"
    JOBS=1 run_tests
    assert_equal "$(grep ^pass <<< "$output" | cut -d ' ' -f 6 | tr '\n' ' ')" 'x test_quick test_slow '
    assert_equal "$(grep -A 3 '^slowest' <<< "$output" | sed -E 's/^ +[0-9.]+ +[0-9.]+  //; s/[0-9.]+ s/N s/' | tail -n 3)" \
        $'x; N s of them: the slow one\ntest_slow\ntest_quick'
    unit unknown 'echo 1..1; echo ok 1 - c'
    JOBS=1 run_tests
    assert_equal "$(grep ^pass <<< "$output" | cut -d ' ' -f 6 | tr '\n' ' ')" 'test_unknown x test_slow test_quick '
    last_line_is '5 passed, 0 failed'
}

@test "a build without times goes by those of the build around it" {
    for name in one two three; do unit $name 'echo 1..1; echo ok 1 - a'; done
    printf '%s build/tests/test_%s\n' '1 1' one '3 1' two '2 1' three > "$BATS_TEST_TMPDIR/test-times"
    JOBS=1 BUILD=$BATS_TEST_TMPDIR/inner run "$ROOT/scripts/run-tests" "$BATS_TEST_TMPDIR"/tests/*
    assert_equal "$(grep ^pass <<< "$output" | cut -d ' ' -f 6 | tr '\n' ' ')" 'test_two test_three test_one '
    # Its own times count more.
    printf '9 1 build/inner/tests/test_one\n' > "$BATS_TEST_TMPDIR/inner/test-times"
    JOBS=1 BUILD=$BATS_TEST_TMPDIR/inner run "$ROOT/scripts/run-tests" "$BATS_TEST_TMPDIR"/tests/*
    assert_equal "$(grep -m 1 ^pass <<< "$output" | cut -d ' ' -f 6)" test_one
}

@test "of many files, the ten slowest are listed" {
    for i in {1..12}; do unit "$i" 'echo 1..1; echo ok 1 - a'; done
    run_tests
    assert_equal "$(grep -c '^ .* test_' <<< "$output")" 10
    last_line_is '12 passed, 0 failed'
}

@test "nothing to run is not a success" {
    run "$ROOT/scripts/run-tests"
    assert_status 2
}
