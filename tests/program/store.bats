#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a store keeps of a run: gaspipe status, and replaying a vat from its store.

load common
load store_contents

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    token=token=$ROOT/examples/token/contract.js
    for ((i = 1; i <= 6; i++)); do
        printf '{"vat":"token","method":"mint","args":["a",%d]}\n' "$i"
    done > deliveries
}

teardown() {
    [ -z "${open:-}" ] || { chmod -R u+w "$open" && rm -r "$open"; }
}

# A run with a snapshot after every $1 deliveries (0: none), into the store `st`.
token_run() {
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --snapshot-interval "$1" \
        --store st --vat "$token" deliveries
    assert_status 0
}

replays() {
    run --separate-stderr "$NATIVE/gaspipe" replay --json "$@"
    assert_status 0
    jq -r 'select(.kind == "vat") | "\(.status) \(.deliveries) \(.syscalls) \(.computed)"' <<< "$output"
}

# ---- status ----

@test "status shows vats, queue, input and sizes" {
    token_run 0
    run --separate-stderr "$BUILD/gaspipe" status --json --store st
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "vat") | [.vatID, .vat, .runtime, .dynamic, .incarnation,
        .deliveries, .transcript, .snapshot, .keys]' <<< "$output")" \
        '["v1","token","plain",false,0,7,7,null,1]'
    assert_equal "$(jq -c 'select(.kind == "store") | [.store, .ready, .waiting, .inputLines,
        .inputDone, .vatstores.items, .transcripts.items, .snapshots.items > 0, .bundles.items]' \
        <<< "$output")" '["st",0,0,6,true,1,7,true,1]'
    [[ $(jq -r 'select(.kind == "store").activityHash' <<< "$output") =~ ^[0-9a-f]{64}$ ]]
    run --separate-stderr "$BUILD/gaspipe" status --store st
    assert_status 0
    assert_output_has 'v1     token            plain'
    assert_output_has '0 ready, 0 waiting for promises'
    assert_output_has '6 lines accepted, to the end'
}

@test "status shows the last snapshot" {
    token_run 3
    run --separate-stderr "$BUILD/gaspipe" status --json --store st
    assert_equal "$(jq -c 'select(.kind == "vat").snapshot | [.position > 0, .size > .compressedSize,
        (.hash | length)]' <<< "$output")" '[true,true,64]'
}

taken_in() {
    [ "$("$BUILD/gaspipe" status --json --store st |
        jq 'select(.kind == "store") | [.inputLines, .inputDone]' -c)" = "[$1,false]" ]
}

@test "status looks at a store that a run has open, and at one whose run was killed" {
    mkfifo lines
    "$NATIVE/gaspipe" run --counter none --store st --vat "$token" lines > /dev/null &
    pid=$!
    exec 5> lines
    head -n 3 deliveries >&5
    wait_for 60 taken_in 3
    tail -n +4 deliveries | head -n 2 >&5
    wait_for 60 taken_in 5
    assert_equal "$("$NATIVE/gaspipe" replay --json --store st token |
        jq -r 'select(.kind == "vat").status')" same
    kill -9 $pid
    wait $pid || true
    exec 5>&-
    taken_in 5
}

@test "a store that the user cannot write is read, and a run refuses it in one line" {
    local user=(setpriv --reuid=42421 --clear-groups)

    token_run 3
    # The test's own directory is closed to other users.
    open=$(mktemp -d)
    mv st "$open"
    chmod -R a+rX,a-w "$open"
    cd "$open" || return
    [ "$(id -u)" = 0 ] || user=()
    "${user[@]}" test -x "$NATIVE/gaspipe" || skip 'another user cannot enter the build'
    run --separate-stderr "${user[@]}" "$NATIVE/gaspipe" status --store st
    assert_equal "$status $stderr" '0 '
    assert_output_has '6 lines accepted, to the end'
    run --separate-stderr "${user[@]}" "$NATIVE/gaspipe" verify --store st
    assert_equal "$status $stderr" '0 '
    assert_output_has 'whole'
    run --separate-stderr "${user[@]}" "$NATIVE/gaspipe" run --counter none --store st --again /dev/null
    assert_equal "$status $stderr" '4 gaspipe: st/gaspipe.sqlite: gaspipe cannot write it: change its permissions'
}

@test "status of something that is not a store" {
    run --separate-stderr "$BUILD/gaspipe" status
    assert_bad_input 2 'give the directory of one store'
    run --separate-stderr "$BUILD/gaspipe" status --store st
    assert_bad_input 3 'st/gaspipe.sqlite: no such store'
    [ ! -e st ]
    mkdir st
    echo 'notes of somebody who has nothing to do with stores' > st/gaspipe.sqlite
    run --separate-stderr "$BUILD/gaspipe" status --store st
    assert_bad_input 3 'not a gaspipe store'
}

# ---- replay ----

@test "a first run that failed leaves no store; an empty one says that it holds nothing" {
    : > empty.js
    run "$BUILD/gaspipe" run --counter none --store st --vat token=empty.js "$ROOT/examples/token/deliveries.jsonl"
    assert_status 3
    [ ! -e st ]
    mkdir st
    : > st/gaspipe.sqlite
    for command in 'status' 'verify' 'replay token'; do
        # shellcheck disable=SC2086 # a command and its operand
        run --separate-stderr "$BUILD/gaspipe" ${command% *} --store st ${command#"${command% *}"}
        assert_bad_input 3 'holds nothing yet'
    done
}

@test "a vat is replayed from its store, from the beginning and from its last snapshot" {
    token_run 3
    whole=$(replays --store st token --from-start)
    assert_equal "${whole%% *}" same
    assert_equal "$(cut -d ' ' -f 2 <<< "$whole")" 7
    part=$(replays --store st v1)
    position=$("$BUILD/gaspipe" status --json --store st |
        jq 'select(.kind == "vat").snapshot.position')
    assert_equal "$(cut -d ' ' -f 1,2 <<< "$part")" "same $((7 - position))"
}

@test "an exported transcript is replayed as the store's is" {
    token_run 3
    "$BUILD/gaspipe" replay --store st token --export token.jsonl
    "$BUILD/gaspipe" replay --store st token --export - | cmp - token.jsonl
    assert_equal "$(replays token.jsonl)" "$(replays --store st token --from-start)"
    assert_equal "$(wc -l < token.jsonl)" 8
}

@test "instructions from a store are the same from its last snapshot on" {
    for interval in 0 3; do
        "$BUILD/gaspipe" run --counter qemu --snapshot-interval $interval --store "st$interval" \
            --vat "$token" deliveries
        run --separate-stderr "$BUILD/gaspipe" replay --counter qemu --json --store "st$interval" token
        assert_status 0
        assert_equal "$(jq -c 'select(.kind == "vat")
            | [.status, .deliveries == .counted, .counted > 0]' <<< "$output")" '["same",true,true]'
    done
}

@test "one changed byte in a transcript is reported with delivery and syscall" {
    token_run 0
    "$NATIVE/gaspipe" replay --store st token --export token.jsonl
    sed -i 's/"balance.a","6"/"balance.a","7"/' token.jsonl
    run --separate-stderr "$NATIVE/gaspipe" replay token.jsonl
    assert_status 1
    assert_output_has 'v1 token: delivery 4, (o+0).mint'
    assert_output_has 'syscall 1 differs (token.jsonl:5)'
    assert_output_has '"balance.a","7"'
}

# Edits whose checksums of rows and pages are right.
@test "rows that were changed, deleted, added, swapped or set back are found by the running hash" {
    local edit

    token_run 0
    cp -r st good
    for edit in "DELETE FROM vatstore WHERE key = CAST('balance.a' AS BLOB)" \
        "INSERT INTO vatstore VALUES (1, x'61', x'62', checksum(2, 1, 0, 0, x'61', x'62'))" \
        "DELETE FROM transcript WHERE position = 6" \
        "UPDATE vatstore SET value = x'39', checksum = checksum(2, vat, 0, 0, key, x'39')" \
        "UPDATE vatstore SET vat = 2, checksum = checksum(2, 2, 0, 0, key, value)" \
        "DELETE FROM key WHERE name = 'v1.options'" "DELETE FROM running_sum"; do
        rm -rf st
        cp -r good st
        store_edit st "$edit"
        run --separate-stderr "$NATIVE/gaspipe" status --store st
        assert_bad_input 4 'st/gaspipe.sqlite: the store is damaged'
        run --separate-stderr "$NATIVE/gaspipe" replay --store st token
        assert_bad_input 4 'st/gaspipe.sqlite: the store is damaged'
    done
}

# An edit for which the checksum of the row and the vat's running hash were computed, too.
@test "an edit that brings all checksums along is found by the hash of the state" {
    local command

    token_run 0
    store_edit st "
        CREATE TEMP TABLE edit AS SELECT checksum(2, vat, 0, 0, key, x'39') AS new, checksum AS old
            FROM vatstore WHERE key = CAST('balance.a' AS BLOB);
        UPDATE vatstore SET value = x'39', checksum = (SELECT new FROM edit)
            WHERE key = CAST('balance.a' AS BLOB);
        UPDATE running_sum SET sum = plus(sum, (SELECT plus(new, plus(~old, 1)) FROM edit))
            WHERE vat = 1;
        UPDATE running_sum SET checksum = checksum(8, vat, items, sum, '', '') WHERE vat = 1"
    rm st/gaspipe.mark
    for command in 'status --store st' 'replay --store st token'; do
        # shellcheck disable=SC2086 # several words
        run --separate-stderr "$NATIVE/gaspipe" $command
        assert_bad_input 4 'st/gaspipe.sqlite: the store is damaged: its keys and values are not those'
    done
    run --separate-stderr "$NATIVE/gaspipe" verify --store st
    assert_status 4
    assert_output_has 'st/gaspipe.sqlite: the store is damaged: its keys and values are not those that its cranks left'
    assert_output_has 'damaged in 1 place'
}

@test "a value that was set back to an older one with its checksum is found" {
    local before

    token_run 0
    before=$(sqlite3 st/gaspipe.sqlite "SELECT 'value = ' || quote(value) || ', checksum = ' || checksum
        FROM vatstore WHERE key = CAST('balance.a' AS BLOB)")
    "$NATIVE/gaspipe" run --counter none --store st --again --vat "$token" - < <(head -n 1 deliveries)
    store_edit st "UPDATE vatstore SET $before WHERE key = CAST('balance.a' AS BLOB)"
    run --separate-stderr "$NATIVE/gaspipe" status --store st
    assert_bad_input 4 'st/gaspipe.sqlite: the store is damaged: vat v1 has' 'set back'
}

@test "an edit with another program is found, and its mere use harms nothing" {
    token_run 0
    cp -r st edited
    sqlite3 edited/gaspipe.sqlite "UPDATE vatstore SET value = x'31'"
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --store edited --again --vat "$token" deliveries
    assert_status 5
    assert_has "$stderr" 'edited/gaspipe.sqlite: rows are damaged: 1, which gaspipe verify lists' \
        'edited/gaspipe.sqlite: the store is damaged: vat v1, key "' 'does not match its checksum'
    sqlite3 st/gaspipe.sqlite VACUUM
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --store st --again --vat "$token" deliveries
    assert_status 0
    # shellcheck disable=SC2154 # run sets it
    [[ $stderr == *'another program or the disk changed pages; all rows are whole'* ]] || fail "$stderr"
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --store st --again --vat "$token" deliveries
    [[ $stderr != *'another program'* ]] || fail "$stderr"
}

@test "a write-ahead log that lost its end is not taken for the store" {
    local pid to

    mkfifo lines
    "$NATIVE/gaspipe" run --json --counter none --store st --vat "$token" lines > told &
    pid=$!
    exec {to}> lines
    cat deliveries >&"$to"
    until [ "$(grep -c '"kind":"result"' told)" -eq 6 ]; do sleep 0.05; done
    kill -KILL $pid
    wait $pid || true
    exec {to}>&-
    cp -r st cut
    truncate -s $(($(stat -c %s st/gaspipe.sqlite-wal) - 100)) cut/gaspipe.sqlite-wal
    run --separate-stderr "$NATIVE/gaspipe" status --store cut
    assert_bad_input 4 'cut/gaspipe.sqlite: the store is damaged: its last commits are missing'
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --store cut --vat "$token" deliveries
    assert_bad_input 4 'its last commits are missing'
    rm cut/gaspipe.mark
    "$NATIVE/gaspipe" status --store cut
    "$NATIVE/gaspipe" status --store st
}

@test "a store that is deleted or replaced while it is in use is noticed before more is printed" {
    local pid kind to

    for kind in deleted replaced; do
        rm -rf st lines told
        mkfifo lines
        "$NATIVE/gaspipe" run --json --counter none --store st --vat "$token" lines > told 2> err &
        pid=$!
        exec {to}> lines
        head -n 3 deliveries >&"$to"
        until [ "$(grep -c '"kind":"result"' told)" -eq 3 ]; do sleep 0.05; done
        mv st "was-$kind"
        [ $kind = deleted ] || cp -r "was-$kind" st
        tail -n 3 deliveries >&"$to"
        exec {to}>&-
        status=0
        wait $pid || status=$?
        assert_status 4
        grep -q 'st/gaspipe.sqlite: the store was deleted or replaced while it was in use' err ||
            fail "$(cat err)"
        assert_equal "$(grep -c '"kind":"result"' told)" 3
    done
}

# ---- verify ----

@test "verify finds a store whole, also by replay, and changes nothing" {
    token_run 3
    cp st/gaspipe.sqlite before
    run --separate-stderr "$NATIVE/gaspipe" verify --store st --replay
    assert_status 0
    assert_output_has ', 2 snapshots, 7 items of transcripts, 1 vat restored, 1 vat replayed: whole'
    cmp before st/gaspipe.sqlite
    run --separate-stderr "$NATIVE/gaspipe" verify --store st --json
    assert_equal "$(jq -c '[.kind, .store, .transcriptItems, .damaged, .differs]' <<< "$output")" \
        '["summary","st",7,0,false]'
}

@test "verify replays no vat that had no delivery since its snapshot" {
    head -n 2 deliveries | "$NATIVE/gaspipe" run --counter none --store st --vat "$token" \
        --snapshot-initial 1 --snapshot-interval 1 -
    run --separate-stderr "$NATIVE/gaspipe" verify --store st --replay
    assert_status 0
    assert_output_has ', 1 vat restored, 0 vats replayed: whole'
}

@test "verify names each damage" {
    token_run 3
    store_edit st "UPDATE vatstore SET value = x'31'; DELETE FROM transcript WHERE position = 5;
        UPDATE snapshot_content SET bytes = zeroblob(length(bytes))"
    run --separate-stderr "$NATIVE/gaspipe" verify --store st
    assert_status 4
    assert_output_has 'st/gaspipe.sqlite: the store is damaged: vat v1, key "'
    assert_output_has 'st/gaspipe.sqlite: the store is damaged: vat v1 has'
    assert_output_has 'it is damaged: '
    assert_output_has 'st: the store is damaged: vat v1, item 5 of its transcript is missing'
    run --separate-stderr "$NATIVE/gaspipe" verify --json --store st
    assert_status 4
    assert_equal "$(jq -s 'map(select(.kind == "damage")) | length' <<< "$output")" \
        "$(jq 'select(.kind == "summary").damaged' <<< "$output")"
}

@test "verify of nothing, and without a store" {
    run --separate-stderr "$NATIVE/gaspipe" verify --store nothing
    assert_bad_input 3 'no such store'
    run --separate-stderr "$NATIVE/gaspipe" verify
    assert_bad_input 2 'give the directory of one store'
}

@test "a store of another format is refused, with its number" {
    token_run 3
    sqlite3 st/gaspipe.sqlite 'PRAGMA user_version = 2' > /dev/null
    for command in status verify; do
        run --separate-stderr "$NATIVE/gaspipe" $command --store st
        assert_bad_input 3 'a store of format 2; this gaspipe reads format 6'
    done
}

# ---- bit flips ----

@test "flipped bits change no answer" {
    BUILD=$NATIVE "$ROOT/tests/campaign/flips" -n 24 >&2
}

@test "a damaged snapshot is reported" {
    token_run 3
    store_edit st "UPDATE snapshot_content SET bytes = zeroblob(length(bytes))"
    run --separate-stderr "$NATIVE/gaspipe" replay --store st token
    assert_bad_input 4 'st/gaspipe.sqlite: snapshot' 'it is damaged'
    "$NATIVE/gaspipe" replay --store st token --from-start
    # There is no other vat, so the start ends with this one.
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --store st - \
        < <(echo '{"vat":"token","method":"balance","args":["bob"]}')
    assert_status 5
}

@test "what cannot be replayed from a store is reported" {
    token_run 0
    run --separate-stderr "$BUILD/gaspipe" replay --store st bank
    assert_bad_input 3 'st: vat bank: no such vat lives'
    run --separate-stderr "$BUILD/gaspipe" replay --store st
    assert_bad_input 2 'one vat'
    run --separate-stderr "$BUILD/gaspipe" replay --from-start deliveries
    assert_bad_input 2 '--store'
    run --separate-stderr "$BUILD/gaspipe" replay --store elsewhere token
    assert_bad_input 3 'elsewhere/gaspipe.sqlite: no such store'
    run --separate-stderr "$BUILD/gaspipe" replay --store st token --export missing/file
    assert_bad_input 4 'missing/file'
}
