#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A signal ends a run wherever it waits: for the other end of
# a pipe, for another program that has the store locked, for a worker that hangs. Each of these
# would last for ever, or until another status.

load common

setup_file() {
    export FAULTY=$BATS_FILE_TMPDIR/faulty
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -I"$ROOT" "$ROOT/tests/program/faulty_worker.c" \
        "$ROOT/proto/netstring.c" "$ROOT"/base/{buf,error,io,text/format}.c -o "$FAULTY"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cp "$FAULTY" worker
    ln -s "$NATIVE/gaspipe-worker" real
    true > tally
    true > said
    cat > keeper.js << 'END'
export const get = name => store.get(name);
export const big = () => 'x'.repeat(300000);
export const say = () => { for (let i = 0; i < 3000; i += 1) console.log('x'.repeat(90)); };
END
    line get > lines
}

line() {
    printf '{"vat":"keeper","method":"%s","args":["%s"]}\n' "$1" "${2:-}"
}

# start OPTION...: with deliveries that never time out; the pid in $pid.
start() {
    timeout -k 20 100 "$NATIVE/gaspipe" run --json --counter none --delivery-timeout 1000 \
        --vat keeper=keeper.js "$@" > "${out:-out}" 2> "${err:-err}" &
    pid=$!
    # One that ends at once may be over before it is looked for.
    wait_for 60 eval 'pgrep -P "$pid" -x gaspipe || [ -z "$(jobs -rp)" ]'
}

# ends SIGNAL STATUS: the run that was started does, by that signal. timeout(1) passes it on. It kills, with
# another status, a run that takes longer than the 10 s that gaspipe gives a worker to end (vats/vat.c).
ends() {
    status=0
    kill -s "$1" "$pid"
    wait "$pid" || status=$?
    assert_equal "$status" "$2" "exit status; it said: $(head -c 500 err)"
}

@test "nothing writes the lines, or into a pipe from which the contract or the bundle is read" {
    local pipe

    mkfifo fifo
    start --store one fifo
    wait_for 60 test -s one/gaspipe.sqlite
    ends TERM 143
    exec {pipe}<> fifo
    start --store two --vat "other=/dev/fd/$pipe" lines
    wait_for 60 test -s two/gaspipe.sqlite
    ends INT 130
    start --store three --bundle "other=/dev/fd/$pipe" lines
    wait_for 60 test -s three/gaspipe.sqlite
    ends HUP 129
    exec {pipe}<&-
}

@test "nothing reads the results, the slogfile, or the messages" {
    local pipe

    line big > lines
    mkfifo fifo input
    exec {pipe}<> fifo {feed}<> input
    out=fifo start --store one input # whose end does not come: behind it, the same lines are new ones
    cat lines >&"$feed"
    head -c 1 <&"$pipe" > first # the rest of the result has no room
    ends TERM 143
    exec {pipe}<&- {feed}<&-
    rm fifo
    # The next run prints what this one could not.
    "$NATIVE/gaspipe" run --json --counter none --vat keeper=keeper.js --store one lines > out
    assert_equal "$(jq -c 'select(.kind == "result").value | length' out)" 300000

    mkfifo fifo
    exec {pipe}<> fifo
    start --store two --slog fifo lines
    head -c 70000 <&"$pipe" > first
    ends TERM 143
    exec {pipe}<&-
    rm fifo

    line say > lines
    mkfifo fifo
    exec {pipe}<> fifo
    err=fifo start --store three lines
    head -c 1 <&"$pipe" > first
    true > err
    ends INT 130
}

@test "another program has the store locked" {
    local locker to

    "$NATIVE/gaspipe" run --counter none --store store --vat keeper=keeper.js lines
    mkfifo sql
    sqlite3 store/gaspipe.sqlite < sql > told &
    locker=$!
    exec {to}> sql
    printf '%s\n' 'BEGIN IMMEDIATE;' "SELECT 'locked';" >&"$to"
    wait_for 60 test -s told
    start --again --store store lines
    ends TERM 143
    exec {to}>&-
    wait "$locker"
}

# hangs FRAME: the worker hangs instead of sending that frame, after the delivery that asks for it.
hangs() {
    line get "faulty:hang:$1:tally" > lines
    start --sandbox off --worker ./worker "${@:2}" lines
    wait_for 60 test ! -s tally
    ends TERM 143
}

@test "a worker hangs: in a delivery, while its snapshot is written, while it is restored" {
    printf 1 > tally
    hangs 1 --store delivery
    printf 1 > tally
    hangs 3 --store snapshot --snapshot-initial 2 --snapshot-interval 1
    # Without a snapshot the next run repeats the delivery.
    "$NATIVE/gaspipe" run --counter none --sandbox off --worker ./worker --store again \
        --snapshot-initial 1000 --vat keeper=keeper.js lines
    printf 1 > tally
    start --sandbox off --worker ./worker --store again --snapshot-initial 1000 --again lines
    wait_for 60 test ! -s tally
    ends TERM 143
}

# have_hung COUNT: that many workers have reported that they hang.
have_hung() {
    [ "$(wc -l < said)" -ge "$1" ]
}

@test "a worker hangs: as it starts, and as it ends" {
    printf '#!/bin/sh\ncd "${0%%/*}"; echo starts >> said; exec sleep 1000\n' > worker
    start --sandbox off --worker ./worker lines
    wait_for 60 have_hung 1
    ends TERM 143
    # The work is done by then: another status would have it done again.
    printf '#!/bin/sh\ncd "${0%%/*}"; ./real "$@"; echo ends >> said; exec sleep 1000\n' > worker
    start --sandbox off --worker ./worker --snapshot-initial 1000 lines
    wait_for 60 have_hung 3 # the one that makes the first heap, and the vat's
    ends TERM 0
}

# walk COMMAND: a run that COMMAND prepares waits in vain for the answer to its first frame, then
# to its second, and so on up to its last; how many there were in $frames.
walk() {
    frames=0
    while :; do
        frames=$((frames + 1))
        rm -rf store hung
        printf '%*s' $frames '' > frames
        "$1"
        start --sandbox off --worker ./worker --store store --snapshot-initial 2 --snapshot-interval 2 \
            --again lines
        wait_for 60 eval '[ -e hung ] || [ -z "$(jobs -rp)" ]'
        [ -e hung ] || break
        ends TERM 143
    done
    wait "$pid"
    rm frames
}

fresh() {
    true
}

interrupted() {
    cp -r before store
}

@test "a worker hangs at any of its frames, also of those before and after its deliveries" {
    local walked

    line get > lines
    walk fresh
    walked=$frames
    [ $walked -gt 6 ]
    # A snapshot, and deliveries after it that must run again.
    { line get; line get; line get; } > lines
    "$NATIVE/gaspipe" run --counter none --sandbox off --worker ./worker --store before \
        --snapshot-initial 2 --snapshot-interval 2 --vat keeper=keeper.js lines
    line get >> lines
    walk interrupted
    [ "$frames" -gt 4 ]
}
