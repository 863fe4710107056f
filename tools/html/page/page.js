// SPDX-License-Identifier: Apache-2.0

// Puts the page together.

const all = overall.groups.find(group => group.by === 'all');
const sumOf = (group, name) => group?.columns[name]?.[1] ?? 0;
const pipeOf = group => sumOf(group, 'up') + sumOf(group, 'down');
const timesOf = group => {
  const [worker, pipe, kernel, waits] = group?.waits ?? [0, 0, 0, 0];
  return [sumOf(group, 'worker') - worker, pipeOf(group) - pipe, sumOf(group, 'kernel') - kernel, sumOf(group, 'unattributed'), waits];
};

// ---- in short ----

const showCards = () => {
  const total = all?.columns.total;
  const cards = [
    [total?.[0] === 1 ? 'live delivery' : 'live deliveries', countText(total?.[0] ?? 0)],
    ['in deliveries', timeText(total?.[1] ?? 0)],
    ['median', timeText(total?.[2] ?? 0)],
    ['99 %', timeText(total?.[4] ?? 0)],
    ['slowest', timeText(total?.[5] ?? 0)],
    [overall.vats.length === 1 ? 'vat' : 'vats', countText(overall.vats.length)],
    [overall.stallCount === 1 ? 'stall' : 'stalls', countText(overall.stallCount)],
  ];
  if (blocks.length) cards.push(['blocks', countText(blocks.length)]);
  if (sumOf(all, 'compute')) cards.push(['computrons', countText(sumOf(all, 'compute'))]);
  if (sumOf(all, 'instructions')) cards.push(['instructions', countText(sumOf(all, 'instructions'))]);
  if (sumOf(all, 'blockCost')) cards.push(['block cost', countText(sumOf(all, 'blockCost'))]);
  if (sumOf(all, 'gasBurnt')) cards.push(['gas burnt', countText(sumOf(all, 'gasBurnt'))]);
  byId('cards').replaceChildren(...cards.map(([words, value]) =>
    make('div', {}, make('strong', {}, value), make('span', {}, words))));
};

// The headline shows all time: that of deliveries by part, and that of the other phases.
const showLegend = () => {
  const outside = groupsBy('phase').filter(({ name }) => name !== 'delivery')
    .reduce((sum, group) => sum + sumOf(group, 'total'), 0);
  const times = [...timesOf(all), outside];
  const sum = times.reduce((a, b) => a + b, 0);
  splitBar(times, byId('shares'));
  const entries = [
    ...PARTS_AND_OUTSIDE.map(([colour, name], i) => [colour, `${name} ${timeText(times[i])}, ${shareText(times[i] / sum)}`, times[i] > 0]),
    ['pipe-down', 'pipe, kernel to worker (where it is told apart)', overall.spans[SPAN.send] + overall.spans[SPAN.down] > 0],
    ['wait', 'pipe and kernel in one (replays)', overall.spans[SPAN.wait] > 0],
  ];
  byId('legend').replaceChildren(...entries
    .filter(([, , there]) => there)
    .map(([colour, words]) => make('li', { '--colour': `var(--${colour})` }, words)));
};

const showNotices = () => {
  const counts = overall.counts;
  const choose = 'Choose with --block, --crank or --since.';
  const notices = [
    [counts.hidden, `delivery came after the first ${countText(counts.shown)}: it is in sums, distributions, stalls and icicle, not on the timeline, in the list or among the blocks. ${choose}`,
      `deliveries came after the first ${countText(counts.shown)}: they are in sums, distributions, stalls and icicle, not on the timeline, in the list or among the blocks. ${choose}`],
    [counts.shown - counts.detailed, `delivery on the timeline, the last one, is without its syscalls, which did not fit the page. ${choose}`,
      `deliveries on the timeline, the last ones, are without their syscalls, which did not fit the page. ${choose}`],
    [counts.hiddenTrees, 'delivery is in a profile, but its functions did not fit the page.', 'deliveries are in a profile, but their functions did not fit the page.'],
    [counts.placeless, 'delivery has no place in time (no deliver line, or a clock set back) and is not on the timeline.',
      'deliveries have no place in time (no deliver line, or a clock set back) and are not on the timeline.'],
    [counts.spoiled, 'delivery is in no sum, since the clock was set within it.', 'deliveries are in no sum, since the clock was set within them.'],
    [counts.clockChanges, 'time the clock was set.', 'times the clock was set.'],
    [counts.kernelStarts, 'time a new kernel process began.', 'times a new kernel process began.'],
    [counts.badLines, 'line is not a slog line and was left out.', 'lines are not slog lines and were left out.'],
    [counts.tornLines, 'file ends within a line.', 'files end within a line.'],
    [counts.withoutResult, 'delivery has no deliver-result.', 'deliveries have no deliver-result.'],
    [counts.withoutDeliver, 'deliver-result has no deliver.', 'deliver-results have no deliver.'],
  ];
  byId('notices').replaceChildren(...notices
    .filter(([count]) => count > 0)
    .map(([count, one, many]) => make('li', {}, `${countText(count)} ${count === 1 ? one : many}`)));
};

// ---- timeline ----

// Going to another delivery from the panel leaves the page where it is.
const goWithin = i => {
  timeline.select(i);
  timeline.reveal();
};

// The selected delivery, or else the chosen interval.
const showSelected = (i, request) => {
  const panel = byId('selected');
  const is = i >= 0 || timeline.interval !== null;
  byId('panel').hidden = !is;
  document.body.classList.toggle('with-panel', is);
  if (i < 0) {
    panel.replaceChildren(...wordsOfInterval(timeline.interval));
    return;
  }
  panel.replaceChildren(
    make('h3', {}, deliveries.text[i]),
    make('dl', {}, ...factsOf(i).map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)))),
    ...wordsOf(i, goWithin), ...requestsOf(i, request));
};

const REQUEST_COLUMNS = [
  { label: '#', number: true, value: row => row.place + 1 },
  { label: 'syscall', value: row => row.words, show: row => make('button', { type: 'button', onclick: () => timeline.show(row.delivery, row.place) }, row.words) },
  { label: 'says', value: row => row.said, show: row => [row.said, row.answer].filter(Boolean).join(' → ') },
  { label: 'at', number: true, value: row => row.from, show: row => timeText(row.from) },
  { label: 'pipe up', number: true, value: row => row.times[0], show: row => timeText(row.times[0]) },
  { label: 'kernel', number: true, value: row => row.times[1], show: row => timeText(row.times[1]) },
  { label: 'pipe down', number: true, value: row => row.times[2], show: row => timeText(row.times[2]) },
];

const requestsOf = (i, request) => {
  const said = saidOf(i).requests;
  const rows = spansOf(i).requests.map((entry, place) => ({ ...entry, said: '', answer: '', ...said[place], place, delivery: i }));
  if (!rows.length) {
    const made = deliveries.syscalls[i] + deliveries.consoles[i];
    return made > 0 ? [make('p', { class: 'hint' }, `It made ${countText(made)} requests, whose times are not here.`)] : [];
  }
  const container = make('div');
  const chosen = rows[request];
  const words = chosen
    ? `Syscall ${request + 1} of ${rows.length}, ${requestText(chosen)}`
    : `${rows.length} syscalls and console calls`;
  new Table(container, REQUEST_COLUMNS, { sort: 0, descending: false, label: 'Syscalls of the delivery' }).setRows(rows);
  const unseen = rows.filter(row => row.unseen).length;
  const hint = deliveries.flags[i] & FLAG.overrun ? "The worker's stamps overran" : 'The worker left no stamps';
  return [
    make('p', { id: 'request' }, words),
    ...(unseen > 0
      ? [make('p', { class: 'hint', id: 'unseen' }, `${hint}: of ${unseen === rows.length ? 'its' : `the last ${countText(unseen)}`} requests only the kernel's side is known, and the time around them is unattributed.`)]
      : []),
    container,
  ];
};

const timeline = new Timeline({
  canvas: byId('timeline'),
  overview: byId('overview'),
  tip: byId('tip'),
  range: byId('range'),
  onSelect: showSelected,
  onView: () => keepAddress(),
  onInterval: () => {
    timeline.select(-1);
    filterDeliveries();
  },
});

// The address says what is in view and selected, so that it can be handed on: a moment after
// the last change, since browsers allow few changes a second.
const keepAddress = (() => {
  let waiting = null;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const { from, to, selected, request, axis } = timeline;
      const words = [`view=${Math.round(from)},${Math.round(to)}`];
      if (axis !== 'clock') words.push(`axis=${axis}`);
      if (selected >= 0) words.push(`at=${deliveries.ordinal[selected]}${request >= 0 ? `,${request}` : ''}`);
      const hash = `#${words.join('&')}`;
      if (location.hash !== hash) history.replaceState(null, '', hash);
    }, 300);
  };
})();

// Ignores numbers that are invalid or far out of range, e.g. edited by hand.
const readAddress = () => {
  const words = new Map(location.hash.slice(1).split('&').map(word => word.split('=')));
  const numbers = name => (words.get(name) ?? '').split(',').map(Number);
  const [from, to] = numbers('view');
  if (!Number.isFinite(from) || !(to > from)) return;
  byId('axis').value = words.get('axis') === 'packed' ? 'packed' : 'clock';
  if (timeline.axis !== byId('axis').value) timeline.setAxis(byId('axis').value);
  const [ordinal, request = -1] = words.has('at') ? numbers('at') : [NaN];
  const i = causes().places.get(ordinal) ?? -1;
  timeline.select(i, i >= 0 && spansOf(i).requests[request] ? request : -1);
  timeline.setView(from, to);
};
addEventListener('hashchange', readAddress);

// The parts of the page are gone to without being put into the address.
for (const link of document.querySelectorAll('nav a')) {
  link.addEventListener('click', event => {
    event.preventDefault();
    document.querySelector(link.getAttribute('href')).scrollIntoView();
  });
}
byId('panel-close').addEventListener('click', () => timeline.chooseNone());
byId('panel').addEventListener('keydown', event => event.key === 'Escape' && timeline.chooseNone());

const goTo = (i, request = -1) => {
  byId('timeline-part').scrollIntoView();
  timeline.show(i, request);
  timeline.canvas.focus({ preventScroll: true });
};

const moves = {
  in: () => timeline.zoom(0.5),
  out: () => timeline.zoom(2),
  left: () => timeline.move(-0.4),
  right: () => timeline.move(0.4),
  selected: () => timeline.zoomToChosen(),
  interval: () => timeline.chooseInterval({ from: timeline.from, to: timeline.to }),
  all: () => timeline.whole(),
};
for (const button of document.querySelectorAll('[data-move]')) {
  button.addEventListener('click', moves[button.dataset.move]);
}
byId('axis').addEventListener('change', event => timeline.setAxis(event.target.value));

// ---- deliveries ----

const goButton = (i, words) => make('button', { type: 'button', onclick: () => goTo(i) }, words);

const deliveryTable = new Table(byId('deliveries'), [
  { label: 'delivery', value: i => deliveries.text[i], show: i => goButton(i, deliveries.text[i]) },
  { label: 'vat', value: i => vatName(deliveries.vat[i]) },
  { label: 'crank', number: true, value: i => deliveries.crank[i], show: i => countText(deliveries.crank[i]) },
  { label: 'total', number: true, value: i => deliveries.total[i], show: i => timeText(deliveries.total[i]) },
  { label: 'split', number: true, value: i => (deliveries.worker[i] || 0) / deliveries.total[i], show: i => splitBar(partsOf(i)) },
  { label: 'worker', number: true, value: i => deliveries.worker[i], show: i => timeText(deliveries.worker[i]) },
  { label: 'pipe', number: true, value: i => deliveries.pipe[i], show: i => timeText(deliveries.pipe[i]) },
  { label: 'kernel', number: true, value: i => deliveries.kernel[i], show: i => timeText(deliveries.kernel[i]) },
  ...(deliveries.order.some(i => waitOf(i) > 0)
    ? [{ label: 'no CPU', number: true, value: waitOf, show: i => (waitOf(i) > 0 ? timeText(waitOf(i)) : '') }] : []),
  { label: 'syscalls', number: true, value: i => deliveries.syscalls[i], show: i => countText(deliveries.syscalls[i]) },
  { label: 'computrons', number: true, value: i => deliveries.compute[i], show: i => countText(deliveries.compute[i]) },
  ...[['instructions', 'instructions'], ['gas', 'gas'], ['block cost', 'blockCost']]
    .filter(([, name]) => deliveries[name].some(value => !Number.isNaN(value)))
    .map(([label, name]) => ({ label, number: true, value: i => deliveries[name][i], show: i => countText(deliveries[name][i]) })),
  { label: 'waited', number: true, value: i => deliveries.queued[i], show: i => timeText(deliveries.queued[i]) },
  { label: 'status', value: i => statusOf(i) },
], { sort: 3, label: 'Deliveries' });

const statusOf = i => {
  const flags = deliveries.flags[i];
  const words = [];
  if (flags & FLAG.error) words.push(`failed: ${deliveries.problem[i]}`);
  if (flags & FLAG.replay) words.push('replay');
  if (flags & FLAG.clock) words.push('clock was set');
  if (flags & FLAG.overrun) words.push('stamps overran');
  return words.join(', ');
};

const functions = costsThere.length
  ? new Functions({ of: byId('functions-of'), search: byId('functions-search'), found: byId('functions-found'), table: byId('functions') })
  : null;

// Returns the deliveries whose vat, method or error has these words, in the order of time.
const findDeliveries = words => {
  const wanted = words.trim().toLowerCase();
  const vats = overall.vats.map((_, number) => vatName(number).toLowerCase().includes(wanted));
  const kinds = overall.kinds.map((_, number) => kindName(number).toLowerCase().includes(wanted));
  return [...deliveries.order].filter(i => vats[deliveries.vat[i]] || kinds[deliveries.kind[i]] ||
    deliveries.text[i].toLowerCase().includes(wanted) || statusOf(i).toLowerCase().includes(wanted));
};

// The list has what was found, of the chosen interval if there is one; the timeline marks it.
const filterDeliveries = () => {
  const words = byId('find').value;
  const found = findDeliveries(words);
  const rows = timeline.interval ? found.filter(i => isWithin(timeline.interval, i)) : found;
  byId('filtered').value = `${countText(rows.length)} of ${countText(deliveries.count)}${timeline.interval ? ', in the chosen interval' : ''}`;
  byId('found').value = words.trim() ? `${countText(found.length)} found` : '';
  timeline.markFound(words.trim() ? found : []);
  deliveryTable.setRows(rows);
  functions?.choose(rows);
};

// Both boxes have the same words.
for (const [name, other] of [['filter', 'find'], ['find', 'filter']]) {
  byId(name).addEventListener('input', () => {
    byId(other).value = byId(name).value;
    filterDeliveries();
  });
}

const goToFound = step => {
  const place = timeline.stepFound(step);
  if (place < 0) return;
  byId('timeline-part').scrollIntoView();
  byId('found').value = `${countText(place + 1)} of ${countText(timeline.found.length)} found`;
};
byId('search').addEventListener('submit', event => {
  event.preventDefault();
  goToFound(1);
});
byId('find-before').addEventListener('click', () => goToFound(-1));
byId('find').addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !event.shiftKey) return;
  event.preventDefault();
  goToFound(-1);
});
addEventListener('keydown', event => {
  if (event.key !== '/' || event.target.matches('input, select') || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  byId('find').focus();
  byId('find').select();
});

// ---- stalls ----

const STALL_WORDS = {
  [SPAN.send]: 'pipe: delivery late at the worker',
  [SPAN.up]: 'pipe: request late at the kernel',
  [SPAN.kernel]: 'kernel: answered late',
  [SPAN.down]: 'pipe: answer late at the worker',
  [SPAN.back]: 'pipe: result late at the kernel',
  [SPAN.worker]: 'worker: took long',
};

// The delivery whose deliver-result is on a stall's line, around its moment.
const deliveryOf = stall => {
  for (let i = 0; i < deliveries.count; i++) {
    if (deliveries.line[i] === stall.line && deliveries.start[i] <= stall.start &&
        stall.start <= deliveries.start[i] + deliveries.total[i]) return i;
  }
  return -1;
};

const showStall = (stall, i) => {
  const inside = stall.start - deliveries.start[i];
  const { requests } = spansOf(i);
  goTo(i, stall.syscall ? requests.findIndex(({ from, to }) => from <= inside && inside < to) : -1);
};

// Plain words if the delivery is not on the timeline.
const stallLink = stall => {
  const words = stall.syscall ? `${stall.text} : ${stall.syscall}` : stall.text;
  const i = deliveryOf(stall);
  return i < 0 ? words : make('button', { type: 'button', onclick: () => showStall(stall, i) }, words);
};

// The pipe is not named where an end waited for a CPU.
const stallWords = ({ kind, waiter }) => (waiter ? STALL_WORDS[kind].replace(/^\w+/, 'no CPU') : STALL_WORDS[kind]);

const stallCause = ({ kind, cpu, took, waiter, waited }) => {
  if (waiter) return `; ${waiter} waited ${timeText(waited)} for a CPU in this delivery`;
  if (kind !== SPAN.worker || cpu == null) return '';
  return cpu < took / 2 ? `, was not let run (ran ${timeText(cpu)})` : `, computed (ran ${timeText(cpu)})`;
};

const stallTable = new Table(byId('stalls'), [
  { label: 'lost', number: true, value: row => row.took - row.usual, show: row => timeText(row.took - row.usual) },
  { label: 'took', number: true, value: row => row.took, show: row => timeText(row.took) },
  { label: 'usual', number: true, value: row => row.usual, show: row => timeText(row.usual) },
  { label: 'times', number: true, value: row => row.took / Math.max(row.usual, 1), show: row => (row.took / Math.max(row.usual, 1)).toFixed(1) },
  { label: 'what was late', value: row => stallWords(row) + stallCause(row) },
  { label: 'of', value: row => row.text, show: row => stallLink(row) },
  { label: 'vat', value: row => row.vat },
  { label: 'size', number: true, value: row => row.size, show: row => (row.size == null ? '' : `${countText(row.size)} ${row.work}`) },
  { label: 'when', number: true, value: row => row.start, show: row => clockText(row.start ?? NaN) },
], { sort: 0, label: 'Stalls' });

const stallsWords = () => {
  const { stallCount, stalls } = overall;
  const shown = stalls.length < stallCount ? `, the first ${stalls.length} of them here` : '';
  return `${countOf(stallCount, 'span')} took far longer than similar ones and lost a millisecond at least${shown}.`;
};

// ---- sums ----

const BY = { vat: 'vat', kind: 'kind and method', method: 'vat and method', syscall: 'kind of syscall', block: 'block', replay: 'replays', phase: 'phase (own time)' };

const groupName = group => (group.by === 'replay' ? 'all replayed deliveries' : [group.name, group.label].filter(Boolean).join(' ') || 'all');

const groupsBy = by => overall.groups.filter(group => group.by === by);

// The total that a share is relative to, so that none exceeds 100 %: replays are in no other group,
// and the time between deliveries is in no delivery.
const allOf = (measure, row) => {
  if (row.by === 'phase') return groupsBy('phase').reduce((sum, group) => sum + sumOf(group, 'total'), 0);
  const whole = row.by === 'replay' ? row : all;
  return sumOf(whole, isTime(measure) ? 'total' : measure) + (measure === 'between' ? sumOf(whole, measure) : 0);
};

const sumColumns = measure => {
  const column = row => row.columns[measure];
  const item = (label, at) => ({
    label, number: true, value: row => column(row)?.[at], show: row => measureText(measure, column(row)?.[at]),
  });
  return [
    { label: 'name', value: groupName },
    { label: 'count', number: true, value: row => column(row)?.[0], show: row => countText(column(row)?.[0]) },
    // A sum or share of ratios has no meaning.
    ...(isRatio(measure) ? [] : [item('sum', 1),
      { label: 'share', number: true, value: row => column(row)?.[1], show: row => shareText(column(row)?.[1] / allOf(measure, row)) }]),
    { label: 'split', number: true, value: row => sumOf(row, 'worker') / (sumOf(row, 'total') || 1), show: row => splitBar(timesOf(row)) },
    item('median', 2), item('90 %', 3), item('99 %', 4), item('greatest', 5),
  ];
};

const BLOCK_COLUMNS = [
  { label: 'block', number: true, value: row => row.block, show: row => make('button', { type: 'button', onclick: () => showBlock(row) }, String(row.block)) },
  { label: 'deliveries', number: true, value: row => row.count, show: row => countText(row.count) },
  { label: 'sum', number: true, value: row => row.total, show: row => timeText(row.total) },
  { label: 'split', number: true, value: row => row.parts[0] / row.total, show: row => splitBar(row.parts) },
  ...['worker', 'pipe', 'kernel'].map((label, at) => ({ label, number: true, value: row => row.parts[at], show: row => timeText(row.parts[at]) })),
  { label: 'greatest', number: true, value: row => row.max, show: row => timeText(row.max) },
];

const showBlock = ({ first, last }) => {
  byId('timeline-part').scrollIntoView();
  timeline.setView(timeline.at[first], timeline.at[last] + deliveries.total[last]);
  timeline.canvas.focus({ preventScroll: true });
};

const fill = (select, entries) =>
  select.replaceChildren(...entries.map(([value, words]) => make('option', { value }, words)));

const showSums = () => {
  const by = byId('sums-by').value;
  const measures = byId('sums-of');
  if (by === 'block') {
    measures.replaceChildren();
    new Table(byId('sums'), BLOCK_COLUMNS, { sort: 2, label: 'Sums by block' }).setRows(blocks);
    return;
  }
  const groups = groupsBy(by);
  const before = measures.value;
  const there = MEASURES.filter(([name]) => groups.some(group => group.columns[name]));
  fill(measures, there);
  if (there.some(([name]) => name === before)) measures.value = before;
  const measure = measures.value;
  const rows = groups.filter(group => group.columns[measure]);
  new Table(byId('sums'), sumColumns(measure), { sort: isRatio(measure) ? 3 : 2, label: `Sums by ${BY[by]}` }).setRows(rows);
};

// ---- distributions ----

const fillDistributions = () => {
  const time = group => sumOf(group, 'total') || sumOf(group, 'up') + sumOf(group, 'kernel') + sumOf(group, 'down');
  const entries = ['all', 'vat', 'kind', 'syscall', 'replay'].flatMap(by =>
    groupsBy(by).sort((a, b) => time(b) - time(a)).map(group => [
      overall.groups.indexOf(group),
      by === 'all' ? 'all live deliveries' : by === 'replay' ? groupName(group) : `${by}: ${groupName(group)}`,
    ]));
  fill(byId('distribution-of'), entries);
};

const showDistribution = () => {
  const group = overall.groups[byId('distribution-of').value];
  if (group) showDistributions(byId('distributions'), group);
};

// ---- the page ----

byId('files').textContent = overall.files.map(file => (file === '-' ? 'standard input' : file)).join(', ');
document.title = `${overall.files.map(file => file.replace(/.*\//, '')).join(', ')} - slogreport`;
byId('footer').textContent = `Written by slogreport ${overall.version}. Times are as kernel and workers noted them; what nobody noted is unattributed.`;
showCards();
showLegend();
showNotices();
filterDeliveries();
byId('stalls-words').textContent = stallsWords();
stallTable.setRows(overall.stalls);
fill(byId('sums-by'), Object.entries(BY).filter(([by]) => (by === 'block' ? blocks.length : groupsBy(by).length)));
byId('sums-by').addEventListener('change', showSums);
byId('sums-of').addEventListener('change', showSums);
showSums();
fillDistributions();
byId('distribution-of').addEventListener('change', showDistribution);
showDistribution();
new Icicle(byId('icicle'), byId('icicle-path'), growTree(), timeText);

// Parts that have nothing to show are not there.
const hidePart = name => {
  byId(`${name}-part`).remove();
  byId(`${name}-link`).remove();
};

if (!functions) hidePart('functions');

const [workWords, workRoot] = growWork();
if (workRoot) {
  byId('work-words').textContent = workWords;
  byId('work-link').textContent = workWords.replace(/^./, letter => letter.toUpperCase());
  new Icicle(byId('work'), byId('work-path'), workRoot, countText);
} else {
  hidePart('work');
}

const prices = new Prices({
  canvas: byId('prices'), by: byId('prices-by'), table: byId('prices-off'), words: byId('prices-words'),
  onChoose: i => goTo(i),
});
if (prices.kinds.length) {
  fill(byId('prices-by'), prices.kinds.map(([value, words]) => [value, words]));
  prices.show();
} else {
  hidePart('prices');
}

const growths = GROWTH.filter(([at]) => growthRows(at).length);
if (growths.length) {
  fill(byId('growth-of'), growths);
  byId('growth-of').addEventListener('change', event => showGrowth(byId('growth'), Number(event.target.value)));
  showGrowth(byId('growth'), growths[0][0]);
  addEventListener('resize', () => showGrowth(byId('growth'), Number(byId('growth-of').value)));
} else {
  hidePart('growth');
}

// On paper the timeline has the light colours too.
const printing = is => {
  document.documentElement.classList.toggle('printing', is);
  timeline.draw();
  if (prices.kinds.length) prices.show();
};
addEventListener('beforeprint', () => printing(true));
addEventListener('afterprint', () => printing(false));

readAddress();
document.documentElement.dataset.ready = performance.now().toFixed(0);
