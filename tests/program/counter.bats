#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# libgascount.so counts what single-stepping counts, and does what gasmark.h promises.

load common

# The C library chooses its functions by the CPU's features; the CPU
# that QEMU emulates has fewer, so both sides disable all of them.
pin_cpu_features() {
    local features=AVX,AVX2,AVX512F,AVX512VL,AVX512BW,AVX512DQ,AVX512CD,SSSE3,SSE4_1,SSE4_2
    features+=,ERMS,FSRM,BMI1,BMI2,LZCNT,POPCNT,MOVBE,RTM,XSAVEC,XSAVE,FMA,FMA4
    features+=,Fast_Unaligned_Copy,Fast_Unaligned_Load,Prefer_PMINUB_for_stringop
    features+=,Fast_Rep_String,Slow_BSF,Slow_SSE4_2,Fast_Copy_Backward
    features+=,AVX_Fast_Unaligned_Load,Prefer_No_VZEROUPPER
    local cpu=glibc.cpu

    export GLIBC_TUNABLES="$cpu.hwcaps=-${features//,/,-}"
    for size in non_temporal_threshold rep_movsb_threshold rep_stosb_threshold \
        shared_cache_size data_cache_size; do
        GLIBC_TUNABLES+=:$cpu.x86_$size=0x100000
    done
    export OPENSSL_ia32cap=0:0
}

setup_file() {
    local tests=$BATS_TEST_DIRNAME bin=$BATS_FILE_TMPDIR
    local compile="${CC:-gcc} -std=gnu17 -I$tests/../.. -D_GNU_SOURCE"

    $compile -O1 -fno-builtin -Wl,-z,now "$tests/counter_regions.c" -o "$bin/regions" \
        -lcrypto -lz -lm -ldl -lpthread
    $compile -O2 "$tests/counter_step.c" -o "$bin/step"
    $compile -O1 "$tests/counter_marks.c" -o "$bin/marks" -lpthread
    $compile -shared -fPIC "$tests/counter_object.c" -o "$bin/object.so"
    export COUNTER_OBJECT=$bin/object.so
    export TESTS_BIN=$bin
}

# counted OPTIONS PROGRAM ARG...: OPTIONS are ",name=value" of the plugin.
counted() {
    local options=$1

    shift
    timeout 300 qemu-x86_64 -cpu Nehalem -seed 1 -plugin "$BUILD/libgascount.so$options" "$@"
}

# Returns 0 if this QEMU has a vDSO and executes repeated string instructions at once.
is_newer_qemu() {
    [ "$(qemu-x86_64 --version | sed -n 's/^.* version \([0-9]*\)\..*/\1/p')" -ge 9 ]
}

stepped() {
    timeout 300 "$TESTS_BIN/step" "$1" "$TESTS_BIN/regions" "$2"
}

# same_as_stepped REP REGION...: counted by the plugin, in each precision that it may
# choose, and by ptrace; prints what differs.
same_as_stepped() {
    local rep=$1 region steps options count
    local ways=(precision=auto precision=instruction)

    shift
    for region; do
        steps=$(stepped "$rep" "$region")
        for options in "${ways[@]}"; do
            count=$(counted ",$options,rep=$rep" "$TESTS_BIN/regions" "$region") ||
                count+="exit status $?"
            if [ -z "$steps" ] || [ "$count" != "$steps" ]; then
                echo "$region: stepped $steps, counted $count ($options, rep=$rep)"
            fi
        done
    done
}

@test "every region counts as many instructions as single-stepping it" {
    [ "$NATIVE" = "$BUILD" ] || skip "neither the counter nor what it counts here is sanitized"
    pin_cpu_features
    mapfile -t regions < <("$TESTS_BIN/regions" list)
    [ ${#regions[@]} -ge 30 ]
    if is_newer_qemu; then
        KEEP_VDSO=1 run same_as_stepped once "${regions[@]}"
    else
        run same_as_stepped iterations "${regions[@]}"
    fi
    assert_equal "$output" ""
}

@test "instructions have the kind that a disassembler gives them" {
    local kinds=$BATS_TEST_TMPDIR

    command -v objdump > /dev/null || skip "no objdump"
    ${CC:-gcc} -std=gnu17 -I"$ROOT" -O1 "$BATS_TEST_DIRNAME/counter_kinds.c" \
        "$ROOT/counter/kind.c" -o "$kinds/kinds"
    for file in libc.so.6 libm.so.6 libz.so.1; do
        objdump -dw -M intel --section=.text \
            "$(${CC:-gcc} -print-file-name="$file" | xargs readlink -f)"
    done | awk -f "$BATS_TEST_DIRNAME/counter_kinds.awk" | sort -u > "$kinds/expected"
    [ "$(wc -l < "$kinds/expected")" -gt 100000 ]
    cut -d'|' -f1 "$kinds/expected" | "$kinds/kinds" > "$kinds/found"
    run awk -F'|' '$1 != $3 { print $4 " (" $2 ") is " $3 ", not " $1; if (++n == 20) exit }' \
        <(paste -d'|' "$kinds/found" "$kinds/expected")
    assert_equal "$output" ""
}

@test "rep=iterations is refused if QEMU does not distinguish iterations" {
    is_newer_qemu || skip "this QEMU does"
    run counted ,rep=iterations "$TESTS_BIN/regions" loop
    assert_status 1
    assert_output_has "use rep=once"
}

@test "rep=once counts a repeated instruction once" {
    pin_cpu_features
    is_newer_qemu && export KEEP_VDSO=1
    run same_as_stepped once loop rep-move rep-compare rep-fault strings zlib dlopen
    assert_equal "$output" ""
}

@test "precision=block is exact only if nothing faults" {
    pin_cpu_features
    assert_equal "$(counted ,precision=block "$TESTS_BIN/regions" qsort)" \
        "$(stepped iterations qsort)"
    run counted ,precision=block "$TESTS_BIN/regions" faults-abandoned
    [ "$output" -gt "$(stepped iterations faults-abandoned)" ]
}

@test "a call made while QEMU's function is being interposed reaches the original" {
    ${CC:-gcc} -std=gnu17 -I"$ROOT" -D_GNU_SOURCE -O1 -fno-builtin -Wl,-z,relro,-z,now \
        "$BATS_TEST_DIRNAME/counter_interpose.c" "$ROOT/counter/qemu/emulator/interpose.c" \
        -o "$BATS_TEST_TMPDIR/interpose"
    run "$BATS_TEST_TMPDIR/interpose"
    assert_equal "$output" $'in the middle 1, calls 0\nafterwards 1, calls 1\nno such function 0'
}

@test "without a counter nothing happens" {
    run "$TESTS_BIN/regions" loop
    assert_equal "$output" "no counter"
    run "$TESTS_BIN/marks" present
    assert_equal "$output" "present 0"
    run qemu-x86_64 "$TESTS_BIN/marks" present
    assert_equal "$output" "present 0"
}

@test "marks: present, named in three ways, repeatable, paused" {
    run counted "" "$TESTS_BIN/marks" present
    assert_equal "$output" "present 1"
    run counted "" "$TESTS_BIN/marks" descriptors
    assert_equal "$output" $'1\n1\n1'
    run counted "" "$TESTS_BIN/marks" answers
    assert_equal "$output" $'same 1\nmore 1\npeek 1\nstop after pause 1\nclosed 1'
}

@test "marks: bytes and syscalls of the region" {
    run counted "" "$TESTS_BIN/marks" transfers
    assert_equal "$output" "written 70 read 50 syscalls 3"
}

@test "marks: bad pointers do no harm" {
    run counted "" "$TESTS_BIN/marks" bad-pointers
    assert_status 0
    assert_equal "$output" "alive 123"
    run counted "" "$TESTS_BIN/marks" page-that-goes
    assert_status 0
    assert_equal "$output" "reported 1
alive"
}

@test "marks: from Python, with nothing but a syscall" {
    command -v /usr/bin/python3 > /dev/null || skip "there is no /usr/bin/python3"
    run counted "" /usr/bin/python3 -S -c '
import ctypes
libc, count = ctypes.CDLL(None), ctypes.c_uint64()
for rounds in (100, 100, 10000):
    libc.syscall(0, 0xcafebabe, ctypes.byref(count), 1)
    sum(range(rounds))
    libc.syscall(0, 0xcafebabf, ctypes.byref(count), 8)
    print(count.value > 20 * rounds)'
    assert_equal "$output" $'True\nTrue\nTrue'
}

@test "limit: the verdict at the stop mark is that while running" {
    run counted "" "$TESTS_BIN/marks" limit 1000000
    assert_status 0
    assert_equal "$output" "within the limit"
    run counted "" "$TESTS_BIN/marks" limit 1000
    assert_status 30
    run counted "" "$TESTS_BIN/marks" runaway
    assert_status 30
    assert_output_has "instruction limit passed"
}

@test "limit: holds in a forked child" {
    run counted "" "$TESTS_BIN/marks" runaway-child
    assert_status 0
    assert_output_has "child 30"
}

@test "limit: children forked while a limit is checked can mark regions" {
    run counted "" "$TESTS_BIN/marks" forks 200
    assert_status 0
    assert_equal "$output" "200 forks"
}

@test "scope: the calling thread or all threads" {
    run counted "" "$TESTS_BIN/marks" process-scope
    assert_equal "$output" "one 1 all 1"
}

@test "an unknown option of the plugin is refused and the known ones are listed" {
    run counted ,rep=twice "$TESTS_BIN/marks" present
    assert_status 1
    assert_output_has "'rep=twice' is not an option; there are precision=auto|block|instruction"
}

@test "memory stays flat while 6 GB are reserved and released repeatedly" {
    run --separate-stderr counted "" "$TESTS_BIN/marks" map-cycles 40
    assert_equal "$output" flat "$stderr"
}

@test "memory stays flat while threads start and end" {
    run --separate-stderr counted "" "$TESTS_BIN/marks" thread-cycles 4000
    assert_equal "$output" flat "$stderr"
    run --separate-stderr counted "" "$TESTS_BIN/marks" overlapping-cycles 120
    assert_equal "$output" flat "$stderr"
}

@test "memory stays flat while libraries are opened and closed" {
    run --separate-stderr counted "" "$TESTS_BIN/marks" dlopen-cycles 10000
    assert_equal "$output" flat "$stderr"
}
