#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What README shows is what comes.

load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# document LINES...: a document with one block of these lines.
document() {
    printf '%s\n' '```sh' "$@" '```' > document.md
    run "$ROOT/tests/program/check-document" document.md
}

@test "check-document takes what is shown, times and counts aside" {
    document '$ printf "a [b]*\n1.000123 5 ms 7 1,234,567\nlast\n"' 'a [b]*' \
        '2.999999  77.5 µs 7   7,654' last
    assert_equal "$output" ""
    assert_status 0
}

@test "check-document passes over how far a command says it is on a busy machine" {
    document "$ echo 'gaspipe: 16 deliveries, 2 vats, 6 s'; echo 'gaspipe: 3 deliveries, 0 failed, 5 s'; echo x" x
    assert_status 0
}

@test "check-document lets … stand for any lines, also for none" {
    document '$ seq 5' 1 … 4 5
    assert_status 0
    document '$ seq 2' 1 2 …
    assert_status 0
}

@test "check-document finds what differs, and says where" {
    document '$ echo 1' 1 '$ echo 2' 3
    assert_status 1
    assert_output_has 'document.md:4: $ echo 2'
    document '$ seq 5' 1 … 6
    assert_status 1
    document '$ echo a; echo b' a
    assert_status 1
    document '$ echo a' a b
    assert_status 1
}

@test "check-document runs a command of several lines" {
    document $'$ echo 1 \\' '    2' '1 2'
    assert_status 0
}

@test "check-document does not pass a document without commands" {
    document 'make'
    assert_status 2
}

# A folder like a fresh checkout after make, whose files the commands may change.
like_a_checkout() {
    mkdir build
    ln -s "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-sandbox,slogreport,libgascount.so} "$BUILD"/*.bundle build/
    ln -s "$ROOT"/{examples,docs,tests} .
}

@test "README" {
    like_a_checkout
    run "$ROOT/tests/program/check-document" "$ROOT/README.md"
    assert_equal "$output" ""
    assert_status 0
}

@test "docs/contracts.md" {
    like_a_checkout
    # The contract that it shows first.
    sed -n '/^\/\/ counter.js/,/^```$/p' "$ROOT/docs/contracts.md" | sed '$d' > counter.js
    run "$ROOT/tests/program/check-document" "$ROOT/docs/contracts.md"
    assert_equal "$output" ""
    assert_status 0
}
