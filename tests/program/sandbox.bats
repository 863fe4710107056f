#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A worker that was taken over gets nowhere: tests/program/escape.c tries.

load common

setup_file() {
    cc -std=gnu17 -D_GNU_SOURCE -I "$ROOT" "$BATS_TEST_DIRNAME/escape.c" \
        -I "$ROOT/build/filters" "$ROOT"/sandbox/{contract_filter,syscall_name}.c -o "$BATS_FILE_TMPDIR/escape"
    export ESCAPE=$BATS_FILE_TMPDIR/escape
    export PLAIN_WORKER=$BUILD/gaspipe-worker
    chmod 755 "$BATS_FILE_TMPDIR"
}

setup() {
    cd "$BATS_TEST_TMPDIR"
}

missing() {
    "$BUILD/gaspipe-sandbox" --strict -- "$(type -P true)" 2>&1
}

sandboxed() {
    "$BUILD/gaspipe-sandbox" --program "$ESCAPE" --program "$BUILD/libgascount.so" -- "$@"
}

under_qemu() {
    sandboxed "$(command -v qemu-x86_64)" -plugin "$BUILD/libgascount.so" "$ESCAPE" "$@"
}

# refused_all COMMAND...: each attempt but those that only the contract filter refuses. Descriptor 7 is the
# file for a snapshot, as in a worker.
refused_all() {
    local attempt out=()

    for attempt in $("$ESCAPE" --list | grep -v -e '-executable$' -e shared-memory); do
        # 2 would be an error of the attempt's own; a kill is 128 and the signal's number.
        if "$@" "$attempt" > output 2>&1 7<> snapshot; then status=0; else status=$?; fi
        if [ $status -ne 0 ] && [ $status -le 128 ]; then
            out+=("$attempt: $(cat output) (exit status $status)")
        fi
    done
    printf '%s\n' "${out[@]}"
    [ ${#out[@]} -eq 0 ]
}

@test "sandbox: the attempts do get out without it" {
    local attempt found=0

    for attempt in read-passwords unix-socket execute-shell make-process map-executable any-socket \
        fill-disk fork-bomb fill-memory fill-heap fill-snapshot fill-shared-memory ask-for-passwords; do
        "$ESCAPE" "$attempt" > output 7<> snapshot || found=$((found + 1))
        grep 'got out' output
    done
    # execute-shell becomes the shell, whose exit status is 0.
    assert_equal $found 12 "attempts that say that they got out"
}

@test "sandbox: a worker that starts gets nowhere" {
    [ -z "$(missing)" ] || skip "this system lacks: $(missing)"
    refused_all sandboxed "$ESCAPE"
}

@test "sandbox: a worker that runs contracts gets nowhere" {
    [ -z "$(missing)" ] || skip "this system lacks: $(missing)"
    refused_all sandboxed "$ESCAPE" --confined
    run sandboxed "$ESCAPE" --confined map-executable
    assert_status 159 # SIGSYS
    run sandboxed "$ESCAPE" --confined make-executable
    assert_status 159
    run sandboxed "$ESCAPE" --confined fill-shared-memory
    assert_status 159
}

@test "sandbox: nor does one under QEMU" {
    [ -z "$(missing)" ] || skip "this system lacks: $(missing)"
    refused_all under_qemu
}

@test "sandbox: nor does one under QEMU that runs contracts" {
    [ -z "$(missing)" ] || skip "this system lacks: $(missing)"
    refused_all under_qemu --confined
}

@test "sandbox: what only asks gets an error, and what ends the process is named" {
    local command

    for command in "$ESCAPE" "$(command -v qemu-x86_64) -plugin $BUILD/libgascount.so $ESCAPE"; do
        # shellcheck disable=SC2086 # several words
        run $command --confined --asks
        assert_status 0
        assert_equal "$output" ''
        # shellcheck disable=SC2086
        run $command --confined make-process
        assert_status 159
        [[ $output == 'contracts may not make the system call '@(fork|vfork|clone) ]] || fail "$output"
    done
}

@test "sandbox: the filter alone holds, too" {
    run "$ESCAPE" --confined read-passwords
    assert_status 0
    assert_output_has 'refused: Permission denied'
    run "$ESCAPE" --confined unix-socket
    assert_status 159
    run "$(command -v qemu-x86_64)" -plugin "$BUILD/libgascount.so" "$ESCAPE" --confined unix-socket
    assert_status 159
}

as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

nobody_is_refused() {
    refused_all as_nobody "$1/gaspipe-sandbox" --program "$1/escape" -- "$1/escape" "${@:2}"
}

nobody_is_refused_under_qemu() {
    refused_all as_nobody "$1/gaspipe-sandbox" --program "$1/escape" \
        --program "$1/libgascount.so" -- "$1/qemu-x86_64" -plugin "$1/libgascount.so" \
        "$1/escape" "${@:2}"
}

@test "sandbox: it also holds for the user nobody" {
    [ "$(id -u)" -eq 0 ] || skip 'only root can become nobody'
    [ -z "$(setpriv --reuid=65534 --regid=65534 --clear-groups "$BUILD/gaspipe-sandbox" --strict -- "$(type -P true)" 2>&1)" ] ||
        skip "nobody lacks something here"
    # In a directory that the user can read; the build directory's parents may not be one.
    open=$(mktemp -d)
    cp "$ESCAPE" "$BUILD/gaspipe-sandbox" "$BUILD/libgascount.so" "$(command -v qemu-x86_64)" "$open"
    chmod 755 "$open"
    if nobody_is_refused "$open" && nobody_is_refused "$open" --confined &&
        nobody_is_refused_under_qemu "$open" && nobody_is_refused_under_qemu "$open" --confined; then
        status=0
    else
        status=1
    fi
    rm -rf "$open"
    assert_status 0
}

@test "sandbox: descriptors beyond those that were given are closed" {
    exec 9< /etc/passwd
    cat > "$BATS_TEST_TMPDIR/read_nine.c" << 'END'
#include <unistd.h>
int main(void) { char byte; return read(9, &byte, 1) < 0 ? 0 : 1; }
END
    cc read_nine.c -o read_nine
    run ./read_nine
    assert_status 1
    run "$BUILD/gaspipe-sandbox" --descriptors 8 -- ./read_nine
    assert_status 0
}

@test "sandbox: the worker answers in it, natively and under QEMU" {
    local worker answers

    printf '1:R,7:e1 + 1;,' > commands
    for worker in "$BUILD/gaspipe-worker" "$(command -v qemu-x86_64)"; do
        set -- "$worker"
        case $worker in
        *qemu*) set -- "$worker" -plugin "$BUILD/libgascount.so" "$BUILD/gaspipe-worker" ;;
        esac
        "$BUILD/gaspipe-sandbox" --program "$BUILD/gaspipe-worker" \
            --program "$BUILD/libgascount.so" -- "$@" --confine 3< commands 4> answers
        answers=$(tr '\001' ' ' < answers)
        [[ $answers == '1:.,'*'"compute":32,'* ]]
    done
}

@test "sandbox: what is wrong on the command line is said" {
    # In a sanitized build, looking for leaks would itself need what the sandbox refuses.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
    run "$BUILD/gaspipe-sandbox"
    assert_status 2
    assert_output_has 'PROGRAM is missing'
    run "$BUILD/gaspipe-sandbox" -- /there/is/none
    assert_status 126
    assert_output_has '/there/is/none: No such file or directory'
    run "$BUILD/gaspipe-sandbox" --help
    assert_status 0
    assert_output_has '--strict'
}

@test "sandbox: what Linux does not offer is named, and strict refuses to run without it" {
    [ "$NATIVE" = "$BUILD" ] || skip 'a build with sanitizers has no sandbox'
    [ -z "$(missing)" ] || skip "this system lacks: $(missing)"
    echo 'export const get = () => 1;' > contract.js
    echo '{"vat":"a","method":"get"}' > lines
    # shellcheck disable=SC2016 # the inner shell's
    run --separate-stderr unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces &&
        "$@" && "$@" --sandbox strict > strict' - "$BUILD/gaspipe" run --counter none --vat a=contract.js lines
    [[ $stderr != unshare:* ]] || skip "$stderr"
    assert_status 4
    assert_has "${lines[-1]}" 'sandboxed without namespaces'
    assert_equal "$stderr" 'gaspipe: --sandbox strict: this system lacks: namespaces'
    assert_equal "$(cat strict)" ''
    # Control groups are no condition.
    run -0 "$BUILD/gaspipe" run --counter none --sandbox strict --vat a=contract.js lines
    [[ ${lines[-1]} != *'sandboxed without '* || ${lines[-1]} == *'control groups' ]] || fail "${lines[-1]}"
}

@test "sandbox: any number of programs may be named" {
    local programs=()

    for _ in {1..40}; do programs+=(--program "$ESCAPE"); done
    assert_equal "$("$BUILD/gaspipe-sandbox" "${programs[@]}" -- "$(type -P echo)" here)" here
}

# The C functions that XS and native contracts call. The debugger, which no worker has, calls some more;
# pthread_getattr_np is replaced, and pthread_cond_wait would wait; the compiled worker has the same sources.
# Newer C libraries call strtol(3) and others by names with the standard in front. With _FORTIFY_SOURCE, as on Ubuntu,
# functions are called as __NAME_chk, which does the same or aborts; __fdelt_chk only checks.
library_calls() {
    nm "$ROOT/build/xs/libxs.a" 2> /dev/null | sed -E 's/__isoc[0-9]+_//; s/__(stack_chk_fail|fdelt_chk)$/xs_checks/; s/__(.*)_chk$/\1/' | awk '$1 == "U" { used[$2] } NF == 3 { own[$3] }
        END { for (name in used) if (!(name in own)) print name }' |
        grep -vxE '_GLOBAL_OFFSET_TABLE_|xs_.*|pthread_getattr_np|pthread_cond_wait' |
        grep -vxE 'connect|gethostbyname|getsockopt|inet_addr|select|signal|socket'
    sed -nE 's/^ *SAME\(([a-z_0-9]+)\),$/\1/p' "$ROOT/worker/native/symbols.c" | grep -v '^gascontract_'
    printf '%s\n' qsort bsearch
}

@test "sandbox: what the engines call of the C library returns in it, with arguments of any size" {
    [ "$NATIVE" = "$BUILD" ] || skip 'nothing of it is sanitized'
    cc -std=gnu17 -O0 -fno-builtin -w -D_GNU_SOURCE -I "$ROOT" -I "$ROOT/build/filters" "$BATS_TEST_DIRNAME/libc_calls.c" \
        "$ROOT"/sandbox/{contract_filter,syscall_name}.c "$ROOT/base/sort/sort.c" -lm -o libc_calls
    library_calls | sort -u > called
    [ "$(wc -l < called)" -gt 100 ]
    assert_equal "$(./libc_calls --list | sort -u | comm -13 - called)" '' "calls that libc_calls.c does not make"
    ./libc_calls < /dev/null > returned 2> errors || fail "$(tail -n 1 returned)" "$(tail -n 1 errors)"
    qemu-x86_64 -plugin "$BUILD/libgascount.so" ./libc_calls --small < /dev/null > returned 2> errors ||
        fail "under QEMU: $(tail -n 1 returned)" "$(tail -n 1 errors)"
}

# costs OPTION...: computrons and instructions of the token example's deliveries.
costs() {
    "$BUILD/gaspipe" run --json "$@" --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" 2> err > out || [ $? -eq 1 ] || fail "$(cat err)"
    jq -c 'select(.kind == "delivery") | [.description, .compute, .instructions]' out
}

@test "sandbox: a delivery costs the same in it and without it, natively and under QEMU" {
    local counter plain

    for counter in none qemu; do
        plain=$(costs --counter $counter --sandbox off)
        assert_equal "$(wc -l <<< "$plain")" 7
        assert_equal "$(costs --counter $counter)" "$plain" "in the sandbox, --counter $counter"
    done
}

# The engines sort without a system call (base/sort/sort.h): the C library's qsort() makes some from 1 KiB on.
@test "sandbox: contracts with many exports, and that sort typed arrays, run in it" {
    local counter

    {
        for i in {1..200}; do echo "export const f$i = () => $i;"; done
        cat << 'END'
export const sorted = () => [[1, 'Int8'], [129, 'Float64'], [1025, 'Uint8'], [5000, 'Float64'], [100000, 'Uint32'],
    [700000, 'BigInt64']].map(([length, kind]) => {
        const numbers = new globalThis[`${kind}Array`](length);
        const one = typeof numbers[0] === 'bigint' ? BigInt : Number;
        for (let i = 0; i < length; i++) numbers[i] = one((i * 7919) % length);
        numbers.sort();
        for (let i = 1; i < length; i++) if (numbers[i - 1] > numbers[i]) return [kind, i];
        return length;
    });
END
    } > many.js
    printf '{"vat":"many","method":"%s","args":[]}\n' f1 f200 sorted > lines.jsonl
    for counter in none qemu compiled; do
        [ $counter != compiled ] || [ -x "$BUILD/gaspipe-worker-metered" ] || continue
        run --separate-stderr "$BUILD/gaspipe" run --json --counter $counter --max-instructions 0 --vat many=many.js lines.jsonl
        assert_status 0
        assert_equal "$(jq -c 'select(.kind == "result") | .value' <<< "$output" | paste -sd' ')" \
            '1 200 [1,129,1025,5000,100000,700000]' "--counter $counter"
    done
}
