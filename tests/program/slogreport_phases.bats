#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport: the phases of a kernel's process and of a chain's blocks.

load common

DATA=$ROOT/tests/data

setup() {
    cd "$BATS_TEST_TMPDIR"
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

# Milliseconds, from seconds.
phases() {
    jq -c 'select(.kind == "phase") | [.phase, .name // .vatID, (.total * 1e6 | round / 1000),
        (.own * 1e6 | round / 1000), .beans]' "$@"
}

@test "each phase of a chain's blocks has its own time" {
    run phases <(slogreport --json --block 17 "$DATA/shapes/chain.slog")
    assert_equal "$output" '["begin-block",null,40,40,null]
["run","leftover",2,2,0]
["run","timer",10.235,3,1200]
["run","queued",7.805,3,3400]
["vat-cleanup","v9",12,12,null]
["run","cleanup",16,3,0]
["end-block",null,80.04,44,null]
["commit",null,80,80,null]
["after-commit",null,15,15,null]
["idle",null,500,500,null]'
    run phases <(slogreport --json "$DATA/shapes/chain.slog")
    assert_output_has '["kernel-start","bundle",200,200,null]'
    assert_output_has '["bootstrap",null,43.403,30,null]'
    assert_output_has '["upgrade",null,60,60,null]'
}

@test "the own times of all phases add up to the whole time, and those of a block to it" {
    for file in "$DATA"/variety.slog.gz "$DATA"/small.slog.gz "$DATA"/shapes/{chain,blocks,snapshot,terminate,replay,unknown}.slog; do
        whole=$(slogreport --json "$file" | jq -s 'map(select(.kind == "summary"))[0].phases | add')
        case $file in
            *.gz) zcat "$file" ;;
            *) cat "$file" ;;
        esac | jq -s --argjson whole "$whole" -e '(.[-1].monotime - .[0].monotime - $whole) | fabs < 1e-6' ||
            fail "$file"
    done
    slogreport --json "$DATA/shapes/chain.slog" | jq -s -e 'map(select(.kind == "block")) | length == 2 and
        all((.phases | add) as $sum | .total - $sum | fabs < 1e-8)'
}

@test "snapshots that are saved and workers that are brought back are not lost between cranks" {
    slogreport --json "$DATA/variety.slog.gz" > report
    run jq -s -c '[map(select(.kind == "phase" and .phase == "snapshot-save"))[] | .bytes] | [length, min > 1e6]' report
    assert_equal "$output" '[9,true]'
    # v14 is upgraded: its new worker has no lines of its start.
    run jq -s -c '[.[] | select(.phase == "vat-start" and .vatID == "v14")] | length' report
    assert_equal "$output" 2
    run slogreport summary --by phase --json "$DATA/variety.slog.gz"
    assert_output_has '"by":"phase","name":"snapshot-save","label":"","column":"total","count":9'
    [ "$(jq -s 'map(.share) | add | . * 1000 | round' <<< "$output")" = 1000 ]
}

@test "what came from outside is shown, and every line is counted by its type" {
    slogreport --json "$DATA/shapes/chain.slog" > report
    run jq -c 'select(.kind == "inbound") | [.inbound, .inboundNum, .source, .blockHeight]' report
    assert_equal "$output" '["inject-kernel-upgrade-events","17-upgrade-0",null,null]
["timer-poll",null,null,17]
["bridge-inbound","17-AB12-0","wallet",17]
["deliver-inbound","18-CD34-0","agoric1abc",18]
["install-bundle","18-EF56-0",null,18]'
    jq -r .type "$DATA/shapes/chain.slog" | sort | uniq -c | awk '{ print $2, $1 }' > expected
    jq -r 'select(.kind == "summary") | .entries | to_entries[] | "\(.key) \(.value)"' report | sort | diff expected -
}

@test "phases are selected like deliveries, and are not among sorted ones" {
    run phases <(slogreport --json --vat v9 "$DATA/shapes/chain.slog")
    assert_equal "$output" '["vat-cleanup","v9",12,12,null]'
    run phases <(slogreport --json --min-duration 150ms "$DATA/shapes/chain.slog")
    assert_equal "$(jq -r '.[0]' <<< "$output" | sort | uniq -c | tr -s ' ' | tr '\n' ,)" ' 1 idle, 2 kernel-start,'
    run phases <(slogreport --json --top 3 "$DATA/shapes/chain.slog")
    assert_equal "$output" ''
    slogreport --json --kind notify "$DATA/shapes/chain.slog" | jq -s -e 'map(.kind) == ["summary"]'
}

@test "types that are not known are phases under their own names, or counted by name" {
    slogreport --json "$DATA/shapes/unknown.slog" > report
    run phases report
    for phase in '["replay-transcript","v7",30,10,null]' '["replay-transcript","v8",40,40,null]' \
        '["state-tree-flush",null,130,10,null]' '["slog-commit",null,20,20,null]' \
        '["cosmic-swingset-snapshot",null,90,0,null]' '["end-block",null,150,30,null]' \
        '["idle",null,40,40,null]'; do
        assert_output_has "$phase"
    done
    # A phase without an end is none, but the time after its start is its own.
    assert_output_lacks '["half"'
    run jq -c 'select(.kind == "summary") | .phases.half + 0, (.entries |
        [.terminate, ."slogger-confused", ."kernel-stats", ."cosmic-swingset-init",
        ."cosmic-swingset-snapshot-start", ."of-tomorrow", ."other-half-finish"])' report
    assert_equal "$output" '0.02
[1,1,1,1,1,1,1]'
    slogreport summary --by phase "$DATA/shapes/unknown.slog" | grep '^phase state-tree-flush '
    run slogreport "$DATA/shapes/unknown.slog"
    assert_output_has 'state-tree-flush 0.010000'
}

@test "a hundred types that are not known leave the known phases alone" {
    for type in crank '\u001b[31m' x{1..100}; do
        echo "{\"type\":\"$type-start\",\"time\":1,\"monotime\":1}"
    done > many.slog
    echo '{"type":"crank-finish","time":2,"monotime":2.5}' >> many.slog
    slogreport --json many.slog | jq -s -e 'map(select(.kind == "summary"))[0] | .entries["x100-start"] == 1 and
        (.phases | add == 1.5)'
}
