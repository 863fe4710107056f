#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport --trace: JSON for Chrome's viewers, nested as they require.

load common

DATA=$ROOT/tests/data

slogreport() {
    "$BUILD/slogreport" "$@"
}

# Checks for each track, with events ordered by time and then as in the file, that
# each E ends the latest open B, and that all are ended. Times are $2 of `ts`,
# which a reader may have as they are, or cut to nanoseconds or microseconds.
well_nested() {
    jq -e --arg cut "$2" '
        def moment: if $cut == "ns" then .ts * 1000 | floor elif $cut == "us" then .ts | floor else .ts end;
        [.traceEvents | to_entries[] | select(.value.ph == "B" or .value.ph == "E")
            | {place: .key, at: (.value | moment), track: [.value.pid, .value.tid], event: .value}]
        | group_by(.track) | all(.[];
            sort_by([.at, .place])
            | reduce .[].event as $event ({open: [], good: true};
                if $event.ph == "B" then .open += [$event.name]
                elif .open[-1:] == [$event.name] then .open |= .[:-1]
                else .good = false end)
            | .good and .open == [])' "$1" > /dev/null
}

# The spans of a trace, one a line: [pid, tid, cat, name, ts, dur, to, args], by begin and end.
spans() {
    jq -c 'reduce (.traceEvents[] | select(.ph == "B" or .ph == "E")) as $event ({open: {}, spans: []};
            "\($event.pid) \($event.tid)" as $track
            | if $event.ph == "B" then .open[$track] += [$event]
              else .open[$track][-1] as $begin | .open[$track] |= .[:-1]
                | .spans += [$begin | {pid, tid, cat, name, ts, dur, args, to: $event.ts}] end)
        | .spans[]' "$1"
}

@test "spans nest on every track, and each vat and the kernel have theirs" {
    cd "$BATS_TEST_TMPDIR"
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        slogreport --trace trace.json "$file" 2> /dev/null
        for cut in as-it-is ns us; do
            well_nested trace.json $cut || fail "$file does not nest, cut to $cut"
        done
        assert_equal "$(spans trace.json | jq -s 'all(((.to - .ts - .dur) | fabs) < 0.0001)')" true "$file"
    done
    run slogreport --trace trace.json "$DATA/small.slog.gz"
    assert_status 0
    assert_equal "$output" ""
    assert_equal "$(jq -r '[.traceEvents[] | select(.name == "thread_name") | .args.name] | join(",")' trace.json)" \
        'kernel,phases,phases (2),v1 bootstrap,v2 vatAdmin,v3 bank,v4 producer'
}

@test "each delivery is there with its time, and what its spans leave open is the worker's" {
    cd "$BATS_TEST_TMPDIR"
    slogreport --trace trace.json --json "$DATA/small.slog.gz" | jq -c 'select(.kind == "delivery")
        | [.crankNum, .description, (.total * 1e9 | round), (.worker | if . then . * 1e9 | round else null end)]' > expected
    spans trace.json | jq -s -c 'sort_by(.ts) as $spans
        | $spans[] | select(.cat == "delivery") as $delivery
        | ([$spans[] | select(.tid == $delivery.tid and .cat != "delivery" and .ts >= $delivery.ts
                and .ts < $delivery.ts + $delivery.dur)
            | select(.cat == "syscall" or .cat == "console" or .name == "send delivery" or .name == "return result")
            | .dur * 1000 | round] | add) as $inner
        | ($delivery.dur * 1000 | round) as $total
        | [$delivery.args.crankNum, $delivery.name, $total, (if $inner then $total - $inner else null end)]' > found
    diff expected found
}

@test "a second kernel is a second process, and what the clock spoiled is left out" {
    cd "$BATS_TEST_TMPDIR"
    slogreport --trace trace.json "$DATA/shapes/restart.slog"
    assert_equal "$(jq -c '[.traceEvents[] | select(.ph == "B" and .cat == "delivery") | .pid]' trace.json)" '[1,2]'
    slogreport --trace trace.json "$DATA/shapes/clock.slog"
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "delivery") | .args.crankNum]' trace.json)" '[49]'
    assert_equal "$(jq -c 'all(.traceEvents[]; .ph != "B" or .dur >= 0)' trace.json)" true
}

# The lines of a delivery to vat v$1 that begins at $2 and ends at $3 microseconds, with a
# syscall from $4 to $5.
delivery() {
    awk -v vat="$1" -v from="$2" -v to="$3" -v asked="$4" -v answered="$5" 'function line(type, us, more) {
        printf "%d {\"type\":\"%s\",\"crankNum\":%d,\"vatID\":\"v%d\",\"deliveryNum\":%d,\"replay\":false,%s,\"time\":%.6f}\n",
            us, type, vat, vat, vat, more, 1000 + us / 1e6
    }
    BEGIN {
        line("deliver", from, "\"vd\":[\"bringOutYourDead\"]")
        line("syscall", asked, "\"syscallNum\":0,\"syscall\":\"vatstoreGet\",\"vsc\":[\"vatstoreGet\",\"k\"]")
        line("syscall-result", answered, "\"syscallNum\":0,\"vsr\":[\"ok\",null]")
        line("deliver-result", to, sprintf("\"dr\":[\"ok\",null,{\"compute\":1,\"timestamps\":[%.6f,%.6f,%.6f,%.6f]}]",
            1000 + (from + 1) / 1e6, 1000 + (asked - 1) / 1e6, 1000 + (answered + 1) / 1e6, 1000 + (to - 1) / 1e6))
    }'
}

@test "what the kernel did for two deliveries at the same time does not overlap on a track" {
    cd "$BATS_TEST_TMPDIR"
    { delivery 1 0 100 10 40 && delivery 2 20 60 30 50; } | sort -n -s -k 1,1 | sed 's/^[0-9]* //' > slog
    slogreport --trace trace.json slog
    well_nested trace.json as-it-is
    assert_equal "$(jq -r '[.traceEvents[] | select(.name == "thread_name") | .args.name] | join(",")' trace.json)" \
        'kernel,v2 ,v1 ,kernel (2)'
    assert_equal "$(spans trace.json | jq -s -c '[.[] | select(.cat == "kernel" and .name == "vatstoreGet") | [.ts + 0, .to + 0]] | sort')" \
        '[[-10,20],[10,30]]'
}

@test "deliveries that the clock moved into each other are side by side" {
    cd "$BATS_TEST_TMPDIR"
    { delivery 1 0 100 10 40 && delivery 1 50 90 60 70; } | sed 's/^[0-9]* //' > slog
    slogreport --trace trace.json slog
    well_nested trace.json as-it-is
    assert_equal "$(spans trace.json | jq -s -c '[.[] | select(.cat == "delivery") | [.tid == 1, .ts + 0, .to + 0]] | sort')" \
        '[[false,50,90],[true,0,100]]'
}

@test "a trace that cannot be written is an error" {
    run --separate-stderr slogreport --trace "$BATS_TEST_TMPDIR/none/trace" "$DATA/small.slog.gz"
    assert_bad_input 4 none/trace
    run --separate-stderr slogreport --trace /dev/full "$DATA/small.slog.gz"
    assert_bad_input 4 /dev/full
}
