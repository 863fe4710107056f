#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How deep a contract may go is counted: the same wherever and however its worker runs.

load common
load store_contents

# The engines' limit, and what one level of each construct takes of it.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    cat > deep.js << 'END'
const around = (open, inside, close) => n => open.repeat(n) + inside + close.repeat(n);
const expressions = {
    parentheses: around('(', '1', ')'), brackets: around('[', '1', ']'), terms: around('1+', '1', ''),
    members: around('', 'x', '.b'), functions: around('function(){return ', '1', '}'), nots: around('!', '1', ''),
    news: around('new ', 'x', ''), arrows: around('()=>', '1', ''), classes: around('class{a=', '1', '}'),
    objects: around('{a:', '1', '}'), templates: around('`${', '1', '}`'), conditions: around('1?', '1', ':1'),
    assignments: around('x=', '1', ''), switches: n => 'function(){' + around('switch(1){case 1:', '', '}')(n) + '}',
    elses: n => 'function(){' + around('if(1);else ', ';', '')(n) + '}',
    patterns: n => 'function(){var ' + around('[', 'a', ']')(n) + '=x}',
    yields: n => 'function*(){' + 'yield '.repeat(n) + '}',
};
const open = {
    groups: n => new RegExp(around('(', '', ')')(n)),
    alternatives: n => new RegExp(around('a|', 'a', '')(n)),
    json: n => JSON.stringify(JSON.parse(around('[', '', ']')(n))),
};
for (const kind in expressions) open[kind] = n => new Function('return ' + expressions[kind](n));
export const opens = (kind, n) => {
    try { open[kind](n); } catch (error) { return /stack overflow|invalid regular expression/.test(error.message) ? 'stack overflow' : error.message; }
    return 'ok';
};
// Native functions that call JavaScript, which calls them again.
const calls = {
    map: f => [1].map(f), sort: f => [1, 2].sort(f), replace: f => 'a'.replace('a', f), apply: f => Reflect.apply(f, null, []),
    construct: f => Reflect.construct(function () { f(); }, []), getter: f => ({ get a() { return f(); } }).a,
    text: f => String({ toString: f }), proxy: f => new Proxy({}, { get: f }).a, json: f => JSON.stringify({ toJSON: f }),
    reviver: f => JSON.parse('1', f), bound: f => f.bind()(), from: f => Array.from([1], f),
    iterate: f => { for (const _ of { [Symbol.iterator]: () => ({ next: () => (f(), { done: true }) }) }); },
    instance: f => ({}) instanceof { [Symbol.hasInstance]: f },
    delegate: f => { function* g() { yield* h(); } function* h() { yield f(); } return [...g()]; },
    evaluate: f => { globalThis.f = f; return (0, eval)('f()'); },
};
export const recurse = (kind, most) => {
    let depth = 0;
    const f = () => { if (++depth < most) calls[kind](f); return ''; };
    f();
    return depth;
};
// Chains that a collection of garbage and a snapshot go along.
const links = {
    arrays: kept => [kept], getters: kept => ({ get kept() { return kept; } }), closures: kept => () => kept,
    generators: kept => { function* g(x) { yield x; } const made = g(kept); made.next(); return made; },
    maps: kept => { const key = {}, map = new WeakMap([[key, kept]]); map.key = key; return map; },
    prototypes: kept => { made.prototype = kept; return Reflect.construct(String, [], made); },
};
function made() {}
const chains = {};
export const keep = (kind, n) => {
    let kept = {};
    for (let i = 0; i < n; i++) kept = links[kind](kept);
    chains[kind] = kept;
};
export const look = () => {
    let n = 0;
    for (let kept = chains.arrays; Array.isArray(kept); kept = kept[0]) n++;
    return [n, chains.prototypes?.x === undefined];
};
END
}

# deliver VAT METHOD [ARGUMENT...]: a line of deliveries.
deliver() {
    jq -nc --arg vat "$1" --arg method "$2" \
        '{vat: $vat, method: $method, args: $ARGS.positional}' --args "${@:3}" |
        jq -c '.args |= map(tonumber? // .)'
}

# deep DELIVERIES [OPTION...]: runs them; prints what each came to.
deep() {
    local vats

    mapfile -t vats < <(jq -r '"--vat", .vat + "=deep.js"' "$1" | awk '/--vat/ { next } !seen[$0]++ { print "--vat"; print }')
    [[ " $* " != *' --resumed '* ]] || vats=()
    set -- "${@/--resumed/--json}"
    "${GASPIPE:-$NATIVE/gaspipe}" run --json "${vats[@]}" "${@:2}" "$1" > out 2> err || [ $? -eq 1 ] ||
        fail "$* failed:" "$(tail -n 3 err)" || return
    jq -c 'select(.kind == "delivery") | [.vat, .description, .status, .result, .error, .compute]' out
}

# How deep each construct may be. xsnap-worker's limits are other ones: they are in bytes of its stack.
exactly=(parentheses 65532 brackets 65532 terms 262137 members 262137 functions 43688 nots 262128
    news 131064 arrows 65532 classes 52427 objects 65532 templates 65532 conditions 262129 groups 131071)

at_the_limits() {
    local i

    for ((i = 0; i < ${#exactly[@]}; i += 2)); do
        [[ $# -eq 0 || " $* " == *" ${exactly[i]} "* ]] || continue
        deliver deep opens "${exactly[i]}" "${exactly[i + 1]}"
        deliver deep opens "${exactly[i]}" $((exactly[i + 1] + 1))
    done
}

# The engine ends these vats. The first vat's worker is executed, the others are forked.
beyond_the_slots() {
    local kind

    for kind in map sort replace apply construct getter text proxy json reviver bound from iterate instance \
        delegate evaluate; do
        deliver $kind recurse $kind 20
        deliver $kind recurse $kind 1000000
    done
}

have_metered() {
    [ -x "$ROOT/build/gaspipe-worker-metered" ] && [ "$BUILD" = "$ROOT/build" ]
}

@test "each construct may be nested so deep, and no deeper" {
    at_the_limits > deliveries
    deep deliveries --counter none > found
    assert_equal "$(jq -r '.[3]' found | sort | uniq -c | tr -s ' ' | tr '\n' ,)" \
        ' 1 null, 13 ok, 13 stack overflow,' "$(jq -c . found)"
}

@test "results, computrons and stores do not depend on how the workers run" {
    local expected options long

    { at_the_limits parentheses terms groups; beyond_the_slots; deliver kept keep arrays 70000; } > deliveries
    deliver kept look > later
    expected=$(deep deliveries --counter none --store expected)
    assert_equal "$(jq -s 'map(select(.[2] == "error")) | length' <<< "$expected")" 16 "$expected"
    store_contents expected > contents
    long=$BATS_TEST_TMPDIR/$(printf 'x%.0s' {1..150})
    mkdir "$long"
    cp "$NATIVE"/gaspipe{,-worker} "$BUILD/gaspipe-sandbox" "$long"
    for options in '--jobs 3' '--max-workers 1' '--profile profile' '--sandbox off'; do
        rm -rf store
        # shellcheck disable=SC2086 # several words
        assert_equal "$(deep deliveries --counter none --store store $options)" "$expected" "$options"
        diff contents <(store_contents store) >&2 || fail "$options: the stores differ"
        # Their workers are brought back by what the first run recorded, and the other way round.
        rm -rf copy
        cp -r expected copy
        # shellcheck disable=SC2086
        assert_equal "$(deep later --resumed --counter none --store copy $options)" \
            "$(deep later --resumed --counter none --store store)" "$options, resumed"
    done
    rm -rf store
    assert_equal "$(ulimit -Ss 4096; deep deliveries --counter none --store store)" "$expected" 'a small stack'
    rm -rf store
    assert_equal "$(GASPIPE=$long/gaspipe deep deliveries --counter none --store store)" "$expected" 'a long path'
}

@test "nor on the counter" {
    local expected

    { at_the_limits parentheses groups; deliver deep keep arrays 20000; deliver map recurse map 1000000; } > deliveries
    deliver deep look > later
    expected=$(deep deliveries --counter none --store store)
    assert_equal "$(GASPIPE=$BUILD/gaspipe deep deliveries --counter qemu)" "$expected" qemu
    # What one recorded, another brings back.
    assert_equal "$(GASPIPE=$BUILD/gaspipe deep later --resumed --counter qemu --store store | jq -c '.[2:4]')" \
        '["ok",[20000,true]]'
    have_metered || skip 'make metered has not built the worker'
    assert_equal "$(deep deliveries --counter compiled)" "$expected" compiled
    assert_equal "$(deep later --resumed --counter compiled --store store | jq -c '.[2:4]')" '["ok",[20000,true]]'
    { at_the_limits; beyond_the_slots; } > deliveries
    expected=$(deep deliveries --counter none)
    assert_equal "$(deep deliveries --counter compiled)" "$expected" 'all, compiled'
}

@test "a chain in the heap may be of any length: garbage collection, snapshots, restoring" {
    { deliver deep keep arrays 70000; deliver deep keep getters 60000; deliver deep keep closures 60000
        deliver deep keep generators 60000; deliver deep look; deliver deep opens yields 100000; } > deliveries
    deliver deep look > later
    deep deliveries --counter none --store store --snapshot-initial 2 --snapshot-interval 1 > found
    deep later --counter none --store store --resumed >> found
    assert_equal "$(jq -r '.[2]' found | sort -u)" ok "$(cut -c 1-300 found)"
    assert_equal "$(jq -c 'select(.[1] | test("look")) | .[3]' found | sort -u)" '[70000,true]'
}
