#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Contracts compiled to machine code: results, gas, operations, logs, memory and storage are the
# interpreter's.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [ -x "$ROOT/build/gaspipe-wasm-compiler" ] || skip 'LLVM is not there; scripts/setup --meter installs it'
    export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
}

# next_to_gaspipe: skips in builds whose gaspipe has no compiler next to it.
next_to_gaspipe() {
    [ -x "$BUILD/gaspipe-wasm-compiler" ] || skip 'this build of gaspipe has no compiler next to it'
}

# compile NAME: NAME.wat to NAME.wasm and NAME.wasm.so.
compile() {
    wat2wasm "$1.wat" -o "$1.wasm"
    "$ROOT/build/gaspipe-wasm-compiler" < "$1.wasm" > "$1.wasm.so"
}

# both_tiers METHOD...: the calls of storage.wasm print the same on both, and on stderr how many
# machine code has answered.
both_tiers() {
    "$BUILD/tests/wasm_near" 84 3000000000000 storage.wasm "$@" > interpreted
    "$BUILD/tests/wasm_near" -c storage.wasm.so 84 3000000000000 storage.wasm "$@" > compiled 2> tiers
    assert_equal "$(cat compiled)" "$(cat interpreted)"
}

storage_module() {
    cat > storage.wat <<- 'END'
	(module
	    (import "env" "storage_write" (func $write (param i64 i64 i64 i64 i64) (result i64)))
	    (import "env" "storage_read" (func $read (param i64 i64 i64) (result i64)))
	    (import "env" "storage_remove" (func $remove (param i64 i64 i64) (result i64)))
	    (import "env" "log_utf8" (func $log (param i64 i64)))
	    (import "env" "value_return" (func $return (param i64 i64)))
	    (memory 1)
	    (data (i32.const 0) "keyvalue")
	    (func $act
	        (drop (call $write (i64.const 3) (i64.const 0) (i64.const 5) (i64.const 3) (i64.const 0)))
	        (call $log (i64.const 3) (i64.const 0))
	        (drop (call $read (i64.const 3) (i64.const 0) (i64.const 1)))
	        (call $log (i64.const 5) (i64.const 3)))
	    (func (export "acts") (call $act) (call $return (i64.const 5) (i64.const 3)))
	    (func (export "traps") (call $act)
	        (drop (call $remove (i64.const 3) (i64.const 0) (i64.const 1)))
	        (i32.store (i32.const -1) (i32.const 0)))
	    (func (export "spins") (call $act) (loop (br 0)))
	    (func $deep (export "recurs") (call $deep) (call $act)))
	END
    compile storage
}

@test "machine code answers a call, and a call that it abandons acts and logs once" {
    storage_module
    both_tiers acts traps acts spins recurs acts
    assert_equal "$(cat tiers)" 'compiled, 3 calls compiled, 3 abandoned'
    [ "$(grep -c '^log key$' compiled)" -eq 5 ]
    grep -q '^traps .* error WebAssembly trap: Memory out of bounds trap.$' compiled
}

@test "machine code of another module is not used" {
    storage_module
    cp storage.wasm.so first.so
    sed -i 's/keyvalue/keyother/' storage.wat
    compile storage
    cp first.so storage.wasm.so
    both_tiers acts
    assert_equal "$(cat tiers)" 'interpreted, 0 calls compiled, 0 abandoned'
}

@test "machine code that was cut off or changed is not executed" {
    local at byte

    storage_module
    cp storage.wasm.so good.so
    head -c 5000 good.so > storage.wasm.so
    run "$BUILD/tests/wasm_near" -c storage.wasm.so 84 3000000000000 storage.wasm acts
    assert_equal "$status $output" '2 wasm_near: storage.wasm.so: damaged compiled code'
    # One bit in the middle of the code.
    cp good.so storage.wasm.so
    at=$(($(stat -c %s good.so) / 2))
    byte=$(od -An -tu1 -j $at -N 1 good.so)
    # shellcheck disable=SC2059 # an escape
    printf "\\x$(printf %x $((byte ^ 1)))" | dd of=storage.wasm.so bs=1 seek=$at conv=notrunc status=none
    run "$BUILD/tests/wasm_near" -c storage.wasm.so 84 3000000000000 storage.wasm acts
    assert_equal "$status $output" '2 wasm_near: storage.wasm.so: damaged compiled code'
}

@test "instructions that only one module in many has are the interpreter's" {
    local limit

    cat > mixed.wat <<- 'END'
	(module
	    (type $unary (func (param i32) (result i32)))
	    (memory 1 3)
	    (table $t 4 8 funcref)
	    (table $u 2 externref)
	    (global $g (mut i64) (i64.const 7))
	    (elem (table $t) (i32.const 0) func $double $started)
	    (elem $spare func $double)
	    (data $bytes "0123456789")
	    (func $double (type $unary) (i32.mul (local.get 0) (i32.const 2)))
	    (func $started (global.set $g (i64.const 9)))
	    (start $started)
	    (func $pair (param i32 f64) (result i32 f64) (local.get 0) (local.get 1))
	    (func (export "global") (result i64) (global.get $g))
	    (func (export "indirect") (result i32)
	        (call_indirect $t (type $unary) (i32.const 21) (i32.const 0)))
	    (func (export "mistyped") (result i32)
	        (call_indirect $t (type $unary) (i32.const 21) (i32.const 1)))
	    (func (export "tables") (result i32)
	        (table.init $t $spare (i32.const 2) (i32.const 0) (i32.const 1))
	        (table.copy $t $t (i32.const 3) (i32.const 2) (i32.const 1))
	        (elem.drop $spare)
	        (drop (table.grow $t (ref.func $double) (i32.const 1)))
	        (table.set $t (i32.const 1) (table.get $t (i32.const 4)))
	        (i32.add (table.size $t)
	            (i32.add (call_indirect $t (type $unary) (i32.const 1) (i32.const 1))
	                (ref.is_null (table.get $u (i32.const 1))))))
	    (func (export "bytes") (result i32)
	        (drop (memory.grow (i32.const 1)))
	        (memory.init $bytes (i32.const 65534) (i32.const 0) (i32.const 10))
	        (memory.copy (i32.const 65540) (i32.const 65534) (i32.const 10))
	        (memory.fill (i32.const 8) (i32.const 0x41) (i32.const 5))
	        (data.drop $bytes)
	        (i32.add (memory.size) (i32.add (i32.load (i32.const 65541)) (i32.load16_s (i32.const 11)))))
	    (func (export "outside") (drop (i64.load offset=4294967295 (i32.const -1))))
	    (func (export "dropped") (drop (i32.load8_u (i32.const 65536))))
	    (func (export "nan") (result i64)
	        (i64.reinterpret_f64 (f64.div (f64.const 0) (f64.const 0))))
	    (func (export "payload") (result i64)
	        (i64.reinterpret_f64 (f64.add (f64.const nan:0x4000000000001) (f64.const 1))))
	    (func (export "quiet") (result i32)
	        (f64.gt (f64.sqrt (f64.const -1)) (f64.nearest (f64.const 2.5))))
	    (func (export "divides") (result i32) (i32.div_s (i32.const 0x80000000) (i32.const -1)))
	    (func (export "several") (result i32)
	        (call $pair (i32.const 5) (f64.const 2.75))
	        (i32.trunc_f64_s) (i32.add))
	    (func (export "switches") (result i32) (local i32 i32)
	        (loop $again
	            (block $c (block $b (block $a
	                (br_table $a $b $c (i32.and (local.get 0) (i32.const 3))))
	                (local.set 1 (i32.rotl (local.get 1) (i32.const 3)))
	                (br $c))
	                (local.set 1 (i32.add (local.get 1) (i32.const 5))))
	            (br_if $again (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 100))))
	        (local.get 1))
	    (func (export "spins") (loop (br 0))))
	END
    compile mixed
    # The last limits are passed in the middle of calls.
    for limit in 100000 300 40 9; do
        "$BUILD/tests/wasm_exports" -g $limit mixed.wasm > interpreted
        "$BUILD/tests/wasm_exports" -c -g $limit mixed.wasm > compiled 2> "tiers$limit"
        assert_equal "$(cat compiled)" "$(cat interpreted)"
    done
    assert_equal "$(cat tiers100000)" '7 calls compiled, 7 abandoned'
}

@test "gaspipe compile: the same bytes each time; what it is given wrong is said" {
    next_to_gaspipe
    storage_module
    run "$BUILD/gaspipe" compile storage.wasm -o one.so
    assert_equal "$status $output" '0 '
    "$BUILD/gaspipe" compile storage.wasm -o two.so
    cmp one.so two.so
    echo text > text.wasm
    run "$BUILD/gaspipe" compile text.wasm -o text.so
    assert_equal "$status $output" '3 gaspipe: text.wasm: the module cannot be compiled: byte 0: magic header not detected'
    [ ! -e text.so ]
    run "$BUILD/gaspipe" compile storage.wasm
    assert_equal "$status $output" "2 gaspipe: compile: give the output's name with -o FILE (see gaspipe compile --help)"
    run "$BUILD/gaspipe" run --wasm compiled --counter qemu --vat a=storage.wasm -
    assert_equal "$status $output" "2 gaspipe: run: --wasm compiled needs --counter none: counters measure the interpreter (see gaspipe run --help)"
}

@test "gaspipe run --wasm compiled gives what the interpreter gives, and compiles once" {
    local tier

    next_to_gaspipe
    storage_module
    for tier in 'interpreted --counter none' compiled compiled; do
        # shellcheck disable=SC2086 # the first word has an option after it
        run --separate-stderr "$BUILD/gaspipe" run --json --wasm $tier --vat a=storage.wasm - <<- 'END'
	{"vat":"a","method":"acts"}
	{"vat":"a","method":"traps"}
	{"vat":"a","method":"spins","args":["",{"gas":3000000000000}]}
	{"vat":"a","method":"acts"}
	END
        assert_status 1
        jq -c 'select(.kind == "delivery") | del(.total, .pipe, .worker, .kernel)' <<< "$output" > "${tier%% *}"
        echo "$stderr" >> logs
        [ "$tier" != compiled ] || stat -c %y cache/gaspipe/*/*.so >> made
    done
    cmp compiled interpreted
    [ "$(sort -u made | wc -l)" -eq 1 ]
    [ "$(grep -c 'gaspipe: a: key' logs)" -eq 12 ]
    # Others could place their code there.
    chmod 777 cache/gaspipe/*
    run --separate-stderr "$BUILD/gaspipe" run --wasm compiled --vat a=storage.wasm - < /dev/null
    assert_bad_input 4 'compiled contracts need a directory that only its owner'
}
