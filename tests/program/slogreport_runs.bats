#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport runs, --causes: which delivery caused which, and what waited for what.

load common

DATA=$ROOT/tests/data

setup() {
    cd "$BATS_TEST_TMPDIR"
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

# [crank, crank of its cause] of each delivery that a send caused, as the kernel's lines say:
# a send with its result promise, and the delivery that brings this promise.
sends() {
    jq -s -c '
        (map(select(.type == "syscall" and .ksc[0] == "send" and .ksc[2].result)
            | {key: .ksc[2].result, value: [.crankNum, .time]}) | from_entries) as $sent
        | .[] | select(.type == "deliver" and .kd[0] == "message" and .replay == false)
        | select($sent[.kd[2].result // ""])
        | [.crankNum, $sent[.kd[2].result][0], ((.time - $sent[.kd[2].result][1]) * 1e6 | round)]'
}

@test "each delivery has the cause and the wait that the kernel's lines say" {
    zcat "$DATA/variety.slog.gz" > file
    sends < file > expected
    [ "$(wc -l < expected)" -ge 40 ]
    slogreport --json --causes file | jq -s -c '
        (map(select(.kind == "delivery")) | INDEX(.number)) as $by
        | .[] | select(.kind == "delivery" and .deliveryKind == "message" and .cause)
        | [.crankNum, $by[.cause | tostring].crankNum, (.queued * 1e6 | round)]' > found
    diff expected found
    # A notify comes of a resolve, and nothing is caused by what comes later.
    slogreport --json --causes file | jq -s -e 'map(select(.kind == "delivery")) | INDEX(.number) as $by
        | map(select(.cause)) | (map(select(.deliveryKind == "notify")) | length > 40)
            and all(.cause < .number and .queued >= 0 and .chain == $by[.cause | tostring].chain)'
    slogreport --json file | jq -s -e 'map(select(.kind == "delivery")) | all(has("cause") | not)'
}

@test "a run is all that one thing caused, and its way shows who waited" {
    slogreport runs --json --top 1000 "$DATA/variety.slog.gz" > runs
    slogreport --json --causes "$DATA/variety.slog.gz" > deliveries
    assert_equal "$(jq -s 'map(.deliveries) | add' runs)" 269
    jq -s -c 'map(select(.kind == "delivery")) | group_by(.chain) | .[]
        | [.[0].chain, length, (map(.total) | add * 1e6 | round)]' deliveries > expected
    jq -s -c 'sort_by(.chain)[] | [.chain, .deliveries, (.total * 1e6 | round)]' runs | diff expected -
    # c27 sent to v4, which was first stored in a snapshot: its message waited for that.
    run slogreport runs --top 1 "$DATA/variety.slog.gz"
    assert_output_has 'c39 v4 (bank) message withdraw'
    run jq -c 'select(.way[1].crankNum == 39) | .way | map([.crankNum, .vatID]), (.[1].queued > 0.3)' runs
    assert_equal "$output" '[[27,"v1"],[39,"v4"],[45,"v4"],[47,"v1"]]
true'
}

@test "what came from outside names its run" {
    run slogreport runs --json "$DATA/shapes/chain.slog"
    assert_equal "$(jq -c 'select(.inbound) | [.inbound, .source, .blockHeight, .deliveries]' <<< "$output" | sort)" \
        '["bridge-inbound","wallet",17,1]
["deliver-inbound","agoric1abc",18,1]'
    run slogreport runs --json --block 18 "$DATA/shapes/chain.slog"
    assert_equal "$(jq -r .inboundNum <<< "$output")" 18-CD34-0
}

@test "deliveries are sorted by how long they waited, and summed by it" {
    run slogreport --json --sort queued --top 1 --kind message "$DATA/variety.slog.gz"
    assert_equal "$(jq -r 'select(.kind == "delivery") | .queued' <<< "$output")" \
        "$(slogreport --json --causes --kind message "$DATA/variety.slog.gz" | jq -s 'map(.queued // 0) | max')"
    run slogreport summary --causes --by vat --csv "$DATA/variety.slog.gz"
    assert_output_has 'vat,v4,bank,queued,'
}

@test "a trace has an arrow from each cause to what it caused" {
    slogreport --trace trace "$DATA/variety.slog.gz"
    caused=$(slogreport --json --causes "$DATA/variety.slog.gz" | grep -c '"cause":[0-9]')
    jq -e --argjson caused "$caused" '.traceEvents | map(select(.cat == "cause")) | group_by(.id)
        | length == $caused and all(map(.ph) == ["s", "f"] and .[0].ts <= .[1].ts)' trace
    # Each arrow begins within a span of its track.
    jq -e '.traceEvents as $all | [$all[] | select(.ph == "s")] | length > 0 and
        all(. as $arrow | any($all[]; .ph == "B" and .tid == $arrow.tid and .ts <= $arrow.ts
            and $arrow.ts <= .ts + .dur + 0.001))' trace
    jq -e '[.traceEvents[] | select(.cat == "phase" and .ph == "B" and (.name | startswith("snapshot-save")))] | length == 9' trace
}

@test "phases are spans of OpenTelemetry, within their block" {
    slogreport --otlp spans "$DATA/shapes/chain.slog"
    jq -c '.resourceSpans[].scopeSpans[].spans[]' spans > all
    run jq -s -c '(map(select(.name == "block")) | INDEX(.spanId)) as $blocks
        | map(select($blocks[.parentSpanId // ""])) | map(.name) | unique' all
    assert_equal "$output" '["after-commit","begin-block","commit","cosmic-swingset-snapshot","crank","end-block","run cleanup","run high-priority","run leftover","run queued","run timer"]'
    jq -s -e '(map(select(.name == "crank")) | INDEX(.spanId)) as $cranks
        | map(select(.name == "vat-cleanup"))[0].parentSpanId | in($cranks)' all
    jq -s -e 'map(.spanId) | unique | length' all > ids
    assert_equal "$(cat ids)" "$(wc -l < all)"
}
