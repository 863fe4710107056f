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
    lines 6 > input
    vats_run --counter none --snapshot-interval 7 --store whole input
    assert_status 0
    stopped input pieces --counter none --snapshot-interval 7
    assert_equal "$(outcome pieces.out)" "$(outcome <<< "$output")" "what was printed"
    assert_equal "$(dump pieces)" "$(dump whole)" "stores"
}

@test "the same under the counter, to the instruction" {
    local gaspipe=$BUILD/gaspipe

    lines 2 > input
    run --separate-stderr "$gaspipe" run --json "${vats[@]}" --snapshot-interval 5 --store whole \
        input
    assert_status 0
    stopped input pieces --snapshot-interval 5
    assert_equal "$(outcome pieces.out)" "$(outcome <<< "$output")" "what was printed"
    assert_equal "$(dump pieces)" "$(dump whole)" "stores"
}

@test "committing cranks together does not change the outcome" {
    lines 4 > input
    vats_run --counter none --store one input
    local one
    one=$(outcome <<< "$output")
    vats_run --counter none --store many --cranks-per-commit 1000 input
    assert_equal "$(outcome <<< "$output")" "$one"
    assert_equal "$(dump many)" "$(dump one)"
    stopped input pieces --counter none --cranks-per-commit 5
    assert_equal "$(outcome pieces.out)" "$one"
    assert_equal "$(dump pieces)" "$(dump one)"
}

@test "with fewer workers than vats: the same results, counts, hashes and store" {
    local workers all

    lines 4 > input
    vats_run --counter none --snapshot-interval 5 --store all --slog slog input
    assert_status 0
    all=$(outcome <<< "$output")
    for workers in 1 2; do
        vats_run --counter none --snapshot-interval 5 --max-workers $workers --store few$workers \
            --slog slog$workers input
        assert_status 0
        assert_equal "$(outcome <<< "$output")" "$all" "what was printed with $workers"
        assert_equal "$(dump few$workers)" "$(dump all)" "stores with $workers"
        [ "$(grep -c '"start-replay"' slog$workers)" -gt "$(grep -c '"start-replay"' slog)" ] ||
            fail "no vat came back"
        run --separate-stderr "$NATIVE/gaspipe" replay --counter none --json slog$workers
        assert_status 0
        assert_equal "$(jq -c 'select(.kind == "vat") | [.vat, .status]' <<< "$output")" \
            $'["here","same"]\n["there","same"]\n["token","same"]'
    done
}

@test "with fewer workers than vats, under the counter: the same to the instruction" {
    local gaspipe=$BUILD/gaspipe all

    lines 2 > input
    run --separate-stderr "$gaspipe" run --json "${vats[@]}" --snapshot-interval 5 --store all input
    assert_status 0
    all=$(outcome <<< "$output")
    run --separate-stderr "$gaspipe" run --json "${vats[@]}" --snapshot-interval 5 --store few \
        --max-workers 2 input
    assert_status 0
    assert_equal "$(outcome <<< "$output")" "$all" "what was printed"
    assert_equal "$(dump few)" "$(dump all)" "stores"
}

@test "a run with fewer workers than vats may be stopped again and again" {
    lines 3 > input
    vats_run --counter none --snapshot-interval 5 --store all input
    assert_status 0
    stopped input pieces --counter none --snapshot-interval 5 --max-workers 2 --cranks-per-commit 3
    assert_equal "$(outcome pieces.out)" "$(outcome <<< "$output")" "what was printed"
    assert_equal "$(dump pieces)" "$(dump all)" "stores"
}
