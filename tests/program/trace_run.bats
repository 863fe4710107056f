#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run and replay --trace-functions: what vats do is the same, and every delivery's functions are there.

load common
load trace

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "run --trace-functions: the same results, and the functions of each delivery" {
    two_vats
    run_vats > expected
    for sandbox in basic off; do
        run_vats --sandbox $sandbox --trace-functions run.trace > printed
        diff expected printed
        "$BUILD/gaspipe" trace --json --report report --read run.trace
        assert_equal "$(jq -r 'select(.function == "fxRunID") | .delivery' report | sort)" \
            "$(printf '%s\n' 'v1 fails #3' 'v1 fails #5' 'v1 fails #7' 'v1 startVat #1' 'v1 work #2' \
                'v1 work #4' 'v1 work #6' 'v2 startVat #1' 'v2 work #2' 'v2 work #3' 'v2 work #4')" deliveries
    done
    run_vats --jobs 2 --max-workers 1 --trace-functions run.trace > printed
    diff expected printed
    run_vats --trace-functions run.trace --overhead 5% > printed
    diff expected printed
}

@test "run --overhead: what was left out stays out, and results are the same" {
    cat > v.js <<- 'END'
	export const sort = n => Array.from({ length: n }, (_, i) => (i * 7919) % 10007).sort((p, q) => p - q)[0];
	export const rest = n => { let sum = 0; while (n--) sum ^= n; return sum; };
	END
    printf '{"vat":"v","method":"sort","args":[3000]}\n%.0s' {1..5} > deliveries
    printf '{"vat":"v","method":"rest","args":[20000]}\n%.0s' {1..50} >> deliveries
    "$BUILD/gaspipe" run --json --counter none --vat v=v.js deliveries | jq -c '[.result, .compute]' > expected
    "$BUILD/gaspipe" run --json --counter none --vat v=v.js --trace-functions kept --overhead 10% deliveries 2> said |
        jq -c '[.result, .compute]' > printed
    diff expected printed
    grep -q 'functions left out to keep the overhead, the most called: .* after [0-9]* calls (from [0-9.]* s on)' said
    "$BUILD/gaspipe" trace --json --report report --read kept
    jq -se 'map(select(.kind == "leftOut")) | length > 0 and all(.periods | length == 1 and .[0][0] > 0 and .[0][1] == null)' report
}

@test "trace --profile: what each delivery took by function, and when, for slogreport" {
    two_vats
    run_vats --slog slog --trace-functions run.trace > printed
    "$BUILD/gaspipe" trace --json --report report --read run.trace --profile profile
    # The same calls and times as in the report, by delivery; all nanoseconds of a tree are in its functions.
    assert_equal "$(jq -r 'select(.kind == "function" and (.calls > 0 or .selfNanoseconds > 0)) | "\(.vatID) \(.method) #\(.deliveryNum) \(.function) \(.calls)"' profile | sort | sha256sum)" \
        "$(jq -r '"\(.delivery) \(.function) \(.calls)"' report | sort | sha256sum)"
    assert_equal "$(jq -n '[inputs] | group_by([.vatID, .deliveryNum]) | map(
            (map(select(.kind == "function").selfNanoseconds) | add) as $functions |
            (map(select(.kind == "tree").nodes[][5]) | add) as $nodes |
            ($functions - $nodes | fabs) <= (map(select(.kind == "tree").nodes | length) | add)) |
        [length, all]' -c profile)" '[11,true]'
    # Calls lie within those of their callers, and within the time that the worker says it took.
    assert_equal "$(jq -c 'select(.kind == "tree") | .nodes as $nodes |
        [(.spans | length > 10 and length <= 1000), ([.spans[] | {key: (.[0] | tostring), value: .}] | from_entries | length > 5),
        (.spans as $spans | all(range(1; $spans | length); $spans[. - 1][1] <= $spans[.][1])),
        ([foreach .spans[] as $span ({}; .[$span[0] | tostring] = $span;
            $nodes[$span[0]][0] as $caller | .[$caller | tostring] as $outer |
            $caller == null or ($outer != null and $span[1] >= $outer[1] - 2 and
                $span[1] + $span[2] <= $outer[1] + $outer[2] + 2))] | all)]' profile | sort -u)" '[true,true,true,true]'
    # In a trace of the slog, they lie within their delivery, each below its vat, and are what the profile has.
    "$BUILD/slogreport" --trace trace --profile profile slog
    jq -e '[.traceEvents[] | select(.ph == "M" and .name == "thread_name").args.name] |
        contains(["v1 one", "v1 functions", "v2 functions"])' trace
    jq -e '[.traceEvents[] | select(.cat == "function")] | length > 100 and any(.name == "fxRunID")' trace
    jq -e '[.traceEvents[] | select(.ph == "B" or .ph == "E")] | group_by([.pid, .tid]) | all(.[];
        reduce .[] as $event ({open: [], at: -1e9, good: true};
            .good = (.good and $event.ts >= .at) | .at = $event.ts |
            if $event.ph == "B" then .open += [$event.name]
            else .good = (.good and .open[-1] == $event.name) | .open |= .[:-1] end) |
        .good and .open == [])' trace
    jq -e '[.traceEvents[] | select(.ph == "B")] | map(select(.cat == "delivery")) as $deliveries |
        map(select(.cat == "function")) |
        all(. as $call | any($deliveries[]; $call.ts >= .ts - 0.001 and $call.ts + $call.dur <= .ts + .dur + 0.001))' trace
    run --separate-stderr "$BUILD/slogreport" profile --by delivery profile
    assert_status 0
    assert_output_has ' nanoseconds'
    assert_equal "$("$BUILD/slogreport" profile --json --by delivery profile |
        jq -s 'map(select(.selfNanoseconds > 0 and .self == null)) | length')" 11
    echo '{"kind":"tree","vatID":"v1","deliveryNum":1,"functions":[],"nodes":[[null,0,1,null,null,1]]}' > bad
    run --separate-stderr "$BUILD/slogreport" --trace trace --profile bad slog
    assert_bad_input 3 'bad:1: not a line of a profile'
    run --separate-stderr "$BUILD/gaspipe" trace --profile profile -- true
    assert_bad_input 2 '--profile needs --read'
}

@test "trace --callgrind: all functions of deliveries add up to what callgrind_annotate says is the total" {
    command -v callgrind_annotate > /dev/null || skip 'needs callgrind_annotate'
    two_vats
    run_vats --trace-functions run.trace > printed
    "$BUILD/gaspipe" trace --report report --read run.trace --callgrind callgrind.out
    run callgrind_annotate --threshold=100 callgrind.out
    assert_status 0
    assert_equal "$(tr -d , <<< "$output" | awk '/PROGRAM TOTALS/ { total = $1; next } /%\)  / { sum += $1 } END { print (total > 0), sum - total }')" '1 0'
}

@test "replay --trace-functions: the same in everything, and the functions of each delivery" {
    two_vats
    run_vats --slog slog > printed
    "$BUILD/gaspipe" replay --json --trace-functions replay.trace slog > same
    assert_equal "$(jq -c 'select(.kind == "summary") | [.differ, .deliveries]' same)" '[0,11]'
    "$BUILD/gaspipe" trace --json --report report --read replay.trace
    assert_equal "$(jq -r 'select(.function == "fxRunID") | .delivery' report | sort | head -n 4 | paste -sd ,)" \
        'v1 fails #3,v1 fails #5,v1 fails #7,v1 startVat #1'
}

@test "run --trace-functions: bad input, one line each" {
    two_vats
    run --separate-stderr "$BUILD/gaspipe" run --trace-functions f --vat one=v.js deliveries
    assert_bad_input 2 '--counter none'
    run --separate-stderr "$BUILD/gaspipe" run --counter none --trace-functions deliveries --vat one=v.js deliveries
    assert_bad_input 2 'deliveries'
    run --separate-stderr "$BUILD/gaspipe" run --counter none --trace-functions /nowhere/f --vat one=v.js deliveries
    assert_bad_input 4 '/nowhere/f'
    run --separate-stderr "$BUILD/gaspipe" run --counter none --overhead 5% --vat one=v.js deliveries
    assert_bad_input 2 '--trace-functions'
    run --separate-stderr "$BUILD/gaspipe" trace --overhead little -- true
    assert_bad_input 2 '1% to 1000%'
}

@test "replay --trace-functions: SwingSet's deliveries, counts and snapshots are the same with everything traced" {
    zstd -dcq "$ROOT/tests/data/swingset.slog.zst" | grep '"vatID":"v14"' > widgets.slog
    "$BUILD/gaspipe" replay --json widgets.slog > plain
    "$BUILD/gaspipe" replay --json --trace-functions replay.trace widgets.slog > traced
    diff plain traced
    assert_equal "$(jq -c 'select(.kind == "vat") | [.status, .deliveries, .syscalls, .computed, .snapshots]' traced)" '["same",10,108,10,2]'
    [ "$(stat -c %s replay.trace)" -gt 1000000 ]
}

@test "run --trace-clock computrons: byte-identical sums in each run, which are what deliveries count" {
    two_vats
    run_vats > expected
    for times in once again; do
        run_vats --trace-functions run.trace --trace-clock computrons > printed
        diff expected printed
        "$BUILD/gaspipe" trace --json --report $times --read run.trace --profile $times.profile --folded $times.folded
        jq -c '[.delivery, .function, .calls, .clock, .self, .total]' $times | LC_ALL=C sort > $times.sums
    done
    cmp once.sums again.sums
    cmp <(sort once.folded) <(sort again.folded)
    cmp <(sort once.profile) <(sort again.profile)
    # The meter continues while the worker takes the result and ends, which is no part of `compute`.
    assert_equal "$(jq -s 'group_by(.delivery) | map([.[0].delivery, (map(.self) | add)])' once |
        jq -c --slurpfile all printed 'map(select(.[0] | contains("work"))) as $sums |
            [$all[] | select(.[3] != null)] | sort_by(.[0], .[1]) | to_entries |
            map($sums[.key][1] - .value[4]) | [length, all(. == 3 or . == 4)]')" '[6,true]'
    assert_equal "$(jq -s 'map(select(.kind == "function" and .selfNanoseconds == null).self) | add' once.profile)" \
        "$(jq -s 'map(.self) | add' once)"
    run --separate-stderr "$BUILD/gaspipe" trace --read run.trace --perfetto slices
    assert_bad_input 3 'clock of computrons'
    run --separate-stderr "$BUILD/gaspipe" trace --clock computrons -- "$(command -v true)"
    assert_bad_input 3 'only gaspipe-worker does'
    run --separate-stderr "$BUILD/gaspipe" trace --clock computrons --when-full drop -- true
    assert_bad_input 2 '--when-full wait'
    run --separate-stderr "$BUILD/gaspipe" run --counter none --trace-clock computrons --vat one=v.js deliveries
    assert_bad_input 2 '--trace-functions'
}
