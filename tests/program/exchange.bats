#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The example of vats that call each other: every result and the final state are as computed.

load common

setup_file() {
    export DAY=$BATS_FILE_TMPDIR/day

    WORK=$DAY run "$ROOT/examples/exchange/run" 30 --counter none
    assert_status 0
}

@test "a day at the exchange has the computed results, after a thousand deliveries" {
    WORK=$DAY
    [ "$(jq 'select(.kind == "summary") | .deliveries' "$WORK/out.jsonl")" -gt 1000 ]
    assert_equal "$(tail -n 1 "$WORK/results.jsonl" | jq -c '.value.assets | map(.balanced)')" \
        '[true,true,true]'
    # Some orders matched, and some were refused.
    [ "$(tail -n 1 "$WORK/results.jsonl" | jq '.value.counts.trades | tonumber')" -gt 5 ]
    grep -q '"status":"rejected"' "$WORK/results.jsonl"
}

@test "a wrong result is found" {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    # A gaspipe with the day's results, but that traders have too much of one asset.
    sed 's/"held":{"@bigint":"\([0-9]*\)[0-9]"/"held":{"@bigint":"\1x"/' "$DAY/out.jsonl" > "$BATS_TEST_TMPDIR/wrong.jsonl"
    printf '#!/bin/sh\ncat "%s"\n' "$BATS_TEST_TMPDIR/wrong.jsonl" > "$BATS_TEST_TMPDIR/bin/gaspipe"
    chmod +x "$BATS_TEST_TMPDIR/bin/gaspipe"
    export WORK=$BATS_TEST_TMPDIR/work
    BUILD=$BATS_TEST_TMPDIR/bin run "$ROOT/examples/exchange/run" 30 --counter none
    assert_status 1
    assert_output_has 'x"'
}

@test "an option that gaspipe does not know is said, with its exit status" {
    WORK=$BATS_TEST_TMPDIR/work run "$ROOT/examples/exchange/run" 4 --bogus
    assert_status 2
    assert_output_has "unknown option --bogus"
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
