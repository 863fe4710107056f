// SPDX-License-Identifier: Apache-2.0
// Random calls of built-in functions, by a contract and by node, whose engine is another one.
// usage: BUILD=DIR node tests/conformance/builtins.mjs [-n CALLS] [-s SEED] [-f DIR]
// Each call has operands from a list of such as are often taken for others (-0, NaN, 2 ** 32, lone surrogates,
// sparse arrays, objects with valueOf). DIR gets contract.js, lines and node.mjs. Prints each call whose results differ.
// Exit status: 0 none does, 1 some do, 2 usage.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: { n: { type: 'string', default: '4000' }, s: { type: 'string', default: '1' }, f: { type: 'string', default: 'builtins' } },
});
const calls = Number(options.n);
const directory = path.resolve(options.f, 'builtins');
const PER_LINE = 500;

let state = Number(options.s) >>> 0;
const below = n => {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return (state >>> 8) % n;
};
const pick = list => list[below(list.length)];

// ---- operands -----------------------------------------------------------------------------------

const STRINGS = [
  "''", "'abc'", "'aXbXc'", "'héllo😀w'", "'  trim\\t\\n'", "'a,b,,c'", "'12.5e3'", "'0x1f'", "'ǅ ß İ'", "'\\ud83d'", "'a\\0b'", "'a/b//c'",
  "'line1\\nline2\\r\\n'", "'e\\u0301'", "'zzzzzz'", "'-Infinity'", "'1_000'", "'$1$&$$'", "'[object]'",
];
const NUMBERS = [
  '0', '-0', '1', '-1', '2', '0.5', '3.7', '-2.5', '1e21', '1e-7', '123456789', 'NaN', 'Infinity', '-Infinity', '0.1', '2**31', '2**32', '2**53',
  '-(2**31)', '255', '36', '7', '100', '1.005', '5e-324', '1.7976931348623157e308', '123.456',
];
const PATTERNS = [
  '/a/', '/b/g', '/(.)(.)?/', '/X/gi', '/[^\\0-z]/', '/\\s+/', '/(?<y>\\w)(?<z>\\w)/g', '/^/gm', '/$/gm', '/./su', '/\\b/g', '/(?:)/', '/[\\s\\S]*?c/',
  '/(a)|(b)/g', '/\\u{1F600}/u', '/[é-ü]/i', '/(?=b)/', '/(?<!a)b/', '/,/', '/\\/\\/?/g', '/[\\w-]+/', '/(a*)*/', '/\\W/', '/[^]/', '/ß/i', '/\\cJ/', '/\\1(a)\\12/',
];
const ARRAYS = [
  '[]', '[1,2,3]', "['b','a','c']", '[3,,1]', '[[1,[2]],3]', '[NaN,0,-0]', '[undefined,null,1]', '[10,9,1,100]', 'Array(3)', '[..."héy"]', '[{a:1},{a:2}]',
  'new Uint8Array([1,2,300])', 'new Float64Array([1.1,NaN])', '[true,"1",1n]', '[[],{}]',
];
const FUNCTIONS = [
  'x=>x', 'x=>!x', '(x,i)=>i', '()=>undefined', 'm=>`<${m}>`', '(a,b)=>String(a)+b', 'x=>x>1', 'function(){return typeof this}', '(...a)=>a.length', '(function f(f){return f})',
];
const ORDERS = ['(a,b)=>a-b', '(a,b)=>a>b?-1:a<b?1:0', '()=>0'];
const OBJECTS = [
  '{}', '{a:1,b:[2]}', '{toString(){return "ts"}}', '{valueOf(){return 42}}', '{[Symbol.toPrimitive](h){return h}}', '{length:2,0:"x",1:"y"}', 'new Map([[1,2],["k",{}]])',
  'new Set([1,"1",NaN])', 'Object.create({inherited:1},{own:{value:2,enumerable:true}})', '{get g(){return 5}}', 'new Date(86400000.5)', 'Symbol("d")',
  '{2:1,1:2,b:3,a:4}', '10n', '-7n', 'new Proxy({p:1},{})', 'class Q{static z=1}',
];
// For what makes strings that long.
const SIZES = ['0', '2', '7', '1.9', '-1', 'NaN', "'3'", 'undefined', '{valueOf(){return 5}}'].map(size => `(${size})`);
const REST = ['null', 'undefined', 'true', 'false'];
const any = () => pick(pick([STRINGS, NUMBERS, PATTERNS, ARRAYS, FUNCTIONS, OBJECTS, REST]));

// ---- calls --------------------------------------------------------------------------------------

const names = text => text.split(' ');
const OF_STRINGS = names(
  'at charAt charCodeAt codePointAt concat endsWith includes indexOf lastIndexOf match matchAll normalize replace replaceAll search slice split ' +
  'startsWith substring substr toLowerCase toUpperCase toString trim trimEnd trimStart valueOf');
const OF_ARRAYS = names(
  'at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap includes indexOf join keys lastIndexOf map pop push reduce ' +
  'reduceRight reverse shift slice some splice toString unshift values');
const OF_OBJECTS = names('assign entries fromEntries getOwnPropertyDescriptors getOwnPropertyNames is isExtensible keys values hasOwn');
const OF_MATH = names('abs ceil clz32 floor fround imul max min round sign sqrt trunc');
const OF_DATES = names(
  'getUTCDay getUTCMonth toISOString toJSON getTime toUTCString setUTCMonth setUTCDate setUTCHours getUTCFullYear setUTCFullYear setUTCMinutes');
const DATES = [
  ...NUMBERS, '2020,1,29', "'2020-02-30'", "'2020-01-01T00:00:00Z'", "'Thu, 01 Jan 1970 00:00:00 GMT'", "'2020-01-01T00:00:00+05:30'", '99,0',
  "'+012345-01-01T00:00:00Z'", '8.64e15', 'Date.UTC(2021,13,40)',
];
const OPERATORS = names('+ - * / % === == < >= & | ^ << >> >>> in instanceof ?? &&');

// Arguments that fit more often than any().
const fitting = (...lists) => lists.map(list => (below(5) ? pick(list) : any())).slice(0, below(lists.length + 1)).join(', ');

const KINDS = [
  () => `(${pick(STRINGS)}).${pick(OF_STRINGS)}(${fitting(pick([STRINGS, NUMBERS, PATTERNS]), pick([STRINGS, NUMBERS, FUNCTIONS]))})`,
  () => `(${pick(STRINGS)}).${pick(names('padEnd padStart repeat'))}(${pick(SIZES)}, ${any()})`,
  () => `(() => { const a = ${pick(ARRAYS)}; const r = a.${pick(OF_ARRAYS)}(${fitting(pick([FUNCTIONS, NUMBERS]), pick([NUMBERS, STRINGS]), ARRAYS)}); return [r, a]; })()`,
  () => `(() => { const a = ${pick(ARRAYS)}; return [a.sort(${below(2) ? pick(ORDERS) : ''}), a]; })()`,
  () => `(${pick(NUMBERS)}).${pick(names('toExponential toFixed toPrecision toString'))}(${below(3) ? pick(NUMBERS) : ''})`,
  () => `Math.${pick(OF_MATH)}(${any()}, ${pick(NUMBERS)})`,
  () => `Object.${pick(OF_OBJECTS)}(${any()}, ${any()})`,
  () => `(() => { const r = ${pick(PATTERNS)}; r.lastIndex = ${below(3)}; const s = ${pick(STRINGS)};
    return [r.exec(s), r.lastIndex, r.flags, RegExp(RegExp(r).source, r.flags).exec(s), r[Symbol.replace](s, ${pick([...STRINGS, ...FUNCTIONS])}), r[Symbol.split](s)]; })()`,
  () => `(${any()}) ${pick(OPERATORS)} (${any()})`,
  () => `(() => { const d = new Date(${pick(DATES)}); return [d.${pick(OF_DATES)}(${pick(NUMBERS)}), d.getTime()]; })()`,
  () => `JSON.stringify(${any()}, ${pick(['null', '["a"]', ...FUNCTIONS])}, ${pick(['2', '"--"', '0'])})`,
  () => `JSON.parse(${pick(["'[1,{\"a\":-0}]'", "'\"\\\\u00e9\\\\n\"'", "'1e400'", "'[01]'", "'{\"a\":1,\"a\":2}'", "' null '", "'{\"__proto__\":1}'"])}, ${pick(['undefined', ...FUNCTIONS])})`,
  () => `${pick(names('parseInt parseFloat Number String BigInt encodeURIComponent decodeURIComponent escape unescape'))}(${any()}, ${pick(NUMBERS)})`,
  () => `BigInt.as${pick(['Int', 'Uint'])}N(${pick(SIZES)}, ${pick(['10n', '-7n', '2n ** 70n'])})`,
  () => `[...new Set(${pick(ARRAYS)})]`,
  () => `[...(${any()})]`,
  () => `new ${pick(['Uint8Clamped', 'Int16', 'Uint32', 'Float32'])}Array([${pick(NUMBERS)}, ${pick(NUMBERS)}])`,
  () => `\`\${${any()}} \${typeof (${any()})}\``,
  () => `(({ a, ...r } = {}, [b, ...c] = []) => [a, r, b, c])(${any()}, ${any()})`,
  () => `[${pick(STRINGS)}, ${pick(STRINGS)}, ${pick(STRINGS)}].sort()`,
  () => `Object.prototype.toString.call(${any()}) + (${pick(FUNCTIONS)}).name + (${pick(FUNCTIONS)}).length`,
];
// BigInts of up to some thousand bits, with words at which carries and estimates of quotients go wrong.
const WORDS = ['00000000', 'ffffffff', '80000000', '00000001', '7fffffff'];
const word = () => (below(3) ? below(2 ** 24).toString(16).padStart(6, '0') + below(256).toString(16).padStart(2, '0') : pick(WORDS));
const bigInt = () => `${pick(['', '-'])}0x${Array.from(Array(1 + below(pick([2, 4, 10, 60]))), word).join('')}n`;
// To the right: beyond a size that no BigInt has, the other direction ends the vat.
const shift = () => pick([`${below(200)}n`, `-${below(200)}n`, `${32 * below(60)}n`, '2n ** 32n', '2n ** 40n + 1n']);
const BIG_INTS = [
  () => `(${bigInt()}) ${pick(names('* / % + - & | ^ < == >='))} (${bigInt()})`,
  () => `(${bigInt()}) >> (${shift()})`,
  () => `(${bigInt()}) << -(${shift()})`,
  () => `[~${bigInt()}, (${bigInt()}).toString(${2 + below(35)}), BigInt(Number(BigInt.asIntN(1000, ${bigInt()}))), BigInt.asIntN(80, ${bigInt()}) ** ${below(20)}n]`,
  () => `BigInt(Number((1n << ${54 + below(200)}n) + (${below(8)}n << ${below(64)}n) + ${below(3) - 1}n))`,
  () => `BigInt.as${pick(['Int', 'Uint'])}N(${pick([below(4000), 32 * below(20), 63 + below(3)])}, ${bigInt()})`,
  () => `[new BigInt64Array([${bigInt()}])[0], new BigUint64Array([${bigInt()}])[0]]`,
  () => `[BigInt(String(${bigInt()})), BigInt('0o${below(2 ** 24).toString(8)}'), BigInt('${pick(['-', '+', ' -7 ', '0x', '-0x1', '1n', ''])}')]`,
  () => `(a => (b => (a / b) * b + (a % b) === a)(${bigInt()}))(${bigInt()})`,
];
KINDS.push(() => pick(BIG_INTS)());
// The first kinds call the objects with the most functions.
const WEIGHTS = [0, 0, 0, 0, 2, 2, 2, 2, 7, 7, 7, KINDS.length - 1];
const source = () => (below(2) ? KINDS[pick(WEIGHTS)] : pick(KINDS))();

// ---- the same for both --------------------------------------------------------------------------

const SHOWN = `
const show = (value, depth = 0) => {
  if (depth > 4) return '...';
  switch (typeof value) {
    case 'string': return JSON.stringify(value);
    case 'number': return Object.is(value, -0) ? '-0' : String(value);
    case 'bigint': return value + 'n';
    case 'undefined': case 'boolean': return String(value);
    case 'symbol': case 'function': return typeof value;
  }
  if (value === null) return 'null';
  if (value instanceof Date) return 'Date ' + value.getTime();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Map || value instanceof Set) return 'of' + show([...value], depth + 1);
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const items = [];
    for (let i = 0; i < value.length && i < 50; i++) items.push(i in value ? show(value[i], depth + 1) : 'hole');
    if (value.length > 50) items.push(value.length);
    for (const key of ['index', 'groups']) if (key in value) items.push(key + ': ' + show(value[key], depth + 1));
    return '[' + items + ']';
  }
  if (typeof value.next === 'function') return 'iterator' + show([...value], depth + 1);
  return '{' + Object.keys(value).map(key => key + ': ' + show(value[key], depth + 1)) + '}';
};
const outcome = call => { try { return show(call()); } catch (error) { return 'throws ' + error.name; } };
`;

// Makes equal what the language leaves open: functions' sources, and a Date's zone.
const NODES = `
Function.prototype.toString = function () { return 'function ["' + this.name + '"] (){[native code]}'; };
const dateToString = Date.prototype.toString;
Date.prototype.toString = function () { return dateToString.call(this).replace(/ \\(.*/, ''); };
`;

mkdirSync(directory, { recursive: true });
const sources = Array.from(Array(calls), source);
const text = `${SHOWN}\nconst calls = [\n${sources.map(call => `  () => (${call}),\n`).join('')}];\nexport const work = (from, to) => calls.slice(from, to).map(outcome);\n`;
const lines = [];
for (let from = 0; from < calls; from += PER_LINE) lines.push(JSON.stringify({ vat: 'c', method: 'work', args: [from, from + PER_LINE] }));
writeFileSync(path.join(directory, 'contract.js'), text);
writeFileSync(path.join(directory, 'node.mjs'), NODES + text);
writeFileSync(path.join(directory, 'lines'), `${lines.join('\n')}\n`);

process.env.TZ = 'UTC';
const { work } = await import(pathToFileURL(path.join(directory, 'node.mjs')));
const expected = work(0, calls);
const run = spawnSync(
  path.resolve(process.env.BUILD ?? 'build', 'gaspipe'),
  ['run', '--json', '--counter', 'none', '--vat', `c=${path.join(directory, 'contract.js')}`, path.join(directory, 'lines')],
  { encoding: 'utf8', maxBuffer: 1 << 30 },
);
const found = run.stdout.split('\n').filter(Boolean).map(line => JSON.parse(line)).filter(line => line.kind === 'delivery' && line.deliveryNum > 1).flatMap(line => line.result ?? [line.error]);
// Deviations of XS from the language, which gaspipe keeps: they are rare, and xsnap-worker's answer is the same.
const KNOWN = [
  [/\.(at|flat)\(/, 'a position or depth is taken modulo 2 ** 32'],
  [/^escape\(/, 'U+0000 is not escaped'],
  [/^Math\.round\(5e-324/, 'the smallest number is not rounded'],
];
let differ = 0;
let known = 0;
sources.forEach((call, i) => {
  if (found[i] === expected[i]) return;
  if (found[i] !== undefined && KNOWN.some(([pattern]) => pattern.test(call))) {
    known += 1;
    return;
  }
  differ += 1;
  console.log(`${call}\n    gaspipe  ${found[i]}\n    node     ${expected[i]}`);
});
if (found.length !== calls) console.log(`gaspipe: ${found.length} results of ${calls} calls; ${run.stderr.slice(0, 1000)}`);
console.log(`${calls - differ - known} passed, ${differ} failed, ${known} known to differ (seed ${options.s}, in ${directory})`);
process.exitCode = differ ? 1 : 0;
