#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run: what it delivers, prints and keeps, when all goes well.

load common

# example NAME OPTIONS...: gaspipe run on an example, JSON lines.
example() {
    run --separate-stderr "$BUILD/gaspipe" run --json --vat "$1=$ROOT/examples/$1/contract.js" \
        "${@:2}" "$ROOT/examples/$1/deliveries.jsonl"
}

# deliveries FILTER: jq over the deliveries in $output, one compact line each.
deliveries() {
    jq -c "select(.kind == \"delivery\") | $1" <<< "$output"
}

@test "token: transfers move balances, and one that cannot be paid fails alone" {
    example token
    assert_status 1
    assert_equal "$(deliveries '[.description, .status, .result]')" \
        '["startVat","ok",null]
["(o+0).mint -> p-60","ok",{"@bigint":"1000"}]
["(o+0).transfer -> p-61","ok",{"@bigint":"750"}]
["(o+0).transfer -> p-62","ok",{"@bigint":"150"}]
["(o+0).transfer -> p-63","error",null]
["(o+0).balance -> p-63","ok",{"@bigint":"150"}]
["(o+0).holders -> p-64","ok",["alice","bob","carol"]]'
    assert_equal "$(deliveries 'select(.status == "error") | .error')" \
        '"RangeError: carol has 100, not 500"'
}

@test "digest: SHA-256 of the examples of FIPS 180-4" {
    example digest
    assert_status 0
    assert_equal "$(deliveries 'select(.deliveryNum > 1 and .deliveryNum < 5) | .result')" \
        '"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"'
}

@test "index: several hundred store calls in a delivery, all in the slogfile" {
    example index --slog "$BATS_TEST_TMPDIR/slog"
    assert_status 0
    assert_equal "$(deliveries 'select(.deliveryNum > 4) | .result')" $'8\n{"moby":2,"tale":6}'
    # addNumbers: two gets and two sets for each of 120 words, and its result
    assert_equal "$(grep -c '^{"type":"syscall","crankNum":7,' "$BATS_TEST_TMPDIR/slog")" 481
    [[ $stderr == *"index: numbers: 120 words"* ]] || fail "no console line in:" "$stderr"
}

@test "each object of --json has the documented members" {
    example token
    assert_equal "$(deliveries 'select(.status == "error") | keys_unsorted - (keys_unsorted - ["stack", "source"])')" \
        '["stack","source"]'
    assert_equal "$(deliveries 'del(.stack, .source) | keys_unsorted' | sort -u)" \
        '["kind","vatID","vat","crankNum","deliveryNum","description","status","result","error","compute","instructions","total","pipe","worker","kernel"]'
    assert_equal "$(jq -c 'select(.kind == "summary") | [.deliveries, .failed]' <<< "$output")" \
        '[7,1]'
    assert_equal "$(tail -n 1 <<< "$output" | jq -r .kind)" summary
}

@test "pipe, worker and kernel add up to the total, to the nanosecond" {
    example index
    assert_equal "$(deliveries 'select(
        ((.total - .pipe - .worker - .kernel) | fabs) > 1.5e-9
        or .pipe <= 0 or .worker <= 0 or .kernel < 0) | .crankNum')" ""
}

@test "the worker's stamps are sorted and lie between the supervisor's own" {
    local slog=$BATS_TEST_TMPDIR/slog

    example index --slog "$slog"
    # Per delivery: sent, then each stamp of the worker with what the kernel noted
    # between them, then returned; all on CLOCK_MONOTONIC.
    run jq -sc '
        (.[0].monoBase) as $base
        | def mono: .monotime * 1e9 + $base;
        group_by(.deliveryNum)[] | select(.[0].deliveryNum != null)
        | (map(select(.type == "deliver"))[0] | mono) as $sent
        | map(select(.type == "deliver-result"))[0] as $last
        | ([.[] | select(.type == "syscall") | mono]) as $come
        | ([.[] | select(.type == "syscall-result") | mono]) as $answered
        | ([.[] | select(.type == "console") | mono]) as $console
        | $last.dr[2].monotimes as $stamps
        | {
            delivery: $last.deliveryNum,
            count: (($stamps | length) == (2 + 2 * (($come | length) + ($console | length)))),
            real: (($last.dr[2].timestamps | length) == ($stamps | length)),
            sorted: ($stamps == ($stamps | sort)),
            between: ($sent <= $stamps[0] + 1000 and $stamps[-1] <= ($last | mono) + 1000),
            pairs: (($console | length) > 0 or
                ([range($come | length) | ($stamps[1 + 2 * .] <= $come[.] + 1000)
                    and ($answered[.] <= $stamps[2 + 2 * .] + 1000)] | all))
          } | select([.[]] | all | not)' "$slog"
    assert_status 0
    assert_equal "$output" "" "deliveries with stamps out of order"
}

@test "the slogfile has SwingSet's lines and fields, in its order" {
    example token --slog "$BATS_TEST_TMPDIR/slog"
    run jq -rc 'select(.deliveryNum == 2 or .crankNum == 1) | [.type, (keys_unsorted - ["cpuWait", "workerCpuWait"] | join(" "))]
        | join(": ")' "$BATS_TEST_TMPDIR/slog"
    assert_equal "$(sort -u <<< "$output")" \
        'clist: type crankNum mode vatID kobj vobj time monotime
crank-finish: type crankType messageType crankNum crankhash activityhash time monotime seconds
crank-start: type crankType crankNum messageType message time monotime
deliver-result: type crankNum vatID deliveryNum replay dispatch dr time monotime seconds
deliver: type crankNum vatID deliveryNum replay dispatch kd vd time monotime
syscall-result: type crankNum vatID deliveryNum syscallNum replay syscall ksr vsr time monotime seconds
syscall: type crankNum vatID deliveryNum syscallNum replay syscall ksc vsc time monotime'
}

@test "slogreport finds in the slogfile what the run has printed" {
    example index --slog "$BATS_TEST_TMPDIR/slog"
    # shellcheck disable=SC2154
    deliveries '[.vatID, .crankNum, .deliveryNum, .description, .status, .total, .pipe, .worker,
        .kernel, .compute, .instructions]' > "$BATS_TEST_TMPDIR/printed"
    run "$BUILD/slogreport" --json "$BATS_TEST_TMPDIR/slog"
    assert_status 0
    deliveries '[.vatID, .crankNum, .deliveryNum, .description, .status, .total, .pipe, .worker,
        .kernel, .compute, .instructions]' > "$BATS_TEST_TMPDIR/reported"
    diff "$BATS_TEST_TMPDIR/printed" "$BATS_TEST_TMPDIR/reported"
}

@test "computrons are the same with and without the counter" {
    example token
    local counted
    counted=$(deliveries .compute)
    example token --counter none
    assert_equal "$(deliveries .compute)" "$counted"
    assert_equal "$(deliveries .instructions | sort -u)" null
}

@test "a store is kept from run to run, and numbers continue" {
    local store=$BATS_TEST_TMPDIR/store

    example token --counter none --store "$store"
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store "$store" \
        --vat "token=$ROOT/examples/token/contract.js" - \
        < <(echo '{"vat":"token","method":"balance","args":["bob"]}')
    assert_status 0
    assert_equal "$(deliveries '[.crankNum, .deliveryNum, .result]')" '[15,8,{"@bigint":"150"}]'
}

@test "a delivery that fails leaves the store as it was" {
    cat > "$BATS_TEST_TMPDIR/contract.js" << 'EOF'
export const change = fails => {
  store.set('kept', fails ? 'wrong' : 'right');
  if (fails) throw Error('after the change');
};
export const read = () => store.get('kept');
EOF
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none \
        --vat "c=$BATS_TEST_TMPDIR/contract.js" - << 'EOF'
{"vat":"c","method":"change","args":[false]}
{"vat":"c","method":"change","args":[true]}
{"vat":"c","method":"read"}
EOF
    assert_status 1
    assert_equal "$(deliveries '[.status, .result]')" \
        $'["ok",null]\n["ok",{"@value":"undefined"}]\n["error",null]\n["ok","right"]'
}

@test "deliveries in full, blank lines, and a last line without newline" {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none \
        --vat "token=$ROOT/examples/token/contract.js" - < <(printf '%s\n\n \n%s' \
        '{"vat":"token","deliver":["message","o+0",{"methargs":{"body":"#[\"mint\",[\"a\",5]]","slots":[]},"result":null}]}' \
        '{"vat":"token","method":"balance","args":["a"]}')
    assert_status 0
    assert_equal "$(deliveries '[.description, .result]')" \
        $'["startVat",null]\n["(o+0).mint -> null",null]\n["(o+0).balance -> p-60",{"@bigint":"5"}]'
}

@test "a delivery that comes over a pipe is made when it comes" {
    local line

    coproc "$NATIVE/gaspipe" run --json --counter none \
        --vat "token=$ROOT/examples/token/contract.js" - 2> "$BATS_TEST_TMPDIR/stderr"
    # shellcheck disable=SC2154
    local pid=$COPROC_PID in=${COPROC[1]} out=${COPROC[0]}
    read -r -t 60 line <&"$out"
    assert_equal "$(jq -r .description <<< "$line")" startVat
    for amount in 1 2; do
        echo '{"vat":"token","method":"mint","args":["a",'"$amount"']}' >&"$in"
        read -r -t 60 line <&"$out"
        assert_equal "$(jq -r .status <<< "$line")" ok
        read -r -t 60 line <&"$out"
        assert_equal "$(jq -r .status <<< "$line")" fulfilled
    done
    exec {in}>&-
    wait "$pid"
}

@test "several vats, each with its own store" {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none \
        --vat "one=$ROOT/examples/token/contract.js" --vat "two=$ROOT/examples/token/contract.js" \
        - << 'EOF'
{"vat":"one","method":"mint","args":["a",1]}
{"vat":"two","method":"mint","args":["a",2]}
{"vat":"one","method":"balance","args":["a"]}
{"vat":"two","method":"balance","args":["a"]}
EOF
    assert_status 0
    assert_equal "$(deliveries '[.vat, .vatID, .deliveryNum, .result]' | tail -n 2)" \
        $'["one","v1",3,{"@bigint":"1"}]\n["two","v2",3,{"@bigint":"2"}]'
}

@test "columns for people: one line each, headings first, a summary last" {
    run --separate-stderr "$NATIVE/gaspipe" run --counter none \
        --vat "token=$ROOT/examples/token/contract.js" "$ROOT/examples/token/deliveries.jsonl"
    assert_status 1
    [[ ${lines[0]} == *crank*vat*method*status*computrons*instructions*"total ms"* ]]
    [[ ${lines[2]} == *token*mint*ok*3,200*'"1000"' ]]
    assert_output_has "deliveries.jsonl:4: $ROOT/examples/token/contract.js:32: RangeError: carol has 100, not 500"
    assert_output_has "7 deliveries, 1 failed"
    assert_output_lacks $'\033'
}

@test "arguments and results keep their values on the way through" {
    cat > "$BATS_TEST_TMPDIR/contract.js" << 'EOF'
export const echo = (...args) => args;
export const rest = () => [1n, -2n, NaN, -Infinity, undefined, -0, '', '#a', { '!b': '%' }];
EOF
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none \
        --vat "c=$BATS_TEST_TMPDIR/contract.js" - << 'EOF'
{"vat":"c","method":"echo","args":[null,true,-1.5,"","!x","#undefined","-","+1","é\u0000\n\"",{"$k":["&"]},[]]}
{"vat":"c","method":"rest"}
EOF
    assert_status 0
    assert_equal "$(deliveries .result | tail -n 2)" \
        '[null,true,-1.5,"","!x","#undefined","-","+1","é\u0000\n\"",{"$k":["&"]},[]]
[{"@bigint":"1"},{"@bigint":"-2"},{"@value":"NaN"},{"@value":"-Infinity"},{"@value":"undefined"},0,"","#a",{"!b":"%"}]'
}

@test "closed standard descriptors are no harm: nothing else takes their place" {
    local closed

    cd "$BATS_TEST_TMPDIR"
    for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
        run bash -c "'$BUILD/gaspipe' run --json --counter none --store store.${#closed} --again \
            --vat 'token=$ROOT/examples/token/contract.js' \
            '$ROOT/examples/token/deliveries.jsonl' $closed"
        assert_status 1 # one of the deliveries is refused
        [ "$(sqlite3 store.${#closed}/gaspipe.sqlite 'SELECT count(*) FROM vatstore')" -gt 0 ]
    done
    run bash -c "'$BUILD/slogreport' '$ROOT/tests/data/small.slog.gz' >&-"
    assert_status 0
}
