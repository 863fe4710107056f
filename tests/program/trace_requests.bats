#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe trace: arguments, results, and the requests of a server that is not gaspipe's.

load common
load trace

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# compile NAME < SOURCE
compile() {
    gcc -O2 -pthread -x c -o "$1" -
}

@test "trace --arguments: integers of all sizes, and results" {
    compile six <<- 'END'
		#include <stdio.h>
		#define APART __attribute__((noipa))
		APART long six(int a, unsigned b, long c, unsigned long d, long e, long f) { return a + b + c + d + e + f; }
		APART int leaf(int n) { return n == 0 ? -7 : n * 3; }
		APART double real(double x, int n) { return x * n; }
		volatile long sink; /* gcc would make a loop of the second call */
		APART long fib(long n) { long a, b; if (n < 2) return n; a = fib(n - 1); b = fib(n - 2); sink = a; return a + b; }
		int main(void)
		{
		    long sum = six(-1, 4000000000u, -3, 1ul << 40, -(1l << 62), 6) + fib(10);
		    for (int i = 0; i < 2000; i++) sum += leaf(i);
		    printf("%ld %g\n", sum, real(1.5, 3));
		}
	END
    ./six > expected
    for clock in tsc page-faults; do
        "$BUILD/gaspipe" trace --all --arguments 'six:6' --arguments leaf --arguments fib --clock $clock --output kept --report report -- ./six > printed
        diff expected printed
        "$BUILD/gaspipe" trace --read kept --text > text
        grep -q '| *six(4294967295, 4000000000, -3, 0x10000000000, 0xc000000000000000, 6) = 0xc000010' text
        # Each call has its own argument and result, across the chunks of a trace.
        grep -o 'leaf(.*' text | sed '1{s/leaf(0, .*) = 4294967289;/0 -7/;q1}' | grep -qx '0 -7'
        assert_equal "$(grep -o '| *leaf(.*' text | sed 's/.*(\([0-9]*\),.*= \(.*\);/\1 \2/' | awk 'NR == 1 || $2 == 3 * $1' | wc -l)" 2000
        assert_equal "$(awk -F '[(,]' '/ fib\(/ { stack[++depth] = $2; calls++ } / = .* fib/ || / fib\(.* = / {
            result = $0; sub(/.* = /, "", result); sub(/;.*/, "", result); sums += result; depth-- }
            END { print calls, sums }' text)" '177 420'
    done
    # Functions that were not asked for have none.
    grep -q '| *real();' text
    run --separate-stderr "$BUILD/gaspipe" trace --arguments six:7 -- ./six
    assert_bad_input 2 '--arguments needs FUNCTION or FUNCTION:N with N from 1 to 6'
}

@test "trace --request-begin: which request made which other wait, and in which function" {
    compile server < "$ROOT/examples/queue/server.c"
    ./server 40 > expected
    "$BUILD/gaspipe" trace --request-begin enqueue --request-end handle_request:1 --output kept --report report -- ./server 40 > printed
    diff expected printed
    "$BUILD/gaspipe" trace --read kept --json --report again --slog slog --profile profile --perfetto events
    # Each request has its own calls.
    assert_equal "$(jq -r 'select(.function == "search_all") | "\(.delivery) \(.calls)"' again | cut -d ' ' -f 2- | paste -sd ,)" \
        'handle_request(10) #10 1,handle_request(20) #20 1,handle_request(30) #30 1,handle_request(40) #40 1'
    assert_equal "$(jq -r 'select(.function == "look_up" and .calls == 1).delivery' again | sort -u | wc -l)" 40
    assert_equal "$(jq -c '[.traceEvents[] | select(.cat == "delivery")] | length' events)" 40
    # In the text, calls lie between the lines of their request.
    "$BUILD/gaspipe" trace --read kept --text > text
    assert_equal "$(awk '/begins \*\// { inside = $6 } /ends \*\// { inside = "" } /search_all/ { print inside }' text | paste -sd ,)" \
        'handle_request(10),handle_request(20),handle_request(30),handle_request(40)'
    # The long requests made those after them wait, in the function that took the time.
    "$BUILD/slogreport" waits --json --profile profile slog > waits
    assert_equal "$(jq -c 'select(.kind == "waits") | .waited' waits)" 40
    assert_equal "$(jq -r 'select(.kind == "function").function' waits | head -n 1)" 'search_all (server)'
    jq -es 'map(select(.kind == "wait" and (.description | startswith("(35).")))) | length == 1 and
        (.[0].behind | map(.description) | any(startswith("(10)."))) and all(.[0].behind[]; .time <= 60)' waits
    "$BUILD/slogreport" --html page --profile profile slog
    grep -q search_all page
    # On one thread; also where the tracer was killed.
    "$BUILD/gaspipe" trace --request-begin handle_request --request-end handle_request --output kept --report report -- ./server 40 > printed
    "$BUILD/gaspipe" trace --read kept --json --report again
    assert_equal "$(jq -r 'select(.function == "search_all") | "\(.delivery) \(.calls)"' again | cut -d ' ' -f 2- | paste -sd ,)" \
        'handle_request(10) #10 1,handle_request(20) #20 1,handle_request(30) #30 1,handle_request(40) #40 1'
    head -c "$(($(stat -c %s kept) - 30))" kept > torn
    "$BUILD/gaspipe" trace --read torn --json --report again --slog slog
}

@test "trace --request-begin: bad input, one line each" {
    run --separate-stderr "$BUILD/gaspipe" trace --request-begin f --output kept -- true
    assert_bad_input 2 '--request-begin and --request-end go together'
    run --separate-stderr "$BUILD/gaspipe" trace --request-begin f --request-end g -- true
    assert_bad_input 2 '--output FILE'
    run --separate-stderr "$BUILD/gaspipe" trace --request-begin f:0 --request-end g --output kept -- true
    assert_bad_input 2 '--request-begin needs FUNCTION'
    run --separate-stderr "$BUILD/gaspipe" trace --slog slog -- true
    assert_bad_input 2 '--slog needs --read'
    printf '#include <stdio.h>\nint main(void) { puts("done"); return 0; }\n' | compile few
    "$BUILD/gaspipe" trace --output kept --report report -- ./few > printed
    run --separate-stderr "$BUILD/gaspipe" trace --read kept --report report --slog slog
    assert_bad_input 3 'no requests'
    run --separate-stderr "$BUILD/gaspipe" trace --request-begin nothing --request-end main --output kept -- ./few
    assert_bad_input 3 "'nothing' is no function that can be traced"
    # A process that runs already is left as it was, and can be traced again.
    may_trace
    compile steps <<- 'END'
		#include <unistd.h>
		volatile long sink;
		__attribute__((noipa)) void step(long n) { usleep(1000); sink = n; }
		int main(void) { for (long i = 0; i < 60000; i++) step(i); }
	END
    ./steps 3>&- &
    steps=$!
    wait_for 10 grep -q /steps "/proc/$steps/maps"
    run --separate-stderr "$BUILD/gaspipe" trace -p $steps --request-begin nothing --request-end step --output kept
    assert_bad_input 3 "'nothing' is no function that can be traced"
    "$BUILD/gaspipe" trace -p $steps --request-begin step --request-end step --seconds 0.2 --output kept --report report
    kill $steps
    "$BUILD/gaspipe" trace --read kept --json --report report --slog slog
    jq -es 'map(select(.function == "step").calls) | length > 1 and all(. == 1)' report
}
