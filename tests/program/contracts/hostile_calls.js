// Calls the engine's built-in functions with objects that act while the function runs: they make buffers shorter
// or detach them, change arrays, and collect garbage. Which ones is decided by SEED, how many calls by CALLS.
let state = SEED;
const random = bound => {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >> 8) % bound;
};
const one = list => list[random(list.length)];

let buffers = [];
let arrays = [];
const renew = () => {
  buffers = [0, 8, 16, 64, 256].map(length => new ArrayBuffer(length, { maxByteLength: 512 }));
  buffers.push(new ArrayBuffer(40), new ArrayBuffer(8));
  arrays = [[], [1, 2, 3], [3, , 'x', {}, 1.5, -0], Array(9), Array.from({ length: 6 }, () => 'y'), ['b', 'a']];
};
const actions = [
  () => { const buffer = one(buffers); if (buffer.resizable) buffer.resize(random(512)); },
  () => { one(buffers).transfer(); },
  () => { one(arrays).length = random(5); },
  () => { one(arrays).push({}, [], 'z'.repeat(random(40))); },
  () => { one(arrays).splice(random(3), random(4)); },
  () => { delete one(arrays)[random(4)]; },
  () => { gc(); },
  () => { renew(); gc(); },
  () => { throw new Error('thrown'); },
];
const act = () => { try { one(actions)(); } catch (error) { if (random(4) === 0) throw error; } };
const numbers = [0, 1, 2, 3, 7, 8, 33, -1, -2, 0.5, -0, NaN, 255, 300];
const texts = ['', 'a', 'length', 'abcabc', '\u00e9\u{1f600}x', '1', '-0', 'z'.repeat(300), 'utf-8', '$&$1$<n>'];
const primitive = () => one([undefined, null, true, one(numbers), one(numbers), one(texts), 5n, Symbol.iterator]);
const actor = value => ({
  valueOf() { act(); return value; },
  toString() { act(); return String(value); },
  get length() { act(); return random(9); },
  get 0() { act(); return value; },
  get done() { act(); return random(3) === 0; },
  get value() { act(); return value; },
  next() { act(); return this; },
  [Symbol.iterator]() { act(); let left = random(5); return { next: () => { act(); return { done: left-- <= 0, value }; } }; },
});
const typedArrays = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  Float32Array, Float64Array, BigInt64Array, BigUint64Array];
const typed = () => {
  const Kind = one(typedArrays);
  try { return random(2) ? new Kind(one(buffers), 0, random(3)) : new Kind(one(buffers)); } catch { return new Kind(3); }
};
const handler = { };
for (const trap of Object.getOwnPropertyNames(Reflect))
  if (typeof Reflect[trap] === 'function') handler[trap] = (...args) => { act(); return Reflect[trap](...args); };
const species = made => {
  Object.defineProperty(made, 'constructor', { configurable: true, writable: true,
    value: { [Symbol.species]: function target() { act(); return one([one(buffers), typed(), one(arrays), new Map()]); } } });
  return made;
};
const callback = (...args) => { act(); return random(2) ? args[0] : value(0); };
const expression = () => {
  const made = new RegExp(one(['a*?', '(b)|(?<n>c)', '(?<=a)b', '[^]', '(?:a?)*c', '']), one(['', 'g', 'y', 'gi', 'u', 'd']));
  try { made.lastIndex = random(2) ? random(4) : actor(random(4)); } catch {}
  return made;
};
const value = depth => {
  switch (random(16)) {
    case 0: return one(arrays);
    case 1: return typed();
    case 2: return one(buffers);
    case 3: return new DataView(new ArrayBuffer(16));
    case 4: return actor(primitive());
    case 5: case 6: return callback;
    case 7: return depth > 0 ? new Proxy(Object(value(depth - 1)), handler) : [];
    case 8: return species(one([one(arrays), typed(), one(buffers)]));
    case 9: return expression();
    case 10: return new Map([[NaN, 1], [actor(1), 2], ['k', actor(3)]]);
    case 11: return new Set([1, 'a', {}]);
    case 12: return function* made() { act(); yield 1; act(); yield 2; }();
    default: return primitive();
  }
};

// All functions that the intrinsics lead to, but those that end or stop the program.
const left = new Set(['gc', 'print', 'issueCommand', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'setTimeout',
  'clearTimeout', 'resetMeter', 'currentMeterLimit', 'lockdown', 'petrify', 'mutabilities', 'eval', 'preventExtensions', 'freeze', 'seal', 'harden', 'setPrototypeOf', 'defineProperty', 'defineProperties',
  'repeat', 'padStart', 'padEnd', 'Function', 'GeneratorFunction', 'AsyncFunction', 'AsyncGeneratorFunction', 'importHook', 'Compartment', 'assign', '__defineGetter__', '__defineSetter__', 'set __proto__', 'callee', 'caller', 'set']);
const functions = [];
const seen = new Set();
const follow = object => {
  if (object === null || (typeof object !== 'object' && typeof object !== 'function') || seen.has(object)) return;
  seen.add(object);
  for (const key of Reflect.ownKeys(object)) {
    const { value: held, get } = Reflect.getOwnPropertyDescriptor(object, key);
    if (left.has(key)) continue;
    if (typeof held === 'function') functions.push([String(key), held]);
    if (typeof get === 'function') functions.push([String(key), get]);
    follow(held);
  }
  follow(Reflect.getPrototypeOf(object));
};
for (const name of ['Array', 'ArrayBuffer', 'DataView', 'Int8Array', 'Float64Array', 'BigInt64Array', 'Uint8ClampedArray', 'String',
  'RegExp', 'JSON', 'Map', 'Set', 'WeakMap', 'WeakSet', 'BigInt', 'Number', 'Date', 'Math', 'Promise', 'Proxy', 'Reflect', 'Symbol',
  'Object', 'Error', 'Base64', 'TextEncoder', 'TextDecoder', 'Atomics', 'SharedArrayBuffer', 'parseInt', 'decodeURIComponent',
  'encodeURIComponent', 'escape', 'unescape'])
  if (globalThis[name] !== undefined) { functions.push([name, globalThis[name]]); follow(globalThis[name]); follow(globalThis[name].prototype); }
follow(Reflect.getPrototypeOf([][Symbol.iterator]()));
follow(Reflect.getPrototypeOf(callback));
follow(Reflect.getPrototypeOf(function* made() {}()));

let thrown = 0;
for (let call = 0; call < CALLS; call += 1) {
  if (call % 20 === 0) renew();
  const [, target] = one(functions);
  const args = Array.from(Array(random(4)), () => value(2));
  try {
    const result = random(5) ? Reflect.apply(target, value(2), args) : Reflect.construct(target, args);
    if (random(6) === 0 && typeof result !== 'symbol') `${result}`;
  } catch { thrown += 1; }
}
print(`${functions.length} functions, ${CALLS} calls`);
