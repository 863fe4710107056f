#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The engine of WebAssembly against the specification's own tests. The files are those of
# Debian's binaryen that follow WebAssembly 2.0 and that wast2json of Debian's wabt reads.

load common

SPEC=(address align binary binary-leb128 block br br_if br_table break-drop call call_indirect
    comments const custom data endianness exports f32_bitwise f32_cmp f64_bitwise f64_cmp fac
    float_literals float_memory forward func_ptrs get_local globals i32 i64 if inline-module
    int_exprs int_literals labels left-to-right load local_get local_set local_tee loop memory
    memory_grow memory_redundancy memory_size memory_trap names nop ref_is_null ref_null resizing
    return select set_local skip-stack-guard-page stack start store store_retval switch table_get
    table_grow table_set table_size tee_local token traps unreachable unwind
    utf8-custom-section-id utf8-import-field utf8-import-module utf8-invalid-encoding)

setup_file() {
    local name

    for name in "${SPEC[@]}"; do
        wast2json "$ROOT/build/wasm-spec/spec/$name.wast" -o "$BATS_FILE_TMPDIR/$name.json"
    done
}

@test "each test of the specification comes out as it says" {
    run "$BUILD/tests/wasm_spec" "$BATS_FILE_TMPDIR"/*.json
    assert_status 0
    [ "$(grep -c ' passed, 0 failed$' <<< "$output")" -eq ${#SPEC[@]} ]
}

@test "so it does under QEMU, to the bit" {
    [ "$BUILD" = "$NATIVE" ] || skip "QEMU cannot run sanitized programs"
    run qemu-x86_64 -cpu qemu64 "$BUILD/tests/wasm_spec" "$BATS_FILE_TMPDIR"/*.json
    assert_status 0
    [ "$(grep -c ' passed, 0 failed$' <<< "$output")" -eq ${#SPEC[@]} ]
}

# module WAT: a module that wabt's wasm-validate is asked about too.
same_as_wabt() {
    local ours=0 theirs=0

    wat2wasm --no-check "$1" -o "$BATS_TEST_TMPDIR/m.wasm"
    wasm-validate "$BATS_TEST_TMPDIR/m.wasm" > /dev/null 2>&1 || theirs=1
    echo '{"commands": [{"type": "module", "line": 1, "filename": "m.wasm"}]}' \
        > "$BATS_TEST_TMPDIR/m.json"
    "$BUILD/tests/wasm_spec" "$BATS_TEST_TMPDIR/m.json" > "$BATS_TEST_TMPDIR/said" || ours=1
    [ $ours = $theirs ] || fail "ours says $ours, wabt says $theirs:" "$(cat "$1" "$BATS_TEST_TMPDIR/said")"
}

@test "accepts and refuses what wabt's validator accepts and refuses" {
    local body

    while read -r body; do
        echo "(module (memory 1) (table 2 funcref) (table 3 externref) (global \$g (mut i32) (i32.const 0))
            (func \$f (param i32 i64) (result i32) (local f32 f64 externref) $body))" > "$BATS_TEST_TMPDIR/m.wat"
        same_as_wabt "$BATS_TEST_TMPDIR/m.wat"
    done <<- 'EOF'
	local.get 0
	local.get 1
	i32.const 1 i32.const 2
	unreachable i64.add drop i32.const 1
	unreachable f32.const 1
	block (result i32) i32.const 1 br 0 end
	block (result i32) local.get 0 i32.const 1 br_if 0 end
	block (result i32 i64) i32.const 1 local.get 1 end drop
	loop (param i64) (result i32) i32.wrap_i64 end
	local.get 1 loop (param i64) (result i32) i32.wrap_i64 end
	local.get 0 if (result i32) i32.const 1 else i32.const 2 end
	local.get 0 if (result i32) i32.const 1 end
	i32.const 0 i32.load align=4
	i32.const 0 i32.load align=8
	ref.null extern ref.is_null
	ref.null func i32.const 0 select
	ref.null func ref.null func i32.const 0 select (result funcref) ref.is_null
	i32.const 0 table.get 0 ref.is_null
	i32.const 0 table.get 1 table.set 0 i32.const 1
	i32.const 0 i32.const 0 i32.const 0 table.copy 0 1 i32.const 1
	i32.const 0 i32.const 0 i32.const 0 memory.copy i32.const 1
	local.get 0 br_table 0 0
	i32.const 1 local.get 0 br_table 0 0 0
	i32.const 1 local.get 0 br_table 0 1
	unreachable br_table 0 0 0
	global.get 0 global.set 0 i32.const 3
	ref.func 0 ref.is_null
	local.get 4 ref.is_null
	return
	i32.const 1 return
	EOF
}

@test "modules that are made to hurt cost no more than their size" {
    ldd "$BUILD/tests/wasm_spec" | grep -q asan && skip "the address sanitizer reserves terabytes"
    local name

    cd "$BATS_TEST_TMPDIR"
    # Deep nesting, a br_table of a million, operands without end, lazy locals, many locals.
    # shellcheck disable=SC2183 # as often as the numbers are given
    {
        { printf '(module (func '; printf '(block %.0s' {1..9000}; printf ')%.0s' {1..9000}; echo '))'; } > deep.wat
        { printf '(module (func (param i32) (br_table '; yes 0 | head -1000000; echo '(local.get 0))))'; } > table.wat
        { printf '(module (func '; yes 'i32.const 0' | head -60000; echo 'unreachable))'; } > operands.wat
        { printf '(module (func (param i32) '; yes 'local.get 0' | head -20000
            yes 'i32.const 1 local.set 0 local.get 0' | head -20000; echo 'unreachable))'; } > lazy.wat
        { printf '(module (func '; yes '(local i64)' | head -49000; echo '))'; } > locals.wat
    }
    for name in deep table operands lazy locals; do
        wat2wasm --no-check $name.wat -o m.wasm
        echo '{"commands": [{"type": "module", "line": 1, "filename": "m.wasm"}]}' > m.json
        (ulimit -v 2000000 -t 20 && exec "$BUILD/tests/wasm_spec" m.json) || fail "$name"
    done
}

# bomb LIMIT_KB: a call of main of the module on stdin ends, whatever comes of it, within seconds and so
# much memory.
bomb() {
    wat2wasm --no-check - -o m.wasm
    (ulimit -v "$1" -t 10 && exec "$BUILD/tests/wasm_near" "${VERSION-newest}" 300000000000000 m.wasm main) ||
        fail "$(wasm-objdump -h m.wasm)"
}

@test "calls that are made to hurt end within the memory that a contract has" {
    ldd "$BUILD/tests/wasm_near" | grep -q asan && skip "the address sanitizer reserves terabytes"
    # The contract's memory is mapped whole, 128 MB; a table in version 62 takes 80 MB.
    local most=200000 many

    cd "$BATS_TEST_TMPDIR"
    # Huge tables, a storm of memory.grow, recursion, segments beyond the memory.
    bomb $most <<< '(module (table 10001 funcref) (func (export "main")))' | grep -q 'Too many table elements'
    VERSION=62 bomb $most <<< '(module (table 4294967295 funcref) (func (export "main")))' |
        grep -q 'Too many table elements'
    VERSION=62 bomb $((most + 100000)) <<< '(module (table 9999999 funcref) (func (export "main")))' |
        grep -q 'burnt 51348261'
    bomb $most <<< '(module (memory 1) (func (export "main")
        (loop (drop (memory.grow (i32.const 1))) (br 0))))' | grep -q 'Exceeded the prepaid gas'
    bomb $most <<< '(module (func $f (export "main") (call $f)))' | grep -q 'Accessed memory outside the bounds'
    bomb $most <<< '(module (memory 1) (data (i32.const 67108860) "abcdefgh") (func (export "main")))' |
        grep -q 'Memory out of bounds'
    # 60 KB to compile: a br_table to each of 4,900 blocks, 64 arguments 700 times, 9,999 functions.
    # shellcheck disable=SC2183 # as often as the numbers are given
    {
        many=$(printf '(block %.0s' {1..4900})
        bomb $most <<< "(module (func (export \"main\") $many (br_table $(echo {0..4899})
            (i32.const 7))$(printf ')%.0s' {1..4900})))"
        many="(call \$f$(printf ' (i64.const 1)%.0s' {1..64}))"
        bomb $most <<< "(module (func \$f (param$(printf ' i64%.0s' {1..64})))
            (func (export \"main\") $(yes "$many" | head -700)))"
        bomb $most <<< "(module $(yes '(func (local i64 i64))' | head -9999) (func (export \"main\")))"
    }
}

@test "random modules give the same in wabt's interpreter" {
    run "$ROOT/tests/campaign/random-modules" -n 25 -f "$BATS_TEST_TMPDIR"
    assert_status 0
    [[ ${lines[-1]} == '25 modules: '*', 0 modules differ' ]]
}
