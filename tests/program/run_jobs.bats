#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run --jobs: deliveries to different vats at the same time, and all that comes of them
# is to the byte what it is with one job: results, slog, store, counts.

load common
load store_contents
load vats

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat > work.js << 'EOS'
let calls = 0;
const spin = turns => {
    let x = 1;
    for (let i = 0; i < turns; i += 1) x = (x * 1103515245 + 12345) % 2147483648;
    return x;
};
// Takes time, and uses its store in every way.
export const work = turns => {
    calls += 1;
    const x = spin(turns);
    store.set('last', `${x}`);
    store.set(`k${x % 7}`, `${calls}`);
    if (calls % 3 === 0) store.delete(`k${(x + 1) % 7}`);
    console.log('call', calls);
    return [calls, store.get('last'), store.get('nothing') ?? null];
};
export const fail = () => { throw Error('as told'); };
export const store_much = count => {
    for (let i = 0; i < count; i += 1) store.set(`much${i}`, 'x'.repeat(100));
};
EOS
    vats=(--vat a=work.js --vat b=work.js --vat c=work.js)
}

# lines COUNT TURNS: work for each vat in its turn, of which some fails.
lines() {
    local i names=(a b c)

    for ((i = 0; i < $1; i++)); do
        printf '{"vat":"%s","method":"work","args":[%d]}\n' "${names[i % 3]}" $(($2 + i))
        ((i % 7 != 5)) || printf '{"vat":"%s","method":"fail"}\n' "${names[i % 2]}"
    done
}

# jobs_run JOBS DIRECTORY OPTION...: DIRECTORY gets store, slog, out and err.
jobs_run() {
    local directory=$2

    mkdir -p "$directory"
    "$NATIVE/gaspipe" run --json --counter none --jobs "$1" --store "$directory/store" \
        --slog "$directory/slog" "${@:3}" "${vats[@]}" input > "$directory/out" 2> "$directory/err" ||
        [ $? -eq 1 ] || fail "gaspipe run:" "$(tail -n 5 "$directory/err")"
}

# Prints a run's output and slog without times.
printed() {
    jq -cS 'del(.total, .pipe, .worker, .kernel, .elapsed)' "$1/out"
}

logged() {
    jq -cS 'walk(if type == "object"
        then del(.session, .pid, .monoBase, .time, .monotime, .seconds, .cpuWait, .workerCpuWait, .timestamps, .monotimes, .cpu)
        else . end)' "$1/slog"
}

# assert_same DIRECTORY DIRECTORY
assert_same() {
    diff <(printed "$1") <(printed "$2") > printed.diff ||
        fail "results differ:" "$(head -n 5 printed.diff)"
    diff <(logged "$1") <(logged "$2") > logged.diff ||
        fail "slogs differ:" "$(head -n 5 logged.diff)"
    diff <(store_contents "$1/store") <(store_contents "$2/store") > store.diff ||
        fail "stores differ:" "$(head -n 5 store.diff)"
}

# Deliveries that were sent before the one before them in the slog had ended.
overlaps() {
    jq -s '[.[] | select(.type == "deliver" or .type == "deliver-result")] |
        [range(1; length) as $i | select(.[$i].type == "deliver" and
            .[$i].monotime < .[$i - 1].monotime)] | length' "$1/slog"
}

@test "contracts: with two jobs and with three all is as with one, and they overlap" {
    local jobs

    lines 30 20000 > input
    jobs_run 1 one
    assert_equal "$(overlaps one)" 0 "deliveries that overlap with one job"
    for jobs in 2 3; do
        jobs_run $jobs many$jobs
        assert_same one many$jobs
        [ "$(overlaps many$jobs)" -gt 5 ] || fail "no deliveries overlap with $jobs jobs"
    done
}

@test "deliveries overlap where those before them computed for 2 ms, and short ones less" {
    unset GASPIPE_SPECULATE_ALWAYS
    lines 30 10 > input
    jobs_run 2 short --snapshot-interval 0
    lines 30 60000 > input
    jobs_run 2 long --snapshot-interval 0
    [ "$(overlaps long)" -gt 5 ] || fail "$(overlaps long) deliveries overlap"
    # On a busy machine a short one may take 2 ms, too; test_speculation has the rule itself.
    [ "$(overlaps short)" -lt "$(overlaps long)" ] || fail "$(overlaps short) short deliveries overlap"
    jobs_run 1 one --snapshot-interval 0
    assert_same one long
}

@test "under QEMU: the same instructions, and the report adds up" {
    [ "$NATIVE" = "$BUILD" ] || skip 'QEMU and its workers are not sanitized'
    lines 9 2000 > input
    NATIVE=$BUILD jobs_run 1 one --counter qemu
    NATIVE=$BUILD jobs_run 2 many --counter qemu
    assert_same one many
    assert_equal "$(jq -s '[.[] | select(.kind == "delivery") | .instructions > 1000] | all' many/out)" true
    run --separate-stderr "$BUILD/slogreport" --strict --json many/slog
    assert_status 0
    assert_equal "$(jq -sc '[.[] | select(.kind == "delivery") | (.total - .pipe - .worker - .kernel -
        .unattributed) * 1e6 | round | fabs] | unique' <<< "$output")" '[0]'
}

@test "a vat that exceeds a limit in a speculative delivery ends at its turn" {
    { lines 4 20000; echo '{"vat":"b","method":"work","args":[9000000]}'; lines 12 30000
        echo '{"vat":"c","method":"store_much","args":[50]}'; lines 12 30000; } > input
    jobs_run 1 one --compute-limit 3000000 --max-store-bytes 3000 --max-syscalls 60
    grep -q 'Compute meter exceeded' one/out
    grep -q 'bytes that a vatstore may have' one/out
    jobs_run 3 many --compute-limit 3000000 --max-store-bytes 3000 --max-syscalls 60
    assert_same one many
}

# refused_jobs DIRECTORY OPTION...: with one job and with three, a delivery whose worker continues past
# a syscall that the kernel refuses at its turn, costs the same.
refused_jobs() {
    jobs_run 1 "$1.one" "${@:2}"
    jobs_run 3 "$1.many" "${@:2}"
    assert_same "$1.one" "$1.many"
    assert_equal "$(jq -sc '[.[] | select(.kind == "delivery" and .error != null)][0] | .compute > 1000' "$1.many/out")" true
    # With three, it was measured.
    assert_equal "$(jq -c 'select(.type == "deliver-result" and .dr[0] == "error") | .dr[2].timestamps' "$1.many/slog" | head -n 1)" '[]'
}

@test "a speculative delivery past a refused syscall costs what it costs with one job" {
    { lines 6 2000; printf '{"vat":"%s","method":"%s","args":[%d]}\n' \
        a work 2000000 c store_much 50; lines 12 2000; } | grep -v '"fail"' > input
    refused_jobs bytes --max-store-bytes 3000
    refused_jobs calls --max-syscalls 20
    refused_jobs message --max-message-bytes 90
    # Its worker waits, or is at work, when it is refused.
    sed -i 's/2000000/1/' input
    jobs_run 1 short.one --max-syscalls 20
    jobs_run 3 short.many --max-syscalls 20
    assert_same short.one short.many
}

@test "under QEMU: a speculative delivery past a refused syscall costs the same" {
    [ "$NATIVE" = "$BUILD" ] || skip 'QEMU and its workers are not sanitized'
    { lines 6 2000 | grep -v '"fail"'; printf '{"vat":"%s","method":"%s","args":[%d]}\n' \
        a work 400000 c store_much 50 b work 1; } > input
    NATIVE=$BUILD
    refused_jobs counted --max-syscalls 20 --counter qemu
    assert_equal "$(jq -sc '[.[] | select(.kind == "delivery" and .error != null)][0] | .instructions > 10000' counted.many/out)" true
}

# The CPU time that a process has used, in ticks.
ticks_of() {
    awk '{ print $14 + $15 }' "/proc/$1/stat"
}

@test "a worker that is killed in a speculative delivery does not count as a failure" {
    local gaspipe first second before

    vats=(--vat a=work.js --vat b=work.js)
    printf '{"vat":"%s","method":"work","args":[%d]}\n' a 1 b 1 a 2000000 b 2000000 a 1 b 1 > input
    jobs_run 1 one
    mkdir many
    mkfifo pipe
    "$NATIVE/gaspipe" run --json --counter none --jobs 2 --store many/store --slog many/slog \
        --retries 0 "${vats[@]}" - < pipe > many/out 2> many/err &
    gaspipe=$!
    exec 8> pipe
    head -n 2 input >&8
    wait_for 60 eval '[ "$(grep -c "\"kind\":\"result\"" many/out)" -ge 2 ]'
    first=$(pgrep -P $gaspipe -f gaspipe-worker:v1:)
    second=$(pgrep -P $gaspipe -f gaspipe-worker:v2:)
    before=$(ticks_of "$second")
    # The first vat's delivery does not end before the other's worker has been killed.
    kill -STOP "$first"
    tail -n +3 input >&8
    wait_for 60 eval "[ \"\$(ticks_of $second)\" -gt $((before + 3)) ]"
    kill -KILL "$second"
    wait_for 60 has_ended "$second"
    kill -CONT "$first"
    exec 8>&-
    wait $gaspipe || fail "$(cat many/err)"
    grep -q 'delivered to again at its turn' many/err
    sed -i 's/"stdin:/"input:/' many/out
    diff <(printed one) <(printed many) || fail "results differ"
    diff <(store_contents one/store | sed s/input.name.*//) \
        <(store_contents many/store | sed s/input.name.*//) || fail "stores differ"
}

@test "a run that was killed resumes with another number of jobs" {
    local gaspipe

    lines 45 40000 > input
    jobs_run 1 one
    mkdir many
    # It cannot end before it is killed.
    mv input whole
    mkfifo input
    "$NATIVE/gaspipe" run --json --counter none --jobs 3 --store many/store "${vats[@]}" input \
        > many/out 2> many/err &
    gaspipe=$!
    exec 8> input
    head -n 30 whole >&8
    wait_for 60 eval '[ "$(grep -c "\"kind\":\"result\"" many/out)" -ge 9 ]'
    kill -KILL $gaspipe
    wait $gaspipe && fail "it was not killed"
    exec 8>&-
    mv whole input
    rm many/out
    jobs_run 2 many --resume
    diff <(store_contents one/store) <(store_contents many/store) || fail "stores differ"
    assert_equal "$(printed many | grep '"kind":"result"' | tail -n 3)" \
        "$(printed one | grep '"kind":"result"' | tail -n 3)" "results"
}

@test "vats that call each other, create vats and upgrade them: as with one job" {
    local jobs

    # To the first upgrade. With many lines queued, more of them are for different vats.
    sed '/"upgrade"/q' "$ROOT/tests/swingset/variety.jsonl" > lines
    for jobs in 1 3; do
        run_vats variety jobs$jobs lines --counter none --jobs $jobs --queue-lines 10 --snapshot-interval 200
    done
    assert_same jobs1 jobs3
    [ "$(overlaps jobs3)" -gt 5 ] || fail "no deliveries overlap"
}

@test "vats are restored in parallel, and logged one after the other" {
    local starts

    lines 45 10000 > input
    jobs_run 1 before --snapshot-interval 0
    lines 3 100 > input
    for jobs in 1 3; do
        mkdir run$jobs
        cp -r before/store run$jobs/store
        jobs_run $jobs run$jobs --snapshot-interval 0
    done
    assert_same run1 run3
    # With one job each start begins when the one before has ended; with three, sooner.
    starts='[.[] | select(.type == "start-replay" or .type == "finish-replay") | .monotime] |
        . == sort'
    assert_equal "$(jq -s "$starts" run1/slog)" true
    assert_equal "$(jq -s "$starts" run3/slog)" false
}

@test "few workers and several jobs" {
    local jobs

    lines 30 5000 > input
    for jobs in 1 3; do
        "$NATIVE/gaspipe" run --json --counter none --jobs $jobs --max-workers 2 --store store.$jobs \
            "${vats[@]}" input > out.$jobs 2> err.$jobs || [ $? -eq 1 ] || fail "$(cat err.$jobs)"
        jq -cS 'del(.total, .pipe, .worker, .kernel, .elapsed)' out.$jobs > printed.$jobs
        store_contents store.$jobs > contents.$jobs
    done
    diff printed.1 printed.3 || fail "results differ"
    diff contents.1 contents.3 || fail "stores differ"
    # With a slog, which records when workers end, there is one job, and a message
    # says so.
    jobs_run 3 logged --max-workers 2
    grep -qF 'running one job, not 3' logged/err
    ! grep -qF 'one job' err.3 || fail "without a slog there are three"
    assert_equal "$(overlaps logged)" 0 "deliveries that overlap"
    diff printed.1 <(printed logged) || fail "results differ"
}

@test "--jobs takes a number from 1 up" {
    run --separate-stderr "$NATIVE/gaspipe" run --jobs 0 --vat a=work.js -
    assert_bad_input 2 --jobs 0
}
