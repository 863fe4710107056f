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

@test "what wabt's validator takes and refuses, ours takes and refuses" {
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
