// For a bare worker, whose intrinsics are not frozen, and which collects garbage when asked.
const lines = [];
const attempt = (name, run) => {
  let words;
  try {
    words = String(run());
  } catch (error) {
    words = error.name;
  }
  lines.push(`${name}: ${words}`);
};
const fill = () => Array.from({ length: 2000 }, (_, index) => ({ text: `t${index}` })).length;

attempt('enumerator', () => {
  const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  let enumerator;
  iterators.return = function leave() { enumerator = this; return {}; };
  for (const key in { a: 1, b: 2 }) break;
  delete iterators.return;
  const answers = [{}, 1, Object.freeze({ result: {}, iterable: {} }), [], () => 1].map(each => {
    try { return enumerator.next.call(each); } catch (error) { return error.name; }
  });
  return [...answers, enumerator.next().value, enumerator.next().done];
});
attempt('enumerator that a trap uses', () => {
  const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  let enumerator;
  let count = 0;
  const proxy = new Proxy({ a: 1, b: 2, c: 3 }, {
    getOwnPropertyDescriptor(target, key) {
      if (enumerator && (count += 1) < 5) { enumerator.next(); gc(); fill(); }
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
  iterators.return = function leave() { enumerator = this; return {}; };
  for (const key in proxy) break;
  delete iterators.return;
  return typeof enumerator.next().value;
});
attempt('global of a prototype', () => {
  const { Map: made } = globalThis;
  const former = Object.getPrototypeOf(globalThis);
  const prototype = { Map: { a: 1 }, Set: 1, __proto__: former };
  delete globalThis.Map;
  Object.setPrototypeOf(globalThis, prototype);
  const found = [JSON.stringify(globalThis.Map)];
  delete prototype.Map;
  gc();
  fill();
  found.push(globalThis.Map);
  Object.setPrototypeOf(globalThis, former);
  globalThis.Map = made;
  return [...found, Map === made];
});
attempt('decoder', () => {
  const around = new Uint8Array(64).fill(0x90);
  const decoder = new TextDecoder();
  return [new Uint8Array([0xf0, 0x90]), new Uint8Array([0x41]), new Uint8Array(around.buffer, 0, 1), new Uint8Array([0x42])]
    .map((bytes, index) => escape(decoder.decode(bytes, { stream: index < 3 })));
});
attempt('encoder', () => {
  const { String: made } = globalThis;
  const bytes = new Uint8Array(100);
  globalThis.String = () => ({ toString() { bytes.buffer.transfer(); gc(); fill(); return 'x'.repeat(1000); } });
  try {
    return JSON.stringify(new TextEncoder().encodeInto('abc', bytes));
  } finally {
    globalThis.String = made;
  }
});
attempt('base64', () => ['', '=', '==', 'A=', 'AA=', 'AAA=', 'AA==', 'AAAA==', `${'A'.repeat(24)}==`, 'AA\n==', ' A A A A ']
  .map(text => Base64.decode(text).byteLength));
attempt('timers', () => ['text', undefined, {}].map(each => {
  try { return typeof setImmediate(each); } catch (error) { return error.name; }
}));

const registry = new FinalizationRegistry(held => {
  if (held === 'dead') {
    registry.unregister(token);
    gc();
    fill();
  }
  lines.push(`registry: ${held}`);
});
const token = {};
const alive = {};
registry.register(alive, 'alive', token);
for (let count = 0; count < 3; count += 1) registry.register({}, 'dead');
registry.register(alive, 'alive', token);

Promise.resolve().then(() => gc()).then(() => {
  setImmediate(text => {
    gc();
    fill();
    lines.push(`timer: ${text} ${typeof alive} ${typeof token}`);
    print(lines.join('\n'));
  }, 0, 'handed on'.concat(' as text'));
  gc();
  fill();
});
