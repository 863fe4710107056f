#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport --trace: the JSON that Chrome's viewers read, nested as they want it.

load common

DATA=$ROOT/tests/data

slogreport() {
    "$BUILD/slogreport" "$@"
}

# Whether on each track every span lies within or behind the ones before it.
well_nested() {
    jq -e '[.traceEvents[] | select(.ph == "X")
            | {track: [.pid, .tid], from: (.ts * 1000 | round), to: ((.ts + .dur) * 1000 | round)}]
        | group_by(.track) | all(.[];
            sort_by([.from, -.to])
            | reduce .[] as $span ({open: [], good: true};
                .open |= until(length == 0 or .[-1] > $span.from; .[:-1])
                | if (.open | length) > 0 and $span.to > .open[-1] then .good = false else . end
                | .open += [$span.to])
            | .good)' "$1" > /dev/null
}

@test "spans nest on every track, and each vat and the kernel have theirs" {
    cd "$BATS_TEST_TMPDIR"
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        slogreport --trace trace.json "$file" 2> /dev/null
        well_nested trace.json || fail "$file does not nest"
    done
    run slogreport --trace trace.json "$DATA/small.slog.gz"
    assert_status 0
    assert_equal "$output" ""
    assert_equal "$(jq -r '[.traceEvents[] | select(.name == "thread_name") | .args.name] | join(",")' trace.json)" \
        'kernel,v1 bootstrap,v2 vatAdmin,v3 bank,v4 producer'
}

@test "each delivery is there with its time, and what its spans leave open is the worker's" {
    cd "$BATS_TEST_TMPDIR"
    slogreport --trace trace.json --json "$DATA/small.slog.gz" | jq -c 'select(.kind == "delivery")
        | [.crankNum, .description, (.total * 1e9 | round), (.worker | if . then . * 1e9 | round else null end)]' > expected
    jq -c '[.traceEvents[] | select(.ph == "X")] as $spans
        | $spans[] | select(.cat == "delivery") as $delivery
        | ([$spans[] | select(.tid == $delivery.tid and .cat != "delivery" and .ts >= $delivery.ts
                and .ts < $delivery.ts + $delivery.dur)
            | select(.cat == "syscall" or .cat == "console" or .name == "send delivery" or .name == "return result")
            | .dur * 1000 | round] | add) as $inner
        | ($delivery.dur * 1000 | round) as $total
        | [$delivery.args.crankNum, $delivery.name, $total, (if $inner then $total - $inner else null end)]' \
        trace.json > found
    diff expected found
}

@test "a second kernel is a second process, and what the clock spoiled is left out" {
    cd "$BATS_TEST_TMPDIR"
    slogreport --trace trace.json "$DATA/shapes/restart.slog"
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "delivery") | .pid]' trace.json)" '[1,2]'
    slogreport --trace trace.json "$DATA/shapes/clock.slog"
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "delivery") | .args.crankNum]' trace.json)" '[49]'
    assert_equal "$(jq -c 'all(.traceEvents[]; .ph == "M" or .dur >= 0)' trace.json)" true
}

@test "a trace that cannot be written is an error" {
    run --separate-stderr slogreport --trace "$BATS_TEST_TMPDIR/none/trace" "$DATA/small.slog.gz"
    assert_bad_input 4 none/trace
    run --separate-stderr slogreport --trace /dev/full "$DATA/small.slog.gz"
    assert_bad_input 4 /dev/full
}
