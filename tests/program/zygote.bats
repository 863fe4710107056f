#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Workers that are forked by a zygote do and cost what others do, and are confined as others are.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    # The keys of a Map are hashed by their addresses: the cost depends on where the heap is.
    cat > sum.js << 'EOS'
let sum = 0;
const seen = new Map();
export const add = number => {
    for (let i = 0; i < 100; i += 1) seen.set({ i }, i);
    return (sum += number);
};
EOS
    mkfifo lines
}

# start COUNTER OPTIONS...: a run of four vats that waits for lines from descriptor 8, where each
# has had one delivery; `gaspipe` is its process.
start() {
    local vat

    "$BUILD/gaspipe" run --json --counter "$1" --slog "slog.$1" --snapshot-interval 0 \
        --store "store.$1" "${@:2}" --vat a=sum.js --vat b=sum.js --vat c=sum.js --vat d=sum.js - \
        < lines > "out.$1" 2> err &
    gaspipe=$!
    exec 8> lines
    for vat in a b c d; do
        add $vat
    done
    wait_for 60 results "out.$1" 4
}

add() {
    echo "{\"vat\":\"$1\",\"method\":\"add\",\"args\":[5]}" >&8
}

# results FILE COUNT: so many have been printed.
results() {
    [ "$(grep -c '"kind":"result"' "$1")" -ge "$2" ]
}

finish() {
    exec 8>&-
    wait "$gaspipe" || fail "$(cat err)"
}

descriptors_of() {
    find "/proc/$1/fd" -mindepth 1 -printf '%f\n' | sort -n
}

# The oldest with that name: under QEMU those that it has forked keep it.
zygotes() {
    pgrep -o -P "$gaspipe" -f '^gaspipe-worker:zygote|gaspipe-worker:zygote *$'
}

@test "forked workers' counts and snapshots are those of executed ones" {
    local counter vat

    for counter in none qemu; do
        start $counter --sandbox off --snapshot-initial 2
        zygotes > /dev/null || fail "there is no zygote"
        finish
        # Replayed by workers that are executed.
        for vat in v1 v2 v3 v4; do
            run --separate-stderr "$BUILD/gaspipe" replay --counter $counter --store store.$counter $vat
            assert_status 0
        done
        # The first is executed, all others are forked, and do the same.
        assert_equal "$(jq -c 'select(.kind == "delivery") | [.deliveryNum, .compute, .instructions]' \
            out.$counter | sort | uniq -c | awk '{ print $1 }' | sort -u)" 4
    done
}

@test "a forked worker has no more than an executed one" {
    local status workers zygote

    start none
    if jq -e 'select(.type == "slog-start") | .sandbox | contains("control groups") | not' slog.none &&
        ! zygotes; then
        finish
        skip "workers have control groups with limits here"
    fi
    zygote=$(zygotes)
    mapfile -t workers < <(pgrep -P "$gaspipe" -f 'gaspipe-worker:v')
    assert_equal ${#workers[@]} 4
    for worker in "${workers[@]}"; do
        assert_equal "$(awk '$1 == "PPid:" { print $2 }' "/proc/$worker/status")" "$gaspipe"
        assert_equal "$(ps -o pgid= -p "$worker" | tr -d ' ')" "$worker"
        status=$(grep -E '^(Cap|NoNewPrivs|Seccomp:)' "/proc/$worker/status")
        assert_equal "$status" "$(grep -E '^(Cap|NoNewPrivs|Seccomp:)' "/proc/${workers[0]}/status")"
        assert_equal "$(descriptors_of "$worker")" "$(descriptors_of "${workers[0]}")"
    done
    # It has a title of its own, and ends with the run.
    kill -0 "$zygote"
    finish
    has_ended "$zygote"
}

@test "without its zygote a run continues" {
    local vat

    start none --sandbox off --max-workers 2
    kill -KILL "$(zygotes)"
    for vat in a b c d; do
        add $vat
    done
    finish
    assert_equal "$(jq -c 'select(.kind == "result") | .value' out.none | tr '\n' ' ')" \
        "5 5 5 5 10 10 10 10 "
}

@test "forked workers end with a supervisor that is killed" {
    local worker workers

    start none --sandbox off
    mapfile -t workers < <(pgrep -P "$gaspipe")
    assert_equal ${#workers[@]} 5
    kill -KILL "$gaspipe"
    for worker in "${workers[@]}"; do
        wait_for 60 has_ended "$worker"
    done
    exec 8>&-
    wait "$gaspipe" || true
}

# A vat of liveslots and a plain one that grow and collect, and keep something. A worker's first call of a
# function of libc costs more than later ones, so they also call what few contracts do.
write_busy_vats() {
    local work='Array.from({ length: 3000 }, (_, i) => ({ i, text: `${i}` })).length + uncommon(n)'
    local uncommon='const uncommon = n => { try { null.x; } catch { n += 1; }'

    uncommon+=' return 2 ** (n / 3) + Math.log(n + 2) + Math.atan2(n, 3) + Math.cbrt(n) + n % 1.5 +'
    uncommon+=' `${n / 7}`.length + parseFloat("1.5e3") + /a(b+)c/.exec("xabbc").index; };'
    echo "$uncommon const kept = new Map(); export const work = n => { kept.set({ n }, n); return $work + n; };" \
        > plain.js
    sed -e "s|^  'use strict';|&$uncommon|" \
        -e "s/heap: () => inHeap/work: n => { counts.init(\`\${n}\`, n); return $work + n; }/" \
        "$BATS_TEST_DIRNAME/vats/counter.js" | jq -Rs '{moduleFormat: "getExport", source: .}' \
        > live.bundle
    grep -q "uncommon.*3000" live.bundle
}

# work BUNDLE STORE VATS OPTIONS...: a run in which each vat works five times; all but the first
# time with a zygote that has warmed up, if there is one.
work() {
    local vat number vats=()

    for vat in $3; do
        vats+=(--vat "$vat=$1")
    done
    "$BUILD/gaspipe" run --json --counter qemu --slog "slog.$2" --snapshot-initial 6 \
        --snapshot-interval 3 --store "store.$2" "${@:4}" "${vats[@]}" - < lines > "out.$2" 2> err &
    gaspipe=$!
    exec 8> lines
    for number in 1 2 3 4 5; do
        for vat in $3; do
            echo "{\"vat\":\"$vat\",\"method\":\"work\",\"args\":[$number]}" >&8
        done
        if [ $number = 1 ] && [ "$3" != a ]; then
            wait_for 60 results "out.$2" 4
                fi
    done
    finish
}

# deliveries STORE: what they came to, each different one once.
deliveries() {
    jq -c 'select(.kind == "delivery") | [.deliveryNum, .compute, .instructions]' "out.$1" | sort -u
    # Snapshots of one vat: a vat of liveslots knows its ID.
    jq -r 'select(.type == "heap-snapshot-save" and .vatID == "v1") | .snapshotID' "slog.$1" | sort -u
}

@test "workers count and snapshot alike, executed and forked" {
    local bundle vat

    [ "$NATIVE" = "$BUILD" ] || skip 'QEMU and its workers are not sanitized'
    write_busy_vats
    for bundle in plain.js live.bundle; do
        # Alone, a vat's worker is executed; four with two workers are forked over and over.
        work $bundle "alone.$bundle" a
        work $bundle "crowd.$bundle" "a b c d" --max-workers 2
        run grep -c . < <(deliveries "alone.$bundle")
        [ "$output" -ge 7 ]
        assert_equal "$(deliveries "crowd.$bundle")" "$(deliveries "alone.$bundle")" $bundle
        for vat in v1 v4; do
            run --separate-stderr "$BUILD/gaspipe" replay --counter qemu --store "store.crowd.$bundle" \
                --from-start $vat
            assert_status 0
        done
    done
}

@test "profiles of forked workers are those of executed ones" {
    local vat

    start qemu --sandbox off --max-workers 2 --profile profile
    for vat in a b c d; do
        add $vat
    done
    finish
    assert_equal "$(jq -c 'del(.vatID, .vat, .crankNum)' profile | sort | uniq -c |
        awk '{ print $1 }' | sort -u)" 4
}

@test "the limit of a worker's memory holds in one that is forked" {
    local limit=300M vat worker

    echo 'const all = [];
export const add = number => number;
export const grow = n => { while (n--) all.push(new Uint8Array(1000000).fill(1)); return all.length; };' \
        > sum.js
    start qemu --max-memory $limit --max-heap 1G --max-workers 2 --compute-limit 0 \
        --retries 0
    for vat in a b; do
        add $vat
    done
    wait_for 60 results out.qemu 6
    for worker in $(pgrep -P "$gaspipe"); do
        [ "$worker" = "$(zygotes)" ] ||
            assert_equal "$(awk '/^Max data size/ { print $4 }' "/proc/$worker/limits")" 314572800
    done
    echo '{"vat":"a","method":"grow","args":[90]}' >&8
    echo '{"vat":"b","method":"grow","args":[400]}' >&8
    exec 8>&-
    wait "$gaspipe" || true
    assert_equal "$(jq -c 'select(.kind == "result") | .value' out.qemu | tail -n 2)" $'90\nnull'
    grep -q "vat b is in quarantine: .* the system gave it no memory" err
}
