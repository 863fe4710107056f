#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe trace --process harms no process, whatever it does while it is traced; `make campaign KINDS=attach`
# attaches more often.

load common
load trace

setup_file() {
    export VICTIM=$BATS_FILE_TMPDIR/attached PLUGIN=$BATS_FILE_TMPDIR/plugin.so
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -O2 -fexceptions "$BATS_TEST_DIRNAME/attached.c" -o "$VICTIM" -lpthread
    echo 'int plugged(int n) { return 2 * n + 1; }' | ${CC:-gcc} -shared -fPIC -O2 -x c - -o "$PLUGIN"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    may_trace
}

# begins KIND...: the victim runs as $victim, reads descriptor 7, and is ready.
begins() {
    rm -f lines printed
    mkfifo lines
    "$VICTIM" "$PLUGIN" "$@" < lines > printed 2> failed 3>&- &
    victim=$!
    exec 7> lines
    wait_for 60 grep -q ready printed
}

# goes_on: it does more rounds.
goes_on() {
    local lines

    for _ in 1 2; do
        lines=$(wc -l < printed)
        echo count >&7
        wait_for 60 eval '[ "$(wc -l < printed)" -gt '"$lines"' ]'
    done
}

# ends: it ends by itself, and has computed nothing wrong.
ends() {
    exec 7>&-
    wait "$victim"
    assert_equal "$(tail -n 1 printed)" '0 wrong' 'what it computed'
    assert_equal "$(cat failed)" '' stderr
}

# attach OPTIONS...: it is traced for a moment.
attach() {
    run --separate-stderr timeout 120 "$BUILD/gaspipe" trace -p "$victim" --seconds 0.05 --report report "$@" 7>&-
    assert_status 0
}

# survives N KIND...: N processes of that kind are traced, each once, with the options in `options`.
survives() {
    local n

    for ((n = 0; n < $1; n++)); do
        begins "${@:2}"
        attach "${options[@]}"
        goes_on
        ends
    done
}

options=()

@test "trace --process: libraries that are loaded and unloaded" {
    survives 5 plugins
    survives 3 alone plugins
}

@test "trace --process: threads that are started and end" {
    survives 8 threads
    survives 8 alone threads
}

@test "trace --process: a thread within malloc is not made to allocate" {
    survives 3 memory
    survives 3 alone memory
}

@test "trace --process: a handler of a signal is not made to load the agent" {
    survives 3 alone signals
}

@test "trace --process: everything together, with library calls and libraries" {
    options=(--calls --library '*')
    survives 8 plugins threads memory signals forks
}

@test "trace --process: a program whose code is in a library" {
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -O2 -fPIC -shared -Dmain=library_main "$BATS_TEST_DIRNAME/attached.c" \
        -o libattached.so -lpthread
    echo 'int library_main(int, char **); int main(int n, char **v) { return library_main(n, v); }' |
        ${CC:-gcc} -x c - -o small -L. -lattached -Wl,-rpath,"$PWD"
    options=(--library 'libattached*')
    VICTIM=$PWD/small survives 3 alone memory
    grep -q a_fib report
}

@test "trace --process: a process that ignores SIGSEGV is refused" {

    printf '%s\n' '#!/bin/bash' "trap '' SEGV" "exec $BATS_FILE_TMPDIR/attached \"\$@\"" > ignores
    chmod +x ignores
    VICTIM=./ignores begins waits
    run --separate-stderr "$BUILD/gaspipe" trace -p "$victim"
    assert_bad_input 3 'ignores SIGSEGV'
    ends
}

# text: a hash of the victim's text.
text() {
    local range begin end

    range=$(awk '$2 ~ /x/ && $6 ~ /attached$/ { print $1; exit }' "/proc/$victim/maps")
    begin=$((16#${range%-*})) end=$((16#${range#*-}))
    dd if="/proc/$victim/mem" bs=4096 skip=$((begin / 4096)) count=$(((end - begin) / 4096)) status=none | sha256sum
}

# follows OPTIONS...: the victim is traced until the tracer ends, which runs as $tracer.
follows() {
    "$BUILD/gaspipe" trace -p "$victim" --report report "$@" 2> said 3>&- 7>&- &
    tracer=$!
    wait_for 60 grep -q 'is traced' said
    [ "$(text)" != "$before" ]
}

@test "trace --process: again and again, each time other functions" {
    begins plugins threads memory signals forks
    before=$(text)
    for functions in a_fib 'a_*' a_memory a_fib '*' a_signals; do
        attach --functions "$functions" --calls
        grep -qE '^ +[0-9]+ .* (a_|[a-z_]+@plt)' report
        assert_equal "$(text)" "$before" text
    done
    attach --overhead 1%
    attach
    goes_on
    ends
}

@test "trace --process: what is left in the process does not grow" {
    begins alone memory
    for _ in 1 2 3; do attach --calls; done
    before=$(wc -l < "/proc/$victim/maps")
    for _ in 1 2 3 4 5; do attach --calls; done
    assert_equal "$(wc -l < "/proc/$victim/maps")" "$before" 'mapped areas'
    assert_equal "$(find "/proc/$victim/fd" -lname '*gastrace*' | wc -l)" 0 'open descriptors of traces'
    ends
}

@test "trace --process: SIGKILL to the tracer ends the trace, and restores the process" {
    begins plugins threads memory signals
    before=$(text)
    follows
    kill -KILL "$tracer"
    wait_for 60 eval '[ "$(text)" = "$before" ]'
    wait_for 60 test -s report
    attach
    ends
}

@test "trace --process: after SIGKILL to both of its processes the next trace restores the process" {
    begins plugins threads memory signals
    before=$(text)
    follows --calls
    kill -KILL "$(cat "/proc/$tracer/task/$tracer/children")" "$tracer"
    wait "$tracer" || true
    goes_on
    attach --functions a_fib
    assert_equal "$(text)" "$before" text
    ends
}

@test "trace --process: the same where the only thread is within traced functions" {
    begins alone memory
    before=$(text)
    follows --calls
    kill -KILL "$(cat "/proc/$tracer/task/$tracer/children")" "$tracer"
    wait "$tracer" || true
    attach --functions a_fib
    assert_equal "$(text)" "$before" text
    ends
}

@test "trace --process: two tracers at a time" {
    begins alone memory
    before=$(text)
    follows
    run --separate-stderr "$BUILD/gaspipe" trace -p "$victim" 7>&-
    assert_bad_input 3 'another gaspipe trace traces it'
    kill -INT "$tracer"
    wait "$tracer"
    assert_equal "$(text)" "$before" text
    ends
}
