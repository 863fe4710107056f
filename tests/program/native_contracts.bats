#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run with contracts in native code: the examples, and tests/program/native_contract.c.

load common

LINES=$ROOT/examples/wasm-token/deliveries.jsonl

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    export FLAGS="-O1 -fPIC -shared -D_GNU_SOURCE -I$ROOT -I$ROOT/worker/native"
    # shellcheck disable=SC2086 # several flags
    cc $FLAGS "$ROOT/examples/native-token/token.c" -o token.so
    # shellcheck disable=SC2086
    cc $FLAGS "$ROOT/tests/program/native_contract.c" -o made.so
    # shellcheck disable=SC2086
    c++ $FLAGS -std=c++17 -fno-exceptions -fno-rtti "$ROOT/examples/native-guestbook/guestbook.cc" -o book.so
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return
}

# column NAME: of each delivery in $output.
column() {
    jq -c "select(.kind == \"delivery\") | .$1" <<< "$output"
}

# calls METHOD...: messages without an input, to the vat m.
calls() {
    printf '{"vat":"m","method":"%s","args":[]}\n' "$@"
}

@test "the token does what the one in WebAssembly does, natively and under QEMU" {
    local counter

    for counter in none qemu; do
        run --separate-stderr "$BUILD/gaspipe" run --json --counter "$counter" --vat ft=token.so "$LINES"
        assert_status 1
        [ "$(column status | tr '\n' ' ')" = '"ok" "ok" "ok" "ok" "error" "ok" ' ]
        [ "$(column result | tail -n 3 | tr '\n' ' ')" = '"250" null "1000000" ' ]
        [[ $(column error) == *"Smart contract panicked: The account doesn't have enough balance"* ]]
        # shellcheck disable=SC2154 # run --separate-stderr sets it
        [[ $stderr == *'ft: Transfer 250 from alice.near to bob.near'* ]]
    done
    [[ $(column instructions) != *null* ]]
    counts=$(column instructions)
    run --separate-stderr "$BUILD/gaspipe" run --json --vat ft=token.so "$LINES"
    assert_equal "$(column instructions)" "$counts"
}

@test "the guest book in C++ answers as the one in AssemblyScript" {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat book=book.so \
        "$ROOT/examples/wasm-guestbook/deliveries.jsonl"
    assert_status 1
    [ "$(column result | tail -n 2 | tr '\n' ' ')" = '"bob.near: grüße" 2 ' ]
    [[ $(column error) == *'the input has no text'* ]]
}

# A sanitizer's run-time part uses the contract's stack: this worker has none.
@test "each call begins with variables, heap and stack as they were loaded" {
    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --vat m=made.so \
        <(calls state heap state full state)
    assert_status 0
    [ "$(column result | sed -n '2p;4p;6p' | sort -u)" = '[1,1,8,1,1,0,0]' ]
    [ "$(column result | sed -n '3p;5p' | tr '\n' ' ')" = '"fine" "full" ' ]
}

# Natively, under QEMU and compiled; the C library's qsort() makes system calls from 1 KiB on.
@test "arrays of any size are sorted; a comparison may sort, and may end the call" {
    local counter file

    for counter in none qemu compiled; do
        file=made.so
        if [ $counter = compiled ]; then
            [ -x "$BUILD/gaspipe-worker-native-metered" ] || continue
            # shellcheck disable=SC2086 # several flags
            "$BUILD/gaspipe-cc" $FLAGS "$ROOT/tests/program/native_contract.c" -o sorts.so
            file=sorts.so
        fi
        {
            calls sort
            yes '{"vat":"m","method":"sort","args":["end"]}' | head -n 9
            calls sort
        } > sorts
        run --separate-stderr "$BUILD/gaspipe" run --json --counter $counter --vat m=$file sorts
        assert_status 1
        assert_equal "$(column error | grep -c 'abort() was called')" 9 "--counter $counter"
        assert_equal "$(column error | grep -c "the contract's heap is full")" 2
        assert_equal "$(grep -c 'm: sorted' <<< "$stderr")" 2
    done
}

@test "storage takes any bytes, a view changes nothing, and a call that ends leaves nothing" {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat m=made.so - << 'END'
{"vat":"m","method":"bytes","args":[]}
{"vat":"m","method":"bytes","args":["",{"view":true}]}
{"vat":"m","method":"write","args":["abort"]}
{"vat":"m","method":"write","args":["assert"]}
{"vat":"m","method":"read","args":[]}
{"vat":"m","method":"echo","args":[{"base64":"AP8="}]}
END
    assert_status 1
    [ "$(column result | sed -n '2p;6p;7p' | tr '\n' ' ')" = '[3,1,0,0,1,0] "nothing" "AP8=" ' ]
    [ "$(column error | grep -c 'is not allowed in view calls')" -eq 1 ]
    [ "$(column error | grep -c 'abort() was called')" -eq 1 ]
    [ "$(column error | grep -c 'Assertion .* failed')" -eq 1 ]
}

# asks VAT QUESTION...: the lines.
asks() {
    printf '{"vat":"'"$1"'","method":"ask","args":["%s"]}\n' "${@:2}"
}

# A contract of each kind asks those of the others, and its callback receives the answer.
@test "promises between contracts in native code, WebAssembly and JavaScript" {
    local maker=$ROOT/build/vats/tests/maker.bundle vat
    local to_js=' [[{"a":1}]] "failed" "failed" [] [7] "failed"'

    clang --target=wasm32 -O2 -nostdlib "-I$ROOT" -Wl,--no-entry "$ROOT/tests/program/contracts/ask.c" -o ask.wasm
    cat > plain.js << 'END'
export const echo = text => [JSON.parse(text)];
export const fail = () => { throw Error('no'); };
export const large = () => 12n;
export const nothing = () => undefined;
END
    {
        asks native 'wasm echo 7' 'wasm nosuch 7' 'wasm caller 7' 'nobody echo 7'
        asks wasm 'native echo 7' 'native abort 7' 'native caller 7' 'native ask wasm echo 8'
        asks native 'js echo {\"a\":1}' 'js fail 7' 'js large 7' 'js nothing 7' 'maker same 7' 'maker makeThings 1'
        asks wasm 'js echo {\"a\":1}' 'js fail 7' 'js large 7' 'js nothing 7' 'maker same 7' 'maker makeThings 1'
    } > questions
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store mixed --vat native=made.so \
        --vat wasm=ask.wasm --vat js=plain.js --vat "maker=$maker" questions
    assert_status 1
    assert_equal "$(jq -c 'select(.kind == "result") | .value' <<< "$output" | paste -sd' ')" \
        '[7] "failed" "[native]" "failed" [7] "failed" "[wasm]" [[8]]'"$to_js$to_js"
    [ "$(grep -c 'a promise failed, since its result is not JSON' <<< "$stderr")" -eq 4 ]
    for vat in native wasm; do
        run "$NATIVE/gaspipe" replay --counter none --from-start --store mixed $vat
        assert_status 0
    done
    # A vat of SwingSet sends messages to a module, and receives results and errors.
    head -n 1 "$ROOT/tests/swingset/small.jsonl" > questions
    printf '{"vat":"conductor","method":"%s","args":[4]}\n' many noSuchMethod >> questions
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat maker=ask.wasm --vat ledger=made.so \
        --vat mint=ask.wasm --vat "conductor=${maker/maker/conductor}" --vat "vatAdmin=${maker/tests*/swingset/vat-vat-admin.bundle}" questions
    assert_equal "$(jq -c 'select(.kind == "result") | .value' <<< "$output" | paste -sd' ')" \
        '{"@value":"undefined"} 14 ["rejected","MethodNotFound"]'
}

@test "a store is used by the next run: gascontract_init() ran once, and all can be replayed" {
    run "$NATIVE/gaspipe" run --counter none --store store --vat m=made.so <(calls init bytes)
    assert_status 0
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store store <(calls init)
    [ "$(column result)" = '"started once"' ]
    run "$NATIVE/gaspipe" replay --counter none --store store --from-start m
    assert_status 0
    run "$NATIVE/gaspipe" run --counter none --store store --upgrade m=token.so <(calls ft_total_supply)
    assert_status 0
}

# refused FILE WORDS
refused() {
    run "$NATIVE/gaspipe" run --counter none --vat "m=$1" <(calls state)
    assert_status 3
    assert_output_has "$1: the contract was not taken: $2"
}

@test "the worker of native code has no engine of WebAssembly in it" {
    run -1 grep -q 'libsecp256k1\|wasm_interpret\|near_host_' "$BUILD/gaspipe-worker-native"
    grep -q libsecp256k1 "$BUILD/gaspipe-worker-wasm"
}

@test "what is no contract is refused with one line" {
    cp "$(type -P true)" program.so
    head -c 2000 token.so > cut.so
    cp token.so machine.so
    printf '\267' | dd of=machine.so bs=1 seek=18 conv=notrunc status=none
    echo 'int x;' | cc -shared -fPIC -x c - -o empty.so
    echo 'int printf(const char *, ...); void gascontract_call(void) { printf("%d", 1); }' |
        cc -shared -fPIC -x c - -o needs.so
    echo 'void gascontract_call(void) {}' | cc -c -fPIC -x c - -o object.so
    refused program.so 'is a program: link it with -shared'
    refused cut.so 'is cut off'
    refused machine.so 'is for another machine (ELF machine 183): a native contract is for x86-64'
    refused empty.so 'is no contract: it defines no gascontract_call()'
    refused needs.so 'needs printf, which contracts do not have'
    refused object.so 'is not a shared object: link it with -shared'
}

# As Ubuntu's compiler does by default.
@test "with _FORTIFY_SOURCE, what fits is written and what overruns a variable ends the call" {
    local name

    cat > checks.c << 'END'
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <gascontract.h>
static char text[10], *volatile end;
static void format(size_t size, const char *words, ...)
{
    va_list list;
    va_start(list, words);
    vsnprintf(text, size, words, list);
    va_end(list);
}
void gascontract_call(const char *method, const void *input, size_t length)
{
    volatile size_t some = 9, many = 11;
    const volatile char *volatile short_text = "ok", *volatile long_text = "0123456789";
    (void)input, (void)length;
#define WITH(size, words) \
    if (strcmp(method, size == 9 ? "memcpy" : "memcpy_over") == 0) memcpy(text, long_text, size); \
    if (strcmp(method, size == 9 ? "memmove" : "memmove_over") == 0) memmove(text, long_text, size); \
    if (strcmp(method, size == 9 ? "memset" : "memset_over") == 0) memset(text, '7', size); \
    if (strcmp(method, size == 9 ? "strcpy" : "strcpy_over") == 0) strcpy(text, words); \
    if (strcmp(method, size == 9 ? "stpcpy" : "stpcpy_over") == 0) end = stpcpy(text, words); \
    if (strcmp(method, size == 9 ? "strncpy" : "strncpy_over") == 0) strncpy(text, words, size); \
    if (strcmp(method, size == 9 ? "strcat" : "strcat_over") == 0) strcat(text, words); \
    if (strcmp(method, size == 9 ? "strncat" : "strncat_over") == 0) strncat(text, words, size + 2); \
    if (strcmp(method, size == 9 ? "snprintf" : "snprintf_over") == 0) snprintf(text, size, "%s", words); \
    if (strcmp(method, size == 9 ? "vsnprintf" : "vsnprintf_over") == 0) format(size, "%s", words)
    WITH(some, (const char *)short_text);
    WITH(many, (const char *)long_text);
    gascontract_result("1", 1);
}
END
    cc -O2 -w -D_FORTIFY_SOURCE=2 -fPIC -shared "-I$ROOT/worker/native" checks.c -o checks.so
    for name in mem{cpy,move,set} str{,n}cpy stpcpy str{,n}cat {,v}snprintf; do
        nm -D checks.so | grep -q "U __${name}_chk" || fail "the compiler does not call __${name}_chk"
        run --separate-stderr "$BUILD/gaspipe" run --json --counter none --vat m=checks.so <(calls "$name" "${name}_over")
        assert_status 1
        assert_equal "$(column result | tail -n 2 | tr '\n' ' ')" '1 null ' "$name"
        [[ $(column error) == *'a variable was overrun'* ]] || fail "$name: $output"
    done
}

@test "code that makes a process or a fault ends its worker: the vat waits in quarantine" {
    [[ $BUILD == "$ROOT/build" ]] || skip 'a build with sanitizers has no sandbox'
    for counter in none qemu; do
        run "$BUILD/gaspipe" run --counter $counter --retries 0 --vat m=made.so <(calls fork)
        assert_status 5
        assert_output_has 'killed by signal 31: contracts may not make the system call fork'
        run "$BUILD/gaspipe" run --counter $counter --retries 0 --vat m=made.so <(calls null)
        assert_status 5
        assert_output_has 'killed by signal 11'
    done
}

@test "a contract that gaspipe-cc compiled counts and limits its block cost" {
    [ -x "$BUILD/gaspipe-worker-native-metered" ] || skip 'make metered has not built the worker'
    "$BUILD/gaspipe-cc" -O2 -fPIC -shared "-I$ROOT/worker/native" "$ROOT/examples/native-token/token.c" \
        -o metered.so
    run --separate-stderr "$BUILD/gaspipe" run --json --counter compiled --vat ft=metered.so "$LINES"
    assert_status 1
    [[ $(column blockCost | tail -n 5) != *null* ]]
    cost=$(column blockCost | sed -n 2p)
    run --separate-stderr "$BUILD/gaspipe" run --json --counter compiled --max-cost "$cost" --vat ft=metered.so "$LINES"
    assert_equal "$(column blockCost | sed -n 2p)" "$cost"
    run "$BUILD/gaspipe" run --counter compiled --max-cost $((cost / 2)) --vat ft=metered.so "$LINES"
    assert_status 1
    assert_output_has 'Cost limit exceeded'
    run "$BUILD/gaspipe" run --counter none --vat m=metered.so <(calls state)
    assert_status 3
    assert_output_has 'was compiled by gaspipe-cc, whose meter only --counter compiled has'
    run "$BUILD/gaspipe" run --counter compiled --max-cost 1000 --vat m=token.so <(calls state)
    assert_status 3
    assert_output_has 'has no meter compiled in, which --max-cost needs'
}
