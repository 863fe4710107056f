// SPDX-License-Identifier: Apache-2.0
// Why a result of xsnap-worker is not gaspipe's: faults of XS that worker/xs/patches mends (docs/contracts.md).

// The first part of a result that differs; random_script.mjs puts ' | ' between what a method notes.
const differingPart = (ours, theirs) => {
  const [a, b] = [ours, theirs].map(({ result }) => String(result).split(' | '));
  const at = a.findIndex((part, i) => part !== b[i]);
  return [a[at] ?? '', b[at] ?? ''];
};

const reasons = [
  ['it ends at a snapshot or a crash', ({ theirs }) => theirs === undefined],
  [
    'a RegExp that never ends',
    ({ ours, theirs, source }) => ours.status === 'ok' && /more than the \d+ computrons/.test(theirs.error) && /RegExp|\.(exec|match|matchAll|replace|replaceAll|search|split|test)\b/.test(source),
  ],
  ['keys that are NaN or -0', ({ part }) => /\[object (Map|Set)\]/.test(part[0])],
  ['patterns that it refuses', ({ part }) => /invalid regular expression/.test(part[1])],
  ['loops and captures of a RegExp', ({ part }) => /index=\d+,input=/.test(part[0])],
  ['a nesting that depends on its C stack', ({ part }) => /stack overflow/.test(part[1])],
  ['views that begin behind their buffer', ({ part }) => /too small TypedArray/.test(part[1])],
];

// The reason for the first difference of two lists of deliveries, or undefined.
export const reasonOf = (ours, theirs = [], source) => {
  const at = ours.findIndex(
    ({ status, result }, i) => status !== theirs[i]?.status || JSON.stringify(result) !== JSON.stringify(theirs[i]?.result),
  );
  const difference = { ours: ours[at], theirs: theirs[at], source, part: theirs[at] ? differingPart(ours[at], theirs[at]) : [] };
  return reasons.find(([, holds]) => holds(difference))?.[0];
};
