#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Workers that are forked by a zygote do and cost what others do, and are confined as others are.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    # The keys of a Map are hashed by their addresses: what this costs tells where the heap is.
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

zygotes() {
    pgrep -P "$gaspipe" -f '^gaspipe-worker:zygote|gaspipe-worker:zygote *$'
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
    # It is told apart, and ends with the run.
    kill -0 "$zygote"
    finish
    has_ended "$zygote"
}

@test "without its zygote a run goes on" {
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
