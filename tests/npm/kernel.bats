#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# SwingSet's own kernel (npm @agoric/swingset-vat) is the judge: the vats of
# tests/swingset run by it, on our worker (make check-npm).

load ../program/common

VATS=$ROOT/build/vats

# judge CASE: what SwingSet's kernel makes of it, in $BATS_FILE_TMPDIR/CASE.
judge() {
    local folder=$BATS_FILE_TMPDIR/$1

    mkdir -p "$folder"
    jq --arg bundles "$VATS" --arg worker "$BUILD/gaspipe-worker" -f "$ROOT/tests/swingset/options.jq" \
        "$ROOT/tests/swingset/$1.json" > "$folder/options.json"
    node "$ROOT/tests/swingset/kernel.mjs" "$VATS/node_modules" "$folder" "$folder/options.json" \
        "$ROOT/tests/swingset/$1.jsonl" > "$folder/out" 2> "$folder/err" ||
        fail "SwingSet's kernel on $1:" "$(tail -n 20 "$folder/err")"
    grep '^{"kind":"result"' "$folder/out" > "$folder/results"
}

setup_file() {
    judge small
    judge variety
}

# replayed CASE COUNTER: every delivery of every vat comes out as SwingSet's kernel saw it.
replayed() {
    local slog=$BATS_FILE_TMPDIR/$1/slog

    run --separate-stderr "$BUILD/gaspipe" replay --counter "$2" --json "$slog"
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "vat") | [.vatID, .status, .cut]' <<< "$output" | sort)" \
        "$(jq -c 'select(.type == "create-vat") | [.vatID, "same", 0]' "$slog" | sort -u)"
    assert_equal "$(jq 'select(.kind == "summary") | .deliveries' <<< "$output")" \
        "$(jq -c 'select(.type == "deliver" and (.replay | not)) | 1' "$slog" | wc -l)"
}

@test "the judge's vats did what they were told" {
    assert_equal "$(jq -c 'select(.status == "rejected") | [.place, .value["#error"]]' \
        "$BATS_FILE_TMPDIR"/{small,variety}/results)" '["small.jsonl:13","vat terminated"]
["small.jsonl:14","vat terminated"]
["variety.jsonl:8","ann has 70"]
["variety.jsonl:82","vat terminated"]
["variety.jsonl:83","vat terminated"]'
    [ "$(wc -l < "$BATS_FILE_TMPDIR/variety/results")" -gt 70 ]
}

@test "what SwingSet's kernel recorded comes out the same: small" {
    replayed small none
}

@test "what SwingSet's kernel recorded comes out the same: variety" {
    replayed variety none
}

@test "what SwingSet's kernel recorded comes out the same under the counter: small" {
    replayed small qemu
}

@test "what SwingSet's kernel recorded comes out the same under the counter: variety" {
    replayed variety qemu
}
