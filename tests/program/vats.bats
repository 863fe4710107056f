#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# SwingSet's vats under our kernel: results are those of SwingSet's own kernel, garbage goes,
# and what came out once comes out again.

load common
load vats

CASES=$ROOT/tests/swingset

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    run_vats small here "$CASES/small.jsonl" --counter none
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "messages, promises and devices come to what SwingSet's kernel makes of them: small" {
    diff "$CASES/small.expected" "$BATS_FILE_TMPDIR/here/results"
}

# dispatched VAT DIRECTORY: the vat's deliveries but bringOutYourDead, without messages' arguments.
dispatched() {
    jq -c --arg vat "$1" 'select(.type == "deliver" and .vatID == $vat and .vd[0] != "bringOutYourDead") |
        .vd | if .[0] == "message" then .[2].methargs.body else . end' "$2/slog"
}

@test "what vats get from SwingSet's configuration, and when objects in results are garbage" {
    local here=$BATS_FILE_TMPDIR/here

    assert_equal "$(dispatched v1 "$here" | head -n 1)" '["startVat",{"body":"#{\"argv\":[]}","slots":[]}]'
    assert_equal "$(dispatched v5 "$here" | head -n 1)" '["startVat",{"body":"#{\"name\":\"!!odd\"}","slots":[]}]'
    dispatched v1 "$here" | grep -qF 'mint\":\"$3.Alleged: root\"'
    dispatched v1 "$here" | grep -qF 'timer\":\"$6.Alleged: device\"'
    # Intervals of their own: only when a line asks, and every three deliveries.
    assert_equal "$(grep -c '"vatID":"v4",.*"vd":\["bringOutYourDead"' "$here/slog")" 1
    grep -q '"vatID":"v5","deliveryNum":6,.*bringOutYourDead' "$here/slog"
    run ! grep -q '"vd":\["dropExports",\["o+d10/' "$here/slog"

    run_vats small released "$CASES/small.jsonl" --counter none --release-results
    grep -q '"vd":\["dropExports",\["o+d10/1:0"' released/slog
}

@test "--vat-options says what cannot be" {
    echo 'export const f = () => 1;' > plain.js
    echo '{"vat":"a","method":"f"}' > lines
    refused() {
        run -3 --separate-stderr "$BUILD/gaspipe" run --counter none --vat a=plain.js --vat-options "a=$1" lines
        assert_equal "$stderr" "gaspipe: --vat-options a: $2"
    }
    refused '{"parameters"' "not JSON, at byte 13: ':' expected near end of file"
    refused '[]' 'not a JSON object such as {"parameters":{"argv":[]}}'
    refused '{"parameter":{}}' 'unknown member "parameter"; "parameters" and "creationOptions" are known'
    refused '{"creationOptions":{"reapInterval":0}}' '"reapInterval" must be a positive integer or "never"'
    refused '{"creationOptions":{"reap":1}}' \
        'unknown creation option "reap"; gaspipe has reapInterval, reapGCKrefs and neverReap'
    refused '{"parameters":{"x":{"@vat":"a"}}}' \
        'parameters cannot have {"@vat":"a"}: a vat starts without references; send them with a delivery'
    run -2 --separate-stderr "$BUILD/gaspipe" run --counter none --vat a=plain.js --vat-options 'b={}' lines
    assert_equal "${stderr_lines[0]}" 'gaspipe: --vat-options b: no --vat or --new-vat has this name'
    # In a file of options it is a JSON value.
    echo '{"vat":{"a":"plain.js"},"vat-options":{"a":{"parameters":{"argv":[1]}}}}' > options.json
    run -0 --separate-stderr "$BUILD/gaspipe" run --counter none --slog slog --config options.json lines
    assert_equal "$(dispatched v1 . | head -n 1)" '["startVat",{"body":"#{\"argv\":[1]}","slots":[]}]'
}

@test "vats that make, end and upgrade vats, timers, garbage: variety" {
    run_vats variety here "$CASES/variety.jsonl" --counter none
    diff "$CASES/variety.expected" here/results
    # The upgraded vat still has its baggage.
    grep -qF '["fulfilled","first, read in version 2"]' here/results
    run --separate-stderr "$BUILD/gaspipe" replay --json here/slog
    assert_status 0
}

@test "a recording with one byte changed differs, and delivery and syscall are named" {
    cp -r "$BATS_FILE_TMPDIR/here" .
    sed '/"type":"syscall".*"vatID":"v3".*"deliveryNum":2,"syscallNum":0,/s/"vsc":\["vatstoreGet","v/"vsc":["vatstoreGet","w/' \
        here/slog > changed
    run diff here/slog changed
    assert_status 1
    run --separate-stderr "$BUILD/gaspipe" replay changed
    assert_status 1
    assert_output_has 'delivery 2, '
    assert_output_has 'syscall 0 differs'
}

@test "hashes are the same in another directory, in another environment, under QEMU" {
    cp -r "$BATS_FILE_TMPDIR/here" .
    HOME=/nowhere SOME=$(printf "%0500d" 7) run_vats small "there, with a long name/and deep" \
        "$CASES/small.jsonl" --counter qemu --cranks-per-commit 50
    [ -n "$(activity here)" ]
    assert_equal "$(activity "there, with a long name/and deep")" "$(activity here)"
}

# held CYCLES: how many keys the kernel has after so many times making and dropping objects.
held() {
    local i

    {
        head -n 1 "$CASES/small.jsonl"
        for ((i = 0; i < $1; i++)); do
            echo '{"vat":"conductor","method":"keep","args":[5]}'
            echo '{"vat":"conductor","method":"forget"}'
            echo '{"reap":true}'
        done
    } > "cycles-$1.jsonl"
    run_vats small "held-$1" "cycles-$1.jsonl" --counter none --cranks-per-commit 100
    grep -q '"dropImports"' "held-$1/slog"
    grep -q '"dropExports"' "held-$1/slog"
    sqlite3 "held-$1/store/gaspipe.sqlite" 'select count(*) from key' > "held-$1/count"
}

@test "dropped objects leave nothing, however many" {
    held 6
    held 18
    [ "$(cat held-6/count)" -gt 100 ]
    assert_equal "$(cat held-18/count)" "$(cat held-6/count)" "numbers of keys"
}
