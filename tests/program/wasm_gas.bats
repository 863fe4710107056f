#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2030,SC2031 # the dollars are names of WebAssembly; bats runs each test apart
# The gas of contract calls against nearcore's own tests. The numbers are facts out of
# runtime/near-vm-runner/src/tests/runtime_errors.rs at commit 0262c974 (the newest protocol
# version there: our parameters of 62), each by its test's name; the modules are rewritten.

load common

# byte N: one byte.
byte() {
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\x$(printf %x "$1")"
}

# name_map ID INDEX=NAME...: a part of a name section.
name_map() {
    local id=$1 pair size=1

    shift
    for pair; do
        size=$((size + 2 + ${#pair} - 2))
    done
    byte "$id"
    byte $size
    byte $#
    for pair; do
        byte "${pair%%=*}"
        byte $((${#pair} - 2))
        printf %s "${pair#*=}"
    done
}

# The names as the assembler of nearcore's tests writes them, of FUNCTIONS and of TYPES (lists of
# INDEX=NAME): a module is paid for by the byte, and wabt's assembler writes more.
name_section() {
    local content=$BATS_TEST_TMPDIR/names

    printf '\x04name' > "$content"
    # shellcheck disable=SC2086 # lists
    [ -z "$1" ] || name_map 1 $1 >> "$content"
    # shellcheck disable=SC2086
    [ -z "$2" ] || name_map 4 $2 >> "$content"
    byte 0
    byte "$(stat -c %s "$content")"
    cat "$content"
}

# burns TEST GAS_LIMIT BURNT ERROR WAT: what a call of main comes to. $FUNCTIONS and $TYPES have
# what nearcore's module names.
burns() {
    local module=$BATS_TEST_TMPDIR/m.wasm

    wat2wasm --no-check - -o "$module" <<< "(module $5)"
    [ -z "${FUNCTIONS-}${TYPES-}" ] || name_section "${FUNCTIONS-}" "${TYPES-}" >> "$module"
    run "$BUILD/tests/wasm_near" 62 "$2" "$module" "${METHOD-main}"
    assert_status 0
    [[ $output == *" burnt $3 "* ]] || fail "$1: not $3 gas:" "$output"
    if [ -n "$4" ]; then
        [[ $output == *" error $4"* ]] || fail "$1: not '$4':" "$output"
    else
        [[ $output != *" error "* ]] || fail "$1: an error:" "$output"
    fi
}

plenty=100000000000000

@test "what operations, frames and traps cost" {
    burns test_simple_contract $plenty 49397511 '' '(func (export "main"))'
    burns test_trap_contract $plenty 50437017 \
        'WebAssembly trap: An `unreachable` opcode was executed.' '(func (export "main") unreachable)'
    FUNCTIONS=0=f burns test_trap_initializer $plenty 53905017 \
        'WebAssembly trap: An `unreachable` opcode was executed.' \
        '(func $f (export "main") unreachable) (start $f)'
    burns test_div_by_zero_contract $plenty 53166279 \
        'WebAssembly trap: An arithmetic exception, e.g. divided by zero.' \
        '(func (export "main") i32.const 1 i32.const 0 i32.div_s return)'
    burns test_fn_loading_gas_protocol_upgrade $plenty 53989035 '' \
        '(func (export "main") i32.const 1 i32.const 1 i32.div_s return)'
    burns test_nan_sign $plenty 61570815 '' '(func (export "main") (i32.div_u (i32.const 0)
        (f32.gt (f32.copysign (f32.const 1.0) (f32.sqrt (f32.const -1.0))) (f32.const 0))) drop)'
    burns test_address_overflow $plenty 54294273 'WebAssembly trap: Memory out of bounds trap.' \
        '(memory 1) (func (export "main") i32.const 1 i64.load32_u offset=4294967295 align=1 drop)'
}

@test "conversions that do not fit trap, and charges for later operations are refunded" {
    local op

    for op in i32.trunc_f64_s i32.trunc_f64_u i64.trunc_f64_s i64.trunc_f64_u; do
        burns test_float_to_int_contract $plenty 53427273 \
            'WebAssembly trap: An arithmetic exception, e.g. divided by zero.' \
            "(func (export \"main\") f64.const 0x1p+1023 $op return)"
    done
}

@test "indirect calls" {
    TYPES=0=ty burns test_indirect_call_to_null_contract $plenty 56678523 'WebAssembly trap: ' \
        '(type $ty (func)) (table 1 funcref)
        (func (export "main") i32.const 0 call_indirect (type $ty) return)'
    FUNCTIONS=0=f TYPES=0=ty burns test_indirect_call_to_wrong_signature_contract $plenty 61663773 \
        'WebAssembly trap: Call indirect incorrect signature trap.' \
        '(type $ty (func (result i32))) (func $f) (table 1 funcref) (elem (i32.const 0) $f)
        (func (export "main") i32.const 0 call_indirect (type $ty) return)'
    FUNCTIONS=0=prepaid_gas TYPES=0=prepaid_gas_t burns test_external_call_indirect $plenty 335491140 '' \
        '(import "env" "prepaid_gas" (func $prepaid_gas (result i64)))
        (type $prepaid_gas_t (func (result i64))) (table 1 funcref)
        (elem (i32.const 0) $prepaid_gas)
        (func (export "main") (call_indirect (type $prepaid_gas_t) (i32.const 0)) drop)'
}

@test "the stack: frames of 64 bytes and their locals, at most max_stack_height" {
    FUNCTIONS=0=f burns test_stack_overflow $plenty 30376143897 'Accessed' \
        '(func $f (export "main") (call $f))'
    FUNCTIONS='0=f1 1=f2' METHOD=f1 burns test_stack_instrumentation_protocol_upgrade $plenty 31767212013 'Accessed' \
        '(func $f1 (export "f1") (local i32) (call $f1))
        (func $f2 (export "f2") (local i32 i32 i32 i32) (call $f2))'
    FUNCTIONS='0=f1 1=f2' METHOD=f2 burns test_stack_instrumentation_protocol_upgrade $plenty 29698803429 'Accessed' \
        '(func $f1 (export "f1") (local i32) (call $f1))
        (func $f2 (export "f2") (local i32 i32 i32 i32) (call $f2))'
}

@test "running out burns the limit exactly" {
    burns test_infinite_initializer 10000000000 10000000000 'Exceeded the prepaid gas.' \
        '(func $start (loop (br 0))) (func (export "main")) (start $start)'
    burns test_memory_grow 10000000000 10000000000 'Exceeded the prepaid gas.' \
        '(memory 17 32) (func (export "main") (loop (memory.grow (i32.const 1)) drop br 0))'
    burns test_external_call_error 100 100 'Exceeded the prepaid gas.' \
        '(import "env" "prepaid_gas" (func $p (result i64))) (func (export "main") (drop (call $p)))'
    burns test_initializer_no_gas 0 0 'Exceeded the prepaid gas.' \
        '(func $f (export "main") nop) (start $f)'
    METHOD=non_empty_non_existing burns test_gas_exceed_loading 1 1 'Exceeded the prepaid gas.' \
        '(func (export "main"))'
    burns test_fn_loading_gas_protocol_upgrade_exceed_executing 45000000 45000000 \
        'Exceeded the prepaid gas.' '(func (export "main") i32.const 1 i32.const 1 i32.div_s return)'
    burns test_fn_loading_gas_protocol_upgrade_exceed_loading 44115963 44115963 \
        'Exceeded the prepaid gas.' '(func (export "main") i32.const 1 i32.const 1 i32.div_s return)'
}

@test "host functions" {
    FUNCTIONS=0=prepaid_gas burns test_external_call_ok $plenty 326865384 '' \
        '(import "env" "prepaid_gas" (func $prepaid_gas (result i64)))
        (func (export "main") (drop (call $prepaid_gas)))'
    FUNCTIONS=0=panic burns test_guest_panic $plenty 322357878 'Smart contract panicked: explicit guest panic' \
        '(import "env" "panic" (func $panic)) (func (export "main") (call $panic))'
    FUNCTIONS=0=panic burns test_panic_re_export $plenty 312352074 'Smart contract panicked: explicit guest panic' \
        '(import "env" "panic" (func $panic)) (export "main" (func $panic))'
}

@test "a memory's size" {
    # regression_tests.rs, commit 133ee1c9
    METHOD=foo burns memory_size_alignment_issue $plenty 52993773 '' \
        '(func (export "foo") memory.size drop) (memory 1 1024)'
}

@test "what is not a method, or cannot be prepared or linked" {
    METHOD='' burns test_empty_method $plenty 0 MethodEmptyName '(func (export "main"))'
    METHOD=no-such-method burns test_export_not_found $plenty 0 MethodNotFound \
        '(func (export "main"))'
    METHOD=no-such-method burns test_infinite_initializer_export_not_found $plenty 0 \
        MethodNotFound '(func $start (loop (br 0))) (func (export "main")) (start $start)'
    burns test_wrong_signature_contract $plenty 0 MethodInvalidSignature \
        '(func (export "main") (param i32))'
    burns test_export_wrong_type $plenty 0 MethodNotFound \
        '(global (export "main") i32 (i32.const 123))'
    burns test_bad_import_1 $plenty 0 'PrepareError: Error happened during instantiation.' \
        '(import "no-such-module" "no-such-global" (global i32)) (func (export "main"))'
    burns test_bad_import_2 $plenty 0 'PrepareError: Error happened during instantiation.' \
        '(import "no-such-module" "no-such-fn" (func $f)) (export "main" (func $f))'
    burns test_bad_import_3 $plenty 0 'PrepareError' \
        '(import "env" "no-such-global" (global i32)) (func (export "main"))'
    FUNCTIONS=0=f burns test_bad_import_4 $plenty 47800713 'Link Error' \
        '(import "env" "no-such-fn" (func $f)) (export "main" (func $f))'
    burns test_bad_many_imports $plenty 299447463 'Link Error' \
        "$(for i in {0..99}; do echo "(import \"env\" \"wtf$i\" (func))"; done) (export \"main\" (func 0))"
    burns test_fn_loading_gas_protocol_upgrade_fail_preparing $plenty 0 \
        'PrepareError: Error happened while deserializing the module.' '(export "main" (func 0))'
    burns test_multiple_memories $plenty 0 PrepareError '(memory 1 2) (memory 3 4)'
    burns test_imported_memory $plenty 0 PrepareError \
        '(import "env" "" (memory 239 248)) (table 0 524431 funcref)'
}

# functions COUNT LOCALS IMPORTS: as near-test-contracts' LargeContract has them.
functions() {
    local locals

    # shellcheck disable=SC2046,SC2183 # as often as there are numbers
    locals=$(printf ' i32%.0s' $(seq "$2"))
    yes '(import "env" "panic" (func))' | head -n "$3"
    yes "(func (local$locals))" | head -n "$1"
    echo '(func (export "main"))'
}

@test "modules with too much of something" {
    burns 'test_fn_loading_gas_protocol_upgrade_fail_preparing, max_locals_per_contract' $plenty 0 \
        'PrepareError: Too many locals declared in the contract.' "$(functions 101 9901 0)"
    burns 'test_fn_loading_gas_protocol_upgrade_fail_preparing, max_functions_number_per_contract' $plenty 0 \
        'PrepareError: Too many functions in contract.' "$(functions 5000 1 5001)"
}

# differ TEST EXPECTED FROM TO WAT: how many more operations the call of TO has than that of FROM.
differ() {
    local module=$BATS_TEST_TMPDIR/m.wasm

    wat2wasm - -o "$module" <<< "(module $5 (func (export \"from\") (drop $3)) (func (export \"to\") (drop $4)))"
    run "$BUILD/tests/wasm_near" 62 $plenty "$module" from to
    assert_status 0
    assert_equal "$(awk '{ for (i = 1; i < NF; i++) if ($i == "operations") n[NR] = $(i + 1) }
        END { print n[2] - n[1] }' <<< "$output")" "$2" "$1: operations"
}

# finite-wasm counts the operations of nearcore's contracts. Its numbers are what its modules at commit
# a93bdb13 (tests/snaps/FILE.wast@instrumented.snap), run in V8, pass to finite_wasm_gas for the one
# call and for the other. It charges one for a block there, which nearcore does not; these are left
# out here. Besides, a frame of nearcore's takes (64 + 8 for each of these functions' locals) / 8.
@test "operations of loops, branches and calls by finite-wasm's numbers" {
    differ 'loop.wast while' $((268 - 73)) '(call $f (i64.const 5))' '(call $f (i64.const 20))' '
        (func $f (param i64) (result i64) (local i64) (local.set 1 (i64.const 1))
            (block (loop (br_if 1 (i64.eqz (local.get 0)))
                (local.set 1 (i64.mul (local.get 0) (local.get 1)))
                (local.set 0 (i64.sub (local.get 0) (i64.const 1))) (br 0)))
            (local.get 1))'
    differ 'loop.wast for' $((277 - 67)) '(call $f (i64.const 5))' '(call $f (i64.const 20))' '
        (func $f (param i64) (result i64) (local i64 i64)
            (local.set 1 (i64.const 1)) (local.set 2 (i64.const 2))
            (block (loop (br_if 1 (i64.gt_u (local.get 2) (local.get 0)))
                (local.set 1 (i64.mul (local.get 1) (local.get 2)))
                (local.set 2 (i64.add (local.get 2) (i64.const 1))) (br 0)))
            (local.get 1))'
    # Six more rounds of the outer loop, each with a block.
    differ 'loop.wast nesting' $((413 - 47 - 6)) '(call $f (f32.const 1) (f32.const 2))' \
        '(call $f (f32.const 7) (f32.const 4))' '
        (func $f (param f32 f32) (result f32) (local f32 f32)
            (block (loop (br_if 1 (f32.eq (local.get 0) (f32.const 0)))
                (local.set 2 (local.get 1))
                (block (loop (br_if 1 (f32.eq (local.get 2) (f32.const 0)))
                    (br_if 3 (f32.lt (local.get 2) (f32.const 0)))
                    (local.set 3 (f32.add (local.get 3) (local.get 2)))
                    (local.set 2 (f32.sub (local.get 2) (f32.const 2))) (br 0)))
                (local.set 3 (f32.div (local.get 3) (local.get 0)))
                (local.set 0 (f32.sub (local.get 0) (f32.const 1))) (br 0)))
            (local.get 3))'
    differ 'fac.wast fac-iter' $((362 - 82)) '(call $f (i64.const 5))' '(call $f (i64.const 25))' '
        (func $f (param i64) (result i64) (local i64 i64)
            (local.set 1 (local.get 0)) (local.set 2 (i64.const 1))
            (block (loop (if (i64.eq (local.get 1) (i64.const 0)) (then (br 2)) (else
                (local.set 2 (i64.mul (local.get 1) (local.get 2)))
                (local.set 1 (i64.sub (local.get 1) (i64.const 1))))) (br 0)))
            (local.get 2))'
    differ 'fac.wast fac-rec' $((255 - 55 + (26 - 6) * 9)) '(call $f (i64.const 5))' '(call $f (i64.const 25))' '
        (func $f (param i64) (result i64) (if (result i64) (i64.eq (local.get 0) (i64.const 0))
            (then (i64.const 1))
            (else (i64.mul (local.get 0) (call $f (i64.sub (local.get 0) (i64.const 1)))))))'
    differ 'call.wast fib' $((1589 - 131 + (177 - 15) * 9)) '(call $f (i64.const 5))' '(call $f (i64.const 10))' '
        (func $f (param i64) (result i64) (if (result i64) (i64.le_u (local.get 0) (i64.const 1))
            (then (i64.const 1)) (else (i64.add (call $f (i64.sub (local.get 0) (i64.const 2)))
                (call $f (i64.sub (local.get 0) (i64.const 1)))))))'
    differ 'call_indirect.wast fac-i64' $((254 - 54 + (26 - 6) * 9)) '(call $f (i64.const 5))' \
        '(call $f (i64.const 25))' '(table 1 funcref) (elem (i32.const 0) $f) (type $t (func (param i64) (result i64)))
        (func $f (type $t) (if (result i64) (i64.eqz (local.get 0)) (then (i64.const 1))
            (else (i64.mul (local.get 0)
                (call_indirect (type $t) (i64.sub (local.get 0) (i64.const 1)) (i32.const 0))))))'
}

# charges TEST NUMBER AGGREGATES INSTRUCTIONS [WAT]: that many operations more than none.
charges() {
    local module=$BATS_TEST_TMPDIR/m.wasm

    wat2wasm --enable-all - -o "$module" <<< "(module $5 (func (export \"from\")) (func (export \"to\") $4))"
    run "$BUILD/tests/wasm_near" 84 $plenty "$module" from to
    assert_status 0
    assert_output_lacks error
    assert_equal "$(awk '{ for (i = 1; i < NF; i++) if ($i == "operations") n[NR] = $(i + 1) }
        END { print n[2] - n[1] }' <<< "$output")" $(($2 + 31 * $3)) "$1: operations"
}

# From the same snapshots, with constants in place of parameters, and a drop where there was a result. What works on
# many bytes or elements is charged one there and one for each of them; nearcore charges 32 in place of the first one.
@test "operations of bulk memory, tables and references by finite-wasm's numbers" {
    local elements='(table $t 30 40 funcref) (func $f) (elem $e funcref (ref.func $f) (ref.func $f) (ref.func $f)
        (ref.func $f) (ref.null func))' memory='(memory 1 2) (data $d "\aa\bb\cc\dd")' at

    charges 'bulk.wast fill' $((3 + 1 + 3)) 1 '(memory.fill (i32.const 1) (i32.const 255) (i32.const 3))' "$memory"
    charges 'bulk.wast fill, all' $((3 + 1 + 65536)) 1 '(memory.fill (i32.const 0) (i32.const 0) (i32.const 65536))' "$memory"
    charges 'bulk.wast copy' $((3 + 1 + 4)) 1 '(memory.copy (i32.const 10) (i32.const 0) (i32.const 4))' "$memory"
    charges 'bulk.wast copy, end' $((3 + 1 + 256)) 1 '(memory.copy (i32.const 0xff00) (i32.const 0) (i32.const 256))' "$memory"
    charges 'bulk.wast init' $((3 + 1 + 2)) 1 '(memory.init $d (i32.const 0) (i32.const 1) (i32.const 2))' "$memory"
    charges 'bulk.wast init_passive, 0' $((3 + 1)) 1 '(memory.init $d (i32.const 0) (i32.const 0) (i32.const 0))' "$memory"
    charges 'bulk.wast drop_passive' 1 0 '(data.drop $d)' "$memory"
    charges 'bulk.wast drop_passive, of elements' 1 0 '(elem.drop $e)' "$elements"
    charges 'memory_size.wast size' $((1 + 1)) 0 '(memory.size) drop' "$memory"
    charges 'memory_grow.wast grow' $((2 + 1)) 0 '(memory.grow (i32.const 1)) drop' "$memory"
    charges 'memory_trap.wast addr_limit' $((3 + 1)) 0 '(i32.mul (memory.size) (i32.const 65536)) drop' "$memory"
    charges 'bulk.wast table init' $((3 + 1 + 2)) 1 '(table.init $e (i32.const 0) (i32.const 1) (i32.const 2))' "$elements"
    charges 'table_copy.wast test' $((3 + 1 + 3)) 1 '(table.copy (i32.const 13) (i32.const 2) (i32.const 3))' "$elements"
    charges 'table_fill.wast fill' $((3 + 1 + 5)) 1 '(table.fill $t (i32.const 2) (ref.null func) (i32.const 5))' "$elements"
    # Several of them, with elem.drop.
    at='(i32.const 7) (i32.const 0) (i32.const 4)'
    charges 'table_init.wast test' $((3 + 5 + 4 + 4 + 4 + 6 + 3 + 2 + 3 + 2 + 3 + 5 + 3 + 6)) 7 "(table.init \$e $at) (elem.drop \$e)
        (table.init \$g (i32.const 15) (i32.const 1) (i32.const 3)) (elem.drop \$g)
        (table.copy (i32.const 20) (i32.const 15) (i32.const 5)) (table.copy (i32.const 21) (i32.const 29) (i32.const 1))
        (table.copy (i32.const 24) (i32.const 10) (i32.const 1)) (table.copy (i32.const 13) (i32.const 11) (i32.const 4))
        (table.copy (i32.const 19) (i32.const 20) (i32.const 5))" \
        "$elements (elem \$g funcref (ref.func \$f) (ref.func \$f) (ref.func \$f) (ref.null func))"
    charges 'table_grow.wast grow' $((3 + 1)) 0 '(table.grow $t (ref.null func) (i32.const 5)) drop' "$elements"
    charges 'table_get.wast get-funcref' $((2 + 1)) 0 '(table.get $t (i32.const 1)) drop' "$elements"
    charges 'table_set.wast set-funcref' 3 0 '(table.set $t (i32.const 1) (ref.null func))' "$elements"
    charges 'table_set.wast set-funcref-from' 4 0 '(table.set $t (i32.const 1) (table.get $t (i32.const 2)))' "$elements"
    charges 'table_size.wast size-t0' $((1 + 1)) 0 '(table.size $t) drop' "$elements"
    charges 'ref_null.wast funcref' $((1 + 1)) 0 '(ref.null func) drop'
    charges 'ref_null.wast externref' $((1 + 1)) 0 '(ref.null extern) drop'
    charges 'ref_func.wast fix' 4 0 '(ref.func $f) drop (ref.func $f) drop' "$elements"
    charges 'ref_func.wast is_null-f' $((2 + 1)) 0 '(ref.is_null (ref.func $f)) drop' "$elements"
    charges 'br_table.wast type-i32' 2 0 '(block (br_table 0 0 (i32.const 0)))'
}

# near-workspaces-rs publishes what set_status of its status_message burnt (examples/src/tx_status.rs at
# commit cfb947d4; without the trie and the loading 162,704,017,899). This module makes the same calls,
# with texts of the same lengths.
@test "host functions cost what near-workspaces' gas profile says" {
    wat2wasm - -o "$BATS_TEST_TMPDIR/m.wasm" << 'END'
(module
    (import "env" "log_utf8" (func $log (param i64 i64)))
    (import "env" "input" (func $input (param i64)))
    (import "env" "attached_deposit" (func $deposit (param i64)))
    (import "env" "signer_account_id" (func $signer (param i64)))
    (import "env" "register_len" (func $length (param i64) (result i64)))
    (import "env" "read_register" (func $read (param i64 i64)))
    (import "env" "storage_read" (func $get (param i64 i64 i64) (result i64)))
    (import "env" "storage_write" (func $set (param i64 i64 i64 i64 i64) (result i64)))
    (memory 1)
    (data (i32.const 0) "A")
    (data (i32.const 16) "STATE")
    (func (export "set_status")
        (call $deposit (i64.const 32))
        (call $log (i64.const 1) (i64.const 0))
        (call $input (i64.const 0))
        (drop (call $length (i64.const 0)))
        (call $read (i64.const 0) (i64.const 64))
        (drop (call $get (i64.const 5) (i64.const 16) (i64.const 0)))
        (call $signer (i64.const 0))
        (drop (call $length (i64.const 0)))
        (call $read (i64.const 0) (i64.const 128))
        (drop (call $set (i64.const 5) (i64.const 16) (i64.const 56) (i64.const 128) (i64.const 0)))))
END
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --near-protocol 62 \
        --vat "dev-20230822130616-84011708140052=$BATS_TEST_TMPDIR/m.wasm" - << 'END'
{"vat":"dev-20230822130616-84011708140052","method":"set_status","args":["{\"message\":\"hello_world\"}",{"signer":"dev-20230822130616-84011708140052"}]}
END
    assert_status 0
    assert_equal "$(jq -c 'select(.gasBurnt > 0 and .gasProfile != null) | .gasProfile
        | del(.wasm_instruction, .contract_loading_base, .contract_loading_bytes)
        | ., add' <<< "$output" | tr '{,}' '\n')" '
"base":2647681110
"read_memory_base":10439452800
"read_memory_byte":254689311
"write_memory_base":8411384583
"write_memory_byte":201559128
"read_register_base":5034330372
"read_register_byte":5716596
"write_register_base":5731044972
"write_register_byte":220490712
"utf8_decoding_base":3111779061
"utf8_decoding_byte":291580479
"log_base":3543313050
"log_byte":13198791
"storage_write_base":64196736000
"storage_write_key_byte":352414335
"storage_write_value_byte":1737038184
"storage_read_base":56356845750
"storage_read_key_byte":154762665

162704017899'
}

# prepares VERSION WAT: a call of main is not refused for what the module is or imports.
prepares() {
    local module=$BATS_TEST_TMPDIR/m.wasm

    wat2wasm --no-check - -o "$module" <<< "(module $2)"
    run "$BUILD/tests/wasm_near" "$1" $plenty "$module" main
    assert_status 0
    [[ $output != *'error PrepareError'* && $output != *'error Link Error'* ]]
}

# begins_at FEATURE VERSION WAT: the module is refused by all versions before that one.
begins_at() {
    prepares $(($2 - 1)) "$3" && fail "$1: version $(($2 - 1)) has it" "$output"
    prepares "$2" "$3" || fail "$1: version $2 does not have it" "$output"
}

# imports FEATURE VERSION FUNCTION PARAMETERS RESULT
imports() {
    local parameters

    # shellcheck disable=SC2183,SC2046 # as often as there are numbers
    parameters=$(printf ' i64%.0s' $(seq "$4"))
    begins_at "$1" "$2" "(import \"env\" \"$3\" (func (param$parameters) $5)) (func (export \"main\"))"
}

@test "each feature begins at its version of the protocol" {
    imports yield_resume_host_fns 67 promise_yield_create 7 '(result i64)'
    imports yield_resume_host_fns 67 promise_yield_resume 4 '(result i32)'
    imports bls12381_host_fns 70 bls12381_p1_sum 3 '(result i64)'
    imports global_contract_host_fns 78 promise_batch_action_deploy_global_contract 3 ''
    imports global_contract_host_fns 78 promise_batch_action_use_global_contract_by_account_id 3 ''
    imports deterministic_account_ids 82 promise_set_refund_to 3 ''
    imports deterministic_account_ids 82 refund_to_account_id 1 ''
    imports deterministic_account_ids 82 current_contract_code 1 '(result i64)'
    imports chain_id_host_fn 85 chain_id 1 ''
    imports gas_key_host_fns 85 promise_batch_action_transfer_to_gas_key 4 ''
    imports gas_key_host_fns 85 promise_batch_action_add_gas_key_with_full_access 4 ''
    imports gas_key_host_fns 85 promise_batch_action_add_gas_key_with_function_call 9 ''
    imports p256_verify_host_fn 85 p256_verify 6 '(result i64)'
    imports yield_with_id_host_fns 85 promise_yield_create_with_id 9 '(result i64)'
    imports yield_with_id_host_fns 85 promise_yield_resume_with_yield_id 4 '(result i32)'
    imports sha3_host_fns 87 sha3_256 3 ''
    imports sha3_host_fns 87 sha3_512 3 ''
    imports ml_dsa_verify_host_fn 87 ml_dsa_verify 6 '(result i64)'
    imports universal_accounts 87 universal_state_init_to_account_id 3 ''
    begins_at saturating_float_to_int 78 \
        '(func (export "main") (drop (i32.trunc_sat_f32_s (f32.const 1))))'
    begins_at reftypes_bulk_memory 84 '(memory 1) (func (export "main")
        (memory.fill (i32.const 0) (i32.const 0) (i32.const 1)))'
    begins_at reftypes_bulk_memory 84 '(func (export "main") (drop (ref.null func)))'
    for version in 62 87 158; do
        prepares $version '(func (result i32 i32) (i32.const 1) (i32.const 2)) (func (export "main"))' &&
            fail "multi-value at $version"
        prepares $version '(type $t (func (param i32))) (func (export "main") (i32.const 1) (block (type $t) drop))' &&
            fail "multi-value at $version"
        prepares $version '(func (export "main") (block (result i32) (i32.const 1)) drop)' ||
            fail "a block's result at $version" "$output"
    done
}

# times N TEXT: the text N times.
times() {
    yes "$2" | head -n "$1" | tr '\n' ' '
}

# limited LIMIT VERSION WITHIN BEYOND: from that version on, modules beyond the limit are refused.
limited() {
    prepares "$2" "$3" || fail "$1: refused within the limit" "$output"
    prepares $(($2 - 1)) "$4" || fail "$1: version $(($2 - 1)) has the limit" "$output"
    prepares "$2" "$4" && fail "$1: version $2 accepts what is beyond the limit" "$output"
    [[ $output == *'error PrepareError'* ]]
}

@test "limits of modules begin at their version" {
    local main='(func (export "main"))'

    limited max_elements_per_contract_table 82 "(table 10000 funcref) $main" "(table 10001 funcref) $main"
    limited max_function_body_size 84 "(func (export \"main\") $(times 196606 nop))" \
        "(func (export \"main\") $(times 196607 nop))"
    limited max_blocks_per_function 84 "(func (export \"main\") $(times 5000 '(block)'))" \
        "(func (export \"main\") $(times 5001 '(block)'))"
    limited max_blocks_per_contract 84 "$main $(times 10 "(func $(times 5000 '(block)'))")" \
        "$main $(times 10 "(func $(times 5000 '(block)'))") (func (block))"
    limited max_types_per_contract 84 "$(times 1024 '(type (func))') $main" \
        "$(times 1025 '(type (func))') $main"
    # Only of functions with a body: a type may have more.
    limited max_params_per_function 84 \
        "(func (param$(printf ' i32%.0s' {1..64}))) $main (type (func (param$(printf ' i32%.0s' {1..65}))))" \
        "(func (param$(printf ' i32%.0s' {1..65}))) $main"
    limited max_params_per_contract 84 \
        "$main $(times 1000 "(func (param$(printf ' i32%.0s' {1..50})))")" \
        "$main $(times 1000 "(func (param$(printf ' i32%.0s' {1..50})))") (func (param i32))"
    limited max_operand_stack_bytes_per_function 84 \
        "(func (export \"main\") $(times 2048 '(i32.const 0)') $(times 2048 drop))" \
        "(func (export \"main\") $(times 2048 '(i32.const 0)') (i32.const 0) $(times 2049 drop))"
    limited min_contract_size_per_local 87 \
        "$main (func (local$(printf ' i32%.0s' {1..100})) $(times 200 nop))" \
        "$main (func (local$(printf ' i32%.0s' {1..100})))"
    limited max_globals_per_contract 88 "$main $(times 65536 '(global i32 (i32.const 0))')" \
        "$main $(times 65537 '(global i32 (i32.const 0))')"
    # Without reference types, a second table is no module at all.
    prepares 84 "(table 0 funcref) (table 0 funcref) $main" && fail max_tables_per_contract
    assert_output_has 'Too many tables'
    # initial_memory_pages, max_memory_pages
    prepares 87 '(memory 1) (func (export "main") (if (i32.ne (memory.size) (i32.const 1024)) (then unreachable))
        (if (i32.ne (memory.grow (i32.const 1024)) (i32.const 1024)) (then unreachable))
        (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable)))'
    assert_output_lacks error
}

@test "a module that is refused is paid for where nearcore's newest versions do" {
    # fix_contract_loading_cost
    local module=$BATS_TEST_TMPDIR/m.wasm version

    wat2wasm --no-check - -o "$module" <<< '(module (func (export "main") i32.add))'
    for version in 87 158; do
        run "$BUILD/tests/wasm_near" $version $plenty "$module" main
        [[ $output == *'error PrepareError'* ]]
        [[ $output == *" burnt $((version == 87 ? 0 : 35445963 + 1089295 * $(stat -c %s "$module"))) "* ]] ||
            fail "$output"
    done
}

# sends ERROR WAT: what the receipts of a call of main come to.
sends() {
    wat2wasm - -o "$BATS_TEST_TMPDIR/m.wasm" <<< "(module
        (import \"env\" \"promise_batch_create\" (func \$batch (param i64 i64) (result i64)))
        (import \"env\" \"promise_batch_action_create_account\" (func \$create (param i64)))
        (import \"env\" \"promise_batch_action_deploy_contract\" (func \$deploy (param i64 i64 i64)))
        (import \"env\" \"promise_batch_action_function_call\" (func \$call (param i64 i64 i64 i64 i64 i64 i64)))
        (import \"env\" \"promise_batch_action_add_key_with_function_call\" (func \$add_key
            (param i64 i64 i64 i64 i64 i64 i64 i64 i64)))
        (memory 1) (data (i32.const 0) \"bob.near\")
        (func (export \"main\") (local \$i i32) (drop (call \$batch (i64.const 8) (i64.const 0))) $2))"
    run "$BUILD/tests/wasm_near" "${VERSION-87}" 900000000000000 "$BATS_TEST_TMPDIR/m.wasm" main
    if [ -n "$1" ]; then
        assert_output_has " error $1"
    else
        assert_output_lacks error
    fi
}

# repeatedly COUNT WAT: a loop.
repeatedly() {
    echo "(loop \$again $2 (br_if \$again (i32.lt_u (local.tee \$i (i32.add (local.get \$i) (i32.const 1))) (i32.const $1))))"
}

@test "limits of receipts" {
    local deploy='(call $deploy (i64.const 0) (i64.const 1) (i64.const 0))'

    # max_actions_per_receipt
    sends '' "$(repeatedly 100 '(call $create (i64.const 0))')"
    sends 'The total number of actions 101 exceeds the limit 100' \
        "$(repeatedly 101 '(call $create (i64.const 0))')"
    # max_deploy_actions_per_receipt
    sends '' "$(repeatedly 10 "$deploy")"
    sends 'The number of deploy actions 11 exceeds the limit 10' "$(repeatedly 11 "$deploy")"
    VERSION=83 sends '' "$(repeatedly 11 "$deploy")"
    # max_length_method_name
    sends '' '(call $call (i64.const 0) (i64.const 256) (i64.const 64) (i64.const 0) (i64.const 0) (i64.const 1024) (i64.const 1))'
    sends 'The length of the method name 257 exceeds the maximum allowed length 256' \
        '(call $call (i64.const 0) (i64.const 257) (i64.const 64) (i64.const 0) (i64.const 0) (i64.const 1024) (i64.const 1))'
    sends 'The attached amount of gas in a FunctionCall action has to be a positive number' \
        '(call $call (i64.const 0) (i64.const 9) (i64.const 64) (i64.const 0) (i64.const 0) (i64.const 1024) (i64.const 0))'
    # max_arguments_length
    sends 'The length of the arguments 4194305 exceeds the maximum allowed length 4194304' \
        '(call $call (i64.const 0) (i64.const 1) (i64.const 0) (i64.const 4194305) (i64.const 0) (i64.const 1024) (i64.const 1))'
    # max_receipt_size
    VERSION=68 sends '' '(call $call (i64.const 0) (i64.const 1) (i64.const 0) (i64.const 4194304) (i64.const 0) (i64.const 1024) (i64.const 1))'
    sends 'The size of the receipt exceeded the limit: 4194460 > 4194304' \
        '(call $call (i64.const 0) (i64.const 1) (i64.const 0) (i64.const 4194304) (i64.const 0) (i64.const 1024) (i64.const 1))'
    # max_number_bytes_method_names
    sends 'The total number of bytes in allowed method names 2001 exceeds the maximum allowed number 2000' \
        '(call $add_key (i64.const 0) (i64.const 33) (i64.const 3000) (i64.const 0) (i64.const 4000) (i64.const 8) (i64.const 0) (i64.const 2000) (i64.const 128))'
}

@test "the documents have the tables of the parameters; each limit is tested or listed" {
    run "$ROOT/scripts/near-parameters" check
    assert_status 0
}
