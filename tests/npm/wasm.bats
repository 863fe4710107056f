#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Contracts of NEAR from others' tools: gaspipe's in AssemblyScript, compiled by npm's assemblyscript,
# and the one that npm's near-workspaces ships, in Rust.

load ../program/common

PEERS=$ROOT/build/wasm-npm/node_modules

# value: of each result in $output.
values() {
    jq -c 'select(.kind == "result") | .value' <<< "$output"
}

@test "a guest book in AssemblyScript: texts in UTF-16, and abort" {
    cd "$BATS_TEST_TMPDIR"
    node "$PEERS/assemblyscript/bin/asc.js" "$ROOT/examples/wasm-guestbook/guestbook.ts" \
        --baseDir "$ROOT/examples/wasm-guestbook" -o "$PWD/book.wasm" -O --runtime stub
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat book=book.wasm \
        "$ROOT/examples/wasm-guestbook/deliveries.jsonl"
    assert_status 1 # one of them has no text
    [ "$(values | tr '\n' ' ')" = '{"@value":"undefined"} {"@value":"undefined"} {"#error":"Smart contract panicked: the input has no text, filename: \"guestbook.ts\" line: 51 col: 3","name":"Error"} "bob.near: grüße" 2 ' ] ||
        fail "$(values)"
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    [[ $stderr == *'book: bob.near: grüße'* ]]
}

@test "near-workspaces' contract: an account is made, and its callback says so" {
    cat > "$BATS_TEST_TMPDIR/lines" <<- 'EOF'
	{"vat":"testnet","method":"send","args":[{"public_key":"ed25519:22W5rKuvbMRphnDoCj6nfrWhRKvh9Xf9SWXfGHaeXGde"},{"predecessor":"alice.near","deposit":"2000000000000000000000000"}]}
	{"vat":"testnet","method":"get_key_balance","args":[{"key":"ed25519:22W5rKuvbMRphnDoCj6nfrWhRKvh9Xf9SWXfGHaeXGde"},{"view":true}]}
	{"vat":"testnet","method":"create_account","args":[{"new_account_id":"carol.testnet","new_public_key":"ed25519:22W5rKuvbMRphnDoCj6nfrWhRKvh9Xf9SWXfGHaeXGde"},{"predecessor":"alice.near","deposit":"2000000000000000000000000"}]}
	EOF
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none \
        --vat "testnet=$PEERS/near-workspaces/core_contracts/testnet-linkdrop.wasm" "$BATS_TEST_TMPDIR/lines"
    assert_status 0
    [ "$(values | tail -n 2 | tr '\n' ' ')" = '"1000000000000000000000000" true ' ] || fail "$(values)"
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    [[ $stderr == *'action on carol.testnet: create account'* ]]
}
