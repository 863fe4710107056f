# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the tests that load this read and set them
# A store with a vat `bad`, whose failures are tried, and a vat `good`, which must not notice. $vats has the
# options that make both; line() writes a delivery for either; better.* is what `bad` is upgraded to.

# runs STORE OPTION...: with a snapshot after each second delivery. What is printed on stderr goes to
# the file err.
runs() {
    status=0
    timeout 120 "${bin:-$NATIVE}/gaspipe" run --json --counter none --retries 1 --store "$1" \
        --snapshot-initial 3 --snapshot-interval 3 "${@:2}" > out 2> err || status=$?
    output=$(cat out)
}

deliveries() {
    jq -c 'select(.kind == "delivery" and .description != "startVat") | [.vat, .status, .result]' out
}

said() {
    assert_has "$(cat err)" "$@"
}

# good_goes_on STORE OPTION...: a run that names only the other vat, and one without any lines.
good_goes_on() {
    line good get name '' > lines
    runs "$1" "${vats[@]:2}" "${@:2}" lines
    assert_status 5
    assert_equal "$(deliveries | jq -c '.[:2]')" '["good","ok"]'
    runs "$1" "${@:2}" - < /dev/null
    assert_status 5
    grep -qE '^gaspipe: vat bad is in quarantine: .*; run with (--release, --upgrade or --terminate, or|--terminate, or restore) ' err
}

# released STORE OPTION...: the vat's held deliveries run, and it continues.
released() {
    line bad get name '' > lines
    runs "$1" --release bad "${@:2}" lines
    assert_status 0
    assert_equal "$(deliveries | tail -n 1)" '["bad","ok","three three"]'
}

# decisions STORE STATUS [COMMAND...]: whatever people decide of the vat is done without its worker.
# STATUS: of the end of the vat, 1 where a message is held for it. COMMAND: checks the store.
decisions() {
    rm -rf decided
    cp -r "$1" decided
    line good get name '' > lines
    runs decided --terminate bad lines
    assert_status "$2"
    assert_equal "$(deliveries | tail -n 1 | jq -c '.[:2]')" '["good","ok"]'
    "${@:3}"
    rm -rf decided
    cp -r "$1" decided
    line bad again name '' > lines
    runs decided --upgrade "bad=$better" lines
    assert_status 0
    assert_equal "$(deliveries | tail -n 1)" '["bad","ok","again three"]'
    "${@:3}"
}

# whole_store: of both vats, with two snapshots each and a delivery after the last.
whole_store() {
    local i

    {
        for i in zero one two three; do line bad keep name $i; done
        for i in zero one two three; do line good remember name $i; done
    } > lines
    runs store "${vats[@]}" lines
    assert_status 0
    assert_equal "$(sqlite3 store/gaspipe.sqlite 'SELECT count(*) FROM snapshot WHERE vat = 1')" 2
}

# contents COUNT: SQL for the last ones of the snapshots of `bad`.
contents() {
    echo "hash IN (SELECT hash FROM snapshot WHERE vat = 1 ORDER BY position DESC LIMIT $1)"
}
