#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe count, for programs of all kinds.

load common

setup_file() {
    ${CC:-gcc} -std=gnu17 -I"$BATS_TEST_DIRNAME/../.." -D_GNU_SOURCE -O1 -fno-builtin \
        "$BATS_TEST_DIRNAME/counter_marks.c" -o "$BATS_FILE_TMPDIR/marks" -lpthread
    ${CC:-gcc} -static -O1 -x c - -o "$BATS_FILE_TMPDIR/static" <<< 'int main(void) { return 0; }'
    ${CC:-gcc} -std=gnu17 -I"$BATS_TEST_DIRNAME/../.." -D_GNU_SOURCE -O1 -fno-builtin -Wl,-z,now \
        "$BATS_TEST_DIRNAME/counter_regions.c" -o "$BATS_FILE_TMPDIR/regions" \
        -lcrypto -lz -lm -ldl -lpthread
    export MARKS=$BATS_FILE_TMPDIR/marks STATIC=$BATS_FILE_TMPDIR/static
    export REGIONS=$BATS_FILE_TMPDIR/regions
}

# count OPTION... -- PROGRAM ARG...: the result goes to the file `out`.
count() {
    timeout 300 "$BUILD/gaspipe" count --output "$BATS_TEST_TMPDIR/out" "$@"
}

teardown() {
    idle_again
}

# field FILTER [KIND]: of the first JSON line of that kind.
field() {
    jq -s -c "map(select(.kind == \"${2:-run}\"))[0] | $1" "$BATS_TEST_TMPDIR/out"
}

instructions() {
    count --json "$@" > /dev/null
    field .instructions
}

@test "a table of what a program executed" {
    run --separate-stderr count -- /bin/echo hello
    assert_status 0
    assert_equal "$output" hello
    assert_equal "$stderr" ""
    output=$(cat "$BATS_TEST_TMPDIR/out")
    assert_output_has "counted: /bin/echo hello (exit status 0)"
    assert_output_has "instructions"
    assert_output_has "6  bytes written"
    assert_output_has "fingerprint"
}

@test "JSON: totals, calls by kind, processes, a fingerprint of what was executed" {
    count --json -- /bin/echo hello > /dev/null
    assert_equal "$(field '[.status, .signal, .bytesWritten, .calls.write, .exact, .complete]')" \
        '[0,null,6,1,true,true]'
    assert_equal "$(field '.instructions == .processes[0].instructions')" true
    assert_equal "$(field '.runs, .agree, .program' summary)" $'1\ntrue\n["/bin/echo","hello"]'
    assert_equal "$(field '.fingerprint.files | keys | map(test("libc|qemu|gascount")) | any' \
        summary)" true
}

@test "programs of the system have one count each" {
    local data=$BATS_TEST_TMPDIR/data

    [ "$NATIVE" = "$BUILD" ] || skip "QEMU and these programs are not sanitized"
    seq 5000 > "$data"
    cd /
    # Missing programs are reported.
    for program in "ls /" "sha256sum $data" "gzip -c $data" "sort -r $data" "grep -c 7 $data" \
        "wc $data" "sed -n 7p $data" "cut -c2 $data" "perl -e print(keys(%ENV),rand())" \
        "/usr/bin/python3 -S -c print(hash(str(1)))" "openssl rand -hex 8" "find /etc/apt"; do
        # shellcheck disable=SC2086 # words of a command line
        set -- $program
        command -v "$1" > /dev/null || { echo "# there is no $1" >&3; continue; }
        run count --repeat 3 -- "$@"
        assert_status 0
        output=$(cat "$BATS_TEST_TMPDIR/out")
        assert_output_has "the same in all 3 runs"
    done
}

@test "the same from another directory, with another environment, niced, and under load" {
    local there first

    there=$(mktemp -d "$BATS_TEST_TMPDIR/a-directory-with-a-long-name-XXXXXX")
    first=$(instructions -- "$STATIC")
    assert_equal "$(cd "$there" && instructions -- "$STATIC")" "$first" directories
    first=$(instructions -- /bin/echo hello)
    assert_equal "$(A_VARIABLE=$(seq 500) instructions -- /bin/echo hello)" "$first" environments
    assert_equal "$(exec 7< /dev/null 8< /dev/null 9< /dev/null
        instructions -- /bin/echo hello)" "$first" descriptors
    assert_equal "$(ulimit -s 1024; instructions -- /bin/echo hello)" "$first" stacks
    assert_equal "$(ulimit -s 128; instructions -- /bin/echo hello)" "$first" "small stacks"
    keep_busy 2
    nice -n 5 "$BUILD/gaspipe" count --repeat 5 --json --output "$BATS_TEST_TMPDIR/out" -- \
        /bin/echo hello > /dev/null
    assert_equal "$(field '[.agree, .least]' summary)" "[true,$first]" "loads"
}

@test "the same for another user" {
    local there first

    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    # The other user must be able to reach the programs.
    there=$(mktemp -d)
    chmod 755 "$there"
    cp "$BUILD/gaspipe" "$BUILD/libgascount.so" "$STATIC" "$there"
    [ ! -e "$BUILD/gaspipe-qemu" ] || cp "$BUILD/gaspipe-qemu" "$there"
    first=$(instructions -- "$there/static")
    assert_equal "$(cd / && setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nowhere \
        USER=nobody "$there/gaspipe" count --json -- "$there/static" 2>&1 |
        jq 'select(.kind == "run").instructions')" "$first" users
    rm -r "$there"
}

@test "the same with some of the host CPU's features masked; the program sees one CPU" {
    local first features masks=AVX512F,-AVX2,-AVX,-ERMS,-FSRM,-SSSE3,-SSE4_1,-SSE4_2,-BMI2,-POPCNT

    first=$(instructions -- /bin/echo hello)
    assert_equal "$(GLIBC_TUNABLES=glibc.cpu.hwcaps=-$masks instructions -- /bin/echo hello)" \
        "$first" "features of the C library"
    assert_equal "$(OPENSSL_ia32cap=0:0 instructions -- openssl version)" \
        "$(instructions -- openssl version)" "features of OpenSSL"
    ${CC:-gcc} -O1 -x c - -o "$BATS_TEST_TMPDIR/cpuid" <<- 'EOF'
	#include <cpuid.h>
	#include <stdio.h>
	int main(void)
	{
	    unsigned a, b, c, d;

	    for (unsigned leaf = 0; leaf <= 0x80000008; leaf = leaf == 0xd ? 0x80000000 : leaf + 1) {
	        __cpuid_count(leaf, 0, a, b, c, d);
	        printf("%x: %x %x %x %x\n", leaf, a, b, c, d);
	    }
	    __cpuid(1, a, b, c, d);
	    return c >> 28 & 1; /* AVX */
	}
	EOF
    # Its exit status says whether there is AVX.
    features=$(count -- "$BATS_TEST_TMPDIR/cpuid")
    # The first and the last CPU that this process may use.
    for cpu in $(taskset -cp $$ | sed 's/.*: //' | grep -oE '^[0-9]+|[0-9]+$'); do
        assert_equal "$(taskset -c "$cpu" "$BUILD/gaspipe" count --output /dev/null -- \
            "$BATS_TEST_TMPDIR/cpuid")" "$features" "what cpuid says on CPU $cpu"
    done
}

@test "the environment contains the variables of --env and nothing else" {
    A_VARIABLE=1 run count --env NEW=2 --env HOME=/x -- /usr/bin/env
    assert_output_has NEW=2
    assert_output_has HOME=/x
    assert_output_lacks HOME=/$'\n'
    assert_output_lacks A_VARIABLE
}

@test "programs that fork and exec are counted with everything they start" {
    run count --json -- /bin/sh -c '/bin/echo one; /bin/echo two | cat'
    assert_equal "$output" $'one\ntwo'
    assert_equal "$(field '.processes | length >= 5')" true
    assert_equal "$(field '.instructions == (.processes | map(.instructions) | add)')" true
    assert_equal "$(field '.calls.execve >= 2')" true
}

@test "a program started by execve is counted as when it runs alone" {
    local alone

    alone=$(instructions --env X=1 -- /bin/echo hello)
    count --json -- /bin/sh -c 'exec /bin/echo hello' > /dev/null
    # The shell passes on PWD and other variables; the rest is the same program.
    [ "$(field '.processes | length')" -eq 2 ]
    difference=$(($(field '.processes[1].instructions') - alone))
    [ "${difference#-}" -lt 2000 ]
}

@test "scripts are counted with their interpreters, also when a counted program starts them" {
    printf '#!/bin/sh -e\necho script "$@"\n' > "$BATS_TEST_TMPDIR/script"
    chmod +x "$BATS_TEST_TMPDIR/script"
    run count -- "$BATS_TEST_TMPDIR/script" a 'b c'
    assert_status 0
    assert_equal "$output" "script a b c"
    run count --json -- /bin/sh -c "'$BATS_TEST_TMPDIR/script' d; true"
    assert_equal "$output" "script d"
    assert_equal "$(field '.processes | length')" 3
    # A script whose interpreter is a script sees the arguments that the kernel passes, too.
    printf '#!%s -x\n' "$BATS_TEST_TMPDIR/script" > "$BATS_TEST_TMPDIR/outer"
    chmod +x "$BATS_TEST_TMPDIR/outer"
    expected=$("$BATS_TEST_TMPDIR/outer" e)
    assert_equal "$expected" "script -x $BATS_TEST_TMPDIR/outer e"
    assert_equal "$(count -- "$BATS_TEST_TMPDIR/outer" e)" "$expected"
    assert_equal "$(count --json -- /bin/sh -c "'$BATS_TEST_TMPDIR/outer' e; true")" "$expected"
    assert_equal "$(field '.processes | length')" 3
    printf '#!%s\n' "$BATS_TEST_TMPDIR/loop" > "$BATS_TEST_TMPDIR/loop"
    chmod +x "$BATS_TEST_TMPDIR/loop"
    run --separate-stderr count -- "$BATS_TEST_TMPDIR/loop"
    assert_bad_input 3 "cannot execute $BATS_TEST_TMPDIR/loop: Too many levels"
}

# layout COMMAND...: where `cat`, started by COMMAND, is mapped.
layout() {
    "$@" "$BUILD/gaspipe" count --json --output "$BATS_TEST_TMPDIR/out" -- /bin/cat /proc/self/maps &&
        field '[.instructions, .bytesRead]'
}

@test "the same addresses and count whatever setarch and ulimit say" {
    local expected

    expected=$(layout env)
    # Some containers refuse these, and some systems have hard limits.
    for personality in -R -L; do
        setarch "$(uname -m)" $personality true || { echo "# no setarch $personality" >&3; continue; }
        assert_equal "$(layout setarch "$(uname -m)" $personality)" "$expected" "setarch $personality"
    done
    if [ "$(ulimit -H -s)" = unlimited ]; then
        assert_equal "$(ulimit -s unlimited && layout env)" "$expected" "no limit to the stack"
    else
        echo "# a hard limit of the stack: not tried without one" >&3
    fi
    assert_equal "$(ulimit -S -s 512 && layout env)" "$expected" "a small stack"
}

@test "code in files that are deleted before the program ends" {
    printf '%s\n' '#include <sys/mman.h>' '#include <unistd.h>' 'int main(void)' '{' \
        'int file = memfd_create("code", 0);' \
        'return write(file, "\270\7\0\0\0\303", 6) != 6 ? 1 :' \
        '((int (*)(void))mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0))();' '}' |
        ${CC:-gcc} -D_GNU_SOURCE -x c - -o "$BATS_TEST_TMPDIR/generates"
    run -1 count --json -- "$BATS_TEST_TMPDIR/generates"
    assert_equal "$(field .status)" 7
    assert_equal "$(field '.fingerprint.files | to_entries | map(select(.value == null).key)' \
        summary)" '["/memfd:code (deleted)"]'
}

@test "a program that cannot be executed fails as it would without the counter" {
    run count -- /bin/sh -c '/etc/passwd; echo $?; /nowhere; echo $?'
    assert_output_has "Permission denied"
    assert_output_has 126
    assert_output_has 127
}

@test "programs whose code or stack is both writable and executable, from the first instruction" {
    local program=$BATS_TEST_TMPDIR/program

    ${CC:-gcc} -static -nostdlib -Wl,-N -x assembler - -o "$program" <<- 'EOF'
	.globl _start
	_start: mov $1000, %ecx
	again:  lea data(%rip), %rbx
	        nop
	        addq $1, (%rbx) # into the page that this code is in
	        nop
	        dec %ecx
	        jnz again
	        mov $60, %eax
	        xor %edi, %edi
	        syscall
	        .balign 8
	data:   .quad 0
	EOF
    count --json -- "$program"
    assert_equal "$(field '[.instructions, .exact, .faults > 0]')" '[6004,true,true]' "writable code"
    # Ten instructions 100 times, and ten others.
    ${CC:-gcc} -static -nostdlib -Wl,-z,execstack -x assembler - -o "$program" <<- 'EOF'
	.globl _start
	_start: and $-4096, %rsp
	        lea -4096(%rsp), %rdi
	        lea code(%rip), %rsi
	        mov $64, %ecx
	        mov %rdi, %rbx
	        rep movsb
	        mov $100, %ebp
	again:  call *%rbx
	        dec %ebp
	        jnz again
	        mov $60, %eax
	        xor %edi, %edi
	        syscall
	code:   nop
	        incl 2048(%rbx)
	        nop
	        nop
	        incl 2052(%rbx)
	        nop
	        ret
	EOF
    count --rep once --json -- "$program"
    assert_equal "$(field '[.instructions, .exact, .faults > 0]')" '[1010,true,true]' \
        "executable stack"
}

@test "an atomic operation that QEMU begins twice is not a fault" {
    count --json -- "$REGIONS" atomics-torn-shared
    assert_equal "$(field '[.exact, .faults, .regions[0].faults]')" '[true,0,0]'
}

@test "marked regions are listed" {
    count --json -- "$MARKS" answers
    assert_equal "$(field '.regions | length >= 4')" true
    assert_equal "$(field '.regions[0].instructions == .regions[1].instructions')" true
    count -- "$MARKS" answers
    output=$(cat "$BATS_TEST_TMPDIR/out")
    assert_output_has "region 1"
}

@test "system calls by name, of the run and of each region" {
    local region

    count --kinds --json -- "$MARKS" transfers
    assert_equal "$(field '.regions | map(.calls)')" '[{"read":2,"write":1}]'
    assert_equal "$(field '.calls.read > 2 and (.calls | add) == .syscalls')" true
    count --kinds -- "$MARKS" transfers
    grep -qx ' *read 2, write 1' "$BATS_TEST_TMPDIR/out"
    grep -qx ' *1  pipe2' "$BATS_TEST_TMPDIR/out"
    for region in syscalls signals fork beside-threads; do
        count --json -- "$REGIONS" "$region"
        assert_equal "$(field '.regions | map((.calls | add // 0) == .syscalls) | all')" true "$region"
    done
    # No x86-64 system calls have these numbers.
    count --json -- /usr/bin/perl -e 'syscall($_, 0) for 400, 401, 1000'
    assert_equal "$(field '.calls.others')" 3
}

@test "a limit ends the program, and exit status and message say so" {
    run --separate-stderr count --max-instructions 100000000 -- /bin/sh -c 'while :; do :; done'
    assert_status 1
    [[ $stderr == *"/bin/sh: over the instruction limit"* ]] || fail "$stderr"
    run count --max-instructions 1000 -- /bin/true
    assert_status 1
    assert_output_has "over the instruction limit"
    run count --max-instructions 100000000 -- /bin/true
    assert_status 0
}

@test "a program that fails or dies is still counted" {
    run --separate-stderr count -- /bin/sh -c 'exit 7'
    assert_bad_input 1 "exit status 7"
    run count --json -- /bin/sh -c 'kill -9 $$'
    assert_status 1
    assert_equal "$(field '[.status, .signal, .instructions > 10000]')" '[null,9,true]'
}

@test "counts that differ are reported" {
    echo 0 > "$BATS_TEST_TMPDIR/state"
    run count --repeat 3 --env "STATE=$BATS_TEST_TMPDIR/state" -- /bin/sh -c \
        'echo x >> $STATE; while read -r line; do :; done < $STATE'
    assert_status 1
    assert_output_has "the counts of 3 runs differ"
    output=$(cat "$BATS_TEST_TMPDIR/out")
    assert_output_has "NOT the same in all 3 runs"
    assert_output_has "system calls that differ in number: read ("
}

@test "a gas model gives a price" {
    local model=$BATS_TEST_TMPDIR/gas.json

    echo '{"instruction": 2, "byteWritten": 0.5}' > "$model"
    count --json --gas "$model" -- /bin/echo hello > /dev/null
    assert_equal "$(field '.gas == .instructions * 2 + 3')" true
    count --json --gas "$ROOT/docs/gas-near.json" -- /bin/echo hello > /dev/null
    assert_equal "$(field '.gas == .instructions * 125000')" true
}

@test "bad gas models are refused with file and position" {
    local model=$BATS_TEST_TMPDIR/gas.json

    echo '{"instructions": 2}' > "$model"
    run --separate-stderr count --gas "$model" -- /bin/true
    assert_bad_input 3 "$model" '"instructions" is not a weight'
    echo '{"instruction": -1}' > "$model"
    run --separate-stderr count --gas "$model" -- /bin/true
    assert_bad_input 3 "$model" '"instruction" must be a number of zero or more'
    printf '{\n"instruction": x}' > "$model"
    run --separate-stderr count --gas "$model" -- /bin/true
    assert_bad_input 3 "$model:2"
    run --separate-stderr count --gas "$BATS_TEST_TMPDIR/none" -- /bin/true
    assert_bad_input 3 "$BATS_TEST_TMPDIR/none"
}

@test "bad command lines are refused in one line" {
    run --separate-stderr count
    assert_bad_input 2 "give a program to count"
    run --separate-stderr count --repeat 0 -- /bin/true
    assert_bad_input 2 "--repeat needs a number from 1 to"
    run --separate-stderr count --rep twice -- /bin/true
    assert_bad_input 2 "--rep is iterations or once, not 'twice'"
    run --separate-stderr count --env NAME -- /bin/true
    assert_bad_input 2 "--env needs NAME=VALUE"
    run --separate-stderr count --bogus -- /bin/true
    assert_bad_input 2 "unknown option --bogus"
    run --separate-stderr count -- no-such-program-anywhere
    assert_bad_input 3 "there is no program 'no-such-program-anywhere' in PATH"
    run --separate-stderr count -- /etc/passwd
    assert_bad_input 3 "cannot execute /etc/passwd"
}

@test "without QEMU, or with one that takes no plugins, the message says what to install" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    # Away from a QEMU that was built.
    cp "$BUILD/gaspipe" "$BUILD/libgascount.so" "$BATS_TEST_TMPDIR"
    run --separate-stderr env "PATH=$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/gaspipe" count -- /bin/true
    assert_bad_input 4 "qemu-x86_64 is not in PATH" "apt-get install qemu-user"
    cp "$STATIC" "$BATS_TEST_TMPDIR/bin/qemu-x86_64"
    run --separate-stderr env "PATH=$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/gaspipe" count -- /bin/true
    assert_bad_input 4 "takes no plugins"
}

# qemus: those with plugins, as VERSION DIRECTORY, the oldest first.
qemus() {
    local qemu

    for qemu in $(type -ap qemu-x86_64) "$ROOT/build/qemu/bin/qemu-x86_64"; do
        ! "$qemu" --help 2>&1 | grep -q -e '^-plugin' ||
            echo "$("$qemu" --version | sed -n 's/^.* version \([0-9.]*\).*/\1/p') $(dirname "$qemu")"
    done | sort -V -u -k 1,1
}

@test "QEMU 7.2 and a newer one count alike, but for a fixed start and repeated string instructions" {
    local qemu counts=()

    [ "$(qemus | sed -n '1s/7[.]2[.0-9]* .*/old/p;$s/^[1-9][0-9].*/new/p' | paste -sd ' ')" = "old new" ] ||
        skip "needs QEMU 7.2 and a newer one: make check-qemu on Debian 12"
    ${CC:-gcc} -static -O1 -x c - -o "$BATS_TEST_TMPDIR/work" << 'END'
static char bytes[4096];
int main(int count, char **arguments)
{
    char *at = bytes;
    long length = sizeof bytes;
    for (volatile int i = 0; i < 100000 * (count == 2); i++)
        ;
    if (count == 3)
        __asm__ volatile("rep stosb" : "+D"(at), "+c"(length) : "a"(7) : "memory");
    return arguments == 0;
}
END
    while read -r _ qemu; do
        counts+=("$(for args in '' 1 '1 2'; do
            # shellcheck disable=SC2086 # several arguments
            PATH=$qemu:$PATH instructions -- "$BATS_TEST_TMPDIR/work" $args
        done | jq -s -c '[.[1] - .[0], .[2] - .[0]]')")
    done < <(qemus)
    # The loop is equal; 4,096 iterations and the one that finds nothing left count once under newer ones.
    assert_equal "$(jq -n -c "${counts[0]} as \$old | ${counts[-1]} as \$new |
        [\$old[0] - \$new[0], \$old[1] - \$new[1]]")" '[0,4096]'
}

@test "random numbers are the same in each run, unless they are the host's" {
    first=$(count -- openssl rand -hex 16)
    assert_equal "$(count -- openssl rand -hex 16)" "$first"
    [ "$(count --random host -- openssl rand -hex 16)" != "$first" ]
    first=$(count -- head -c 20 /dev/urandom | sha256sum)
    assert_equal "$(count -- head -c 20 /dev/urandom | sha256sum)" "$first" "/dev/urandom"
    [ "$(count -- head -c 19 /dev/urandom | sha256sum)" != "$first" ]
    [ "$(count --random host -- head -c 20 /dev/urandom | sha256sum)" != "$first" ]
}

# The sum of folded stacks.
folded_sum() {
    awk '{ sum += $NF } END { print sum }' "$1"
}

@test "a profile names the functions, and its sum is the count" {
    local folded=$BATS_TEST_TMPDIR/folded

    for program in "$MARKS answers" "$MARKS process-scope" "/bin/sh -c '$MARKS answers'" \
        "$REGIONS faults-resumed" "$REGIONS rep-move" "$REGIONS atomics-torn-shared" "kill -9 \$\$" "kill -SEGV \$\$"; do
        run count --json --profile "$folded" --rep once -- /bin/sh -c "$program"
        assert_equal "$(folded_sum "$folded")" "$(field .instructions)" "$program"
        run ! grep -vE '^[^; `]+`[^; `]+(;[^; `]+`[^; `]+)* [0-9]+$' "$folded"
    done
    count --profile "$folded" -- "$MARKS" answers
    # 100 times as much as any other.
    run head -n 1 "$folded"
    [[ $output =~ marks\`main\;.*marks\`work\ [0-9]+$ ]] || fail "$output"
}

@test "a profile has the callers: recursion, jumps, handlers, callbacks, threads" {
    local folded=$BATS_TEST_TMPDIR/folded

    ${CC:-gcc} -O1 -foptimize-sibling-calls "$BATS_TEST_DIRNAME/counter_calls.c" \
        -o "$BATS_TEST_TMPDIR/calls" -lpthread
    count --json --profile "$folded" -- "$BATS_TEST_TMPDIR/calls"
    assert_equal "$(folded_sum "$folded")" "$(field .instructions)"
    run sed -nE 's/calls`//g; s/^.*;main;(.*work) [0-9]+$/\1/p; s/^.*;(thread;.*work) [0-9]+$/\1/p' \
        "$folded"
    assert_equal "$(sort <<< "$output")" "$(sort <<- 'EOF'
	work
	one;work
	two;work
	two;one;work
	recursive;recursive;recursive;recursive;recursive;recursive;work
	calls_tail;work
	jumped_over;work
	raises;handler;work
	raises_on_other_stack;handler;work
	raises_on_other_stack;one;work
	thread;two;work
	thread;two;one;work
	EOF
    )"
    grep -q 'main;calls`sorts;libc[^;]*;.*calls`compare ' "$folded"
    # `work` does the same amount of work in each call.
    assert_equal "$(grep -c 'calls`work ' "$folded")" 12
    assert_equal "$(sed -n 's/.*calls`work //p' "$folded" | sort -u | wc -l)" 1
}

@test "a profile as JSON lines: objects, functions with and without their callees, stacks" {
    local profile=$BATS_TEST_TMPDIR/profile line

    ${CC:-gcc} -O1 -g "$BATS_TEST_DIRNAME/counter_calls.c" -o "$BATS_TEST_TMPDIR/calls" -lpthread
    count --json --profile-json "$profile" -- "$BATS_TEST_TMPDIR/calls"
    for kind in object function stack; do
        assert_equal "$(jq -s "map(select(.kind == \"$kind\").self) | add" "$profile")" \
            "$(field .instructions)" "$kind"
    done
    assert_equal "$(jq 'select(.kind == "summary").instructions' "$profile")" \
        "$(field .instructions)"
    # Recursion is in the total once; `two` has its own, twice that of `work`, and a little.
    assert_equal "$(jq -sc 'map(select(.object == "calls")) | INDEX(.function) |
        .work.self as $work | ($work / 12) as $once |
        .work.self == .work.total and .recursive.total - .recursive.self == $once and
        .two.total > 4 * $once and .two.total < 4.1 * $once' "$profile")" true
    # With debug information each function says where it begins: at its name or its brace.
    line=$(grep -nw 'void work' "$BATS_TEST_DIRNAME/counter_calls.c" | cut -d: -f1)
    assert_equal "$(jq --argjson line "$line" 'select(.function == "work") |
        (.file | endswith("counter_calls.c")) and (.line == $line or .line == $line + 1)' \
        "$profile")" true
}

@test "code of closed libraries keeps its names" {
    local folded=$BATS_TEST_TMPDIR/folded

    ${CC:-gcc} -shared -fPIC "$BATS_TEST_DIRNAME/counter_object.c" -o "$BATS_TEST_TMPDIR/object.so"
    count --profile "$folded" --env COUNTER_OBJECT="$BATS_TEST_TMPDIR/object.so" -- \
        "$REGIONS" dlopen
    grep -q 'object.so`' "$folded"
}

@test "--help lists the options" {
    run "$BUILD/gaspipe" count --help
    assert_status 0
    assert_output_has "--max-instructions"
}

# kinds_add_up OPTION... -- PROGRAM ARG...: prints the sums that do not add up, of the run,
# its processes together and its regions.
kinds_add_up() {
    count --kinds --json "$@" > /dev/null
    jq -c 'select(.kind == "run") | ., .regions[] |
        select((.kinds | add) != .instructions or (.memory | add) != .instructions) |
        {instructions, kinds, memory}' "$BATS_TEST_TMPDIR/out"
}

@test "instructions by kind add up to the total, also of regions" {
    local region

    for region in floating-point x87 rep-move rep-compare signals jumps-from-handler \
        faults-resumed rep-fault faults-abandoned divisions-by-zero illegal-instructions \
        wild-calls self-modifying fork beside-threads in-thread atomics-torn-threads; do
        assert_equal "$(kinds_add_up -- "$REGIONS" "$region")" "" "$region"
        assert_equal "$(field '.regions | length')" 1 "$region"
        assert_equal "$(kinds_add_up --rep once -- "$REGIONS" "$region")" "" "$region, rep=once"
    done
    assert_equal "$(kinds_add_up -- /bin/sh -c '/bin/echo one; kill -9 $$')" ""
    assert_equal "$(field '.instructions > 10000 and .kinds.call > 100 and .memory.load > 1000')" true
}

@test "kinds are counted only on request, and change no other number" {
    local plain

    plain=$(instructions -- "$STATIC")
    assert_equal "$(field 'has("kinds")')" false
    assert_equal "$(instructions --kinds -- "$STATIC")" "$plain"
    count --kinds -- "$STATIC"
    output=$(cat "$BATS_TEST_TMPDIR/out")
    assert_output_has "%  branch"
    assert_output_has "%  do not access memory"
}

@test "a known loop has the kinds of its instructions" {
    ${CC:-gcc} -static -nostdlib -x assembler - -o "$BATS_TEST_TMPDIR/loop" <<- 'EOF'
	.globl _start
	_start: mov $1000, %ecx
	again:  push %rcx
	        addl $1, -64(%rsp)
	        pop %rcx
	        imul %rcx, %rax
	        cvtsi2sd %rcx, %xmm0
	        paddd %xmm0, %xmm1
	        call function
	        dec %ecx
	        jnz again
	        mov $231, %eax
	        xor %edi, %edi
	        syscall
	function: ret
	EOF
    count --kinds --json -- "$BATS_TEST_TMPDIR/loop"
    assert_equal "$(field '[.kinds | to_entries[] | select(.value > 0)] | from_entries')" \
        '{"move":2002,"arithmetic":2000,"logic":1,"multiply":1000,"branch":1000,"call":1000,"return":1000,"float":1000,"vector":1000,"system":1}'
    assert_equal "$(field .memory)" '{"none":5004,"load":2000,"store":2000,"loadAndStore":1000}'
}
