#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where a run has its vats from: --vat, --new-vat, the store, --config; and --upgrade.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat > first.js << 'END'
export const write = value => store.set('value', String(value));
export const read = () => `first ${store.get('value')}`;
END
    sed 's/first \$/second $/' first.js > second.js
    echo 'export const read = () => {' > bad.js
}

# a_run OPTION... < LINES
a_run() {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store store "$@" -
}

results() {
    jq -c 'select(.kind == "delivery" and .description != "startVat") | .result' <<< "$output" | paste -sd ' '
}

to() {
    printf '{"vat":"%s","method":"%s","args":[%s]}\n' "$@"
}

@test "a store knows its vats; one that it does not know is made with --new-vat" {
    a_run < <(to notes write 1)
    assert_bad_input 2 'no such store; to make one, give at least one --vat NAME=FILE'
    a_run --vat notes=first.js < <(to notes write 1)
    assert_status 0
    a_run < <(to notes read)
    assert_status 0
    assert_equal "$(results)" '"first 1"'
    a_run --vat notse=first.js < <(to notes read)
    assert_bad_input 2 '--vat notse: the store has no such vat; did you mean notes?' '--new-vat notse=FILE'
    a_run < <(to nots read)
    assert_bad_input 3 'no vat "nots"; name its contract with --vat nots=FILE; did you mean notes?'
    for operation in --release=nots --set-limit=nots=heap:0 --terminate=nots --upgrade=nots=first.js; do
        a_run "$operation" < <(to notes read)
        assert_bad_input 3 "no vat 'nots' lives; did you mean notes?"
    done
    run --separate-stderr "$NATIVE/gaspipe" replay --store store nots
    assert_bad_input 3 'no such vat lives in the store; did you mean notes?'
    a_run --counter quemu < <(to notes read)
    assert_bad_input 2 "not 'quemu'; did you mean qemu?"
    a_run --again --new-vat more=second.js < <(to more write 2; to more read)
    assert_status 0
    assert_equal "$(results)" '{"@value":"undefined"} "second 2"'
    # Another run with the same options changes nothing.
    a_run --vat notes=first.js --new-vat more=second.js < <(to more read)
    assert_status 0
    assert_equal "$(results)" '"second 2"'
    a_run --new-vat more=first.js < /dev/null
    assert_bad_input 3 'vat more has another source' '--upgrade more=FILE'
    # An ended vat is known.
    a_run --terminate more < <(to notes read)
    assert_status 0
    a_run --vat more=second.js < <(to notes read)
    assert_status 0
}

@test "a plain contract is upgraded, keeps its store, and is replayed" {
    local jobs

    a_run --slog slog --vat notes=first.js < <(to notes write 1; to notes read)
    assert_status 0
    a_run --slog slog --upgrade notes=bad.js < <(to notes read)
    assert_bad_input 3 'bad.js:1: SyntaxError'
    # Nothing of it is kept.
    a_run --slog slog < <(to notes read)
    assert_status 0
    assert_equal "$(results)" '"first 1"'
    a_run --slog slog --upgrade notes=second.js < <(to notes read)
    assert_status 0
    assert_equal "$(results)" '"second 1"'
    # Once it has that contract, the option changes nothing.
    a_run --slog slog --upgrade notes=second.js < <(to notes write 3; to notes read)
    assert_status 0
    assert_equal "$(results)" '{"@value":"undefined"} "second 3"'
    assert_equal "$(complaints <<< "$stderr")" 'gaspipe: vat notes has the contract of --upgrade already'
    assert_equal "$("$NATIVE/gaspipe" status --json --store store |
        jq -c 'select(.kind == "vat") | .incarnation')" 1
    # A run with several jobs upgrades at the same place.
    for jobs in 1 3; do
        "$NATIVE/gaspipe" run --counter none --store "store-$jobs" --vat notes=first.js --jobs $jobs \
            - > /dev/null < <(to notes write 1)
        "$NATIVE/gaspipe" run --counter none --store "store-$jobs" --upgrade notes=second.js \
            --jobs $jobs - > "out-$jobs" < <(for i in 1 2 3 4; do to notes write $i; to notes read; done)
        "$NATIVE/gaspipe" status --json --store "store-$jobs" | jq -r '.activityHash // .activityhash // empty' > "hash-$jobs"
    done
    [ -s hash-1 ]
    cmp hash-1 hash-3
    grep -q 'second 4' out-3
    run "$NATIVE/gaspipe" replay slog
    assert_status 0
    run "$NATIVE/gaspipe" replay --store store --from-start notes
    assert_status 0
}

@test "what cannot be upgraded is said" {
    a_run --vat notes=first.js < <(to notes write 1)
    a_run --upgrade nobody=second.js < /dev/null
    assert_bad_input 3 "--upgrade nobody: no vat 'nobody' lives"
    echo '{"moduleFormat":"getExport","source":"x"}' > a.bundle
    a_run --upgrade notes=a.bundle < /dev/null
    assert_bad_input 3 '--upgrade notes: the vat is a plain contract, and cannot become a bundle'
    run --separate-stderr "$NATIVE/gaspipe" run --vat notes=first.js --upgrade notes=second.js -
    assert_bad_input 2 '--upgrade needs --store DIR'
}

@test "options from a file; those of the command line win" {
    mkdir deep
    cp first.js deep
    cat > deep/gaspipe.json << 'END'
{"vat": {"notes": "first.js"}, "store": "store", "counter": "none", "json": true,
 "max-syscalls": 5, "delivery-timeout": 0.5, "again": false}
END
    run --separate-stderr "$NATIVE/gaspipe" run --config deep/gaspipe.json --delivery-timeout 60 - \
        < <(to notes write 1; to notes read)
    assert_status 0
    assert_equal "$(results)" '{"@value":"undefined"} "first 1"'
    [ -e deep/store/gaspipe.sqlite ]
    echo '{"counter":"none","max-sycalls":5}' > bad.json
    run --separate-stderr "$NATIVE/gaspipe" run --config bad.json -
    assert_bad_input 3 'bad.json: unknown option "max-sycalls"; did you mean max-syscalls?'
    echo '{"json":1}' > bad.json
    run --separate-stderr "$NATIVE/gaspipe" run --config bad.json -
    assert_bad_input 3 'bad.json: "json" must be true or false'
    echo '{"store":[true]}' > bad.json
    run --separate-stderr "$NATIVE/gaspipe" run --config bad.json -
    assert_bad_input 3 'bad.json: "store" must be text or a number'
    printf '{\n"store":' > bad.json
    run --separate-stderr "$NATIVE/gaspipe" run --config bad.json -
    assert_bad_input 3 'bad.json:2:'
    echo '{"jobs":0}' > bad.json
    run --separate-stderr "$NATIVE/gaspipe" run --config bad.json -
    assert_bad_input 2 '--jobs needs a number from 1'
}
