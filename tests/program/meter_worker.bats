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

@test "a timer costs the same wherever the machine puts the worker's memory" {
    local under native

    frames() { printf '%s' '26:esetImmediate(() => {}); 1,' '2:e1,'; }
    for under in '' qemu-x86_64; do
        run bash -c 'exec $0 "$1" 3<&0 4>&1' "$under" "$BUILD/gaspipe-worker-metered" < <(frames)
        assert_status 0
        output=$(grep -ao '"blockCost":[0-9]*' <<< "$output")
        assert_equal "$(wc -l <<< "$output")" 2
        assert_equal "$output" "${native:=$output}"
    done
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

@test "run: a delivery in which the kernel refuses a syscall costs what it used up to there" {
    local whole counter costs=()

    cat > work.js << 'END'
export const work = () => {
    let sum = 0;
    for (let i = 0; i < 20000; i += 1) sum += i;
    store.set('sum', `${sum}`);
    return sum;
};
END
    echo '{"vat":"w","method":"work"}' > lines
    whole=$("$BUILD/gaspipe" run --json --counter compiled --vat w=work.js lines |
        jq 'select(.kind == "delivery" and .description != "startVat").blockCost')
    for counter in compiled qemu,compiled; do
        run --separate-stderr "$BUILD/gaspipe" run --json --counter $counter --max-message-bytes 5 \
            --vat w=work.js lines
        assert_status 1
        costs+=("$(jq 'select(.kind == "delivery" and .error != null).blockCost' <<< "$output")")
    done
    assert_equal "${costs[0]}" "${costs[1]}" "units natively and under QEMU"
    # Nearly all of its work is done before the syscall, and none is counted twice.
    [ "${costs[0]}" -lt "$whole" ] && [ "${costs[0]}" -gt $((whole * 3 / 4)) ] ||
        fail "${costs[0]} of $whole"
}

@test "run: --max-cost stops a delivery that costs more, and only that" {
    local first

    first=$(costs --counter compiled)
    assert_equal "$(costs --counter compiled --max-cost 100000000)" "$first"
    printf 'export const spin = () => { for (;;); };\nexport const one = () => 1;\n' > spin.js
    printf '{"vat":"spin","method":"%s","args":[]}\n' one spin one > lines
    run --separate-stderr "$BUILD/gaspipe" run --json --counter compiled --max-cost 50000000 --slog s.slog \
        --vat spin=spin.js lines
    assert_status 1
    assert_equal "$(jq -c 'select(.kind == "delivery" and .crankNum != null) | [.description[0:5], .status, .limited]' <<< "$output")" \
        '["start","ok",null]
["(o+0)","ok",null]
["(o+0)","error","units"]'
    assert_equal "$(jq -c 'select(.limited) | [.blockCost > 50000000, .atLeast, .error]' <<< "$output")" \
        '[true,null,"Cost limit exceeded: more than the 50000000 units that a delivery may use (--max-cost)"]'
    assert_equal "$(jq -c 'select(.type == "deliver-result" and .dr[0] == "error") | [.dr[1], .dr[2].blockCost]' s.slog)" \
        "[\"Cost limit exceeded\",$(jq 'select(.limited).blockCost' <<< "$output")]"
}

@test "run: --max-cost is exact to the unit, with syscalls in between" {
    local cost

    printf 'export const work = n => { let s = 0; for (let i = 0; i < n; i++) { s += i; store.set("k", `${s}`); } return s; };\n' > work.js
    printf '{"vat":"work","method":"work","args":[2000]}\n' > lines
    "$BUILD/gaspipe" run --json --counter compiled --vat work=work.js lines > out
    cost=$(jq 'select(.crankNum and .method != "startVat" and .description != "startVat") | .blockCost' out)
    "$BUILD/gaspipe" run --json --counter compiled --max-cost "$cost" --vat work=work.js lines > out
    assert_equal "$(jq 'select(.crankNum and .description != "startVat") | .blockCost' out)" "$cost"
    run "$BUILD/gaspipe" run --json --counter compiled --max-cost $((cost - 1)) --vat work=work.js lines
    assert_status 1
    assert_output_has "more than the $((cost - 1)) units"
}

@test "run: --max-cost ends a builtin that runs on" {
    printf 'export const repeat = () => "x".repeat(1 << 28).length;\n' > long.js
    printf '{"vat":"long","method":"repeat","args":[]}\n' > lines
    run --separate-stderr "$BUILD/gaspipe" run --json --counter compiled --max-cost 3000000 --vat long=long.js lines
    assert_status 1
    assert_equal "$(jq -c 'select(.limited) | [.blockCost, .limited, .atLeast]' <<< "$output")" '[3000000,"units",true]'
}

@test "--max-cost: wants the meter, and a vat keeps its limit" {
    local contract=token=$ROOT/examples/token/contract.js deliveries=$ROOT/examples/token/deliveries.jsonl

    run --separate-stderr "$BUILD/gaspipe" run --counter none --max-cost 5 --vat "$contract" "$deliveries"
    assert_bad_input 2 '--counter compiled'
    run --separate-stderr "$BUILD/gaspipe" replay --max-cost 5 --store s token
    assert_bad_input 2 '--counter compiled'
    run --separate-stderr "$BUILD/gaspipe" ping --max-cost 5
    assert_bad_input 2 '--counter compiled'
    costs --counter compiled --max-cost 900000000 --store kept > /dev/null
    run --separate-stderr "$BUILD/gaspipe" run --counter none --store kept --again --vat "$contract" "$deliveries"
    assert_bad_input 3 '--max-cost 900000000' '--counter compiled'
    "$BUILD/gaspipe" replay --counter compiled --max-cost 900000000 --store kept token > /dev/null
    "$BUILD/gaspipe" ping --counter compiled --max-cost 100000000 --count 20 > ping.out
}

# spin OPTION...: two deliveries to the vat of spin.js: `one` is cheap, `encode` is but in computrons.
spin() {
    cat > spin.js << 'END'
export const one = () => 1;
export const encode = () => { const bytes = new ArrayBuffer(1 << 20); for (let i = 0; i < 10000; i++) Base64.encode(bytes); };
END
    printf '{"vat":"spin","method":"%s","args":[]}\n' one encode > lines
    run --separate-stderr "$BUILD/gaspipe" run --json --again --vat spin=spin.js "$@" lines
}

@test "--max-cost: without it a vat has 20000000000 units, which other counters do not know" {
    spin --counter compiled --slog s.slog
    assert_status 1
    assert_equal "$(jq -c 'select(.limited) | [.limited, .blockCost >= 20000000000, .error]' <<< "$output")" \
        '["units",true,"Cost limit exceeded: more than the 20000000000 units that a delivery may use (--max-cost)"]'
    "$BUILD/gaspipe" replay --counter compiled s.slog > /dev/null

    # Made without the meter, held to the limit where it is; and the other way round.
    echo '{"vat":"spin","method":"one","args":[]}' > one
    "$BUILD/gaspipe" run --counter none --store t --vat spin=spin.js one > /dev/null
    spin --counter compiled --store t
    assert_equal "$(jq -r 'select(.limited).limited' <<< "$output")" units
    "$BUILD/gaspipe" run --counter compiled --store u --vat spin=spin.js one > /dev/null
    "$BUILD/gaspipe" run --counter none --store u --again one > /dev/null
    "$BUILD/gaspipe" run --counter qemu --store u --again one > /dev/null
}

@test "--max-cost 0, or --set-limit cost=0: no limit, also of later runs" {
    local kept

    echo '{"vat":"spin","method":"one","args":[]}' > one
    printf 'export const one = () => 1;\n' > spin.js
    "$BUILD/gaspipe" run --counter compiled --max-cost 0 --store zero --vat spin=spin.js one > /dev/null
    "$BUILD/gaspipe" run --counter compiled --store set --vat spin=spin.js one > /dev/null
    "$BUILD/gaspipe" run --counter compiled --store set --set-limit spin=cost:0 > /dev/null
    for kept in zero set; do
        run --separate-stderr "$BUILD/gaspipe" run --counter compiled --max-cost 5 --store "$kept" --again \
            --vat spin=spin.js one
        assert_equal "$stderr" 'gaspipe: vat spin: --max-cost 5 is ignored; the vat keeps 0 (no limit)'
    done
    "$BUILD/gaspipe" run --counter compiled --store kept --vat spin=spin.js one > /dev/null
    run --separate-stderr "$BUILD/gaspipe" run --counter compiled --max-cost 0 --store kept --again \
        --vat spin=spin.js one
    assert_equal "$stderr" 'gaspipe: vat spin: --max-cost 0 is ignored; the vat keeps 20000000000'
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
