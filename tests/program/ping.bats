#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe ping: what it measures and prints. No test checks how long anything took.

load common

ping() {
    run --separate-stderr "$BUILD/gaspipe" ping "$@"
}

# has_load PID COUNT: it has COUNT threads besides the first, and the other end of the bare pipes.
has_load() {
    [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt "$2" ] &&
        pgrep -P "$1" -f -- --be-baseline-peer > /dev/null
}

@test "a line for each size, with the requested number of round trips" {
    ping --json --count 40 --size 0,1000,100000
    assert_status 0
    assert_equal "$(jq -c '[.kind, .size, .count, .placement, .worker]' <<< "$output")" \
        '["ping",0,40,"auto","gaspipe-worker"]
["ping",1000,40,"auto","gaspipe-worker"]
["ping",100000,40,"auto","gaspipe-worker"]'
    assert_equal "$(jq -c '[.histogram[][2]] | add' <<< "$output" | sort -u)" 40
    assert_equal "$(jq -c '.size, .frameDown' <<< "$output" | tr '\n' ' ')" \
        '0 4 1000 1007 100000 100009 '
}

@test "percentiles are in order, and the parts add up to no more than the whole" {
    ping --json --count 100
    assert_status 0
    assert_equal "$(jq '[.bare, .total, .down, .inWorker, .up, .meter | .median <= .p90 and
        .p90 <= .p99 and .p99 <= .max and .median > 0] | all' <<< "$output")" true
    # Each mean is rounded to a nanosecond.
    assert_equal "$(jq '([.down, .inWorker, .up, .meter] | map(.mean) | add) - .total.mean |
        fabs <= 3' <<< "$output")" true "the parts' means make the mean"
}

@test "the parts of round trips are also measured with the worker under QEMU" {
    ping --json --count 20 --counter qemu
    assert_status 0
    assert_equal "$(jq -r '.worker' <<< "$output")" 'gaspipe-worker under QEMU'
}

@test "both ends on one CPU" {
    ping --count 20 --placement same
    assert_status 0
    assert_output_has 'both ends on CPU '
}

@test "the ends on two CPUs, or why not" {
    ping --count 20 --placement spread
    if [ "$(nproc)" -gt 1 ]; then
        assert_status 0
        assert_output_has 'ends on CPUs '
    else
        assert_bad_input 4 'spread needs two'
    fi
}

@test "xsnap-worker can be pinged" {
    ping --json --count 20 --worker \
        "$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker"
    assert_status 0
    assert_equal "$(jq .count <<< "$output")" 20
}

@test "on a loaded machine: the load ends with gaspipe, even when that is killed" {
    ping --json --count 20 --load 2
    assert_status 0
    assert_equal "$(jq -c '[.load, .count]' <<< "$output")" '[2,20]'
    ping --count 20 --load 1
    assert_output_has 'next to 1 process that computes'
    # A tenth as many round trips come before there is the other end of the bare pipes; and all of
    # them take long.
    "$BUILD/gaspipe" ping --count 1000000 --load 2 > /dev/null 2>&1 3>&- &
    pid=$!
    wait_for 300 has_load "$pid" 2
    children=$(pgrep -P "$pid")
    kill -KILL "$pid"
    for child in $pid $children; do
        wait_for 60 has_ended "$child"
    done
}

@test "the text has a row for each part" {
    ping --count 20
    assert_status 0
    for row in 'bare pipes' 'round trip' 'to the worker' 'in the worker' 'from the worker' \
        'times bare pipes'; do
        assert_output_has "$row"
    done
}

@test "wrong usage" {
    ping --size 12,
    assert_bad_input 2 --size "''"
    ping --size 99999999999
    assert_bad_input 2 --size
    ping --count 0
    assert_bad_input 2 --count
    ping --placement here
    assert_bad_input 2 --placement "'here'"
    ping --load -1
    assert_bad_input 2 --load "'-1'"
    ping --counter gdb
    assert_bad_input 2 --counter "'gdb'"
    ping --worker x --counter qemu
    assert_bad_input 2 --worker counter
    ping --count
    assert_bad_input 2 --count value
    ping hello
    assert_bad_input 2 "'hello'"
}

@test "a worker that is missing, not a program, or does not answer" {
    ping --worker /nowhere/worker
    assert_bad_input 3 /nowhere/worker
    ping --worker "$ROOT/README.md"
    assert_bad_input 3 README.md
    ping --worker /bin/true
    assert_bad_input 4 'ended with exit status 0'
    # It echoes what it is sent, which is not an answer.
    printf '#!/bin/sh\ncat <&3 >&4\n' > "$BATS_TEST_TMPDIR/echo"
    chmod +x "$BATS_TEST_TMPDIR/echo"
    ping --sandbox off --worker "$BATS_TEST_TMPDIR/echo"
    assert_bad_input 4 'did not answer'
}
