#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe-worker as xsnap-worker, by its name or with --compat xsnap: output, frames and exit status
# equal those of the xsnap-worker of npm's @agoric/xsnap 0.15.0, except for times.

load common

THEIRS=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

setup() {
    cd "$BATS_TEST_TMPDIR"
    OURS=$PWD/xsnap-worker
    ln -s "$NATIVE/gaspipe-worker" xsnap-worker
}

frame() {
    local LC_ALL=C bytes

    for bytes; do
        printf '%d:%s,' "${#bytes}" "$bytes"
    done
}

# outcome WORKER OPTION...: of the bytes in the file `input`, without times, nor the lengths of
# frames, which depend on them.
outcome() {
    local status=0

    "$@" 3< input 4> up > out 2> err || status=$?
    echo "status $status"
    sed -E 's/"timestamps":\[[0-9.,]*\]/"timestamps"/g' up | sed -E 's/(^|,)[0-9]+:/\1N:/g'
    printf '\nstdout: '
    cat out
    printf 'stderr: '
    cat err
}

# same OPTION...: what comes of the input is the same.
same() {
    outcome "$THEIRS" "$@" > theirs
    outcome "$OURS" "$@" > ours
    cmp theirs ours || fail "$(head -c 100 input) $*:" "$(diff theirs ours)"
}

@test "bad frames have its words and status, and the end of the pipe none" {
    for bytes in '1:R,' 'x' '5:ab' '1:R;' '1:z,' '1:/,' '1:.,' '2:!x,' '0:,' '12' '1:R,1234567890:' '12x' '1x' ''; do
        printf %s "$bytes" > input
        same
    done
}

@test "what scripts, modules and promises throw is said as it says it" {
    echo 'throw Error("in script")' > bad.js
    for command in 's/no/such.js' 'm/no/such.js' 's./bad.js' 'm./bad.js' 'ethrow Error("a")' 'e***' \
        'ePromise.reject(1)' 'w/no/such/snapshot'; do
        frame "$command" R > input
        same -l 1000000
    done
    frame s./bad.js > input
    "$OURS" 3< input 4> up 2> err || [ $? -eq 15 ]
    assert_equal "$(cat up)" '1:!,'
    assert_equal "$(cat err)" 'Error: in script'
}

@test "limits and lack of memory end it with its status, and without words" {
    for command in 'efor (;;) {}' 'efunction f() { f() } f()' 'eglobalThis.x = []; for (;;) x.push(new Array(10000))'; do
        frame "$command" > input
        same -l 10000000
    done
}

@test "-v, -n, -h and wrong options print the same" {
    : > input
    for option in -v -n -h -x -l '-z 1' -l5; do
        # shellcheck disable=SC2086 # an option and its value
        same $option
    done
    same -r /no/such/snapshot
    same -r @9
    run "$OURS" -v
    [[ $output =~ ^'xsnap 0.15.0 (XS '[0-9.]+')'$ ]] || fail "$output"
    run "$NATIVE/gaspipe-worker" -n
    assert_status 0
    assert_equal "$output" deprecated
    run "$NATIVE/gaspipe-worker" --compat other
    assert_status 1
    assert_output_has '--compat other: only xsnap and words are known'
}

@test "the meter has its members and no other, and its 502 stamps" {
    frame 'eglobalThis.handleCommand = m => { for (let i = 0; i < 300; i++) issueCommand(m) }' '?' > input
    for ((i = 0; i < 300; i++)); do
        frame / >> input
    done
    same
    tr '\001' '\n' < up | grep -o '{"currentHeapCount".*}' | tail -n 1 > meter
    assert_equal "$(jq -c 'keys_unsorted' meter)" '["currentHeapCount","compute","allocate","timestamps"]'
    assert_equal "$(jq '.timestamps | length' meter)" 502
    "$NATIVE/gaspipe-worker" --compat xsnap 3< input 4> up
    tr '\001' '\n' < up | grep -o '{"currentHeapCount".*}' | tail -n 1 > meter
    assert_equal "$(jq -c 'keys_unsorted' meter)" '["currentHeapCount","compute","allocate","timestamps"]'
}

@test "a parent that has died is said in its words" {
    frame 'eissueCommand(new ArrayBuffer(1))' > input
    same
    assert_equal "$(cat err)" 'Got EOF on netstring read. Has parent died?'
    printf '5:/a' >> input
    same
    assert_equal "$(cat err)" 'Got EOF on netstring read. Has parent died?'
    # The other end of descriptor 5 is closed when the process that has it has ended.
    exec 5> >(exit 0)
    wait $!
    for command in R e0 'eissueCommand(new ArrayBuffer(1))'; do
        frame "$command" > input
        for worker in "$THEIRS" "$OURS"; do
            run --separate-stderr bash -c '"$0" 3< input 4>&5' "$worker"
            assert_status 2
            assert_equal "$stderr" 'Caught SIGPIPE. Has parent died?'
        done
    done
    exec 5>&-
}

@test "frames of 200 MiB go through, both ways" {
    size=$((200 * 1024 * 1024))
    {
        frame 'eglobalThis.handleCommand = message => message'
        printf '%d:?' $((size + 1))
        head -c $size /dev/zero
        printf ,
    } > input
    status=0
    "$OURS" 3< input 4> up || status=$?
    assert_equal "$status" 0
    # The result follows the meter, to the last byte.
    [ "$(tail -c $((size + 2)) up | head -c 1 | od -An -tu1)" -eq 1 ]
    tail -c $((size + 1)) up | head -c $size | cmp - <(head -c $size /dev/zero)
    status=0
    "$NATIVE/gaspipe-worker" 3< input 4> up 2> err || status=$?
    assert_equal "$status" 32
    grep -q 'longer than the cap' err
}
