#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe fleet over NATS: a cluster of three servers on the loopback, of which one is killed.

load common
load nats

DATA=$ROOT/tests/data

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    start_cluster "$BATS_FILE_TMPDIR/cluster"
    "$BUILD/gaspipe" replay --json "$DATA/swingset.slog.zst" > local
}

teardown_file() {
    end_servers
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
    url=$(cat cluster/url)
}

field() {
    jq -r "select(.kind == \"$1\") | $2" <<< "$output"
}

fleet() {
    run --separate-stderr "$BUILD/gaspipe" fleet "$@"
}

@test "a worker and a server are killed, another is cut off: each result is there once, and equals a local replay" {
    local worker

    fleet submit --json --nats "$url" --replicas 3 "$DATA/swingset.slog.zst"
    assert_status 0
    assert_equal "$(field run '"\(.spans) \(.added)"')" '2 2'
    fleet submit --json --nats "$url" --run again "$DATA/swingset.slog.zst"
    assert_equal "$(field run '"\(.spans) \(.added)"')" '2 0'
    "$BUILD/gaspipe" fleet work --nats "$url" --lease 4 2> first.log 3>&- &
    worker=$!
    # Its replay is a process of its own: it has a job then.
    until pgrep -P $worker > /dev/null || ! kill -0 $worker; do sleep 0.05; done
    fleet status --json --nats "$url" --run again
    assert_equal "$(field run '"\(.taken) \(.waiting) \(.done)"')" '1 1 0'
    kill -9 $worker
    wait $worker || true
    kill -9 "$(cat cluster/pid0)"
    # Without the second, those that are left can decide nothing.
    "$BUILD/gaspipe" fleet work --nats "$url" --lease 4 2> second.log 3>&- &
    worker=$!
    until pgrep -P $worker > /dev/null || ! kill -0 $worker; do sleep 0.05; done
    kill -STOP "$(cat cluster/pid1)"
    sleep 2
    kill -CONT "$(cat cluster/pid1)"
    wait $worker
    fleet collect --json --nats "$url" --run again
    assert_status 0
    assert_equal "$output" "$(cat local)"
    fleet status --json --nats "$url"
    assert_equal "$(field run '"\(.done) \(.spans)"')" $'2 2\n2 2'
}

@test "servers that cannot be reached, that refuse, or have other streams: one line, without secrets" {
    fleet status --nats "nats://me:secret@127.0.0.1:1"
    assert_bad_input 4 'nats://127.0.0.1:1: no server can be reached'
    [[ $stderr != *secret* ]] || fail "$stderr"
    port=$(free_port)
    nats-server -js -sd refusing -a 127.0.0.1 -p "$port" --user me --pass right > refusing.log 2>&1 3>&- &
    echo $! >> servers
    until grep -q 'Server is ready' refusing.log; do sleep 0.05; done
    fleet status --nats "nats://me:wrong@127.0.0.1:$port"
    assert_bad_input 3 'not authorized'
    [[ $stderr != *wrong* ]] || fail "$stderr"
    fleet status --nats "nats://me:right@127.0.0.1:$port"
    assert_bad_input 3 'no stream GASPIPE_OBJECTS; gaspipe fleet submit creates it'
    fleet status --nats "$url" --creds absent
    assert_bad_input 3 'credentials'
    fleet status --nats "$url" --from somewhere
    assert_bad_input 2 'give the fleet'
}

@test "credentials that only read see jobs at work, and write nothing" {
    local port id all less look client=$BUILD/tests/nats_client

    port=$(free_port)
    all=nats://all:secret@127.0.0.1:$port look=nats://look:secret@127.0.0.1:$port
    less=nats://less:secret@127.0.0.1:$port
    # shellcheck disable=SC2016 # the subjects begin with a dollar sign
    jq -n '["$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*"] as $reads |
        {authorization: {users: [{user: "all", password: "secret"},
            {user: "look", password: "secret", permissions: {subscribe: "_INBOX.>",
                publish: ($reads + ["$JS.API.CONSUMER.CREATE.GASPIPE_NOTES"])}},
            {user: "less", password: "secret", permissions: {subscribe: "_INBOX.>", publish: $reads}}]}}' > users.conf
    serve users "$port" -c users.conf
    fleet submit --nats "$all" --vat v4 "$DATA/swingset.slog.zst"
    assert_status 0
    id=$("$client" "$all" read GASPIPE_JOBS | cut -d ' ' -f 1)
    # As a worker does that takes it.
    echo 60000 | "$client" "$all" publish "gaspipe.note.taken.${id##*.}" worker
    "$client" "$all" read GASPIPE_NOTES > notes
    fleet status --json --nats "$look"
    assert_status 0
    assert_equal "$(field run '"\(.taken) \(.waiting)"')" '1 0'
    fleet status --json --nats "$less"
    assert_equal "$(field run '"\(.taken) \(.waiting)"')" '1 0'
    [[ $stderr == *'its time cannot be asked for with these credentials'* ]] || fail "$stderr"
    "$client" "$all" read GASPIPE_NOTES | cmp notes -
    fleet cancel --nats "$look"
    assert_bad_input 3 'not authorized'
    echo 1 | "$client" "$all" publish "gaspipe.note.taken.${id##*.}" lost
    fleet status --json --nats "$look"
    assert_equal "$(field run '"\(.taken) \(.waiting)"')" '0 1'
}

@test "over NATS too, a worker leaves jobs for another build to others" {
    local theirs=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

    fleet submit --json --nats "$url" --run theirs --worker "$theirs" "$DATA/swingset.slog.zst"
    assert_equal "$(field run '"\(.spans) \(.added)"')" '2 2'
    fleet work --nats "$url" --lease 4
    assert_status 3
    [[ $stderr == *': v'*', deliveries '*'it is left to others'* && $stderr == *'2 jobs were submitted for another build'* ]] ||
        fail "$stderr"
    fleet status --json --nats "$url" --run theirs
    assert_equal "$(field run '"\(.done) \(.spans)"')" '0 2'
}

@test "with TLS, whose certificates are checked on both sides" {
    local port

    port=$(free_port)
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=fleet \
        -addext 'subjectAltName=IP:127.0.0.1' -keyout key.pem -out cert.pem 2> /dev/null
    serve secure "$port" --tls --tlscert cert.pem --tlskey key.pem --tlscacert cert.pem --tlsverify
    fleet submit --json --nats "tls://127.0.0.1:$port" --tls-ca cert.pem --tls-cert cert.pem --tls-key key.pem \
        --vat v4 "$DATA/swingset.slog.zst"
    assert_status 0
    assert_equal "$(field run .added)" 1
    # Without a client certificate, and with a server whose certificate is not trusted.
    fleet status --nats "tls://127.0.0.1:$port" --tls-ca cert.pem
    assert_bad_input 4 "tls://127.0.0.1:$port: "
    fleet status --nats "tls://127.0.0.1:$port"
    assert_bad_input 4 "tls://127.0.0.1:$port: "
    fleet status --nats "tls://127.0.0.1:$port" --tls-ca absent.pem
    assert_bad_input 3 'cannot use the URL, credentials or certificates'
}

@test "with credentials, a token and its seed, which the server of an operator checks" {
    local port

    port=$(free_port)
    make_operator
    serve operated "$port" -c server.conf
    fleet submit --json --nats "nats://127.0.0.1:$port" --creds reader.creds --vat v4 "$DATA/swingset.slog.zst"
    assert_status 0
    assert_equal "$(field run .added)" 1
    # Without them, with those of another account's user, and with a seed that is not the token's.
    fleet status --nats "nats://127.0.0.1:$port"
    assert_bad_input 3 'not authorized'
    fleet status --nats "nats://127.0.0.1:$port" --creds stranger.creds
    assert_bad_input 3 'not authorized'
    cat <(sed '/SEED/,$d' reader.creds) <(sed -n '/BEGIN USER NKEY/,$p' stranger.creds) > mixed.creds
    fleet status --nats "nats://127.0.0.1:$port" --creds mixed.creds
    assert_bad_input 3 'not authorized'
    [[ $stderr != *"$(grep '^SU' mixed.creds)"* ]] || fail "$stderr"
}

@test "credentials are accepted though libnats omits a signature that begins with a byte 0" {
    make_nkey signer a0
    echo token > signer.jwt
    make_creds signer
    mkdir signatures
    node "$BATS_TEST_DIRNAME/nats_signatures.mjs" signatures signer.pem 3>&- &
    echo $! >> servers
    wait_for 30 test -e signatures/port
    fleet status --nats "nats://127.0.0.1:$(cat signatures/port)" --creds signer.creds
    assert_bad_input 3 'no JetStream'
    # Newer ones do not omit it.
    assert_equal "$(tail -n 1 signatures/connections)" signed
}

@test "a stream of another shape under a fleet's name is one line" {
    local port

    port=$(free_port)
    serve shapes "$port"
    "$BUILD/tests/nats_client" "nats://127.0.0.1:$port" make GASPIPE_OBJECTS 'things.>' 1
    fleet submit --nats "nats://127.0.0.1:$port" "$DATA/swingset.slog.zst"
    assert_bad_input 3 "nats://127.0.0.1:$port: the stream GASPIPE_OBJECTS has another shape"
}

@test "submit waits for a server of the cluster that is not there yet" {
    local late=$BATS_FILE_TMPDIR/late submit

    start_cluster "$late" 2 -V
    "$BUILD/gaspipe" fleet submit --json --nats "$(cat "$late/url")" --replicas 3 --vat v4 \
        "$DATA/swingset.slog.zst" > submit.out 2> submit.err 3>&- &
    submit=$!
    # It was refused once, for it asks again; only old servers write the reason.
    wait_for 120 awk '/\[PUB \$JS\.API\.STREAM\.CREATE\./ { n++ } END { exit n < 2 }' "$late"/server{0,1}.log
    cluster_server "$late" 2
    wait "$submit" || fail "$(cat submit.err)"
    grep -q '"added":1' submit.out || fail "$(cat submit.out)"
}
