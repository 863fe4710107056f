#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe trace: what programs do is the same, and every call is there.

load common
load trace

setup_file() {
    export TRACED=$BATS_FILE_TMPDIR/traced
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -U_FORTIFY_SOURCE -O2 -fexceptions "$BATS_TEST_DIRNAME/traced.c" -o "$TRACED" \
        -lpthread
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# traces WHAT OPTIONS...: traced WHAT prints with a tracer what it does without; the report is
# in `report`, as JSON lines.
traces() {
    "$TRACED" "$1" > expected
    timeout 120 "$BUILD/gaspipe" trace --all --json --report report "${@:2}" -- "$TRACED" "$1" > printed
    diff expected printed
}

# calls FUNCTION: how often it was called, in `report`.
calls() {
    jq -s --arg name "$1" 'map(select(.function == $name).calls) | add // 0' report
}

# summary WHAT OPTIONS...: what the report for people says at the end.
summary() {
    timeout 120 "$BUILD/gaspipe" trace --all --report people "${@:2}" -- "$TRACED" "$1" > /dev/null
    tail -n 2 people
}

@test "trace: every call is counted" {
    traces calls
    assert_equal "$(calls t_middle) $(calls t_leaf) $(calls t_fib)" '1000 1000 1973' calls
    run summary calls
    assert_output_has ' 0 lost'
    assert_output_lacks unmatched
}

@test "trace: longjmp leaves frames, and is reported" {
    traces longjmp
    assert_equal "$(calls t_catcher) $(calls t_thrower) $(calls t_leaf)" '1000 5500 1000' calls
    run summary longjmp
    assert_output_has '5500 calls ended without returning'
    assert_output_lacks unmatched
}

@test "trace: tail calls end their callers; a loop made of them takes no memory" {
    traces tail
    assert_equal "$(calls t_tail) $(calls t_tail_last)" '1000 1000' calls
    assert_equal $(($(calls t_ping) + $(calls t_pong))) 3000002 calls
}

@test "trace: handlers of signals, on their own stack, too, lose nothing" {
    traces signals
    [ "$(calls t_handler)" -ge 1000 ]
    assert_equal "$(calls t_handler)" "$(calls t_leaf)" 'calls of the handler and by it'
}

@test "trace: a handler's stack may lie above the program's" {
    traces high-stack
    assert_equal "$(calls t_on_high_stack) $(calls t_handler) $(calls t_fib)" '100 100 35400' calls
}

@test "trace: handlers that jump out" {
    traces signal-jumps --output kept
    [ "$(calls t_jumper)" -ge 300 ]
    # No jump ends a call that it stays in.
    assert_equal "$(calls do_signal_jumps)" 1 calls
    "$BUILD/gaspipe" trace --report people --read kept
    run tail -n 2 people
    assert_output_has 'calls ended without returning'
    assert_output_lacks unmatched
    "$BUILD/gaspipe" trace --folded folded --report report --read kept
    run -1 grep -vE '^(main|do_signal_jumps)' folded
}

@test "trace: threads, more in all than lanes" {
    traces threads
    assert_equal "$(calls t_thread)" 200 threads
}

@test "trace: the stack is unwound through trampolines" {
    traces unwind
    traces unwind --calls
    traces backtrace
}

@test "trace: exceptions of C++ pass through" {
    command -v g++ > /dev/null || skip 'needs g++'
    g++ -O2 -x c++ - -o throws <<- 'EOF'
	#include <cstdio>
	#include <stdexcept>
	struct Guard { int *n; ~Guard() { ++*n; } };
	static volatile bool always = true;
	__attribute__((noinline, noclone)) long deep(int depth, int *cleaned)
	{
	    Guard guard{cleaned};
	    if (depth == 0) throw std::runtime_error("bottom");
	    return always ? deep(depth - 1, cleaned) + 1 : 0;
	}
	__attribute__((noinline, noclone)) long tries(int depth)
	{
	    int cleaned = 0;
	    try { return deep(depth, &cleaned); } catch (const std::exception &) { return cleaned; }
	}
	int main() { long sum = 0; for (int i = 0; i < 500; i++) sum += tries(i % 20); printf("%ld\n", sum); }
	EOF
    run --separate-stderr timeout 60 "$BUILD/gaspipe" trace --calls --json --report report -- ./throws
    assert_status 0
    assert_equal "$output" 5250 'what was cleaned up'
    assert_equal "$(calls _Unwind_Resume@plt)" 5250 'frames that were passed'
}

@test "trace: coroutines return to their frames" {
    traces coroutines
    assert_equal "$(calls t_turn)" 100 calls
}

@test "trace: a program returns to any number of frames on other stacks" {
    traces sleepers
    assert_equal "$(calls t_sleeps)" $((300 * 41)) calls
}

@test "trace: a child process is not traced, and unharmed" {
    traces fork
    assert_equal "$(calls t_forks) $(calls t_fib)" '1 0' calls
    for _ in 1 2 3 4 5; do
        traces fork --calls
    done
}

@test "trace: functions that are short, begin with a call, or are branched into" {
    traces shapes
    assert_equal "$(calls t_calls_first) $(calls t_after_lea) $(calls t_loop)" '1 1 0' calls
    run summary shapes
    assert_output_has '1 too short, 1 with a branch into the first five bytes'
}

@test "trace: each call has its time, also of functions called very often" {
    traces many --output kept
    assert_equal "$(calls t_fib)" 635621 calls
    # No call begins before its caller, or ends after it.
    jq -e -s 'all(.total >= .self) and any(.function == "t_fib" and .self > 0)' report
    mv report live
    "$BUILD/gaspipe" trace --json --report report --read kept
    diff live report
    run summary many
    assert_output_lacks unmatched
    traces tail
    assert_equal $(($(calls t_ping) + $(calls t_pong))) 3000002 calls
    # Ticks of a call, of a loop that does nothing else: no less than reading the clock takes.
    "$BUILD/gaspipe" trace --all --json --report /dev/null --output kept -- "$TRACED" calls > /dev/null
    "$BUILD/gaspipe" trace --report again --read kept --perfetto events
    assert_equal "$(jq '[.traceEvents[] | select(.name == "t_leaf" and .ph == "B").ts] | length, (unique | length)' events |
        paste -sd ' ')" '1000 1000' 'calls, and times when they began'
}

@test "trace: --overhead leaves out what is called most, and says so" {
    traces tail --overhead 1%
    [ $(($(calls t_ping) + $(calls t_pong))) -lt 3000002 ]
    run summary tail --overhead 1
    assert_output_has 'functions left out to keep the overhead, the most called: t_'
    assert_output_has 't_ping after'
    assert_output_lacks unmatched
    jq -se 'map(select(.kind == "leftOut")) | length > 0 and
        all(.periods | length == 1 and .[0][0] > 0 and .[0][1] == null)' <(
        "$BUILD/gaspipe" trace --json --report /dev/stdout --overhead 1% --output kept -- "$TRACED" tail | sed 1d)
    run "$BUILD/gaspipe" trace --read kept
    assert_output_has 'traced: '
    assert_output_has 'functions left out to keep the overhead, the most called: t_'
    traces hot --overhead 1%
    traces calls --overhead 1000
    assert_equal "$(calls t_fib)" 1973 'calls within the budget'
}

# counts CLOCK: the machine has it; else the test says so.
counts() {
    run --separate-stderr "$BUILD/gaspipe" trace --clock "$1" --report /dev/null -- "$TRACED" calls
    [ "$status" = 3 ] || return 0
    assert_bad_input 3 'this machine has no such counter'
    skip "this machine counts no $1: $stderr"
}

@test "trace: page faults by function" {
    counts page-faults
    traces touches --clock page-faults --output kept
    assert_equal "$(jq -c 'select(.function == "t_touches") | [.calls, .clock]' report)" '[1,"page-faults"]'
    [ "$(jq 'select(.function == "t_touches").self' report)" -ge 1000 ]
    "$BUILD/gaspipe" trace --report people --read kept
    grep -q 'calls  *page-faults' people
}

@test "trace: the CPU's own counters by function" {
    counts instructions
    # A function that calls nothing takes as many each time.
    traces calls --clock instructions
    [ "$(jq 'select(.function == "t_leaf") | .self / .calls' report)" -ge 1 ]
    counts cycles
    traces calls --clock cycles
    assert_equal "$(calls t_fib)" 1973 calls
}

@test "trace: calls of libraries" {
    traces calls --calls
    assert_equal "$(calls printf@plt)" 1 calls
}

@test "trace: patterns choose functions" {
    traces calls --functions 't_*' --without t_fib
    assert_equal "$(jq -r .function report | sort | paste -sd ' ')" 't_leaf t_middle' functions
}

@test "trace: short functions that call nothing are left out, and counted, unless they are asked for" {
    for option in '' --all '--functions=*'; do
        "$BUILD/gaspipe" trace ${option:+"$option"} --json --report "json$option" -- "$TRACED" calls > printed
        "$BUILD/gaspipe" trace ${option:+"$option"} --report "people$option" -- "$TRACED" calls > printed
    done
    assert_equal "$(jq -c 'select(.function == "t_middle" or .function == "t_leaf" or .function == "t_fib") | [.function, .calls]' json | sort)" \
        "$(printf '["%s",%s]\n' t_fib 1973 t_middle 1000)"
    read -r all traced left < <(sed -n 's/\([0-9]*\) of \([0-9]*\) functions traced.*, \([0-9]*\) short ones.*/\2 \1 \3/p' people)
    assert_equal "$((left > 0)) $((traced + left))" "1 $(sed -n 's/ of .* functions traced.*//p' people--all)" "of $all functions"
    grep -q ' functions traced.*, [0-9]* short ones that call nothing (--all traces them)' people
    run grep -h 'call nothing' people--all 'people--functions=*'
    assert_equal "$output" ''
    diff <(jq -r .function json--all | sort) <(jq -r .function 'json--functions=*' | sort)
}

@test "trace: source files, lines, inlined functions; modules and build-ids without symbols" {
    mkdir one
    cat > one/a.c <<- 'EOF'
	#include <stdlib.h>
	long total;
	static inline __attribute__((always_inline)) long twice(long n) { return n * (total | 2); }
	static inline __attribute__((always_inline)) long four_times(long n) { return twice(twice(n)); }
	__attribute__((noinline)) long in_a(long n)
	{
	    total += four_times(n);
	    return total;
	}
	long in_b(long n);
	int main(void) { for (long i = 0; i < 10; i++) total += in_b(in_a(i)); return total == 0; }
	EOF
    printf 'extern long total;\nlong in_b(long n);\n\nlong in_b(long n) { return total += n * 3; }\n' > b.c
    ${CC:-gcc} -g -O2 one/a.c b.c -Wl,--build-id=sha1 -o sources
    "$BUILD/gaspipe" trace --all --json --report report --output kept -- ./sources
    assert_equal "$(jq -c 'select(.function == "in_a") | [.file[-7:], .line, (.inlined | sort), .calls]' report)" '["one/a.c",5,["four_times","twice"],10]'
    assert_equal "$(jq -c 'select(.function == "in_b") | [.file[-3:], .line, .inlined]' report)" '["b.c",4,null]'
    assert_equal "$(jq -r 'select(.function == "in_b") | .buildId' report)" "$(readelf -n sources | sed -n 's/.*Build ID: //p')"
    "$BUILD/gaspipe" trace --all --report people -- ./sources
    grep -q '  in_b (.*b\.c:4)$' people
    for pattern in 'b.c' 'one/*'; do
        "$BUILD/gaspipe" trace --json --report "${pattern:0:1}.report" --source "$pattern" -- ./sources
    done
    assert_equal "$(jq -r .function b.report | paste -sd ,)" in_b
    assert_equal "$(jq -r 'select(.calls > 0).function' o.report | sort | paste -sd ,)" in_a,main
    # Debug information of another build is none.
    ${CC:-gcc} -g -O1 one/a.c b.c -Wl,--build-id=sha1 -o sources
    "$BUILD/gaspipe" trace --json --report report --read kept
    assert_equal "$(jq -c 'select(.function == "in_b") | [.file, .calls]' report)" '[null,10]'
    strip sources
    "$BUILD/gaspipe" trace --all --report people -- ./sources
    grep -qE "  0x[0-9a-f]+ in sources, build-id $(readelf -n sources | sed -n 's/.*Build ID: //p')$" people
}

@test "trace: a library's functions" {
    [ "$BUILD" = "$NATIVE" ] || skip "a sanitizer's library must be the first one"
    run --separate-stderr "$BUILD/gaspipe" trace --library 'libisal.so*' --json --report report -- \
        "$BUILD/slogreport" summary "$ROOT/tests/data/small.slog.gz"
    assert_status 0
    jq -se 'map(select(.module | test("/libisal"))) | length > 0' report
}

@test "trace: a stripped program has the same calls" {
    strip -o stripped "$TRACED"
    "$BUILD/gaspipe" trace --json --report named -- "$TRACED" calls > /dev/null
    "$BUILD/gaspipe" trace --json --report report -- ./stripped calls > printed
    assert_equal "$(cat printed)" "$("$TRACED" calls)" 'what it prints'
    assert_equal "$(jq -s 'map([.address, .calls]) | sort | map(select(.[1] > 10))' report)" \
        "$(jq -s 'map([.address, .calls]) | sort | map(select(.[1] > 10))' named)" 'calls by address'
    # It names what it exports.
    printf '__attribute__((noipa)) long exported(long n) { return n + 1; }\nint main(int n, char **words) { return (int)exported(exported(n)) != 3 || !words; }\n' |
        gcc -O1 -rdynamic -s -x c -o exports -
    "$BUILD/gaspipe" trace --functions exported --json --report report -- ./exports
    assert_equal "$(jq -r '"\(.function) \(.calls)"' report)" 'exported 2'
}

@test "trace: what a killed program has done is there" {
    run --separate-stderr "$BUILD/gaspipe" trace --json --report report -- "$TRACED" killed
    assert_status 137
    assert_equal "$(calls t_fib)" 21891 calls
}

@test "trace: no event is lost by waiting; what is dropped is counted" {
    traces many
    assert_equal "$(calls t_fib)" 635621 calls
    traces many --when-full drop
    run summary many --when-full drop
    assert_output_lacks unmatched
    traces signals --when-full drop
}

@test "trace: with another clock, what is dropped is counted" {
    counts page-faults
    traces many --clock page-faults --when-full drop --output kept
    assert_equal "$(jq -r .clock report | sort -u)" page-faults clocks
    "$BUILD/gaspipe" trace --report people --read kept
    run tail -n 2 people
    assert_output_has lost
    assert_output_lacks unmatched
    # A call of the function is there or lost: two events, and those of its callers.
    traces signals --clock page-faults --when-full drop
    traces touches --clock page-faults --when-full drop
    [ "$(jq 'select(.function == "t_touches").self' report)" -ge 1000 ]
}

@test "trace: folded stacks and callgrind have the same calls" {
    traces calls --folded folded --callgrind callgrind.out
    grep -qE '^do_calls;t_middle;t_leaf [0-9]+$' folded
    grep -qE '^calls=1000 0$' callgrind.out
    command -v callgrind_annotate > /dev/null || skip 'needs callgrind_annotate'
    run callgrind_annotate callgrind.out
    assert_status 0
    assert_output_has t_middle
    assert_output_lacks WARNING
}

@test "trace: bad input, one line each" {
    ${CC:-gcc} -static -x c - -o static <<< 'int main(void) { return 0; }'
    run --separate-stderr "$BUILD/gaspipe" trace -- ./static
    assert_bad_input 3 'linked statically'
    run --separate-stderr "$BUILD/gaspipe" trace -- ./nobody
    assert_bad_input 3 nobody
    echo 'exit 0' > script
    chmod +x script
    run --separate-stderr "$BUILD/gaspipe" trace -- ./script
    assert_bad_input 3 'is not a program for x86-64'
    run --separate-stderr "$BUILD/gaspipe" trace --functions 'nobody*' -- "$TRACED" calls
    assert_bad_input 3 'no function can be traced'
    run --separate-stderr "$BUILD/gaspipe" trace
    assert_bad_input 2 'give a program'
    run --separate-stderr "$BUILD/gaspipe" trace --when-full never -- true
    assert_bad_input 2 'wait or drop'
    run --separate-stderr "$BUILD/gaspipe" trace --library 'a b' -- true
    assert_bad_input 2 'pattern'
}

@test "trace: gaspipe run under it delivers the same" {
    [ "$BUILD" = "$NATIVE" ] || skip "a sanitizer's library must be the first one"
    printf '{"vat":"v","method":"m","args":[%s]}\n' 1 2 3 > deliveries
    echo 'export const m = n => { let s = 0; for (let i = 0; i < 1000; i++) s += n; return s; };' > v.js
    "$NATIVE/gaspipe" run --json --counter none --vat v=v.js deliveries | jq -c '[.result, .compute]' > expected
    "$BUILD/gaspipe" trace --json --report report -- \
        "$NATIVE/gaspipe" run --json --counter none --vat v=v.js deliveries |
        jq -c '[.result, .compute]' > printed
    diff expected printed
    [ "$(calls scheduler_run)" -gt 0 ]
}

@test "trace: a trace that is kept says the same later" {
    for how in calls many threads coroutines; do
        traces "$how" --output kept.trace
        mv report live
        run --separate-stderr "$BUILD/gaspipe" trace --json --report report --read kept.trace
        assert_status 0
        diff <(jq -c '[.function, .calls]' live | sort) <(jq -c '[.function, .calls]' report | sort)
    done
    "$BUILD/gaspipe" trace --json --report /dev/null --when-full drop --output lossy.trace -- "$TRACED" many
    "$BUILD/gaspipe" trace --report people --read lossy.trace
    run tail -n 2 people
    assert_output_has ' lost'
    assert_output_lacks unmatched
}

# slices FILE: `NAME SLICES` of a trace for Perfetto, sorted. On each track a slice ends after those within it, and
# time does not go back.
slices() {
    jq -er '[.traceEvents[] | select(.ph == "B" or .ph == "E")] |
        if group_by([.pid, .tid]) | all(.[]; reduce .[] as $event ({open: [], at: 0, good: true};
            .good = (.good and $event.ts >= .at) | .at = $event.ts |
            if $event.ph == "B" then .open += [$event.name]
            else .good = (.good and .open[-1] == $event.name) | .open |= .[:-1] end) | .good and .open == [])
        then map(select(.ph == "B")) | group_by(.name)[] | "\(.[0].name) \(length)" else error("not nested") end' "$1" |
        LC_ALL=C sort
}

# nested FILE: the calls that --text printed, by function; calls that do not lie within each other are said.
nested() {
    awk -F'\\] \\| ' 'NR == 1 { next }
        { thread = $1; sub(/.*\[/, "", thread); line = $2; match(line, /^ */); depth = RLENGTH / 2; line = substr(line, RLENGTH + 1) }
        line ~ /^} / { name = line; gsub(/^} \/\* | \*\/$/, "", name)
            if (depth != --open[thread] || name != stack[thread, depth]) print "wrong: " $0; next }
        { name = line; sub(/\(\)( {|;)$/, "", name); calls[name]++
            if (depth != open[thread] + 0) print "wrong: " $0
            if (line ~ /{$/) stack[thread, open[thread]++] = name }
        END { for (name in calls) print name, calls[name]; for (thread in open) if (open[thread]) print "open: " thread }' "$1" |
        LC_ALL=C sort
}

@test "trace: --text prints every call in order, within its caller, with its time" {
    for what in calls longjmp threads; do
        "$BUILD/gaspipe" trace --without t_fib --report live --output kept -- "$TRACED" $what > /dev/null
        "$BUILD/gaspipe" trace --json --report again --read kept
        "$BUILD/gaspipe" trace --read kept --text > text
        jq -r '"\(.function) \(.calls)"' again | LC_ALL=C sort | diff - <(nested text)
    done
    traces calls --output kept
    "$BUILD/gaspipe" trace --read kept --text > text
    # The lines of t_middle add up to what it took, each to a nanosecond.
    "$BUILD/gaspipe" trace --json --report again --read kept
    awk '$NF == "*/" && $(NF - 1) == "t_middle" { sum += $1 * ($2 == "us" ? 1e3 : $2 == "ms" ? 1e6 : 1e9) } END { print sum }' text |
        jq -e --slurpfile again again '. - ($again[] | select(.function == "t_middle").total * 1e9) | fabs <= 1000'
    grep -Pzoq '\| ( *)t_middle\(\) {\n.*\| \1  t_leaf\(\);\n.*\| \1} /\* t_middle \*/\n' text
    run --separate-stderr "$BUILD/gaspipe" trace --text -- true
    assert_bad_input 2 '--read'
    run --separate-stderr "$BUILD/gaspipe" trace --read kept --text --json
    assert_bad_input 2 '--text'
    run -4 bash -c "\"$BUILD/gaspipe\" trace --read kept --text > /dev/full"
}

@test "trace: Perfetto's file has every slice, under its function and in order" {
    traces calls --output kept
    "$BUILD/gaspipe" trace --json --report again --read kept --perfetto events
    slices events > names
    jq -r '"\(.function) \(.calls)"' again | LC_ALL=C sort | cmp - names
    # Slices take what their function did; each is cut to nanoseconds.
    jq -es --slurpfile again again 'map(.traceEvents[] | select(.name == "t_middle") | if .ph == "B" then -.ts else .ts end) |
        (add * 1000 - ($again[] | select(.function == "t_middle").total * 1e9)) | fabs <= 1000' events
    assert_equal "$(jq -c '.traceEvents[] | select(.ph == "M" and .name == "process_name").args.name' events)" "\"$TRACED\""
    for what in longjmp threads signal-jumps; do
        "$BUILD/gaspipe" trace --without t_fib --report live --output kept -- "$TRACED" $what > /dev/null
        "$BUILD/gaspipe" trace --report again --read kept --perfetto events
        slices events > names
    done
    printf 'export const work = n => n + 1;\n' > v.js
    printf '{"vat":"%s","method":"work","args":[%s]}\n' one 1 two 2 one 3 > deliveries
    run_vats --slog slog --trace-functions run.trace > printed
    "$BUILD/gaspipe" trace --json --report again --read run.trace --perfetto events
    slices events > names
    assert_equal "$(grep -c '^work #' names)" 2 'numbers of deliveries of work'
    # The report is about deliveries, the slices also about what was before them.
    [ "$(awk '$1 == "fxRunID" { print $2 }' names)" -ge \
        "$(jq -s 'map(select(.function == "fxRunID").calls) | add' again)" ]
    # Deliveries are on the slogfile's clock, one track a vat.
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "delivery")] | map(.tid) | unique | length' events)" 2
    jq -es --slurpfile slog slog '[.[].traceEvents[] | select(.cat == "delivery").ts * 1000 - $slog[0].monoBase] |
        length > 3 and min >= 0 and max <= ([$slog[].monotime // 0] | max) * 1e9' events
    run --separate-stderr "$BUILD/gaspipe" trace --perfetto events -- true
    assert_bad_input 2 '--read'
    run --separate-stderr "$BUILD/gaspipe" trace --read kept --perfetto kept
    assert_bad_input 2 kept
    run --separate-stderr "$BUILD/gaspipe" trace --read kept --perfetto /dev/full
    assert_bad_input 4 /dev/full
    run --separate-stderr "$BUILD/gaspipe" trace --read kept --perfetto nowhere/events
    assert_bad_input 4 nowhere/events
}

@test "trace: files of other versions are refused, by their version" {
    "$BUILD/gaspipe" trace --report live --output kept -- "$TRACED" calls > /dev/null
    for version in 0 1 2 3 5; do
        { printf '%b' "gastrace\\0$version\\0\\0\\0" && tail -c +13 kept; } > other
        run --separate-stderr "$BUILD/gaspipe" trace --read other
        assert_bad_input 3 "other is a trace of version $version; this gaspipe reads version 4"
    done
}

@test "trace: a file that is torn, damaged, or none" {
    "$BUILD/gaspipe" trace --report live --output whole.trace -- "$TRACED" many > /dev/null
    head -c "$(($(stat -c %s whole.trace) - 1000))" whole.trace > torn.trace
    run --separate-stderr "$BUILD/gaspipe" trace --json --report report --read torn.trace
    assert_status 0
    [[ $stderr == *'torn.trace ends in the middle'* ]]
    [ "$(calls t_fib)" -gt 0 ]
    byte=$(head -c 201 whole.trace | tail -c 1)
    { head -c 200 whole.trace && { [ "$byte" = X ] && printf Y || printf X; } && tail -c +202 whole.trace; } > damaged.trace
    run --separate-stderr "$BUILD/gaspipe" trace --read damaged.trace
    assert_bad_input 3 'damaged at byte'
    echo 'something else, long enough' > none.trace
    run --separate-stderr "$BUILD/gaspipe" trace --read none.trace
    assert_bad_input 3 'is not a trace'
    run --separate-stderr "$BUILD/gaspipe" trace --read whole.trace -- true
    assert_bad_input 2 'do not go together'
}

# begins WHAT: traced WHAT runs as $target, reads `lines` from descriptor 7, and is ready.
begins() {
    mkfifo lines
    "$TRACED" "$1" < lines > printed 3>&- &
    target=$!
    exec 7> lines
    wait_for 60 grep -q ready printed
}

# traces_process OPTIONS...: a tracer of $target runs as $tracer, and all functions are patched.
traces_process() {
    "$BUILD/gaspipe" trace -p "$target" --json --report report "$@" 2> said 3>&- 7>&- &
    tracer=$!
    wait_for 60 grep -q 'is traced' said
}

# ends: the target ends by itself, well.
ends() {
    echo end >&7
    exec 7>&-
    wait "$target"
}

# text_of PID: a hash of the bytes of its program's text.
text_of() {
    local range begin end

    range=$(awk '$2 ~ /x/ && $6 ~ /traced$/ { print $1; exit }' "/proc/$1/maps")
    begin=$((16#${range%-*})) end=$((16#${range#*-}))
    dd if="/proc/$1/mem" bs=4096 skip=$((begin / 4096)) count=$(((end - begin) / 4096)) status=none | sha256sum
}

@test "trace --process: a running process is traced, and its text restored byte for byte" {
    may_trace
    begins wait
    text_of "$target" > before
    traces_process --calls
    run -1 cmp <(text_of "$target") before
    printf 'go\n%.0s' 1 2 3 >&7
    wait_for 60 eval '[ "$(grep -c 610 printed)" = 3 ]'
    kill -INT "$tracer"
    wait "$tracer"
    text_of "$target" | cmp - before
    assert_equal "$(calls t_fib)" $((1973 * 3)) calls
    [ "$(calls fgets@plt)" -ge 1 ]
    ends
}

@test "trace --process: threads that are busy, and get signals" {
    may_trace
    begins busy
    text_of "$target" > before
    traces_process --output kept
    wait_for 60 eval '[ "$(stat -c %s kept)" -gt 100000 ]'
    kill -INT "$tracer"
    wait "$tracer"
    text_of "$target" | cmp - before
    [ "$(calls t_fib)" -gt 0 ]
    ends
    assert_equal "$(tail -n 1 printed)" '0 wrong' 'what it computed'
}

@test "trace --process: for some time" {
    may_trace
    begins busy
    traces_process --seconds 0.2
    wait "$tracer"
    ends
}

@test "trace --process: threads that wait for the reader lose no event when the tracer leaves" {
    may_trace
    begins busy
    "$BUILD/gaspipe" trace --when-full wait -p "$target" --seconds 0.3 --report report
    grep -q '^[0-9]* events, 0 lost' report
    ends
    assert_equal "$(tail -n 1 printed)" '0 wrong' 'what it computed'
}

# A dynamic program with a section that Go's linker writes into every one: of an executable that can be moved, the
# table in which the runtime looks code up has another name.
@test "trace: a program in Go is refused, and continues" {
    may_trace
    { cat "$BATS_TEST_DIRNAME/traced.c" && printf '%s\n' '__asm__(".section .go.buildinfo,\"a\"\n.long 0\n.previous");'; } |
        ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -O2 -fexceptions -I"$ROOT" -x c - -o like-go -lpthread
    run --separate-stderr "$BUILD/gaspipe" trace -- ./like-go calls
    assert_bad_input 3 'is written in Go'
    TRACED=$PWD/like-go begins wait
    run --separate-stderr "$BUILD/gaspipe" trace -p "$target"
    assert_bad_input 3 'is written in Go'
    ends
}

# bytes_at PID ADDRESS COUNT FORMAT: of its memory, as od(1) has them.
bytes_at() {
    dd if="/proc/$1/mem" bs=1 skip="$2" count="$3" status=none | od -An "-t$4" | tr -d ' '
}

# More events than the ring holds; tests/unit/trace/test_exit_notifier.c checks that no thread waits then.
@test "trace --process: a process continues after both of its tracer's processes are killed" {
    may_trace
    mkfifo lines answers
    "$TRACED" wait < lines > answers 3>&- &
    target=$!
    exec 7> lines 8< answers
    read -r -t 60 line <&8
    assert_equal "$line" ready
    traces_process 8<&-
    kill -KILL "$(cat "/proc/$tracer/task/$tracer/children")" "$tracer"
    printf 'go\n%.0s' {1..300} >&7
    for _ in {1..300}; do
        read -r -t 60 line <&8
        [ "$line" = 610 ]
    done
    # A function's jump leads to a trampoline that begins with a jump to the function's body.
    function=$((16#$(awk '/traced$/ { sub(/-.*/, "", $1); print $1; exit }' "/proc/$target/maps") +
        16#$(nm "$TRACED" | awk '$3 == "t_fib" { print $1 }')))
    assert_equal "$(bytes_at "$target" "$function" 1 x1)" e9 'the patch'
    distance=$(bytes_at "$target" $((function + 1)) 4 d4)
    assert_equal "$(bytes_at "$target" $((function + 5 + distance)) 1 x1)" e9 'the trampoline'
    ends
}

# Its parent does not notice, so that it stays a zombie.
@test "trace --process: a process that ends in the middle" {
    may_trace
    mkfifo lines
    (
        "$TRACED" busy < lines > printed 3>&- &
        echo $! > pid
        exec sleep 600 3>&-
    ) &
    parent=$!
    exec 7> lines
    wait_for 60 grep -q ready printed
    target=$(cat pid)
    traces_process
    kill -KILL "$target"
    wait "$tracer"
    [ "$(calls t_fib)" -ge 0 ]
    kill "$parent"
    exec 7>&-
}

# tests/unit/supervisor/test_trace_obstacles.c covers Yama.
@test "trace --process: where ptrace is forbidden, one line says so, and the process continues" {
    ${CC:-gcc} -D_GNU_SOURCE "$BATS_TEST_DIRNAME/denies.c" -o denies
    # The sanitizers look for leaks by ptrace(2), too.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
    begins wait
    text_of "$target" > before
    run --separate-stderr ./denies "$BUILD/gaspipe" trace -p "$target"
    assert_bad_input 3 'ptrace is not permitted here'
    text_of "$target" | cmp - before
    echo go >&7
    wait_for 60 grep -q 610 printed
    ends
    # Programs that gaspipe starts need no ptrace.
    ./denies "$BUILD/gaspipe" trace --json --report report -- "$TRACED" calls > printed
    assert_equal "$(calls t_fib)" 1973 calls
}

@test "trace --process: a signal's handler that returns into the first bytes of a function" {
    may_trace
    begins held
    text_of "$target" > before
    run --separate-stderr "$BUILD/gaspipe" trace -p "$target"
    assert_bad_input 3 'all its threads stay in signal handlers'
    text_of "$target" | cmp - before
    ends
    assert_equal "$(tail -n 1 printed)" 42
}

@test "trace --process: bad input, one line each" {
    run --separate-stderr "$BUILD/gaspipe" trace -p 999999999
    assert_bad_input 3 'no process 999999999'
    run --separate-stderr "$BUILD/gaspipe" trace -p $$ -- true
    assert_bad_input 2 'neither a program'
    run --separate-stderr "$BUILD/gaspipe" trace --seconds 1 -- true
    assert_bad_input 2 'needs --process'
}
