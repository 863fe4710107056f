#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How deep a contract may go is counted: the same wherever and however its worker runs.

load common

# Contract of all constructs, and how deep each may be. xsnap-worker's limits are other ones: they are in
# bytes of its stack.
DEEP=$ROOT/tests/program/contracts/deep.js
LIMITS=$ROOT/tests/program/contracts/deep_limits

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# deliver METHOD [ARGUMENT...]: a line of deliveries. An argument of digits is a number.
deliver() {
    local argument words=() IFS=,

    for argument in "${@:2}"; do
        [[ $argument =~ ^[0-9]+$ ]] || argument="\"$argument\""
        words+=("$argument")
    done
    printf '{"vat":"deep","method":"%s","args":[%s]}\n' "$1" "${words[*]}"
}

# deep DELIVERIES [OPTION...]: runs them; prints what each came to.
deep() {
    "$NATIVE/gaspipe" run --json --counter none "${@:2}" "$1" > out 2> err || [ $? -eq 1 ] ||
        fail "$* failed:" "$(tail -n 3 err)" || return
    jq -c 'select(.kind == "delivery" and .description != "startVat") | [.status, .result, .error]' out
}

@test "each construct may be nested so deep, and no deeper" {
    local kind depth end expected=

    while read -r kind name depth end; do
        # How many is no limit for these, and those that end the vat are in the next test.
        [[ $end == *Error ]] || continue
        deliver reach "$kind $name" "$depth"
        deliver reach "$kind $name" $((depth + 1))
        expected+=$'ok\n'$end$'\n'
    done < <(grep '^parse .*[37] ' "$LIMITS") > deliveries
    deep deliveries --vat deep="$DEEP" > found
    assert_equal "$(jq -r '.[1] | sub(":.*"; "")' found)" "${expected%$'\n'}"
}

# deep_campaign OPTION...
deep_campaign() {
    command -v node > /dev/null || skip 'node is not installed'
    run env BUILD="$NATIVE" "$ROOT/tests/campaign/deep" "$@"
    assert_status 0
    assert_output_has ' 0'
}

@test "results, computrons and stores do not depend on how the workers run, or ran before" {
    local names=forked,restored,jobs,profile,open,smallStack

    if [ "$BUILD" = "$ROOT/build" ]; then
        names+=,functions,longPath
    else
        echo '# without functions and longPath: a sanitized build has no agent and no sandbox to copy' >&3
    fi
    [ ! -x "$NATIVE/gaspipe-worker-metered" ] || names+=,compiled
    [ "$NATIVE" != "$BUILD" ] || names+=,qemu
    deep_campaign --ring -e 80 -s 3 -c $names
}

@test "nor do those of random runs" {
    deep_campaign -n 2 -s 1 -c forked,restored,smallStack
}

@test "a few kilobytes of source do not take the parser gigabytes, or minutes" {
    { deliver reach 'parse forOfs' 600; deliver reach 'parse forOfs' 5000
        deliver reach 'parse elses' 200000; deliver reach 'parse otherwises' 200000; } > deliveries
    deep deliveries --vat deep="$DEEP" --retries 0 > found
    assert_equal "$(jq -r '.[1]' found | tr '\n' ,)" 'ok,RangeError: heap overflow,ok,ok,'
}

# block_cost METHOD ARGUMENT: of that delivery.
block_cost() {
    deliver "$@" > deliveries
    "$NATIVE/gaspipe" run --json --counter compiled --vat deep="$DEEP" deliveries 2> err |
        jq 'select(.kind == "delivery" and .deliveryNum == 2) | .blockCost'
}

@test "four times as many jobs of promises cost little more than four times as much" {
    local few many

    [ -x "$NATIVE/gaspipe-worker-metered" ] || skip 'make metered has not built the worker'
    few=$(block_cost queue 1000)
    many=$(block_cost queue 4000)
    [ "$many" -lt $((5 * few)) ] || fail "$few and $many"
}

@test "a chain in the heap may be of any length: garbage collection, snapshots, restoring, replay" {
    local shape options=(--store store --snapshot-initial 2 --snapshot-interval 3)

    for shape in 'arrays 70000' 'getters 60000' 'closures 60000' 'generators 60000' 'weakMaps 9000' \
        'targets 60000' 'prototypes 60000' 'bounds 20000' 'sets 60000' 'thens 2000'; do
        # shellcheck disable=SC2086 # two words
        deliver keep $shape
        shapes+=("$shape")
    done > deliveries
    deep deliveries --vat deep="$DEEP" "${options[@]}" > found
    for shape in "${shapes[@]}"; do
        deliver look "${shape% *}"
    done > later
    { deliver resolve thens; deliver isSettled thens; } >> later
    deep later --store store >> found
    assert_equal "$(jq -r '.[0]' found | sort -u)" ok "$(cut -c 1-300 found)"
    assert_equal "$(jq -rc '.[1]' found | tail -n 12 | tr '\n' ' ')" \
        '70000 60000 60000 60000 9000 object 60000 20000 60000 object {"@value":"undefined"} true '
    "$NATIVE/gaspipe" replay --counter none --store store deep > replayed 2>&1 || fail "$(cat replayed)"
}
