#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe-cc --musl: programs whose libc is counted, too. What they count is one number.

load common

ARM=qemu-aarch64

setup_file() {
    export CC="$ROOT/build/gaspipe-cc" SOURCES="$BATS_TEST_DIRNAME/meter" OUT="$BATS_FILE_TMPDIR"

    [ -e "$ROOT/build/meter/x86_64-linux-musl/libgasmeter.a" ] || return 0
    "$CC" --musl -O2 "$SOURCES/libc.c" -o "$OUT/libc" -lm -lpthread
    "$CC" --musl -O0 "$SOURCES/libc.c" -o "$OUT/libc-O0"
    "$CC" --musl -O1 --meter=--naive "$SOURCES/libc.c" -o "$OUT/libc-naive"
    ! has_arm || "$CC" --musl -O2 --target=aarch64-linux-gnu "$SOURCES/libc.c" -o "$OUT/libc-arm"
}

setup() {
    [ -e "$ROOT/build/meter/x86_64-linux-musl/libgasmeter.a" ] ||
        skip 'there is no metered musl; make musl builds it'
    cd "$BATS_TEST_TMPDIR"
}

has_arm() {
    [ -e "$ROOT/build/meter/aarch64-linux-musl/libgasmeter.a" ] && command -v qemu-aarch64 > /dev/null
}

# cost COMMAND...: the units of it; its exit status goes to `ended`, what it prints to `said`.
cost() {
    local status=0

    rm -f line
    GASMETER_OUT=line timeout 120 "$@" > said 2>&1 || status=$?
    echo $status > ended
    jq .cost line | tail -n 1
}

@test "one number, libc included: -O0, -O2, the naive way, aarch64, any environment" {
    local number build

    number=$(cost "$OUT/libc" all)
    [ "$number" -gt 100000 ] || fail "counted '$number'" "$(cat said)"
    assert_equal "$(cat ended)" 5
    mv said first
    for build in O0 naive; do
        assert_equal "$(cost "$OUT/libc-$build" all)" "$number" "$build"
        cmp said first
    done
    assert_equal "$(cost env FILL=xxxxxxxxx FULL=y "$OUT/libc" all)" "$number" 'another environment'
    # QEMU reports other properties of the machine to a program than Linux does.
    assert_equal "$(cost qemu-x86_64 "$OUT/libc" all)" "$number" 'under QEMU'
    if has_arm; then
        assert_equal "$(cost $ARM "$OUT/libc-arm" all)" "$number" aarch64
        cmp said first
    fi
    grep -qx 'child 7, signal 10, system 3' first
    grep -q '^4000 bytes\|^4[0-9]* bytes, No such file or directory, last line 499' first
}

@test "what memory held before decides nothing in malloc" {
    local number

    number=$(cost "$OUT/libc" heap 0)
    [ "$number" -gt 100000 ] || fail "counted '$number'" "$(cat said)"
    assert_equal "$(cost "$OUT/libc" heap A)" "$number"
    assert_equal "$(cost "$OUT/libc" heap z)" "$number"
}

@test "a budget stops within libc, at the same place on both machines" {
    local number

    export GASMETER_BUDGET=40000
    number=$(cost "$OUT/libc")
    [ "$number" -gt 40000 ] || fail "stopped at $number"
    assert_equal "$(cat ended) $(jq -r .ended line)" '30 budget'
    assert_equal "$(cost "$OUT/libc-O0")" "$number"
    ! has_arm || assert_equal "$(cost $ARM "$OUT/libc-arm")" "$number"
}

@test "what is not counted is listed: assembly, the start, threads; nothing else" {
    cost "$OUT/libc" abort > /dev/null
    assert_equal "$(cat ended) $(jq -c '[.ended, .signal]' line)" '134 ["signal",6]'
    assert_equal "$(jq -c .unsure line)" '[]'
    assert_equal "$(jq -c '.uncounted | contains(["__libc_start_main", "__syscall3", "pthread_join"])' line)" true
    assert_equal "$(jq -c '[.uncounted[] | select(test("^(printf|malloc|qsort|strlen|sin|regexec|exit)$"))]' line)" '[]'
}

@test "C++ and shared libraries are refused in one line" {
    run --separate-stderr "$ROOT/build/gaspipe-c++" --musl -c x.cc
    assert_status 2
    run --separate-stderr "$CC" --musl -shared x.c
    assert_status 2
    assert_equal "$stderr" 'gaspipe-cc: --musl is for static programs in C'
}
