#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport summary and merge.

load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

DATA=$ROOT/tests/data

slogreport() {
    "$BUILD/slogreport" "$@"
}

@test "sums are those of the deliveries, percentiles within a 64th of the exact ones" {
    slogreport --json "$DATA/variety.slog.gz" > "$BATS_TEST_TMPDIR/deliveries"
    slogreport summary --json "$DATA/variety.slog.gz" > "$BATS_TEST_TMPDIR/summary"
    jq -e -n --slurpfile deliveries "$BATS_TEST_TMPDIR/deliveries" --slurpfile groups "$BATS_TEST_TMPDIR/summary" '
        def exact(p): sort | .[(length * p | ceil) - 1];
        def near(a; b): (a - b | fabs) <= b / 64 + 1e-9;
        def same(a; b): (a - b | fabs) < 5e-9;
        [$deliveries[] | select(.kind == "delivery")] as $all
        | ["total", "worker", "kernel", "unattributed", "compute"]
        | all(. as $column
            | [$groups[] | select(.by == "all" or .by == "vat") | select(.column == $column)]
            | length > 5 and all(. as $group
                | [$all[] | select($group.by == "all" or .vatID == $group.name)
                    | .[$column] | values] as $values
                | ($values | length) == .count and same($values | add; .total)
                  and same($values | max; .max) and near(.median; $values | exact(0.5))
                  and near(.p90; $values | exact(0.9)) and near(.p99; $values | exact(0.99))))'
}

@test "the ways up and down are the pipe, and each share is one of all time" {
    slogreport summary --json "$DATA/variety.slog.gz" > "$BATS_TEST_TMPDIR/summary"
    pipe=$(slogreport --json "$DATA/variety.slog.gz" | jq -s 'map(.pipe // 0) | add')
    jq -e -s --argjson pipe "$pipe" '
        map(select(.by == "all")) | map({(.column): .}) | add
        | (.up.total + .down.total - $pipe | fabs) < 1e-6
          and (.up.share + .down.share + .worker.share + .kernel.share + .unattributed.share - 1 | fabs) < 1e-5' \
        "$BATS_TEST_TMPDIR/summary"
    # Each syscall's line is there once, with its stamps.
    jq -e -s 'map(select(.by == "syscall" and .column == "up" and .name == "resolve")) | .[0].count == 129' \
        "$BATS_TEST_TMPDIR/summary"
}

# milliseconds VALUE UNIT: as a summary prints it.
milliseconds() {
    case $2 in
    ns) echo "$1 / 1000000" ;;
    µs) echo "$1 / 1000" ;;
    ms) echo "$1" ;;
    s) echo "$1 * 1000" ;;
    esac | bc -l
}

@test "without --by, a screen says where all time went, what was slowest, which vats, what stalled" {
    local whole name value unit

    slogreport summary "$DATA/variety.slog.gz" > screen
    [ "$(wc -l < screen)" -le 40 ]
    read -r whole < <(slogreport --json "$DATA/variety.slog.gz" | jq 'select(.kind == "summary").phases | add')
    # The parts of deliveries are those of --json, and with the phases they are the whole time.
    slogreport --json "$DATA/variety.slog.gz" | jq -s 'map(select(.kind == "delivery")) |
        (map(.worker // 0) | add * 1000), (map(.unattributed) | add * 1000)' > expected
    sed -n '2,/^$/p' screen | grep -E '^  (worker|unattributed) ' | while read -r name value unit _; do
        milliseconds "$value" "$unit"
    done | paste - expected | awk '($1 - $2) ^ 2 > (0.005 * $2) ^ 2 { exit 1 }'
    sed -n '2,/^$/p' screen | grep '^[a-z]' | awk '{ sum += $(NF - 1) } END { exit sum < 99.5 || sum > 100.5 }'
    grep -qF "in $(printf %.1f "$whole") s;" screen
    assert_equal "$(sed -n '/^slowest/,/^$/p' screen | sed '1d; $d')" "$(slogreport --top 5 "$DATA/variety.slog.gz")"
    slogreport summary --json --by vat "$DATA/variety.slog.gz" | jq -r 'select(.column == "total") | "\(.name) \(.label) \(.count)"' |
        head -n 5 | diff - <(sed -n '/^vats/,/and/p' screen | awk '/^  v/ { print $1, $2, $3 }')
    slogreport stalls --json --top 1000 "$DATA/variety.slog.gz" | jq -sr 'length' > expected
    sed -n '/stalls,/,/^warning/p' screen | awk 'NR == 1 { all = $1 } /pipe:|worker:|kernel:/ { sum += $1 }
        END { if (sum == all) print sum }' | diff expected -
    grep -q '^warning: 1 delivery with more stamps than the worker keeps; 110 ms unattributed' screen
}

@test "kinds, methods, vats' names, blocks and replays have their groups" {
    run slogreport summary --csv --by kind,vat "$DATA/small.slog.gz"
    assert_output_has 'kind,message list,,total,1,'
    assert_output_has 'kind,notify,,total,4,'
    assert_output_has 'vat,v3,bank,total,6,'
    assert_output_lacks 'syscall,'
    run slogreport summary --csv --by block "$DATA/shapes/blocks.slog"
    assert_output_has 'block,5,,total,2,'
    assert_output_has 'block,6,,total,1,'
    run slogreport summary --csv "$DATA/shapes/replay.slog"
    assert_output_has 'replay,,,total,2,'
    assert_output_lacks 'all,'
    run slogreport summary --csv "$DATA/shapes/precise.slog"
    assert_output_has 'all,,,instructions,1,123456789,1.000000,123456789'
}

@test "growth is what meters, c-list lines, snapshots and collections say" {
    slogreport summary --json --by growth "$DATA/variety.slog.gz" > "$BATS_TEST_TMPDIR/growth"
    # Straight from the lines, of the vat that grew most.
    zcat "$DATA/variety.slog.gz" | jq -sc 'map(select(.vatID == "v4" and .replay != true))
        | (map(select(.type == "deliver-result").dr[2].currentHeapCount | values)) as $heap
        | (map(select(.type == "heap-snapshot-save").uncompressedSize)) as $snapshots
        | [($heap | length, .[0], .[-1], max), $snapshots[0],
           (map(select(.type == "deliver" and .vd[0] == "bringOutYourDead")) | length)]' > "$BATS_TEST_TMPDIR/expected"
    jq -c 'select(.kind == "growth" and .vatID == "v4")
        | [(.heapSlots | .count, .first, .last, .most), .snapshotBytes.first, .collections.last]' "$BATS_TEST_TMPDIR/growth" | diff "$BATS_TEST_TMPDIR/expected" -
    jq -se 'map(select(.vatID == "v4"))[0] | (.points | length) == 29 and .points[-1][1] == .heapSlots.last
        and .collecting > 0 and .released.last == 2' "$BATS_TEST_TMPDIR/growth"
    run slogreport summary --by growth "$DATA/variety.slog.gz"
    assert_output_has 'growth v4 (bank)'
    assert_output_lacks 'all '
}

@test "gas is that of the model, and not known where a part of it is not" {
    echo '{"computron": 2, "syscall": 1000}' > "$BATS_TEST_TMPDIR/model"
    echo '{"instruction": 1}' > "$BATS_TEST_TMPDIR/uncounted"
    slogreport --json --gas "$BATS_TEST_TMPDIR/model" "$DATA/small.slog.gz" > "$BATS_TEST_TMPDIR/priced"
    jq -se 'map(select(.kind == "delivery" and .compute)) | length > 20 and all(.gas == .compute * 2 + .syscalls * 1000)' \
        "$BATS_TEST_TMPDIR/priced"
    slogreport summary --json --by all --gas "$BATS_TEST_TMPDIR/model" "$DATA/small.slog.gz" |
        jq -se --argjson gas "$(jq -s 'map(.gas // 0) | add' "$BATS_TEST_TMPDIR/priced")" \
            'any(.column == "gas" and .total == $gas and .share == 1)'
    slogreport --csv --gas "$BATS_TEST_TMPDIR/model" "$DATA/small.slog.gz" | tr -d '\r' | sed 's/.*,//; 1s/gas/null/; s/^$/null/' |
        diff - <(echo null && jq 'select(.kind == "delivery").gas' "$BATS_TEST_TMPDIR/priced")
    run slogreport --json --gas "$BATS_TEST_TMPDIR/uncounted" "$DATA/small.slog.gz"
    assert_output_lacks '"gas"'
    echo '{"computrons": 2}' > "$BATS_TEST_TMPDIR/model"
    run --separate-stderr slogreport --gas "$BATS_TEST_TMPDIR/model" "$DATA/small.slog.gz"
    assert_bad_input 3 computrons
}

@test "a summary of chosen deliveries" {
    run slogreport summary --csv --by all --vat bank "$DATA/small.slog.gz"
    assert_output_has 'all,,,total,6,'
}

@test "deliveries affected by a change of the clock are left out and counted" {
    run --separate-stderr slogreport summary --csv --by all "$DATA/shapes/clock.slog"
    assert_output_has 'all,,,total,1,'
    [[ $stderr == *'1 delivery left out'* ]]
}

@test "merged histograms are those of all files together" {
    slogreport summary --histograms one --json "$DATA/small.slog.gz" > one.json
    slogreport summary --histograms two --json --by all,vat,kind,method,syscall,block,phase "$DATA/variety.slog.gz" > two.json
    slogreport summary --json --by all,replay,vat,kind,method,syscall,phase "$DATA/small.slog.gz" "$DATA/variety.slog.gz" > together
    slogreport merge --json one two | grep -v '"kind":"growth"' > merged
    cmp together merged
    slogreport merge --json one > alone
    cmp one.json alone
    # Joins of joins.
    slogreport merge --histograms both one two > /dev/null
    slogreport merge --json both | grep -v '"kind":"growth"' | cmp together -
}

@test "merged growth is that of all files together, in the order in which they begin" {
    zcat "$DATA/variety.slog.gz" > whole
    # Between two cranks.
    end=$(grep -n '"type":"crank-finish"' whole | sed -n '40s/:.*//p')
    head -n "$end" whole > begin.slog
    tail -n "+$((end + 1))" whole > end.slog
    for part in begin end; do
        slogreport summary --by growth --histograms $part $part.slog > /dev/null
    done
    slogreport summary --json --by growth whole | sort > expected
    run --separate-stderr slogreport merge --json --by growth end begin
    [[ $stderr == *'begin first and end last'* ]] || fail "$stderr"
    sort <<< "$output" | cmp expected -
    slogreport merge --by growth begin end | grep -A 6 'growth v4 (bank)' > merged
    slogreport summary --by growth whole | grep -A 6 'growth v4 (bank)' | diff - merged
    run --separate-stderr slogreport merge <(sed 's/"first":/"First":/' begin)
    assert_bad_input 3 'not a line written by slogreport --histograms'
}

@test "a file that does not contain histograms is bad input, reported with its line" {
    slogreport summary --histograms good "$DATA/small.slog.gz" > /dev/null
    run --separate-stderr slogreport merge "$DATA/small.slog.gz"
    assert_bad_input 3 small.slog.gz --histograms
    : > empty
    run --separate-stderr slogreport merge empty
    assert_bad_input 3 empty
    run --separate-stderr slogreport merge missing
    assert_bad_input 3 missing
    sed '1s/"version":2/"version":3/' good > later
    run --separate-stderr slogreport merge later
    assert_bad_input 3 later 'version 3'
    sed '3s/"count":[0-9]*/"count":77/' good > wrong
    run --separate-stderr slogreport merge wrong
    assert_bad_input 3 wrong:3
    sed '4s/"buckets":\[\[[0-9]*/"buckets":[[99999/' good > outside
    run --separate-stderr slogreport merge outside
    assert_bad_input 3 outside:4
    head -c -20 good > shorter
    run --separate-stderr slogreport merge shorter
    assert_bad_input 3 shorter:
}

@test "histograms go into a pipe or through a link, which stay what they are" {
    mkfifo pipe
    timeout 60 cat pipe > through &
    slogreport summary --histograms pipe "$DATA/small.slog.gz" > /dev/null
    wait $!
    [ -p pipe ] || fail "the pipe was replaced by a file"
    touch target
    ln -s target link
    slogreport summary --histograms link "$DATA/small.slog.gz" > /dev/null
    [ -L link ] || fail "the link was replaced by a file"
    cmp through target
}

@test "histograms that cannot be written are an error, and leave no file" {
    run --separate-stderr slogreport summary --histograms "$BATS_TEST_TMPDIR/none/file" "$DATA/small.slog.gz"
    assert_bad_input 4 none/file
    [ ! -e "$BATS_TEST_TMPDIR/none" ]
}

@test "options of another command are usage errors" {
    for words in 'summary --top 3' 'summary --follow' '--by vat' '--histograms x' 'merge --vat v1' 'summary --by x'; do
        # shellcheck disable=SC2086 # words they shall be
        run --separate-stderr slogreport $words "$DATA/small.slog.gz"
        assert_bad_input 2
    done
}

# A slogfile with two runs, of a vat `token` and a vat `index`, both of them v1.
two_runs() {
    for name in token index; do
        "$NATIVE/gaspipe" run --counter none --slog "$BATS_TEST_TMPDIR/two.slog" \
            --vat $name="$ROOT/examples/$name/contract.js" "$ROOT/examples/$name/deliveries.jsonl" \
            > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" || [ $? -eq 1 ]
    done
}

@test "several runs are named, distinguished and chosen" {
    two_runs
    line=$(grep -n '"slog-start"' two.slog | sed -n '2s/:.*//p')
    run --separate-stderr slogreport summary --csv --by vat two.slog
    assert_bad_input 0 '2 runs of the kernel are added up' "run 2 begins at line $line (20"
    assert_equal "$(grep -c 'vat,v1,token,total,7,' <<< "$output"),$(grep -c 'vat,v1,index,total,' <<< "$output")" 1,1
    run --separate-stderr slogreport summary --csv --by run two.slog
    assert_equal "$stderr" ''
    assert_output_has 'run,1,,total,7,'
    assert_output_has 'run,2,,total,'
    run --separate-stderr slogreport summary --csv --by vat --run 1 two.slog
    assert_equal "$stderr" ''
    assert_output_lacks index
    run --separate-stderr slogreport stalls --min-duration 1000s two.slog
    assert_bad_input 0 '2 runs of the kernel are judged together'
    run --separate-stderr slogreport compare two.slog two.slog
    assert_equal "$(grep -c 'two.slog: 2 runs of the kernel are in it' <<< "$stderr")" 2
    assert_equal "$(slogreport --json two.slog | jq -s -c 'map(select(.kind == "delivery") | [.run, .vat]) | unique')" \
        '[[1,"token"],[2,"index"]]'
    run --separate-stderr slogreport summary "$DATA/small.slog.gz"
    assert_equal "$stderr" ''
}

@test "methods of different vats are distinguished" {
    two_runs
    "$NATIVE/gaspipe" run --counter none --vat a="$ROOT/examples/token/contract.js" --vat b="$ROOT/examples/token/contract.js" \
        --slog "$BATS_TEST_TMPDIR/slog" - > "$BATS_TEST_TMPDIR/out" << 'END'
{"vat": "a", "method": "mint", "args": ["x", 1]}
{"vat": "b", "method": "mint", "args": ["x", 1]}
{"vat": "b", "method": "mint", "args": ["y", 1]}
END
    run slogreport summary --csv --by kind,method "$BATS_TEST_TMPDIR/slog"
    assert_output_has 'kind,message mint,,total,3,'
    assert_output_has 'method,v1 mint,a,total,1,'
    assert_output_has 'method,v2 mint,b,total,2,'
    slogreport summary --histograms "$BATS_TEST_TMPDIR/histograms" --by method "$BATS_TEST_TMPDIR/two.slog" "$BATS_TEST_TMPDIR/slog" > /dev/null
    run slogreport merge --csv --by method "$BATS_TEST_TMPDIR/histograms"
    assert_output_has 'method,v1 mint,a,total,1,'
    assert_output_has 'method,v1 mint,token,total,'
    assert_output_has 'method,v1 add,index,total,'
}

@test "no share is over 100 %" {
    # Between these two deliveries passes more time than in both.
    cat > "$BATS_TEST_TMPDIR/slow" << 'END'
{"type":"deliver","crankNum":1,"vatID":"v1","deliveryNum":1,"replay":false,"vd":["bringOutYourDead"],"time":1000.0}
{"type":"deliver-result","crankNum":1,"vatID":"v1","deliveryNum":1,"replay":false,"dr":["ok",null,{"compute":1,"timestamps":[1000.001,1000.002]}],"time":1000.003}
{"type":"deliver","crankNum":2,"vatID":"v1","deliveryNum":2,"replay":false,"vd":["bringOutYourDead"],"time":1001.0}
{"type":"deliver-result","crankNum":2,"vatID":"v1","deliveryNum":2,"replay":false,"dr":["ok",null,{"compute":1,"timestamps":[1001.001,1001.002]}],"time":1001.003}
{"type":"deliver","vatID":"v1","deliveryNum":3,"replay":true,"vd":["bringOutYourDead"],"time":1002.0}
{"type":"deliver-result","vatID":"v1","deliveryNum":3,"replay":true,"dr":["ok",null,{"compute":1,"timestamps":[1002.1,1002.2]}],"time":1002.3}
END
    for file in "$BATS_TEST_TMPDIR/slow" "$DATA"/*.slog.* "$DATA"/shapes/*.slog; do
        slogreport summary --json "$file" 2> /dev/null > "$BATS_TEST_TMPDIR/groups"
        assert_equal "$(jq -s -c 'map(select(.share > 1.000001))' "$BATS_TEST_TMPDIR/groups")" '[]' "$file"
    done
    assert_equal "$(slogreport summary --json "$BATS_TEST_TMPDIR/slow" | jq -s -c '
        [.[] | select(.by == "all" and .column == "between" or .by == "replay" and .column == "total") | .share * 1e6 | round]')" '[994018,1000000]'
}

@test "rows of intervals add up to the whole, and none is longer than its interval" {
    local file interval
    for file in variety.slog.gz shapes/clock.slog shapes/restart.slog; do
        slogreport summary --json --by all "$DATA/$file" > all
        for interval in 3ms 7s; do
            slogreport summary --json --by $interval "$DATA/$file" 2> /dev/null > rows
            jq -e -n --slurpfile all all --slurpfile rows rows '
                ($all | map({(.column): .}) | add) as $all
                | def same(a; b): (a - b | fabs) < 1e-6;
                all(("total", "up", "down", "worker", "kernel", "unattributed");
                    . as $column | same($rows | map(.[$column]) | add; $all[$column].total // 0))
                and ($rows | map(.deliveries) | add) == $all.total.count
                and ($rows | map(.slowest | values) | max) == $all.total.max
                and all($rows[]; .total <= .length + 1e-6 and .cpuWait == null)
                and all(range(1; $rows | length);
                        same($rows[. - 1].start + $rows[. - 1].length; $rows[.].start))' ||
                fail "$file $interval"
        done
    done > /dev/null
}

@test "a row for each interval or block, with the slowest delivery; empty ones are one row" {
    run slogreport summary --by 100ms "$DATA/shapes/terminate.slog"
    assert_status 0
    # A delivery is counted where it began, and its time where it passed.
    assert_output_has '2026-11-21T00:03:39.900Z        1      1   42.6 %   42.6 ms'
    assert_output_has '2026-11-21T00:03:40Z            0      0  100.0 %    100 ms'
    assert_output_has '2026-11-21T00:03:40.200Z  no deliveries for 400 ms'
    run slogreport summary --by block "$DATA/shapes/chain.slog"
    assert_status 0
    assert_output_has 'block 17                        2      0    1.5 %   10.5 ms'
    assert_output_has 'slogreport: 1 delivery outside of blocks'
    # Other groups have their tables below.
    run slogreport summary --by 10s,vat "$DATA/variety.slog.gz"
    assert_equal "$(grep -c '^2026\|^vat v' <<< "$output")" 16
    slogreport summary --csv --by 10s "$DATA/variety.slog.gz" > rows
    assert_equal "$(cut -d, -f3 rows | tr -d '\r' | paste -sd' ')" "deliveries 144 125"
}

@test "an interval needs a unit, and is no other table's" {
    local wrong
    for wrong in "summary --by 10" "summary --by 0s" "summary --by 5x" "summary --by 1ms1" "merge --by 10s" \
        "summary --csv --by 10s,vat" "summary --by 10s --against first-half" "summary --csv --against first-half" \
        "summary --against crank=x" "summary --against crank=1,x" "summary --against since=x"; do
        # shellcheck disable=SC2086 # several words
        run slogreport $wrong "$DATA/variety.slog.gz"
        assert_status 2 "$wrong"
    done
    run slogreport summary --by 1ms --since 1970-01-01T00:00:00Z "$DATA/variety.slog.gz"
    assert_status 0
}

@test "two halves, selections and files are compared, and what moved most is said" {
    local against all
    all=$(slogreport summary --json --by all "$DATA/variety.slog.gz" | jq -s -c 'map({(.column): .total}) | add')
    for against in first-half crank=-100 vat=bank,vat=timer until=2026-11-21T00:03:39Z run=1 kind=startVat; do
        slogreport summary --json --against $against "$DATA/variety.slog.gz" > changes
        jq -e -s --argjson all "$all" '
            def same(a; b): (a - b | fabs) < 1e-6;
            .[0].kind == "against" and .[0].deliveries + .[0].deliveriesBefore == 269
            and (map(select(.by == "all")) | length > 6 and all(
                same(.totalBefore + .total; $all[.column]) and same(.total - .totalBefore; .change)
                and (.ratio == null or same(.ratio * .totalBefore; .total))))' changes > /dev/null || fail "$against"
    done
    run slogreport summary --against first-half "$DATA/variety.slog.gz"
    assert_status 0
    assert_equal "${lines[2]}" "moved most: -500 ms in deliveries; worker -360 ms; in v4 bank -479 ms; in startVat -409 ms; outside of them kernel-start bundle -4.04 s"
    assert_output_has 'time in deliveries             1.82 s     1.32 s     -500 ms      0.725      0.719'
    [ "${#lines[@]}" -le 40 ]
    # The command line's selection holds, except for what is replaced.
    run slogreport summary --json --vat bank --crank 101- --against crank=-100 "$DATA/variety.slog.gz"
    assert_equal "$(jq -c 'select(.kind == "against") | [.deliveriesBefore, .deliveries]' <<< "$output")" "[19,9]"
    # A file is compared with another.
    slogreport extract --crank 101- "$DATA/variety.slog.gz" > second.slog
    run slogreport summary --json --against "$DATA/variety.slog.gz" second.slog
    assert_equal "$(jq -c 'select(.kind == "against") | [.deliveriesBefore, .deliveries]' <<< "$output")" "[269,215]"
    run slogreport summary --by method --against second.slog "$DATA/variety.slog.gz"
    assert_output_has 'v4 getPurse bank'
    run slogreport summary --against first-half - < "$DATA/variety.slog.gz"
    assert_status 2
    run slogreport summary --against nothing.slog "$DATA/variety.slog.gz"
    assert_status 3
}
