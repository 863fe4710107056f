#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run on vats that call each other: the outcome does not depend on how often a run is
# stopped, how many cranks are committed together, and how many workers there are.

load common
load vats
load small_vats

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    small_vats
}

@test "a run that is stopped again and again has the outcome of one that never was" {
    lines 4 > input
    vats_run --counter none --snapshot-interval 7 --store whole input
    assert_status 0
    stopped input pieces --counter none --snapshot-interval 7
    assert_equal "$(outcome pieces.out)" "$(outcome <<< "$output")" "what was printed"
    assert_same_dump pieces whole
}

@test "under QEMU: stopped, or with fewer workers than vats, the same to the instruction" {
    local gaspipe=$BUILD/gaspipe all

    [ "$NATIVE" = "$BUILD" ] || skip 'QEMU and its workers are not sanitized'
    lines 2 > input
    run --separate-stderr "$gaspipe" run --json "${vats[@]}" --snapshot-interval 12 --store whole input
    assert_status 0
    all=$(outcome <<< "$output")
    run --separate-stderr "$gaspipe" run --json "${vats[@]}" --snapshot-interval 12 --store few \
        --max-workers 2 input
    assert_status 0
    assert_equal "$(outcome <<< "$output")" "$all" "what was printed"
    assert_same_dump few whole
    first=1 at='"place":"input:[13]"' stopped input pieces --snapshot-interval 12
    assert_equal "$(outcome pieces.out)" "$all" "what was printed"
    assert_same_dump pieces whole
}

@test "committing cranks together does not change the outcome" {
    lines 3 > input
    vats_run --counter none --store one input
    local one
    one=$(outcome <<< "$output")
    vats_run --counter none --store many --cranks-per-commit 1000 input
    assert_equal "$(outcome <<< "$output")" "$one"
    assert_same_dump many one
    stopped input pieces --counter none --cranks-per-commit 5
    assert_equal "$(outcome pieces.out)" "$one"
    assert_same_dump pieces one
}

@test "with fewer workers than vats: the same results, counts, hashes and store" {
    local workers all

    lines 2 > input
    vats_run --counter none --snapshot-interval 5 --store all --slog slog input
    assert_status 0
    all=$(outcome <<< "$output")
    for workers in 1 2; do
        vats_run --counter none --snapshot-interval 5 --max-workers $workers --store few$workers \
            --slog slog$workers input
        assert_status 0
        assert_equal "$(outcome <<< "$output")" "$all" "what was printed with $workers"
        assert_same_dump few$workers all
        [ "$(grep -c '"start-replay"' slog$workers)" -gt "$(grep -c '"start-replay"' slog)" ] ||
            fail "no vat came back"
    done
    run --separate-stderr "$NATIVE/gaspipe" replay --counter none --json slog1
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "vat") | [.vat, .status]' <<< "$output")" \
        $'["here","same"]\n["there","same"]\n["token","same"]'
}

@test "a run with fewer workers than vats may be stopped again and again" {
    lines 2 > input
    vats_run --counter none --snapshot-interval 5 --store all input
    assert_status 0
    stopped input pieces --counter none --snapshot-interval 5 --max-workers 2 --cranks-per-commit 3
    assert_equal "$(outcome pieces.out)" "$(outcome <<< "$output")" "what was printed"
    assert_same_dump pieces all
}

# two_tokens: the array `vats` has two small vats, and the file `input` many lines for them.
two_tokens() {
    local i

    vats=(--vat left="$ROOT/examples/token/contract.js" --vat right="$ROOT/examples/token/contract.js")
    for i in {1..300}; do
        printf '{"vat":"%s","method":"mint","args":["a",'"$i"']}\n' left right
    done > input
}

# stopped_in_batch INPUT STORE OPTION...: the run is stopped while it accepts the lines of its
# first batch; repeats if the signal came before or after them.
stopped_in_batch() {
    local output pid status taken

    for _ in {1..50}; do
        rm -rf "$2" && : > "$2.out"
        exec {output}< <(exec "$NATIVE/gaspipe" run --json "${vats[@]}" --store "$2" "${@:3}" \
            "$1" 2> err)
        pid=$!
        # The vats' own first deliveries: they are committed before the first line is read.
        head -n 2 <&"$output" > "$2.out"
        kill -s TERM "$pid" 2> /dev/null || true
        cat <&"$output" >> "$2.out"
        exec {output}<&-
        status=0
        wait "$pid" || status=$?
        taken=$(sqlite3 "$2/gaspipe.sqlite" "SELECT value FROM key WHERE name = 'input.lines'")
        [ "$status" -ne 143 ] || [ "${taken:-0}" -eq 0 ] ||
            [ "$taken" -eq "$(wc -l < "$1")" ] || return 0
    done
    fail "no signal came within the batch"
}

@test "a run that is stopped within a batch of lines continues with that batch" {
    local jobs

    two_tokens
    vats_run --counter none --queue-lines 1000 --store whole input
    assert_status 0
    for jobs in 1 2; do
        stopped_in_batch input pieces --counter none --queue-lines 1000 --jobs $jobs
        vats_run --counter none --queue-lines 1000 --jobs $jobs --store pieces input
        assert_status 0
        assert_equal "$(dump pieces | sha256sum)" "$(dump whole | sha256sum)" \
            "stores with $jobs jobs"
    done
}

@test "vats that are new end the batch of the run before" {
    two_tokens
    stopped_in_batch input pieces --counter none --queue-lines 1000
    vats_run --counter none --queue-lines 1000 --store pieces \
        --new-vat late="$ROOT/examples/token/contract.js" input
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "delivery") | .vat' <<< "$output" | grep -c late)" 1
    assert_equal "$(sqlite3 pieces/gaspipe.sqlite \
        "SELECT count(*) FROM key WHERE name = 'input.batch'")" 0
}
