#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Heavy use of the pipe: many frames in a delivery, long frames in both directions.

load common

# contract SOURCE: writes it to the file $contract.
contract() {
    contract=$BATS_TEST_TMPDIR/contract.js
    cat > "$contract" <<< "$1"
}

# deliver LINE...: gaspipe run on $contract, JSON lines, and a slogfile $slog.
deliver() {
    slog=$BATS_TEST_TMPDIR/slog
    printf '%s\n' "$@" > "$BATS_TEST_TMPDIR/deliveries.jsonl"
    run --separate-stderr "$BUILD/gaspipe" run --counter none --json --slog "$slog" \
        --vat "it=$contract" "$BATS_TEST_TMPDIR/deliveries.jsonl"
}

@test "a delivery of 5,000 store calls has 10,002 stamps, and slogreport has them all" {
    contract 'export const fill = count => {
        for (let i = 0; i < count; i++) store.set(`key${i}`, `value${i}`);
    };'
    deliver '{"vat":"it","deliver":["message","o+0",{"methargs":{"body":"#[\"fill\",[5000]]","slots":[]},"result":null}]}'
    assert_status 0
    assert_equal "$(jq -c 'select(.type == "deliver-result" and .deliveryNum == 2) | .dr[2] |
        [(.timestamps, .monotimes) | length], .timestamps == (.timestamps | sort)' "$slog")" \
        $'[10002,10002]\ntrue'

    run --separate-stderr "$BUILD/slogreport" --json "$slog"
    assert_status 0
    assert_equal "$(jq -c 'select(.deliveryNum == 2) | [.syscalls, .overrun, .unattributed + 0,
        ((.pipe + .worker + .kernel - .total) | fabs < 1e-6)]' <<< "$output")" '[5000,false,0,true]'
    run "$BUILD/slogreport" "$slog"
    assert_equal "$(grep -c ': vatstoreSet' <<< "$output")" 5000 "syscalls in the text"
}

@test "megabytes to the worker, from it, and both in one delivery" {
    contract 'export const keep = text => store.set("text", text);
        export const length = () => store.get("text").length;
        export const join = more => more + store.get("text");'
    text=$(head -c 2000000 /dev/zero | tr '\0' a)b
    deliver "{\"vat\":\"it\",\"method\":\"keep\",\"args\":[\"$text\"]}" \
        '{"vat":"it","method":"length"}' \
        "{\"vat\":\"it\",\"method\":\"join\",\"args\":[\"$text\"]}"
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "delivery") | .result |
        if type == "string" then [length, .[-2:]] else . end' <<< "$output")" \
        $'null\n{"@value":"undefined"}\n2000001\n[4000002,"ab"]'
}

@test "a worker that is sent its next deliveries while it answers does not lock up" {
    # 30 MB in each direction, of which pipes and worker buffer only a little.
    message=$(head -c 100000 /dev/zero | tr '\0' a)
    {
        echo='eglobalThis.handleCommand = bytes => ({ result: bytes })'
        printf '%d:%s,' "${#echo}" "$echo"
        for ((i = 0; i < 300; i++)); do printf '100001:?%s,' "$message"; done
    } > "$BATS_TEST_TMPDIR/frames"
    run bash -c '"$0" 3< "$1" 4>&1 | tr -dc a | wc -c' "$BUILD/gaspipe-worker" \
        "$BATS_TEST_TMPDIR/frames"
    assert_status 0
    [ "$output" -gt 30000000 ] || fail "only $output bytes came back"
}
