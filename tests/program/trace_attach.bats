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
    rm -f lines
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
