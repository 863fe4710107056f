#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The example of vats that call each other: every result and the final state are as computed.

load common

# business COUNT OPTION...: runs COUNT lines of business; $WORK has the outcome.
business() {
    export WORK=$BATS_TEST_TMPDIR/work
    run "$ROOT/examples/exchange/run" "$@"
    assert_status 0
}

@test "a day at the exchange has the computed results, after thousands of deliveries" {
    business 60 --counter none
    [ "$(jq 'select(.kind == "summary") | .deliveries' "$WORK/out.jsonl")" -gt 2000 ]
    assert_equal "$(tail -n 1 "$WORK/results.jsonl" | jq -c '.value.assets | map(.balanced)')" \
        '[true,true,true]'
    # Some orders matched, and some were refused.
    [ "$(tail -n 1 "$WORK/results.jsonl" | jq '.value.counts.trades | tonumber')" -gt 5 ]
    grep -q '"status":"rejected"' "$WORK/results.jsonl"
}

@test "also under the counter" {
    business 3 --counter qemu
    jq -e 'select(.kind == "summary") | .instructions > 0' "$WORK/out.jsonl"
}

@test "a wrong result is found" {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    # A gaspipe whose traders have too much of one asset.
    printf '#!/bin/sh\n"%s/gaspipe" "$@" | sed '"'"'s/"held":"4000000"/"held":"4000001"/'"'"'\n' "$BUILD" \
        > "$BATS_TEST_TMPDIR/bin/gaspipe"
    chmod +x "$BATS_TEST_TMPDIR/bin/gaspipe"
    export WORK=$BATS_TEST_TMPDIR/work
    BUILD=$BATS_TEST_TMPDIR/bin run "$ROOT/examples/exchange/run" 0 --counter none
    assert_status 1
    assert_output_has '4000001'
}

@test "its README" {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir build
    ln -s "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-sandbox,slogreport,libgascount.so} "$BUILD"/*.bundle build/
    ln -s "$ROOT/build/vats" build/vats
    cp -r "$ROOT/examples" .
    BUILD=build run "$ROOT/tests/program/check-document" examples/exchange/README.md
    assert_equal "$output" ""
    assert_status 0
}
