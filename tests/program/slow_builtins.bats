#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Built-in functions that take long and cost few computrons, under the compiled meter: each ends at the limit of
# cost, at the same place again, or costs no more than in proportion to what it works on.

load common

setup() {
    [ -x "$ROOT/build/gaspipe-worker-metered" ] || skip 'make metered has not built the worker'
    [ "$BUILD" = "$ROOT/build" ] || skip 'the metered worker is next to the ordinary gaspipe'
    cd "$BATS_TEST_TMPDIR"
    cp "$ROOT/tests/program/contracts/slow_builtins.js" .
}

# methods_of WORD: the methods whose last word that is.
methods_of() {
    sed -n "s/^export const \\([A-Za-z]*\\) = .* \\/\\/ $1\$/\\1/p" slow_builtins.js
}

# deliver METHOD N OPTION...: the delivery's JSON line.
deliver() {
    local method=$1 n=$2

    shift 2
    printf '{"vat":"slow","method":"%s","args":[%d]}\n' "$method" "$n" > lines
    "$BUILD/gaspipe" run --json --counter compiled --retries 0 "$@" --vat slow=slow_builtins.js lines 2> /dev/null |
        jq -c 'select(.kind == "delivery" and .description != "startVat")'
}

@test "what computrons do not charge ends at the limit of cost, at the same place in each run" {
    local method methods first

    mapfile -t methods < <(methods_of limited)
    for method in "${methods[@]}"; do
        first=$(deliver "$method" 1000000 --max-cost 100000000 | jq -c '[.status, .limited, .blockCost, .atLeast]')
        [[ $first == '["error","units",'* ]] || fail "$method: $first"
        assert_equal "$(deliver "$method" 1000000 --max-cost 100000000 |
            jq -c '[.status, .limited, .blockCost, .atLeast]')" "$first"
    done
    [ -n "$first" ] || fail 'no method was tried'
}

@test "lists that grow at their end, arrays with holes, deleted entries, keys and named groups cost in proportion to their number" {
    # Few enough that no garbage is collected meanwhile, which would cost in steps.
    local method methods once twice

    mapfile -t methods < <(methods_of linear)
    for method in "${methods[@]}"; do
        once=$(deliver "$method" 2000 | jq 'select(.status == "ok").blockCost')
        twice=$(deliver "$method" 4000 | jq 'select(.status == "ok").blockCost')
        [ -n "$once" ] && [ -n "$twice" ] && [ "$twice" -lt $((once * 5 / 2)) ] ||
            fail "$method: $once units for 2000, $twice for 4000"
    done
    [ -n "$once" ] || fail 'no method was tried'
}

@test "collecting garbage costs more where objects refer to one another all over a large heap" {
    local in_order scattered

    in_order=$(deliver collectInOrder 200003 | jq 'select(.status == "ok").blockCost')
    scattered=$(deliver collectScattered 200003 | jq 'select(.status == "ok").blockCost')
    [ "$scattered" -gt $((in_order * 5 / 4)) ] || fail "$in_order units in order, $scattered scattered"
    assert_equal "$(deliver collectScattered 200003 | jq .blockCost)" "$scattered"
}
