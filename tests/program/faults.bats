#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Faults, made for real: what gaspipe run says, its exit status, and that the store holds
# all that was done before, nothing of what was not, and nothing twice.

load common
load store_contents

setup_file() {
    export FAULTY=$BATS_FILE_TMPDIR/faulty
    mkdir "$FAULTY"
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -I"$BATS_TEST_DIRNAME/../.." \
        "$BATS_TEST_DIRNAME/faulty_worker.c" "$BATS_TEST_DIRNAME"/../../proto/netstring.c \
        "$BATS_TEST_DIRNAME"/../../base/{buf,error,io}.c -o "$FAULTY/worker"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cp "$FAULTY/worker" worker
    ln -s "$NATIVE/gaspipe-worker" real
    true > tally
    cat > keeper.js << 'END'
export const keep = (name, _fault) => {
    store.set(name, `${(store.get(name) ?? '')}kept `);
    return store.get(name);
};
export const get = name => store.get(name);
END
}

# keep [FAULT]: deliveries, of which the second one meets that fault while the tally lasts.
keep() {
    printf '{"vat":"keeper","method":"%s","args":["%s","%s"]}\n' \
        keep one '' keep two "${1:-}" keep one '' get two ''
}

# keeper STORE OPTIONS...: these deliveries, with the worker that misbehaves. What it
# says goes to a file: it may be much.
keeper() {
    status=0
    timeout 120 "$NATIVE/gaspipe" run --json --worker ./worker --store "$1" \
        --vat keeper=keeper.js "${@:2}" deliveries > out 2> err || status=$?
    output=$(cat out)
}

# said WORDS...: there is a line on stderr that has all of them, in this order.
said() {
    local pattern

    pattern=$(printf '.*%s' "$@")
    grep -q "$pattern" err || fail "no '$*' in:" "$(head -c 2000 err)"
}

results() {
    jq -c 'select(.kind == "delivery" and .description != "startVat") | [.crankNum, .status, .result]' \
        <<< "$output"
}

# assert_same_store EXPECTED FOUND
assert_same_store() {
    diff <(store_contents "$1") <(store_contents "$2") >&2 || fail "the stores differ"
}

# trouble KIND WORDS OPTIONS...: a fault of that kind is got over; one that comes again
# and again ends the run with status 4 and WORDS, from where another run goes on.
trouble() {
    local kind=$1 words=$2

    shift 2
    keep "faulty:$kind:tally" > deliveries
    keeper undisturbed "$@"
    assert_status 0
    local undisturbed
    undisturbed=$(results)

    printf 1 > tally
    keeper once "$@"
    assert_status 0
    assert_equal "$(results)" "$undisturbed"
    assert_equal "$(wc -c < tally)" 0 "what is left of the tally"
    said keeper "crank 5" "$words" 'tried again, 1 of 3'
    assert_same_store undisturbed once

    printf 12345 > tally
    keeper again --retries 2 "$@"
    assert_status 4
    assert_equal "$(wc -c < tally)" 2 "what is left of the tally"
    assert_equal "$(results)" "$(head -n 1 <<< "$undisturbed")"
    said keeper "crank 5" "$words" 'given up after 3 tries'
    true > tally
    keeper again "$@"
    assert_status 0
    assert_equal "$(results)" "$(tail -n +2 <<< "$undisturbed")"
    assert_same_store undisturbed again
}

@test "a worker that is killed in a delivery" {
    trouble kill:1 'killed by signal 9'
    rm -rf undisturbed once again
    trouble kill:3 'killed by signal 9'
}

@test "a worker that exits" {
    trouble exit:1 'exit status 7'
}

@test "a worker that hangs" {
    trouble hang:1 'longer than 0.7 s' --delivery-timeout 0.7
}

@test "a worker that is stopped" {
    trouble stop:2 'longer than 0.7 s' --delivery-timeout 0.7
}

@test "garbage on the pipe" {
    trouble garbage:1 "not 't'"
}

@test "a frame that is too large" {
    trouble huge:1 'cap of'
}

@test "a frame that is cut" {
    trouble half:2 'inside a frame'
}

@test "a frame that is no reply" {
    trouble unknown:1 'no reply'
}

@test "an answer out of turn" {
    trouble twice:1 'out of turn'
}

@test "a worker that prints without end" {
    trouble flood:1 'longer than 2 s' --delivery-timeout 2
}

@test "a worker that prints much, and then answers" {
    keep faulty:print:1:tally > deliveries
    keeper undisturbed
    local undisturbed
    undisturbed=$(results)
    printf 1 > tally
    keeper flooded
    assert_status 0
    assert_equal "$(results)" "$undisturbed"
    assert_same_store undisturbed flooded
}
