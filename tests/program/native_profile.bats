#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run --native-profile: each delivery's instructions, or block cost, by native function, to the last one.

load common
load vats

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# counted OPTION...: the token example under QEMU, results in `out`.
counted() {
    "$BUILD/gaspipe" run --json "$@" --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > out || [ $? -eq 1 ]
}

# A line `CRANK INSTRUCTIONS` for each delivery, of the results and of a profile.
of_deliveries() {
    jq -r 'select(.kind == "delivery") | "\(.crankNum) \(.instructions)"' "$1"
}
of_functions() {
    jq -r -s 'map(select(.kind == "function")) | group_by(.crankNum)[] |
        "\(.[0].crankNum) \(map(.selfInstructions) | add)"' "$1"
}

# A line `CRANK FUNCTION INSTRUCTIONS` for each function, of the profile's lines of one kind.
by_function() {
    jq -r --arg kind "$1" -s 'map(select(.kind == $kind)) | group_by([.crankNum, .module, .function])[] |
        "\(.[0].crankNum) \(.[0].module) \(.[0].function) \(map(.selfInstructions) | add)"' profile
}

@test "native profile: functions add up to each delivery's instructions, which stay the same" {
    counted
    of_deliveries out > plain
    counted --native-profile profile --native-folded folded --slog slog
    assert_equal "$(of_deliveries out)" "$(cat plain)" "counts with a profile"
    assert_equal "$(of_functions profile)" "$(cat plain)" "sums of functions"
    all=$(awk '{ sum += $2 } END { print sum }' plain)
    assert_equal "$(awk '{ sum += $NF } END { print sum }' folded)" "$all" "folded"
    # The engine's loop is charged to its own function, in each delivery.
    assert_equal "$(jq -r 'select(.function == "fxRunID") |
        select(.module == "gaspipe-worker" and .calls > 0 and .totalInstructions > .selfInstructions).crankNum' \
        profile | tr '\n' ' ')" "1 3 5 7 9 11 13 "
    grep -q '^token;mint;gaspipe-worker`.*;gaspipe-worker`fxRunID;.* [0-9]*$' folded
    # Each file has its build-id, and what was compiled into functions is named where there is debug information.
    assert_equal "$(jq -r 'select(.kind == "function" and .module == "gaspipe-worker").buildId' profile | sort -u)" \
        "$(readelf -n "$BUILD/gaspipe-worker" | sed -n 's/.*Build ID: //p')" build-id
    ! readelf -S "$BUILD/gaspipe-worker" | grep -q debug_info ||
        jq -e -n '[inputs | select(.inlined != null and .line != null)] | length > 0' profile
    # Lines add up to their functions, and what was compiled into those has its own.
    assert_equal "$(by_function line)" "$(by_function function | grep -v ' 0$')" "sums of lines"
    ! readelf -S "$BUILD/gaspipe-worker" | grep -q debug_info ||
        jq -e -n '[inputs | select(.kind == "line" and .module == "gaspipe-worker" and .line > 0 and .inlinedFunction != null)] |
            length > 0' profile
    # gaspipe replay writes the same profile of the same deliveries; trees come in another order.
    "$BUILD/gaspipe" replay --counter qemu --native-profile replayed slog > /dev/null
    jq -c 'select(.kind != "tree") | del(.crankNum, .vat)' profile > a
    jq -c 'select(.kind != "tree") | del(.crankNum, .vat)' replayed > b
    cmp a b
    # slogreport adds it up.
    "$BUILD/slogreport" profile --top 1 profile > text
    grep -qE '^ *self instructions  .*calls  function$' text
    assert_equal "$(tail -n 2 text | head -n 1 | tr -d ,)" "$all instructions"
    assert_equal "$("$BUILD/slogreport" profile --json --by method profile |
        jq -s 'map(.selfInstructions) | add')" "$all"
    "$BUILD/slogreport" profile --flame flame.svg folded
    grep -q ' instructions, ' flame.svg
    run --separate-stderr "$BUILD/slogreport" profile profile <("$BUILD/gaspipe" run --counter none \
        --profile /dev/stdout --json --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" | grep '"kind":"function"')
    assert_bad_input 3 "give one kind at a time"
}

# metered FILE OPTION...: the token example with the compiled-in meter, results in FILE.
metered() {
    "$BUILD/gaspipe" run --json --counter compiled "${@:2}" --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > "$1" || [ $? -eq 1 ]
}

# A line `CRANK UNITS` for each delivery, of the results and of a profile's objects of one kind.
costs_of_deliveries() {
    jq -r 'select(.kind == "delivery" and .blockCost != null) | "\(.crankNum) \(.blockCost)"' "$1"
}
costs_of() {
    jq -r --arg kind "$1" -s 'map(select(.kind == $kind)) | group_by(.crankNum)[] |
        "\(.[0].crankNum) \(map(.selfBlockCost) | add)"' "$2"
}

needs_metered_workers() {
    [ -x "$ROOT/build/gaspipe-worker-metered-profile" ] || skip 'make metered-profile has not built the workers'
    [ "$BUILD" = "$ROOT/build" ] || skip 'the metered workers are beside the ordinary gaspipe'
}

@test "native profile: block cost of the compiled-in meter adds up, and stays the same" {
    needs_metered_workers
    metered plain
    costs_of_deliveries plain > wanted
    [ "$(wc -l < wanted)" -eq 7 ]
    # Together with a profile by JavaScript function, whose own work costs, too.
    metered out --native-profile profile --profile js.profile
    assert_equal "$(costs_of function profile)" "$(costs_of_deliveries out)" "with --profile"
    [ "$(grep -c '"kind":"tree"' js.profile)" -eq 7 ]
    metered out --native-profile profile --native-folded folded --slog slog
    assert_equal "$(costs_of_deliveries out)" "$(cat wanted)" "costs with a profile"
    assert_equal "$(costs_of function profile)" "$(cat wanted)" "sums of functions"
    assert_equal "$(costs_of line profile)" "$(cat wanted)" "sums of lines"
    all=$(awk '{ sum += $2 } END { print sum }' wanted)
    assert_equal "$(awk '{ sum += $NF } END { print sum }' folded)" "$all" "folded"
    metered again --native-profile profile-2 --native-folded folded-2
    cmp profile profile-2
    cmp folded folded-2
    # The engine's loop, called in each delivery, with its source.
    assert_equal "$(jq -r 'select(.kind == "function" and .function == "fxRunID" and .calls > 0 and
        .totalBlockCost > .selfBlockCost and .selfInstructions == null and (.file | endswith("xsRun.c"))).crankNum' profile |
        tr '\n' ' ')" "1 3 5 7 9 11 13 "
    assert_equal "$(jq -r 'select(.function == "[unprofiled]").crankNum' profile)" ""
    grep -q '^token;mint;gaspipe-worker!.*;gaspipe-worker!fxRunID;.* [0-9]*$' folded
    # gaspipe replay makes the same profile, and slogreport adds it up.
    "$BUILD/gaspipe" replay --counter compiled --native-profile replayed slog > /dev/null
    cmp <(jq -c 'del(.crankNum, .vat)' profile) <(jq -c 'del(.crankNum, .vat)' replayed)
    "$BUILD/slogreport" profile --top 1 profile > text
    grep -qE '^ *self block cost  .*calls  function$' text
    assert_equal "$(tail -n 2 text | head -n 1 | tr -d ,)" "$all block cost"
    assert_equal "$("$BUILD/slogreport" profile --json --by method folded | jq -s 'map(.selfBlockCost) | add')" "$all"
    "$BUILD/slogreport" profile --flame flame.svg folded
    grep -q ' block cost, ' flame.svg
    "$BUILD/slogreport" --html page.html --profile profile slog
    grep -q '"nodes":\[\[null,0,[0-9]*,null,null,null,[0-9]*\]' page.html
}

@test "native profile: block cost of contracts in WebAssembly and in native code" {
    needs_metered_workers
    local sent=$ROOT/examples/wasm-token/deliveries.jsonl
    clang --target=wasm32 -O2 -nostdlib -I"$ROOT" -Wl,--no-entry -o token.wasm \
        "$ROOT/examples/wasm-token/token.c"
    "$BUILD/gaspipe-cc" -O2 -g -fPIC -shared --meter=--profile "-I$ROOT/worker/native" \
        "$ROOT/examples/native-token/token.c" -o token.so
    for contract in token.wasm token.so; do
        "$BUILD/gaspipe" run --json --counter compiled --native-profile profile --vat "ft=$contract" "$sent" \
            > out 2> /dev/null || [ $? -eq 1 ]
        [ "$(costs_of_deliveries out | wc -l)" -ge 5 ]
        assert_equal "$(costs_of function profile)" "$(costs_of_deliveries out)" "$contract"
    done
    # A native contract's profile has its own functions.
    assert_equal "$(jq -r 'select(.kind == "function" and .function == "transfer").calls' profile | sort -u)" 1
    "$BUILD/gaspipe-cc" -O2 -fPIC -shared "-I$ROOT/worker/native" "$ROOT/examples/native-token/token.c" -o token.so
    "$BUILD/gaspipe" run --counter compiled --native-profile profile --vat ft=token.so "$sent" > /dev/null 2>&1 || [ $? -eq 1 ]
    assert_equal "$(jq -r 'select(.kind == "function").function' profile | sort -u)" "[unprofiled]"
}

@test "native profile: without the worker that has it, one line says what makes it" {
    mkdir alone
    cp "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-sandbox} "$BUILD"/*.bundle alone
    run --separate-stderr alone/gaspipe run --counter compiled --native-profile profile \
        --vat "token=$ROOT/examples/token/contract.js" "$ROOT/examples/token/deliveries.jsonl"
    assert_bad_input 4 gaspipe-worker-metered-profile 'make metered-profile'
    run --separate-stderr "$BUILD/gaspipe" run --counter compiled --native-profile profile --trace-functions trace \
        --vat "token=$ROOT/examples/token/contract.js" "$ROOT/examples/token/deliveries.jsonl"
    assert_bad_input 2 '--trace-functions and --native-profile do not go together'
}

@test "native profile: it needs the counter" {
    run --separate-stderr "$BUILD/gaspipe" run --counter none --native-profile profile \
        --vat "token=$ROOT/examples/token/contract.js" "$ROOT/examples/token/deliveries.jsonl"
    assert_bad_input 2 "--native-profile and --native-folded need --counter qemu or compiled"
}

@test "native profile: by function as callgrind has it" {
    command -v valgrind > /dev/null || skip "needs valgrind"
    # Without `rep`, whose iterations callgrind counts as instructions.
    gcc -O1 -mstringop-strategy=loop -foptimize-sibling-calls "$BATS_TEST_DIRNAME/counter_calls.c" -o calls -lpthread
    "$BUILD/gaspipe" count --profile-json profile -- ./calls 2> /dev/null
    valgrind --tool=callgrind --skip-plt=no --callgrind-out-file=callgrind.out ./calls 2> /dev/null
    # Only the program's own: the library chooses other functions for another CPU.
    callgrind_annotate --threshold=100 callgrind.out |
        sed -nE "s|^ *([0-9,]+) .*:([a-z_]+)('2)? \[.*/calls\]\$|\2 \1|p" | tr -d , |
        awk '{ self[$1] += $2 } END { for (name in self) print name, self[name] }' | sort > wanted
    jq -r 'select(.kind == "function" and .object == "calls") | "\(.function) \(.self)"' profile | sort > found
    [ "$(wc -l < wanted)" -ge 12 ]
    assert_equal "$(grep -wFf <(cut -d ' ' -f 1 wanted) found)" "$(cat wanted)"
}
