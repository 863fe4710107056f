#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe count --counter compiled: programs of gaspipe-cc, their totals, regions and profiles.

load common

setup() {
    [ -x "$ROOT/build/gaspipe-meter" ] || skip 'LLVM is not there; scripts/setup --meter installs it'
    CC="$ROOT/build/gaspipe-cc"
    cd "$BATS_TEST_TMPDIR"
    cp "$BATS_TEST_DIRNAME/meter/calls.c" .
}

count() {
    "$BUILD/gaspipe" count --counter compiled "$@"
}

# Parts of a profile in p.json by kind: whether they add up to the summary.
adds_up() {
    jq -s --arg kind "$1" '(map(select(.kind == $kind) | .self) | add) == (map(select(.kind == "summary"))[0].blockCost)' p.json
}

@test "totals, what is not counted, and the same in all runs" {
    "$CC" -O2 calls.c -o calls
    run count --repeat 3 ./calls
    assert_status 0
    assert_output_has 'units of block cost'
    assert_output_has 'the same in all 3 runs'
    assert_output_has 'not counted: getenv, getpid'
    count --json --repeat 2 --output json ./calls
    assert_equal "$(jq -c 'select(.kind == "run") | [.status, .blockCost == .processes[0].blockCost]' json)" '[0,true]
[0,true]'
    assert_equal "$(jq -c 'select(.kind == "summary") | [.runs, .agree, .least == .most]' json)" '[2,true,true]'
}

@test "a program that could not be replaced by another is counted to its end" {
    "$CC" -O2 "$BATS_TEST_DIRNAME/meter/leaving.c" -o leaving -lm
    run --separate-stderr count -- ./leaving replaced failed
    assert_status 0
}

@test "runs that differ are reported" {
    printf '#include <unistd.h>\nint main(void) { volatile int n = 0; for (int i = getpid(); i > 0; i--) n++; return 0; }\n' > differ.c
    "$CC" differ.c -o differ
    run count --repeat 3 ./differ
    assert_status 1
    assert_output_has 'NOT the same in all 3 runs'
}

@test "regions, processes, a gas model, a limit" {
    printf '#include <gasmark.h>\n#include <sys/wait.h>\n#include <unistd.h>
int main(void) { gasmark_start(); for (volatile int i = 0; i < 1000; i++); (void)gasmark_stop();
  if (fork() == 0) return 0; wait(NULL); return 0; }\n' > two.c
    "$CC" two.c -o two
    run count ./two
    assert_status 0
    assert_output_has 'region 1'
    assert_output_has '2  processes'
    echo '{"blockCost":2.5}' > gas.json
    count --gas gas.json --json --output json ./two
    assert_equal "$(jq 'select(.kind == "run") | .gas == (.blockCost * 2.5 | ceil)' json)" true
    run count --max-cost 1000 --json ./two
    assert_status 1
    assert_equal "$(grep '^{' <<< "$output" | jq -s -c '.[0] | [.status, .overLimit, .blockCost > 1000]')" '[30,true,true]'
}

@test "a profile adds up to the count of the ordinary build, by function, stack and line" {
    "$CC" -O2 calls.c -o ordinary
    "$CC" -O2 --meter=--profile calls.c -o calls
    count --json --output ordinary.json ./ordinary
    count --profile p.folded --profile-json p.json --profile-callgrind p.callgrind ./calls
    assert_equal "$(jq 'select(.kind == "summary") | .blockCost' p.json)" \
        "$(jq 'select(.kind == "run") | .blockCost' ordinary.json)"
    local kind
    for kind in object function stack line; do
        assert_equal "$(adds_up $kind)" true "$kind"
    done
    # fib(20) is called 21,891 times; its line 6 compares each time.
    assert_equal "$(jq -c 'select(.kind == "line" and .line == 6) | [.file, .function, .self]' p.json)" \
        '["calls.c","fib",43782]'
    assert_equal "$(awk '{ sum += $NF } END { print sum }' p.folded)" "$(jq 'select(.kind == "summary") | .blockCost' p.json)"
    grep -q '^calls`main;calls`compare ' p.folded
    grep -q "^summary: $(jq 'select(.kind == "summary") | .blockCost' p.json)\$" p.callgrind
    grep -A1 'cfn=compare' p.callgrind | grep -q '^calls=556 '
}

@test "a profile through longjmp, exceptions, threads and signals" {
    local what

    "$CC" -O2 --meter=--profile "$BATS_TEST_DIRNAME/meter/leaving.c" -o leaving
    "${CC%cc}c++" -std=c++20 -O2 --meter=--profile "$BATS_TEST_DIRNAME/meter/exceptions.cc" -o exceptions
    for what in './leaving jumps' './leaving raised' './leaving threads' ./exceptions; do
        # shellcheck disable=SC2086 # several words
        count --profile-json p.json --output /dev/null $what > /dev/null
        assert_equal "$(adds_up stack)" true "$what"
        assert_equal "$(adds_up line)" true "$what"
    done
}

@test "a profile of each region" {
    printf '#include <gasmeter.h>
__attribute__((noinline)) static int square(int n) { return n * n; }
static int work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += square(i); return sum; }
int main(void) { int sum = work(9); gasmeter_start(); sum += work(20); gasmeter_pause(); sum += work(50);
  gasmeter_resume(); sum += work(10); gasmeter_stop(); gasmeter_start(); sum += work(1); gasmeter_stop();
  return sum < 0; }\n' > regions.c
    "$CC" -O1 --meter=--profile regions.c -o regions
    GASMETER_OUT=out GASMETER_REGIONS=7 ./regions 7> profile
    assert_equal "$(awk '/^region/ { print $4 }' profile | jq -s -c .)" "$(jq -c .regions out)"
    # Each adds up, of what was done in it alone.
    assert_equal "$(awk '/^region/ { cost = $4 } /^stack/ { cost -= $6 } /^end/ { print cost }' profile | tr '\n' ' ')" '0 0 '
    assert_equal "$(awk '/^region/ { cost = $4 } /^line/ { cost -= $4 } /^end/ { print cost }' profile | tr '\n' ' ')" '0 0 '
    assert_equal "$(awk '/^function/ { name[$2] = $4 } /^stack/ && name[$4] == "square" { print $5 }' profile |
        tr '\n' ' ')" '30 1 '
}

@test "code without a profile in a program with one" {
    printf 'int helper(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }\n' > helper.c
    printf 'int helper(int);\nint main(void) { return helper(1000) != 499500; }\n' > main.c
    "$CC" -c helper.c
    "$CC" --meter=--profile main.c helper.o -o mixed
    count --profile-json p.json --output /dev/null ./mixed
    assert_equal "$(adds_up function)" true
    [ "$(jq 'select(.kind == "function" and .function == "[unprofiled]") | .self > 2000' p.json)" = true ]
}

@test "what cannot be counted is said in one line" {
    "$CC" calls.c -o calls
    run --separate-stderr count /bin/true
    assert_bad_input 3 gaspipe-cc
    run --separate-stderr count --profile p ./calls
    assert_status 3
    [[ $stderr == *--meter=--profile* ]]
    run --separate-stderr count --kinds ./calls
    assert_bad_input 2 --kinds
    run --separate-stderr count --max-instructions 5 ./calls
    assert_bad_input 2 --max-instructions
    run --separate-stderr "$BUILD/gaspipe" count --max-cost 5 ./calls
    assert_bad_input 2 --max-cost
    run --separate-stderr "$BUILD/gaspipe" count --counter qemu,compiled ./calls
    assert_bad_input 2 --counter
    run --separate-stderr count ./none
    assert_bad_input 3 none
}
