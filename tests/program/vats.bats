#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# SwingSet's vats under our kernel: results are those of SwingSet's own kernel, garbage goes,
# and what came out once comes out again.

load common
load vats

CASES=$ROOT/tests/swingset

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    run_vats small here "$CASES/small.jsonl" --counter none
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "messages, promises and devices come to what SwingSet's kernel makes of them: small" {
    diff "$CASES/small.expected" "$BATS_FILE_TMPDIR/here/results"
}

@test "vats that make, end and upgrade vats, timers, garbage: variety" {
    run_vats variety here "$CASES/variety.jsonl" --counter none
    diff "$CASES/variety.expected" here/results
    # The upgraded vat still has its baggage.
    grep -qF '["fulfilled","first, read in version 2"]' here/results
    run --separate-stderr "$BUILD/gaspipe" replay --json here/slog
    assert_status 0
}

@test "a recording with one byte changed differs, and delivery and syscall are named" {
    cp -r "$BATS_FILE_TMPDIR/here" .
    sed '/"type":"syscall".*"vatID":"v3".*"deliveryNum":2,"syscallNum":0,/s/"vsc":\["vatstoreGet","v/"vsc":["vatstoreGet","w/' \
        here/slog > changed
    run diff here/slog changed
    assert_status 1
    run --separate-stderr "$BUILD/gaspipe" replay changed
    assert_status 1
    assert_output_has 'delivery 2, '
    assert_output_has 'syscall 0 differs'
}

@test "hashes are the same in another directory, in another environment, under QEMU" {
    cp -r "$BATS_FILE_TMPDIR/here" .
    HOME=/nowhere SOME=$(printf "%0500d" 7) run_vats small "there, with a long name/and deep" \
        "$CASES/small.jsonl" --counter qemu --cranks-per-commit 50
    [ -n "$(activity here)" ]
    assert_equal "$(activity "there, with a long name/and deep")" "$(activity here)"
}

# held CYCLES: how many keys the kernel has after so many times making and dropping objects.
held() {
    local i

    {
        head -n 1 "$CASES/small.jsonl"
        for ((i = 0; i < $1; i++)); do
            echo '{"vat":"conductor","method":"keep","args":[5]}'
            echo '{"vat":"conductor","method":"forget"}'
            echo '{"reap":true}'
        done
    } > "cycles-$1.jsonl"
    run_vats small "held-$1" "cycles-$1.jsonl" --counter none --cranks-per-commit 100
    grep -q '"dropImports"' "held-$1/slog"
    grep -q '"dropExports"' "held-$1/slog"
    sqlite3 "held-$1/store/gaspipe.sqlite" 'select count(*) from key' > "held-$1/count"
}

@test "dropped objects leave nothing, however many" {
    held 6
    held 18
    [ "$(cat held-6/count)" -gt 100 ]
    assert_equal "$(cat held-18/count)" "$(cat held-6/count)" "numbers of keys"
}
