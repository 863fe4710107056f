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

@test "what npm's client had recorded is played again and comes out the same" {
    recorder=$BATS_TEST_TMPDIR/recorder frames=$BATS_TEST_TMPDIR/frames
    printf '#!/bin/sh\nexec "%s" --record "%s" "$@"\n' "$BUILD/gaspipe-worker" "$frames" > "$recorder"
    chmod +x "$recorder"
    session "$recorder" > "$BATS_TEST_TMPDIR/recorded"
    session "$BUILD/gaspipe-worker" > "$BATS_TEST_TMPDIR/ours"
    diff "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/recorded"
    played=0
    for file in "$frames"/*.frames; do
        # Scripts and modules that the session ran are gone with it; what was ended by force
        # can only be played into the same loop.
        ! grep -qaE '> [0-9]+ [0-9]+ s/|issueCommand.*for \(;;\)' "$file" || continue
        run "$BUILD/gaspipe" replay "$file"
        assert_status 0
        played=$((played + 1))
    done
    [ "$played" -ge 10 ]
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
