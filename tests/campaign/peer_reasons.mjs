// SPDX-License-Identifier: Apache-2.0
// Why a result of xsnap-worker is not gaspipe's: faults of XS that worker/xs/patches mends (docs/contracts-limits.md).

// The first part of a result that differs; random_script.mjs puts ' | ' between what a method notes.
const differingPart = (ours, theirs) => {
  const [a, b] = [ours, theirs].map(({ result }) => String(result).split(' | '));
  const at = a.findIndex((part, i) => part !== b[i]);
  return [a[at] ?? '', b[at] ?? ''];
};

const withoutZeros = text => text.replace(/(\.\d*?)0+(?=\D|$)/g, '$1').replace(/\.(?=\D|$)/g, '').replace(/"\d+(?=,|$)/g, '"');
const withoutBigInts = text => text.replace(/-?\d+n/g, 'n');
const withoutNumbers = text => text.replace(/\d+(\.\d+)?(e[+-]\d+)?/g, '0');
const withoutCaptures = text => text.replace(/=(undefined|"[^"]*"\d+)/g, '=');
const slashes = text => text.replace(/\\+\//g, '/').replace(/"\d+(?=,|$)/g, '"');

const reasons = [
  ['it ends at a snapshot or a crash', ({ theirs }) => theirs === undefined],
  [
    'a RegExp that never ends',
    ({ ours, theirs, source }) => ours.status === 'ok' && /more than the \d+ computrons/.test(theirs.error) && /RegExp|\.(exec|match|matchAll|replace|replaceAll|search|split|test)\b/.test(source),
  ],
  ['keys that are NaN or -0', ({ part }) => /\[object (Map|Set)\]/.test(part[0])],
  ['patterns that it refuses', ({ part }) => /invalid regular expression/.test(part[1])],
  [
    'loops and captures of a RegExp',
    ({ part, source }) =>
      /index=\d+,input=/.test(part[0]) ||
      (/RegExp\(.*\.split\(/.test(source) && /=undefined/.test(part[0]) && withoutCaptures(part[0]) === withoutCaptures(part[1])),
  ],
  ['the name of a function as its parameter', ({ part }) => /already initialized/.test(part[1])],
  ['empty arrays and objects in indented JSON', ({ part }) => /[[{]\\+n\s*\\+n\s*[\]}]/.test(part[1])],
  ['digits of toFixed and toPrecision', ({ part }) => /"-?0\."/.test(part[1]) || (/\d/.test(part[1]) && withoutZeros(part[0]) === withoutZeros(part[1]))],
  ['the source of a RegExp', ({ part }) => slashes(part[0]) === slashes(part[1])],
  ['years after 9999', ({ part }) => /\+\d{5}/.test(part[1])],
  [
    'positions and lengths beyond 2 ** 31',
    ({ source }) => /\.(charAt|charCodeAt|substr)\b/.test(source) && /4294967296|9007199254740991|Infinity|1e21/.test(source),
  ],
  [
    'a nesting that depends on its C stack',
    ({ ours, theirs, part }) => /stack overflow/.test(part[1]) || (/^Stack meter/.test(ours.error) && /stack overflow|"RangeError"/.test(theirs.result)),
  ],
  ['shifts, sizes and powers of BigInts', ({ part }) => /\d+n/.test(part[0]) && withoutBigInts(part[0]) === withoutBigInts(part[1])],
  ['numbers just between two texts', ({ part }) => withoutNumbers(part[0]) === withoutNumbers(part[1]) && /\d{15}|e\+\d/.test(part[0])],
  ['integers of Math.fround', ({ part, source }) => /Math\.fround/.test(source) && /\d{8}/.test(part[0]) && /\d{8}/.test(part[1])],
  [
    'views that begin behind their buffer',
    // The program may print the name of the error only.
    ({ part, source }) =>
      /too small TypedArray/.test(part[1]) ||
      (/^"TypeError"/.test(part[1]) && /maxByteLength/.test(source) && /\.from\.call\(/.test(source)),
  ],
];

// The reason for the first difference of two lists of deliveries, or undefined.
export const reasonOf = (ours, theirs = [], source) => {
  const at = ours.findIndex(
    ({ status, result }, i) => status !== theirs[i]?.status || JSON.stringify(result) !== JSON.stringify(theirs[i]?.result),
  );
  const difference = { ours: ours[at], theirs: theirs[at], source, part: theirs[at] ? differingPart(ours[at], theirs[at]) : [] };
  return reasons.find(([, holds]) => holds(difference))?.[0];
};
