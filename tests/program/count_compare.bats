#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe count: commands compared, baselines, programs by name, functions without symbols.

load common

setup_file() {
    cat > "$BATS_FILE_TMPDIR/work.c" << 'END'
#include <stdlib.h>

__attribute__((noinline)) static long add(long n)
{
    volatile long sum = 0;
    for (long i = 0; i < n; i++)
        sum += i;
    return sum;
}

int main(int argc, char **argv)
{
    return argc > 1 ? add(atol(argv[1])) < 0 : 0;
}
END
    (cd "$BATS_FILE_TMPDIR" && ${CC:-gcc} -g -O1 work.c -o work && strip -o stripped work &&
        objcopy --wildcard --strip-all --keep-section='.debug_*' work lines)
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

@test "two commands compared: instructions, ratio, times; Markdown and CSV" {
    local out=$BATS_TEST_TMPDIR
    run --separate-stderr "$BUILD/gaspipe" count --repeat 2 --time 3 --versus './work "2000"' \
        --export-markdown "$out/md" --export-csv "$out/csv" -- ./work 1000
    assert_status 0
    output=$stderr
    assert_output_has 'fewest instructions: ./work 1000'
    assert_output_has 'x the instructions'
    assert_output_has 'x the wall time'
    [ "$(grep -c '^| `./work' "$out/md")" -eq 2 ]
    [ "$(wc -l < "$out/csv")" -eq 3 ]
    # The same numbers as alone, and as JSON.
    run --separate-stderr "$BUILD/gaspipe" count --json --versus './work 2000' --time 0 -- ./work 1000
    assert_equal "$(jq -s -c 'map([.command, .agree, .failed, .wall]) | .[1]' <<< "$stderr")" \
        '["./work 2000",true,false,null]'
    assert_equal "$(jq -s '.[1].instructions' <<< "$stderr")" \
        "$("$BUILD/gaspipe" count --json -- ./work 2000 2>&1 | jq 'select(.kind == "run") | .instructions')"
    [ "$(jq -s '.[1].ratio > 1' <<< "$stderr")" = true ]
    assert_equal "$(tail -n 1 "$out/csv" | cut -d , -f 2)" "$(jq -s '.[1].instructions' <<< "$stderr")"
}

@test "a command that fails, and options that do not go together" {
    run --separate-stderr "$BUILD/gaspipe" count --time 1 --versus /bin/false -- /bin/true
    assert_status 1
    [[ $stderr == *'/bin/false: failed'* ]]
    run --separate-stderr "$BUILD/gaspipe" count --versus 'a | b' -- /bin/true
    assert_bad_input 2 "--versus 'a | b': give a program and its arguments"
    run --separate-stderr "$BUILD/gaspipe" count --export-csv x -- /bin/true
    assert_bad_input 2 '--export-markdown and --export-csv need --versus or --time'
    run --separate-stderr "$BUILD/gaspipe" count --allow 1x --against y -- /bin/true
    assert_bad_input 2 "--allow needs a percentage, such as 0.5%, not '1x'"
}

@test "a baseline is kept, compared with, and exceeded" {
    local kept=$BATS_TEST_TMPDIR/kept
    "$BUILD/gaspipe" count --save "$kept" -- ./work 10000 2> /dev/null
    run --separate-stderr "$BUILD/gaspipe" count --against "$kept" -- ./work 10000
    assert_status 0
    [[ $stderr == *'now +0.0000 % (allowed: 0 %)'* ]]
    run --separate-stderr "$BUILD/gaspipe" count --against "$kept" --allow 1% -- ./work 10010
    assert_status 0
    run --separate-stderr "$BUILD/gaspipe" count --json --against "$kept" --allow 1% --save "$kept" \
        -- ./work 20000
    assert_status 6
    [ "$(grep '^{' <<< "$stderr" | jq -c 'select(.kind == "baseline") | [.allowed, .exceeds, .sameFingerprint]')" = '[1,true,true]' ]
    # A count above the baseline does not replace it.
    run --separate-stderr "$BUILD/gaspipe" count --against "$kept" -- ./work 10000
    assert_status 0
    # What stdout is decides how a C library writes.
    "$BUILD/gaspipe" count --save "$kept" -- /usr/bin/printf '%s\n' a 2> /dev/null > file
    "$BUILD/gaspipe" count --against "$kept" -- /usr/bin/printf '%s\n' a 2> /dev/null | grep -q a
    run -3 --separate-stderr bash -c '"$1" count --json --against "$2" -- /usr/bin/printf "%s\n" a > /dev/null' - "$BUILD/gaspipe" "$kept"
    [[ $stderr == *'of another kind of stdout: redirect it as at --save'* ]]
    assert_equal "$(grep '^{' <<< "$stderr" | jq -c 'select(.kind == "baseline") | [.exceeds, .sameStdout]')" '[true,false]'
    run --separate-stderr "$BUILD/gaspipe" count --against work.c -- ./work
    assert_bad_input 3 'work.c:1:'
    echo '{}' > "$kept"
    run --separate-stderr "$BUILD/gaspipe" count --against "$kept" -- ./work
    assert_bad_input 3 'not a file of gaspipe count --save'
}

@test "each process has its program's name and its sums" {
    run --separate-stderr "$BUILD/gaspipe" count -- /bin/sh -c './work 100; ./work 200; true'
    assert_status 0
    assert_equal "$(grep -oE '(sh|work), process' <<< "$stderr" | sort | uniq -c | tr -s ' ')" \
        $' 3 sh, process\n 2 work, process' # a shell forks, and its child becomes the program
    run --separate-stderr "$BUILD/gaspipe" count --json -- /bin/sh -c './work 100; true'
    assert_equal "$(jq -c 'select(.kind == "run") | [.processes[].program]' <<< "$stderr")" '["sh","sh","work"]'
    assert_equal "$(jq 'select(.kind == "run") | .instructions == ([.processes[].instructions] | add)' <<< "$stderr")" true
}

@test "a function without a symbol has its address, and its line where that is known" {
    local out=$BATS_TEST_TMPDIR address file
    address=0x$(nm work | sed -n 's/^0*\([0-9a-f]*\) t add$/\1/p')
    for file in stripped lines; do
        "$BUILD/gaspipe" count --profile "$out/$file.folded" --profile-json "$out/$file.json" \
            --profile-callgrind "$out/$file.callgrind" -- ./$file 50000 2> /dev/null
        grep -q "$file\`$address" "$out/$file.folded"
    done
    assert_equal "$(jq "select(.object == \"lines\" and .function == \"$address\") |
        (.file | endswith(\"/work.c\")) and .line >= 3 and .line <= 5" "$out/lines.json")" true
    "$BUILD/gaspipe" count --profile-callgrind "$out/named.callgrind" -- ./work 50000 2> /dev/null
    command -v callgrind_annotate > /dev/null || skip 'callgrind_annotate is not installed'
    for file in stripped lines named; do
        run --separate-stderr callgrind_annotate "$out/$file.callgrind"
        assert_status 0
        assert_equal "$stderr" ''
        [[ ${output,,} != *warning* ]]
    done
    assert_output_has ':add'
}
