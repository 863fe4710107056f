// SPDX-License-Identifier: Apache-2.0
// Random JavaScript programs that aim at corners of an engine. A program is the text of a script whose
// value is an object of methods without parameters; each gives a string of what it has seen.

// mulberry32
export const randomFrom = seed => {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = below => Math.floor(next() * below);
  return { int, pick: list => list[int(list.length)], chance: part => next() < part };
};

// Programs print values with these functions: at most a few thousand characters.
const prelude = `const seen = [];
const show = (value, depth = 0) => {
  switch (typeof value) {
    case 'string': return JSON.stringify(value.slice(0, 60)) + value.length;
    case 'bigint': return value.toString().slice(0, 60) + 'n';
    case 'number': return Object.is(value, -0) ? '-0' : String(value);
    case 'symbol': case 'undefined': case 'boolean': return String(value);
    case 'function': return 'function ' + value.length;
    default:
  }
  if (value === null) return 'null';
  if (depth > 2) return 'deep';
  if (value instanceof Error) return value.name + ':' + value.message;
  const tag = Object.prototype.toString.call(value);
  if (tag === '[object Map]' || tag === '[object Set]')
    return tag + [...value].slice(0, 8).map(each => show(each, depth + 1));
  return tag + Reflect.ownKeys(value).slice(0, 8).map(key => String(key) + '=' + show(value[key], depth + 1));
};
const see = (...values) => { if (seen.length < 60) seen.push(values.map(value => show(value)).join()); };
const deep = (open, middle, close, count) => open.repeat(count) + middle + close.repeat(count);
let kept = [];
Object.assign(globalThis, { see, deep });
`;

const numbers = [
  ...['0', '-0', '1', '-1', '2', '3', '7', '0.1', '-0.5', 'NaN', '0 / 0', 'Infinity', '-Infinity', '255', '256'],
  ...['2147483647', '-2147483648', '4294967295', '4294967296', '9007199254740991', '1e21', '1e-7', '5e-324'],
];
const strings = [
  ...["''", "'a'", "'abc'", "'\\u00e9t\\u00e9'", "'\\ud83d\\ude00'", "'\\ud83d'", "'a\\u0000b'", "'10'", "'-0'"],
  ...["'constructor'", "'length'", "'x'.repeat(300)", "'\\u0130\\u00df\\u03a3'", "'a,b;c d'", "'__proto__'", "'1e3'"],
];
const others = [
  ...['null', 'undefined', 'true', 'false', '10n', '-1n', '2n ** 64n', '0n', "Symbol.for('s')", 'Symbol.iterator'],
  ...['[]', '[1, , 3]', '[3, 1, 2]', '[[1], [2]]', '{}', '({ a: 1, b: { c: 2 } })', '/a(b)?/g', 'new Map([[NaN, 1], [-0, 2]])'],
  ...['new Set([0, -0, NaN, "0"])', 'new Date(1e12)', 'new Date(NaN)', 'new Uint8Array([1, 2, 255])', 'new Float64Array([NaN, -0, 1])'],
  ...['new ArrayBuffer(8, { maxByteLength: 32 })', 'new ArrayBuffer(0)', '() => 1', 'function f(a, b) { return this; }'],
  ...['new DataView(new ArrayBuffer(9), 1)', 'Object.create(null)', 'new Proxy([1, 2], {})', 'new (class { #p = 1; get p() { return this.#p; } })()'],
];

const methods = [
  ...['at', 'concat', 'fill', 'flat', 'includes', 'indexOf', 'join', 'lastIndexOf', 'push', 'pop', 'reverse', 'shift', 'slice'],
  ...['sort', 'splice', 'unshift', 'copyWithin', 'set', 'subarray', 'has', 'get', 'add', 'delete', 'clear', 'keys', 'values', 'entries'],
  ...['charAt', 'charCodeAt', 'codePointAt', 'endsWith', 'localeCompare', 'match', 'normalize', 'padEnd', 'padStart', 'replace'],
  ...['replaceAll', 'search', 'split', 'startsWith', 'substring', 'toLowerCase', 'toUpperCase', 'trim', 'toString', 'valueOf'],
  ...['toFixed', 'toPrecision', 'toExponential', 'toJSON', 'toISOString', 'getDay', 'setMonth', 'getTimezoneOffset', 'exec', 'test'],
  ...['resize', 'transfer', 'getFloat64', 'setInt16', 'call', 'apply', 'bind', 'isPrototypeOf', 'hasOwnProperty', 'copyWithin'],
];
const withCallback = ['map', 'filter', 'forEach', 'reduce', 'reduceRight', 'some', 'every', 'find', 'findIndex', 'findLast', 'flatMap', 'sort'];
const statics = [
  ...['Object.keys', 'Object.entries', 'Object.assign', 'Object.freeze', 'Object.getOwnPropertyDescriptors', 'Object.fromEntries', 'Object.is'],
  ...['Array.from', 'Array.of', 'Array.isArray', 'JSON.stringify', 'JSON.parse', 'Number', 'String', 'Boolean', 'BigInt', 'BigInt.asIntN'],
  ...['BigInt.asUintN', 'parseInt', 'parseFloat', 'Math.max', 'Math.hypot', 'Math.fround', 'Math.clz32', 'Math.round', 'Reflect.ownKeys'],
  ...['Reflect.get', 'Reflect.has', 'Symbol', 'String.raw', 'String.fromCodePoint', 'encodeURIComponent', 'decodeURI', 'escape', 'Date.UTC'],
  ...['Uint8Array.from', 'Float32Array.of', 'isNaN', 'Number.isSafeInteger', 'Object.groupBy', 'structuredClone', 'Date.parse'],
];
const binary = ['+', '-', '*', '/', '%', '**', '<', '<=', '==', '===', '!=', '&', '|', '^', '<<', '>>', '>>>', '&&', '||', '??', 'in', 'instanceof', ','];
const unary = ['-', '+', '!', '~', 'typeof ', 'void ', 'delete '];
const constructors = ['Array', 'Map', 'Set', 'Uint8Array', 'Int16Array', 'Float64Array', 'BigInt64Array', 'Uint8ClampedArray', 'DataView', 'RegExp', 'Date', 'String', 'Error', 'Promise', 'WeakMap', 'Proxy'];

export const randomScript = seed => {
  const { int, pick, chance } = randomFrom(seed);
  const variables = ['a', 'b', 'c', 'd', 'kept'];
  const small = () => int(9);

  const list = (make, least = 0, more = 3) => Array.from(Array(least + int(more)), make).join(', ');
  const expressions = [
    depth => `(${expression(depth)} ${pick(binary)} ${expression(depth)})`,
    depth => `${pick(unary)}(${expression(depth)})`,
    depth => `(${expression(depth)})${chance(0.3) ? '?.' : '.'}${pick(methods)}(${list(() => expression(depth))})`,
    depth => `(${expression(depth)}).${pick(withCallback)}(${callback(depth)}, ${expression(0)})`,
    depth => `${pick(statics)}(${list(() => expression(depth), 1)})`,
    depth => `new ${pick(constructors)}(${list(() => expression(depth))})`,
    depth => `[${list(() => `${chance(0.2) ? '...' : ''}${expression(depth)}`)}]`,
    depth => `({ ${property(depth)}, ${property(depth)} })`,
    depth => `\`\${${expression(depth)}}-\${${expression(depth)}}\``,
    depth => `((parts, ...rest) => parts.raw.concat(rest))\`x\\u0041\${${expression(depth)}}y\``,
    depth => `(${expression(depth)} ? ${expression(depth)} : ${expression(depth)})`,
    depth => `(${pick(variables)} ${pick(['=', '+=', '??=', '||=', '&&='])} ${expression(depth)})`,
    depth => `(([x, ...y], { length = x, ...z } = y) => [x, y, length, z])(${expression(depth)})`,
    depth => `[...(function* () { try { const r = yield ${expression(depth)}; yield r; } finally { see('end'); } })()]`,
    depth => `(${callback(depth)})(${list(() => expression(depth))})`,
    depth => `(${expression(depth)})[${expression(depth)}]`,
    depth => `eval(${JSON.stringify(expression(depth))})`,
  ];
  const leaf = () => (chance(0.4) ? pick(variables) : pick(pick([numbers, strings, others])));
  const expression = depth => (depth <= 0 || chance(0.15) ? leaf() : pick(expressions)(depth - 1));
  const property = depth =>
    pick([
      () => `${pick(['p', 'q', 'length', '0', 'toString', '["x" + 1]'])}: ${expression(depth)}`,
      () => `get ${pick(['p', 'g'])}() { see('get'); return ${expression(depth)}; }`,
      () => `set s(v) { see(v); }`,
      () => `m(x = ${expression(depth)}) { return [x, arguments.length]; }`,
      () => `...${expression(depth)}`,
      () => `async *[Symbol.asyncIterator]() { yield ${expression(depth)}; }`,
      () => `[Symbol.toPrimitive](hint) { see(hint); return ${leaf()}; }`,
    ])();
  const callback = depth =>
    pick([
      () => `(x, y) => ${expression(depth)}`,
      () => `function (x) { return this === undefined ? x : ${expression(depth)}; }`,
      () => '(x, y) => (x < y ? -1 : 1)',
      () => '(x, y) => (y > x) - 0.5',
      () => `x => { if (see(x) ?? kept.length > 3) throw ${leaf()}; return x; }`,
      () => `async x => (await x, ${expression(depth)})`,
    ])();

  const regExp = depth => {
    if (depth === 0) return pick(['a', 'b', '.', '[^a]', '\\\\d', '\\\\w', '\\\\b', '^', '$', '(?:)', '\\\\1', '[a-c]', '\\\\u00e9', '\\\\n']);
    return pick([
      () => `${regExp(depth - 1)}${regExp(depth - 1)}`,
      () => `(${regExp(depth - 1)})${pick(['', '?', '*', '+', '{0,2}', '*?', '??'])}`,
      () => `(?:${regExp(depth - 1)}|${regExp(depth - 1)})${pick(['', '?', '*'])}`,
      () => `(?${pick(['=', '!', '<=', '<!'])}${regExp(depth - 1)})`,
      () => `(?<n${int(1000)}>${regExp(depth - 1)})`,
    ])();
  };
  // Depths around the engine's limits, and beyond.
  const depthOf = () => pick([10, 200, 1000, 3000, 5000, 8000, 20000, 50000]) + int(100);
  const nestings = [
    () => `new RegExp(deep('(', 'a', ')', ${depthOf()})).exec('a')?.length`,
    () => `new RegExp('(?:a|b)*c').exec('ab'.repeat(${depthOf()}) + 'c')?.length`,
    () => `JSON.parse(deep('[', '', ']', ${depthOf()})).length`,
    () => `JSON.stringify(Array(${depthOf()}).fill().reduce(x => [x], 1)).length`,
    () => `new Function(deep('(', '1', ')', ${depthOf()})).length`,
    () => `(0, eval)(deep('[', '', ']', ${depthOf()})).length`,
    () => `(0, eval)(deep('{', '1', '}', ${depthOf()}))`,
    () => `(0, eval)('1' + '+1'.repeat(${depthOf()}))`,
    () => `(0, eval)(deep('(x => ', 'x', ')', ${int(3000)})).length`,
    () => `(() => { let p = {}; for (let i = 0; i < ${int(20000)}; i++) p = new Proxy(p, {}); return p.x; })()`,
    () => `(kept = Array(${depthOf()}).fill().reduce(x => ({ x }), 1), 1)`,
    () => `(kept = Array(${depthOf()}).fill().reduce(x => () => x, 1), 1)`,
    () => `(kept = Array(${depthOf()}).fill().reduce(x => new Map([[x, x]]), {}), 1)`,
    () => `Array(${depthOf()}).fill().reduce(x => [x], 1).flat(Infinity).length`,
    () => `String(Array(${depthOf()}).fill().reduce(x => [x], 1))`,
    () => `Array(${depthOf()}).fill().reduce(x => x.bind(), () => 7)()`,
    () => `(() => { let o = {}; for (let i = 0; i < ${depthOf()}; i++) o = Object.create(o); return o.x; })()`,
  ];

  // These end the vat.
  const endless = [
    () => `(() => { let n = 0; const f = () => { n++; f(); }; try { f(); } catch (e) { see(e); } return n; })()`,
    () => `(() => { let n = 0; const f = () => { n++; return [1].map(f); }; try { f(); } catch (e) { see(e); } return n; })()`,
    () => `(() => { let n = 0; const o = { toString() { n++; return String(o); } }; try { String(o); } catch (e) { see(e); } return n; })()`,
  ];

  const statements = [
    depth => `see(${expression(depth)});`,
    depth => `see(${expression(depth)});`,
    depth => `${pick(variables)} = ${expression(depth)};`,
    depth => `for (const x of ${expression(depth)}) { see(x); ${statement(depth - 1)} if (seen.length > ${10 + int(40)}) break; }`,
    depth => `for (const k in ${expression(depth)}) { see(k); if (seen.length > 30) break; }`,
    depth => `l${depth}: for (let i = 0; i < ${1 + small()}; i++) { for (let j = 0; ; j++) { kept[i] = () => i + j; if (j > 2) continue l${depth}; ${statement(depth - 1)} } }`,
    depth => `try { ${statement(depth - 1)} throw ${expression(depth)}; } catch ({ name, ...rest }) { see(name, rest); } finally { ${statement(depth - 1)} }`,
    depth => `see((() => { for (const x of [1, 2]) { try { return ${expression(depth)}; } finally { if (x > ${small()}) break; see(x); } } return 'after'; })());`,
    depth => `switch (${expression(depth)}) { case ${leaf()}: see(1); default: see(2); case ${leaf()}: ${statement(depth - 1)} }`,
    depth => `class C${int(9)} extends ${pick(['Object', 'Array', 'Map', 'Error', 'null', 'Uint8Array'])} { #p = ${expression(depth)}; static s = ${expression(depth)}; get p() { return this.#p; } static has(x) { return #p in x; } static { see(this.s); } }`,
    depth => `{ const { p = ${expression(depth)}, ...rest } = ${expression(depth)}; see(p, rest); }`,
    () => `{ const buffer = new ArrayBuffer(${8 * small()}, { maxByteLength: 80 }); const view = new ${pick(['Uint8Array', 'Float64Array', 'Int32Array'])}(buffer); view.fill(${pick(numbers)}); see(view.map((x, i) => { buffer.resize(${8 * small()}); return i; }), view.length); kept = view; }`,
    () => `{ const buffer = new ArrayBuffer(${int(20)}, { maxByteLength: 40 }); const view = new Uint8Array(buffer${pick(['', ', 4', ', 2, 3'])}); buffer.resize(${int(40)}); see(view, view.byteOffset, view.${pick(['slice', 'subarray', 'with', 'at', 'lastIndexOf'])}(${small()}, ${small()})); }`,
    () => `see(Uint8Array.from.call(function () { return kept; }, { length: ${small()} }, x => { kept = []; return x; }));`,
    depth => `{ const p = new Proxy(${expression(depth)}, { get(t, k, r) { see(String(k)); return Reflect.get(t, k, r); }, has: () => ${chance(0.5)}, ownKeys: () => ['a', 'b'], getOwnPropertyDescriptor: () => ({ value: 1, configurable: true }) }); see('a' in p, p.x, Object.keys(p), JSON.stringify(p)); }`,
    () => `{ const m = new Map(); for (const k of [0, -0, NaN, 0 / 0, '0', 0n, ${pick(numbers)}, ${pick(strings)}]) m.set(k, m.size); see(m, m.get(-0), m.get(NaN)); for (const k of m.keys()) { m.delete(k); if (m.size < ${small()}) m.set('n' + m.size, 1); if (seen.length > 40) break; } }`,
    () => `{ const r = new RegExp('${regExp(3)}', '${pick(['', 'g', 'i', 'm', 's', 'u', 'y', 'd'])}'); see(r.exec('aab\\u00e91a\\n'), 'abab'.replace(r, '[$&$1]'), 'a1b'.split(r), r.lastIndex); }`,
    () => `see([${list(() => pick(numbers), 3, 12)}].sort(), [${list(() => pick(strings), 2, 5)}].sort((x, y) => ${pick(['x.length - y.length', 'NaN', '1', '-1', 'y > x'])}));`,
    () => `see(Array.from(Array(${int(600)}), (_, i) => (i * ${1 + int(7919)}) % 101).sort((x, y) => ${pick(['x - y', 'y - x', '(x & 7) - (y & 7)', 'x % 3 ? 1 : -1'])}).join().length);`,
    () => `see(new Float64Array([${list(() => pick(numbers), 3, 40)}]).sort());`,
    () => `{ const d = new Date(${pick(['0', '8.64e15', '-1', '1e12', "'2020-02-30'", '2021, 13, 32, 25'])}); d.set${pick(['Month', 'FullYear', 'Hours', 'UTCDate'])}(${pick(numbers)}); see(+d, String(d), JSON.stringify(d)); }`,
    depth => `see(JSON.stringify(${expression(depth)}, ${pick(['null', '["a", "length"]', '(k, v) => (k === "b" ? undefined : v)'])}, ${small()}));`,
    depth => `Promise.all([${expression(depth)}, (async () => { await null; ${statement(depth - 1)} return ${expression(depth)}; })()]).then(see, see);`,
    depth => `(async () => { for await (const x of [${expression(depth)}, Promise.reject(${leaf()})]) see(x); })().catch(see);`,
    depth => `{ const o = { a: 1 }; Object.defineProperty(o, '${pick(['a', 'b', 'length'])}', { ${pick(['value: 2', 'get() { return this; }', 'writable: false'])}, enumerable: ${chance(0.5)} }); see(o, Object.isFrozen(Object.freeze(o)), Reflect.set(o, 'a', ${expression(depth)})); }`,
    () => `see(${pick(chance(0.05) ? endless : nestings)()});`,
    () => `see(new Function('x', 'y', ${JSON.stringify(`return ${expression(2)};`)})(1, 2));`,
    () => `{ const w = new WeakMap(); let k = {}; for (let i = 0; i < ${int(2000)}; i++) { const n = {}; w.set(k, n); k = n; } kept = [w, k]; }`,
    () => `kept = Array.from({ length: ${int(200)} }, (_, i) => i % 3 ? { i } : 't' + i); kept.length = ${int(100)};`,
  ];
  const statement = depth => (depth <= 0 ? `see(${expression(1)});` : pick(statements)(depth));

  const guarded = () => `  try {\n    ${statement(2 + int(2))}\n  } catch (e) { see(e); }\n`;
  const method = number =>
    `m${number}: () => {\n  seen.length = 0;\n${Array.from(Array(2 + int(6)), guarded).join('')}  return seen.join(' | ');\n}`;
  const first = variables.slice(0, 4).map(name => `let ${name} = ${pick(pick([numbers, strings, others]))};\n`);
  return `${prelude}${first.join('')}({\n${[0, 1, 2].map(method).join(',\n')},\nheard: () => seen.join(' | ') + show(kept),\n})\n`;
};
