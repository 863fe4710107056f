// SPDX-License-Identifier: Apache-2.0

// Waits in the queue: which deliveries the chosen one waited for, which ones waited for it, and
// which functions took that time. Like slogreport waits, it splits a delay in proportion to the
// costs in the causing delivery's profile.

const WAITS_SHOWN = 10;
const WAIT_FUNCTIONS_SHOWN = 3;

const waitsCount = i => !(deliveries.flags[i] & (FLAG.replay | FLAG.clock));

// How long `other` ran while `waiter` waited, in nanoseconds.
const overlapOf = (waiter, other) => {
  const { start, total, queued } = deliveries;
  if (!(queued[waiter] > 0) || waiter === other || !waitsCount(waiter) || !waitsCount(other)) return 0;
  const from = Math.max(start[waiter] - queued[waiter], start[other]);
  return Math.max(0, Math.min(start[waiter], start[other] + total[other]) - from);
};

// [[delivery, nanoseconds]], the longest first, of those for which `overlap` gives some.
const overlaps = overlap => {
  const found = [];
  for (let i = 0; i < deliveries.count; i++) {
    const time = overlap(i);
    if (time > 0) found.push([i, time]);
  }
  return found.sort(([a, x], [b, y]) => y - x || a - b);
};

// The functions of a delivery, the most expensive first: [[text, share]]; of a trace, if there is one.
const sharesOf = i => {
  const [, cost] = [...costsThere].reverse().find(([, of]) => treeOf(i, of)) ?? [];
  if (!cost) return [];
  const tree = treeOf(i, cost);
  const sums = [...sumsOfTree(tree, cost.at)].map(([of, [, self]]) => [functionText(tree.functions[of]), self]);
  const all = sums.reduce((sum, [, self]) => sum + self, 0);
  return sums.filter(([, self]) => self > 0).map(([text, self]) => [text, self / all]).sort(([, a], [, b]) => b - a);
};

const functionsIn = (i, time) =>
  sharesOf(i).slice(0, WAIT_FUNCTIONS_SHOWN).map(([text, share]) => make('li', {}, `${text}: ${timeText(time * share)}`));

const waitLink = ([i, time], go, within) => {
  const functions = within ? functionsIn(i, time) : [];
  return make('li', {}, make('button', { type: 'button', onclick: () => go(i) }, `${vatName(deliveries.vat[i])}: ${deliveries.text[i]}`),
    ` ${timeText(time)}`, ...(functions.length ? [make('ul', {}, ...functions)] : []));
};

const waitLinks = (id, found, go, within) => {
  const more = found.length - WAITS_SHOWN;
  return make('ul', { class: 'links', id }, ...found.slice(0, WAITS_SHOWN).map(entry => waitLink(entry, go, within)),
    ...(more > 0 ? [make('li', {}, `and ${countText(more)} more`)] : []));
};

const waitsOf = (i, go) => {
  const runBefore = overlaps(other => overlapOf(i, other));
  const waiting = overlaps(waiter => overlapOf(waiter, i));
  const handed = waiting.reduce((sum, [, time]) => sum + time, 0);
  const functions = functionsIn(i, handed);
  return [
    ...(runBefore.length ? [make('h4', {}, 'While it waited in the queue, these ran'), waitLinks('behind', runBefore, go, true)] : []),
    ...(waiting.length ? [make('h4', {}, `It handed on ${timeText(handed)} to those that waited`),
      ...(functions.length ? [make('ul', { id: 'handed-by' }, ...functions)] : []), waitLinks('waiting', waiting, go, false)] : []),
  ];
};
