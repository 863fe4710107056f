#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # the dollars are names of WebAssembly
# Promises between contracts of NEAR, through gaspipe's kernel.

load common

# Two accounts with one contract: echo gives its input back, fail panics, back gives the result it
# is told or "failed".
setup_file() {
    wat2wasm - -o "$BATS_FILE_TMPDIR/ab.wasm" << 'EOF'
(module
    (import "env" "promise_create" (func $create (param i64 i64 i64 i64 i64 i64 i64 i64) (result i64)))
    (import "env" "promise_then" (func $then (param i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64)))
    (import "env" "promise_and" (func $and (param i64 i64) (result i64)))
    (import "env" "promise_batch_create" (func $batch (param i64 i64) (result i64)))
    (import "env" "promise_batch_action_transfer" (func $transfer (param i64 i64)))
    (import "env" "promise_batch_action_function_call_weight" (func $weighted (param i64 i64 i64 i64 i64 i64 i64 i64)))
    (import "env" "promise_return" (func $return (param i64)))
    (import "env" "promise_results_count" (func $count (result i64)))
    (import "env" "promise_result" (func $result (param i64 i64) (result i64)))
    (import "env" "account_balance" (func $balance (param i64)))
    (import "env" "prepaid_gas" (func $gas (result i64)))
    (import "env" "value_return" (func $value (param i64 i64)))
    (import "env" "input" (func $input (param i64)))
    (import "env" "panic" (func $panic))
    (memory 1)
    (data (i32.const 0) "b.near") (data (i32.const 16) "echo") (data (i32.const 26) "c.near")
    (data (i32.const 32) "a.near") (data (i32.const 48) "back") (data (i32.const 64) "fail")
    (data (i32.const 80) "{\"x\": 1}") (data (i32.const 96) "failed") (data (i32.const 112) "\64")
    (data (i32.const 160) "money") (data (i32.const 176) "start") (data (i32.const 192) "gas")
    (global $Tgas10 i64 (i64.const 10000000000000))
    (func $call (param $account i64) (param $length i64) (param $method i64) (param $deposit i64) (result i64)
        (call $create (i64.const 6) (local.get $account) (local.get $length) (local.get $method)
            (i64.const 8) (i64.const 80) (local.get $deposit) (global.get $Tgas10)))
    (func $back (param i64)
        (call $return (call $then (local.get 0) (i64.const 6) (i64.const 32) (i64.const 4) (i64.const 48)
            (i64.const 0) (i64.const 0) (i64.const 128) (global.get $Tgas10))))
    (func (export "start") (call $back (call $call (i64.const 0) (i64.const 4) (i64.const 16) (i64.const 112))))
    (func (export "start_fail") (call $back (call $call (i64.const 0) (i64.const 4) (i64.const 64) (i64.const 112))))
    (func (export "start_nobody") (call $back (call $call (i64.const 26) (i64.const 4) (i64.const 16) (i64.const 112))))
    (func (export "start_and")
        (i64.store (i32.const 256) (call $call (i64.const 0) (i64.const 4) (i64.const 16) (i64.const 128)))
        (i64.store (i32.const 264) (call $call (i64.const 0) (i64.const 4) (i64.const 64) (i64.const 128)))
        (i64.store (i32.const 272) (call $call (i64.const 26) (i64.const 4) (i64.const 64) (i64.const 128)))
        (call $back (call $and (i64.const 256) (i64.const 3))))
    (func (export "chain") (call $return (call $create (i64.const 6) (i64.const 32) (i64.const 5) (i64.const 176)
        (i64.const 0) (i64.const 0) (i64.const 128) (i64.const 60000000000000))))
    (func (export "and_panic") (drop (call $call (i64.const 0) (i64.const 4) (i64.const 16) (i64.const 112))) (call $panic))
    (func (export "transfer") (call $transfer (call $batch (i64.const 6) (i64.const 0)) (i64.const 112))
        (call $transfer (call $batch (i64.const 6) (i64.const 26)) (i64.const 112)))
    (func (export "weights") (local i64) (local.set 0 (call $batch (i64.const 6) (i64.const 0)))
        (call $weighted (local.get 0) (i64.const 3) (i64.const 192) (i64.const 0) (i64.const 0) (i64.const 128) (i64.const 0) (i64.const 1))
        (call $return (local.get 0)))
    (func (export "echo") (call $input (i64.const 0)) (call $value (i64.const -1) (i64.const 0)))
    (func (export "fail") (call $panic))
    (func (export "money") (call $balance (i64.const 512)) (call $value (i64.const 16) (i64.const 512)))
    (func (export "gas") (i64.store (i32.const 512) (call $gas)) (call $value (i64.const 8) (i64.const 512)))
    (func (export "back")
        (if (i64.eq (call $result (i64.const 0) (i64.const 0)) (i64.const 1))
            (then (call $value (i64.const -1) (i64.const 0)))
            (else (call $value (i64.const 6) (i64.const 96))))))
EOF
    export AB=$BATS_FILE_TMPDIR/ab.wasm
}

# calls OPTION... -- METHOD...: of a.near.
calls() {
    local options=() method

    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    for method; do
        printf '{"vat":"%s","method":"%s","args":[]}\n' "${ON-a.near}" "$method"
    done > "$BATS_TEST_TMPDIR/lines"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none "${options[@]}" \
        --vat "a.near=$AB" --vat "b.near=$AB" "$BATS_TEST_TMPDIR/lines"
}

# results: of the lines.
results() {
    jq -c 'select(.kind == "result").value' <<< "$output" | tr '\n' ' '
}

# order: who did what.
order() {
    jq -r 'select(.kind == "delivery" and .description != "startVat") | .vat[0:1] + ":" +
        (.description | capture("\\.(?<method>[a-z_]+)").method // "notify")' <<< "$output" | tr '\n' ' '
}

@test "A calls B, and the callback receives the result, or that it failed" {
    calls -- start start_fail start_nobody
    assert_status 1 # fail does
    [ "$(results)" = '{"x":1} "failed" "failed" ' ]
    [[ $(order) == 'a:start b:echo a:notify a:back a:start_fail b:fail a:notify a:back a:start_nobody a:back '* ]] ||
        fail "$(order)"
}

@test "joined promises, returned promises and what they return" {
    calls -- start_and chain
    [ "$(results)" = '{"x":1} {"x":1} ' ] || fail "$(results)"
}

@test "the exact fees of a promise are burnt, and its gas is used" {
    calls -- start
    # nearcore: send and execution fees of 84, of two receipts with a function call each of which
    # the second has one data dependency on another account.
    [ "$(jq -c 'select(.description | test("start ")).gasProfile | [.new_action_receipt, .function_call_base, .function_call_byte]' <<< "$output")" = \
        "[$((2 * 108059500000 + 2 * 36486732312)),400000000000,$((12 * 47683715 + 4 * 2235934))]" ]
}

@test "a panic undoes the promises that came before it" {
    calls -- and_panic
    assert_status 1
    [ "$(order)" = 'a:and_panic ' ]
}

@test "money goes with a call, and is refunded when that fails" {
    local amounts

    calls -- money start money start_fail money transfer money
    amounts=$(jq -r 'select(.kind == "delivery" and (.description | test("a?money"))).result' <<< "$output" |
        while read -r line; do base64 -d <<< "$line" | od -An -tu8 | awk '{ print $1 }'; done | tr '\n' ' ')
    # 10^27 without what is left of it: 100 for start, nothing for start_fail, 200 for the transfers.
    read -r one two three four <<< "$amounts"
    ((one - two == 100 && two == three && three - four == 200)) || fail "$amounts"
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    [[ $stderr == *'a.near: action on c.near: transfer 100'* ]]
    ON=b.near calls -- money
    [ -n "$output" ]
}

@test "weights share out the gas that is left" {
    local gas used

    calls --slog "$BATS_TEST_TMPDIR/s.slog" -- weights
    gas=$(jq -r 'select(.type == "deliver" and .vatID == "v2" and .dispatch == "message").vd[2].methargs.body[1:] |
        fromjson | .[1][1].gas' "$BATS_TEST_TMPDIR/s.slog")
    used=$(jq 'select(.kind == "delivery" and (.description | test("weights"))).gasBurnt' <<< "$output")
    # Burnt gas and gas reserved for execution are missing: 108059500000, 780000000000 and
    # 2235934 for each byte of the method.
    [ "$((gas + used + 108059500000 + 780000000000 + 3 * 2235934))" = 300000000000000 ]
    # All of it was given away; who was called gives back what it did not burn.
    [ "$(jq -c 'select(.kind == "delivery" and (.description | test("weights|gas"))).gasRefunded' <<< "$output" |
        tr '\n' ' ')" = "0 $((gas - $(jq 'select(.kind == "delivery" and (.description | test("\\.gas "))).gasBurnt' <<< "$output"))) " ]
}

@test "a run stopped between the call and its callback continues; replays are the same" {
    local whole store=$BATS_TEST_TMPDIR/store

    calls --store "$BATS_TEST_TMPDIR/whole" -- start start_and
    whole=$(results)
    calls --store "$store" --max-workers 1 --jobs 2 -- start start_and
    [ "$(results)" = "$whole" ]
    for vat in a.near b.near; do
        run "$NATIVE/gaspipe" replay --counter none --from-start --store "$store" $vat
        assert_status 0
    done
    run "$NATIVE/gaspipe" verify --store "$store"
    assert_status 0
}

@test "a failed call's deposit goes to the account that promise_set_refund_to names" {
    local account

    wat2wasm - -o "$BATS_TEST_TMPDIR/m.wasm" << 'EOF'
(module
    (import "env" "promise_batch_create" (func $batch (param i64 i64) (result i64)))
    (import "env" "promise_batch_action_function_call" (func $call (param i64 i64 i64 i64 i64 i64 i64)))
    (import "env" "promise_set_refund_to" (func $refund_to (param i64 i64 i64)))
    (import "env" "promise_return" (func $promise (param i64)))
    (import "env" "refund_to_account_id" (func $whose (param i64)))
    (import "env" "account_balance" (func $balance (param i64)))
    (import "env" "value_return" (func $value (param i64 i64)))
    (memory 1) (data (i32.const 0) "b.nearc.nearfailtell") (data (i32.const 64) "\05")
    (func $ask (param $length i64) (param $method i64)
        (drop (call $batch (i64.const 6) (i64.const 0)))
        (call $call (i64.const 0) (local.get $length) (local.get $method) (i64.const 0) (i64.const 0)
            (i64.const 64) (i64.const 10000000000000))
        (call $refund_to (i64.const 0) (i64.const 6) (i64.const 6)))
    (func (export "ask_fail") (call $ask (i64.const 4) (i64.const 12)))
    (func (export "ask_tell") (call $ask (i64.const 4) (i64.const 16)) (call $promise (i64.const 0)))
    (func (export "fail") unreachable)
    (func (export "tell") (call $whose (i64.const 1)) (call $value (i64.const -1) (i64.const 1)))
    (func (export "money") (call $balance (i64.const 128)) (call $value (i64.const 16) (i64.const 128))))
EOF
    printf '{"vat":"%s","method":"%s","args":[]}\n' a.near ask_tell a.near ask_fail c.near money b.near money \
        > "$BATS_TEST_TMPDIR/lines"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat "a.near=$BATS_TEST_TMPDIR/m.wasm" \
        --vat "b.near=$BATS_TEST_TMPDIR/m.wasm" --vat "c.near=$BATS_TEST_TMPDIR/m.wasm" "$BATS_TEST_TMPDIR/lines"
    jq -r 'select(.kind == "result").value | strings' <<< "$output" > "$BATS_TEST_TMPDIR/results"
    assert_equal "$(head -n 1 "$BATS_TEST_TMPDIR/results")" c.near
    # 10^27 + 5, and b.near has the 5 of ask_tell.
    for account in 2 3; do
        sed -n ${account}p "$BATS_TEST_TMPDIR/results" | base64 -d | od -An -tx1 | tr -d ' \n'
        echo
    done > "$BATS_TEST_TMPDIR/money"
    assert_equal "$(sort -u "$BATS_TEST_TMPDIR/money")" 050000e83c80d09f3c2e3b0300000000
}

# Both functions that yield ask; answer resumes with the first five bytes of its input.
yielding() {
    wat2wasm - -o "$BATS_TEST_TMPDIR/y.wasm" << 'EOF'
(module
    (import "env" "promise_yield_create" (func $yield (param i64 i64 i64 i64 i64 i64 i64) (result i64)))
    (import "env" "promise_yield_resume" (func $resume (param i64 i64 i64 i64) (result i32)))
    (import "env" "promise_yield_create_with_id" (func $name (param i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64)))
    (import "env" "promise_yield_resume_with_yield_id" (func $resume_name (param i64 i64 i64 i64) (result i32)))
    (import "env" "promise_return" (func $return (param i64)))
    (import "env" "promise_result" (func $result (param i64 i64) (result i64)))
    (import "env" "value_return" (func $value (param i64 i64)))
    (import "env" "input" (func $input (param i64)))
    (import "env" "read_register" (func $register (param i64 i64)))
    (import "env" "storage_write" (func $write (param i64 i64 i64 i64 i64) (result i64)))
    (import "env" "storage_read" (func $read (param i64 i64 i64) (result i64)))
    (memory 1) (data (i32.const 0) "callback") (data (i32.const 16) "key") (data (i32.const 24) "late")
    (global $Tgas10 i64 (i64.const 10000000000000))
    (func $yielded (result i64) (call $yield (i64.const 8) (i64.const 0) (i64.const 0) (i64.const 0)
        (global.get $Tgas10) (i64.const 0) (i64.const 0)))
    (func $digit (param i32) (i32.store (i32.const 64) (i32.add (i32.const 48) (local.get 0)))
        (call $value (i64.const 1) (i64.const 64)))
    (func (export "ask") (call $return (call $yielded))
        (drop (call $write (i64.const 3) (i64.const 16) (i64.const -1) (i64.const 0) (i64.const 1))))
    (func (export "answer") (call $input (i64.const 0)) (call $register (i64.const 0) (i64.const 128))
        (drop (call $read (i64.const 3) (i64.const 16) (i64.const 1)))
        (call $digit (call $resume (i64.const -1) (i64.const 1) (i64.const 5) (i64.const 128))))
    (func (export "ask_name") (local i64) (local.set 0 (call $name (i64.const 8) (i64.const 0) (i64.const 0) (i64.const 0)
            (i64.const 512) (global.get $Tgas10) (i64.const 0) (i64.const 32) (i64.const 256)))
        (if (i64.eq (local.get 0) (i64.const -1)) (then (call $digit (i32.const 9))) (else (call $return (local.get 0)))))
    (func (export "answer_name") (call $input (i64.const 0)) (call $register (i64.const 0) (i64.const 128))
        (call $digit (call $resume_name (i64.const 32) (i64.const 256) (i64.const 5) (i64.const 128))))
    (func (export "both") (call $return (call $yielded)) (call $register (i64.const 0) (i64.const 128))
        (drop (call $resume (i64.const 32) (i64.const 128) (i64.const 4) (i64.const 24))))
    (func (export "callback")
        (if (i64.eq (call $result (i64.const 0) (i64.const 0)) (i64.const 1))
            (then (call $value (i64.const -1) (i64.const 0)))
            (else (call $value (i64.const 4) (i64.const 24))))))
EOF
    printf '{"vat":"y","method":%s}\n' "$@" > "$BATS_TEST_TMPDIR/lines"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat "y=$BATS_TEST_TMPDIR/y.wasm" "$BATS_TEST_TMPDIR/lines"
    assert_status 0
}

@test "a yielded promise waits until the contract resumes it, once" {
    yielding '"ask","args":[""]' '"answer","args":["hello"]' '"answer","args":["again"]' '"both","args":[""]' \
        '"ask_name","args":[""]' '"ask_name","args":[""]' '"answer_name","args":["named"]' '"answer_name","args":["never"]' \
        '"ask_name","args":[""]'
    assert_equal "$(results)" '"hello" 1 0 "late" 9 "named" 1 0 null '
}

@test "a yielded promise fails after 200 blocks, with the next delivery" {
    yielding '"ask","args":["",{"blockHeight":1000}]' '"ask_name","args":["",{"blockHeight":1001}]' \
        '"answer_name","args":["hello",{"blockHeight":1199}]' '"answer","args":["hello",{"blockHeight":1200}]'
    assert_equal "$(results)" '"hello" 1 "late" 0 '
}

# A factory, which makes child.f.near of its input, with 10^24 yoctoNEAR; its callback says whether
# that is done or lost. ask calls the child.
factory() {
    wat2wasm - -o "$BATS_TEST_TMPDIR/child.wasm" << 'EOF'
(module (import "env" "input" (func $input (param i64))) (import "env" "value_return" (func $value (param i64 i64)))
    (import "env" "current_account_id" (func $own (param i64))) (import "env" "account_balance" (func $balance (param i64)))
    (import "env" "panic" (func $panic))
    (import "env" "storage_write" (func $write (param i64 i64 i64 i64 i64) (result i64)))
    (import "env" "storage_read" (func $read (param i64 i64 i64) (result i64)))
    (memory 1) (data (i32.const 0) "key")
    (func (export "new") (call $input (i64.const 0)) (drop (call $write (i64.const 3) (i64.const 0) (i64.const -1) (i64.const 0) (i64.const 1))) (call $value (i64.const -1) (i64.const 0)))
    (func (export "bad") (call $panic))
    (func (export "get") (if (i64.eqz (call $read (i64.const 3) (i64.const 0) (i64.const 1))) (then (call $panic))) (call $value (i64.const -1) (i64.const 1)))
    (func (export "who") (call $own (i64.const 0)) (call $value (i64.const -1) (i64.const 0)))
    (func (export "money") (call $balance (i64.const 64)) (call $value (i64.const 16) (i64.const 64))))
EOF
    wat2wasm - -o "$BATS_TEST_TMPDIR/f.wasm" << 'EOF'
(module (import "env" "input" (func $input (param i64))) (import "env" "value_return" (func $value (param i64 i64)))
    (import "env" "promise_batch_create" (func $batch (param i64 i64) (result i64)))
    (import "env" "promise_batch_then" (func $then (param i64 i64 i64) (result i64)))
    (import "env" "promise_batch_action_create_account" (func $create (param i64)))
    (import "env" "promise_batch_action_transfer" (func $transfer (param i64 i64)))
    (import "env" "promise_batch_action_deploy_contract" (func $deploy (param i64 i64 i64)))
    (import "env" "promise_batch_action_function_call" (func $call (param i64 i64 i64 i64 i64 i64 i64)))
    (import "env" "promise_return" (func $return (param i64)))
    (import "env" "promise_result" (func $result (param i64 i64) (result i64)))
    (memory 1) (data (i32.const 0) "child.f.near") (data (i32.const 16) "new") (data (i32.const 24) "hello") (data (i32.const 32) "made") (data (i32.const 40) "done") (data (i32.const 48) "lost") (data (i32.const 56) "f.near") (data (i32.const 64) "get") (data (i32.const 72) "bad")
    (data (i32.const 128) "\00\00\a1\ed\cc\ce\1b\c2\d3\00")
    (func $make (param $method i64) (local $p i64) (call $input (i64.const 0))
    (local.set $p (call $batch (i64.const 12) (i64.const 0))) (call $create (local.get $p)) (call $transfer (local.get $p) (i64.const 128))
    (call $deploy (local.get $p) (i64.const -1) (i64.const 0))
    (call $call (local.get $p) (i64.const 3) (local.get $method) (i64.const 5) (i64.const 24) (i64.const 256) (i64.const 10000000000000))
    (local.set $p (call $then (local.get $p) (i64.const 6) (i64.const 56)))
    (call $call (local.get $p) (i64.const 4) (i64.const 32) (i64.const 0) (i64.const 0) (i64.const 256) (i64.const 10000000000000))
    (call $return (local.get $p)))
    (func (export "make") (call $make (i64.const 16)))
    (func (export "spoil") (call $make (i64.const 72)))
    (func (export "made") (call $value (i64.const 4) (if (result i64) (i64.eq (call $result (i64.const 0) (i64.const 0)) (i64.const 1)) (then (i64.const 40)) (else (i64.const 48)))))
    (func (export "ask") (local $p i64) (local.set $p (call $batch (i64.const 12) (i64.const 0)))
    (call $call (local.get $p) (i64.const 3) (i64.const 64) (i64.const 0) (i64.const 0) (i64.const 256) (i64.const 10000000000000)) (call $return (local.get $p))))
EOF
    CHILD="[{\"base64\":\"$(base64 -w 0 "$BATS_TEST_TMPDIR/child.wasm")\"}]"
}

# of_factory OPTION... -- LINE...
of_factory() {
    local options=()

    for (( ; $# > 0; )); do
        [ "$1" != -- ] || break
        options+=("$1")
        shift
    done
    shift
    printf '{"vat":%s}\n' "$@" > "$BATS_TEST_TMPDIR/lines"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none "${options[@]}" \
        --vat "f.near=$BATS_TEST_TMPDIR/f.wasm" "$BATS_TEST_TMPDIR/lines"
}

@test "a factory makes an account with a contract, which the same batch and later receipts call" {
    local store=$BATS_TEST_TMPDIR/store vat

    factory
    of_factory --store "$store" -- '"f.near","method":"ask","args":[""]' "\"f.near\",\"method\":\"make\",\"args\":$CHILD" \
        '"f.near","method":"ask","args":[""]' "\"f.near\",\"method\":\"make\",\"args\":$CHILD" \
        '"child.f.near","method":"who","args":[""]'
    assert_equal "$(results)" \
        '{"#error":"Can'"'"'t complete the action because account \"child.f.near\" doesn'"'"'t exist","name":"Error"} "done" "hello" "lost" "child.f.near" '
    # Its balance is what was transferred, and it lives on in the store.
    of_factory --store "$store" -- '"child.f.near","method":"money","args":[""]' '"child.f.near","method":"get","args":[""]'
    assert_status 0
    [ "$(results | cut -d ' ' -f 1 | jq -r . | base64 -d | od -A n -t x1 | xargs)" = "00 00 a1 ed cc ce 1b c2 d3 00 00 00 00 00 00 00" ] ||
        fail "$(results)"
    [[ $(results) == *' "hello" ' ]]
    for vat in f.near child.f.near; do
        "$NATIVE/gaspipe" replay --counter none --store "$store" $vat > "$BATS_TEST_TMPDIR/replay" 2>&1 ||
            fail "$(cat "$BATS_TEST_TMPDIR/replay")"
    done
}

@test "a deployment that fails makes no account, and can be repeated" {
    factory
    of_factory -- "\"f.near\",\"method\":\"spoil\",\"args\":$CHILD" '"f.near","method":"ask","args":[""]' \
        "\"f.near\",\"method\":\"make\",\"args\":$CHILD" '"child.f.near","method":"get","args":[""]'
    assert_status 1
    assert_equal "$(results)" \
        '"lost" {"#error":"Can'"'"'t complete the action because account \"child.f.near\" doesn'"'"'t exist","name":"Error"} "done" "hello" '
}

@test "a line for an account that no contract has created is an error in its turn" {
    factory
    of_factory -- '"f.near","method":"ask","args":[""]' '"other.f.near","method":"who","args":[""]'
    assert_status 3
    [[ $stderr == *'lines:2: no vat "other.f.near"'* ]] || fail "$stderr"
}
