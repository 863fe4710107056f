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
typeof Date.now
new Date()
Date()
typeof new Date(0).constructor.now
new (class extends Date {})()
typeof Math.random
typeof WeakRef + typeof FinalizationRegistry + typeof gc
typeof performance + typeof setImmediate + typeof setTimeout
typeof Atomics + typeof SharedArrayBuffer
EOF
)" 'undefined
TypeError: the clock is closed to contracts: give Date a time
TypeError: the clock is closed to contracts: give Date a time
undefined
TypeError: the clock is closed to contracts: give Date a time
undefined
undefinedundefinedundefined
undefinedundefinedundefined
undefinedundefined'
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
EOF
)" 'undefinedundefinedundefinedundefined
undefinedundefinedundefinedundefined
undefinedundefined
undefined
undefined
TypeError: Function.prototype.constructor is closed to contracts
TypeError: Function.prototype.constructor is closed to contracts
TypeError: Function.prototype.constructor is closed to contracts
TypeError: Function.prototype.constructor is closed to contracts
TypeError: Function.prototype.constructor is closed to contracts
TypeError: Function.prototype.constructor is closed to contracts
TypeError: Function.prototype.constructor is closed to contracts
TypeError: Reflect.construct: target is no constructor'
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
)" '[["","Z","a","a\u0000","ä","😀"],null,null,"=","=😀","TypeError: value must be a string, not number","TypeError: key must be a string, not undefined","TypeError: key holds half a surrogate pair","TypeError: value holds half a surrogate pair"]'
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

@test "the snapshot that the build prepares is what a worker writes, and a damaged one is made anew" {
    local bundle=$ROOT/build/vats/tests/shelf.bundle file=swingset-warm.heap

    mkdir bare
    cp "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-sandbox,prepare-start} "$BUILD"/*.bundle bare/
    bare/prepare-start bare/made
    cmp bare/made "$BUILD/$file"
    echo '{"vat":"c","method":"bootstrap","args":[{"c":{"@vat":"c"}},{}]}' > lines
    head -c -1000 bare/made > bare/$file
    run --separate-stderr bare/gaspipe run --counter none --vat c="$bundle" --store damaged lines
    [[ $stderr == *"$file: it is damaged: its end is missing; the snapshot is made anew"* ]] ||
        fail "$stderr"
    mv bare/made bare/$file
    run --separate-stderr bare/gaspipe run --counter none --vat c="$bundle" --store whole lines
    [[ $stderr != *damaged* ]] || fail "$stderr"
    assert_equal "$(sqlite3 whole/gaspipe.sqlite 'select * from snapshot_name; select * from key')" \
        "$(sqlite3 damaged/gaspipe.sqlite 'select * from snapshot_name; select * from key')"
}
