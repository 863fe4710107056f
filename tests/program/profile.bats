#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run --profile: what deliveries cost by function and by line, to the last computron.

load common
load vats

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# profiled OPTION...: the token example, its results in `out`, the profile in `profile`.
profiled() {
    "$BUILD/gaspipe" run --json --profile profile --vat "token=$ROOT/examples/token/contract.js" "$@" \
        "$ROOT/examples/token/deliveries.jsonl" > out || [ $? -eq 1 ]
}

# sums KIND MEMBER: of the profile, a line `CRANK DELIVERY SUM` for each delivery.
sums() {
    jq -r -s --arg kind "$1" --arg member "$2" 'map(select(.kind == $kind)) | group_by(.vatID, .deliveryNum) |
        sort_by(.[0].crankNum, .[0].deliveryNum)[] | "\(.[0].crankNum) \(.[0].deliveryNum) \(map(.[$member]) | add)"' profile
}

# deliveries MEMBER: the same of the deliveries.
deliveries() {
    jq -r --arg member "$1" 'select(.kind == "delivery") | "\(.crankNum) \(.deliveryNum) \(.[$member])"' out
}

@test "profile: functions and lines add up to each delivery's computrons" {
    profiled --counter none
    assert_equal "$(sums function self)" "$(deliveries compute)"
    assert_equal "$(sums line self)" "$(deliveries compute)"
    assert_equal "$(jq -r 'select(.selfInstructions != null)' profile)" ""
    # The words of an error are made when the meter has been read.
    [ "$(jq -s 'map(select(.status == "error")) | length' out)" -gt 0 ]
    assert_equal "$(jq -c 'select(.self != null and .self < 0)' profile)" ""
}

@test "profile: under QEMU instructions add up as well" {
    profiled --counter qemu
    assert_equal "$(sums function self)" "$(deliveries compute)"
    assert_equal "$(sums function selfInstructions)" "$(deliveries instructions)"
    assert_equal "$(sums line selfInstructions)" "$(deliveries instructions)"
}

@test "profile: it changes no computron, and comes out the same each time" {
    profiled --counter none
    mv profile first
    "$BUILD/gaspipe" run --json --counter none --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > plain || [ $? -eq 1 ]
    assert_equal "$(deliveries compute)" \
        "$(jq -r 'select(.kind == "delivery") | "\(.crankNum) \(.deliveryNum) \(.compute)"' plain)"
    profiled --counter none
    cmp first profile
    # The same, compressed.
    "$BUILD/gaspipe" run --counter none --profile packed.zst --profile-folded folded.zst \
        --vat "token=$ROOT/examples/token/contract.js" "$ROOT/examples/token/deliveries.jsonl" > printed || [ $? -eq 1 ]
    zstd -dcq packed.zst | cmp first -
    [ "$(stat -c %s packed.zst)" -lt "$(($(stat -c %s first) / 4))" ]
    assert_equal "$(zstd -dcq folded.zst | awk '{ sum += $NF } END { print sum }')" \
        "$(jq -s 'map(select(.kind == "function").self) | add' first)"
    "$BUILD/slogreport" profile packed.zst > table
    "$BUILD/slogreport" profile first | cmp table -
}

@test "profile: calls, callers and lines are those of the contract" {
    cat > fib.js << 'END'
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
export function work(n) {
    const numbers = [];
    for (let i = 0; i < 50; i++)
        numbers.push((i * 31) % 53);
    numbers.sort((a, b) => a - b);
    const result = fib(n); // not a tail call, for which XS reuses the frame
    return result;
}
END
    echo '{"vat":"fib","method":"work","args":[10]}' |
        "$BUILD/gaspipe" run --json --counter none --profile profile --profile-folded folded \
            --vat fib=fib.js - > out
    # 177 calls of fib(n) for n = 10, all but the first by itself.
    assert_equal "$(jq -c 'select(.function == "fib") | [.calls, .line]' profile)" '[177,1]'
    # The comparison runs below sort, which spends computrons of its own.
    jq -e -s 'any(.function == "sort" and .self > 0 and .total > .self)' profile
    # Line 5 is run fifty times, line 3 once.
    [ "$(jq 'select(.kind == "line" and .line == 5 and (.file | tostring | endswith(".js"))) | .self' profile)" -gt \
        "$(jq 'select(.kind == "line" and .line == 3 and (.file | tostring | endswith(".js"))) | 10 * .self' profile)" ]
    grep -qE '^fib;work;.*;work \(.*:2\);fib \(.*:1\);fib \(.*:1\) [0-9]+$' folded
    assert_equal "$(awk '{ sum += $NF } END { print sum }' folded)" \
        "$(jq -s 'map(select(.kind == "delivery") | .compute) | add' out)"
}

@test "profile: of vats under liveslots, which run some work unmetered, and of several jobs" {
    local jobs

    for jobs in 1 2; do
        "$BUILD/gaspipe" run --json --counter none --jobs $jobs --profile profile.$jobs \
            --vat "conductor=$VATS/tests/conductor.bundle" --vat "ledger=$VATS/tests/ledger.bundle" - \
            > out << 'END' || [ $? -eq 1 ]
{"vat":"conductor","method":"bootstrap","args":[{"conductor":{"@vat":"conductor"},"ledger":{"@vat":"ledger"}}]}
{"vat":"conductor","method":"roundTrip","args":["hello"]}
{"vat":"conductor","method":"refusal","args":["oh no"]}
END
        cp profile.$jobs profile
        assert_equal "$(sums function self)" "$(deliveries compute | grep -v null)"
        assert_equal "$(sums line self)" "$(deliveries compute | grep -v null)"
    done
    cmp profile.1 profile.2
}

@test "profile: a replay splits what a recording's deliveries cost, also of one that was stopped" {
    "$BUILD/gaspipe" replay --json --deliveries --profile profile --profile-folded folded \
        "$ROOT/tests/data/swingset.slog.zst" > out
    # Every delivery has one, and costs what SwingSet's own worker recorded.
    jq -r 'select(.kind == "delivery") | "\(.vatID) \(.deliveryNum) \(.compute)"' out | sort > compute
    jq -e -s 'map(select(.kind == "delivery" and .recordedCompute != null and .recordedCompute != .compute)) ==
        []' out
    for kind in function line; do
        jq -r -s --arg kind $kind 'map(select(.kind == $kind)) | group_by(.vatID, .deliveryNum)[] |
            "\(.[0].vatID) \(.[0].deliveryNum) \(map(.self) | add)"' profile | sort > sums
        cmp compute sums
    done
    assert_equal "$(awk '{ sum += $NF } END { print sum }' folded)" \
        "$(awk '{ sum += $NF } END { print sum }' compute)"
}

@test "profile: instructions of a profiled run are compared with those of a profiled replay only" {
    profiled --counter qemu --slog slog
    "$BUILD/gaspipe" replay --json --counter qemu --profile again slog > same
    assert_equal "$(jq 'select(.kind == "summary") | .counted' same)" 7
    "$BUILD/gaspipe" replay --json --counter qemu --vat v1 slog > plain
    assert_equal "$(jq 'select(.kind == "summary") | .counted' plain)" 0
    jq -c 'del(.crankNum)' profile | cmp - <(jq -c 'del(.crankNum)' again)
}

@test "profile: what is wrong is said, and nothing is written over" {
    echo 'export const f = () => 1;' > contract.js
    run "$BUILD/gaspipe" run --counter none --profile contract.js --vat v=contract.js - <<< ''
    assert_status 2
    assert_equal "$(cat contract.js)" 'export const f = () => 1;'
    run "$BUILD/gaspipe" run --counter none --profile /nowhere/file --vat v=contract.js - <<< ''
    assert_status 4
    run "$BUILD/gaspipe" run --worker /bin/true --profile p --vat v=contract.js - <<< ''
    assert_status 2
    run "$BUILD/gaspipe" replay --profile p --parallel 2 "$ROOT/tests/data/swingset.slog.zst"
    assert_status 2
    run "$BUILD/gaspipe" replay --trace-functions t --counter qemu "$ROOT/tests/data/swingset.slog.zst"
    assert_status 2
    cp "$ROOT/tests/data/swingset.slog.zst" slog.zst
    run "$BUILD/gaspipe" replay --profile slog.zst slog.zst
    assert_status 2
    cmp slog.zst "$ROOT/tests/data/swingset.slog.zst"
}
