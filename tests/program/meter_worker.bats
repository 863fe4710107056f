#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --counter compiled: the worker that has the meter compiled in, engine included.

load common

setup() {
    [ -x "$ROOT/build/gaspipe-worker-metered" ] || skip 'make metered has not built the worker'
    [ "$BUILD" = "$ROOT/build" ] || skip 'the metered worker is beside the ordinary gaspipe'
    cd "$BATS_TEST_TMPDIR"
}

# costs OPTION...: computrons and block cost of each delivery of the token example.
costs() {
    "$BUILD/gaspipe" run --json "$@" --vat token="$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > out || [ $? -eq 1 ]
    jq -c 'select(.kind == "delivery") | [.deliveryNum, .compute, .blockCost]' out
}

@test "run: the block cost of each delivery is one number, natively and under QEMU" {
    local first

    first=$(costs --counter compiled)
    [ "$(jq -s 'map(.[2]) | min > 1000' <<< "$first")" = true ] || fail "$first"
    assert_equal "$(costs --counter compiled)" "$first"
    assert_equal "$(FILL=$(head -c 3000 /dev/zero | tr '\0' x) costs --counter compiled)" "$first"
    assert_equal "$(jq -c 'select(.kind == "summary") | .instructions' out)" null
    assert_equal "$(costs --counter qemu,compiled)" "$first"
    [ "$(jq -s -c 'map(select(.kind == "delivery") | .instructions > 1000) | all' out)" = true ]
}

@test "run: the other worker has no block cost, and the same computrons" {
    assert_equal "$(costs --counter none | jq -c '.[1]')" "$(costs --counter compiled | jq -c '.[1]')"
    assert_equal "$(costs --counter none | jq -c '.[2]' | sort -u)" null
}

@test "run: the slogfile has it, and slogreport reads it" {
    costs --counter compiled --slog s.slog > ran
    assert_equal "$("$BUILD/slogreport" --json s.slog | jq -c 'select(.kind == "delivery") | .blockCost')" \
        "$(jq -c '.[2]' ran)"
}

@test "replay and ping take it" {
    costs --counter compiled --store store > /dev/null
    "$BUILD/gaspipe" replay --counter compiled --store store token > /dev/null
    "$BUILD/gaspipe" ping --counter compiled --count 20 > ping.out
    grep -q 'gaspipe-worker-metered' ping.out
}

@test "the same number on aarch64" {
    local worker=$ROOT/build/metered/aarch64-linux-gnu/gaspipe-worker

    [ -x "$worker" ] || skip "no $worker; make builds it by that name"
    printf '#!/bin/sh\nexec qemu-aarch64 -L /usr/aarch64-linux-gnu %s "$@"\n' "$worker" > arm
    chmod +x arm
    assert_equal "$(costs --sandbox off --worker arm)" "$(costs --counter compiled)"
}

@test "without the worker, one line says what to install" {
    mkdir alone
    cp "$BUILD/gaspipe" "$BUILD/gaspipe-worker" alone
    cp "$BUILD"/*.bundle "$BUILD/gaspipe-sandbox" alone
    run --separate-stderr alone/gaspipe run --counter compiled --vat token="$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl"
    assert_bad_input 4 clang-19 llvm-19-dev lld-19
    run --separate-stderr alone/gaspipe run --counter valgrind --vat token="$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl"
    assert_bad_input 2 compiled
}
