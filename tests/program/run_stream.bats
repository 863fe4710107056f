#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run --from: deliveries from a stream of NATS, each run once, whichever process is killed.

load common
load nats

CLIENT=$BUILD/tests/nats_client

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    free_port > port
    serve js "$(cat port)"
    "$CLIENT" "nats://127.0.0.1:$(cat port)" make RESULTS 'results.>' 1
}

teardown_file() {
    end_servers
}

# Each test has a stream of its own, S$BATS_TEST_NUMBER.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    url=nats://127.0.0.1:$(cat "$BATS_FILE_TMPDIR/port")
    stream=S$BATS_TEST_NUMBER
    results=results.$stream
    "$CLIENT" "$url" make "$stream" "$stream.>" 1
}

teardown() {
    [ -z "${running:-}" ] || kill -9 "$running" 2> /dev/null || true
}

# lines FROM TO: transfers between few accounts, some of which fail.
lines() {
    local i

    [ "$1" -gt 1 ] || echo '{"vat":"token","method":"mint","args":["a0",50]}'
    for ((i = $1 > 1 ? $1 : 2; i <= $2; i++)); do
        echo "{\"vat\":\"token\",\"method\":\"transfer\",\"args\":[\"a$((i * 7 % 5))\",\"a$((i * 3 % 5))\",$((i % 9))]}"
    done
}

publish() {
    "$CLIENT" "$url" publish "$stream.x" "$1"
}

# start: a service, its pid in $running.
start() {
    "$BUILD/gaspipe" run --json --counter none --store st --vat "token=$ROOT/examples/token/contract.js" \
        --from "$url/$stream" --results-to "$results" >> out 2>> err 3>&- &
    running=$!
}

# stop: ends it as systemd does; its exit status is in $status.
stop() {
    kill -TERM "$running"
    status=0
    wait "$running" || status=$?
    running=
}

# published: the results of this stream, NUMBER STATUS VALUE, in the order of their publication.
published() {
    "$CLIENT" "$url" read RESULTS | sed -n "s/^$results\.//p" |
        sed -E 's/^([0-9]+) .*"status":"([a-z]+)","value":(.*)\}$/\1 \2 \3/'
}

has_published() {
    [ "$(published | wc -l)" -ge "$1" ]
}

activity() {
    "$BUILD/gaspipe" status --json --store "$1" | jq -r 'select(.kind == "store") | "\(.cranks) \(.activityHash)"'
}

# The stream's results equal those of a run with the same lines in the file `all`.
assert_as_from_file() {
    [[ $status -le 1 ]] || fail "status $status" "$(cat err)"
    run --separate-stderr -1 "$BUILD/gaspipe" run --json --counter none --store local \
        --vat "token=$ROOT/examples/token/contract.js" all
    jq -r 'select(.kind == "result") | "\(.place | sub(".*:"; "")) \(.status) \(.value | tojson)"' \
        <<< "$output" > expected
    assert_equal "$(published)" "$(cat expected)"
    assert_equal "$(activity st)" "$(activity local)"
}

@test "kill -9 of the run and of the server: each message is delivered once, each result published once" {
    local i

    lines 1 60 > all
    start
    for i in 1 2 3; do
        lines $((15 * i - 14)) $((15 * i)) | publish "part$i"
        wait_for 30 has_published $((15 * i - 14))
        kill -9 "$running"
        wait "$running" || true
        # The same message IDs again: the server drops them.
        [ "$i" -gt 1 ] || lines 1 15 | publish part1
        start
    done
    # The last one is connected: a run whose server goes before that ends.
    lines 46 46 | publish last
    wait_for 30 has_published 46
    cd "$BATS_FILE_TMPDIR"
    kill -9 "$(cat servers)"
    : > servers
    serve js "$(cat port)"
    cd "$BATS_TEST_TMPDIR"
    lines 47 60 | publish part4
    wait_for 60 has_published 60
    stop
    assert_as_from_file
}

@test "a cluster of three, of which one server is killed and another is cut off: each message and result once" {
    local publisher

    start_cluster cluster
    url=$(cat cluster/url)
    "$CLIENT" "$url" make "$stream" "$stream.>" 3
    "$CLIENT" "$url" make RESULTS 'results.>' 3
    lines 1 30 > all
    start
    lines 1 10 | publish part1
    wait_for 60 has_published 5
    kill -9 "$(cat cluster/pid0)"
    lines 11 20 | publish part2
    wait_for 60 has_published 15
    # Now two of three are away for a while: what is published meanwhile is stored when they are back.
    kill -STOP "$(cat cluster/pid1)"
    lines 21 30 | publish part3 3>&- &
    publisher=$!
    sleep 1
    kill -0 $publisher
    kill -CONT "$(cat cluster/pid1)"
    cluster_server cluster 0
    wait $publisher
    wait_for 60 has_published 30
    stop
    assert_as_from_file
}

@test "messages that cannot be delivered are refused with a result, and the run continues" {
    printf '%s\n' '{bad' '{"vat":"nobody","method":"x"}' '{"vat":"token","method":"mint","args":["a",5],"id":"m"}' \
        '{"vat":"token","method":"mint","args":["a",5],"id":"m"}' \
        '{"vat":"token","method":"balance","args":["a"]}' | publish one
    "$CLIENT" "$url" remove "$stream" 5
    echo '{"vat":"token","method":"balance","args":["a"]}' | publish two
    start
    wait_for 30 has_published 5
    stop
    assert_equal "$status" 1
    # The second of the same id mints nothing.
    assert_equal "$(published | sed 's/: .*//')" '1 rejected "refused
2 rejected "refused
3 fulfilled {"@bigint":"5"}
4 rejected "refused
6 fulfilled {"@bigint":"5"}'
    grep -q "$stream: messages 5 to 5 are no longer in the stream" err
    [[ $(cat err) == *"$stream:1: refused: not JSON"*'ended by signal 15'* ]]
}

@test "what cannot continue is one line: streams of another shape, recreated or shortened, secrets are not shown" {
    local from=(run --json --counter none --store st --from)

    lines 1 3 | publish one
    start
    wait_for 30 has_published 3
    stop
    # The message that is due is gone.
    lines 4 6 | publish two
    for i in 1 2 3 4; do "$CLIENT" "$url" remove "$stream" $i; done
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "$url/$stream"
    assert_bad_input 3 'begins at message 5: those from 4 on are gone; --again'
    # The stream is another one.
    "$CLIENT" "$url" delete "$stream"
    "$CLIENT" "$url" make "$stream" "$stream.>" 1
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "$url/$stream"
    assert_bad_input 3 "the stream $stream was deleted and created again; --again"
    echo '{"vat":"token","method":"holders"}' > file
    run --separate-stderr "$BUILD/gaspipe" run --store st --counter none file
    assert_bad_input 3 "takes its deliveries from the stream $stream; --again"
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "$url/ABSENT"
    assert_bad_input 3 'no stream ABSENT'
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "$url/$stream" --results-to nowhere
    assert_bad_input 3 'no stream takes the subject nowhere.1'
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "$url/$stream" --results-to "$stream.x"
    assert_bad_input 3 "would be lines of the stream $stream"
    "$CLIENT" "$url" make QUEUE 'queue.>' 1 queue
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "$url/QUEUE"
    assert_bad_input 3 'removes its messages when they are read'
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "nats://me:secret@127.0.0.1:1/$stream"
    assert_bad_input 4 'nats://127.0.0.1:1: no server can be reached'
    [[ $stderr != *secret* ]] || fail "$stderr"
    run --separate-stderr "$BUILD/gaspipe" "${from[@]}" "nats://me:secret@127.0.0.1"
    assert_bad_input 2 'needs nats://HOST[:PORT]/STREAM'
    [[ $stderr != *secret* ]] || fail "$stderr"
    run --separate-stderr "$BUILD/gaspipe" run --from "$url/$stream" --vat token=x
    assert_bad_input 2 '--from needs --store'
}
