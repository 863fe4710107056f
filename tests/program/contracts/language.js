// SPDX-License-Identifier: Apache-2.0
// Cases in which published XS differs from the language, with the language's result.

const is = (name, found, expected) => {
  if (`${found}` !== `${expected}`) throw Error(`${name}: ${found}, not ${expected}`);
};

export const names = () => {
  is('parameter', (function u(u) { return u; })(1), 1);
  is('closure', (function u(u) { return () => u; })(2)(), 2);
  is('assignment', (function u(u) { u += 1; return u; })(3), 4);
  is('default', (function u(u = 5) { return u; })(), 5);
  is('pattern', (function u({ a: [u] }) { return u; })({ a: [6] }), 6);
  is('rest', (function u(...u) { return u; })(7, 8), '7,8');
  is('second', (function u(a, u) { return a + u; })(9, 1), 10);
  is('generator', [...(function* u(u) { yield u; })(11)], 11);
  is('twice', new Function('return (function u(u, u) { return u; })(1, 13)')(), 13);
  is('name', (function u(u) { return u; }).name, 'u');
  is('no parameter', (function u(a) { return a ? u(0) : typeof u; })(1), 'function');
  return 'ok';
};

// Returns a pattern's captures, each character as its octal code.
const captured = (pattern, text) =>
  [...pattern.exec(text)].map(part => (part === undefined ? '-' : [...part].map(c => c.charCodeAt(0).toString(8)))).join('|');

const refuses = (pattern, flags) => {
  try {
    return !RegExp(pattern, flags);
  } catch (error) {
    return error instanceof SyntaxError;
  }
};

export const escapes = () => {
  is('no group', captured(/\1/, '\x01'), '1');
  is('a group later', captured(/\1(a)/, 'a'), '141|141');
  is('a group too few', captured(/(a)\2/, 'a\x02'), '141,2|141');
  is('groups in a class or escaped', captured(/[(]\(\1/, '((\x01'), '50,50,1');
  is('groups that do not capture', captured(/(?:a)(?=b)(?<=a)\1*b/, 'ab'), '141,142');
  is('named groups', captured(/(?<n>a)\2\1/, 'a\x02a'), '141,2,141|141');
  is('8 and 9', captured(/\8\99/, '899'), '70,71,71');
  is('digits behind', captured(/\18\400\0123\08/, '\x018\x200\n3\x008'), '1,70,40,60,12,63,0,70');
  is('in a class', captured(/[\012\377]+/, '\n\xff'), '12,377');
  is('a range in a class', captured(/[\200-\377]+/, '7\xe9'), '351');
  is('a loop', captured(/\1{2}/, '\x01\x01'), '1,1');
  is('the flag u', [refuses('\\1', 'u'), refuses('\\00', 'u'), refuses('(a)\\1', 'u')], 'true,true,false');
  return 'ok';
};

export const negated = () => {
  is('all of ASCII but letters', 'a-b_c\0d'.match(/[^\x00-\x60]+/g), 'a,b,c,d');
  is('all but U+0000', captured(/[^\0]+/, '\0ab\0'), '141,142');
  is('negated twice', captured(/[^\W\0]+/, '-ab-'), '141,142');
  is('everything', /[^\0-\u{10ffff}]/u.test('a\0'), false);
  return 'ok';
};

export const indices = () => {
  is('not ASCII', /\u20ac(b)/d.exec('\u20ac\u20acb').indices, '1,3,2,3');
  is('each', [...'\u00e9\u20acb\u{1f600}'.matchAll(/(?<n>.)/dgu)].map(each => each.indices.groups.n), '0,1,1,2,2,3,3,5');
  return 'ok';
};

// A proxy's keys are looked up by a hash where there are many.
export const proxyKeys = () => {
  const target = {}, symbols = [];
  for (let i = 0; i < 150; i++) {
    symbols.push(Symbol(i));
    Object.assign(target, { [`k${i}`]: i, [i * 3]: i, [symbols[i]]: i });
  }
  const all = Reflect.ownKeys(target);
  const listed = (keys, object = target) => {
    try {
      return Reflect.ownKeys(new Proxy(object, { ownKeys: () => keys })).length;
    } catch (error) {
      return error.message.replace(/.*: /, '');
    }
  };
  const proxy = new Proxy(target, { ownKeys: Reflect.ownKeys });
  const collecting = { ...all, length: all.length, get 400() { new ArrayBuffer(3e7); return 'k7'; } };
  is('all', [listed(all), all.every((key, i) => Reflect.ownKeys(proxy)[i] === key)], '450,true');
  is('names and symbols', [Object.getOwnPropertyNames(proxy).length, Object.getOwnPropertySymbols(proxy).length], '300,150');
  is('twice', [listed([...all, 'k149']), listed([...all, 'k0']), listed([...all, symbols[148]]), listed([...all, '447'])],
     Array(4).fill('duplicate key'));
  is('twice, and garbage is collected meanwhile', listed(collecting), 'duplicate key');
  Object.preventExtensions(target);
  is('not extensible', listed(all), 450);
  is('one too few', listed(all.slice(1)), 'no key for property of non-extensible object');
  is('one too many', listed([...all, 'other']), 'key for non-existent property of non-extensible object');
  return 'ok';
};

export const sources = () => {
  is('a slash', [/\/\//.source, RegExp('/').source, RegExp('\\/').source, RegExp('\\\\/').source], ['\\/\\/', '\\/', '\\/', '\\\\\\/']);
  is('an end of line', [RegExp('\n').source, RegExp('\\\n').source, RegExp('\\\u2028\r').source], ['\\n', '\\n', '\\u2028\\r']);
  is('made from its source', RegExp(/\/\/.*?$/.source, 'm').exec('a // b\nc'), '// b');
  is('made from itself', RegExp(RegExp(/a\/b/)).source, 'a\\/b');
  is('as a string', `${/\/\d\//g}`, '/\\/\\d\\//g');
  return 'ok';
};

export const bounds = () => {
  const Plain = class {};
  let Bound = Plain;
  for (let i = 0; i < 20; i += 1) Bound = Bound.bind();
  is('instances', [new Plain() instanceof Bound, {} instanceof Bound, Plain instanceof Plain.bind()], 'true,false,false');
  return 'ok';
};

export const texts = () => {
  is('toFixed', [(0.4).toFixed(0), (0.5).toFixed(), (-0.5).toFixed(0), (1e-7).toFixed(0), (0.04).toFixed(1), (2.5).toFixed(0)], '0,1,-1,0,0.0,3');
  is('toPrecision', [(123.456).toPrecision(7), (0.95).toPrecision(4), (1e-5).toPrecision(3), (1.5).toPrecision(1), (5).toPrecision(3)],
    '123.4560,0.9500,0.0000100,2,5.00');
  is('JSON', JSON.stringify({ a: [], b: {}, c: [undefined], d: { e: undefined } }, null, 1), '{\n "a": [],\n "b": {},\n "c": [\n  null\n ],\n "d": {}\n}');
  is('JSON with keys', JSON.stringify({ a: 1 }, ['b'], 2), '{}');
  is('charAt', [2 ** 32, 2 ** 53, -(2 ** 32), Infinity, 4294967297].map(at => 'abc'.charAt(at) + 'abc'.charCodeAt(at)), 'NaN,NaN,NaN,NaN,NaN');
  is('substr', ['abc'.substr(1, Infinity), 'abc'.substr(-2, 2 ** 32), 'abc'.substr(1, -1), 'abc'.substr(0, NaN), 'abc'.substr(1, 1.9), 'abc'.substr(1)],
    'bc,bc,,,b,bc');
  is('years', [new Date(Date.UTC(12345, 0)).toISOString(), new Date(Date.UTC(105000, 0)).toUTCString(), new Date(Date.UTC(-1, 0)).toJSON(), new Date(0).toISOString()],
    '+012345-01-01T00:00:00.000Z,Wed, 01 Jan 105000 00:00:00 GMT,-000001-01-01T00:00:00.000Z,1970-01-01T00:00:00.000Z');
  is('a place', ['abc'.charAt(1.9), 'abc'.charAt(-0.5), 'abc'.charAt('2'), 'abc'.charAt(NaN)], 'b,a,c,a');
  return 'ok';
};

export const bigints = () => {
  is('shifts that drop nothing', [-4n >> 1n, -(2n ** 64n) >> 64n, -(2n ** 32n) << -32n, -(2n ** 40n) >> 39n], '-2,-1,-1,-2');
  is('shifts that drop bits', [-5n >> 1n, -1n >> 40n, -(2n ** 64n) - 1n >> 64n], '-3,-1,-2');
  is('distances of two words', [5n >> 2n ** 32n, -5n >> 2n ** 40n, 5n << -(2n ** 32n), 0n << 2n ** 40n], '0,-1,0,0');
  is('an intermediate zero', [BigInt.asUintN(63, -(2n ** 63n)), BigInt.asUintN(32, -(2n ** 70n)), BigInt.asIntN(64, -(2n ** 64n))], '0,0,0');
  is('the smallest of 64 bits', [new BigInt64Array([2n ** 63n])[0], BigInt.asIntN(64, 2n ** 63n)], '-9223372036854775808,-9223372036854775808');
  is('powers', [1n ** 2n ** 40n, (-1n) ** (2n ** 40n + 1n), 0n ** 2n ** 40n, 0n ** 0n], '1,-1,0,1');
  is('rounded down', Number(2n ** 117n + 2n ** 64n), 2 ** 117);
  is('rounded up', Number(2n ** 117n + 2n ** 64n + 1n) - 2 ** 117, 2 ** 65);
  is('rounded to even', Number(2n ** 117n + 3n * 2n ** 64n) - 2 ** 117, 2 ** 66);
  is('beyond numbers', [Number(2n ** 1024n), Number(-(2n ** 1023n)) === -(2 ** 1023)], 'Infinity,true');
  is('ties read', [Number('9007199254740993'), 9007199254740995, parseFloat('1e23')], '9007199254740992,9007199254740996,1e+23');
  is('ties shown', [100 * 1e21, 2 ** 54 + 384, 118312567506155.125, (2.5).toFixed(0), (1.25).toPrecision(2)], '1e+23,18014398509482370,118312567506155.12,3,1.3');
  is('fround', [Math.fround(123456789), Math.fround(-16777217), Math.fround(16777216)], '123456792,-16777216,16777216');
  for (const text of ['-', '+', ' - ', '0x', '-0x1', '1n'])
    try {
      is(`BigInt('${text}')`, BigInt(text), 'nothing');
    } catch (error) {
      is(`BigInt('${text}')`, error.name, 'SyntaxError');
    }
  return 'ok';
};
