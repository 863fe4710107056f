#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport extract, rows: a smaller slogfile, and tables for databases.

load common

DATA=$ROOT/tests/data

setup() {
    cd "$BATS_TEST_TMPDIR"
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

# Deliveries without what depends on the lines before them.
deliveries() {
    slogreport --json "$@" | jq -c 'select(.kind == "delivery") | del(.between)'
}

@test "an extract has the chosen deliveries as they were, and nothing is wrong with it" {
    zcat "$DATA/variety.slog.gz" > file
    for choice in "--crank 27-39" "--vat v4" "--vat bank" "--vat v4 --crank 100-300" \
        "--since 1795219420 --until 1795219421.5"; do
        # shellcheck disable=SC2086 # words
        slogreport extract $choice file > small
        # shellcheck disable=SC2086
        deliveries $choice file > expected
        [ -s expected ]
        deliveries small | diff expected -
        slogreport --strict --json small | tail -n 1 | jq -e '.badLines + .kernelStarts + .withoutResult + .withoutDeliver == 0'
        [ "$(wc -c < small)" -lt "$(wc -c < file)" ]
        grep -v '"create-vat"' small | grep -vxFf file > changed || true
        [ ! -s changed ]
    done
}

# Deliveries, the phases of the selected vats, and the number of kernels.
numbers() {
    slogreport --json "$@" 2> /dev/null | jq -c 'if .kind == "delivery" or .kind == "phase"
        then del(.between, .run) else empty end'
}

@test "an extract has the same numbers as the whole file, whatever is selected, and no other kernels" {
    local file seed vat low high choice

    # A new vat's create-vat line is within its crank, as gaspipe writes it.
    echo 'export const get = () => 1;' > contract.js
    printf '{"vat":"%s","method":"get"}\n' a b a c > lines
    "$BUILD/gaspipe" run --counter none --slog ours.slog --vat a=contract.js --vat b=contract.js --vat c=contract.js lines > /dev/null
    seed=$RANDOM
    RANDOM=$seed
    for file in ours.slog "$DATA/variety.slog.gz" "$DATA/swingset.slog.zst" "$DATA/shapes/chain.slog"; do
        slogreport --json "$file" | jq -r 'select(.kind == "delivery") | "\(.vatID) \(.crankNum)"' > all
        read -r vat low < <(sed -n "$((RANDOM % $(wc -l < all) + 1))p" all)
        high=$((low + RANDOM % 20))
        for choice in "--vat $vat" "--crank $low-$high" "--vat $vat --crank $low-"; do
            # shellcheck disable=SC2086 # words
            slogreport extract $choice "$file" > small
            # shellcheck disable=SC2086
            diff <(numbers $choice "$file") <(numbers $choice small) || fail "$file $choice, seed $seed"
            slogreport --strict --json small | tail -n 1 | grep -q '"kernelStarts":0,' || fail "$file $choice, seed $seed"
        done
    done
    slogreport extract --bundles ours.slog | diff ours.slog -
}

@test "an extract of a block has its phases, also when it is empty" {
    slogreport extract --block 17 "$DATA/shapes/chain.slog" > small
    # Work after the block's last line is not part of it.
    slogreport --json small | jq -c 'select(.kind == "block") | .phases' > found
    slogreport --json "$DATA/shapes/chain.slog" | jq -c 'select(.blockHeight == 17 and .kind == "block") | .phases | del(.idle)' | diff - found
    printf '{"type":"cosmic-swingset-begin-block","blockHeight":%d,"time":%d}\n' 1 100 2 200 > empty
    assert_equal "$(slogreport extract --block 2 empty)" '{"type":"cosmic-swingset-begin-block","blockHeight":2,"time":200}'
}

@test "bundles are left out of an extract unless asked for" {
    printf '%s\n' '{"type":"create-vat","vatID":"v1","name":"bank","vatSourceBundle":{"a":"}"},"time":1}' \
        '{"type":"deliver","crankNum":1,"vatID":"v1","deliveryNum":1,"replay":false,"vd":["startVat"],"time":2}' \
        '{"type":"deliver-result","crankNum":1,"vatID":"v1","deliveryNum":1,"replay":false,"dr":["ok",null,null],"time":3}' > file
    slogreport extract --vat bank --bundles file | diff file -
    assert_equal "$(slogreport extract --vat bank file | head -n 1)" '{"type":"create-vat","vatID":"v1","name":"bank","vatSourceBundle":null,"time":1}'
}

@test "tables have a row for each delivery and each request" {
    slogreport rows --out tables "$DATA/variety.slog.gz"
    assert_equal "$(zcat tables/deliveries.csv.gz | wc -l)" 270
    zcat tables/deliveries.csv.gz | cut -d , -f 1-22 | diff <(slogreport --csv "$DATA/variety.slog.gz" | cut -d , -f 1-22) -
    requests=$(slogreport --json "$DATA/variety.slog.gz" | jq -s 'map(select(.kind == "delivery") | .syscalls + .consoles) | add')
    assert_equal "$(zcat tables/requests.csv.gz | wc -l)" $((requests + 1))
    slogreport rows --out tables --vat v4 "$DATA/variety.slog.gz"
    assert_equal "$(zcat tables/deliveries.csv.gz | tail -n +2 | cut -d , -f 1 | sort -u)" v4
    run --separate-stderr slogreport rows "$DATA/variety.slog.gz"
    assert_bad_input 2 'rows needs --out DIR'
    run --separate-stderr slogreport rows --out /dev/null/x "$DATA/variety.slog.gz"
    assert_bad_input 4 '/dev/null/x'
}
