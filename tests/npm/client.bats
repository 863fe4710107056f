#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# npm's own client with our worker in the place of its own (make check-npm).

load ../program/common

THEIRS=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker
MODULES=$ROOT/build/npm/node_modules

session() {
    node "$ROOT/tests/npm/client.mjs" "$MODULES" "$@"
}

@test "a session of @agoric/xsnap's client comes out the same with our worker" {
    session "$THEIRS" > "$BATS_TEST_TMPDIR/theirs"
    session "$BUILD/gaspipe-worker" > "$BATS_TEST_TMPDIR/ours"
    diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/ours")" -gt 140 ]
}

@test "so it does with our worker under xsnap-worker's name" {
    ln -s "$BUILD/gaspipe-worker" "$BATS_TEST_TMPDIR/xsnap-worker"
    session "$THEIRS" > "$BATS_TEST_TMPDIR/theirs" 2> "$BATS_TEST_TMPDIR/their-words"
    session "$BATS_TEST_TMPDIR/xsnap-worker" > "$BATS_TEST_TMPDIR/ours" 2> "$BATS_TEST_TMPDIR/our-words"
    diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
    diff "$BATS_TEST_TMPDIR/their-words" "$BATS_TEST_TMPDIR/our-words"
}

@test "a session of our own client comes out the same" {
    session "$BUILD/gaspipe-worker" > "$BATS_TEST_TMPDIR/theirs"
    session "$BUILD/gaspipe-worker" "$BUILD/node/package/src/index.js" > "$BATS_TEST_TMPDIR/ours"
    diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/ours")" -gt 140 ]
}
