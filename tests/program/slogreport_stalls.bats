#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport stalls: the stalls hidden in a slogfile are found, and nothing else.

load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

# 60 deliveries with one vatstoreGet each, as gaspipe writes them. Each takes 100 us
# down, 200 us of the worker, 50 us up, 30 us of the kernel, 40 us down, 200 us of the
# worker, 90 us up. In delivery 30 the span numbered $1 of these takes 20 ms more;
# $2 is the worker's CPU time in it, in microseconds.
deliveries() {
    awk -v late="$1" -v cpu="$2" 'function ns(us) { return sprintf("%.0f", 1000000000000 + us * 1000) }
    function line(type, more, us) {
        printf "{\"type\":\"%s\",\"crankNum\":%d,\"vatID\":\"v1\",\"deliveryNum\":%d,\"replay\":false,%s,\"time\":%.6f,\"monotime\":%.6f}\n",
            type, n, n, more, 1000 + us / 1e6, us / 1e6
    }
    BEGIN {
        split("100 200 50 30 40 200 90", usual, " ")
        print "{\"type\":\"slog-start\",\"version\":1,\"session\":\"s\",\"monoBase\":1000000000000,\"time\":1000,\"monotime\":0}"
        for (n = 1; n <= 60; n++) {
            at[0] = n * 100000
            for (i = 1; i <= 7; i++)
                at[i] = at[i - 1] + usual[i] + n % 7 + (n == 30 && i == late ? 20000 : 0)
            line("deliver", "\"vd\":[\"bringOutYourDead\"]", at[0])
            line("syscall", "\"syscallNum\":0,\"syscall\":\"vatstoreGet\",\"vsc\":[\"vatstoreGet\",\"k\"]", at[3])
            line("syscall-result", "\"syscallNum\":0,\"vsr\":[\"ok\",null]", at[4])
            line("deliver-result", sprintf("\"dr\":[\"ok\",null,{\"compute\":1000,\"instructions\":500000,\"timestamps\":[0,0,0,0],\"monotimes\":[%s,%s,%s,%s],\"cpu\":{\"user\":%d,\"sys\":0,\"nivcsw\":2}}]",
                ns(at[1]), ns(at[2]), ns(at[5]), ns(at[6]), n == 30 ? cpu : 400), at[7])
        }
    }'
}

stalls_of() {
    deliveries "$1" "$2" > "$BATS_TEST_TMPDIR/slog"
    slogreport stalls --json "$BATS_TEST_TMPDIR/slog" |
        jq -r '"\(.side) \(.span) c\(.crankNum) \(.cause) \(((.took - .usual) * 1000 | round))ms"'
}

@test "nothing stands out if everything is usual" {
    assert_equal "$(stalls_of 0 400)" ""
    run slogreport stalls "$BATS_TEST_TMPDIR/slog"
    assert_output_has '0 spans took far longer'
}

@test "what came late at the kernel while gaspipe had no CPU is not the pipe's fault" {
    local busy=() cpu cause span

    for cause in cpu-wait:19000000 null:9000000; do
        for span in 3 4 7 1; do
            deliveries "$span" 400 | sed "/\"deliver-result\",\"crankNum\":30,/ s/\"dr\":/\"cpuWait\":${cause#*:},&/" > "$BATS_TEST_TMPDIR/slog"
            assert_equal "$(slogreport stalls --json "$BATS_TEST_TMPDIR/slog" | jq -r .cause)" \
                "$([ $span = 1 ] && echo null || echo "${cause%:*}")"
        done
    done
    run slogreport --crank 30 "$BATS_TEST_TMPDIR/slog"
    assert_output_has '   gaspipe waited 0.009000 for a CPU'

    # More busy loops than CPUs, where the run is.
    cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    echo 'export const get = () => 1;' > "$BATS_TEST_TMPDIR/contract.js"
    yes '{"vat":"a","method":"get"}' | head -n 1000 > "$BATS_TEST_TMPDIR/lines"
    for _ in 1 2 3; do
        taskset -c "$cpu" sh -c 'while :; do :; done' &
        busy+=($!)
    done
    taskset -c "$cpu" "$BUILD/gaspipe" run --counter none --slog "$BATS_TEST_TMPDIR/live" \
        --placement same --vat "a=$BATS_TEST_TMPDIR/contract.js" "$BATS_TEST_TMPDIR/lines" \
        > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err"
    taskset -c "$cpu" "$BUILD/gaspipe" ping --count 1000 --placement same --json > "$BATS_TEST_TMPDIR/ping" \
        2>> "$BATS_TEST_TMPDIR/err"
    kill "${busy[@]}"
    assert_equal "$(grep -c -- "--placement same chose CPU $cpu, which was busy: gaspipe waited" "$BATS_TEST_TMPDIR/err")" 2
    jq -e '.slow.count > 0 and .slow.cpuWait + .slow.workerCpuWait > .slow.time / 2' "$BATS_TEST_TMPDIR/ping"
    slogreport --json "$BATS_TEST_TMPDIR/live" | jq -se 'map(select(.kind == "delivery"))
        | any(.cpuWait > 0.001) and all((.cpuWait // 0) <= .total)'
    # The waits are no part of the pipe's time, and all parts add up.
    run slogreport summary "$BATS_TEST_TMPDIR/live"
    assert_output_has '  no CPU for gaspipe'
    grep -Eq '^[0-9.]+ ms in deliveries, pipe [0-9]+ %, .*, no CPU [0-9]+ %' "$BATS_TEST_TMPDIR/out"
    # In the rows of deliveries and of vats, too, the waits are a column of their own.
    slogreport --top 20 "$BATS_TEST_TMPDIR/live" | awk 'NR == 1 { if (!/kernel ms no CPU ms unattr. ms/) exit 1 }
        NR > 1 { sum = $5 + $6 + $7 + $8 + $9 - $4; bad += sum > 0.004 || sum < -0.004; pipe += $5; waited += $8 }
        END { exit bad > 0 || pipe >= waited }'
    slogreport summary "$BATS_TEST_TMPDIR/live" | awk '
        function ms(number, unit) { return number * (unit == "s" ? 1000 : unit == "ms" ? 1 : unit == "µs" ? 0.001 : 0.000001) }
        /^vats .* kernel +no CPU$/ { getline; sum = ms($6, $7) + ms($8, $9) + ms($10, $11) + ms($12, $13)
            same = sum > 0.97 * ms($4, $5) && sum < 1.03 * ms($4, $5) } END { exit !same }'
    # Both ends' waits explain what came late: most of the lost time is not the pipe's.
    slogreport stalls --json --top 100000 "$BATS_TEST_TMPDIR/live" | jq -se '
        def lost(f): map(select(f) | .took - .usual) | add // 0;
        lost(true) > 0 and lost(.side == "pipe" and .cause == null) < lost(true) / 2'
    slogreport --json "$BATS_TEST_TMPDIR/live" | jq -se 'map(select(.kind == "delivery"))
        | any(.workerCpuWait > 0) and all((.cpuWait // 0) + (.workerCpuWait // 0) <= .total + 1e-9)'
}

@test "the waits of both ends are parts of their own, and explain stalls at the end that waited" {
    local case cause gaspipe worker spans span
    for case in worker-cpu-wait:1000:19000000:1.5 cpu-wait:19000000:1000:3.7 null:9000000:1000:3.7; do
        IFS=: read -r cause gaspipe worker spans <<< "$case"
        for span in ${spans/./ }; do
            deliveries "$span" 400 | sed "/\"deliver-result\",\"crankNum\":30,/ s/\"dr\":/\"cpuWait\":$gaspipe,\"workerCpuWait\":$worker,&/" \
                > "$BATS_TEST_TMPDIR/slog"
            assert_equal "$(slogreport stalls --json "$BATS_TEST_TMPDIR/slog" | jq -r .cause)" "$cause" "$case $span"
            slogreport summary "$BATS_TEST_TMPDIR/slog" > screen
            # pipe up and down, worker, kernel and both waits add up to the deliveries' time.
            slogreport --json "$BATS_TEST_TMPDIR/slog" | jq -se 'map(select(.cpuWait)) | length == 1
                and all(.cpuWait + .workerCpuWait <= .total)' > /dev/null
        done
    done
    run slogreport --crank 30 "$BATS_TEST_TMPDIR/slog"
    assert_output_has '   gaspipe waited 0.009000 for a CPU'
    run slogreport stalls "$BATS_TEST_TMPDIR/slog"
    assert_output_has 'pipe: result late at the kernel'
    sed -i 's/"cpuWait":9000000/"cpuWait":19000000/' "$BATS_TEST_TMPDIR/slog"
    run slogreport stalls "$BATS_TEST_TMPDIR/slog"
    assert_output_has 'no CPU: result late at the kernel; gaspipe waited 19.0 ms for a CPU in this delivery'
}

@test "each side's stall is found and named, and nothing else" {
    assert_equal "$(stalls_of 1 400)" 'pipe send c30 null 20ms'
    assert_equal "$(stalls_of 2 400)" 'worker worker c30 not-let-run 20ms'
    assert_equal "$(stalls_of 3 400)" 'pipe up c30 null 20ms'
    assert_equal "$(stalls_of 4 400)" 'kernel kernel c30 null 20ms'
    assert_equal "$(stalls_of 5 400)" 'pipe down c30 null 20ms'
    assert_equal "$(stalls_of 7 400)" 'pipe return c30 null 20ms'
}

@test "a worker that computed is distinguished from one that was not let run" {
    assert_equal "$(stalls_of 6 20300)" 'worker worker c30 computed 20ms'
    run slogreport stalls "$BATS_TEST_TMPDIR/slog"
    assert_output_has 'worker: took long, 500 k instructions, it computed (ran 20.3 ms, switched out 2 times)'
    deliveries 6 300 > "$BATS_TEST_TMPDIR/slog"
    run slogreport stalls "$BATS_TEST_TMPDIR/slog"
    assert_output_has 'it was not let run (ran 300 µs, switched out 2 times)'
}

@test "choices and --min-duration say what is named, not what is usual" {
    deliveries 4 400 > "$BATS_TEST_TMPDIR/slog"
    run slogreport stalls --json --crank 30 "$BATS_TEST_TMPDIR/slog"
    assert_output_has '"side":"kernel"'
    run slogreport stalls --json --crank 31- "$BATS_TEST_TMPDIR/slog"
    assert_output_lacks stall
    run slogreport stalls --json --min-duration 25ms "$BATS_TEST_TMPDIR/slog"
    assert_output_lacks stall
}

@test "the samples' vats do not stall by starting, which their computrons explain" {
    run slogreport stalls --json --top 1000 "$ROOT/tests/data/variety.slog.gz"
    assert_status 0
    assert_output_has '"span":"up"'
    assert_equal "$(jq -s -c 'map(select(.side == "worker" and .description == "startVat")) | length' <<< "$output")" 0
    assert_equal "$(jq -s -c 'all(.took > 5 * .usual and .like >= 20)' <<< "$output")" true
}

@test "the time of a stall has a form that --since accepts" {
    run slogreport stalls --top 1 "$ROOT/tests/data/variety.slog.gz"
    assert_status 0
    assert_output_has ' 2026-11-21T00:03:41.232871Z c295 v9 startVat : vatstoreSet'
    run slogreport --since 2026-11-21T00:03:41.232871Z --json "$ROOT/tests/data/variety.slog.gz"
    assert_equal "$(jq -s 'map(select(.kind == "delivery").start) | min >= 1795219421.232871' <<< "$output")" true
}

@test "there is one number of stalls, whatever --top says, and as many are named" {
    for file in variety.slog.gz small.slog.gz swingset.slog.zst; do
        for duration in 1ms 50us; do
            for top in 1 2 3 20 100000; do
                slogreport stalls --top $top --min-duration $duration "$ROOT/tests/data/$file" > "$BATS_TEST_TMPDIR/out"
                sed -n '1s/ spans.*//p' "$BATS_TEST_TMPDIR/out"
            done | sort -u > "$BATS_TEST_TMPDIR/numbers"
            number=$(cat "$BATS_TEST_TMPDIR/numbers")
            assert_equal "$(slogreport stalls --json --top 100000 --min-duration $duration "$ROOT/tests/data/$file" | wc -l)" "$number" "$file"
        done
    done
    [ "$number" -gt 0 ] || fail "no stall in the last"
    run slogreport stalls --top 1 "$ROOT/tests/data/variety.slog.gz"
    assert_output_has ' spans took far longer than similar ones, the first 1:'
    # Only chosen deliveries are counted; the usual time is learnt from all.
    run slogreport stalls --top 1 --vat v9 "$ROOT/tests/data/variety.slog.gz"
    assert_equal "${lines[0]%% *}" "$(slogreport stalls --json --top 100000 --vat v9 "$ROOT/tests/data/variety.slog.gz" | wc -l)"
}
