#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run on vats that call each other: under liveslots, with snapshots, stopped and
# started again.

load common
load vats
load small_vats
load store_contents

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    small_vats
}

# replayed OPTION...: nothing differs.
replayed() {
    run --separate-stderr "$NATIVE/gaspipe" replay "$@"
    assert_status 0
}

@test "vats call each other; the result of a line is printed when its promise is settled" {
    vats_run --counter none - < <(lines 2; echo '{"vat":"here","method":"fail","args":["why not"]}'
        echo '{"vat":"here","method":"never"}')
    assert_status 1
    assert_equal "$(jq -c 'select(.kind == "result") | [.place, .status, .value]' <<< "$output")" \
        '["stdin:1","fulfilled",[0,1,1]]
["stdin:2","fulfilled",{"@bigint":"1"}]
["stdin:3","fulfilled",[1,2,2]]
["stdin:4","fulfilled",{"@bigint":"3"}]
["stdin:5","rejected",{"#error":"why not","errorId":"error:liveSlots:v1#70001","name":"Error"}]
["stdin:6","unresolved",null]'
    assert_equal "$(jq -c 'select(.kind == "summary") | [.results, .rejected, .unresolved, .failed]' \
        <<< "$output")" '[5,1,1,0]'
}

@test "the text summary counts results that are rejected, as the exit status does" {
    run --separate-stderr "$NATIVE/gaspipe" run --counter none "${vats[@]}" - < <(
        lines 1; echo '{"vat":"here","method":"fail","args":["why not"]}')
    assert_status 1
    assert_output_has ' 0 failed, 1 result rejected, in '
    assert_output_has 'stdin:3: rejected  Error: why not'
    assert_equal "$(grep -c ' here  *fail  *rejected ' <<< "$output")" 1
}

@test "a method that a vat under liveslots does not have is said as for plain contracts" {
    run --separate-stderr "$NATIVE/gaspipe" run --counter none "${vats[@]}" - < <(
        printf '{"vat":"%s","method":"bidd","args":[]}\n' here token)
    assert_status 1
    assert_output_has 'stdin:1: rejected  TypeError: no method "bidd"; there are: addAtPeer, fail, '
    assert_output_has 'stdin:2: TypeError: no method "bidd"; there are: balance, holders, '
}

@test "a result that never settles shows as unresolved, and does not fail the run" {
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --store store "${vats[@]}" - < <(
        echo '{"vat":"here","method":"never"}')
    assert_status 0
    assert_output_has 'stdin:1: unresolved'
    assert_output_has ' 0 failed, 1 unresolved, in '
}

# results_of ARGUMENT...: the result lines of a run on the store, and how many it counts as unresolved.
results_of() {
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --store store "${vats[@]}" "$@"
    jq -c 'if .kind == "result" then [.place, .status, .again] else select(.kind == "summary").unresolved end' \
        <<< "$output"
}

@test "unresolved results are printed once, by the next run if this one could not" {
    printf '{"vat":"here","method":"%s"}\n' never > never.jsonl
    printf '{"vat":"here","method":"%s"}\n' never never > nevers.jsonl
    # It is committed before it is printed: a run that cannot print leaves what one does that is killed
    # in between. The vats have started before, since that is committed and printed by itself.
    results_of /dev/null
    run -4 bash -c '"$0" "$@" > /dev/full' "$NATIVE/gaspipe" run --json --counter none --store store \
        --cranks-per-commit 100 "${vats[@]}" never.jsonl
    assert_equal "$(results_of --resume never.jsonl)" $'["never.jsonl:1","unresolved",true]\n1'
    assert_equal "$(results_of --resume never.jsonl)" ''
    assert_equal "$(results_of --resume nevers.jsonl)" $'["nevers.jsonl:2","unresolved",null]\n2'
    # Another input: first what the one before could not print.
    rm -r store
    results_of /dev/null
    run -4 bash -c '"$0" "$@" > /dev/full' "$NATIVE/gaspipe" run --json --counter none --store store \
        --cranks-per-commit 100 "${vats[@]}" never.jsonl
    assert_equal "$(results_of --again nevers.jsonl)" '["never.jsonl:1","unresolved",true]
["nevers.jsonl:1","unresolved",null]
["nevers.jsonl:2","unresolved",null]
2'
}

@test "a line can send to the result of another, and pass it on" {
    vats_run --counter none - << 'EOF'
{"vat":"there","method":"makeCounter","args":["c"],"id":"counter"}
{"to":{"@result":"counter"},"method":"add","args":[5]}
{"to":{"@result":"counter"},"method":"add","args":[6]}
EOF
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "result") | .value' <<< "$output" | tail -n 2)" $'5\n11'
}

@test "a liveslots vat that exceeds its limit is terminated, and the others continue" {
    # A worker that exits in the middle of a delivery leaks, which its sanitizer would report.
    run --separate-stderr "$BUILD/gaspipe" run --json "${vats[@]}" --counter none \
        --compute-limit 1000000 - << 'EOF'
{"vat":"there","method":"spin"}
{"vat":"here","method":"addAtPeer","args":[{"@vat":"here"},"x",1]}
{"vat":"there","method":"heap"}
EOF
    assert_status 1
    assert_equal "$(jq -c 'select(.kind == "result") | .status' <<< "$output")" \
        $'"rejected"\n"fulfilled"'
    assert_equal "$(jq -r 'select(.crankNum == null and .kind == "delivery") | .error' \
        <<< "$output")" 'the vat has ended: Compute meter exceeded: more than the 1000000 computrons that a delivery may use (--compute-limit)'
}

@test "with snapshots and without: the same computrons" {
    local interval with

    for interval in 0 4; do
        vats_run --counter none --snapshot-interval $interval - < <(lines 3)
        assert_status 0
        with=$(jq -c 'select(.kind == "delivery" and (.description | test("^(bring|drop|retire)") | not)) |
            [.vat, .description, .compute]' <<< "$output")
        : "${without:=$with}"
        assert_equal "$with" "$without" "computrons with an interval of $interval"
    done
}

@test "the slogfile of vats is reproduced by a replay, with snapshots" {
    vats_run --counter none --snapshot-interval 6 --slog slog --store store - < <(lines 3)
    assert_status 0
    [ "$(grep -c heap-snapshot-save slog)" -gt 3 ]
    assert_equal "$(jq -r .type slog | sort -u | tr '\n' ' ')" \
        'clist crank-finish crank-start create-vat deliver deliver-result finish-replay heap-snapshot-load heap-snapshot-save slog-start start-replay syscall syscall-result vat-startup-finish vat-startup-start '
    run --separate-stderr "$NATIVE/gaspipe" replay --counter none --json slog
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "vat") | [.vat, .status]' <<< "$output")" \
        $'["here","same"]\n["there","same"]\n["token","same"]'
    run "$BUILD/slogreport" --json slog
    assert_status 0
}

@test "a run that was stopped resumes only with the same file" {
    lines 3 > input
    vats_run --counter none --store store - < <(head -n 2 input; echo nonsense)
    assert_status 3
    sed 's/"a"/"b"/' input > other
    vats_run --counter none --store store other
    assert_bad_input 3 'other: does not begin with the 2 lines' --again
    head -n 1 input > short
    vats_run --counter none --store store short
    assert_bad_input 3 'short: does not begin with the 2 lines'
    vats_run --counter none --store store input
    assert_status 0
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    [[ $stderr == *"input: continues after line 2"* ]] || fail "$stderr"
    assert_equal "$(jq -r 'select(.kind == "result") | .place' <<< "$output" | tr '\n' ' ')" \
        'input:3 input:4 input:5 input:6 '
    vats_run --counter none --store store other
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "result") | .place' <<< "$output" | wc -l)" 6
}

@test "a finished file is refused when it is given again, unless --again or --resume says what is meant" {
    lines 2 > input
    vats_run --counter none --store store input
    assert_status 0
    cp -r store before
    cp input copy
    for again in input copy - ; do
        vats_run --counter none --store store "$again" < input
        assert_bad_input 2 'the store has delivered all of it' '--resume' '--again'
        assert_equal "$output" ''
        assert_same_dump store before
    done
    vats_run --counter none --resume --store store input
    assert_status 0
    assert_same_dump store before
    # A decision of the operator is carried out, and nothing is delivered again.
    vats_run --counter none --store store --set-limit here=syscalls:5000 input
    assert_status 0
    assert_equal "$(jq -c 'select(.kind != "summary")' <<< "$output")" ''
    # Nor are lines that it begins with delivered again.
    (cat input; echo; lines 1) > longer
    cp -r store before.longer
    for operation in '' --set-limit=here=syscalls:5000; do
        vats_run --counter none --store store ${operation:+"$operation"} longer
        assert_bad_input 2 'longer: the store has delivered all of it up to line 4; --resume delivers the lines after that'
        assert_same_dump store before.longer
    done
    vats_run --counter none --resume --store store longer
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "result") | .place' <<< "$output" | tr '\n' ' ')" 'longer:6 longer:7 '
    # A pipe is not read ahead of its writer, and other lines are another file.
    vats_run --counter none --store store - < <(cat input)
    assert_status 0
    sed 's/"a"/"b"/' input > other
    for other in other input; do
        vats_run --counter none --store store "$other"
        assert_status 0
    done
    vats_run --counter none --store store --again input
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "result") | .place' <<< "$output" | tr '\n' ' ')" \
        'input:1 input:2 input:3 input:4 '
}

@test "with --resume, restarting a run delivers nothing twice" {
    lines 2 > input
    vats_run --counter none --resume --store store input
    assert_status 0
    cp -r store before
    vats_run --counter none --resume --store store input
    assert_status 0
    assert_equal "$(jq -c 'select(.kind != "summary")' <<< "$output")" ''
    assert_same_dump store before
    lines 3 > input
    vats_run --counter none --resume --store store input
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "result") | .place' <<< "$output" | tr '\n' ' ')" \
        'input:5 input:6 '
    sed 's/"a"/"b"/' input > other
    vats_run --counter none --resume --store store other
    assert_bad_input 3 'other: does not begin with the 6 lines'
    vats_run --counter none --resume --again --store store other
    assert_status 2
}

@test "lines that are queued together are done together" {
    vats_run --counter none --queue-lines 4 - < <(lines 2)
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "result") | .place' <<< "$output" | tr '\n' ' ')" \
        'stdin:1 stdin:2 stdin:3 stdin:4 '
}

@test "a changed transcript is found when its vat is restored" {
    vats_run --counter none --snapshot-interval 0 --store store - < <(lines 2)
    assert_status 0
    store_edit store "UPDATE transcript SET item = CAST(
        replace(CAST(item AS TEXT), 'balance.a\"', 'balance.z\"') AS BLOB)
        WHERE vat = 3 AND position = 2"
    cp -r store unhidden
    vats_run --counter none --store unhidden - < <(lines 1)
    assert_status 5
    assert_has "$stderr" 'vat token, its start: unhidden/gaspipe.sqlite: the store is damaged: vat v3, item 2 of the transcript' \
        'does not match its checksum' 'vat token is in quarantine: it cannot be restored: '
    store_edit store "UPDATE transcript SET checksum = checksum(3, vat, incarnation, position, '', item)"
    vats_run --counter none --store store - < <(lines 1)
    assert_status 5
    assert_has "$stderr" 'vat token is in quarantine: it cannot be restored: delivery 3, syscall 0 differs' \
        'recorded ["vatstoreGet","balance.z"]' 'now ["vatstoreGet","balance.a"]'
}

@test "a vat's contract cannot be replaced" {
    vats_run --counter none --store store - < <(lines 1)
    cp "$ROOT/examples/digest/contract.js" other.js
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --store store --vat token=other.js - \
        < /dev/null
    assert_bad_input 3 token
}

# Characters that JSON.stringify escapes and jansson refuses, and '\0', in each place that a
# vat can put them.
@test "lone surrogates and '\0' survive messages, store, slog, stops and replay" {
    jq -Rs '{moduleFormat: "getExport", source: .}' "$ROOT/tests/program/vats/strings.js" \
        > strings.bundle
    vats=(--counter none --snapshot-interval 5 --vat here=strings.bundle --vat there=strings.bundle)
    cat > lines << 'EOF'
{"vat":"here","method":"units","args":["\ud83d\ude00\udfff\u0000\ufffe"]}
{"vat":"here","method":"keep","args":["\ud800","a\udc00\u0000"]}
{"vat":"here","method":"keep","args":["\ud801","\ufffe\u0800"]}
{"vat":"here","method":"keep","args":["x\u0000","\ufffd"]}
{"vat":"here","method":"kept"}
{"vat":"here","method":"relay","args":[{"@vat":"there"},55297,0,57343]}
{"vat":"here","method":"echo","args":[{"@device":"echo"},56000,0,55296]}
{"vat":"here","method":"record"}
{"vat":"here","method":"say","args":["half \udbff, nothing \u0000, end"]}
{"vat":"here","method":"fail","args":["half \udbff"]}
EOF
    vats_run --store whole --slog slog lines
    assert_status 1
    grep '"kind":"result"' <<< "$output" | sed 's/.*"status"://' > values
    assert_equal "$(cat values)" '"fulfilled","value":"d83d de00 dfff 0 fffe"}
"fulfilled","value":"61 dc00 0"}
"fulfilled","value":"fffe 800"}
"fulfilled","value":"fffd"}
"fulfilled","value":["78 0: fffd","d800: 61 dc00 0","d801: fffe 800"]}
"fulfilled","value":"d801 0 dfff"}
"fulfilled","value":"dac0 0 d800"}
"fulfilled","value":{"a\ufffe":"\ufffe'$'\u0800''","\ud800":"\udfff"}}
"fulfilled","value":{"@value":"undefined"}}
"rejected","value":{"#error":"half \udbff","errorId":"error:liveSlots:v1#70001","name":"Error"}}'
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    grep -qF $'here: it says half \uFFFD, nothing \uFFFD, end' <<< "$stderr"
    grep -qF '"args":["it says","half \udbff, nothing \u0000, end"]' slog
    grep -F '"vsc":["vatstoreSet","vc' slog | grep -F 's\ud800","{' | grep -qF 'a\\\\udc00\\\\u0000'
    replayed slog
    replayed --store whole --from-start here
    first='3 6' at='"place":"lines:[369]"' highest=1 stopped lines parts
    grep '"kind":"result"' parts.out | sed 's/.*"status"://' | cmp values -
    diff <(dump whole) <(dump parts)
}

@test "the error of a vat that cannot be started is complete in the slog, even after a '\0'" {
    jq -n '{moduleFormat: "getExport", source: "function getExport() {
        return { buildRootObject: () => { throw Error(\"a\\0b\\ud800\"); } }; }"}' > bad.bundle
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --slog slog --vat bad=bad.bundle /dev/null
    assert_status 3
    grep -qF $'bad.bundle: Error: a\uFFFDb\uFFFD' <<< "$stderr"
    grep -qF '"dr":["error","Error: a\u0000b\ud800",' slog
    replayed slog
}

@test "each value that @endo/marshal passes comes out as it goes in" {
    jq -Rs '{moduleFormat: "getExport", source: .}' "$ROOT/tests/program/vats/passables.js" > passables.bundle
    vats=(--vat p=passables.bundle)
    echo '{"vat":"p","method":"all","id":"all"}' > lines
    vats_run --counter none lines
    jq -c 'select(.kind == "result") | .value[]' <<< "$output" > values
    assert_equal "$(wc -l < values)" 34
    assert_has "$(cat values)" '{"@bigint":"6921"}' '{"@value":"-Infinity"}' '{"@ref":"ko21","iface":"Alleged: purse"}'
    jq -c '{vat: "p", method: "keep", args: [.]}' values >> lines
    echo '{"vat":"p","method":"negative","args":[{"@value":"-0"}]}' >> lines
    vats_run --counter none lines
    # An error gets another number each time; a reference has its interface where it is first mentioned.
    jq -c 'select(.kind == "result") | .value | walk(if type == "object" then del(.errorId, .iface) else . end)' \
        <<< "$output" > results
    jq -c 'walk(if type == "object" then del(.errorId, .iface) else . end) | [., [.]]' values |
        diff <(sed '1d;$d' results) -
    assert_equal "$(tail -n 1 results)" true
}
