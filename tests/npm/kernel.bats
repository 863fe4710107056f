#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# SwingSet's own kernel (npm @agoric/swingset-vat) is the judge: the vats of
# tests/swingset run by it, on our worker and on its own (make check-npm).

# shellcheck disable=SC2030,SC2031 # each test has its own
load ../program/common
load ../program/vats

THEIRS=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

# judge CASE DIR WORKER [MODULES]: what SwingSet's kernel makes of it with that worker.
judge() {
    local directory=$2 modules=${4-$VATS/node_modules}

    mkdir -p "$directory"
    jq --arg bundles "$VATS" --arg worker "$3" -f "$ROOT/tests/swingset/options.jq" \
        "$ROOT/tests/swingset/$1.json" |
        jq --arg file "$BATS_FILE_TMPDIR/kernel.bundles" '. + {kernelBundles: $file}' > "$directory/options.json"
    node "$ROOT/tests/swingset/kernel.mjs" "$modules" "$directory" "$directory/options.json" \
        "$ROOT/tests/swingset/$1.jsonl" > "$directory/out" 2> "$directory/err" ||
        fail "SwingSet's kernel on $1 with $3:" "$(tail -n 20 "$directory/err")"
    grep '^{"kind":"result"' "$directory/out" |
        jq -cS '[(.place | split("/") | last), .status, .value]' > "$directory/results"
}

# The first makes the bundles of the kernel for all, which takes longer than many a run. Each kernel
# waits for its worker, so two of them keep two CPUs busy.
setup_file() {
    local ours=$BUILD/gaspipe-worker pids=() pid

    judge small "$BATS_FILE_TMPDIR/small/theirs" "$THEIRS"
    judge variety "$BATS_FILE_TMPDIR/variety/theirs" "$THEIRS" &
    pids+=($!)
    judge variety "$BATS_FILE_TMPDIR/variety" "$ours" &
    pids+=($!)
    judge small "$BATS_FILE_TMPDIR/small" "$ours"
    judge small "$BATS_FILE_TMPDIR/small/client" "$ours" "$BUILD/node/swingset/node_modules"
    for pid in "${pids[@]}"; do
        wait "$pid"
    done
}

# recorded DIR: its slogfile without times; of stamps as many as xsnap keeps, and none
# of gaspipe's additions.
recorded() {
    jq -c '
        with_entries(select(.key | test("^(time|monotime)$|[sS]econds$") | not)) |
        if .type == "deliver-result" and .dr[2] != null
        then .dr[2] |= (.timestamps |= ([length, 502] | min) | del(.monotimes, .clientTimestamps, .clientMonotimes, .cpu)) else . end
    ' "$1/slog"
}

# interchangeable CASE LINES: with either worker all came out the same, in more than so
# many lines of the slogfile.
interchangeable() {
    local ours=$BATS_FILE_TMPDIR/$1 theirs=$BATS_FILE_TMPDIR/$1/theirs

    recorded "$ours" > "$BATS_TEST_TMPDIR/ours"
    recorded "$theirs" > "$BATS_TEST_TMPDIR/theirs"
    diff "$theirs/results" "$ours/results"
    diff "$theirs/keys.jsonl" "$ours/keys.jsonl"
    diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/ours")" -gt "$2" ]
    # gaspipe's additions show which worker ran.
    run ! grep -q '"monotimes"' "$theirs/slog"
    grep -q '"monotimes"' "$ours/slog"
}

@test "SwingSet's kernel does the same with our worker as with its own: small" {
    interchangeable small 300
}

@test "SwingSet's kernel does the same with our worker as with its own, snapshots too: variety" {
    interchangeable variety 5000
    grep -q '"type":"heap-snapshot-save"' "$BATS_TEST_TMPDIR/ours"
}

@test "SwingSet's kernel does the same with our client in the place of @agoric/xsnap" {
    ours=$BATS_FILE_TMPDIR/small client=$BATS_FILE_TMPDIR/small/client
    for directory in "$ours" "$client"; do
        recorded "$directory" > "$BATS_TEST_TMPDIR/${directory##*/}"
    done
    diff "$ours/results" "$client/results"
    diff "$ours/keys.jsonl" "$client/keys.jsonl"
    diff "$BATS_TEST_TMPDIR/small" "$BATS_TEST_TMPDIR/client"
    # gaspipe's additions show which client ran.
    run ! grep -q '"clientMonotimes"' "$ours/slog"
    grep -q '"clientMonotimes"' "$client/slog"
}

# replayed CASE COUNTER: every delivery of every vat comes out as SwingSet's kernel saw it.
replayed() {
    local slog=$BATS_FILE_TMPDIR/$1/slog bundles=()

    # Vats that are upgraded go to these; the slogfile has their hashes only.
    mapfile -t bundles < <(jq -r --arg vats "$VATS" '.bundles | to_entries[] |
        "--bundle", "\($vats)/tests/\(.value).bundle"' "$ROOT/tests/swingset/$1.json")
    run --separate-stderr "$BUILD/gaspipe" replay --counter "$2" "${bundles[@]}" --json "$slog"
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "vat") | [.vatID, .status, .cut]' <<< "$output" | sort)" \
        "$(jq -c 'select(.type == "create-vat") | [.vatID, "same", 0]' "$slog" | sort -u)"
}

@test "the judge says what the tests expect" {
    local case

    for case in small variety; do
        diff "$ROOT/tests/swingset/$case.expected" "$BATS_FILE_TMPDIR/$case/results"
    done
}

# driven CASE: our kernel does the same: each result, and the slogfile in all that is compared.
driven() {
    local directory=$BATS_FILE_TMPDIR/$1 ours=$BATS_TEST_TMPDIR/ours

    run_vats "$1" "$ours" "$ROOT/tests/swingset/$1.jsonl" --counter none
    diff "$directory/results" "$ours/results"
    run node "$ROOT/tests/swingset/compare.mjs" "$directory/slog" "$ours/slog"
    assert_status 0
    run --separate-stderr "$BUILD/gaspipe" replay --json "$ours/slog"
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "vat") | .status' <<< "$output" | sort -u)" '"same"'
}

@test "our kernel does the same, crank by crank: small" {
    driven small
}

@test "our kernel does the same, crank by crank: variety" {
    driven variety
}

@test "what SwingSet's kernel recorded comes out the same: small" {
    replayed small none
}

@test "what SwingSet's kernel recorded comes out the same: variety" {
    replayed variety none
}

# Upgrades and restored workers under QEMU are in upgrade.bats and zygote.bats.
@test "what SwingSet's kernel recorded is the same under QEMU: small" {
    replayed small qemu
}

# swing_replayed CASE: gaspipe replay of the swing-store that SwingSet's kernel left, whole, and each
# span by itself.
swing_replayed() {
    local store=$BATS_FILE_TMPDIR/$1/swing-store

    run --separate-stderr "$BUILD/gaspipe" replay --json "$store"
    assert_status 0
    [ "$(jq -s 'map(select(.kind == "vat") | .status == "same" and .deliveries > 0) | all' <<< "$output")" = true ]
    jq -c 'select(.kind == "summary") | del(.snapshots)' <<< "$output" > "$BATS_TEST_TMPDIR/whole"
    run --separate-stderr "$BUILD/gaspipe" replay --json --parallel 2 "$store"
    assert_status 0
    jq -c 'select(.kind == "summary") | del(.snapshots)' <<< "$output" | diff "$BATS_TEST_TMPDIR/whole" -
}

@test "the swing-store of SwingSet's kernel is replayed to the same, whole and span by span" {
    swing_replayed small
    swing_replayed variety
    # From snapshots, too.
    "$BUILD/gaspipe" replay --list --json "$BATS_FILE_TMPDIR/variety/swing-store" |
        jq -e -s 'map(select(.kind == "span" and .snapshot and (.missing | not))) | length > 2'
}
