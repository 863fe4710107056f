#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run --max-workers: never more worker processes than that, and many vats with few.
# COUNT=1000 makes it that many vats.

load common
load store_contents

COUNT=${COUNT:-60}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    # This state is only in the worker: it is lost unless the vat is really restored.
    cat > sum.js << 'EOS'
let sum = 0;
export const add = number => (sum += number);
export const fail = () => { throw Error('as told'); };
EOS
}

# make_vats COUNT: the array `vats`, options for so many vats.
make_vats() {
    local i

    vats=()
    for ((i = 1; i <= $1; i++)); do
        vats+=(--vat "sum$i=sum.js")
    done
}

# rounds COUNT ROUNDS: each vat in its turn adds its own number.
rounds() {
    local i round

    for ((round = 0; round < $2; round++)); do
        for ((i = 1; i <= $1; i++)); do
            printf '{"vat":"sum%d","method":"add","args":[%d]}\n' "$i" "$i"
        done
    done
}

# The results that rounds COUNT ROUNDS has to have.
sums() {
    local i round

    for ((round = 1; round <= $2; round++)); do
        for ((i = 1; i <= $1; i++)); do
            echo $((i * round))
        done
    done
}

# make_worker PLACES: the program `worker`, of which no more than so many run at a time: each
# holds one of so many locks for as long as its process is there.
make_worker() {
    cat > worker << EOS
#!/usr/bin/env bash
for ((place = 1; place <= $1; place++)); do
    exec 9> "$PWD/place.\$place"
    ! flock -n 9 || exec "$NATIVE/gaspipe-worker" "\$@"
done
echo "\$\$" >> "$PWD/refused"
exit 1
EOS
    chmod +x worker
}

@test "there are never more workers than --max-workers says" {
    local workers

    make_vats 6
    for workers in 1 2 4; do
        make_worker $workers
        run --separate-stderr "$NATIVE/gaspipe" run --json "${vats[@]}" --sandbox off --worker ./worker \
            --snapshot-interval 3 --max-workers $workers - < <(rounds 6 3)
        assert_status 0
        [ ! -e refused ] || fail "with $workers:" "$(cat refused)"
        assert_equal "$(jq 'select(.kind == "result") | .value' <<< "$output")" "$(sums 6 3)"
    done
    # One more, and the worker says so.
    make_worker 3
    run --separate-stderr "$NATIVE/gaspipe" run --json "${vats[@]}" --sandbox off --worker ./worker \
        --max-workers 4 --retries 0 - < <(rounds 6 1)
    [ "$status" -ne 0 ] || fail "status $status"
    [ -s refused ] || fail "nothing was refused"
}

@test "many vats with eight workers, and again with the store" {
    make_vats "$COUNT"
    rounds "$COUNT" 3 > input
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --max-workers 8 --store store \
        --cranks-per-commit 100 "${vats[@]}" input
    assert_status 0
    assert_equal "$(jq 'select(.kind == "result") | .value' <<< "$output")" "$(sums "$COUNT" 3)"
    echo '{"vat":"sum7","method":"add","args":[0]}' > input
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --max-workers 8 --store store \
        --slog slog "${vats[@]}" input
    assert_status 0
    assert_equal "$(jq 'select(.kind == "result") | .value' <<< "$output")" 21
    assert_equal "$(grep -c '"vat-startup-start"' slog)" 1 "workers that were started"
}

@test "with few workers the store is the same to the byte, with its snapshots" {
    local workers limit

    make_vats 3
    rounds 3 3 > input
    for workers in 0 1 2; do
        limit=(--max-workers "$workers")
        [ "$workers" -gt 0 ] || limit=()
        "$NATIVE/gaspipe" run --counter none --snapshot-initial 2 --snapshot-interval 2 \
            --store "store.$workers" "${limit[@]}" "${vats[@]}" input
        store_contents "store.$workers" > "contents.$workers"
        cmp contents.0 "contents.$workers"
    done
    # The vats' snapshots, and the one that all start from.
    grep -q "'warm-" contents.0
    assert_equal "$(sqlite3 store.0/gaspipe.sqlite 'SELECT count(*) FROM snapshot')" 6
}

@test "with few workers, one that dies is retried" {
    make_vats 4
    mkfifo lines
    # Without snapshots, after which a worker is restarted and could be missed below.
    "$NATIVE/gaspipe" run --json --counter none --max-workers 2 --snapshot-interval 0 \
        "${vats[@]}" - < lines > out 2> err &
    local gaspipe=$!
    exec 8> lines
    rounds 4 1 >&8
    wait_for 60 eval '[ "$(grep -c "\"kind\":\"result\"" out)" -ge 4 ]'
    # Vats' workers; what may fork them is none.
    assert_equal "$(pgrep -c -P "$gaspipe" -f gaspipe-worker:v)" 2 "workers"
    pkill -KILL -P "$gaspipe"
    rounds 4 2 | tail -n 4 >&8
    exec 8>&-
    wait "$gaspipe" || fail "$(cat err)"
    assert_equal "$(jq 'select(.kind == "result") | .value' out)" "$(sums 4 2)"
}

@test "--max-workers takes a number" {
    run --separate-stderr "$NATIVE/gaspipe" run --vat a=sum.js --max-workers many -
    assert_bad_input 2 --max-workers many
}

@test "a vat whose heap grows between snapshots continues from each, as with one worker at a time" {
    local option

    cat > grow.js << 'EOS'
const kept = [];
export const grow = () => {
    for (let i = 0; i < 20000; i++) kept.push({ number: i });
    return kept.length;
};
EOS
    for option in '--jobs=1' '--max-workers=1'; do
        "$NATIVE/gaspipe" run --json --counter none --retries 0 --snapshot-initial 3 --snapshot-interval 4 \
            "$option" --slog "slog$option" --vat it=grow.js \
            - < <(yes '{"vat":"it","method":"grow","args":[]}' | head -n 20) > "out$option" 2> "err$option"
        assert_equal "$(jq 'select(.kind == "result") | .value' "out$option" | tail -n 1)" 400000
        run -1 grep 'tried again' "err$option"
        jq -r 'select(.type == "heap-snapshot-save") | .snapshotID' "slog$option" > "saved$option"
    done
    [ "$(wc -l < saved--jobs=1)" -gt 4 ]
    cmp saved--jobs=1 saved--max-workers=1
}

@test "after each snapshot a vat has one worker, another one than before" {
    mkfifo lines
    "$NATIVE/gaspipe" run --json --counter none --snapshot-initial 3 --snapshot-interval 4 --vat it=sum.js \
        - < lines > out 2> err &
    local gaspipe=$! first last

    exec 8> lines
    echo '{"vat":"it","method":"add","args":[1]}' >&8
    wait_for 60 eval '[ "$(grep -c "\"kind\":\"result\"" out)" -ge 1 ]'
    wait_for 60 eval 'first=$(pgrep -P "$gaspipe" -f gaspipe-worker:v1)' # it may be between two
    yes '{"vat":"it","method":"add","args":[1]}' | head -n 20 >&8
    wait_for 60 eval '[ "$(grep -c "\"kind\":\"result\"" out)" -ge 21 ]'
    last=$(pgrep -P "$gaspipe" -f gaspipe-worker:v1)
    [ "$(wc -w <<< "$last")" -eq 1 ] || fail "workers: $last"
    [ "$last" != "$first" ] || fail "it is the same worker"
    exec 8>&-
    wait "$gaspipe" || fail "$(cat err)"
    assert_equal "$(jq 'select(.kind == "result") | .value' out | tail -n 1)" 21
}
