#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe-worker --record, and gaspipe replay of its files.

load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# recorder: a script that runs gaspipe-worker with --record.
recorder() {
    printf '#!/bin/sh\nexec "%s" --record "%s/frames" "$@"\n' "$BUILD/gaspipe-worker" "$PWD" > worker
    chmod +x worker
}

# session FRAME...: a session of these frames; lengths are in bytes.
session() {
    local LC_ALL=C status=0

    for frame in "$@"; do
        printf '%d:%s,' "${#frame}" "$frame"
    done | "$BUILD/gaspipe-worker" --record frames -l 1000000 3<&0 4> answers || status=$?
    # 15: the last command threw.
    [ "$status" -eq 0 ] || [ "$status" -eq 15 ]
}

replay() {
    run --separate-stderr "$BUILD/gaspipe" replay "$@"
}

# outcome EXPRESSION: of --json.
outcome() {
    jq -c "$1" <<< "$output"
}

@test "a run's session is replayed with the same outcome" {
    recorder
    "$BUILD/gaspipe" run --sandbox off --worker ./worker --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > /dev/null || [ $? -eq 1 ]
    requests=0
    for file in frames/*.frames; do
        replay --json "$file"
        assert_status 0
        assert_equal "$(outcome '[.status, .unanswered]')" '["same",false]'
        requests=$((requests + $(outcome .requests)))
    done
    [ "$requests" -gt 10 ]
    replay "$file"
    assert_status 0
    assert_output_has ', the same'
}

@test "every frame is recorded, in both directions, with increasing times, and any bytes" {
    session $'e1 +\t1' 'e"ü"' R 'ethrow 1'
    run strings frames/*
    assert_output_has 'gaspipe-recording 1 1000000 0 0 0'
    assert_equal "$(grep -ao ',[0-9]*:[<>] [0-9]* ' frames/* | cut -d: -f2- | cut -d' ' -f2 | sort -nc)" ''
    assert_equal "$(grep -ao ',[0-9]*:[<>] ' frames/* | cut -d: -f2 | tr -d ' \n')" '><><><><'
    replay --json frames/*
    assert_equal "$(outcome '[.status, .commands, .frames]')" '["same",4,8]'
}

@test "each part that differs is named" {
    session 'eglobalThis.handleCommand = bytes => ({ result: issueCommand(bytes) });' '?ab' '/answer' 'ethrow 7'
    cp frames/* original
    change() {
        sed "$1" original > changed
        run -1 cmp -s changed original
        replay --json changed
        assert_status 1
        assert_equal "$(outcome '[.status, .aspect]')" "[\"differs\",\"$2\"]"
    }
    change 's/\x01answer/\x01ANSWER/' result
    change 's/< \([0-9]* [0-9]*\) ?ab/< \1 ?xy/' request
    change 's/ !7,/ !8,/' error
    change 's/"compute":\([0-9]\)/"compute":9/' computrons
    replay changed
    assert_output_has 'the last one differs: computrons'
    assert_output_has 'recorded: 9'
}

@test "a recording truncated at any byte is replayed up to there" {
    session e1 e2
    whole=$(wc -c < frames/*)
    for size in $(seq 0 37 "$whole"); do
        head -c "$size" frames/* > cut
        replay --json cut
        # Without a complete header it is not a recording, without a command there is nothing to do.
        [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "status $status at $size bytes"
        [ "$status" -eq 3 ] || assert_equal "$(outcome .status)" '"same"'
    done
}

@test "the limit and the parser's size are as they were" {
    {
        frame='efor (;;);'
        printf '%d:%s,' "${#frame}" "$frame"
    } | "$BUILD/gaspipe-worker" --record frames -l 12345 -s 64 -i 7 3<&0 4> answers || [ $? -eq 17 ]
    replay --json frames/*
    assert_status 0
    assert_equal "$(outcome '[.status, .unanswered]')" '["same",true]'
}

@test "a session from a snapshot is recorded with the snapshot, from a path and from a pipe" {
    session 'eglobalThis.x = 41' wsnapshot
    "$BUILD/gaspipe-worker" -r snapshot --record path 3< <(printf '8:ethrow x,') 4> answers || [ $? -eq 15 ]
    "$BUILD/gaspipe-worker" -r @8:mine --record pipe 3< <(printf '8:ethrow x,') 4> answers 8< <(cat snapshot) ||
        [ $? -eq 15 ]
    cmp path/*.snapshot snapshot
    cmp pipe/*.snapshot snapshot
    # A replay does not write a snapshot again, either.
    rm snapshot
    for file in frames/* path/*.frames pipe/*.frames; do
        replay --json "$file"
        assert_status 0
        assert_equal "$(outcome '[.status, .unanswered]')" '["same",false]'
    done
    [ ! -e snapshot ]
    grep -qa '!41' path/*.frames
    rm pipe/*.snapshot
    replay pipe/*.frames
    assert_bad_input 3 snapshot 'No such file'
}

@test "a recording that cannot be written does not affect the session" {
    run "$BUILD/gaspipe-worker" --record /dev/null/x 3< /dev/null 4> answers
    assert_status 2
    assert_output_has '--record /dev/null/x'
    mkdir frames
    (
        ulimit -f 1
        trap '' XFSZ
        yes 2:e1, | head -n 200 | tr -d '\n' | "$BUILD/gaspipe-worker" --record frames 3<&0 4>&1 2> words
    ) | grep -o '"compute"' | wc -l > count
    assert_equal "$(grep -c 'no more is recorded' words)" 1
    assert_equal "$(cat count)" 200
}

@test "without --record nothing is written" {
    printf '2:e1,' | "$BUILD/gaspipe-worker" 3<&0 4> answers
    assert_equal "$(ls)" answers
}
