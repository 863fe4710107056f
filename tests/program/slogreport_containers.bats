#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport, on slogs that npm's @agoric/telemetry wrote: with context, and in a flight recorder.

load common

DATA=$ROOT/tests/data

setup() {
    cd "$BATS_TEST_TMPDIR"
}

teardown() {
    [ -z "${reader:-}" ] || kill -KILL "$reader" 2> /dev/null || true
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

@test "a slog with context reads as the one that it was made of" {
    # The CPU refused one line, with an assertion: the start of the bootstrap's run.
    grep -v '"cosmic-swingset-run-start".*"phase":"forced"' "$DATA/shapes/chain.slog" > plain
    slogreport --json plain > expected
    slogreport --json "$DATA/shapes/context.slog" | diff expected -
    slogreport "$DATA/shapes/context.slog" > text
    slogreport plain | diff - text
}

@test "a wrapped flight recorder is read from its oldest record to its newest" {
    slogreport --json "$DATA/flight-recorder.bin" > report
    # As many as npm's frcat prints, the first of them the end of a delivery.
    run jq -c 'select(.kind == "summary") | [.lines, .badLines, .deliveries, .withoutDeliver, .tooBigRecords]' report
    assert_equal "$output" '[87,0,3,1,1]'
    run jq -r 'select(.note == "record-too-big") | .snippet' report
    assert_equal "$output" $'\uFFFD{"type":"create-vat'
    run slogreport --strict "$DATA/flight-recorder.bin"
    assert_status 0
    assert_output_has 'a record was too big for the flight recorder'
}

@test "a flight recorder comes from a file, and a damaged one is named" {
    run --separate-stderr slogreport - < <(cat "$DATA/flight-recorder.bin")
    assert_bad_input 3 'read from a file'
    cp "$DATA/flight-recorder.bin" damaged
    printf '\377' | dd of=damaged bs=1 seek=16 conv=notrunc status=none
    run --separate-stderr slogreport damaged
    assert_bad_input 3 'damaged header'
    head -c 5000 "$DATA/flight-recorder.bin" > shorter.bin
    run --separate-stderr slogreport shorter.bin
    assert_bad_input 3 'cut off'
}

# A number in eight bytes, the highest first.
number() {
    # shellcheck disable=SC2059 # octal escapes
    printf "$(printf '\\%03o\\%03o\\%03o\\%03o\\%03o\\%03o\\%03o\\%03o' 0 0 0 0 $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)))"
}

put() {
    dd of="$1" bs=64K iflag=fullblock seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# Writes a record as the node does: the bytes, round the arena's end, and then the header.
record() {
    { number $((${#2} + 1)); printf '\n%s' "$2"; } > bytes
    local size=$((${#2} + 9)) first
    while [ $(((oldest - newest + arena - 1) % arena)) -lt $size ] && [ "$newest" != "$oldest" ]; do
        oldest=$(((oldest + lengths[0]) % arena))
        lengths=("${lengths[@]:1}")
    done
    first=$((arena - newest < size ? arena - newest : size))
    head -c $first bytes | put "$1" $((32 + newest))
    tail -c +$((first + 1)) bytes | put "$1" 32
    newest=$(((newest + size) % arena))
    lengths+=("$size")
    { number $oldest; number $newest; } | put "$1" 16
}

@test "a flight recorder is followed while it wraps" {
    local lengths=() arena=4000 oldest=0 newest=0 i

    { printf 'AG-SLOG!'; number $arena; number 0; number 0; head -c $arena /dev/zero; } > live.bin
    mkfifo told
    "$BUILD/slogreport" --json --follow live.bin > told &
    reader=$!
    exec 7< told
    for i in $(seq 40); do
        record live.bin '{"type":"deliver","crankNum":'"$i"',"vatID":"v1","deliveryNum":'"$i"',"replay":false,"vd":["startVat"],"time":'$((1000 + i))'}'
        record live.bin '{"type":"deliver-result","crankNum":'"$i"',"vatID":"v1","deliveryNum":'"$i"',"replay":false,"dr":["ok",null,null],"time":'$((1000 + i))'.5}'
        read -r -t 60 line <&7
        assert_equal "$(jq -c '[.deliveryNum, .total + 0]' <<< "$line")" "[$i,0.5]"
    done
    rm live.bin
    wait "$reader"
    reader=
}

@test "the oldest record that a crash left overwritten is passed over" {
    local lengths=() arena=2000 oldest=0 newest=0 i

    { printf 'AG-SLOG!'; number $arena; number 0; number 0; head -c $arena /dev/zero; } > crashed.bin
    for i in $(seq 30); do
        record crashed.bin '{"type":"deliver","crankNum":'"$i"',"vatID":"v1","deliveryNum":'"$i"',"replay":false,"vd":["startVat"],"time":'$((1000 + i))'}'
    done
    # The beginning of the oldest record and a part of its line.
    printf 'xxxxxxxxxxxxxxxxxxxx' | put crashed.bin $((32 + oldest))
    run --separate-stderr slogreport --json crashed.bin
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "summary") | [.lines, .badLines]' <<< "$output")" "[$((${#lengths[@]} - 1)),0]"
    [[ $stderr == *'records are missing'* ]]
}
