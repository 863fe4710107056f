#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A vat that is upgraded to another bundle, to one that fails, and back: what is in its
# baggage stays, in real workers, in runs that were stopped, and in replays.

load common
load vats
load store_contents

# to METHOD ARGUMENT...: a line for the vat that makes and upgrades the other.
to() {
    local IFS=,

    echo "{\"vat\":\"conductor\",\"method\":\"$1\",\"args\":[${*:2}]}"
}

lines() {
    to bootstrap '{"conductor":{"@vat":"conductor"},"vatAdmin":{"@vat":"vatAdmin"}}' \
        '{"echo":{"@device":"echo"},"vatAdmin":{"@device":"vatAdmin"}}'
    to make '"notes"' '"lasting"' '{"vatParameters":{"version":1}}'
    to call '"notes"' '"write"' '"n1"' '"first"'
    to keepOf '"notes"' '"getEphemeral"'
    to upgrade '"notes"' '"lasting-second"' '{"vatParameters":{"version":2}}'
    to callKept '"greet"'
    to call '"notes"' '"amend"' '"n1"' '"amended"'
    to call '"notes"' '"read"' '"n1"'
    # It takes its parameters for an object, and so does not start.
    to upgrade '"notes"' '"lasting-second"' '{}'
    to call '"notes"' '"getVersion"'
    to upgrade '"notes"' '"lasting"' '{"vatParameters":{"version":3}}'
    to call '"notes"' '"read"' '"n1"'
    to call '"notes"' '"getGenerations"'
}

results() {
    cat << 'END'
{"@value":"undefined"}
"made"
["fulfilled",1]
1
["fulfilled",{"incarnationNumber":1}]
["rejected","vat terminated"]
["fulfilled",{"@value":"undefined"}]
["fulfilled","amended, read by the second bundle"]
["rejected","vat-upgrade failure"]
["fulfilled",2]
["fulfilled",{"incarnationNumber":2}]
["fulfilled","amended, read in version 3"]
["fulfilled",3]
END
}

# The vats, as the array `vats`.
name_vats() {
    local name

    vats=(--vat "conductor=$VATS/tests/conductor.bundle" --snapshot-interval 5 --reap-interval 9
        --vat "vatAdmin=$VATS/swingset/vat-vat-admin.bundle")
    for name in lasting lasting-second; do
        vats+=(--bundle "$name=$VATS/tests/$name.bundle")
    done
}

setup_file() {
    local vats

    cd "$BATS_FILE_TMPDIR" || return 1
    name_vats
    lines > input
    # A failed upgrade is a failed delivery.
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store whole --slog slog "${vats[@]}" input
    assert_status 1
    printf '%s\n' "$output" > whole.out
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
    name_vats
}

# replays_the_same VAT ARGUMENT...: with `gaspipe replay`; $output has what it printed.
replays_the_same() {
    run --separate-stderr "$NATIVE/gaspipe" replay --json "${@:2}"
    assert_status 0
    assert_equal "$(jq -c --arg vat "$1" 'select(.kind == "vat" and .vat == $vat) | .status' \
        <<< "$output")" '"same"'
}

@test "what a vat keeps in its baggage survives the next upgrade, and the one after" {
    assert_equal "$(jq -c 'select(.kind == "result") | .value' whole.out)" "$(results)"
}

@test "the last delivery to an incarnation is bringOutYourDead; stopVat is never sent" {
    jq -c 'if .type == "crank-start" then "\(.messageType) \(.crankType)"
        elif .type == "deliver" and .replay != true then .vd[0] else empty end' slog |
        grep -A 2 '"upgrade-vat delivery"' > upgrades
    assert_equal "$(grep -v -e upgrade-vat -e -- upgrades | uniq -c | awk '{ print $1, $2 }' | sort -u)" \
        '1 "bringOutYourDead"
1 "startVat"'
    [ "$(grep -c upgrade-vat upgrades)" -eq 3 ]
    run ! grep -q stopVat slog
}

@test "stopping and restarting after each upgrade does not change the outcome" {
    first='5 8 11' highest=1 at='"result".*\(incarnationNumber\|amended\)' \
        stopped input pieces --counter none
    assert_equal "$(outcome pieces.out)" "$(outcome whole.out)" "what was printed"
    assert_equal "$(store_contents pieces)" "$(store_contents whole)" "stores"
    replays_the_same notes --store pieces --from-start notes
}

@test "its transcript is reproduced by a replay: from the store, from a slogfile" {
    replays_the_same notes --store whole --from-start notes
    replays_the_same notes --vat notes slog
}

@test "a transcript with a stopVat from an older kernel is replayed" {
    local stop='{"d":["stopVat",{"body":"#{\"name\":\"vatUpgraded\"}","slots":[]}],"sc":[],"r":{"status":"STATUS"}}'

    "$NATIVE/gaspipe" replay --store whole --export transcript notes
    { cat transcript; echo "${stop/STATUS/ok}"; tail -n 1 transcript; } > stopped
    replays_the_same notes stopped
    assert_equal "$(jq -c 'select(.kind == "summary") | .deliveries' <<< "$output")" \
        $(($(wc -l < transcript) + 1))
    { cat transcript; echo "${stop/STATUS/error}"; } > other
    run --separate-stderr "$NATIVE/gaspipe" replay other
    assert_status 1
    assert_output_has stopVat
}

@test "a slogfile that only names the bundles, as SwingSet's do, requires --bundle" {
    awk '!(/^{"type":"create-vat"/ && /"name":"notes"/ && seen++)' slog > named
    run --separate-stderr "$NATIVE/gaspipe" replay --vat notes --json named
    assert_status 0
    assert_equal "$(jq -r 'select(.vat == "notes") | .status' <<< "$output")" skipped
    assert_output_has 'it was upgraded to a bundle that the file does not hold; give it with --bundle: b1-'
    replays_the_same notes --vat notes --bundle "$VATS/tests/lasting.bundle" \
        --bundle "$VATS/tests/lasting-second.bundle" named
    run --separate-stderr "$NATIVE/gaspipe" replay --bundle missing named
    assert_bad_input 3 missing
}

@test "the same under QEMU, to the instruction" {
    [ "$NATIVE" = "$BUILD" ] || skip 'QEMU and its workers are not sanitized'
    run --separate-stderr "$BUILD/gaspipe" run --json --store counted --slog counted.slog \
        "${vats[@]}" --snapshot-interval 0 - < <(head -n 8 input)
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "result") | .value' <<< "$output")" \
        "$(results | head -n 8)"
    run --separate-stderr "$BUILD/gaspipe" replay --counter qemu --json --vat notes counted.slog
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "vat") | [.status, .counted == .deliveries, .counted > 6]' \
        <<< "$output")" '["same",true,true]'
}
