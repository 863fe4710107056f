#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe-cc and gaspipe-c++: what a metered program counts is one number, however it was
# built, on which machine it runs and how it ends; and it stops where its budget is spent.

load common

ARM='qemu-aarch64 -L /usr/aarch64-linux-gnu'

setup_file() {
    [ -x "$ROOT/build/gaspipe-meter" ] || return 0
    export CC="$ROOT/build/gaspipe-cc" CXX="$ROOT/build/gaspipe-c++"
    export SOURCES="$BATS_TEST_DIRNAME/meter" OUT="$BATS_FILE_TMPDIR"
    local name

    for name in conventions loops compare leaving escapes library; do
        "$CC" -O2 "$SOURCES/$name.c" -o "$OUT/$name" -lm
        "$CC" -O0 "$SOURCES/$name.c" -o "$OUT/$name-O0" -lm
        "$CC" -O1 --meter=--naive "$SOURCES/$name.c" -o "$OUT/$name-naive" -lm
        ! has_arm || "$CC" -O2 --target=aarch64-linux-gnu "$SOURCES/$name.c" -o "$OUT/$name-arm" -lm
    done
    gcc -O1 -fno-builtin "$SOURCES/compare.c" -o "$OUT/compare-libc"
    for name in exceptions folding coroutines; do
        "$CXX" -std=c++20 -O2 "$SOURCES/$name.cc" -o "$OUT/$name"
        "$CXX" -std=c++20 -O0 "$SOURCES/$name.cc" -o "$OUT/$name-O0"
        "$CXX" -std=c++20 -O1 --meter=--naive "$SOURCES/$name.cc" -o "$OUT/$name-naive"
        ! has_arm || "$CXX" -std=c++20 -O2 --target=aarch64-linux-gnu "$SOURCES/$name.cc" \
            -o "$OUT/$name-arm"
    done
}

setup() {
    [ -x "$ROOT/build/gaspipe-meter" ] || skip 'LLVM is not there; scripts/setup --meter installs it'
    cd "$BATS_TEST_TMPDIR"
}

# Is there a second machine to run on?
has_arm() {
    [ -e /usr/aarch64-linux-gnu/include/c++ ] && command -v qemu-aarch64 > /dev/null
}

# metered COMMAND...: its exit status goes to $ended, its last line of GASMETER_OUT to `line`.
metered() {
    rm -f line
    ended=0
    GASMETER_OUT=line timeout 120 "$@" > said 2>&1 || ended=$?
}

cost() {
    metered "$@"
    jq .cost line
}

# one_number NAME [ARGUMENT...]: all builds of the program come to the same.
one_number() {
    local name=$1 number level

    shift
    number=$(cost "$OUT/$name" "$@")
    [ "$number" -gt 1000 ] || fail "$name counted '$number'" "$(cat said)"
    for level in O0 naive; do
        [ ! -e "$OUT/$name-$level" ] ||
            assert_equal "$(cost "$OUT/$name-$level" "$@")" "$number" "$name $* $level"
    done
    if has_arm; then
        # shellcheck disable=SC2086 # several words
        assert_equal "$(cost $ARM "$OUT/$name-arm" "$@")" "$number" "$name $* on aarch64"
    fi
}

@test "one number: arguments of all kinds, by value and variable" {
    one_number conventions
    run "$OUT/conventions"
    assert_status 0
}

@test "one number: loops, calls, computed goto, copies, callbacks out of libc" {
    one_number loops sum 50
    one_number loops collatz 1000
    one_number loops goto 2000
    one_number loops calls 18
    one_number loops copies 2000
    one_number loops sort 2
    one_number loops small 5000
    one_number loops switch 5000
}

@test "texts are compared once, as libc does, at the end of a page too" {
    one_number compare
    assert_equal "$(cat said)" "$("$OUT/compare-libc")"
    # Comparing a million bytes one by one, or twice, takes four instructions for each.
    run "$ROOT/build/gaspipe" count --json -- "$OUT/compare" 1000000
    assert_status 0
    [ "$(tail -n 1 <<< "$output" | jq .least)" -lt 2000000 ] || fail "$output"
}

@test "one number: longjmp, signals raised, threads, C++ exceptions" {
    one_number leaving jumps
    one_number leaving raised
    one_number leaving threads
    one_number exceptions
}

@test "one number: what compilers answer by what they have inlined, and the checks of _FORTIFY_SOURCE" {
    one_number folding 100
    assert_equal "$(jq -c '.unsure + (.uncounted | map(select(endswith("_chk") and (test("^__v?printf_chk$") | not))))' line)" '[]'
}

@test "one number: coroutines; a budget stops them" {
    local budget

    one_number coroutines 300
    assert_equal "$(jq -c .unsure line)" '[]'
    for budget in 1000 100000; do
        stops_alike $budget coroutines 300
    done
}

@test "one number: -O0 to -O3, -Os, PIE, static, counting only" {
    local number options

    number=$(cost "$OUT/loops" collatz 1000)
    for options in -O1 -O3 -Os '-O2 -static' '-fPIE -pie' -no-pie '-O2 --meter=--no-budgets' \
        '-g -O2 -ffunction-sections'; do
        # shellcheck disable=SC2086 # several words
        "$CC" $options "$SOURCES/loops.c" -o other
        assert_equal "$(cost ./other collatz 1000)" "$number" "$options"
    done
}

@test "one number: whatever the environment, and under QEMU" {
    local number i

    number=$(cost "$OUT/loops" collatz 1000)
    for i in 1 2 3 4 5; do
        assert_equal "$(cost env "FILL=$(head -c $((i * 1000)) /dev/zero | tr '\0' x)" \
            "$OUT/loops" collatz 1000)" "$number"
    done
    assert_equal "$(cost qemu-x86_64 "$OUT/loops" collatz 1000)" "$number"
    # QEMU 7.2 calls handlers with another alignment of the stack.
    assert_equal "$(cost qemu-x86_64 "$OUT/leaving" raised)" "$(cost "$OUT/leaving" raised)"
}

@test "a handler that interrupts a flush takes nothing from it" {
    local level cost

    for level in '' -O0; do
        cost=$(cost "$OUT/leaving$level" interrupted)
        # 20,000,000 turns of 8; the handler's own cost comes on top, a little for each signal.
        [ "$cost" -ge 160000000 ] && [ "$cost" -lt 161000000 ] || fail "$level: $cost"
    done
}

@test "the line is written however the program ends" {
    metered "$OUT/leaving" exit
    assert_equal "$ended $(jq -c '[.ended, .status]' line)" '5 ["exit",5]'
    metered "$OUT/leaving" _exit
    assert_equal "$ended $(jq -c '[.ended, .status]' line)" '6 ["exit",6]'
    metered "$OUT/leaving" abort
    assert_equal "$ended $(jq -c '[.ended, .signal]' line)" '134 ["signal",6]'
    metered "$OUT/leaving" crash
    assert_equal "$ended $(jq -c '[.ended, .signal]' line)" '139 ["signal",11]'
    metered "$OUT/leaving" kill
    assert_equal "$ended $(jq -c '[.ended, .signal]' line)" '143 ["signal",15]'
    metered "$OUT/leaving" forked
    assert_equal "$(jq -s -c 'map(.status)' line)" '[7,0]' 'a line for each process'
    [ "$(jq -s '.[0].cost > .[1].cost' line)" = true ] || fail "$(cat line)"
}

@test "a line is written before another program takes the place of this one, and blanked if it cannot" {
    local how

    for how in execv execvp execvpe execve execveat fexecve execl execlp execle; do
        metered "$OUT/leaving" replaced $how
        assert_equal "$ended $(jq -s -c '[map([.ended, .status]), (map(.pid) | unique | length)]' line)" \
            '5 [[["exec",0],["exit",5]],1]' "$how"
    done
    metered "$OUT/leaving" replaced failed
    assert_equal "$ended $(jq -s -c 'map([.ended, .status])' line)" '0 [["exit",0]]'
    assert_equal "$(jq -c '.uncounted | contains(["execv"])' line)" true
    metered "$OUT/leaving" replaced vfork
    assert_equal "$ended $(jq -s -c 'map([.ended, .status])' line)" '0 [["exec",0],["exit",5],["exit",0]]'
    # Nothing can be taken back from a pipe, so nothing is written to it before.
    assert_equal "$(GASMETER_OUT=/dev/stderr "$OUT/leaving" replaced failed 2>&1 > /dev/null |
        jq -s -c 'map(.ended)')" '["exit"]'
}

@test "the line says what was not counted, and by which table" {
    metered "$OUT/loops" sort 1
    assert_equal "$(jq -c .uncounted line)" '[]'
    metered "$OUT/leaving" exit
    assert_equal "$(jq -c '.uncounted | contains(["raise", "fork"])' line)" true
    [[ $(jq -r .costTable line) =~ ^1/[0-9a-f]{16}$ ]] || fail "$(jq .costTable line)"
    printf 'long double twice(long double x) { return x + x; }
int id(void) { int a; __asm__("cpuid" : "=a"(a) : "a"(0) : "ebx", "ecx", "edx"); return a; }
int main(void) { return twice(0) != 0 || id() == 0; }\n' > unsure.c
    "$CC" unsure.c -o unsure
    metered ./unsure
    assert_equal "$(jq -c '.unsure' line)" '["long double in twice","inline assembly in id","long double in main"]'
}

@test "--require-exact fails where the count is unsure, and names the lines and the macros" {
    printf '#ifdef HAVE_ASM\n#define COPY(to, from) __asm__("mov %%1, %%0" : "=r"(to) : "r"(from))
#else\n#define COPY(to, from) to = from\n#endif\n' > copy.h
    printf '#include "copy.h"\n#ifndef NO_TRAP_ASM\nvoid stop(void) { __asm__("nop"); }\n#endif
int copy(int from) {\n    int to;\n    COPY(to, from);\n    return to;\n}
int main(void) { __asm__ volatile("" ::: "memory"); return copy(0); }\n' > assembly.c
    run --separate-stderr "$CC" --require-exact -O2 -DHAVE_ASM -MMD -c assembly.c -o assembly.o
    assert_equal "$status $stderr" "3 gaspipe-meter: assembly.c:3: inline assembly in stop makes the count unsure; leave HAVE_ASM undefined or define NO_TRAP_ASM
gaspipe-meter: assembly.c:7: inline assembly in copy makes the count unsure; leave HAVE_ASM undefined or define NO_TRAP_ASM"
    [ ! -e assembly.o ] || fail 'there is an object'
    "$CC" --require-exact -DNO_TRAP_ASM assembly.c -o assembly
    metered ./assembly
    assert_equal "$ended $(jq -c .unsure line)" '0 []'
    printf '#include <math.h>\nint main(int count, char **words) { double x = count / 9.0, y = asin(x) + acos(x) + atan(x);
(void)words; return y + sinh(x) + cosh(x) + tanh(x) + sin(x) + cos(x) + tan(x) + exp(x) + log(x) + pow(x, y) < 0; }\n' > mathematics.c
    "$CC" --require-exact -O2 -fno-math-errno mathematics.c -o mathematics -lm
    printf 'long double twice(long double x) { return x + x; }\n' > long.c
    run --separate-stderr "$CC" --require-exact -c long.c
    assert_bad_input 3 'long.c:1: long double in twice makes the count unsure'
}

# stops_alike BUDGET COMMAND [ARGUMENT...]: at one place past the budget in all builds.
stops_alike() {
    local number name=$2

    export GASMETER_BUDGET=$1
    shift 2
    number=$(cost "$OUT/$name" "$@")
    [ "$number" -gt "$GASMETER_BUDGET" ] || fail "$GASMETER_BUDGET: stopped at $number"
    metered "$OUT/$name-O0" "$@"
    assert_equal "$ended $(jq -c '[.cost, .ended]' line)" "30 [$number,\"budget\"]"
    if has_arm; then
        # shellcheck disable=SC2086 # several words
        assert_equal "$(cost $ARM "$OUT/$name-arm" "$@")" "$number"
    fi
}

@test "a budget stops every build at the same place" {
    local budget number

    for budget in 0 1 50000 50001 100000; do
        stops_alike $budget loops collatz 1000
        stops_alike $budget loops small 10000
        stops_alike $budget loops switch 20000
        stops_alike $budget loops goto 20000
    done
    number=$(jq .cost line)
    [ "$number" -lt $((budget + 100)) ] || fail "a computed goto went on to $number"
    metered "$OUT/loops-naive" collatz 1000
    assert_equal "$ended" 30
}

@test "a budget stops what never ends: loops without calls, empty loops, recursion" {
    local what number

    export GASMETER_BUDGET=1000000
    for what in forever quiet deep smallforever; do
        number=$(cost "$OUT/loops" $what 1)
        [ "$number" -gt 1000000 ] && [ "$number" -lt 1500000 ] || fail "$what: $number"
        assert_equal "$(cost "$OUT/loops-O0" $what 1)" "$number" "$what"
    done
}

@test "code that is returned to again is charged again" {
    local way few

    for way in jump signals context swap; do
        one_number escapes $way 2000
        few=$(cost "$OUT/escapes" $way 1000)
        [ $(($(cost "$OUT/escapes" $way 2000) - few)) -ge 1000 ] || fail "$way: $few units at first"
    done
    # The function that jumps costs 2 of these units each time; clang has it for x86-64 only.
    [ "$(uname -m)" = x86_64 ] || return 0
    few=$(cost "$OUT/escapes" builtin 1000)
    [ $(($(cost "$OUT/escapes" builtin 2000) - few)) -ge 6000 ] || fail "builtin: $few units at first"
}

@test "no way past a budget: at most 100,000 units or 1 % more are counted" {
    local way budget number lines

    for budget in 1000 2500000 20000000; do
        for way in jump signals builtin context swap handlers faults copy constant measure search; do
            number=$(GASMETER_BUDGET=$budget cost "$OUT/escapes" $way 100000000)
            assert_equal "$(jq -r .ended line)" budget "$way $budget"
            [ "$number" -le $((budget + (budget > 10000000 ? budget / 100 : 100000))) ] ||
                fail "$way, budget $budget: $number"
        done
    done
    for way in copy constant search strcat strncat stpcpy strchr strpbrk strcspn strcasecmp strncasecmp strdup strndup; do
        stops_alike 5000000 escapes $way 100000000
    done
    export GASMETER_BUDGET=2500000
    metered "$OUT/escapes" vfork 100000000
    lines=$(jq -s -c 'map([.ended, .cost < 2600000])' line)
    assert_equal "$ended $lines" '30 [["budget",true],["budget",true]]'
    ESCAPES_CONSTRUCTOR=100000000 metered "$OUT/escapes" none 1
    assert_equal "$ended $(jq .ended line)" '30 "budget"'
}

@test "functions of libc that do much in one call are charged alike everywhere, and stop at a budget" {
    local name few many build

    for name in $("$OUT/library"); do
        few=$(cost "$OUT/library" "$name" 1)
        many=$(cost "$OUT/library" "$name" 3)
        [ $((many - few)) -ge 500000 ] || [[ $name =~ ^(send|getentropy)$ && $((many - few)) -ge 80 ]] ||
            fail "$name: $few units at first, $many in all"
        for build in "$OUT/library-O0" "$OUT/library-naive"; do
            assert_equal "$(cost "$build" "$name" 3)" "$many" "$build $name"
        done
        # shellcheck disable=SC2086 # several words
        ! has_arm || assert_equal "$(cost $ARM "$OUT/library-arm" "$name" 3)" "$many" "$name on aarch64"
        GASMETER_BUDGET=4500000 metered "$OUT/library" "$name" 100000000
        assert_equal "$ended $(jq -c '[.cost <= 4600000, .ended]' line)" '30 [true,"budget"]' "$name"
    done
}

@test "functions of libc are charged whatever calls them: invoke, musttail, -fno-builtin, pointers of two modules" {
    local options

    printf '#include <cstddef>
extern "C" size_t strlen(const char *);
extern "C" size_t fread(void *, size_t, size_t, void *);
extern "C" void *fopen(const char *, const char *);
struct guard { ~guard() { count++; } static int count; };
int guard::count;
static char text[1 << 20];
int main() { guard one; void *zeros = fopen("/dev/zero", "r");
    try { if (strlen(text) == 0 && fread(text, 1, sizeof text - 1, zeros) < 1) return 1; } catch (int) { return 2; }
    return 0; }\n' > invokes.cc
    for options in -O0 -O2 '-O2 -fno-builtin' '-O1 --meter=--naive' '-O2 --meter=--profile'; do
        # shellcheck disable=SC2086 # several words
        "$CXX" $options invokes.cc -o invokes
        [ "$(cost ./invokes)" -gt 131000 ] || fail "$options: $(cat line)"
        cost ./invokes
    done | sort -u > costs
    assert_equal "$(wc -l < costs)" 1 'one number'
    printf '#include <string.h>\nvoid *other(void);
typedef size_t length(const char *);
static length *const table[] = {strlen};
static char text[1 << 20];
size_t last(const char *a) { __attribute__((musttail)) return strlen(a); }
int main(void) { memset(text, 1, sizeof text - 1); if (table[0] != other()) return 1;
    return table[text[0] - 1](text) == sizeof text - 1 && last("x") == 1 ? 0 : 2; }\n' > main.c
    printf '#include <string.h>\nvoid *other(void) { return (void *)strlen; }\n' > other.c
    "$CC" -O2 main.c other.c -o main
    metered ./main
    assert_equal "$ended $(jq -c '[.cost > 260000, .uncounted]' line)" '0 [true,["strlen"]]'
}

@test "--require-exact refuses functions of libc whose work nothing bounds; the line lists them" {
    printf '#include <regex.h>\n#include <fnmatch.h>
int (*const table[])(const char *, const char *, int) = {fnmatch};
int main(int count, char **words) {
    regex_t compiled;
    return count > 2 && regcomp(&compiled, words[1], 0);\n}\n' > main.c
    run --separate-stderr "$CC" --require-exact -O2 -c main.c
    assert_equal "$status" 3
    assert_equal "$stderr" "gaspipe-meter: main.c:6: regcomp is not counted, and its arguments do not bound its work; link with --musl, which counts it, or do it in code of the program
gaspipe-meter: main.c: fnmatch is not counted, and its arguments do not bound its work; link with --musl, which counts it, or do it in code of the program"
    "$CC" -O2 main.c -o main
    metered ./main
    assert_equal "$ended $(jq -c .uncounted line)" '0 ["fnmatch","regcomp"]'
    printf '#include <stdio.h>\nint main(void) { return puts("text") < 0; }\n' > main.c
    "$CC" --require-exact main.c -o main
}

@test "a function of the program's own by a name of libc is not charged as libc's" {
    printf 'char *index(long a, long b);\nlong swab(long a);\nchar *strndup(char *a, int b);\nint main(void)
{ char a; return index(1, 2) == 0 && swab(3) == 3 && strndup(&a, 4) == &a ? 0 : 1; }\n' > main.c
    printf 'char *index(long a, long b) { return a > b ? (char *)a : 0; }\nlong swab(long a) { return a; }
char *strndup(char *a, int b) { return b > 0 ? a : 0; }\n' > own.c
    "$CC" -w -O1 main.c own.c -o main
    "$CC" -w -O0 main.c own.c -o main-O0
    assert_equal "$(cost ./main)" "$(cost ./main-O0)"
    ./main
}

@test "a library that is unloaded leaves its units and its notes; one that spins as it loads is stopped" {
    printf '#include <stdlib.h>
static volatile long n;
__attribute__((constructor)) static void spin(void) { while (getenv("SPIN")) n++; }
long add(void) { for (int i = 0; i < 1000; i++) n++; return n; }\n' > part.c
    printf '#include <dlfcn.h>
int main(void) {
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        void *part = dlopen("./libpart.so", RTLD_NOW);
        if (!part) return 1;
        long (*add)(void) = (long (*)(void))dlsym(part, "add");
        sum += add();
        if (dlclose(part)) return 2;
    }
    return sum != 100000;
}\n' > opens.c
    printf 'long add(void);\nint main(void) { return add() != 1000; }\n' > linked.c
    "$CC" -O2 -shared -fPIC part.c -o libpart.so
    "$CC" -O2 opens.c -o opens
    "$CC" -O2 linked.c -L. -lpart -Wl,-rpath,"$PWD" -o linked
    metered ./opens
    assert_equal "$ended" 0
    [ "$(jq .cost line)" -gt 300000 ] || fail "$(cat line)"
    assert_equal "$(jq -c '.uncounted | sort' line)" '["dlclose","dlopen","dlsym","getenv"]'
    SPIN=1 GASMETER_BUDGET=1000000 metered ./linked
    assert_equal "$ended $(jq .ended line)" '30 "budget"'
}

@test "functions of libraries without a meter are listed when the program looks them up" {
    local options

    printf 'int add(int a) { return a + 1; }\nint numbers[3];\n' > part.c
    printf '#include <dlfcn.h>
static int call(void *library, const char *name) {
    int (*function)(int) = (int (*)(int))dlsym(library, name);
    return function ? function(1) : 0;
}
int main(void) {
    void *plain = dlopen("./libplain.so", RTLD_NOW), *metered = dlopen("./libmetered.so", RTLD_NOW);
    if (!plain || !metered || !dlsym(plain, "numbers")) return 1;
    call(plain, "absent");
    return call(metered, "add") + call(plain, "add") != 4;
}\n' > looks.c
    gcc -shared -fPIC part.c -o libplain.so
    "$CC" -shared -fPIC part.c -o libmetered.so
    for options in -O0 -O2 '-O1 --meter=--naive' '-O2 --meter=--profile'; do
        # shellcheck disable=SC2086 # several words
        "$CC" $options looks.c -o looks
        metered ./looks
        # The metered add() is not listed, the other one is.
        assert_equal "$ended $(jq -c '.uncounted | sort' line)" '0 ["add","dlopen","dlsym"]' "$options"
    done
    sed -i 's/call(plain, "add")/2/' looks.c
    "$CC" looks.c -o looks
    metered ./looks
    assert_equal "$ended $(jq -c '.uncounted | sort' line)" '0 ["dlopen","dlsym"]'
}

@test "what cannot be metered is refused in one line; static-pie programs run" {
    local flag

    printf 'int main(void) { return 0; }\n' > main.c
    for flag in -fsanitize=address -fsanitize=undefined,thread -fprofile-instr-generate --coverage \
        -fmemory-profile -fsanitize=cfi; do
        run --separate-stderr "$CC" $flag main.c -o main
        assert_bad_input 2 "$flag cannot be combined with a meter"
    done
    printf 'static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));
int main(void) { return chosen() - 1; }\n' > resolver.c
    run --separate-stderr "$CC" resolver.c -o resolver
    assert_bad_input 3 'resolver.c: chosen is chosen by a resolver'
    "$CC" -static-pie main.c -o main
    metered ./main
    assert_equal "$ended $(jq .ended line)" '0 "exit"'
}

@test "a budget that is not passed changes nothing, to the unit" {
    local number

    number=$(cost "$OUT/loops" calls 15)
    GASMETER_BUDGET=$number metered "$OUT/loops" calls 15
    assert_equal "$ended $(jq .cost line)" "0 $number"
    GASMETER_BUDGET=$((number - 1)) metered "$OUT/loops" calls 15
    assert_equal "$ended $(jq .cost line)" "30 $number"
    GASMETER_BUDGET=x metered "$OUT/loops" calls 15
    assert_equal "$ended" 2
}

@test "turns: budgets, what is left, nested, stopped and continued" {
    "$CC" "$SOURCES/turns.c" -o turns
    metered ./turns
    assert_equal "$(cat said)" "$(printf '%s\n' 'returned, used as much as read' 'spent' \
        'spent again' 'inner stopped by outer' 'called back, continued' 'regions 3')"
    assert_equal "$(jq -c '[.regionCount, (.regions | length)]' line)" '[3,3]'
    assert_equal "$ended" 0
}

@test "marks of gasmark.h are regions" {
    printf '#include <gasmark.h>
#include <stdio.h>
static int square(int n) { return n * n; }
int main(void) { int sum = 0; gasmark_start(); for (int i = 0; i < 100; i++) sum += square(i);
  unsigned long n = gasmark_stop(); printf("%%lu %%d\\n", n, sum); }\n' > marks.c
    "$CC" -O2 marks.c -o marks
    "$CC" -O0 marks.c -o marks-O0
    metered ./marks
    assert_equal "$(cut -d ' ' -f 1 said)" "$(jq '.regions[0]' line)"
    [ "$(jq '.regions[0]' line)" -gt 500 ] || fail "$(cat line)"
    assert_equal "$(cost ./marks-O0)" "$(jq .cost line)"
}

@test "a counted loop stays vectorised, also one that sums up" {
    local function

    "$CC" -O3 -S "$SOURCES/vector.c" -o vector.s
    for function in scale sum; do
        sed -n "/^$function:/,/cfi_endproc/p" vector.s > body
        grep -qE 'paddd|pmull|pmuludq' body || fail "no vectors in:" "$(cat body)"
    done
}

@test "make, configure and CMake's way of calling a compiler work" {
    printf 'int twice(int);\nint main(void) { return twice(3) - 6; }\n' > main.c
    printf 'int twice(int n) { return 2 * n; }\n' > twice.c
    printf 'CC = %s\nCFLAGS = -O2 -MMD -Wall -Werror\nall: prog\nprog: main.o twice.o\n\t$(CC) -o $@ $^\n' "$CC" > Makefile
    make -s
    ./prog
    grep -q 'main.o: main.c' main.d
    "$CC" -Wall main.c twice.c -o both
    assert_equal "$(cost ./both)" "$(cost ./prog)"
    "$CC" -shared -fPIC twice.c -o libtwice.so
    "$CC" main.c -L. -ltwice -Wl,-rpath,"$PWD" -o with
    assert_equal "$(cost ./with)" "$(cost ./prog)" 'from a shared library'
    assert_equal "$(jq -c .uncounted line)" '[]'
    "$CC" -E main.c | grep -q 'int twice'
    echo 'int main(void) { return 3; }' | "$CC" -x c - -o piped
    run ./piped
    assert_status 3
    run "$CC" --version
    assert_output_has clang
    echo 'int main(void) { return nothing; }' > bad.c
    run "$CC" -c bad.c -o bad.o
    assert_status 1
}

@test "no way of naming sources leaves them without a meter; each has one number" {
    local number way

    printf '#ifdef __OPTIMIZE__\n#define TURNS 10\n#else\n#define TURNS 20\n#endif
#if !defined(__CHAR_UNSIGNED__) && defined(__GASPIPE_METER__)
volatile int sum;
#endif
int main(void) { for (int i = 0; i < TURNS; i++) sum += i; return sum - 45; }\n' > main.c
    "$CC" main.c -omain
    number=$(cost ./main)
    printf -- '-O2 "way 1.c"\n-o way1' > 'words of 1'
    cp main.c 'way 1.c'
    "$CC" '@words of 1'
    "$CC" -O0 -E main.c -o way2.i
    "$CC" -c way2.i
    "$CC" way2.o -o way2
    cp main.c way3.CPP
    "$CXX" -- way3.CPP -o way3
    "$CC" -O0 -x c-header main.c -o way4.pch
    echo > nothing.c
    "$CC" -O3 -include-pch way4.pch nothing.c -o way4
    "$CXX" -flto -fwhole-program-vtables -x c++ main.c -o way5
    for way in 1 2 3 4 5; do
        metered "./way$way"
        assert_equal "$ended $(jq .cost line)" "0 $number" "way $way"
    done
    "$CC" --target=aarch64-linux-gnu -E main.c | grep -q '^volatile'

    printf '.globl other\nother: ret\n.section .note.GNU-stack\n' > other.S
    "$CC" -c main.c other.S
    "$CC" -c -x assembler - -o standard.o < other.S
    nm other.o standard.o | grep -c ' T other' | grep -qx 2
    mkdir made
    "$CC" -MD main.c -o made/main
    "$CC" -MD -MFmade/joined -c main.c
    "$CC" -Wp,-MMD,made/preprocessor -c main.c
    assert_equal "$(cat made/main.d made/joined made/preprocessor | tr '\n' ' ')" \
        'made/main: main.c main.o: main.c main.o: main.c '
}

@test "C++20 modules count as their importers do" {
    printf 'export module sums;\nexport int sum(int n) { int s = 0; while (n) s += n--; return s; }\n' > sums.cppm
    printf 'import sums;\nint main() { return sum(9) - 45; }\n' > user.cc
    "$CXX" -std=c++20 --precompile sums.cppm -o sums.pcm
    "$CXX" -std=c++20 -fmodule-file=sums=sums.pcm user.cc sums.pcm -o two-steps
    "$CXX" -std=c++20 -O0 -fmodule-output=other.pcm -c sums.cppm
    "$CXX" -std=c++20 -O0 -fmodule-file=sums=other.pcm user.cc sums.o -o one-step
    assert_equal "$(cost ./two-steps)" "$(cost ./one-step)"
    assert_equal "$(jq -c '[.cost > 50, .uncounted]' line)" '[true,[]]'
}

@test "gaspipe-meter: what it is given wrong is said in one line" {
    local meter=$ROOT/build/gaspipe-meter

    run "$meter"
    assert_status 2
    run --separate-stderr "$meter" -o x.bc missing.bc
    assert_bad_input 3 missing.bc
    echo nonsense > bad.ll
    run --separate-stderr "$meter" -o x.bc bad.ll
    assert_bad_input 3 bad.ll
    printf 'target triple = "riscv64-unknown-linux-gnu"\n' > other.ll
    run --separate-stderr "$meter" -o x.bc other.ll
    assert_bad_input 3 riscv64
    printf 'target triple = "x86_64-unknown-linux-gnu"\n' > empty.ll
    run --separate-stderr "$meter" -o /nowhere/x.bc empty.ll
    assert_bad_input 4 /nowhere/x.bc
    run --separate-stderr "$meter" -o x.o empty.ll empty.ll
    assert_bad_input 2 'x.o/'
    run --separate-stderr "$meter" -o ./ empty.ll bad.ll
    assert_bad_input 3 bad.ll
    printf 'version 1\nbytes-per-unit 8\ninstruction add x\n' > bad.table
    run --separate-stderr "$meter" --costs bad.table -o x.bc empty.ll
    assert_bad_input 3 bad.table:3
}

@test "gaspipe-meter: modules that are metered together come out as each by itself" {
    local name names=(loops calls leaving)

    mkdir alone together
    for name in "${names[@]}"; do
        clang-19 -O2 -Xclang -disable-llvm-passes -emit-llvm -fno-discard-value-names \
            -isystem "$ROOT/build/meter/include" -c "$SOURCES/$name.c" -o "$name.bc"
        "$ROOT/build/gaspipe-meter" -o "alone/$name.o" "$name.bc"
    done
    "$ROOT/build/gaspipe-meter" -o together/ "${names[@]/%/.bc}"
    diff -r alone together
}

@test "another cost table gives other counts, and its name" {
    "$ROOT/build/gaspipe-meter" --print-costs | sed 's/^version 1/version 7/; s/default 1/default 2/' > double.table
    "$CC" --meter=--costs --meter=double.table "$SOURCES/loops.c" -o other
    metered ./other calls 15
    [[ $(jq -r .costTable line) == 7/* ]] || fail "$(jq .costTable line)"
    [ "$(jq .cost line)" -gt "$(cost "$OUT/loops" calls 15)" ] || fail "$(cat line)"
}
