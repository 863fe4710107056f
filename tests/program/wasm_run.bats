#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # the dollars are names of WebAssembly
# gaspipe run with contracts in WebAssembly: the token of examples/wasm-token, and made ones.

load common

LINES=$ROOT/examples/wasm-token/deliveries.jsonl

setup_file() {
    clang --target=wasm32 -O2 -nostdlib -I"$ROOT" -Wl,--no-entry -o "$BATS_FILE_TMPDIR/token.wasm" \
        "$ROOT/examples/wasm-token/token.c"
    export TOKEN=$BATS_FILE_TMPDIR/token.wasm
}

# column NAME: of each delivery in $output.
column() {
    jq -c "select(.kind == \"delivery\") | .$1" <<< "$output"
}

@test "a token's business: results, logs, and a panic without effect" {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat "ft=$TOKEN" "$LINES"
    assert_status 1
    [ "$(column status | tr '\n' ' ')" = '"ok" "ok" "ok" "ok" "error" "ok" ' ]
    [ "$(column result | tail -n 3 | tr '\n' ' ')" = '"250" null "1000000" ' ]
    [[ $(column error) == *"Smart contract panicked: The account doesn't have enough balance"* ]]
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    [[ $stderr == *'ft: Transfer 250 from alice.near to bob.near'* ]]
}

@test "the meter that is compiled into the engine: the same operations, a block cost and its limit" {
    local plain cost

    [ -x "$ROOT/build/gaspipe-worker-wasm-metered" ] || skip 'make metered has not built the worker'
    [ "$BUILD" = "$ROOT/build" ] || skip 'a build with sanitizers has no metered worker'
    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --vat "ft=$TOKEN" "$LINES"
    plain=$(column compute)
    run --separate-stderr "$BUILD/gaspipe" run --json --counter compiled --vat "ft=$TOKEN" "$LINES"
    assert_equal "$(column compute)" "$plain"
    cost=$(column blockCost)
    [[ $cost != *null* ]]
    run --separate-stderr "$BUILD/gaspipe" run --json --counter qemu,compiled --vat "ft=$TOKEN" "$LINES"
    assert_equal "$(column blockCost)" "$cost" 'under QEMU'
    [[ $(column instructions) != *null* ]]
    cost=$(sort -n <<< "$cost" | tail -n 1)
    run --separate-stderr "$BUILD/gaspipe" run --json --counter compiled --max-cost "$cost" --vat "ft=$TOKEN" "$LINES"
    assert_equal "$(column compute)" "$plain" 'within the limit'
    run "$BUILD/gaspipe" run --counter compiled --max-cost $((cost - 1)) --vat "ft=$TOKEN" "$LINES"
    assert_output_has 'Cost limit exceeded'
}

@test "operations are the same with and without the counter, instructions from run to run" {
    local plain

    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --vat "ft=$TOKEN" "$LINES"
    plain=$(column compute)
    run --separate-stderr "$BUILD/gaspipe" run --json --vat "ft=$TOKEN" "$LINES"
    [ "$plain" = "$(column compute)" ]
    counts=$(column instructions)
    run --separate-stderr "$BUILD/gaspipe" run --json --vat "ft=$TOKEN" "$LINES"
    [ "$counts" = "$(column instructions)" ]
    [[ $counts != *null* ]]
}

@test "a call costs the same each time, however many came before" {
    local line='{"vat":"ft","method":"ft_balance_of","args":[{"account_id":"alice.near"}]}'

    { head -n 1 "$LINES"; for _ in {1..20}; do echo "$line"; done; } > "$BATS_TEST_TMPDIR/lines"
    run --separate-stderr "$BUILD/gaspipe" run --json --vat "ft=$TOKEN" "$BATS_TEST_TMPDIR/lines"
    assert_status 0
    [ "$(column compute | tail -n 18 | sort -u | wc -l)" -eq 1 ]
    [ "$(column instructions | tail -n 18 | sort -u | wc -l)" -eq 1 ]
}

@test "a store keeps the contract's storage, and its deliveries can be replayed" {
    local store=$BATS_TEST_TMPDIR/store

    run "$NATIVE/gaspipe" run --counter none --store "$store" --vat "ft=$TOKEN" "$LINES"
    assert_status 1
    echo '{"vat":"ft","method":"ft_balance_of","args":[{"account_id":"alice.near"}]}' \
        > "$BATS_TEST_TMPDIR/more"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store "$store" \
        --vat "ft=$TOKEN" "$BATS_TEST_TMPDIR/more"
    assert_status 0
    [ "$(column result)" = '"999750"' ]
    run "$NATIVE/gaspipe" replay --counter none --store "$store" ft
    assert_status 0
}

# calls WAT LINE...: a run of lines on the vat m of that module.
calls() {
    wat2wasm - -o "$BATS_TEST_TMPDIR/m.wasm" <<< "(module $1)"
    shift
    printf '%s\n' "$@" > "$BATS_TEST_TMPDIR/lines"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat \
        "m=$BATS_TEST_TMPDIR/m.wasm" "$BATS_TEST_TMPDIR/lines"
}

@test "a loop without end burns the gas that was prepaid" {
    calls '(func (export "spin") (loop (br 0)))' \
        '{"vat":"m","method":"spin","args":["",{"gas":10000000000}]}'
    assert_status 1
    [[ $(column error) == *'Exceeded the prepaid gas.'* ]]
}

@test "more operations than --compute-limit end the vat" {
    wat2wasm - -o "$BATS_TEST_TMPDIR/m.wasm" <<< '(module (func (export "spin") (loop (br 0))))'
    echo '{"vat":"m","method":"spin","args":[]}' > "$BATS_TEST_TMPDIR/lines"
    run "$NATIVE/gaspipe" run --counter none --compute-limit 100000 \
        --vat "m=$BATS_TEST_TMPDIR/m.wasm" "$BATS_TEST_TMPDIR/lines"
    assert_status 1
    assert_output_has 'Compute meter exceeded'
}

@test "a module with many exports loads in the sandbox, and with the same instructions each time" {
    local counts

    calls "$(for i in {1..500}; do echo "(func (export \"f$i\"))"; done)" \
        '{"vat":"m","method":"f77","args":[]}'
    assert_status 0
    [ "$(column status | tr '\n' ' ')" = '"ok" "ok" ' ]
    [ "$BUILD" = "$NATIVE" ] || skip "QEMU cannot run sanitized programs"
    for _ in 1 2; do
        run --separate-stderr "$BUILD/gaspipe" run --json --vat "m=$BATS_TEST_TMPDIR/m.wasm" "$BATS_TEST_TMPDIR/lines"
        assert_status 0
        counts+="$(column instructions | tr '\n' ' ')"$'\n'
    done
    [ "$(sort -u <<< "${counts%$'\n'}" | wc -l)" -eq 1 ] || fail "$counts"
    [[ $counts != *null* ]]
}

@test "by default only prepaid gas limits a call, in a run and in its replay" {
    local store=$BATS_TEST_TMPDIR/store

    # Two thirds of a hundred million operations each, quickly.
    calls '(memory 1) (func (export "long")
            (memory.fill (i32.const 0) (i32.const 1) (i32.const 67000000))
            (memory.fill (i32.const 0) (i32.const 0) (i32.const 67000000)))' \
        '{"vat":"m","method":"long","args":[]}'
    assert_status 0
    [ "$(column compute | tail -n 1)" -gt 134000000 ]
    [ "$(column gasBurnt | tail -n 1)" -gt 110000000000000 ]
    run "$NATIVE/gaspipe" run --counter none --store "$store" --slog "$store.slog" \
        --vat "m=$BATS_TEST_TMPDIR/m.wasm" "$BATS_TEST_TMPDIR/lines"
    assert_status 0
    run "$NATIVE/gaspipe" replay --counter none --from-start --store "$store" m
    assert_status 0
    run "$NATIVE/gaspipe" replay --counter none "$store.slog"
    assert_status 0
    run -1 "$NATIVE/gaspipe" replay --counter none --compute-limit 100000000 "$store.slog"
}

@test "a module that is not valid is refused when it is loaded" {
    wat2wasm --no-check - -o "$BATS_TEST_TMPDIR/bad.wasm" \
        <<< '(module (func (export "main") i32.add))'
    echo '{"vat":"m","method":"main","args":[]}' > "$BATS_TEST_TMPDIR/lines"
    run "$NATIVE/gaspipe" run --counter none --vat "m=$BATS_TEST_TMPDIR/bad.wasm" \
        "$BATS_TEST_TMPDIR/lines"
    [ "$status" -ne 0 ]
    assert_output_has 'PrepareError: Error happened while deserializing the module.'
    assert_output_has '(function 0 (main), byte 33: type mismatch: expected i32, found none)'
    wat2wasm --no-check - -o "$BATS_TEST_TMPDIR/bad.wasm" \
        <<< '(module (func (drop (i32.add (i32.const 1) (f64.const 1)))))'
    run "$NATIVE/gaspipe" run --counter none --vat "m=$BATS_TEST_TMPDIR/bad.wasm" \
        "$BATS_TEST_TMPDIR/lines"
    assert_output_has 'type mismatch: expected i32, found f64)'
    printf ';; text\n(module)' > "$BATS_TEST_TMPDIR/m.wat"
    run "$NATIVE/gaspipe" run --counter none --vat "m=$BATS_TEST_TMPDIR/m.wat" \
        "$BATS_TEST_TMPDIR/lines"
    assert_status 3
    assert_output_has "m.wat: is WebAssembly in text format; assemble it first: wat2wasm"
}

@test "amounts of money and gas have units; another form is refused with what is expected" {
    local text='(import "env" "attached_deposit" (func $deposit (param i64))) (import "env" "prepaid_gas" (func $gas (result i64)))
        (import "env" "value_return" (func $r (param i64 i64))) (memory 1) (func (export "main")
        (call $deposit (i64.const 0)) (i64.store (i32.const 16) (call $gas)) (call $r (i64.const 24) (i64.const 0)))'
    local world lines=()

    # The numbers are little-endian.
    for world in '{"deposit":"1500000000000000000000000","gas":"30000000000000"}' '{"deposit":"1.5 NEAR","gas":"30 Tgas"}' \
        '{"deposit":"1500mNEAR","gas":"30000 GGas"}'; do
        lines+=("{\"vat\":\"m\",\"method\":\"main\",\"args\":[\"\",$world]}")
    done
    calls "$text" "${lines[@]}"
    assert_status 0
    assert_equal "$(column result | grep -v null | sort -u | wc -l)" 1
    lines=()
    for world in '{"deposit":"1 Bitcoin"}' '{"deposit":-1}' '{"gas":"0.0001 gas"}' '{"balance":".5 NEAR"}' '{"view":"yes"}' '{"depositt":1}'; do
        lines+=("{\"vat\":\"m\",\"method\":\"main\",\"args\":[\"\",$world]}")
    done
    calls "$text" "${lines[@]}"
    assert_status 1
    column error | jq -r 'select(.)' > "$BATS_TEST_TMPDIR/errors"
    diff - "$BATS_TEST_TMPDIR/errors" << 'EOF'
deposit: "1 Bitcoin" is not valid; expected yoctoNEAR, such as "1", or "0.5 NEAR"
deposit: -1 is not valid; expected yoctoNEAR, such as "1", or "0.5 NEAR"
gas: "0.0001 gas" is not valid; expected a number, or "30 Tgas"
balance: ".5 NEAR" is not valid; expected yoctoNEAR, such as "1", or "0.5 NEAR"
view: "yes" is not valid; expected true or false
unknown call member: depositt; expected one of predecessor signer account refund chain deposit balance gas blockHeight blockTimestamp epochHeight view results actions receivers exact
EOF
}

@test "a host function that gaspipe does not have is named" {
    calls '(import "env" "promise_batch_action_state_init" (func $p (param i64 i64 i64 i64) (result i64)))
        (func (export "main") (drop (call $p (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0))))' \
        '{"vat":"m","method":"main","args":[]}'
    assert_status 1
    [[ $(column error) == *'gaspipe has no promise_batch_action_state_init'* ]]
}

# The generators of BLS12-381's groups, and the first one's opposite; EIP-196's 2 * (1, 2).
@test "contracts add points and check pairings" {
    local x=17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb
    local y=08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1
    local minus=114d1d6855d545a8aa7d76c8cf2e21f267816aef1db507c96655b9d5caac42364e6f38ba0ecb751bad54dcd6b939c2ca
    local second=13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e
    second+=024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8
    second+=0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be
    second+=0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801
    local one two sum method=sum lines=()

    one=01$(printf '0%.0s' {1..62})
    two=02${one:2}
    for sum in "00$one${two}00$one$two" "$x$y$second$x$minus$second" "$x$y$second"; do
        lines+=("{\"vat\":\"m\",\"method\":\"$method\",\"args\":[{\"base64\":\"$(basenc --base16 -d <<< "${sum^^}" |
            base64 -w 0)\"}]}")
        method=check
    done
    calls '(import "env" "input" (func $input (param i64)))
        (import "env" "alt_bn128_g1_sum" (func $sum (param i64 i64 i64)))
        (import "env" "bls12381_pairing_check" (func $check (param i64 i64) (result i64)))
        (import "env" "value_return" (func $return (param i64 i64))) (memory 1)
        (func (export "sum") (call $input (i64.const 0))
            (call $sum (i64.const -1) (i64.const 0) (i64.const 1)) (call $return (i64.const -1) (i64.const 1)))
        (func (export "check") (call $input (i64.const 0))
            (i64.store (i32.const 0) (i64.add (i64.const 48) (call $check (i64.const -1) (i64.const 0))))
            (call $return (i64.const 1) (i64.const 0)))' "${lines[@]}"
    assert_status 0
    column result | tail -n 3 | head -n 1 | jq -r . | base64 -d | basenc --base16 -w 0 > "$BATS_TEST_TMPDIR/point"
    assert_equal "$(cat "$BATS_TEST_TMPDIR/point")" \
        "D3CF876DC108C2D3A81C8716A91678D9851518685B04859B021A132EE7440603C4A2185A7ABF3EFFC78F53E349A4A6680A9CAEB2965F84E7927C0A0E8C73ED15"
    assert_equal "$(column result | tail -n 2 | jq -r . | xargs)" "0 2"
}

@test "a profile of a contract in WebAssembly says where its gas is" {
    wat2wasm - -o "$BATS_TEST_TMPDIR/m.wasm" <<< '(module (func (export "main")))'
    echo '{"vat":"m","method":"main","args":[]}' > "$BATS_TEST_TMPDIR/lines"
    for option in --profile --profile-folded; do
        run --separate-stderr "$NATIVE/gaspipe" run --counter none $option "$BATS_TEST_TMPDIR/profile" --vat \
            "m=$BATS_TEST_TMPDIR/m.wasm" "$BATS_TEST_TMPDIR/lines"
        assert_status 0
        [[ $stderr == *"$option: has no lines for contracts in WebAssembly; --json prints their gas by cost, as gasProfile"* ]] ||
            fail "$stderr"
    done
}

# returns FUNCTION TYPE CALL ARGUMENTS: what the host function writes to a register.
returns() {
    calls "(import \"env\" \"$1\" (func \$f $2)) (import \"env\" \"value_return\" (func \$r (param i64 i64)))
        (memory 1) (func (export \"main\") $3 (call \$r (i64.const -1) (i64.const 1)))" \
        "{\"vat\":\"m\",\"method\":\"main\",\"args\":[$4]}"
    assert_status 0
    column result | tail -n 1 | jq -r .
}

@test "a contract reads the name of the chain and the hash of its own code" {
    assert_equal "$(returns chain_id '(param i64)' '(call $f (i64.const 1))' '')" mainnet
    assert_equal "$(returns chain_id '(param i64)' '(call $f (i64.const 1))' '"",{"chain":"testnet"}')" testnet
    returns current_contract_code '(param i64) (result i64)' \
        '(if (i64.ne (call $f (i64.const 1)) (i64.const 1)) (then unreachable))' '' |
        base64 -d | od -An -tx1 -v | tr -d ' \n' > "$BATS_TEST_TMPDIR/hash"
    assert_equal "$(cat "$BATS_TEST_TMPDIR/hash")" "$(sha256sum "$BATS_TEST_TMPDIR"/m.wasm | cut -d ' ' -f 1)"
}

@test "an account pays for its storage, and reads 4 MB of it in a call at most" {
    local code='(import "env" "storage_write" (func $write (param i64 i64 i64 i64 i64) (result i64)))
        (import "env" "storage_read" (func $read (param i64 i64 i64) (result i64)))
        (import "env" "storage_has_key" (func $has (param i64 i64) (result i64)))
        (memory 17) (data (i32.const 0) "abcde")
        (func $put (param $key i64) (i64.store8 (i32.const 1048576) (local.get $key))
            (drop (call $write (i64.const 1) (local.get $key) (i64.const 1048576) (i64.const 1) (i64.const 0))))
        (func (export "put_a") (call $put (i64.const 0))) (func (export "put_b") (call $put (i64.const 1)))
        (func (export "put_c") (call $put (i64.const 2))) (func (export "put_d") (call $put (i64.const 3)))
        (func $get (param $key i64) (drop (call $read (i64.const 1) (local.get $key) (i64.const 0))))
        (func (export "get_3") (call $get (i64.const 0)) (call $get (i64.const 1)) (call $get (i64.const 2))
            (call $get (i64.const 0)) (call $get (i64.const 1)))
        (func (export "get_4") (call $get (i64.const 0)) (call $get (i64.const 1)) (call $get (i64.const 2))
            (call $get (i64.const 3)))
        (func (export "has_4") (drop (call $has (i64.const 1) (i64.const 0))) (drop (call $has (i64.const 1) (i64.const 3))))'
    local lines=() method

    for method in put_a put_b put_c put_d get_3 get_4 has_4; do
        lines+=("{\"vat\":\"m\",\"method\":\"$method\",\"args\":[]}")
    done
    calls "$code" "${lines[@]}" '{"vat":"m","method":"put_a","args":["",{"balance":"0"}]}' \
        '{"vat":"m","method":"put_a","args":["",{"balance":"0","deposit":"100000000000000000000000000"}]}'
    [[ $(column error) == *'proof has exceeded the allowed limit (4.0 MB)'*"enough balance to cover storage, required to have "*' yoctoNEAR more'* ]]
    assert_equal "$(column error | grep -vc null)" 2
    # per_receipt_storage_proof_size_limit is from 69
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --near-protocol 68 --vat \
        "m=$BATS_TEST_TMPDIR/m.wasm" <(head -n 7 "$BATS_TEST_TMPDIR/lines")
    assert_equal "$(column error | grep -v null)" ''
}

@test "an empty value in the storage is a value" {
    calls '(import "env" "storage_write" (func $w (param i64 i64 i64 i64 i64) (result i64)))
        (import "env" "storage_has_key" (func $h (param i64 i64) (result i64)))
        (import "env" "value_return" (func $v (param i64 i64))) (memory 1)
        (func (export "write") (drop (call $w (i64.const 1) (i64.const 0) (i64.const 0)
            (i64.const 0) (i64.const 0))))
        (func (export "has") (i32.store8 (i32.const 8)
                (i32.add (i32.const 48) (i32.wrap_i64 (call $h (i64.const 1) (i64.const 0)))))
            (call $v (i64.const 1) (i64.const 8)))' \
        '{"vat":"m","method":"has","args":[]}' '{"vat":"m","method":"write","args":[]}' \
        '{"vat":"m","method":"has","args":[]}'
    assert_status 0
    assert_equal "$(column result | tr '\n' ' ')" 'null 0 {"@value":"undefined"} 1 '
}

@test "gas burnt is in results, with its parts, in the table, the summary, the slog and its report" {
    local parts sums

    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --slog "$BATS_TEST_TMPDIR/s.slog" \
        --vat "ft=$TOKEN" "$LINES"
    assert_status 1
    parts=$(jq -c 'select(.kind == "delivery") | [.gasProfile[]] | add // 0' <<< "$output")
    [ "$parts" = "$(column gasBurnt)" ]
    [ "$(column gasBurnt | sort -n | tail -n 1)" -gt 100000000000 ]
    [ "$(column 'gasProfile | .wasm_instruction // 0')" = "$(column 'compute * 822756')" ]
    sums=$(jq 'select(.kind == "summary").gasBurnt' <<< "$output")
    [ "$(column gasBurnt | paste -sd+ | bc)" = "$sums" ]
    [ "$(jq -c 'select(.type == "deliver-result") | .dr[2].gasBurnt' "$BATS_TEST_TMPDIR/s.slog")" = "$(column gasBurnt)" ]
    parts=$(column gasBurnt)
    run "$BUILD/slogreport" --json "$BATS_TEST_TMPDIR/s.slog"
    [ "$(column gasBurnt)" = "$parts" ]
    run "$BUILD/slogreport" summary "$BATS_TEST_TMPDIR/s.slog"
    assert_output_has ' gas '
    run "$NATIVE/gaspipe" run --counter none --vat "ft=$TOKEN" "$LINES"
    assert_output_has "$(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<< "$sums") gas burnt"
}

@test "--near-protocol chooses what new contracts cost; a store keeps it" {
    local costs store=$BATS_TEST_TMPDIR/store

    head -n 1 "$LINES" > "$BATS_TEST_TMPDIR/lines"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --near-protocol 62 --store "$store" --vat "ft=$TOKEN" "$BATS_TEST_TMPDIR/lines"
    assert_status 0
    costs=$(column gasProfile.contract_loading_bytes | tail -n 1)
    [ "$costs" = $((216750 * $(stat -c %s "$TOKEN"))) ]
    sed -n 2p "$LINES" > "$BATS_TEST_TMPDIR/more"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store "$store" --vat "ft=$TOKEN" "$BATS_TEST_TMPDIR/more"
    assert_status 0
    [ "$(column gasProfile.contract_loading_bytes)" = "$costs" ]
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --near-protocol 66 --vat "ft=$TOKEN" "$BATS_TEST_TMPDIR/lines"
    [ "$(column gasProfile.contract_loading_bytes | tail -n 1)" = $((1089295 * $(stat -c %s "$TOKEN"))) ]
    for version in 61 159; do
        run "$NATIVE/gaspipe" run --near-protocol $version --vat "ft=$TOKEN" "$LINES"
        assert_status 2
    done
}

@test "hashes are those of OpenSSL, and Keccak's known answers" {
    local hash

    for hash in sha256 ripemd160 keccak256 keccak512 sha3_256 sha3_384 sha3_512; do
        calls "(import \"env\" \"$hash\" (func \$h (param i64 i64 i64)))
            (import \"env\" \"value_return\" (func \$r (param i64 i64)))
            (memory 1) (data (i32.const 0) \"abc\") (func (export \"main\")
            (call \$h (i64.const 3) (i64.const 0) (i64.const 1))
            (call \$r (i64.const -1) (i64.const 1)))" '{"vat":"m","method":"main","args":[]}'
        assert_status 0
        column result | tail -n 1 | jq -r . | base64 -d | od -An -tx1 -v | tr -d ' \n'
        echo
    done > "$BATS_TEST_TMPDIR/hashes"
    {
        printf abc | openssl dgst -sha256 -r | cut -d ' ' -f 1
        printf abc | openssl dgst -ripemd160 -r | cut -d ' ' -f 1
        # keccak-256 and -512 of "abc", of the Keccak team's ShortMsgKAT files.
        echo 4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45
        echo 18587dc2ea106b9a1563e32b3312421ca164c7f1f07bc922a9c83d77cea3a1e5d0c69910739025372dc14ac9642629379540c17e2a65b19d77aa511a9d00bb96
        for hash in 256 384 512; do
            printf abc | openssl dgst -sha3-$hash -r | cut -d ' ' -f 1
        done
    } | diff - "$BATS_TEST_TMPDIR/hashes"
}

@test "without gaspipe-worker-wasm other vats run, and a vat in WebAssembly says what is missing" {
    local programs=$BATS_TEST_TMPDIR/programs

    mkdir "$programs"
    cp "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-sandbox} "$programs/" 2> /dev/null ||
        cp "$NATIVE"/{gaspipe,gaspipe-worker} "$programs/"
    run "$programs/gaspipe" run --counter none --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl"
    assert_status 1 # one of the deliveries is refused
    run "$programs/gaspipe" run --counter none --vat "ft=$TOKEN" "$LINES"
    assert_status 4
    assert_output_has 'vat ft: gaspipe-worker-wasm, which runs WebAssembly, is not next to gaspipe'
}

@test "a delivery in which the kernel refuses a syscall costs the operations up to there" {
    local option counter costs

    head -n 1 "$LINES" > "$BATS_TEST_TMPDIR/lines"
    # The first syscall, which comes before any operation, the second, and the fourth.
    for option in '--max-message-bytes 3' '--max-syscalls 1' '--max-syscalls 3'; do
        for counter in none qemu; do
            # shellcheck disable=SC2086 # an option and its value
            run --separate-stderr "$BUILD/gaspipe" run --json --counter $counter $option \
                --vat "ft=$TOKEN" "$BATS_TEST_TMPDIR/lines"
            assert_status 1
            costs+="$(jq 'select(.kind == "delivery" and .error != null).compute' <<< "$output") "
        done
    done
    [[ $costs =~ ^0\ 0\ ([0-9]+)\ ([0-9]+)\ ([0-9]+)\ ([0-9]+)\ $ ]] || fail "$costs"
    ((BASH_REMATCH[1] > 0 && BASH_REMATCH[1] == BASH_REMATCH[2] && BASH_REMATCH[3] == BASH_REMATCH[4] &&
        BASH_REMATCH[3] > BASH_REMATCH[1])) || fail "$costs"
}
