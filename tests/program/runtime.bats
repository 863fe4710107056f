#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The plain contract runtime: a contract's globals, and what it cannot observe.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# contract_result OPTIONS...: the result of the method `go` of the contract on stdin.
contract_result() {
    cat > contract.js
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat c=contract.js "$@" \
        - < <(echo '{"vat":"c","method":"go"}')
    jq -c 'select(.deliveryNum == 2) | .result // .error' <<< "$output"
}

# Each line of stdin, an expression, as the contract sees it: its value or exception.
expressions() {
    {
        echo 'const seen = look => { try { return `${look()}` } catch (e) { return `${e}` } };'
        echo 'export const go = () => ['
        sed 's/.*/seen(() => (&)),/'
        echo '];'
    } | contract_result | jq -r '.[]'
}

@test "the clock, randomness and the garbage collector cannot be observed" {
    assert_equal "$(expressions << 'EOF'
Date.now()
typeof Date.now + Date.now.name
new Date()
Date()
new Date(0).constructor.now()
new (class extends Date {})()
Math.random()
typeof Math.random + Math.random.name
typeof WeakRef + typeof FinalizationRegistry + typeof gc
typeof performance + typeof setImmediate + typeof setTimeout
typeof Atomics + typeof SharedArrayBuffer
EOF
)" "TypeError: Date.now is not available: results must be the same on every replay; take the time from the method's arguments
functionnow
TypeError: new Date() without arguments is not available: results must be the same on every replay; take the time from the method's arguments
TypeError: Date() is not available: results must be the same on every replay; take the time from the method's arguments
TypeError: Date.now is not available: results must be the same on every replay; take the time from the method's arguments
TypeError: new Date() without arguments is not available: results must be the same on every replay; take the time from the method's arguments
TypeError: Math.random is not available: results must be the same on every replay; take a seed from the method's arguments
functionrandom
undefinedundefinedundefined
undefinedundefinedundefined
undefinedundefined"
}

@test "a name that other engines have is undefined, and its use says why" {
    local name result

    for name in fetch process WeakRef Atomics Intl crypto performance require atob Blob; do
        result=$(contract_result <<< "export const go = () => $name(typeof $name);" | jq -r .)
        [[ $result == "ReferenceError: go: get $name: undefined variable; $name is not available: "* ]] ||
            fail "$result"
    done
    assert_equal "$(contract_result <<< 'export const go = () => setTimeout(() => {}, 1);' | jq -r .)" \
        'ReferenceError: go: get setTimeout: undefined variable; setTimeout is not available: a contract runs only in its deliveries; have a later delivery call a method'
    assert_equal "$(contract_result <<< 'export const go = () => unknown(1);' | jq -r .)" \
        'ReferenceError: go: get unknown: undefined variable'
}

@test "while a contract loads, time and chance are no numbers, with a warning; later they throw" {
    contract_result > result << 'EOF'
const bits = (Math.random() * 0x20000000000000) & 0x1fffff;
const atLoad = [Math.random(), Date.now(), Date.now(), new Date().getTime(), Date()];
export const go = () => [bits, atLoad, Math.random()];
EOF
    assert_equal "$(cat result)" "\"TypeError: Math.random is not available: results must be the same on every replay; take a seed from the method's arguments\""
    contract_result > result << 'EOF'
const bits = (Math.random() * 0x20000000000000) & 0x1fffff;
const atLoad = [Math.random(), Date.now(), Date.now(), new Date().getTime(), Date()];
export const go = () => [bits, atLoad];
EOF
    assert_equal "$(cat result)" '[0,[{"@value":"NaN"},{"@value":"NaN"},{"@value":"NaN"},{"@value":"NaN"},"Invalid Date"]]'
    echo 'Math.random(); Date.now(); Date.now(); export const go = () => 1;' > contract.js
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --vat c=contract.js - <<< '{"vat":"c","method":"go"}'
    assert_equal "$stderr" "gaspipe: c: Math.random is not available: results must be the same on every replay; take a seed from the method's arguments (it is NaN until all is loaded)
gaspipe: c: Date.now is not available: results must be the same on every replay; take the time from the method's arguments (it is NaN until all is loaded)"
}

@test "a class with fields may have instances of itself in static ones" {
    assert_equal "$(expressions << 'EOF'
(() => { class P { static A = new P(1); y = 2; constructor(x) { this.x = x; } } return P.A.x + P.A.y; })()
(() => { class P { static A; #y = 3; static { P.A = [new this(1)][0]; } get y() { return this.#y; } } return P.A.y; })()
(() => { class P { y = this.z; z = 1; static A = [new P()]; } class Q extends P { w = 4; static B = new Q(); } return JSON.stringify([P.A, Q.B]); })()
(() => { class P { y = 1; static make = () => new P(); static n = P.make.length; } return P.make().y; })()
EOF
)" '3
3
[[{"z":1}],{"z":1,"w":4}]
1'
}

@test "programs run that XS itself takes for errors of syntax" {
    assert_equal "$(expressions << 'EOF'
(() => { const async = 1; return JSON.stringify({ async, x: { async() { return 2; } }.async() }); })()
(() => { class P { static async = 1; async = 2; async *y() {} } return P.async + new P().async; })()
eval('const f = () => {}\n[3].map(x => x + f.length)[0]')
eval('const f = async x => {}\n/x/.test("x")')
eval('(() => {}\n(1))')
(() => { switch (1) { case 1: /=/.test('='); default: /x/.exec('x'); } return 1; })()
(() => { let s, t; for (s = ('a' in { a: 1 }), t = ['x', 'y'][Number('b' in {})]; s; s = !Object('a' in {})) { t += `${'a' in {}}`; } return t; })()
JSON.stringify('a+b c-d'.split(/[\s-\+]/))
eval("'use strict'; \\u0061sync => 1")()
(() => { let x = 1, y; ((x))++; (((x))) += 2; [((y)) = x] = []; for (((x)) of [y, 7]); return [x, y]; })().join()
(() => { class P { 1n() { return 1; } get 2n() { return 2; } static 0x1fn = 3; } const { 5n: x } = { 5n: 4 }; return [new P()[1](), new P()[2], P[31], x]; })().join()
JSON.stringify({ 340282366920938463463374607431768211456n: 1 })
(() => { let async; return typeof (async () => { for await (async of [1]); }); })()
EOF
)" '{"async":1,"x":2}
3
3
true
SyntaxError: missing )
1
xfalse
["a","b","c","d"]
1
7,4
1,2,3,4
{"340282366920938463463374607431768211456":1}
function'
}

@test "instanceof of a bound class calls the class's own Symbol.hasInstance" {
    assert_equal "$(expressions << 'EOF'
(() => { class Seven { static [Symbol.hasInstance](x) { return x === 7; } } const B = Seven.bind().bind(); return [7 instanceof B, new Seven() instanceof B]; })().join()
(() => { class A {} const B = A.bind(); return [new A() instanceof B, {} instanceof B]; })().join()
EOF
)" 'true,false
true,false'
}

@test "positions in a long string are found at once, whatever is in it" {
    contract_result > result << 'EOF'
const units = ['a', 'é', '€', '😀', ' '];
const lines = n => [...Array(n).keys()].map(i => units[i % 7 % 5].repeat(i % 3 + 1)).join('');
const seen = text => {
  let hash = 7;
  const mix = value => { hash = (Math.imul(hash, 31) + value) | 0; };
  for (let i = 0; i < text.length; i += 1) {
    const j = (i * 7919) % text.length;
    mix(text.charCodeAt(i)); mix(text.codePointAt(j)); mix(text[i].length); mix(text.at(-j).length);
    mix(text.slice(j, j + 2).length); mix(text.indexOf('a', i)); mix(text.startsWith('€', j) ? 1 : 0);
  }
  for (const { index } of text.matchAll(/a|€/gu)) mix(index);
  return hash;
};
export const go = () => [seen(lines(300)), seen('abcde'.repeat(100)), seen('abcde'.repeat(100) + 'é')];
EOF
    mv result natively
    cp contract.js same.js
    contract_result --worker "$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker" \
        < same.js > result
    cmp result natively
    # As many computrons, and far more time where each position is counted from the beginning.
    echo 'export const go = (text, n) => { const s = text.repeat(n); let h = 0; for (let i = 0; i < s.length; i++) h ^= s.charCodeAt(i); return h; };' > long.js
    for text in a é; do
        echo '{"vat":"c","method":"go","args":["'$text'",10000]}'
        echo '{"vat":"c","method":"go","args":["'$text'",80000]}'
    done > long.jsonl
    run --separate-stderr "$BUILD/gaspipe" run --json --counter qemu --vat c=long.js long.jsonl
    assert_equal "$(jq -rs '[.[] | select(.deliveryNum > 1) | .instructions] |
        [.[1] / .[0] < 12, .[3] / .[2] < 12]' <<< "$output" | tr -d ' \n')" '[true,true]'
}

@test "assignment gives an object its own property where the inherited one is frozen" {
    assert_equal "$(expressions << 'EOF'
(() => { const o = {}; o.toString = () => 'own'; return o; })()
(() => { class Big {} Big.prototype.toString = () => 'big'; return new Big(); })()
(() => { const F = function () {}; F.prototype = Object.create(Array.prototype); F.prototype.constructor = F; F.prototype.push = () => 'F'; return new F().push() + (new F().constructor === F); })()
(() => { const e = Error('x'); e.name = 'N'; e.message = 'm'; e.stack = 's'; return e + e.stack; })()
(() => { const f = () => {}; f.toString = () => 'f'; f.call = 1; f.constructor = 2; return `${f}${f.call}${f.constructor}`; })()
(() => { const p = new Proxy({}, {}); p.toString = () => 'proxy'; return p; })()
(() => { const r = /a/; r.exec = () => 'exec'; return r.exec(); })()
(() => { const p = Promise.resolve(); p.then = 'then'; return p.then; })()
(() => { class A extends Map { constructor() { super(); super.get = () => 'super'; } } return new A().get(); })()
Object.assign({}, { toString: () => 'assigned' })
Reflect.set({}, 'toString', 1)
JSON.stringify(Object.getOwnPropertyDescriptor(Object.assign({}, { valueOf: 1 }), 'valueOf'))
Function('const o = {}; o.toString = () => "sloppy"; return o')()
EOF
)" 'own
big
Ftrue
N: ms
f12
proxy
exec
then
super
assigned
true
{"value":1,"writable":true,"enumerable":true,"configurable":true}
sloppy'
}

@test "no assignment reaches an intrinsic itself, or what other engines keep from being assigned" {
    assert_equal "$(expressions << 'EOF' | sed -E 's/\(anonymous-[0-9]+\)/f/'
Object.prototype.toString = 1
Object.assign(Object.prototype, { toString: 1 })
Array.prototype.valueOf = 1
Reflect.set(Object.prototype, 'toString', 1)
Reflect.set({}, 'toString', 1, Object.prototype)
Reflect.set({}, 'toString', 1, Array.prototype)
Reflect.set({}, 'toString', 1, Map.prototype)
Reflect.defineProperty(Object.prototype, 'toString', { value: 1 })
Reflect.set(Error.prototype, 'stack', 1)
Object.getOwnPropertyDescriptor(Error.prototype, 'stack').set.call(Object.prototype, 1)
Object.defineProperty(Promise.prototype, 'then', { value: 1 })
Object.defineProperties(Error, { captureAll: { value: 1 } })
Object.defineProperty(harden({ a: 1 }), 'a', { value: 2 })
Object.getOwnPropertyDescriptor(Object.prototype, 'toString').writable
(() => { const o = Object.create(() => 1); o.name = 1; })()
(() => { const o = Object.create(Map.prototype); o[Symbol.toStringTag] = 1; })()
(() => { const o = Object.create(harden({ a: 1 })); o.a = 2; })()
(() => { class A { static { this.prototype = 1; } } })()
(() => { new Uint8Array(1).length = 2; })()
`${{}}`
EOF
)" 'TypeError: f: set toString: not writable
TypeError: Object.assign: C: xsSet toString: not writable
TypeError: f: set valueOf: not extensible
false
false
false
false
false
TypeError: Object.defineProperty: cannot define stack on a frozen intrinsic that all code shares; use your own object
TypeError: Object.defineProperty: cannot define stack on a frozen intrinsic that all code shares; use your own object
TypeError: Object.defineProperty: cannot define then on a frozen intrinsic that all code shares; use your own object
TypeError: Object.defineProperties: cannot define captureAll on a frozen intrinsic that all code shares; use your own object
TypeError: Object.defineProperty: invalid descriptor
false
TypeError: f: set name: not writable
TypeError: f: set [Symbol.toStringTag]: not writable
TypeError: f: set a: not writable
TypeError: A.f: set prototype: not writable
TypeError: f: set length: no setter
[object Object]'
}

@test "a Date that is given a time works, in UTC wherever the machine is" {
    local seen='2020-02-01T00:00:00.000Z
0
1580515200000'

    assert_equal "$(TZ=Asia/Tokyo expressions << 'EOF'
new Date(2020, 1, 1).toISOString()
new Date(2020, 1, 1).getTimezoneOffset()
new (class Day extends Date {})('2020-02-01T00:00:00Z').getTime()
EOF
)" "$seen"
}

@test "the worker's own functions are out of reach" {
    assert_equal "$(expressions << 'EOF'
typeof issueCommand + typeof print + typeof handleCommand + typeof resetMeter
typeof currentMeterLimit + typeof Compartment + typeof ModuleSource + typeof trace
typeof globalThis.issueCommand + typeof global.issueCommand
Function('return typeof issueCommand')()
(0, eval)('typeof issueCommand')
(() => {}).constructor('return issueCommand')()
(async () => {}).constructor('return issueCommand')
(function* () {}).constructor('return issueCommand')
(async function* () {}).constructor('return issueCommand')
store.get.constructor('return issueCommand')()
console.log.constructor('return issueCommand')()
harden.constructor('return issueCommand')()
Reflect.construct(Function.prototype.constructor, ['return issueCommand'])
Reflect.construct(Object, [], Function.prototype.constructor).constructor('return issueCommand')
(() => {}) instanceof (() => {}).constructor
(async () => {}) instanceof (async () => {}).constructor
EOF
)" "undefinedundefinedundefinedundefined
undefinedundefinedundefinedundefined
undefinedundefined
undefined
undefined
TypeError: the constructor Function of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor AsyncFunction of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor GeneratorFunction of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor AsyncGeneratorFunction of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor Function of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor Function of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor Function of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor Function of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
TypeError: the constructor Function of a function's prototype is not available: it would see more than the contract's globals; call Function by its name
true
true"
}

@test "every intrinsic that a contract can reach is frozen, and leads nowhere else" {
    # Walks all objects from the contract's globals, literals and errors, over
    # properties and prototypes.
    assert_equal "$(contract_result << 'EOF'
const forbidden = ['issueCommand', 'print', 'gc', 'performance', 'setImmediate', 'handleCommand'];
export const go = async () => {
  const open = [];
  const reached = [];
  const known = new Set([globalThis]);
  const queue = [];
  const enter = (value, path) => {
    if (Object(value) === value && !known.has(value)) {
      known.add(value);
      queue.push([value, path]);
    }
  };
  for (const name of Object.getOwnPropertyNames(globalThis)) enter(globalThis[name], name);
  const thrown = await Promise.reject(Error('x')).catch(error => error);
  let storeError;
  try { store.get(1); } catch (error) { storeError = error; }
  Object.freeze(thrown); Object.freeze(storeError);
  const literals = [() => {}, async () => {}, function* () {}, async function* () {}, /x/g, [], {},
    [][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    'a'.matchAll(/a/g), new Int8Array(1), 1n, 's',
    // The prototype of a generator is its own function's; behind it stands the intrinsic.
    Object.getPrototypeOf((function* () {})()), Object.getPrototypeOf((async function* () {})()),
    Symbol.iterator, Promise.resolve(), new Proxy({}, {}), thrown, storeError].map(Object);
  literals.forEach((literal, i) => {
    enter(Object.getPrototypeOf(literal), `literal ${i}`);
    if (literal === thrown || literal === storeError) enter(literal, `literal ${i}`);
  });
  while (queue.length > 0) {
    const [object, path] = queue.pop();
    if (forbidden.includes(object.name)) reached.push(path);
    if (!Object.isFrozen(object) && path !== 'Function' && path !== 'eval') open.push(path);
    enter(Object.getPrototypeOf(object), `${path}.__proto__`);
    for (const key of Reflect.ownKeys(object)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
      for (const part of [value, get, set]) enter(part, `${path}.${String(key)}`);
    }
  }
  return { open, reached, many: known.size > 500 };
};
EOF
)" '{"many":true,"open":[],"reached":[]}'
}

@test "the store: strings in, strings out, keys in the order of their bytes" {
    assert_equal "$(contract_result << 'EOF'
const refused = (...args) => {
  try { return store.set(...args); } catch (error) { return `${error}`; }
};
export const go = () => {
  for (const key of ['b', 'a', '', 'ä', 'a\u0000', '\u{1F600}', 'Z']) store.set(key, `=${key}`);
  store.set('a', '');
  store.delete('b');
  store.delete('none');
  const keys = [];
  for (let key = ''; key !== undefined; key = store.nextKey(key)) keys.push(key);
  return [keys, store.get('a'), store.get('b'), store.get(''), store.get('\u{1F600}'),
    refused('k', 1), refused(undefined, 'v'), refused('\uD800', 'v'), refused('k', 'x\uDC00')];
};
EOF
)" '[["","Z","a","a\u0000","ä","😀"],{"@value":"undefined"},{"@value":"undefined"},"=","=😀","TypeError: value must be a string, not number","TypeError: key must be a string, not undefined","TypeError: key holds half a surrogate pair","TypeError: value holds half a surrogate pair"]'
}

@test "the console prints what it is given, whatever that is" {
    contract_result --slog slog > /dev/null << 'EOF'
const circle = {};
circle.self = circle;
export const go = () => {
  console.log('text', 1, 2n, undefined, null, { a: [1] }, Error('e'), Symbol('s'), circle);
  console.warn({ get toJSON() { throw 1; } }, '\uD800');
  console.error();
};
EOF
    assert_status 0
    assert_equal "$(sed -E 's/�+/�/' < <(complaints <<< "$stderr"))" 'gaspipe: c: text 1 2 undefined null {"a":[1]} Error: e Symbol(s) a value that cannot be printed
gaspipe: c: a value that cannot be printed �
gaspipe: c:'
    assert_equal "$(jq -c 'select(.type == "console") | [.source, .level, .vatID, .deliveryNum,
        (.args | length)]' slog)" '["vat","log","v1",2,9]
["vat","warn","v1",2,2]
["vat","error","v1",2,0]'
}

@test "console output of a contract cannot control the terminal" {
    cat > contract.js << 'EOF'
export const say = () => { console.log('a\u001b[2Jb\nc\u009bd'); throw Error('e\u001b[31mf\ng'); };
export const give = () => 'h\u001b[0m\u007f\u009bi';
EOF
    run "$NATIVE/gaspipe" run --counter none --vat c=contract.js - << 'EOF'
{"vat":"c","method":"say"}
{"vat":"c","method":"give"}
EOF
    assert_status 1
    assert_output_has 'c: a [2Jb c  d'
    assert_output_has 'stdin:1: contract.js:1: Error: e [31mf g  in: export const say'
    run tr -d '\n\040-\176' <<< "$output"
    assert_equal "$output" ""
}

@test "what cannot be sent as a result fails the delivery" {
    local result

    while read -r result; do
        assert_equal "$(contract_result <<< "export const go = () => ($result);" | cut -c 1-11)" \
            '"TypeError:' "$result"
    done << 'EOF'
() => {}
Symbol('s')
new Map()
new Date(0)
[[{ a: globalThis }]]
(() => { const circle = []; circle.push(circle); return circle; })()
'\uD800'
EOF
}

@test "an error without a readable message still fails its delivery" {
    assert_equal "$(contract_result << 'EOF'
export const go = () => { throw { toJSON() { throw 1; } }; };
EOF
)" '"a value that cannot be printed"'
}

@test "a delivery that is undone can be made again" {
    cat > contract.js << 'EOF'
let calls = 0;
export const go = async () => {
  calls += 1;
  store.set('calls', `${calls}`);
  await null;
  if (calls === 1) throw Error('first');
  return [calls, store.get('calls')];
};
EOF
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --vat c=contract.js \
        - < <(yes '{"vat":"c","method":"go"}' | head -n 2)
    assert_equal "$(jq -c 'select(.deliveryNum > 1) | [.error, .result]' <<< "$output")" \
        $'["Error: first",null]\n[null,[2,"2"]]'
}

@test "the snapshot that the build prepares is what a worker writes, and a damaged one is rebuilt" {
    local bundle=$ROOT/build/vats/tests/shelf.bundle file=swingset-warm.heap

    mkdir bare
    cp "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-sandbox,prepare-start} "$BUILD"/*.bundle bare/
    bare/prepare-start bare/made
    cmp bare/made "$BUILD/$file"
    echo '{"vat":"c","method":"bootstrap","args":[{"c":{"@vat":"c"}},{}]}' > lines
    head -c -1000 bare/made > bare/$file
    run --separate-stderr bare/gaspipe run --counter none --vat c="$bundle" --store damaged lines
    [[ $stderr == *"$file: it is damaged: its end is missing; making the snapshot again"* ]] ||
        fail "$stderr"
    mv bare/made bare/$file
    run --separate-stderr bare/gaspipe run --counter none --vat c="$bundle" --store whole lines
    [[ $stderr != *damaged* ]] || fail "$stderr"
    assert_equal "$(sqlite3 whole/gaspipe.sqlite 'select * from snapshot_name; select * from key')" \
        "$(sqlite3 damaged/gaspipe.sqlite 'select * from snapshot_name; select * from key')"
}
