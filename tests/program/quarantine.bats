#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Contracts that compute without end where no computrons are counted: which limits end their vats,
# and what happens to those that only the clock stops.

load common

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    prepare
    quarantined_lines > lines
    runs "${vats[@]}" --slog slog lines
    printf '%s\n' "$output" > out
    printf '%s\n' "$stderr" > err
    assert_status 5
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    prepare
}

# The contract, and the vats that are run of it.
prepare() {
    cat > hostile.js << 'EOF'
export const set = value => { store.set('value', value); return value; };
export const get = () => store.get('value');
export const spin = () => { store.set('value', 'lost'); for (;;); };
export const indexOf = () => 'a'.repeat(3e7).indexOf('a'.repeat(15e6) + 'b');
export const join = () => Array(2 ** 28).join();
export const reverse = () => { const a = []; a[4e9] = 1; a[0] = 2; return a.reverse().length; };
export const keys = () => { const o = {}; for (let i = 0; i < 1e8; i++) o['k' + i] = i; return 1; };
export const power = () => 2n ** 1000000n;
export const promises = () => { const on = () => Promise.resolve().then(on); return on(); };
EOF
    hostile=(indexOf join reverse keys power promises)
    vats=(--vat bad=hostile.js --vat good=hostile.js)
}

# runs OPTION...: in the store, with a second for each delivery and no compute limit.
runs() {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store store \
        --compute-limit 0 --delivery-timeout 1 --retries 1 "$@"
}

line() {
    printf '{"vat":"%s","method":"%s","args":[%s]}\n' "$@"
}

deliveries() {
    jq -c 'select(.kind == "delivery" and .description != "startVat") | [.vat, .status, .result]' <<< "$output"
}

summary() {
    jq -c 'select(.kind == "summary") | [.deliveries, .failed, .unresolved, .quarantined]' <<< "$output"
}

quarantined_lines() {
    line bad set '"kept"'; line bad spin ''; line bad get ''; line good set '"on"'
}

# A store whose vat `bad` is in quarantine, for the second of four deliveries, with what the run
# of setup_file() printed.
quarantine() {
    cp -r "$BATS_FILE_TMPDIR"/{store,lines} .
    output=$(cat "$BATS_FILE_TMPDIR/out")
    stderr=$(cat "$BATS_FILE_TMPDIR/err")
}

replays() {
    run --separate-stderr "$NATIVE/gaspipe" replay --compute-limit 0 --store store --from-start bad
    assert_status 0
}

@test "a delivery that only the clock stops: its vat is put into quarantine, others continue" {
    quarantine
    assert_equal "$(deliveries)" $'["bad","ok","kept"]\n["good","ok","on"]'
    assert_equal "$(summary)" '[4,0,2,1]'
    [[ $stderr == *'vat bad, crank '*'it took longer than 1 s; failed after 2 tries: the vat is in quarantine'* ]] ||
        fail "$stderr"
    [[ $stderr == *'vat bad is in quarantine: it took longer than 1 s; run with --release'* ]] || fail "$stderr"
    # A later run holds what comes for it, and tries nothing.
    line bad set '"later"' > more
    runs "${vats[@]}" more
    assert_status 5
    assert_equal "$(deliveries)" ''
    assert_equal "$(summary)" '[0,0,1,1]'
    run "$NATIVE/gaspipe" run --counter none --store store "${vats[@]}" - < /dev/null
    assert_status 5
    assert_output_has '1 vat in quarantine'
}

@test "--skip-delivery: the message is rejected, and the held deliveries after it run" {
    quarantine
    runs --skip-delivery bad --slog slog
    assert_status 1
    assert_equal "$(deliveries)" '["bad","ok","kept"]'
    assert_equal "$(jq -c 'select(.kind == "result") | [.status, (.value | if type == "object" then ."#error" else . end)]' <<< "$output")" \
        '["rejected","the delivery was skipped by the operator"]
["fulfilled","kept"]'
    assert_equal "$(summary)" '[1,0,0,0]'
    assert_equal "$(jq -r 'select(.type == "crank-start") | .messageType' slog | head -n 1)" skip-delivery
    replays
}

@test "--release: the delivery runs again, with more time; --set-limit: under another limit" {
    quarantine
    runs --release bad
    assert_status 5
    [[ $stderr == *'failed after 2 tries'* ]] || fail "$stderr"
    runs --set-limit bad=compute:100000,syscalls:50
    assert_status 1
    assert_equal "$(deliveries)" '["bad","error",null]'
    assert_output_has 'more than the 100000 computrons'
    assert_equal "$(summary | jq -c '.[3]')" 0
}

@test "--set-limit: no replay of the vat can meet it" {
    quarantine
    cp -r store before
    runs --set-limit bad=compute:1000
    assert_bad_input 3 '--set-limit bad: compute cannot be less than' 'an earlier delivery used'
    runs --set-limit bad=heap:1000
    assert_bad_input 3 "heap is 0 or from 50331648 to 2147483648"
    runs --set-limit bad=heap:60000000
    assert_bad_input 3 'heap can only be raised'
    runs --set-limit bad=steam:1
    assert_bad_input 3 "unknown limit 'steam'"
    runs --set-limit bad=compute
    assert_bad_input 2 "'compute' is not NAME:NUMBER"
    # None of these changed anything.
    for kind in before store; do
        sqlite3 "$kind/gaspipe.sqlite" .dump > "$kind.dump"
    done
    cmp before.dump store.dump
}

@test "--terminate: the vat ends, and what was held is rejected; a replay of others agrees" {
    quarantine
    runs --terminate bad "${vats[@]}" lines --resume
    assert_status 1
    assert_equal "$(jq -c 'select(.kind == "result") | [.place, .status, .value."#error"]' <<< "$output")" \
        '["lines:2","rejected","vat terminated"]
["lines:3","rejected","vat terminated"]'
    line bad get '' > more
    runs "${vats[@]}" more
    assert_status 1
    assert_output_has 'the vat has ended: terminated by the operator'
    run "$NATIVE/gaspipe" replay --store store --from-start good
    assert_status 0
}

@test "a vat whose first delivery hangs: others continue, and the operator decides" {
    echo 'for (;;); export const get = () => 1;' > hang.js
    { line hang get ''; line good set '"on"'; } > lines
    runs --vat hang=hang.js --vat good=hostile.js lines
    assert_status 5
    assert_equal "$(deliveries)" '["good","ok","on"]'
    [[ $stderr == *'vat hang is in quarantine: it took longer than 1 s; run with --release'* ]] || fail "$stderr"
    runs --skip-delivery hang
    assert_bad_input 3 'only a message, a notification or bringOutYourDead can be skipped'
    cp -r store ended
    runs --set-limit hang=compute:100000
    assert_status 1
    [[ $output == *'"hang"'*'more than the 100000 computrons'* ]] || fail "$output"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store ended --terminate hang
    assert_status 1
    assert_equal "$(jq -c 'select(.kind == "result") | [.status, .value."#error"]' <<< "$output")" \
        '["rejected","vat terminated"]'
    run "$NATIVE/gaspipe" verify --replay --store ended
    assert_status 0
}

@test "what is decided is part of the hashes: the same again gives the same" {
    local hashes=() jobs

    for jobs in 1 3; do
        rm -rf store
        quarantined_lines > lines
        if [ $jobs -eq 1 ]; then quarantine; else runs --jobs $jobs "${vats[@]}" lines; fi
        runs --jobs "$jobs" --skip-delivery bad
        { line bad set '"a"'; line good set '"b"'; } > more
        runs --jobs "$jobs" "${vats[@]}" more
        assert_status 0
        hashes+=("$("$BUILD/gaspipe" status --json --store store | jq -r 'select(.kind == "store").activityHash')")
    done
    assert_equal "${hashes[0]}" "${hashes[1]}"
}

@test "several jobs: a vat in quarantine gets nothing before its turn either" {
    quarantined_lines > lines
    runs --jobs 3 --queue-lines 4 "${vats[@]}" lines
    assert_status 5
    assert_equal "$(deliveries)" $'["bad","ok","kept"]\n["good","ok","on"]'
}

@test "operations need a store, a vat that lives, and one in quarantine" {
    run --separate-stderr "$NATIVE/gaspipe" run --skip-delivery bad
    assert_bad_input 2 'need --store DIR'
    line good set '"on"' > lines
    runs "${vats[@]}" lines
    assert_status 0
    runs --skip-delivery good
    assert_bad_input 3 '--skip-delivery good: not in quarantine'
    runs --release nobody
    assert_bad_input 3 "no vat 'nobody' lives"
    runs --terminate v2
    assert_status 0
    runs --terminate good
    assert_bad_input 3 "no vat 'good' lives"
}

@test "no hostile contract stops others" {
    local method options=() ends

    for method in "${hostile[@]}"; do
        options+=(--vat "$method=hostile.js")
        line "$method" "$method" ''
    done > lines
    line good set '"on"' >> lines
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store store --max-heap 200M \
        --delivery-timeout 1 --retries 0 "${options[@]}" --vat good=hostile.js lines
    ends=$status
    assert_output_has '"vat":"good"'
    assert_equal "$(deliveries | tail -n 1)" '["good","ok","on"]'
    [ "$ends" -eq 5 ] || [ "$ends" -eq 1 ]
    # The store is not wedged.
    line good set '"again"' > more
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store store \
        "${options[@]}" --vat good=hostile.js more
    assert_equal "$(deliveries)" '["good","ok","again"]'
}

@test "under QEMU each ends its vat at the same place" {
    local method options=() round

    for method in "${hostile[@]}"; do
        options+=(--vat "$method=hostile.js")
        line "$method" "$method" ''
    done > lines
    for round in 1 2; do
        run --separate-stderr "$BUILD/gaspipe" run --json --counter qemu --max-heap 200M \
            --max-instructions 60000000 --retries 0 "${options[@]}" lines
        assert_status 1
        jq -c 'select(.kind == "delivery") | [.vat, .status, .error, .result, .compute, .instructions]' \
            <<< "$output" > "round.$round"
    done
    cmp round.1 round.2
    [ "$(grep -c limit round.1)" -ge 4 ]
}

@test "computrons above the limit are no success, whatever the worker says" {
    printf '#!/bin/sh\n[ "$1" = -l ] && shift 2\nexec "%s" "$@"\n' "$NATIVE/gaspipe-worker" > lax
    chmod +x lax
    { line good set '"one"'; line good get ''; } > lines
    run --separate-stderr "$NATIVE/gaspipe" run --json --worker ./lax --sandbox off --compute-limit 2400 \
        --vat good=hostile.js lines
    assert_status 1
    assert_equal "$(jq -c 'select(.kind == "delivery" and .crankNum > 1) | [.status, .limited, .compute > 2400]' <<< "$output")" \
        '["error","computrons",true]'
    assert_output_has 'Compute meter exceeded: more than the 2400 computrons'
}

@test "the slogfile of a run with a vat in quarantine is replayed without what was abandoned" {
    grep -q '"type":"gaspipe-host-failure"' "$BATS_FILE_TMPDIR/slog"
    run --separate-stderr timeout 60 "$NATIVE/gaspipe" replay --counter none --compute-limit 0 \
        "$BATS_FILE_TMPDIR/slog"
    assert_status 0
}
