#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Reads slogreport --trace with npm's speedscope, in a browser.

load common
load browser

DATA=$ROOT/tests/data
PAGE=$ROOT/build/npm/node_modules/speedscope/dist/release/index.html

setup_file() {
    export BROWSER_DIRECTORY=$BATS_FILE_TMPDIR/browser DRIVER='' DRIVER_PID=''
    mkdir "$BROWSER_DIRECTORY"
    have_browser || return 0
    start_browser || { cat "$BROWSER_DIRECTORY/driver.log" >&2 && return 1; }
}

teardown_file() {
    stop_browser
}

needs_speedscope() {
    have_browser || skip 'chromium, chromedriver or curl is not installed (scripts/setup --page)'
    make_npm_peers && return
    cat "$npm_peers_log" >&3
    skip "npm's registry cannot be reached, so speedscope is not there"
}

text() {
    script 'return document.body.innerText'
}

shows() {
    text | grep -qF "$1"
}

# A page can load a file only as a script, and speedscope's own command hands it one too.
open_in_speedscope() {
    cd "$BATS_TEST_TMPDIR"
    "$BUILD/slogreport" --trace trace.json "$1" 2> /dev/null
    printf 'speedscope.loadFileFromBase64("trace.json", "%s")' "$(base64 -w 0 trace.json)" > trace.js
    webdriver POST url '{"url": "about:blank"}' > /dev/null
    console > /dev/null
    webdriver POST url "{\"url\": \"file://$PAGE#localProfilePath=$PWD/trace.js\"}" > /dev/null
    wait_for 60 shows 'Time Order' || fail "speedscope does not open it:" "$(text)" "$(console)"
}

# Messages of speedscope about itself and the browser are not about the trace.
says_nothing_more() {
    ! console | grep -vE '"(speedscope v|WebGL initialized|Importing as Trace Event|import: )|GL Driver Message|software WebGL'
}

# The tracks: "process, track".
tracks() {
    text | grep -aE '^[0-9]+[[:space:]]' | cut -f 2
}

# "DESCRIPTION #DELIVERY<tab>TIME" of each delivery of the track that is shown, in its table,
# where arguments distinguish functions too.
deliveries_shown() {
    text | sed -n '/^Total\tSelf/,$p' | tail -n +2 | paste -d '\t' - - - |
        sed -nE 's/^([^ ]+) \([^\t]*\t+[^\t]*\t+(.*) \{.*"deliveryNum":([0-9]+).*\}$/\2 #\3\t\1/p' | sort
}

# The same of the deliveries to a vat, out of slogreport's other output; none is a second long.
deliveries_expected() {
    "$BUILD/slogreport" --json --vat "$2" "$1" 2> /dev/null |
        jq -r 'select(.kind == "delivery") | [.description, .deliveryNum, .total * 1e6] | @tsv' |
        awk -F '\t' '{ printf "%s #%d\t", $1, $2
            if ($3 >= 1000) printf "%.2fms\n", $3 / 1000; else printf "%.2fµs\n", $3 }' | sort
}

@test "speedscope opens a trace: its tracks, and the time of each delivery" {
    local vat

    needs_speedscope
    open_in_speedscope "$DATA/shapes/live.slog"
    press t
    wait_for 60 shows 'Total Weight'
    assert_equal "$(tracks | sed 's/.*, //')" "$(printf '%s (tid %s)\n' kernel 0 v1 1 v4 2)"
    press "$KEY_ESCAPE" 3
    wait_for 60 shows 'Symbol Name'
    for vat in v1 v4; do
        press n
        wait_for 60 shows ", $vat (tid"
        deliveries_shown > shown
        deliveries_expected "$DATA/shapes/live.slog" "$vat" > expected
        [ -s expected ]
        diff expected shown
    done
    says_nothing_more
}

@test "speedscope opens traces of several kernels, replays and whole runs" {
    local file tracks

    needs_speedscope
    for file in "$DATA"/shapes/{restart,replay,cut,clock}.slog "$DATA/variety.slog.gz"; do
        open_in_speedscope "$file"
        tracks=$(jq '[.traceEvents[] | select(.ph == "B") | [.pid, .tid]] | unique | length' trace.json)
        # It shows no number for a single track.
        [ "$tracks" = 1 ] || wait_for 60 shows "(1/$tracks)"
        says_nothing_more
    done
}
