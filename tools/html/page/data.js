// SPDX-License-Identifier: Apache-2.0
'use strict';

// The page's data: `overall` as tools/html/page.c wrote it, and the deliveries of all its pieces in
// typed arrays, as tools/html/page_deliveries.h describes them.

const elementsOf = name => [...document.querySelectorAll(`script.${name}`)];

const overall = JSON.parse(elementsOf('overall')[0].textContent);

// enum model_span_kind
const SPAN = { send: 0, worker: 1, up: 2, kernel: 3, down: 4, back: 5, wait: 6, unknown: 7 };

// enum page_flag
const FLAG = { replay: 1, error: 2, clock: 4, overrun: 8 };

const NUMBERS = [
  'start', 'total', 'pipe', 'worker', 'kernel', 'cpuWait', 'workerCpuWait', 'crank', 'number', 'block',
  'compute', 'instructions', 'blockCost', 'gasBurnt', 'line', 'syscalls', 'consoles', 'ordinal', 'cause', 'chain', 'queued', 'gas',
];
const COUNTS = ['vat', 'kind', 'flags'];
const WORDS = ['text', 'problem'];

const deliveries = (() => {
  const count = overall.counts.shown;
  const columns = { count, pieces: [] };
  for (const name of NUMBERS) columns[name] = new Float64Array(count);
  for (const name of COUNTS) columns[name] = new Uint32Array(count);
  for (const name of WORDS) columns[name] = [];

  const details = elementsOf('detail');
  let first = 0;
  elementsOf('deliveries').forEach((element, i) => {
    const piece = JSON.parse(element.textContent);
    const length = piece.start.length;
    element.remove();
    let start = 0;
    piece.start = piece.start.map(step => (start += step));
    for (const name of NUMBERS) {
      piece[name].forEach((value, j) => (columns[name][first + j] = value ?? NaN));
    }
    for (const name of COUNTS) columns[name].set(piece[name], first);
    for (const name of WORDS) for (const word of piece[name]) columns[name].push(word);
    columns.pieces.push({ first, length, element: details[i] });
    first += length;
  });

  // By time: a clock that was set back, and replays within cranks, break the order.
  columns.order = Uint32Array.from({ length: count }, (_, i) => i);
  columns.order.sort((a, b) => columns.start[a] - columns.start[b] || a - b);
  return columns;
})();

const vatName = number => {
  const [id, name] = overall.vats[number];
  return name ? `${id} ${name}` : id;
};
const kindName = number => overall.kinds[number][0];

// How long an end was ready to run but had no CPU.
const waitOf = i => deliveries.cpuWait[i] + deliveries.workerCpuWait[i];

// The time that is not attributed.
const restOf = i =>
  deliveries.total[i] - waitOf(i) -
  (deliveries.worker[i] || 0) -
  (deliveries.pipe[i] || 0) -
  (deliveries.kernel[i] || 0);

// As PARTS has them; unknown ones are NaN.
const partsOf = i => [deliveries.worker[i], deliveries.pipe[i], deliveries.kernel[i], restOf(i), waitOf(i)];

// ---- the spans of a delivery ----

const pieceOf = i => {
  const { pieces } = deliveries;
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pieces[middle].first <= i) low = middle;
    else high = middle - 1;
  }
  return pieces[low];
};

// A piece's detail is unpacked on first use.
const unpack = piece => {
  if (piece.bytes) return;
  const { labels, lengths, said, bytes } = JSON.parse(piece.element.textContent);
  const binary = atob(bytes);
  piece.element.remove();
  piece.element = null;
  piece.labels = labels;
  piece.said = said;
  piece.bytes = Uint8Array.from({ length: binary.length }, (_, j) => binary.charCodeAt(j));
  piece.ends = new Uint32Array(lengths.length + 1);
  lengths.forEach((length, j) => (piece.ends[j + 1] = piece.ends[j] + length));
};

const spansCache = new Map();
const SPANS_CACHED = 3000;

const readSpans = i => {
  const piece = pieceOf(i);
  unpack(piece);
  const { bytes, labels, ends } = piece;
  const end = ends[i - piece.first + 1];
  let at = ends[i - piece.first];
  const next = () => {
    let value = 0;
    let weight = 1;
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * weight;
      if (byte < 128) return value;
      weight *= 128;
    }
  };
  const spans = [];
  const requests = [];
  if (at === end) return { spans, requests };
  const unit = next();
  const unseen = [];
  for (let left = next(); left > 0; left--) {
    const arrived = next() * unit;
    const length = next() * unit;
    const [type, words] = labels[next()];
    unseen.push({ type, words, from: arrived, to: arrived + length, times: [NaN, length, NaN], unseen: true });
  }
  let from = 0;
  while (at < end) {
    const value = next();
    const kind = value % 8;
    const to = from + ((value - kind) / 8) * unit;
    if (kind === SPAN.up) {
      const [type, words] = labels[next()];
      requests.push({ type, words, from, to, times: [0, 0, 0] });
    }
    const request = requests[requests.length - 1];
    if (kind >= SPAN.up && kind <= SPAN.down) {
      request.to = to;
      request.times[kind - SPAN.up] = to - from;
    }
    spans.push({ kind, from, to });
    from = to;
  }
  return { spans, requests: [...requests, ...unseen] };
};

// { spans: [{kind, from, to}], requests: [{type, words, from, to, times}] }, in nanoseconds after
// the delivery's start; both empty without detail. The worker has no stamps of requests that are
// `unseen`: their times are the kernel's.
const spansOf = i => {
  let found = spansCache.get(i);
  if (!found) {
    if (spansCache.size >= SPANS_CACHED) spansCache.clear();
    found = readSpans(i);
    spansCache.set(i, found);
  }
  return found;
};

// The text of a delivery, and its requests in order: { args, requests: [{ said, answer }] }.
const saidOf = i => {
  const piece = pieceOf(i);
  unpack(piece);
  const [args = '', ...requests] = piece.said[i - piece.first];
  return {
    args,
    requests: requests.map(text => {
      const [said, answer = ''] = text.split('\n');
      return { said, answer };
    }),
  };
};

// ---- causes ----

// By ordinal, computed on first use: where each delivery is, and what it caused.
const causes = (() => {
  let found = null;
  return () => {
    if (found) return found;
    found = { places: new Map(), effects: new Map() };
    for (let i = 0; i < deliveries.count; i++) {
      const cause = deliveries.cause[i];
      found.places.set(deliveries.ordinal[i], i);
      if (!(cause > 0)) continue;
      if (!found.effects.has(cause)) found.effects.set(cause, []);
      found.effects.get(cause).push(i);
    }
    return found;
  };
})();

// -1: unknown, or not on the page.
const causeOf = i => causes().places.get(deliveries.cause[i]) ?? -1;
const effectsOf = i => causes().effects.get(deliveries.ordinal[i]) ?? [];

// ---- blocks ----

// Consecutive deliveries of one block, by time.
const blocks = (() => {
  const found = new Map();
  const { block, total, order } = deliveries;
  for (const i of order) {
    if (Number.isNaN(block[i]) || deliveries.flags[i] & FLAG.replay) continue;
    let entry = found.get(block[i]);
    if (!entry) {
      entry = { block: block[i], first: i, last: i, count: 0, total: 0, parts: [0, 0, 0, 0, 0], max: 0 };
      found.set(block[i], entry);
    }
    entry.last = i;
    entry.count++;
    entry.total += total[i];
    partsOf(i).forEach((part, at) => (entry.parts[at] += part || 0));
    entry.max = Math.max(entry.max, total[i]);
  }
  return [...found.values()];
})();
