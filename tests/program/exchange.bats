#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The example of vats that call each other: each result, and the end, as worked out.

load common

# business COUNT OPTION...: so many lines; $WORK has what came of them.
business() {
    export WORK=$BATS_TEST_TMPDIR/work
    run "$ROOT/examples/exchange/run" "$@"
    assert_status 0
}

@test "a day at the exchange ends as it was worked out, in thousands of deliveries" {
    business 60 --counter none
    [ "$(jq 'select(.kind == "summary") | .deliveries' "$WORK/out.jsonl")" -gt 2000 ]
    assert_equal "$(tail -n 1 "$WORK/results.jsonl" | jq -c '.value.assets | map(.balanced)')" \
        '[true,true,true]'
    # Orders met, and some were refused.
    [ "$(tail -n 1 "$WORK/results.jsonl" | jq '.value.counts.trades | tonumber')" -gt 5 ]
    grep -q '"status":"rejected"' "$WORK/results.jsonl"
}

@test "under the counter too" {
    business 3 --counter qemu
    jq -e 'select(.kind == "summary") | .instructions > 0' "$WORK/out.jsonl"
}

@test "a result that is another than worked out is found" {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    # A gaspipe whose traders got one more of something.
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
