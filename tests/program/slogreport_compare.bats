#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport compare.

load common

DATA=$ROOT/tests/data

slogreport() {
    "$BUILD/slogreport" "$@"
}

# small.slog as a with some lines changed by a jq program, as b.
make_b() {
    cd "$BATS_TEST_TMPDIR"
    zcat "$DATA/small.slog.gz" > a
    jq -c "$1" a > b
}

@test "a slogfile compared with itself has no divergence" {
    run slogreport compare "$DATA/variety.slog.gz" "$DATA/variety.slog.gz"
    assert_status 0
    assert_output_has '269 deliveries in both'
    assert_output_has 'no divergence'
    assert_output_has '0 deliveries got slower'
}

@test "sums are of deliveries that both files time completely, whose number is reported" {
    local times='[.total, .pipe, .worker, .kernel] | map(. * 1e6 | round)'

    make_b .
    slogreport --json a | jq -s -c "[.[] | select(.kind == \"delivery\" and .pipe != null) | $times]
        | [length, (transpose | map(add))[]]" > expected
    slogreport compare --json a b | jq -c 'select(.kind == "comparison")
        | [.total.count, ([.total, .pipe, .worker, .kernel] | map(.a * 1e6 | round))[]]' | diff expected -
    run slogreport compare a b
    assert_output_has "fully timed in both, and in what follows: $(jq '.[0]' expected) deliveries"
    assert_equal "$(slogreport --json a | grep -c '"kind":"delivery"') $(jq '.[0]' expected)" '30 29'
}

@test "computrons that differ are a divergence, by status too" {
    make_b 'if .type == "deliver-result" and .vatID == "v3" and .deliveryNum == 3 then .dr[2].compute += 1 else . end'
    run --separate-stderr slogreport compare a b
    assert_status 1
    assert_output_has 'DIVERGENCE in v3 delivery 3 (o+0).list -> p-61'
    assert_output_has 'computrons: A 24590, B 24591'
    assert_equal "$(grep -c DIVERGENCE <<< "$output")" 1
    [[ $stderr == *'1 delivery came out differently'* ]]
}

@test "results, syscalls and other deliveries that differ are divergences" {
    make_b 'if .type == "deliver-result" and .vatID == "v3" and .deliveryNum == 3 then .dr[0:2] = ["error", "no"]
        elif .type == "syscall" and .vatID == "v1" and .deliveryNum == 8 then .vsc |= tojson | .vsc |= (sub("p-63"; "p-64") | fromjson)
        elif .type == "deliver" and .vatID == "v1" and .deliveryNum == 12 then .vd = ["bringOutYourDead"]
        else . end'
    run --separate-stderr slogreport compare --json a b
    assert_status 1
    assert_equal "$(jq -r 'select(.differs != [] and .kind == "pair") | "\(.vatID) \(.deliveryNum) \(.differs | join(" "))"' <<< "$output" | sort)" \
        "v1 12 input
v1 8 syscalls
v3 3 result"
}

@test "deliveries in only one file are listed" {
    make_b 'select(.vatID != "v4" or .deliveryNum != 6)'
    run slogreport compare a b
    assert_status 0
    assert_output_has '29 deliveries in both'
    assert_output_has 'only in A: 1 delivery'
    assert_output_has 'v4 delivery 6 retireExports'
    run slogreport compare --json b a
    assert_equal "$(jq -c 'select(.a == null) | [.kind, .vatID, .deliveryNum, .b.total * 1]' <<< "$output")" '["pair","v4",6,0.003096]'
}

@test "a delivery that got slower is named with the part that grew" {
    # 50 ms more in the worker of one delivery, and all that follows 50 ms later.
    make_b '1795219394.33 as $when
        | if .time < $when then . else
            (if .type == "deliver-result" and .vatID == "v1" and .deliveryNum == 10
                then .dr[2].timestamps[-1] += 0.05
             elif .dr[2] and .dr[2].timestamps[0] > $when + 0.02 then .dr[2].timestamps |= map(. + 0.05)
             else . end)
            | if (.type == "deliver-result" and .vatID == "v1" and .deliveryNum == 10) or .time > 1795219394.337
                then .time += 0.05 | .monotime += 0.05 else . end end'
    run --separate-stderr slogreport compare --json a b
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "pair" and .slower) | [.vatID, .deliveryNum, .where, (.excess * 1000 | round)]' <<< "$output")" \
        '["v1",10,"worker",50]'
    run slogreport compare a b
    assert_output_has '1 delivery got slower beyond the usual:'
    assert_output_has '+50.0 ms, worker +50.0 ms  v1 delivery 10 bringOutYourDead'
}

@test "a machine that is slower overall is the usual change, not a list of all deliveries" {
    # Half as fast in all: what a delivery takes, seen from its beginning, doubles.
    make_b '1795219393.6 as $zero | def slow: $zero + (. - $zero) * 2;
        .time |= slow | if .dr[2].timestamps then .dr[2].timestamps |= map(slow) else . end'
    run slogreport compare --json a b
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "comparison") | [.slower, (.total.ratio * 100 | round), (.kernel.ratio * 100 | round)]' <<< "$output")" '[0,200,200]'
}

@test "how much each delivery was slowed, and which ranking changed" {
    # As above, 50 ms in one delivery, which was the longest already (tests/unit/tools/test_compare_ranking.c has others).
    make_b '1795219394.33 as $when
        | if .time < $when then . else
            (if .type == "deliver-result" and .vatID == "v1" and .deliveryNum == 10
                then .dr[2].timestamps[-1] += 0.05
             elif .dr[2] and .dr[2].timestamps[0] > $when + 0.02 then .dr[2].timestamps |= map(. + 0.05)
             else . end)
            | if (.type == "deliver-result" and .vatID == "v1" and .deliveryNum == 10) or .time > 1795219394.337
                then .time += 0.05 | .monotime += 0.05 else . end end'
    slogreport compare --json a b > compared
    assert_equal "$(jq -c 'select(.kind == "comparison") | [.ranking.kept == .ranking.top, (.ranking.correlation, .ranking.largestPartChanged, .ratios.least | . * 1)]' compared)" \
        '[true,1,0,1]'
    assert_equal "$(jq -s '(map(select(.kind == "pair").ratio) | max) - (map(select(.kind == "comparison").ratios.most) | add) | fabs < 1e-5' compared)" true
    run slogreport compare a b
    assert_output_has "of a delivery's total, B / A: least 1.000"
    assert_output_has ' correlation of all ranks 1.0000'
    run slogreport compare a "$DATA/variety.slog.gz"
    assert_output_lacks 'correlation of all ranks 1.0000'
}

@test "replays are not compared, and there must be two files at least" {
    run slogreport compare "$DATA/shapes/replay.slog" "$DATA/shapes/replay.slog"
    assert_output_has '0 deliveries in both'
    assert_output_lacks 'no divergence'
    run --separate-stderr slogreport compare "$DATA/small.slog.gz"
    assert_bad_input 2 'two slogfiles'
}

# a, and as many other files, each changed by a jq program: b, c, …
make_files() {
    local name=b program

    cd "$BATS_TEST_TMPDIR"
    zcat "$DATA/small.slog.gz" > a
    for program in "$@"; do
        jq -c "$program" a > "$name"
        name=$(tr a-y b-z <<< "$name")
    done
}

@test "of several files, each outcome is compared with that of most" {
    make_files . . 'if .type == "deliver-result" and .vatID == "v3" and .deliveryNum == 3 then .dr[2].compute += 1
        elif .type == "deliver-result" and .vatID == "v1" and .deliveryNum == 8 then .dr[0:2] = ["error", "no"] else . end
        | select(.vatID != "v4" or .deliveryNum != 6)'
    # The odd one comes first, so it is not what the others are measured by.
    run --separate-stderr slogreport compare d a b c
    assert_status 1
    assert_output_has 'A: d: 29 deliveries, 1 of others missing, 2 unlike most'
    assert_output_has '29 deliveries in all'
    assert_output_has 'they part in 2 deliveries'
    assert_equal "$(grep -A 1 DIVERGENCE <<< "$output" | grep -o 'A: other.*' | sort | paste -sd ' ')" \
        'A: other computrons A: other result'
    run --separate-stderr slogreport compare --json d a b c
    assert_equal "$(jq -c 'select(.kind == "divergence") | [.vatID, .deliveryNum, .unlike]' <<< "$output" | sort)" \
        '["v1",8,[{"number":1,"differs":["result"]}]]
["v3",3,[{"number":1,"differs":["compute"]}]]'
    run slogreport compare a b c
    assert_status 0
    assert_output_has 'no divergence'
}

@test "of several files, clocks are aligned and the slow one is found with the part that makes it so" {
    # b's clock is an hour ahead; c takes three times as long, and so comes later and later.
    make_files '.time += 3600 | if .dr[2].timestamps then .dr[2].timestamps |= map(. + 3600) else . end' \
        '1795219393.6 as $zero | def slow: $zero + (. - $zero) * 3;
         .time |= slow | if .dr[2].timestamps then .dr[2].timestamps |= map(slow) else . end'
    run slogreport compare --json a b c
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "file") | [.rank, .file, (.ratio * 100 | round)]' <<< "$output")" \
        $'[1,"c",300]\n[2,"a",100]\n[3,"b",100]'
    jq -se 'map(select(.kind == "file")) | (.[2] | (.clock - 3600 | fabs) < 1e-3 and (.lateLast | fabs) < 1e-3)
        and (.[0] | .lateFirst < -0.1 and .lateLast > 0.1 and .where == "pipe")' <<< "$output"
    jq -se 'map(select(.kind == "comparison"))[0] | .files == 3 and .inAll == 30 and .timedInAll == 20' <<< "$output"
    run slogreport compare a b c
    assert_output_has 'the slowest first'
    assert_output_has '+3600 s'
}

@test "files without common deliveries are not compared, and the command that does so is named" {
    local first=$BATS_TEST_TMPDIR/first second=$BATS_TEST_TMPDIR/second
    "$BUILD/slogreport" extract --crank -100 "$ROOT/tests/data/variety.slog.gz" > "$first"
    "$BUILD/slogreport" extract --crank 101- "$ROOT/tests/data/variety.slog.gz" > "$second"
    run slogreport compare "$first" "$second"
    assert_status 0
    assert_output_has 'no delivery is in both files, by its vat and number; `slogreport summary --against A B` compares their sums'
    assert_output_lacks 'B / A'
    run --separate-stderr slogreport compare --json "$first" "$second"
    # shellcheck disable=SC2154 # run sets it
    [[ $stderr == *'summary --against A B'* ]] || fail "$stderr"
    run --separate-stderr slogreport compare "$first" "$second" "$ROOT/tests/data/shapes/no-worker.slog"
    [[ $stderr == *'no delivery is in all files'* ]] || fail "$stderr"
    run slogreport compare "$first" "$first"
    assert_output_lacks 'summary --against'
}

@test "the pipe ends at the slog's lines, or with --stamps client at the client's frames; they are not mixed" {
    cd "$BATS_TEST_TMPDIR"
    local line='"crankNum":1,"vatID":"v1","deliveryNum":1,"replay":false'
    cat > client.slog << END
{"type":"deliver",$line,"dispatch":"notify","kd":["notify","v1",[]],"vd":["notify",[]],"time":1000.0,"monotime":1.0}
{"type":"syscall",$line,"syscallNum":0,"ksc":["vatstoreGet","v1","a"],"vsc":["vatstoreGet","a"],"time":1000.0004,"monotime":1.0004}
{"type":"syscall-result",$line,"syscallNum":0,"ksr":["ok","b"],"vsr":["ok","b"],"time":1000.0005,"monotime":1.0005}
{"type":"deliver-result",$line,"dr":["ok",null,{"meterType":"x","compute":7,"timestamps":[1000.0002,1000.0003,1000.0006,1000.0008],"monotimes":[5000200000,5000300000,5000600000,5000800000],"clientTimestamps":[1000.00015,1000.00035,1000.00055,1000.00085],"clientMonotimes":[5000150000,5000350000,5000550000,5000850000]}],"time":1000.001,"monotime":1.001}
END
    sed 's/,"client[A-Za-z]*":\[[^]]*\]//g' client.slog > npm.slog
    run jq -c 'select(.kind == "delivery") | [.pipe, .worker, .kernel, .slogPipe, .clientPipe] | map(if . then . * 1 else . end)' <(
        "$BUILD/slogreport" --json client.slog
        "$BUILD/slogreport" --json --stamps client client.slog
        "$BUILD/slogreport" --json --stamps client npm.slog)
    assert_equal "$output" '[0.0006,0.0003,0.0001,0.0006,0.0002]
[0.0002,0.0003,0.0005,0.0006,0.0002]
[0.0006,0.0003,0.0001,null,null]'
    # The text has both, whichever divides the time.
    for whose in slog client; do
        assert_equal "$("$BUILD/slogreport" --stamps $whose client.slog | grep 'by the')" \
            "   by the slog's lines: pipe 0.000600, kernel 0.000100; by the client's frames: pipe 0.000200, kernel 0.000500"
    done
    run ! grep -q 'by the client' <("$BUILD/slogreport" npm.slog)
    "$BUILD/slogreport" compare client.slog npm.slog
    for more in npm.slog ''; do
        # shellcheck disable=SC2086 # none or one
        run "$BUILD/slogreport" compare --stamps client client.slog npm.slog $more
        assert_status 2
        assert_output_has 'client.slog has stamps of the worker'
    done
}
