#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs at which XS, as it is published, gives an answer that depends on the compiler, or harms its own
# memory. gaspipe's engine gives one answer, natively, under QEMU and compiled, for the same computrons.

load common

CONTRACTS=$ROOT/tests/program/contracts

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# The counters of this build.
counters() {
    echo none
    [ "$NATIVE" != "$BUILD" ] || echo qemu
    [ "$BUILD" != "$ROOT/build" ] || [ ! -x "$BUILD/gaspipe-worker-metered" ] || echo compiled
}

# send SCRIPT: the frame with which a bare worker runs it.
send() {
    local LC_ALL=C

    printf '%d:e%s,' $((${#1} + 1)) "$1"
}

# deliver COUNTER CONTRACT METHOD...: status, result and computrons of each delivery.
deliver() {
    local unlimited=()

    # Some of these take a gigabyte, which costs units.
    [ "$1" != compiled ] || unlimited=(--max-cost 0)
    printf '{"vat":"c","method":"%s"}\n' "${@:3}" > lines
    "$NATIVE/gaspipe" run --json --counter "$1" "${unlimited[@]}" --vat c="$CONTRACTS/$2.js" lines 2> said |
        jq -c 'select(.kind == "delivery") | [.status, .result, .compute]' || fail "$(cat said)"
}

# everywhere CONTRACT METHOD...: the same with each counter. What was delivered is in the file first.
everywhere() {
    local counter

    rm -f first
    for counter in $(counters); do
        deliver "$counter" "$@" > "$counter"
        [ -f first ] || cp "$counter" first
        assert_equal "$(cat "$counter")" "$(cat first)" "$counter and $(counters | head -n 1)"
    done
}

@test "a key of a Map or Set is found by its value: NaN, -0 and equal BigInts and strings" {
    everywhere keys keys nans
    assert_equal "$(jq -c '.[1]' first)" 'null
[true,1,true,1,true,1,true,1,true,1,true,1,"minus","minus",true,"plus",2,true,false,1,1,true,3,3,1,2,true,true,-1,0,false,true]
["0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f","0 0 c0 7f 0 0 c0 7f 0 0 c0 7f"]'
}

@test "a buffer that a callback makes shorter is not read or written beyond its end" {
    everywhere buffers buffers
    assert_equal "$(jq -r '.[1] | arrays | .[]' first)" 'fromShrinks: 170,0,0,0,0,0,0,0
fromIteratorShrinks: 1,2,0,0
fromDetaches: 0,0
fromWritesIntoTheView: 0,0,0,0,1,2,3,4,0,0,0,0
ofShrinks: 1,2
mapShrinks: 7,7,7
filterShrinks: 7,7,7,7,7,0,0,0,0,0,0,0,0,0,0,0
fillShrinks: 9,9,9
copyWithinShrinks: 0,2,3,3
setShrinks: RangeError
setFromArrayShrinks: 1,2
sliceShrinks: 1,1,0,0,0,0,0,0
sliceDetaches: TypeError
sortShrinks: 4
sortsTheView: 9834571,9834571,9834571,9834571,9834571,9834571,9834571
joinShrinks: 0-0--
resizeResizes: 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0
resizeShrinksFirst: 1,1,0,0,0,0,0,0
transferShrinksFirst: 1,1,0,0,0,0,0,0
bufferSliceShrinks: TypeError
dataViewShrinks: TypeError
elementShrinks: 0,0,0,0
lengthOverflows: RangeError
nansKeepTheirBits: 1,2,3,4,5,6,248,255,1,2,3,4,5,6,248,127,1,2,3,4,5,6,248,255,1,2,3,4,5,6,248,127,0,0,0,0,0,0,0,0,1,2,3,4,5,6,248,255,1,2,3,4,5,6,248,127'
}

@test "a loop of a RegExp that matches nothing ends, and going back restores how often loops still run" {
    everywhere loops loops
    assert_equal "$(jq -c '.[1] | arrays | .[]' first)" '["a\n"]
["b"]
["aaa"]
null
["",{"@value":"undefined"}]
["ab"]
["zaacbbbcac","z","ac","a",{"@value":"undefined"},"c"]
["ab",{"@value":"undefined"}]
["a","a","a"]
["a","",{"@value":"undefined"}]
["abac"]
["aabaac"]
["c"]
["aab","a"]
["aac"]
["aab","a"]'
}

@test "parameters, instances, RegExps, digits of numbers, BigInts and positions in strings are the language's" {
    everywhere language names bounds escapes negated indices proxyKeys sources texts bigints
    assert_equal "$(jq -c '.[:2]' first)" '["ok",null]
["ok","ok"]
["ok","ok"]
["ok","ok"]
["ok","ok"]
["ok","ok"]
["ok","ok"]
["ok","ok"]
["ok","ok"]
["ok","ok"]'
}

@test "functions that act while built-in ones run do not end the worker" {
    local seed

    for seed in 1 2 3; do
        send "const SEED = $seed, CALLS = 700;"$'\n'"$(cat "$CONTRACTS/hostile_calls.js")" > frames
        "$BUILD/gaspipe-worker" 3< frames 4> replies > said 2>&1 || fail "$(cat said)"
        assert_equal "$(grep -c '^[0-9]* functions, 700 calls' said)" 1
    done
}

@test "Atomics does not read or write beyond the end of a buffer that an argument makes shorter" {
    send "$(cat "$CONTRACTS/atomics.js")"$'\n'"print(atomics().join('\\n'));" > frames
    "$BUILD/gaspipe-worker" 3< frames 4> replies > said 2>&1 || fail "$(cat said)"
    assert_equal "$(cat said)" 'atomicsShrink: RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError,RangeError
atomicIndexShrinks: RangeError
atomicsShrinkEnough: 0,7,0,0,0,0,0,0,7,0
atomicsDetach: TypeError'
}

@test "what arrays, texts and patterns are made of is looked at again after a function of the contract has run" {
    everywhere acts acts
    assert_equal "$(jq -r '.[1] | arrays | .[]' first)" 'fillShrinks: ,7,7
fillCallsSetter: 5,5,,5
fillShrinksBefore: 4
fillsFrozen: 1,2,3
fillsSealed: 0,0,0
fillsSparse: TypeError
flattens: 4200
flatMaps: 8400
groupChanges: TypeError
groupShrinks: a[xbc]c
matchIsLongerThanText: a[a]
splitterOutside: aéb😀| aéb😀| | aéb😀| |
patternMessages: 210
longLiterals: 455508814,657280213,714157998,RangeError
manyBits: -5,5,5,9223372036854775807
longLengths: true,1099511627779'
}

MEANWHILE='enumerator: TypeError,TypeError,TypeError,TypeError,TypeError,b,true
enumerator that a trap uses: undefined
global of a prototype: {"a":1},,true
decoder: ,,%uFFFDA%uFFFD,B
encoder: TypeError
base64: 0,0,0,0,0,2,1,3,18,1,3
timers: TypeError,TypeError,TypeError
registry: dead
registry: dead
registry: dead
timer: handed on as text object object'

@test "iterators, globals, codecs, timers and registries keep nothing that a function frees meanwhile" {
    send "$(cat "$CONTRACTS/meanwhile.js")" > frames
    "$BUILD/gaspipe-worker" 3< frames 4> replies > said 2>&1 || fail "$(cat said)"
    assert_equal "$(cat said)" "$MEANWHILE"
}

@test "a text that is too long ends the worker before it is written" {
    local script

    for script in "String.raw({ raw: { length: 4097, __proto__: new Proxy({}, { get: (_, at) => at === '4096' ? 'abc' : big }) } })" \
        "'a'.repeat(4096).replaceAll('a', () => big)"; do
        send "const big = 'x'.repeat(1048576); $script;" > frames
        run -11 "$BUILD/gaspipe-worker" 3< frames 4> replies
        assert_output_has "memory limit exceeded"
    done
}

# snapshot SCRIPT FILE: of a bare worker that has run the script.
snapshot() {
    local LC_ALL=C

    { send "$1"; printf '%d:w%s,' $((${#2} + 1)) "$2"; } > frames
    "$BUILD/gaspipe-worker" 3< frames 4> replies > said 2>&1 || fail "$(cat said)"
}

@test "snapshots of the same state are the same: a match leaves no pointer in them" {
    local script='globalThis.kept = [/a(?=b)b/, /(?<!b)a(?!c)/, /(?:(?=(a))a)*/].map(each => (each.exec("xxaab"), each));'

    snapshot "$script" "$PWD/one"
    PADDING=$(printf '%5000s' '') snapshot "$script" "$PWD/other"
    cmp one other
}

@test "snapshots have the same bits of each NaN, whichever operand was one" {
    local counter

    echo 'let kept; export const sums = () => { const n = [0 / 0, NaN, Infinity - Infinity]; kept = n.flatMap(a => n.map(b => [a + b, a * b, a - b, a / b, a % b, -a])); };' \
        > nans.js
    for counter in $(counters); do
        echo '{"vat":"c","method":"sums"}' > lines
        "$NATIVE/gaspipe" run --counter "$counter" --store "$counter" --snapshot-initial 1 --snapshot-interval 1 --slog "$counter.slog" \
            --vat c=nans.js lines > said 2>&1 || fail "$(cat said)"
        grep -o '"snapshotID":"[0-9a-f]*"\|"hash":"[0-9a-f]*"' "$counter.slog" | sort -u > "$counter.hashes"
        [ -s "$counter.hashes" ] || fail "no hash of a snapshot: $(grep snapshot "$counter.slog")"
        [ -f first ] || cp "$counter.hashes" first
        assert_equal "$(cat "$counter.hashes")" "$(cat first)" "$counter"
    done
}

@test "what a generator no longer has on its stack is not in snapshots, and does not end the worker" {
    cat > generators.js << 'END'
const kept = [];
function* steps(n) {
    let object = { n, list: [n] }, text = 'text' + n, other = {};
    const count = (...all) => all.length;
    count(n, { n }, 'x'.repeat(30) + n, [n, n], `q${n}`, count(1, 2, { n }, 'z' + n, yield 1));
    object = text = other = undefined;
    yield 2;
    yield n;
}
export const begin = () => {
    for (let n = 0; n < 50; n += 1) { const step = steps(n); step.next(); step.next(); kept.push(step); }
    for (let n = 0; n < 3000; n += 1) ({ text: 'j' + n });
};
export const go = () => kept.map(step => step.next().value).join('');
END
    printf '{"vat":"c","method":"begin"}\n' > lines
    "$NATIVE/gaspipe" run --counter none --store s --snapshot-initial 1 --snapshot-interval 1 --vat c=generators.js lines \
        > said 2>&1 || fail "$(cat said)"
    printf '{"vat":"c","method":"go"}\n' > lines
    run -0 "$NATIVE/gaspipe" run --json --counter none --store s lines
    assert_output_has "\"value\":\"$(seq 0 49 | tr -d '\n')\""
}

# sanitized FILE EVERY: runs the file in the worker whose engine is sanitized, which collects garbage at
# every EVERY-th allocation, and writes a snapshot at the end.
sanitized() {
    { send "$(cat "$1")" && printf '3:w@7,'; } > frames
    XS_COLLECT_EVERY=$2 ASAN_OPTIONS=detect_leaks=0 "$BUILD/xs-sanitized/gaspipe-worker" 3< frames 4> replies 7> snapshot \
        > said 2>&1 || fail "$1: $(cat said)"
    [ -s snapshot ] || fail "$1: no snapshot"
    run cat said
    assert_output_lacks Sanitizer
}

@test "keys, buffers, loops and functions that act meanwhile harm no memory of the engine" {
    local contract seed

    [ -x "$BUILD/xs-sanitized/gaspipe-worker" ] || skip "the engine is sanitized in make SAN=address,undefined check"
    for contract in keys buffers loops atomics; do
        { sed 's/^export //' "$CONTRACTS/$contract.js"; echo "print(JSON.stringify($contract()));"; } > run.js
        sanitized run.js 7
    done
    { sed 's/^export //; /longLiterals/,/)),$/d' "$CONTRACTS/acts.js"; echo "print(JSON.stringify(acts()));"; } > run.js
    sanitized run.js 0
    sanitized "$CONTRACTS/meanwhile.js" 0
    assert_equal "$(cat said)" "$MEANWHILE"
    { sed 's/^export //' "$CONTRACTS/wide_objects.js"; echo 'print(change(2000, 100), change(6000, 2000));'; } > run.js
    sanitized run.js 499
    for seed in 5002 5006 5020; do
        { echo "const SEED = $seed, CALLS = 150;"; cat "$CONTRACTS/hostile_calls.js"; } > run.js
        sanitized run.js 97
    done
}
