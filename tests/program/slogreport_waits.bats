#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport waits: delay that is handed on through the queue, and the functions that did it.

load common

DATA=$ROOT/tests/data

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

@test "what a delivery hands on is what others waited while it ran" {
    slogreport --json --causes "$DATA/variety.slog.gz" | jq -s -c 'map(select(.kind == "delivery" and (.replay | not) and .start and .total)
        | {id: "\(.vatID) \(.deliveryNum)", from: (.start * 1e9 | round), total: (.total * 1e9 | round), queued: ((.queued // 0) * 1e9 | round)})' > all
    # Compares every pair, in microseconds: jq reads times since the epoch no more exactly.
    jq -r '. as $all | map(select(.queued > 0)) as $waiters | $all[] | . as $other |
        ([$waiters[] | [.from, $other.from + $other.total] as $ends | [.from - .queued, $other.from] as $begins |
            ($ends | min) - ($begins | max) | select(. > 0)]) as $overlaps |
        select(($overlaps | add // 0) > 100000) | "\($other.id) \($overlaps | add / 1e5 | round)"' all | LC_ALL=C sort > expected
    [ "$(wc -l < expected)" -gt 5 ]
    slogreport waits --json --top 1000 "$DATA/variety.slog.gz" > waits
    jq -r 'select(.kind == "handed" and .handed > 1e-4) | "\(.vatID) \(.deliveryNum) \(.handed * 1e4 | round)"' waits | LC_ALL=C sort > found
    # Rounding may shift one of them by a tenth of a millisecond.
    assert_equal "$(join -j 1 <(sed 's/ /_/' expected) <(sed 's/ /_/' found) | awk '{ d = $2 - $3; if (d > 1 || d < -1) print }')" ''
    assert_equal "$(cut -d ' ' -f 1,2 found)" "$(cut -d ' ' -f 1,2 expected)"
    # Deliveries that ran meanwhile take no more than the wait itself; the longest comes first.
    assert_equal "$(jq -s -c 'map(select(.kind == "wait") | .queued as $queued | .behind | (map(.time) | add // 0) <= $queued + 1e-9 and
        ([.[].time] == ([.[].time] | sort | reverse))) | [length > 10, all]' waits)" '[true,true]'
    assert_equal "$(jq -s -c '(map(select(.kind == "handed").handed) | add) - (map(select(.kind == "waits").handed) | add) | fabs < 1e-6' waits)" true
    run slogreport waits "$DATA/variety.slog.gz"
    assert_output_has 'deliveries waited '
    assert_output_has 'which made others wait:'
    run slogreport waits --vat nobody "$DATA/variety.slog.gz"
    assert_output_has 'no delivery is known to have waited'
}

@test "the functions that made others wait, of a profile" {
    slogreport waits --json --top 1000 "$DATA/variety.slog.gz" > waits
    # In the delivery that others waited for longest, f takes three quarters, and g a quarter.
    jq -c 'select(.kind == "handed") | {kind: "function", vatID, deliveryNum, file: "a.js", line: 7} as $head |
        ($head + {function: "f", calls: 1, self: 300, total: 400}), ($head + {function: "g", calls: 1, self: 100, total: 100})' \
        waits | head -n 2 > profile
    slogreport waits --json --top 1000 --profile profile "$DATA/variety.slog.gz" > with
    assert_equal "$(jq -c 'select(.kind == "handed") | .functions | map(.share += 0)' with | head -n 1)" \
        '[{"function":"f (a.js:7)","share":0.75},{"function":"g (a.js:7)","share":0.25}]'
    assert_equal "$(jq -c 'select(.kind == "function") | [.function, .by, (.handed * 1e6 | round)]' with)" \
        "$(jq -c 'select(.kind == "handed") | .handed' waits | head -n 1 |
            jq -c '["f (a.js:7)", "computrons", (. * 0.75e6 | round)], ["g (a.js:7)", "computrons", (. * 0.25e6 | round)]')"
    run slogreport waits --profile profile "$DATA/variety.slog.gz"
    assert_output_has 'by computrons:'
    assert_output_has '75.0 %  f (a.js:7)'
    echo 'bank;transfer;f (a.js:7) 12' > folded
    run --separate-stderr slogreport waits --profile folded "$DATA/variety.slog.gz"
    assert_bad_input 3 'folded stacks do not say'
    run --separate-stderr slogreport waits --profile nothing "$DATA/variety.slog.gz"
    assert_bad_input 3 nothing
}
