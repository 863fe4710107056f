// SPDX-License-Identifier: Apache-2.0
// Every construct that can be nested, as deep as one likes. The file deep_limits has how deep each may be.

const around = (open, inside, close) => n => open.repeat(n) + inside + close.repeat(n);
const numbered = (n, part) => Array.from(Array(n), (_, i) => part(i)).join('');

// ---- source text: what ends it is caught ----

const expressions = {
  parentheses: around('(', '1', ')'),
  brackets: around('[', '1', ']'),
  objects: around('{a:', '1', '}'),
  computed: around('{[', '1', ']:1}'),
  spreads: around('[...', 'x', ']'),
  indexes: around('x[', '0', ']'),
  arguments: around('f(', '1', ')'),
  templates: around('`${', '1', '}`'),
  tags: around('f`${', '1', '}`'),
  functions: around('function(){return ', '1', '}'),
  expressions: around('(function(){', '', '})'),
  generators: around('function*(){yield ', '1', '}'),
  arrows: around('()=>', '1', ''),
  asyncs: around('async()=>', '1', ''),
  methods: around('{a(){return ', '1', '}}'),
  getters: around('{get a(){return ', '1', '}}'),
  defaults: around('(a=', '1', ')=>1'),
  classes: around('class{a=', '1', '}'),
  statics: around('class{static{(', '1', ')}}'),
  privates: around('class{#a=', '1', '}'),
  heritages: around('class extends ', 'Object', '{}'),
  terms: around('1+', '1', ''),
  factors: around('1*', '1', ''),
  powers: around('2**', '1', ''),
  comparisons: around('1<', '1', ''),
  alternatives: around('1||', '1', ''),
  conjunctions: around('1&&', '1', ''),
  coalescings: around('1??', '1', ''),
  conditions: around('1?', '1', ':1'),
  otherwises: around('1?1:', '1', ''),
  assignments: around('x=', '1', ''),
  sums: around('x+=', '1', ''),
  nots: around('!', '1', ''),
  negations: around('- ', '1', ''),
  types: around('typeof ', '1', ''),
  deletions: around('delete ', 'x', ''),
  voids: around('void ', '1', ''),
  news: around('new ', 'x', ''),
  members: around('', 'x', '.b'),
  elements: around('', 'x', '[0]'),
  calls: around('', 'x', '()'),
  optionals: around('', 'x', '?.b'),
  optionalCalls: around('', 'x', '?.()'),
  commas: n => `(${'1,'.repeat(n)}1)`,
  items: n => `[${'1,'.repeat(n)}]`,
  targets: n => `(${around('[', 'x', ']')(n)}=x)`,
  targetObjects: n => `({${around('a:{', 'x', '}')(n)}}=x)`,
};
const bodies = {
  blocks: around('{', '', '}'),
  ifs: around('if(1)', ';', ''),
  elses: around('if(1);else ', ';', ''),
  whiles: around('while(0)', ';', ''),
  fors: around('for(;;)', ';', ''),
  forIns: around('for(x in x)', ';', ''),
  forOfs: around('for(x of x)', ';', ''),
  dos: around('do ', ';', ' while(0);'),
  withs: around('with(x)', ';', ''),
  labels: n => `${numbered(n, i => `a${i}:`)};`,
  switches: around('switch(1){case 1:', '', '}'),
  tries: around('try{', '', '}finally{}'),
  catches: around('try{}catch{', '', '}'),
  declarations: around('function f(){', '', '}'),
  closures: around('let x;{', 'x', '}'),
  patterns: n => `var ${around('[', 'a', ']')(n)}=x`,
  patternObjects: n => `var ${around('{a:', 'a', '}')(n)}=x`,
  variables: n => `var a${',a'.repeat(n)}`,
  statements: n => ';'.repeat(n),
  yields: n => `return function*(){${'yield '.repeat(n)}}`,
  awaits: n => `return async function(){${'await '.repeat(n)}1}`,
};

const caught = {
  groups: n => new RegExp(around('(', '', ')')(n)),
  plainGroups: n => new RegExp(around('(?:', 'a', ')')(n)),
  lookaheads: n => new RegExp(around('(?=', 'a', ')')(n)),
  lookbehinds: n => new RegExp(around('(?<=', 'a', ')')(n)),
  names: n => new RegExp(numbered(n, i => `(?<a${i}>`) + ')'.repeat(n)),
  repetitions: n => new RegExp(around('(?:', 'a', ')*')(n)),
  choices: n => new RegExp(around('a|', 'a', '')(n)),
  sequences: n => new RegExp('a'.repeat(n)),
  sets: n => new RegExp(`[${numbered(n, i => String.fromCharCode(1000 + ((i * 2) % 50000)))}]`),
  literals: n => new Function(`return /${around('(', '', ')')(n)}/`),
  matches: n => /^(?:a|b)*c/.test('ab'.repeat(n >> 1)),
  captures: n => /^(?:(a)|(b))*c/.test('ab'.repeat(n >> 1)),
  backtracks: n => /^a*?b/.test('a'.repeat(n)),
};
for (const kind in expressions) caught[kind] = n => new Function(`return ${expressions[kind](n)}`);
for (const kind in bodies) caught[kind] = n => new Function(bodies[kind](n));
// In a direct eval, and inside of one another.
caught.evals = n => eval(expressions.parentheses(n));
caught.programs = n => (0, eval)(bodies.blocks(n));
caught.texts = n => new Function(`return new Function("return ${expressions.parentheses(n)}")`)()();

// ---- re-entry: a native function that calls JavaScript, which calls it again ----

const repeat = call => most => {
  let depth = 0;
  const f = () => {
    depth += 1;
    if (depth < most) call(f);
    return '';
  };
  f();
};
const iterable = f => ({ [Symbol.iterator]: () => ({ next: () => (f(), { done: true }) }) });
const reentries = {
  plain: f => f(),
  map: f => [1].map(f),
  forEach: f => [1].forEach(f),
  filter: f => [1].filter(f),
  find: f => [1].find(f),
  some: f => [1].some(f),
  flatMap: f => [1].flatMap(f),
  reduce: f => [1, 2].reduce(f),
  reduceRight: f => [1, 2].reduceRight(f),
  sort: f => [1, 2].sort(f),
  typedMap: f => new Uint8Array(1).map(f),
  typedSort: f => new Float64Array(2).sort(f),
  mapEach: f => new Map([[1, 1]]).forEach(f),
  setEach: f => new Set([1]).forEach(f),
  replace: f => 'a'.replace('a', f),
  replaceAll: f => 'a'.replaceAll('a', f),
  replacePattern: f => 'a'.replace(/a/, f),
  exec: f => /a/[Symbol.replace]('a', f),
  splitter: f => 'a'.split({ [Symbol.split]: f }),
  matcher: f => 'a'.match({ [Symbol.match]: f }),
  apply: f => Reflect.apply(f, null, []),
  call: f => f.call(),
  applied: f => f.apply(null, [1, 2, 3]),
  bound: f => f.bind()(),
  spread: f => f(...[1, 2, 3]),
  construct: f => Reflect.construct(function () { f(); }, []),
  constructor: f => new (class { constructor() { f(); } })(),
  derived: f => new (class extends class { constructor() { f(); } } {})(),
  field: f => new (class { a = f(); })(),
  staticBlock: f => class { static { f(); } },
  getter: f => ({ get a() { return f(); } }).a,
  setter: f => { ({ set a(_) { f(); } }).a = 1; },
  superGetter: f => ({ __proto__: { get a() { return f(); } }, b() { return super.a; } }).b(),
  text: f => String({ toString: f }),
  number: f => +{ valueOf: f },
  primitive: f => `${{ [Symbol.toPrimitive]: f }}`,
  key: f => ({})[{ toString: f }],
  comparison: f => ({ valueOf: f }) < 1,
  bigint: f => 1n + BigInt({ valueOf: () => (f(), 1n) }),
  date: f => new Date({ [Symbol.toPrimitive]: f }),
  json: f => JSON.stringify({ toJSON: f }),
  replacer: f => JSON.stringify(1, f),
  reviver: f => JSON.parse('1', f),
  from: f => Array.from([1], f),
  fromIterable: f => Array.from(iterable(f)),
  typedFrom: f => Uint8Array.from([1], f),
  iterate: f => { for (const _ of iterable(f)); },
  destructure: f => { const [a] = iterable(f); return a; },
  property: f => { const { a } = { get a() { return f(); } }; return a; },
  defaultValue: f => ((a = f()) => a)(),
  instance: f => ({}) instanceof { [Symbol.hasInstance]: f },
  species: f => { const a = [1]; a.constructor = { get [Symbol.species]() { f(); } }; a.map(x => x); },
  concatenable: f => [].concat({ get [Symbol.isConcatSpreadable]() { return f(); } }),
  assign: f => Object.assign({}, { get a() { return f(); } }),
  entries: f => Object.entries({ get a() { return f(); } }),
  fromEntries: f => Object.fromEntries(iterable(f)),
  tagged: f => f`a`,
  optional: f => f?.(),
  generator: f => [...(function* () { yield f(); })()],
  delegate: f => { function* g() { yield* h(); } function* h() { yield f(); } return [...g()]; },
  async: f => { (async () => { f(); })(); },
  asyncGenerator: f => { (async function* () { yield f(); })().next(); },
  executor: f => { new Promise(f); },
  withScope: f => new Function('o', 'with (o) a')({ get a() { return f(); } }),
  evaluate: f => { globalThis.f = f; return (0, eval)('f()'); },
  compile: f => new Function('f', 'return f()')(f),
  proxyGet: f => new Proxy({}, { get: f }).a,
  proxySet: f => Reflect.set(new Proxy({}, { set: f }), 'a', 1),
  proxyHas: f => 'a' in new Proxy({}, { has: f }),
  proxyKeys: f => Reflect.ownKeys(new Proxy({}, { ownKeys: () => (f(), []) })),
  proxyPrototype: f => Object.getPrototypeOf(new Proxy({}, { getPrototypeOf: () => (f(), null) })),
  proxyDescriptor: f => Object.getOwnPropertyDescriptor(new Proxy({}, { getOwnPropertyDescriptor: () => { f(); } }), 'a'),
  proxyDefine: f => Reflect.defineProperty(new Proxy({}, { defineProperty: f }), 'a', {}),
  proxyDelete: f => Reflect.deleteProperty(new Proxy({}, { deleteProperty: f }), 'a'),
  proxyApply: f => new Proxy(() => {}, { apply: f })(),
  proxyConstruct: f => new (new Proxy(function () {}, { construct: () => (f(), {}) }))(),
};

// ---- chains: made by a loop, then gone along at once ----

const chain = (first, link) => n => {
  let at = first;
  for (let i = 0; i < n; i += 1) at = link(at, i);
  return at;
};
const arrays = chain([], at => [at]);
const objects = chain({}, at => ({ a: at }));
const proxies = n => chain(function () {}, at => new Proxy(at, {}))(n);
const between = n => chain({}, at => Object.create(new Proxy(at, {})))(n);
const views = n => chain({}, at => Object.setPrototypeOf(new Uint8Array(1), at))(n);
const classes = chain(class {}, at => class extends at {});
const bounds = chain(function () {}, at => { const f = at.bind(); Object.defineProperty(f, 'name', { value: '' }); return f; });
const getters = chain({ a: 1 }, at => ({ get a() { return at.a; } }));
const supers = chain({ a() { return 1; } }, at => ({ __proto__: at, a() { return super.a(); } }));
const delegates = n => chain((function* () { yield 1; })(), at => (function* () { yield* at; })())(n);
const iterators = n => chain([1][Symbol.iterator](), at => ({ [Symbol.iterator]() { return this; }, next: () => at.next() }))(n);
const calls = chain(() => 1, at => () => at());
const chains = {
  parsed: n => JSON.parse(around('[', '', ']')(n)),
  parsedObjects: n => JSON.parse(around('{"a":', '1', '}')(n)),
  revived: n => JSON.parse(around('[', '', ']')(n), (_, value) => value),
  stringified: n => JSON.stringify(arrays(n)),
  stringifiedObjects: n => JSON.stringify(objects(n)),
  indented: n => JSON.stringify(arrays(Math.min(n, 2000)), null, '').length,
  joined: n => String(arrays(n)),
  flattened: n => arrays(n).flat(Infinity),
  hardened: n => harden(arrays(n)),
  frozen: n => Object.freeze(objects(n)),
  proxyGets: n => proxies(n).a,
  proxySets: n => { proxies(n).a = 1; },
  proxyHases: n => 'a' in proxies(n),
  proxyPrototypes: n => Object.getPrototypeOf(proxies(n)),
  proxySetPrototypes: n => Object.setPrototypeOf(proxies(n), null),
  proxyInstances: n => ({}) instanceof proxies(n),
  proxyApplies: n => proxies(n)(),
  proxyConstructs: n => new (proxies(n))(),
  proxyKeyses: n => Reflect.ownKeys(proxies(n)),
  proxyDescriptors: n => Object.getOwnPropertyDescriptor(proxies(n), 'a'),
  proxyDefines: n => Reflect.defineProperty(proxies(n), 'a', {}),
  proxyDeletes: n => Reflect.deleteProperty(proxies(n), 'a'),
  proxyExtensibles: n => Object.isExtensible(proxies(n)),
  proxyPrevents: n => Object.preventExtensions(proxies(n)),
  proxyArrays: n => Array.isArray(chain([], at => new Proxy(at, {}))(n)),
  proxyTypes: n => Object.prototype.toString.call(proxies(n)),
  proxyLoops: n => { for (const _ in proxies(n)); },
  betweens: n => between(n).x,
  betweenHases: n => 'x' in between(n),
  betweenSets: n => { between(n).x = 1; },
  betweenLoops: n => { for (const _ in between(n)); },
  handlers: n => chain({}, at => new Proxy({}, at))(n).a,
  views: n => views(n).x,
  viewHases: n => 'x' in views(n),
  viewSets: n => { views(n).x = 1; },
  prototypes: n => chain({}, at => Object.create(at))(n).x,
  prototypeLoops: n => { for (const _ in chain({}, at => Object.create(at))(n)); },
  constructed: n => new (classes(n))(),
  bounds: n => bounds(n)(),
  boundConstructs: n => new (bounds(n))(),
  gets: n => getters(n).a,
  supers: n => supers(n).a(),
  delegates: n => delegates(n).next(),
  delegateEnds: n => { const g = delegates(n); g.next(); g.return(); },
  delegateThrows: n => { const g = delegates(n); g.next(); try { g.throw(1); } catch {} },
  iterators: n => [...iterators(n)],
  calls: n => calls(n)(),
  texts: n => `${chain({ toString: () => '' }, at => ({ toString: () => `${at}` }))(n)}`,
  sets: n => new Set(chain([1], at => new Set(at))(n)).size,
  widths: n => Math.max(...Array(n).fill(1)),
  applied: n => Math.max.apply(null, Array(n).fill(1)),
  pushes: n => [].push(...Array(n).fill(1)),
  boundWidths: n => Math.max.bind(null, ...Array(n).fill(1))(),
  codes: n => String.fromCharCode(...Array(n).fill(65)).length,
};

const constructs = {
  ...Object.fromEntries(Object.entries(caught).map(([name, make]) => [`parse ${name}`, make])),
  ...Object.fromEntries(Object.entries(reentries).map(([name, call]) => [`call ${name}`, repeat(call)])),
  ...Object.fromEntries(Object.entries(chains).map(([name, make]) => [`chain ${name}`, make])),
};

export const kinds = () => Object.keys(constructs);

// 'ok', or in what way it ended. What cannot be caught ends the vat.
export const reach = (kind, n) => {
  try {
    constructs[kind](n);
  } catch (error) {
    return `${error}`.slice(0, 60);
  }
  return 'ok';
};

// ---- shapes of the heap, along which a collection of garbage and a snapshot go ----

const made = class {};
const links = {
  arrays: at => [at],
  objects: at => ({ at }),
  getters: at => ({ get at() { return at; } }),
  closures: at => () => at,
  generators: at => { const g = (function* (kept) { yield; yield kept; })(at); g.next(); return g; },
  weakMaps: at => { const key = {}, map = new WeakMap([[key, at]]); map.key = key; return map; },
  maps: at => new Map([[0, at]]),
  keys: at => new Map([[at, 0]]),
  sets: at => new Set([at]),
  bounds: at => { const f = made.bind(at); Object.defineProperty(f, 'name', { value: '' }); f.at = at; return f; },
  proxies: at => new Proxy({ at }, at),
  targets: at => new Proxy(at, {}),
  prototypes: at => Object.create(at),
  privates: at => new (class { #at = at; get at() { return this.#at; } })(),
  errors: at => Object.assign(Error(''), { at }),
  views: at => Object.assign(new Uint8Array(1), { at }),
  promises: at => new Promise(resolve => resolve(at instanceof Promise ? at : pending())),
  thens: at => (at instanceof Promise ? at : pending()).then(x => x),
  asyncs: at => (async () => { await (at instanceof Promise ? at : pending()); return 1; })(),
};
const steps = {
  arrays: at => at[0],
  closures: at => at(),
  generators: at => at.next().value,
  weakMaps: at => at.get(at.key),
  maps: at => at.get(0),
  keys: at => at.keys().next().value,
  sets: at => at.values().next().value,
  prototypes: Object.getPrototypeOf,
};
const untold = ['targets', 'promises', 'thens', 'asyncs', 'proxies'];
const settle = {};
let shape; // the one that is made now
const pending = () => new Promise(resolve => { settle[shape] = resolve; });
const kept = {}, settled = {}, undecided = Promise.resolve();
const end = {};

export const shapes = () => [...Object.keys(links), 'text', 'ring'];

export const keep = (kind, n) => {
  shape = kind;
  let at = kind in kept ? kept[kind] : end;
  if (kind === 'text') {
    at = kept.text ?? '';
    for (let i = 0; i < n; i += 1) at += 'ab';
  } else if (kind === 'ring') {
    at = Array.from(Array(n), () => ({ map: new Map() }));
    at.forEach((each, i) => { each.map.set(at[(i * 7 + 1) % n], each); each.all = at; });
  } else {
    for (let i = 0; i < n; i += 1) at = links[kind](at);
  }
  kept[kind] = at;
};

// How many links there are.
export const look = kind => {
  let at = kept[kind], n = 0;
  if (kind === 'text' || kind === 'ring') return at?.length;
  if (untold.includes(kind)) return typeof at;
  const step = steps[kind] ?? (each => each.at);
  for (; at !== end && at !== undefined; n += 1) at = step(at);
  if (kind === 'generators') delete kept[kind]; // they have ended
  return at === end ? n : -1;
};
export const resolve = kind => {
  kept[kind].then(() => { settled[kind] = true; });
  settle[kind](1);
};
// Queues n jobs at once.
export const queue = n => {
  let left = n;
  for (let i = 0; i < n; i += 1) undecided.then(() => { left -= 1; settled.queue = left === 0; });
};
export const isSettled = kind => settled[kind] === true;
export const drop = kind => { delete kept[kind]; };

// ---- mixtures: for random runs ----

// Reaches so deep into a construct inside of `levels` calls of these kinds.
export const within = (calls, levels, kind, n) => {
  let depth = 0, outcome;
  const f = () => {
    if (depth === levels) outcome = reach(kind, n);
    else reentries[calls[depth++ % calls.length]](() => (outcome === undefined ? f() : ''));
    return '';
  };
  f();
  return outcome;
};

const values = {
  text: n => 'x'.repeat(n),
  wide: n => '\u{1f600}\u00e9'.repeat(n),
  bytes: n => new Uint8Array(n).fill(7),
  numbers: n => [...Array(n).keys()],
  words: n => Array.from(Array(n), (_, i) => `word ${i}`),
  sparse: n => { const a = []; a[n * 1000] = 1; a[n] = 2; return a; },
  bigint: n => 3n ** BigInt(n),
  map: n => new Map(Array.from(Array(n), (_, i) => [`${i}`, i])),
  set: n => new Set(Array.from(Array(n), (_, i) => i / 3)),
  names: n => Object.fromEntries(Array.from(Array(n), (_, i) => [`n${i % 5000}`, i])),
  json: n => JSON.parse(`[${'{"a":[1,"b",null]},'.repeat(n)}0]`),
  functions: n => Array.from(Array(n), (_, i) => new Function(`return ${i}`)),
};
const slow = {
  search: n => 'a'.repeat(n).indexOf(`${'a'.repeat(50)}b`),
  split: n => 'a,'.repeat(n).split(',').length,
  join: n => [...Array(n).keys()].join().length,
  sort: n => Array.from(Array(n), (_, i) => (i * 7919) % 10007).sort((a, b) => a - b)[n >> 1],
  shift: n => { const a = [...Array(n).keys()]; while (a.length > 1) a.shift(); return a[0]; },
  unshift: n => { const a = []; for (let i = 0; i < n >> 3; i += 1) a.unshift(i); return a[0]; },
  splice: n => { const a = [...Array(n).keys()]; for (let i = 0; i < 50; i += 1) a.splice(n >> 1, 1, i, i); return a.length; },
  deletions: n => { const m = new Map(Array.from(Array(n), (_, i) => [i, i])); for (const key of m.keys()) m.delete(key); return m.size; },
  replace: n => 'ab'.repeat(n).replace(/a/g, '--').length,
  backtrack: n => /^(?:a+)+$/.test(`${'a'.repeat(Math.min(n, 15))}b`),
  unicode: n => /\p{Letter}+/u.exec('\u00e9'.repeat(n))[0].length,
  normalize: n => '\u00e9'.repeat(n).normalize('NFD').length,
  upper: n => '\u00df'.repeat(n).toUpperCase().length,
  stringify: n => JSON.stringify([...Array(n).keys()]).length,
  multiply: n => `${(7n ** BigInt(n >> 4)) * (5n ** BigInt(n >> 4))}`.length,
  reverse: n => [...Array(n).keys()].reverse()[0],
  concat: n => { let s = ''; for (let i = 0; i < n; i += 1) s += i; return s.length; },
  define: n => { const o = {}; for (let i = 0; i < n; i += 1) o[`p${i % 3000}`] = i; return Object.keys(o).length; },
  registry: n => { for (let i = 0; i < n; i += 1) Symbol.for(`r${i % 500}`); return n; },
  equal: n => { const a = 'e'.repeat(n << 6), b = 'e'.repeat(n << 6); let c = 0; for (let i = 0; i < 99; i += 1) c += a === b; return c; },
  slices: n => { const b = new ArrayBuffer(n << 6); for (let i = 0; i < 99; i += 1) b.slice(0); return b.byteLength; },
  uri: n => encodeURIComponent('\u00e9'.repeat(n)).length,
  freeze: n => Object.isFrozen(harden(values.words(n))),
  matchWide: n => '\u00e9b'.repeat(n).match(/./g).length,
  matchAllWide: n => [...`\u{1f600}`.repeat(n).matchAll(/(?<x>.)/dgu)].length,
  splitUnits: n => '\u{1f600}x'.repeat(n).split(/(?:)/u).length,
  fillHoles: n => { const a = new Array(n); for (let i = 0; i < n; i += 1) a[i] = { i }; return a[n - 1].i; },
  mixedKeys: n => { const o = {}; for (let i = 0; i < n; i += 1) { o[Symbol()] = i; o[`k${i}`] = i; o[i] = i; } return Reflect.ownKeys(o).length; },
  rejections: n => { for (const p of Array.from(Array(n), (_, i) => Promise.reject(i))) p.catch(() => 0); return n; },
  all: n => { Promise.all([...Array(n).keys()]).then(a => { settled.all = a.length; }); return n; },
  scattered: n => { const a = Array.from(Array(n), () => ({})); a.forEach((o, i) => { o.next = a[(i * 7919) % n]; }); new ArrayBuffer(3e7); return a[1].next === a[7919 % n]; },
};
let held;

export const mixtures = () => [Object.keys(reentries), Object.keys(values), Object.keys(slow)];
export const hold = (kind, n) => {
  held = values[kind](n);
  return held.length ?? held.size ?? typeof held;
};
export const work = (kind, n) => slow[kind](n);
// As a value of the delivery's own arguments and result.
export const nested = n => chain(1, at => (n % 2 ? [at] : { a: at }))(n);
