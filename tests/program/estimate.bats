#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe estimate: costs out of counts.

load common

SUITES=$BUILD/suites

# made_up OPERATIONS: a suite in the present directory whose contract is never run.
made_up() {
    echo 'export const nothing = () => {};' > contract.js
    printf '{"name": "made-up", "counts": [2, 5], "contracts": {"c": "contract.js"},
        "operations": [%s]}\n' "$1" > suite.json
}

# machine RULES: what a machine, whose costs are the awk program RULES, takes for the deliveries on
# stdin, as gaspipe run would report it. RULES set `taken` by method, count and size.
machine() {
    jq -r '[.method, .args[0], .args[1]] | @tsv' | awk -F '\t' '
        { method = $1; count = $2; size = $3; taken = 0; '"$1"'
          printf "{\"kind\":\"delivery\",\"vat\":\"c\",\"description\":\"(o+0).%s -> p-1\",", method
          printf "\"status\":\"ok\",\"instructions\":%.0f,\"compute\":%d}\n", taken, count }'
}

# costs: name, unit, instructions and warnings of each cost in $output.
costs() {
    jq -r 'select(.kind == "cost") | [.operation, .per, (.instructions | if . then . * 1 else . end), (.warnings | join("+"))] | @tsv' \
        <<< "$output" | LC_ALL=C sort
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "a suite is found by its directory, and by its name where it came with the program" {
    run "$BUILD/gaspipe" estimate --deliveries near
    assert_status 0
    assert_equal "$output" "$("$BUILD/gaspipe" estimate --deliveries "$SUITES/near")"
    run "$BUILD/gaspipe" estimate --deliveries nowhere
    assert_status 3
    assert_output_has "no suite 'nowhere'; give a directory with suite.json"
    made_up '{"name": "add", "contract": "c", "method": "add"}'
    mkdir near
    mv suite.json contract.js near
    run "$BUILD/gaspipe" estimate --deliveries near
    assert_status 0
    assert_output_has '"method":"add"'
}

@test "the costs of a made-up machine are found again from its counts" {
    made_up '{"name": "add", "contract": "c", "method": "add", "base": "loop", "repeat": 4},
        {"name": "hash", "contract": "c", "method": "hash", "base": "loop", "sizes": [0, 32, 100]},
        {"name": "start", "contract": "c", "method": "start", "unit": "character", "sizes": [7, 8]}'
    # A call takes 1000 and each repetition 20; an add takes 3, a hash 250 and 7.5 for a byte.
    "$BUILD/gaspipe" estimate --deliveries . | machine '
        taken = 1000 + 20 * count
        if (method == "add") taken += 4 * 3 * count
        if (method == "hash") taken += (250 + 7.5 * size) * count
        if (method == "start") taken += 11 * count * size' > counts.jsonl
    run "$BUILD/gaspipe" estimate --json --from counts.jsonl .
    assert_status 0
    assert_equal "$(costs)" "$(printf 'add\toperation\t3\t
hash\tbyte\t7.5\t
hash\toperation\t250\t
start\tcharacter\t11\t
start\toperation\t20\t')"
    assert_equal "$(jq -s 'map(select(.kind == "cost") | .gas == .instructions * 125000) | all' <<< "$output")" true
}

@test "costs that are in doubt say why" {
    local calls

    made_up '{"name": "below", "contract": "c", "method": "below", "base": "loop"},
        {"name": "square", "contract": "c", "method": "square", "counts": [1, 10, 100]},
        {"name": "noise", "contract": "c", "method": "noise", "base": "loop"}'
    calls=$("$BUILD/gaspipe" estimate --deliveries .)
    machine 'taken = 1000 + 20 * count
        if (method == "below") taken -= 2 * count
        if (method == "square") taken += 100 * count * count
        if (method == "noise") taken += 10 * count + 8 * (NR % 2)' <<< "$calls" > counts.jsonl
    run "$BUILD/gaspipe" estimate --json --from counts.jsonl .
    assert_status 0
    assert_equal "$(costs | cut -f 1,4)" "$(printf 'below\tnegative+underflow
noise\thigh variance
square\tnot linear')"
    run "$BUILD/gaspipe" estimate --from counts.jsonl .
    assert_output_has '0.0 %  negative, underflow'
}

@test "faults of a suite or its counts are reported" {
    made_up '{"name": "a", "contract": "c", "method": "m", "counts": [3, 3]}'
    "$BUILD/gaspipe" estimate --deliveries . | machine 'taken = 5' > counts.jsonl
    run --separate-stderr "$BUILD/gaspipe" estimate --from counts.jsonl .
    assert_bad_input 3 'operation a: its counts and sizes do not separate its costs'
    head -n 2 counts.jsonl > fewer.jsonl
    run --separate-stderr "$BUILD/gaspipe" estimate --from fewer.jsonl .
    assert_bad_input 3 'the counts have no call 3 of m of c'
    sed '2s/"ok"/"error","error":"no"/' counts.jsonl > failed.jsonl
    run --separate-stderr "$BUILD/gaspipe" estimate --from failed.jsonl .
    assert_bad_input 1 'm of contract c failed: no'
    run --separate-stderr "$BUILD/gaspipe" estimate --only b --deliveries .
    assert_bad_input 2 "no operation of suite made-up matches 'b'"
    made_up '{"name": "a", "contract": "d", "method": "m"}'
    run --separate-stderr "$BUILD/gaspipe" estimate --deliveries .
    assert_bad_input 3 'suite.json: operation a: "contract" must be the name of one'
    made_up '{"name": "a", "contract": "c", "method": "m", "counts": [0]}'
    run --separate-stderr "$BUILD/gaspipe" estimate --deliveries .
    assert_bad_input 3 'operation a: "counts" must be 1 to 16 numbers'
    made_up '{"name": "a", "contract": "c", "method": "m", "sise": [1]}'
    run --separate-stderr "$BUILD/gaspipe" estimate --deliveries .
    assert_bad_input 3 'operation a: no such member: sise'
    run --separate-stderr "$BUILD/gaspipe" estimate
    assert_bad_input 2 'give the directory of a suite'
}

# charged OPERATION PER: what $output says is charged today, whole gas.
charged() {
    jq -r --arg name "$1" --arg per "$2" \
        'select(.operation == $name and .per == $per) | .charged | round' <<< "$output"
}

@test "NEAR's charges are found again to the unit, as nearcore's parameters have them" {
    # An operation is charged 822756; besides the measured cost, each call of a host function has a
    # constant for each of its arguments.
    local op=822756

    run "$NATIVE/gaspipe" estimate --json --counter none "$SUITES/near"
    assert_status 0
    assert_equal "$(charged i64.add operation)" $((2 * op))
    assert_equal "$(charged call_8_locals operation)" $((23 * op))
    assert_equal "$(charged sha256 operation)" $((4540970250 + 2609863200 + 2865522486 + 32 * 3801564 + 4 * op))
    assert_equal "$(charged sha256 byte)" $((24117351 + 3801333))
    assert_equal "$(charged storage_has_key byte)" $((30790845 + 3801333))
    assert_equal "$(charged contract_loading operation)" $((35445963 + 8 * op))
    assert_equal "$(charged contract_loading byte)" 1089295
    run "$NATIVE/gaspipe" estimate --json --counter none --near-protocol 62 --only contract_loading \
        "$SUITES/near"
    assert_equal "$(charged contract_loading byte)" 216750
}

@test "a suite costs the same on each run; a cost that moves ends with status 6" {
    run "$BUILD/gaspipe" estimate --save costs.json --history costs.jsonl --label one \
        --counts counts.jsonl "$SUITES/near"
    assert_status 0
    # A contract pays the same for either.
    assert_equal "$(jq '.costs | .["ed25519_verify of a wrong signature"] < 5 * .ed25519_verify' \
        costs.json)" true
    run "$BUILD/gaspipe" estimate --compare costs.json --history costs.jsonl --label two \
        --html costs.html "$SUITES/near"
    assert_status 0
    assert_output_has 'no cost moved by more than 0 %'
    assert_equal "$(jq -s -c 'map([.suite, .label, (.costs | length > 60)])' costs.jsonl)" \
        '[["near","one",true],["near","two",true]]'
    assert_equal "$(jq -s 'map(.fingerprint) | unique | length' costs.jsonl)" 1
    grep -q '<title>one: ' costs.html
    # Rows that --only leaves out do not count as missing.
    run "$BUILD/gaspipe" estimate --compare costs.json --allow 1% --only 'i64.add' "$SUITES/near"
    assert_status 0
    # A constant more in a count of i64.add is a cost that moved.
    jq -c 'if .description // "" | startswith("(o+0).i64_add ")
        then .instructions += .compute else . end' counts.jsonl > moved.jsonl
    run "$BUILD/gaspipe" estimate --compare costs.json --allow 5% --from moved.jsonl "$SUITES/near"
    assert_status 6
    assert_output_has 'i64.add: +'
    assert_output_has '1 cost moved since costs.json by more than 5 %'
    assert_output_has 'the files that count and compute have changed since'
}

@test "operations of JavaScript, charged by computrons as the suite says" {
    run "$BUILD/gaspipe" estimate --json --only '*a*' "$SUITES/javascript"
    assert_status 0
    assert_equal "$(jq -s 'map(select(.kind == "cost") | .charged == .computrons * 10000000) | all' \
        <<< "$output")" true
    assert_equal "$(jq 'select(.operation == "call a function") | .instructions > 100' \
        <<< "$output")" true
    echo '{"computron": 1}' > charge.json
    run "$BUILD/gaspipe" estimate --json --counter none --charge charge.json --only 'call a function' \
        "$SUITES/javascript"
    assert_equal "$(jq 'select(.kind == "cost") | .charged == .computrons and .instructions == null' \
        <<< "$output")" true
}
