#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe fleet: spans of a recording, replayed by workers that come, go and are killed.

load common

DATA=$ROOT/tests/data

# A slogfile of a SwingSet kernel, as a run of a fleet in $BATS_FILE_TMPDIR/fleet, and its local
# replay.
setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    echo '{"computron": 2.5, "syscall": 1000}' > model
    "$BUILD/gaspipe" fleet submit --json --to fleet --run swingset --gas model "$DATA/swingset.slog.zst" > submitted
    "$BUILD/gaspipe" replay --json --gas model "$DATA/swingset.slog.zst" > local
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cp -r "$BATS_FILE_TMPDIR/fleet" .
}

# files DIRECTORY...: how many files are in them.
files() {
    find "$@" -type f | wc -l
}

# field KIND EXPRESSION: jq's answer for the object of that kind in $output.
field() {
    jq -r "select(.kind == \"$1\") | $2" <<< "$output"
}

fleet() {
    run --separate-stderr "$BUILD/gaspipe" fleet "$@"
}

# submit NAME [OPTION...]: the same source as another run, whose jobs are the same without options.
submit() {
    fleet submit --json --to fleet --run "$1" --gas "$BATS_FILE_TMPDIR/model" "${@:2}" "$DATA/swingset.slog.zst"
}

work() {
    fleet work --from fleet --lease 3 "$@"
}

@test "a killed worker's span is replayed by others, each result is stored once, and equals a local replay" {
    local jobs

    jobs=$(files fleet/jobs)
    "$BUILD/gaspipe" fleet work --from fleet --lease 3 2> first &
    local first=$!
    until [ "$(files fleet/taken)" -gt 0 ] || ! kill -0 $first; do sleep 0.02; done
    kill -9 $first
    wait $first || true
    [ "$(files fleet/taken)" -gt 0 ] || skip "the worker had finished before it was killed"
    fleet status --json --from fleet
    assert_equal "$(field run '"\(.spans) \(.done + .taken + .waiting)"')" "$jobs $jobs"
    work --slots 2
    assert_status 0
    [ "$(files fleet/results)" -eq "$jobs" ]
    [ "$(files fleet/taken fleet/waiting fleet/unfinished)" -eq 0 ]
    fleet collect --json --from fleet
    assert_status 0
    assert_equal "$output" "$(cat "$BATS_FILE_TMPDIR/local")"
    assert_equal "$(field summary '.priced == .deliveries and .gas >= .compute * 2.5 + .syscalls * 1000')" true
    fleet status --json --from fleet
    assert_equal "$(field run '.done == .spans and .deliveries == .deliveriesDone')" true
    # Jobs that were submitted once do not run again.
    submit again
    assert_equal "$(field run .added)" 0
    fleet collect --from fleet
    assert_bad_input 2 'there are several runs in it'
    fleet collect --json --from fleet --run again
    assert_equal "$output" "$(cat "$BATS_FILE_TMPDIR/local")"
}

@test "a span whose transcript has a wrong bit fails three times, is final and is named" {
    local object

    object=$(jq -r 'select(.vatID == "v4").transcript' fleet/jobs/*)
    printf 'X' | dd of="fleet/objects/$object.zst" bs=1 seek=300 conv=notrunc status=none
    work
    assert_status 0
    assert_equal "$(files fleet/failed)" 1
    fleet collect --from fleet
    assert_status 4
    [[ $stderr == *'failed: v4: v4, deliveries 1 to 8: '* ]] || fail "$stderr"
    assert_output_has 'v14    widgets'
    # Submitted again, it waits again.
    submit again
    assert_equal "$(field run .added)" 1
}

@test "a span whose snapshot has a wrong bit fails and is named" {
    local object

    "$BUILD/gaspipe" run --counter none --store st --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > out || [ $? -eq 1 ]
    fleet submit --to other --store st token
    assert_status 0
    object=$(jq -r .snapshot other/jobs/*)
    printf 'X' | dd of="other/objects/$object.zst" bs=1 seek=5000 conv=notrunc status=none
    fleet work --from other
    assert_status 0
    fleet collect --from other
    assert_status 4
    [[ $stderr == *'failed: v1: v1, deliveries 3 to 7: the snapshot: '* ]] || fail "$stderr"
}

@test "a vat whose bundle is not whole is not replayed, with the words of a local replay" {
    fleet submit --to broken "$DATA/swingset.slog.zst" "$DATA/variety.slog.gz"
    assert_status 0
    fleet work --from broken --slots 2
    assert_status 0
    "$BUILD/gaspipe" replay "$DATA/swingset.slog.zst" "$DATA/variety.slog.gz" > local
    fleet collect --from broken
    assert_status 0
    grep -q "^v13 .*not replayed: the bundle is incomplete" local
    assert_equal "$(grep "^v13 " <<< "$output")" "$(grep "^v13 " local)"
    run ! grep -q differs <<< "$output"
}

@test "what differs is found with vat and delivery, and the first difference of a vat is shown" {
    zstd -dcq "$DATA/swingset.slog.zst" |
        sed -E '/"deliver-result".*"deliveryNum":3,/s/"compute":[0-9]+/"compute":1/' > changed.slog
    fleet submit --to other changed.slog
    assert_status 0
    fleet work --from other
    assert_status 0
    fleet collect --json --from other
    assert_status 1
    assert_equal "$(field difference '"\(.vatID) \(.deliveryNum) \(.aspect) \(.recorded)"')" \
        $'v4 3 computrons 1\nv14 3 computrons 1'
}

@test "a worker of another build leaves the jobs to others" {
    local theirs=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

    work --worker "$theirs"
    assert_status 3
    # One line for all of that build, and one at the end.
    [[ $(complaints <<< "$stderr" | wc -l) = 2 && $stderr == *': v'*', deliveries '*'it is left to others'* &&
        $stderr == *'2 jobs were submitted for another build of the worker' ]] || fail "$stderr"
    [ "$(files fleet/taken)" -eq 0 ]
    assert_equal "$(files fleet/waiting)" "$(files fleet/jobs)"
    # It does what is for it, whatever lies between.
    submit theirs --worker "$theirs"
    assert_status 0
    work --worker "$theirs"
    assert_status 3
    fleet collect --json --from fleet --run theirs
    assert_status 0
    assert_equal "$(field vat .status)" $'same\nsame'
    assert_equal "$(files fleet/results)" 2
    work
    assert_status 0
    assert_equal "$(files fleet/results)" 4
}

@test "the scratch directory of a killed worker is removed by the next one" {
    local worker

    mkdir -p scratch/gaspipe-fleet-mine
    echo kept > scratch/gaspipe-fleet-mine/file
    TMPDIR=$PWD/scratch "$BUILD/gaspipe" fleet work --from fleet --stay 2> /dev/null 3>&- &
    worker=$!
    wait_for 30 eval '[ "$(files scratch)" -gt 2 ]'
    # A running worker's directory stays.
    TMPDIR=$PWD/scratch work --job "$(find fleet/jobs -name '*.json' | tail -n 1)"
    [ "$(find scratch -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
    kill -9 $worker
    wait $worker || true
    [ "$(find scratch -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
    TMPDIR=$PWD/scratch work
    # A directory that only has such a name stays.
    assert_equal "$(find scratch -mindepth 1)" $'scratch/gaspipe-fleet-mine\nscratch/gaspipe-fleet-mine/file'
}

@test "slogfiles are summed up and made tables of, one a job, as slogreport does with all of them" {
    local file files=("$DATA/small.slog.gz" "$DATA/swingset.slog.zst")

    # Names of files are bytes, which need not be UTF-8.
    cp "${files[0]}" $'\xff.slog.gz'
    fleet submit --to slogs --run named --kind rows $'\xff.slog.gz'
    assert_status 0
    fleet cancel --from slogs --run named
    assert_status 0
    echo '{"computron": 2, "syscall": 1000}' > model
    fleet submit --json --to slogs --run sums --kind summary --by all,vat,growth --gas model "${files[@]}"
    assert_equal "$(field run '"\(.of) \(.spans) \(.added)"')" 'summary 2 2'
    fleet submit --to slogs --run tables --kind rows --gas model "${files[@]}" "$BATS_FILE_TMPDIR/local"
    assert_status 0
    fleet work --from slogs
    assert_status 0
    fleet status --json --from slogs --run sums
    assert_equal "$(field run '.done == 2 and .bytesDone == .bytes')" true
    for file in "${files[@]}"; do
        "$BUILD/slogreport" summary --by all,vat,growth --gas model --histograms "${file##*/}.h" "$file" > /dev/null
        "$BUILD/slogreport" rows --gas model --out "${file##*/}.d" "$file"
    done
    fleet collect --json --from slogs --run sums --by vat,growth
    assert_status 0
    assert_equal "$output" "$("$BUILD/slogreport" merge --json --by vat,growth ./*.h)"
    [[ $output == *'"column":"gas"'*'"kind":"growth"'* ]]
    # The same where the slogfiles stay in a directory that the workers reach, too.
    mkdir -p shared/day
    cp "${files[@]}" shared/day
    fleet submit --json --to named --kind summary --by all,vat --gas model --shared shared shared/day/small.slog.gz \
        shared/day/swingset.slog.zst
    assert_equal "$(find named/objects -type f)" ''
    fleet work --from named
    assert_status 4
    [[ $stderr == *'is in a shared directory: give it with --shared DIR'* ]] || fail "$stderr"
    mv shared elsewhere
    fleet work --from named --shared elsewhere
    assert_status 0
    fleet collect --json --from named --by vat
    assert_equal "$output" "$("$BUILD/slogreport" merge --json --by vat ./*.h)"
    fleet submit --to named --kind rows --shared elsewhere "$DATA/small.slog.gz"
    assert_bad_input 3 'small.slog.gz is not in the directory --shared elsewhere'
    fleet submit --to named --run moved --kind rows --shared elsewhere elsewhere/day/small.slog.gz
    echo >> elsewhere/day/small.slog.gz
    fleet work --from named --shared elsewhere
    fleet collect --from named --run moved --out moved
    assert_status 4
    [[ $stderr == *'day/small.slog.gz: changed since submission'* ]] || fail "$stderr"
    # Files that are not slogfiles are named; the others are there.
    fleet collect --from slogs --run tables --out tables
    assert_status 4
    [[ $stderr == *'failed: local: local: slog: not a slogfile'* ]] || fail "$stderr"
    "$BUILD/slogreport" merge --out expected ./*.d
    cmp <(zcat tables/deliveries.csv.gz) <(zcat expected/deliveries.csv.gz)
    cmp <(zcat tables/requests.csv.gz) <(zcat expected/requests.csv.gz)
    fleet collect --from slogs --run tables
    assert_bad_input 2 'the run tables has tables: --out'
    fleet collect --from slogs --run sums --out tables
    assert_bad_input 2 'the run sums has no tables'
}

@test "a suite is estimated, an operation a job, as gaspipe estimate does each" {
    echo 'export const loop = n => { for (let i = 0; i < n; i++); };
        export const half = n => { for (let i = 0; i < n; i += 2); };' > shop.js
    echo '{"name": "shop", "counts": [10, 200], "contracts": {"shop": "shop.js"}, "charge": {"computron": 9000000},
        "operations": [{"name": "turn", "contract": "shop", "method": "loop"},
            {"name": "half a turn", "contract": "shop", "method": "half"}]}' > suite.json
    echo '{"computron": 7}' > model
    fleet submit --json --to costs --kind estimate --counter none --gas model .
    assert_equal "$(field run '"\(.of) \(.spans) \(.calls)"')" 'estimate 2 12'
    # One that was changed is a new job; the other is not.
    sed -i 's/"half a turn"/"half of it"/' suite.json
    fleet submit --json --to costs --run again --kind estimate --counter none --gas model .
    assert_equal "$(field run '"\(.spans) \(.added)"')" '2 1'
    fleet work --from costs
    assert_status 0
    fleet collect --json --from costs --run again
    assert_status 0
    assert_equal "$(sort <<< "$output")" "$("$BUILD/gaspipe" estimate --json --counter none --gas model . | sort)"
    fleet collect --from costs --run again
    assert_equal "$output" "$("$BUILD/gaspipe" estimate --counter none --gas model .)"
}

@test "bad input is one line" {
    local job

    mkdir empty
    fleet work --from empty
    assert_bad_input 3 "empty: not a fleet's directory"
    fleet status --from absent
    assert_bad_input 3 'absent: No such file'
    fleet work
    assert_bad_input 2 'give the fleet'
    fleet collect --from fleet
    assert_bad_input 3 'spans are not done; --partial'
    fleet submit --to fleet absent.slog
    assert_bad_input 3 'absent.slog'
    fleet submit --to fleet --kind summary --vat v1 "$DATA/small.slog.gz"
    assert_bad_input 2 '--kind summary does not go with options of a replay'
    fleet submit --to fleet --kind estimate --shared . .
    assert_bad_input 2 '--shared does not go with --kind estimate'
    fleet submit --to fleet --kind estimate absent
    assert_bad_input 3 "no suite 'absent'; give a directory with suite.json"
    fleet submit --to fleet --only 'a*' "$DATA/small.slog.gz"
    assert_bad_input 2 '--only and --near-protocol go with --kind estimate'
    job=$(find fleet/jobs -name '*.json' | head -n 1)
    jq -c '.arguments = ["--worker=/bin/sh"]' "$job" > job
    fleet work --from fleet --job job
    assert_bad_input 3 'job: not a job of a fleet'
    jq -c '{version, kind: "rows", name: "n", fingerprint, arguments: [],
        files: [{name: "../slog", object: .transcript}]}' "$job" > job
    fleet work --from fleet --job job
    assert_bad_input 3 'job: not a job of a fleet'
    jq -c '{version, kind: "rows", name: "n", fingerprint, arguments: [],
        files: [{name: "slog", object: .transcript, shared: "a/../../b"}]}' "$job" > job
    fleet work --from fleet --job job --shared .
    assert_bad_input 3 'job: not a job of a fleet'
    jq -c '.gas = {computrons: 1}' "$job" > job
    fleet work --from fleet --job job
    assert_bad_input 3 'job: not a job of a fleet'
    jq -c '.version = 3' "$job" > job
    fleet work --from fleet --job job
    assert_bad_input 3 'a job of version 3'
    echo '{"version":2}' > fleet/fleet.json
    fleet work --from fleet
    assert_bad_input 3 'of version 2'
}

@test "one job by its file, cancelled ones, and a missing object" {
    local job

    job=$(find fleet/jobs -name '*.json' | head -n 1)
    work --job "$job"
    assert_status 0
    assert_equal "$(ls fleet/results)" "$(basename "$job" .json).jsonl"
    fleet cancel --from fleet
    assert_status 0
    work
    assert_status 0
    assert_equal "$(files fleet/results)" 1
    fleet collect --from fleet
    assert_status 3
    [[ $stderr == *'cancelled'* ]] || fail "$stderr"
    submit swingset
    assert_status 0
    rm fleet/objects/*
    work
    assert_status 0
    fleet collect --from fleet
    assert_status 4
    [[ $stderr == *'the transcript: '*'is missing'* ]] || fail "$stderr"
}
