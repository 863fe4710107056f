// SPDX-License-Identifier: Apache-2.0
// Work for widely used packages, each section a contract of its own: what it imports is bundled
// with it (bundle.mjs), and its method returns what node returns for the same bundle.

//// bn.js
import BN from 'bn.js';
export const work = () => {
  const p = new BN('ffffffffffffffffffffffffffffffff000000000000000000000001', 16);
  const red = BN.red(p);
  const base = new BN('123456789abcdef', 16).toRed(red);
  let fib = [new BN(0), new BN(1)];
  for (let i = 0; i < 400; i++) fib = [fib[1], fib[0].add(fib[1])];
  return [base.redPow(new BN('fedcba987654321', 16)).fromRed().toString(16), `${fib[1]}`,
    fib[1].gcd(fib[0]).toString(), fib[1].divmod(new BN(1000007)).mod.toNumber()];
};

//// decimal.js
import Decimal from 'decimal.js';
export const work = () => {
  Decimal.set({ precision: 50 });
  let pi = new Decimal(0);
  for (let k = 0; k < 30; k++) {
    const inner = new Decimal(4).div(8 * k + 1).sub(new Decimal(2).div(8 * k + 4))
      .sub(new Decimal(1).div(8 * k + 5)).sub(new Decimal(1).div(8 * k + 6));
    pi = pi.add(inner.div(new Decimal(16).pow(k)));
  }
  return [`${pi}`, new Decimal(2).sqrt().toString(), new Decimal('0.5').sin().toString(),
    new Decimal('1e-30').add(1).ln().toString(), new Decimal('123.456').toFixed(1)];
};

//// elliptic
import elliptic from 'elliptic';
export const work = () => {
  const curve = new elliptic.ec('secp256k1');
  const key = curve.keyFromPrivate('1'.repeat(64), 'hex');
  const hash = '0123456789abcdef'.repeat(4);
  const signature = key.sign(hash, { canonical: true });
  return [key.getPublic(true, 'hex'), signature.toDER('hex'), curve.verify(hash, signature, key.getPublic())];
};

//// handlebars
import Handlebars from 'handlebars/dist/cjs/handlebars.js';
export const work = () => {
  Handlebars.registerHelper('loud', text => text.toUpperCase());
  const page = Handlebars.compile(
    '<h1>{{title}}</h1>{{#each items}}<li class="{{#if @first}}first{{else}}{{@index}}{{/if}}">{{loud name}}: {{price}}</li>{{/each}}{{{raw}}}{{> foot}}',
  );
  Handlebars.registerPartial('foot', '<footer>{{title}}</footer>');
  const items = Array.from(Array(100), (_, i) => ({ name: `item <${i}>`, price: i * 1.5 }));
  let error;
  try { Handlebars.compile('{{#each}')({}); } catch (e) { error = e.name + e.message.split('\n')[0]; }
  return [page({ title: 'A & B', items, raw: '<b>' }), error];
};

//// immutable
import { Map, List, Set, OrderedMap, Record, fromJS, is } from 'immutable';
export const work = () => {
  let map = Map();
  for (let i = 0; i < 3000; i++) map = map.set(`key${i % 1000}`, i);
  const Point = Record({ x: 0, y: 0 });
  const list = List(Array.from(Array(2000).keys())).filter(n => n % 3).map(n => n * n).push(7);
  const nested = fromJS({ a: { b: [1, 2, { c: 3 }] } }).setIn(['a', 'b', 2, 'c'], 4);
  return [map.size, map.get('key77'), list.size, list.reduce((a, b) => a + b), `${new Point({ x: 1 }).set('y', 2)}`,
    JSON.stringify(nested), is(Set([1, 2]), Set([2, 1])), OrderedMap([['z', 1], ['a', 2]]).keySeq().toArray()];
};

//// mathjs
import { create, all } from 'mathjs';
export const work = () => {
  const math = create(all);
  const a = math.matrix([[4, 1, 2], [1, 3, 0], [2, 0, 5]]);
  return [math.format(math.evaluate('sqrt(3^2 + 4^2) + 2 * (7 - 1) / 4'), 12), math.format(math.inv(a), 10), math.det(a),
    math.format(math.multiply(a, a)), `${math.simplify('2 * x + 3 * x - x')}`, `${math.derivative('x^3 + 2 * x', 'x')}`,
    math.evaluate('5.08 cm to inch').toString(), `${math.fraction(1, 3).add(math.fraction(1, 6))}`,
    math.bignumber('0.1').add('0.2').toString(), math.complex(2, 3).mul(math.complex(1, -1)).toString()];
};

//// zod
import { z } from 'zod';
export const work = () => {
  const Order = z.object({
    name: z.string().min(2).max(20),
    email: z.email(),
    items: z.array(z.object({ id: z.number().int().positive(), tags: z.set(z.string()).optional() })).nonempty(),
    kind: z.discriminatedUnion('t', [z.object({ t: z.literal('a'), n: z.number() }), z.object({ t: z.literal('b') })]),
    note: z.string().transform(text => text.trim()).default('none'),
  });
  const good = { name: 'Ann', email: 'ann@example.com', items: [{ id: 1 }], kind: { t: 'a', n: 2 }, note: ' hi ' };
  const bad = Order.safeParse({ ...good, name: 'A', email: 'nowhere', items: [{ id: -1 }], kind: { t: 'c' } });
  let parsed;
  for (let i = 1; i <= 200; i++) parsed = Order.parse({ ...good, items: [{ id: i }] });
  return [parsed, bad.success, bad.error.issues.map(({ path, code }) => [path.join('.'), code]), bad.error.name];
};

//// bignumber.js
import BigNumber from 'bignumber.js';
export const work = () => {
  BigNumber.config({ DECIMAL_PLACES: 40 });
  let x = new BigNumber(2);
  for (let i = 0; i < 6; i++) x = x.plus(new BigNumber(2).div(x)).div(2);
  return [`${x}`, new BigNumber('1e500').plus(1).toString(16).length, new BigNumber('1234567.891').toFormat(2),
    `${new BigNumber(3).pow(200)}`, new BigNumber('0x1f').toString()];
};

//// lodash
import _ from 'lodash';
export const work = () => {
  const people = Array.from(Array(500), (_ignored, i) => ({ id: i, age: (i * 37) % 90, name: { first: `n${i % 13}` } }));
  return [_.mapValues(_.groupBy(people, p => Math.floor(p.age / 30)), 'length'), _.sortBy(people, ['age', 'id'])[3],
    _.chain(people).filter(p => p.age > 40).map('name.first').uniq().sortBy().value(), _.merge({ a: [1] }, { a: [2, 3], b: { c: 1 } }),
    _.isEqual(_.cloneDeep(people), people), _.template('<%= a %>-<%- b %>')({ a: 1, b: '<' }), _.upperFirst('foo'),
    _.chunk(_.range(10), 3), _.get({ a: [{ b: 3 }] }, 'a[0].b'), _.camelCase('--Foo-BAR__x 12a'), _.words('héllo wörld, XMLHttp')];
};

//// js-yaml
import * as yaml from 'js-yaml';
export const work = () => {
  const data = Array.from(Array(150), (_, i) => ({ id: i, name: `person ${i}`, tags: ['a', 'b', `t${i}`], nested: { on: i % 2 === 0, ratio: i / 8, text: 'line one\nline two\n', none: null } }));
  const text = yaml.dump(data);
  const back = yaml.load(text);
  return [text.length, JSON.stringify(back) === JSON.stringify(data), yaml.load('a: &x [1, 2]\nb: *x\nc: !!str 12\nd: 2001-12-14\ne: |\n  block\n'), yaml.dump(back.slice(0, 2))];
};

//// acorn
import { parse, tokenizer } from 'acorn';
export const work = () => {
  const unit = i => `export function f${i}(a, b = ${i}, ...rest) {\n  const { x, y: [z] } = a; // comment\n  for (let i = 0; i < b; i++) if (x > z) rest.push(\`t\${i}\`, /r[e]g/gi.test("s"));\n  return async () => { await rest?.[0] ?? class A extends B { #p = 1; get q() { return this.#p ** 2; } } };\n}\n`;
  const text = Array.from(Array(60), (_, i) => unit(i)).join('');
  const tree = parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
  const counts = {};
  const visit = node => { if (node && typeof node.type === 'string') { counts[node.type] = (counts[node.type] ?? 0) + 1; Object.values(node).flat().forEach(visit); } };
  visit(tree);
  let error;
  try { parse('let x = ;', { ecmaVersion: 2022 }); } catch (e) { error = `${e}${e.pos}`; }
  return [text.length, tree.end, counts, [...tokenizer('a + b', { ecmaVersion: 2022 })].length, error];
};

//// ajv
import Ajv from 'ajv';
export const work = () => {
  const ajv = new Ajv({ allErrors: true });
  const validate = ajv.compile({
    type: 'object', required: ['id', 'items'], additionalProperties: false,
    properties: { id: { type: 'integer', minimum: 1 }, items: { type: 'array', minItems: 1, items: { $ref: '#/$defs/item' } }, kind: { enum: ['a', 'b'] } },
    $defs: { item: { type: 'object', properties: { name: { type: 'string', pattern: '^[a-z]+$', maxLength: 5 } }, required: ['name'] } },
  });
  const results = [];
  for (let i = 0; i < 300; i++) results.push(validate({ id: i, items: [{ name: 'abcdef'.slice(0, i % 7) }], kind: i % 5 ? 'a' : 'c' }));
  validate({ items: [{ name: 'toolong' }, {}], x: 1 });
  return [results.filter(Boolean).length, validate.errors.map(e => e.instancePath + e.keyword), ajv.errorsText(validate.errors)];
};

//// uuid
import { v5, v3, parse, stringify, validate, version } from 'uuid';
export const work = () => {
  const ids = Array.from(Array(100), (_, i) => v5(`name ${i}`, v5.URL));
  return [ids[99], v3('hello', v3.DNS), stringify(parse(ids[0])), ids.every(validate), version(ids[1]), new Set(ids).size];
};

//// date-fns
import { addMonths, format, differenceInDays, parseISO, startOfWeek, eachDayOfInterval, formatDistance, isValid, parse } from 'date-fns';
export const work = () => {
  const start = new Date(Date.UTC(2024, 0, 31, 12));
  return [format(addMonths(start, 1), 'yyyy-MM-dd EEEE do MMM HH:mm'), differenceInDays(parseISO('2024-12-25T00:00:00Z'), start),
    startOfWeek(start, { weekStartsOn: 1 }).toISOString(), eachDayOfInterval({ start, end: addMonths(start, 3) }).length,
    formatDistance(start, addMonths(start, 5)), isValid(new Date(NaN)), parse('12/05/2021', 'dd/MM/yyyy', start).toISOString()];
};

//// ramda
import * as R from 'ramda';
export const work = () => {
  const rows = Array.from(Array(300), (_, i) => ({ k: i % 7, v: i }));
  const total = R.pipe(R.groupBy(R.prop('k')), R.map(R.pipe(R.pluck('v'), R.sum)));
  return [total(rows), R.over(R.lensPath(['a', 0, 'b']), R.inc, { a: [{ b: 1 }] }), R.transpose([[1, 2], [3, 4]]), R.equals(rows, R.clone(rows)),
    R.into([], R.compose(R.filter(n => n % 2), R.map(n => n * n)), R.range(0, 20)), R.curry((a, b, c) => a + b + c)(1)(2)(3), R.type(/x/), R.toString({ a: [1, 'x'] })];
};

//// rxjs
import { from, range, Subject, of, zip, lastValueFrom, throwError, EMPTY } from 'rxjs';
import { map, filter, scan, mergeMap, groupBy, toArray, catchError, bufferCount, reduce, share } from 'rxjs/operators';
export const work = async () => {
  const seen = [];
  const subject = new Subject();
  const shared = subject.pipe(scan((a, b) => a + b, 0), share());
  shared.subscribe(v => seen.push(v));
  shared.subscribe({ next: v => seen.push(-v), complete: () => seen.push('end') });
  [1, 2, 3].forEach(v => subject.next(v));
  subject.complete();
  const groups = await lastValueFrom(range(0, 500).pipe(groupBy(n => n % 4), mergeMap(g => g.pipe(reduce((a, b) => a + b))), toArray()));
  const caught = await lastValueFrom(throwError(() => Error('bad')).pipe(catchError(e => of(e.message))));
  let empty;
  try { await lastValueFrom(EMPTY); } catch (e) { empty = [e.name, e.message, e instanceof Error]; }
  const zipped = await lastValueFrom(zip(from([1, 2, 3]), of('a', 'b')).pipe(map(p => p.join('')), bufferCount(2)));
  return [seen, groups, caught, empty, zipped, await lastValueFrom(from('abc').pipe(filter(c => c > 'a'), toArray()))];
};

//// protobufjs
import protobuf from 'protobufjs';
export const work = () => {
  const { root } = protobuf.parse('syntax = "proto3"; package p; enum K { A = 0; B = 1; } message Item { string name = 1; repeated sint32 n = 2; map<string, double> m = 3; K k = 4; oneof o { bytes b = 5; uint64 u = 6; } }');
  const Item = root.lookupType('p.Item');
  const message = Item.create({ name: 'ä€😀', n: [-1, 2, 300000], m: { x: 1.5 }, k: 1, b: new Uint8Array([1, 2, 3]) });
  let bytes;
  for (let i = 0; i < 50; i++) bytes = Item.encode(message).finish();
  const back = Item.toObject(Item.decode(bytes), { enums: String, bytes: String, longs: String });
  return [[...bytes], back, Item.verify({ name: 1 }), Item.verify({ n: [1] })];
};

//// @noble/hashes
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { blake2b } from '@noble/hashes/blake2.js';
import { hmac } from '@noble/hashes/hmac.js';
import { pbkdf2 } from '@noble/hashes/pbkdf2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
export const work = () => {
  const data = utf8ToBytes('gaspipe '.repeat(200));
  return [sha256(data), sha512(data), keccak_256(data), blake2b(data), hmac(sha256, data, data), pbkdf2(sha256, 'pw', 'salt', { c: 20, dkLen: 32 })].map(bytesToHex);
};

//// @noble/curves
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ed25519 } from '@noble/curves/ed25519.js';
import { bytesToHex, hexToBytes } from '@noble/curves/utils.js';
export const work = () => {
  const secret = hexToBytes('2'.repeat(64));
  const message = hexToBytes('00ff'.repeat(16));
  const one = secp256k1.sign(message, secret), two = ed25519.sign(message, secret);
  return [bytesToHex(secp256k1.getPublicKey(secret)), bytesToHex(one), secp256k1.verify(one, message, secp256k1.getPublicKey(secret)),
    bytesToHex(two), ed25519.verify(two, message, ed25519.getPublicKey(secret))];
};

//// big.js
import Big from 'big.js';
export const work = () => {
  Big.DP = 60;
  let e = Big(1), term = Big(1);
  for (let i = 1; i < 50; i++) { term = term.div(i); e = e.plus(term); }
  let error;
  try { Big('x'); } catch (problem) { error = `${problem}`; }
  return [`${e}`, Big(2).sqrt().toFixed(20), Big('-1.5e-7').toExponential(3), Big(7).mod(3).cmp(1), JSON.stringify({ v: Big(0.1).plus(0.2) }), error];
};

//// nanoid
import { customRandom, customAlphabet } from 'nanoid';
export const work = () => {
  let seed = 42;
  const bytes = size => Uint8Array.from(Array(size), () => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return seed >> 16; });
  const make = customRandom('abcdef0123456789', 12, bytes);
  return [Array.from(Array(50), () => make()), typeof customAlphabet];
};

//// validator
import validator from 'validator';
export const work = () => ['a@b.co', 'not', '12:30', 'DE89370400440532013000', '4111111111111111', '127.0.0.1', '{"a":1}', 'https://x.yz/?q', '2024-02-30', '#ff0000']
  .map(text => [validator.isEmail(text), validator.isURL(text), validator.isIBAN(text), validator.isCreditCard(text), validator.isIP(text), validator.isJSON(text), validator.isDate(text), validator.isHexColor(text), validator.escape(`<${text}>`)]);

//// fast-json-stable-stringify
import stringify from 'fast-json-stable-stringify';
export const work = () => stringify(Array.from(Array(100), (_, i) => ({ z: i, a: [{ y: null, b: 'ä' }], m: { toJSON: () => `j${i}` }, u: undefined })));

//// semver
import semver from 'semver';
export const work = () => {
  const versions = Array.from(Array(150), (_, i) => `${i % 4}.${i % 7}.${i % 11}${i % 5 ? '' : '-beta.' + i}`);
  return [semver.sort([...versions]).slice(0, 5), semver.maxSatisfying(versions, '^2.1.0'), semver.inc('1.2.3', 'minor'), semver.valid('a.b'),
    versions.filter(v => semver.satisfies(v, '>=1.2 <3 || 3.0.x')).length, semver.coerce('v3.4 x').version, new semver.Range('~1.2.3').range];
};

//// dayjs
import dayjs from 'dayjs';
import utc from 'dayjs/plugin/utc.js';
import duration from 'dayjs/plugin/duration.js';
dayjs.extend(utc);
dayjs.extend(duration);
export const work = () => {
  const day = dayjs.utc('2024-02-28T23:30:00Z');
  return [day.add(1, 'month').format('YYYY-MM-DD dddd HH:mm Z'), day.diff('2020-01-01', 'day'), day.endOf('year').toISOString(), day.isBefore('2025-01-01'), dayjs.duration({ hours: 26 }).toISOString()];
};

//// yup
import * as yup from 'yup';
export const work = async () => {
  const schema = yup.object({ name: yup.string().required().min(3), age: yup.number().integer().positive(), tags: yup.array(yup.string()).max(2), when: yup.date() });
  const good = await schema.validate({ name: 'anne', age: '7', tags: ['x'], when: '2024-01-02T00:00:00Z' });
  const bad = await schema.validate({ name: 'a', age: -1.5, tags: [1, 2, 3] }, { abortEarly: false }).catch(e => [e.name, e.errors, e.inner.length]);
  return [good.when.toISOString(), good.age, bad, schema.isValidSync({ name: 'bob' })];
};

//// fflate
import { gzipSync, gunzipSync, deflateSync, inflateSync, strToU8, strFromU8 } from 'fflate';
export const work = () => {
  const data = strToU8(Array.from(Array(400), (_, i) => `line ${i} of the file, ${i * i}\n`).join(''));
  const packed = deflateSync(data, { level: 9 });
  return [data.length, packed.length, strFromU8(inflateSync(packed)).slice(0, 60), gunzipSync(gzipSync(data, { mtime: 1 })).length, [...packed.slice(0, 20)]];
};

//// peggy
import peggy from 'peggy';
export const work = () => {
  const sum = peggy.generate('sum = left:number "+" right:sum { return left + right; } / number\nnumber = digits:$[0-9]+ { return parseInt(digits, 10); }');
  try {
    sum.parse('1+');
  } catch (error) {
    return [sum.parse(Array.from(Array(30).keys()).join('+')), error.message];
  }
};

//// moo
import moo from 'moo';
export const work = () => {
  const lexer = moo.compile({ space: /[ \t]+/, comment: /\/\/.*?$/, number: /0|[1-9][0-9]*/, string: /"(?:\\["\\]|[^\n"\\])*"/,
    open: '(', close: ')', keyword: ['while', 'if'], name: /[a-z]+/, line: { match: /\n/, lineBreaks: true } });
  lexer.reset('while (10) cows "a\\"b" // a comment\nif (0) moo\n'.repeat(50));
  return [...lexer].slice(-12).map(token => [token.type, token.value, token.line, token.col]);
};

//// highlight.js
import hljs from 'highlight.js/lib/common';
export const work = () => [
  ['javascript', 'const a = `x${1 + 1}`; // c\nclass B { #p = /re[/]\\/g }'], ['python', 'def f(x):\n  "doc"\n  return f"{x!r}"'],
  ['c', 'int main() { printf("%d\\n", 0x1f); } /* c */'], ['sql', "SELECT a, count(*) FROM t WHERE b = 'x'"],
].map(([language, text]) => hljs.highlight(text, { language }).value);

//// prismjs
import Prism from 'prismjs';
export const work = () => [
  Prism.highlight('let a = 1; // x\nfunction f() { return `t${a}` + /[/]b/g; }', Prism.languages.javascript, 'javascript'),
  Prism.highlight('a > b { color: red; } /* c */', Prism.languages.css, 'css')];

//// markdown-it
import MarkdownIt from 'markdown-it';
export const work = () => new MarkdownIt({ html: true, linkify: true, typographer: true }).render(
  '# T\n\n* a\n* b **c** `d`\n\n> q "x" -- y\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n```js\nx\n```\nhttp://example.com/a [l](u "t") ![i](s)\n');

//// marked
import { marked } from 'marked';
export const work = () => [marked.parse(
  '# T\n\n* a\n* b **c** `d`\n  1. e\n\n> q *r*\n> s\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n```js\nx < 1\n```\n<div>\n\nhttp://example.com [l](u "t") ![i](s)\n\n- [x] done\n'),
  marked.lexer('a\n\nb').map(token => token.type)];

//// mustache
import Mustache from 'mustache';
export const work = () => Mustache.render('{{#list}}<{{name}}>{{^last}}, {{/last}}{{/list}}{{{raw}}} {{! c }}{{>part}} {{#loud}}x{{/loud}}', {
  list: [{ name: 'a&b' }, { name: 'c', last: true }], raw: '<i>', loud: () => (text, render) => render(text).toUpperCase(),
}, { part: '[{{list.length}}]' });

//// papaparse
import Papa from 'papaparse';
export const work = () => {
  const rows = Array.from({ length: 200 }, (_, i) => ({ id: i, name: `n "${i}", x`, half: i / 2 }));
  const text = Papa.unparse(rows);
  const { data, errors, meta } = Papa.parse(text, { header: true, dynamicTyping: true });
  return [text.length, data[7], data.length, errors, meta.fields, Papa.parse('a;b\n1;"2').errors.map(error => error.code)];
};

//// json5
import JSON5 from 'json5/lib/index.js';
export const work = () => {
  const value = JSON5.parse("{ // c\n a: .5, 'b': +Infinity, c: [0xFF, 'x\\\ny',], /* d */ \u00fc: null }");
  try {
    JSON5.parse('{a: 1');
  } catch (error) {
    return [value.a, String(value.b), value.c, JSON5.stringify(value, null, 2), error.message];
  }
};

//// redux
import { legacy_createStore as createStore, combineReducers, applyMiddleware } from 'redux';
// It calls Math.random().
const reducer = combineReducers({
  count: (state = 0, { type, by = 1 }) => (type === 'add' ? state + by : state),
  log: (state = [], { type }) => (type === 'note' ? [...state, state.length] : state),
});
export const work = () => {
  const seen = [];
  const store = createStore(reducer, applyMiddleware(() => next => action => { seen.push(action.type); return next(action); }));
  store.subscribe(() => seen.push(store.getState().count));
  for (let i = 0; i < 50; i++) store.dispatch(i % 3 ? { type: 'add', by: i } : { type: 'note' });
  return [store.getState(), seen.length];
};

//// fuse.js
import Fuse from 'fuse.js';
export const work = () => {
  const fuse = new Fuse(['apple pie', 'maple syrup', 'plain people', 'grape', 'pineapple'].map(title => ({ title })), { keys: ['title'], includeScore: true });
  return fuse.search('aple').map(({ item, score }) => [item.title, score.toFixed(6)]);
};

//// picomatch
import picomatch from 'picomatch';
export const work = () => ['*.js', '**/*.{c,h}', '!(a|b)*', 'a/[0-9]?(x)/**', '+(ab)c', '@(x|y){1..3}'].map(glob =>
  [picomatch.scan(glob).base, ['a.js', 'd/e.c', 'cat', 'a/1x/z', 'ababc', 'x2'].filter(name => picomatch(glob)(name))]);

//// underscore
import _ from 'underscore';
export const work = () => [
  _.chain(_.range(100)).filter(n => n % 3).groupBy(n => n % 7).mapObject(list => _.reduce(list, (a, b) => a + b)).value(),
  _.template('<% _.each(list, x => { %>[<%- x %>]<% }) %>')({ list: ['a', '<b>'], _ }), _.isEqual({ a: [1, { b: NaN }] }, { a: [1, { b: NaN }] }), _.sortBy(['ccc', 'a', 'bb'], 'length'),
];

//// @babel/generator
import { generate } from '@babel/generator';
import { parse } from '@babel/parser';
export const work = () => {
  const source = `async function* each(list, { limit = 3, ...rest } = {}) {
    for await (const item of list) { if (item?.size >= limit) yield* [item, ...rest.more ?? []]; }
  }
  class Account { static #count = 0; #sum = 0n; get sum() { return this.#sum; } add(n) { this.#sum += BigInt(n); } }
  const twice = async => ({ async, text: \`<\${async}>\` }), half = n => n / 2;`;
  const tree = parse(source, { sourceType: 'module' });
  return [generate(tree, { compact: true }).code, generate(tree, { comments: false }).code.length, tree.program.body.map(each => each.type)];
};

//// chess.js
import { Chess } from 'chess.js';
export const work = () => {
  const game = new Chess();
  for (let i = 0; i < 40 && !game.isGameOver(); i++) {
    const moves = game.moves();
    game.move(moves[(i * 7) % moves.length]);
  }
  return [game.fen(), game.pgn().length, game.isCheck(), game.moves({ verbose: true }).map(move => move.san)];
};

//// graphql
import { buildSchema, graphqlSync, parse, print, validate } from 'graphql';
export const work = () => {
  const schema = buildSchema('type Query { account(id: ID!): Account } type Account { id: ID!, sum: Int, owner: [String!] }');
  const rootValue = { account: ({ id }) => ({ id, sum: id.length * 7, owner: [id, 'all'] }) };
  const source = 'query Q($id: ID!) { account(id: $id) { ...rest } } fragment rest on Account { id sum owner }';
  return [graphqlSync({ schema, source, rootValue, variableValues: { id: 'abc' } }), print(parse(source)),
    validate(schema, parse('{ account { none } }')).map(error => error.message)];
};

//// htmlparser2
import { parseDocument, Parser, DomUtils } from 'htmlparser2';
export const work = () => {
  const html = `<ul class=a>${'<li>one<li id="x">two &amp; three<br><b>four</b>'.repeat(50)}</ul><!-- end -->`;
  const seen = [];
  const parser = new Parser({ onopentag: (name, attributes) => seen.push(name, attributes), ontext: text => seen.push(text) });
  parser.write(html.slice(0, 300));
  parser.end(html.slice(300, 600));
  const tree = parseDocument(html);
  return [seen, DomUtils.getElementsByTagName('li', tree).length, DomUtils.textContent(tree).length,
    DomUtils.getOuterHTML(DomUtils.getElementById('x', tree))];
};

//// postcss
import postcss from 'postcss';
export const work = () => {
  const from = '/page.css'; // without it, postcss names its input by chance
  const root = postcss.parse('@media (min-width: 1px) { a { color: red; margin: 0 1px } } /* end */ .b > c { top: calc(1px + 2%) }'.repeat(20), { from });
  const seen = [];
  root.walkDecls(each => { seen.push(`${each.prop}=${each.value}`); if (each.prop === 'top') each.value = '0'; });
  root.walkRules(rule => { rule.selector = rule.selector.toUpperCase(); });
  let error;
  try { postcss.parse('a {', { from }); } catch (e) { error = [e.name, e.reason, e.line, e.column]; }
  return [`${root}`, seen.length, seen[2], error, `${postcss([{ postcssPlugin: 'p', Declaration(each) { each.important = true; } }]).process('a{b:c}', { from }).css}`];
};

//// saxes
import { SaxesParser } from 'saxes';
export const work = () => {
  const parser = new SaxesParser({ xmlns: true });
  const seen = [];
  parser.on('opentag', tag => seen.push(tag.name, tag.uri, Object.keys(tag.attributes)));
  parser.on('text', text => seen.push(text));
  parser.on('error', error => seen.push(error.message));
  parser.write(`<?xml version="1.0" encoding="UTF-8"?><a xmlns="u:1" b="&lt;">${'<c d="1">x&#65;</c>'.repeat(100)}</a>`).close();
  return seen;
};

//// yaml
import YAML from 'yaml';
export const work = () => {
  const text = 'a: &x\n  - 1\n  - { b: two, c: [3.5, true, null] }\nd: *x\ne: |\n  text\n  more\nf: 2001-01-01\n';
  const document = YAML.parseDocument(text);
  document.setIn(['a', 0], 7);
  let error;
  try { YAML.parse('a: [1'); } catch (e) { error = e.code; }
  return [YAML.parse(text), String(document), YAML.stringify({ list: Array.from(Array(50), (_, i) => ({ i, text: `line ${i}` })) }), error];
};

//// qs
import qs from 'qs';
export const work = () => {
  const value = { a: [1, 2, { b: 'x y' }], c: { d: { e: null, f: '&=é' } }, list: Array.from(Array(30), (_, i) => `v${i}`) };
  let error;
  try { qs.parse('a[]=1&a[]=2', { arrayLimit: 0, throwOnLimitExceeded: true }); } catch (e) { error = e.message; }
  return [qs.stringify(value), qs.stringify(value, { arrayFormat: 'brackets', encode: false }), qs.parse(qs.stringify(value)),
    qs.parse('?x.y=1&x.z=2&w[]=3', { allowDots: true, ignoreQueryPrefix: true }), qs.parse('__proto__[x]=1&toString=2'), error];
};

//// escodegen
import escodegen from 'escodegen';
import { parseScript } from 'esprima';
export const work = () => {
  const text = 'class A extends B { constructor(x) { super(x); this.y = x ?? 0; } get z() { return `${this.y}!`; } }\n' +
    'for (const [k, v] of Object.entries(o)) if (v > 1) { f(...k, async () => await v); } else label: while (true) break label;';
  const tree = parseScript(text.replace('x ?? 0', 'x || 0'), { range: true, comment: true });
  let error;
  try { parseScript('let = ;'); } catch (e) { error = [e.description, e.lineNumber, e.column]; }
  return [escodegen.generate(tree), escodegen.generate(tree, { format: { compact: true, quotes: 'double' } }), error];
};

//// fraction.js
import Fraction from 'fraction.js';
export const work = () => {
  let sum = new Fraction(0);
  for (let i = 1; i <= 60; i++) sum = sum.add(new Fraction(1, i));
  let error;
  try { new Fraction(1, 0); } catch (e) { error = [e.name, e.message]; }
  return [sum.toFraction(), `${sum}`, new Fraction('0.(142857)').toFraction(true), new Fraction(3.14159).simplify(0.001).toFraction(),
    new Fraction('7/3').toContinued().map(String), new Fraction(-5, 2).mod(2).toFraction(), sum.valueOf(), error];
};

//// @msgpack/msgpack
import { encode, decode, decodeMulti, ExtensionCodec } from '@msgpack/msgpack';
export const work = () => {
  const value = { n: [1, -1, 300, -70000, 2 ** 40, 1.5, NaN], s: 'é😀'.repeat(40), b: new Uint8Array([1, 2, 3]), o: { deep: [[[null, true]]] } };
  const extensionCodec = new ExtensionCodec();
  extensionCodec.register({ type: 1, encode: v => (v instanceof Map ? encode([...v]) : null), decode: data => new Map(decode(data)) });
  const bytes = encode(value), back = decode(bytes);
  let error;
  try { decode(bytes.subarray(0, 9)); } catch (e) { error = e.name; }
  return [bytes.length, [...bytes.subarray(0, 40)], back.n.map(String), back.s === value.s, [...back.b], back.o,
    [...decode(encode(new Map([[1, 'a']]), { extensionCodec }), { extensionCodec })], [...decodeMulti(new Uint8Array([1, 2, 161, 97]))], error];
};

//// pako
import * as pako from 'pako';
export const work = () => {
  const text = Array.from(Array(400), (_, i) => `line ${i} of ${i * 7919 % 1000}\n`).join('');
  const bytes = new TextEncoder().encode(text);
  const deflated = pako.deflate(bytes, { level: 9 }), zipped = pako.gzip(bytes);
  const pieces = new pako.Inflate();
  for (let i = 0; i < deflated.length; i += 100) pieces.push(deflated.subarray(i, i + 100), i + 100 >= deflated.length);
  let error;
  try { pako.inflate(deflated.subarray(5)); } catch (e) { error = `${e.message ?? e}`; }
  return [deflated.length, zipped.length, new TextDecoder().decode(pako.inflate(deflated)) === text, pieces.result.length, pako.ungzip(zipped).length, error];
};

//// mobx
import { makeAutoObservable, observable, autorun, computed, runInAction, reaction, toJS } from 'mobx';
export const work = () => {
  const seen = [];
  class Cart {
    items = []; rate = 0.1;
    constructor() { makeAutoObservable(this); }
    get total() { return this.items.reduce((sum, { price }) => sum + price, 0) * (1 + this.rate); }
    add(price) { this.items.push({ price }); }
  }
  const cart = new Cart();
  const stop = autorun(() => seen.push(Math.round(cart.total)));
  for (let i = 0; i < 50; i++) cart.add(i);
  runInAction(() => { cart.rate = 0.2; cart.items[0].price = 100; });
  stop();
  const map = observable.map({ a: 1 }), twice = computed(() => map.get('a') * 2);
  reaction(() => twice.get(), value => seen.push(value));
  map.set('a', 5);
  return [seen, toJS(cart.items).length, [...map.entries()]];
};

//// xstate
import { createMachine, createActor, assign } from 'xstate';
export const work = () => {
  const machine = createMachine({
    id: 'order', initial: 'cart', context: { items: [], paid: 0 },
    states: {
      cart: { on: { ADD: { actions: assign({ items: ({ context, event }) => [...context.items, event.item] }) },
        PAY: { target: 'paid', guard: ({ context }) => context.items.length > 2 } } },
      paid: { entry: assign({ paid: ({ context }) => context.items.length }), initial: 'packing',
        states: { packing: { on: { NEXT: 'shipped' } }, shipped: { type: 'final' } }, onDone: 'done' },
      done: { type: 'final' },
    },
  });
  const actor = createActor(machine), seen = [];
  actor.subscribe(state => seen.push([JSON.stringify(state.value), state.context.items.length, state.status]));
  actor.start();
  actor.send({ type: 'PAY' });
  for (let i = 0; i < 4; i++) actor.send({ type: 'ADD', item: i });
  actor.send({ type: 'PAY' });
  actor.send({ type: 'NEXT' });
  return [seen, actor.getPersistedSnapshot().context, actor.getSnapshot().matches('done')];
};

//// immer
import { produce, produceWithPatches, applyPatches, enablePatches, enableMapSet, original, isDraft } from 'immer';
export const work = () => {
  enablePatches();
  enableMapSet();
  const base = { users: Array.from(Array(100), (_, i) => ({ id: i, tags: ['a'] })), map: new Map([['x', { n: 1 }]]) };
  const next = produce(base, draft => {
    draft.users[7].tags.push('b');
    draft.users.splice(20, 3);
    draft.map.get('x').n += 1;
    draft.map.set('y', { n: original(draft).users.length });
  });
  const [changed, patches, inverse] = produceWithPatches(next, draft => { draft.users[0].id = -1; delete draft.users[1].tags; });
  let error;
  try { next.users[0].id = 5; } catch (e) { error = e.name; }
  return [next.users.length, next.users[7], [...next.map], next.users[3] === base.users[3], patches, applyPatches(changed, inverse).users[0],
    isDraft(next), error];
};

//// ethers
import { AbiCoder, Interface, Wallet, Transaction, keccak256, toUtf8Bytes, parseEther, formatUnits, getCreate2Address, ZeroHash, verifyMessage } from 'ethers';
export const work = () => {
  const coder = AbiCoder.defaultAbiCoder();
  const data = coder.encode(['uint256', 'string', 'tuple(address,bytes32[])'], [2n ** 200n, 'é', ['0x' + '11'.repeat(20), [ZeroHash]]]);
  const token = new Interface(['function transfer(address to, uint256 amount) returns (bool)', 'event Transfer(address indexed from, address indexed to, uint256 value)']);
  const wallet = new Wallet('0x' + '01'.repeat(32));
  const signature = wallet.signMessageSync('hello');
  let error;
  try { coder.decode(['uint256'], '0x01'); } catch (e) { error = e.code; }
  return [data, coder.decode(['uint256', 'string'], data).map(String), token.encodeFunctionData('transfer', ['0x' + '22'.repeat(20), parseEther('1.5')]),
    token.getEvent('Transfer').topicHash, wallet.address, signature, verifyMessage('hello', signature), keccak256(toUtf8Bytes('x')),
    formatUnits(123456789n, 6), getCreate2Address('0x' + '33'.repeat(20), ZeroHash, ZeroHash), Transaction.from({ type: 2, to: wallet.address, chainId: 1n, nonce: 3 }).unsignedSerialized, error];
};

//// superstruct
import { object, string, number, array, optional, assert, create, defaulted, refine, union, literal, validate } from 'superstruct';
export const work = () => {
  const Item = object({ name: refine(string(), 'short', value => value.length < 9), price: number(), kind: union([literal('a'), literal('b')]), note: optional(string()) });
  const Order = object({ items: array(Item), state: defaulted(string(), () => 'new') });
  const errors = [];
  for (const bad of [{ items: [{ name: 'x', price: '1', kind: 'a' }] }, { items: 3 }, { items: [{ name: 'much too long', price: 1, kind: 'c' }], more: 1 }])
    try { assert(bad, Order); } catch (e) { errors.push([e.name, e.message, e.path, [...e.failures()].length]); }
  return [create({ items: [{ name: 'x', price: 1, kind: 'b' }] }, Order), errors, validate(5, string())[0].message];
};

//// valibot
import * as v from 'valibot';
export const work = () => {
  const Order = v.object({
    id: v.pipe(v.string(), v.uuid()), mail: v.pipe(v.string(), v.trim(), v.email()), count: v.pipe(v.number(), v.integer(), v.minValue(1)),
    kind: v.picklist(['a', 'b']), at: v.optional(v.pipe(v.string(), v.isoDate()), '2020-01-01'), more: v.record(v.string(), v.array(v.bigint())),
  });
  const good = v.parse(Order, { id: '123e4567-e89b-12d3-a456-426614174000', mail: ' a@b.co ', count: 3, kind: 'b', more: { x: [1n] } });
  const bad = v.safeParse(Order, { id: 'x', mail: 'y', count: 0.5, kind: 'c', more: { x: [1] } });
  return [JSON.stringify(good, (_, each) => (typeof each === 'bigint' ? `${each}n` : each)), v.flatten(bad.issues), bad.issues.length];
};

//// nunjucks
import nunjucks from 'nunjucks/browser/nunjucks.js';
export const work = () => {
  const environment = new nunjucks.Environment(null, { autoescape: true });
  environment.addFilter('loud', text => text.toUpperCase());
  const items = Array.from(Array(80), (_, i) => ({ name: `n<${i}>`, price: i / 4 }));
  let error;
  try { environment.renderString('{% if %}', {}); } catch (e) { error = e.message.split('\n').length; }
  return [environment.renderString('{% macro row(x) %}<li>{{ x.name | loud }}: {{ x.price | round(1) }}</li>{% endmacro %}{% for i in items if i.price > 3 %}{{ row(i) }}{{ loop.index }}{% else %}none{% endfor %}{{ "a,b" | replace(",", ";") }}', { items }), error];
};

//// ejs
import ejs from 'ejs';
export const work = () => {
  const render = ejs.compile('<% for (const { name, n } of items) { %><b><%= name %></b>:<%- n * 2 %>\n<% } %>');
  let error;
  try { ejs.compile('<% if ( %>'); } catch (e) { error = e.name; }
  return [render({ items: Array.from(Array(50), (_, i) => ({ name: `<${i}>`, n: i })) }), error];
};

//// tweetnacl
import nacl from 'tweetnacl';
export const work = () => {
  const seed = new Uint8Array(32).map((_, i) => i);
  const box = nacl.box.keyPair.fromSecretKey(seed), message = new TextEncoder().encode('hello');
  const sealed = nacl.secretbox(message, seed.slice(0, 24), seed);
  return [[...nacl.hash(message)].slice(0, 8), [...sealed], [...nacl.secretbox.open(sealed, seed.slice(0, 24), seed)],
    nacl.secretbox.open(sealed.map(byte => byte ^ 1), seed.slice(0, 24), seed), [...box.publicKey]];
};

//// long
import Long from 'long';
export const work = () => {
  let a = Long.fromString('1234567890123456789'), seen = [];
  for (let i = 1; i < 200; i++) a = a.mul(6364136223846793005n.toString()).add(i).xor(a.shiftRightUnsigned(7));
  for (const radix of [2, 10, 36]) seen.push(a.toString(radix));
  let error;
  try { a.div(0); } catch (e) { error = e.message; }
  return [seen, a.toUnsigned().toString(), a.mod(97).toInt(), Long.fromBytesLE([1, 2, 3, 4, 5, 6, 7, 8]).toString(), a.compare(Long.MAX_VALUE), error];
};

//// @sinclair/typebox
import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Value } from '@sinclair/typebox/value';
export const work = () => {
  const Order = Type.Object({ id: Type.String({ pattern: '^[a-z]+$' }), n: Type.Integer({ minimum: 1 }), list: Type.Array(Type.Union([Type.Literal('a'), Type.Number()])), at: Type.Optional(Type.Date()) });
  const check = TypeCompiler.Compile(Order);
  return [check.Check({ id: 'x', n: 1, list: ['a', 2] }), [...check.Errors({ id: 'X', n: 0.5, list: ['b'] })].map(e => [e.path, e.message]), Value.Default(Type.Object({ a: Type.Number({ default: 3 }) }), {}),
    Value.Diff({ a: 1, b: [1, 2] }, { a: 2, b: [1] }), Value.Hash({ a: [1, 'x'] }).toString(), JSON.stringify(Type.Partial(Order))];
};

//// bs58
import bs58 from 'bs58';
export const work = () => {
  const bytes = new Uint8Array(99).map((_, i) => i * 7);
  let error;
  try { bs58.decode('0OIl'); } catch (e) { error = e.message; }
  return [bs58.encode(bytes), [...bs58.decode(bs58.encode(bytes))].join() === [...bytes].join(), error];
};
