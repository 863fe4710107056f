// SPDX-License-Identifier: Apache-2.0

// Sums up the deliveries that began in an interval of the timeline, as
// `slogreport summary --since --until` does.

const INTERVAL_ROWS = 5;

const isWithin = ({ from, to }, i) => from <= timeline.at[i] && timeline.at[i] <= to;

// Positions in deliveries.order of what began in an interval.
const positionsIn = ({ from, to }) => {
  const { order, count } = deliveries;
  const startAt = position => timeline.at[order[position]];
  return [
    Timeline.above(count, position => Number(startAt(position) >= from), 0),
    Timeline.above(count, startAt, to),
  ];
};

// The time of an interval in which no delivery ran.
const idleIn = ({ from, to }) => {
  const [first, end] = timeline.visible(from, to);
  let idle = 0;
  let reached = from;
  for (let position = first; position < end; position++) {
    const i = deliveries.order[position];
    idle += Math.max(timeline.at[i] - reached, 0);
    reached = Math.max(reached, timeline.at[i] + deliveries.total[i]);
  }
  return idle + Math.max(to - reached, 0);
};

// { live, replays, times, idle, vats: [[number, time]], stalls }: times as PARTS has them. Like in
// the sums of the page, deliveries within which the clock was set are left out.
const sumInterval = interval => {
  const [first, end] = positionsIn(interval);
  const began = [...deliveries.order.subarray(first, end)].filter(i => !(deliveries.flags[i] & FLAG.clock));
  const live = began.filter(i => !(deliveries.flags[i] & FLAG.replay));
  const sum = column => live.reduce((total, i) => total + (column[i] || 0), 0);
  const vats = new Map();
  for (const i of live) vats.set(deliveries.vat[i], (vats.get(deliveries.vat[i]) ?? 0) + deliveries.total[i]);
  const total = sum(deliveries.total);
  const times = PARTS.map((_, at) => live.reduce((time, i) => time + (partsOf(i)[at] || 0), 0));
  const ids = new Set(began.map(i => deliveries.line[i]));
  return {
    live, total, replays: began.length - live.length, idle: idleIn(interval),
    times,
    vats: [...vats].sort((a, b) => b[1] - a[1]),
    stalls: overall.stalls.filter(({ line }) => ids.has(line)),
  };
};

// For --since and --until: "2026-11-21T00:03:39.330757123Z".
const isoText = time => {
  const moment = BigInt(overall.zero) + BigInt(Math.round(time));
  const second = new Date(Number(moment / 1000000000n) * 1000).toISOString().slice(0, 19);
  return `${second}.${(moment % 1000000000n).toString().padStart(9, '0')}Z`;
};

const shellText = word => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

const intervalCommand = live => {
  const starts = [live[0], live[live.length - 1]].map(i => isoText(deliveries.start[i]));
  return `slogreport summary --since ${starts[0]} --until ${starts[1]} ${overall.files.map(shellText).join(' ')}`;
};

const linkList = (title, rows) => [
  make('h4', {}, title),
  make('ul', { class: 'links' }, ...rows.map(row => make('li', {}, ...row))),
];

// Stalls by what was late, those that lost most first.
const stallRows = stalls => {
  const causes = new Map();
  for (const stall of stalls) {
    const { count = 0, lost = 0 } = causes.get(stallWords(stall)) ?? {};
    causes.set(stallWords(stall), { count: count + 1, lost: lost + stall.took - stall.usual });
  }
  return [...causes].sort((a, b) => b[1].lost - a[1].lost)
    .map(([words, { count, lost }]) => [`${words}: ${countOf(count, 'stall')}, lost ${timeText(lost)}`]);
};

const intervalFacts = ({ from, to }, { live, total, replays, idle }) => {
  const totals = live.map(i => deliveries.total[i]).sort((a, b) => a - b);
  const failed = live.filter(i => deliveries.flags[i] & FLAG.error).length;
  return [
    [timeline.axis === 'clock' ? 'wall time' : 'length', timeText(to - from)],
    ['live deliveries', countText(live.length)],
    ['in deliveries', timeText(total)],
    ['median', timeText(totals[(totals.length - 1) >> 1])],
    ['slowest', timeText(totals[totals.length - 1])],
    ...(timeline.axis === 'clock' ? [['no delivery ran', timeText(idle)]] : []),
    ...(failed ? [['failed', countText(failed)]] : []),
    ...(replays ? [['replays', countText(replays)]] : []),
  ];
};

const intervalWords = ({ from, to }) =>
  timeline.axis === 'clock' ? `${clockText(from).slice(11)} to ${clockText(to).slice(11)} UTC` : `${timeText(from)} to ${timeText(to)}`;

// Summarizes an interval that has deliveries.
const intervalDetails = ({ live, total, times, vats, stalls }) => {
  const slowest = [...live].sort((a, b) => deliveries.total[b] - deliveries.total[a]).slice(0, INTERVAL_ROWS);
  return [
    splitBar(times),
    make('p', { class: 'hint' }, PARTS.map(([, name], i) => times[i] > 0 && `${name} ${timeText(times[i])}, ${shareText(times[i] / total)}`).filter(Boolean).join('; ')),
    ...linkList('Slowest deliveries', slowest.map(i => [make('button', { type: 'button', onclick: () => goWithin(i) }, `${vatName(deliveries.vat[i])}: ${deliveries.text[i]}`), ` ${timeText(deliveries.total[i])}`])),
    ...linkList('Vats', vats.slice(0, INTERVAL_ROWS).map(([number, time]) => [`${vatName(number)} ${timeText(time)}, ${shareText(time / total)}`])),
    ...(stalls.length ? linkList('Stalls', stallRows(stalls)) : []),
    make('p', { class: 'hint' }, 'The same as text: ', make('code', {}, intervalCommand(live))),
  ];
};

// The summary of an interval, as elements; null: none is chosen.
const wordsOfInterval = interval => {
  if (!interval) return [];
  const sums = sumInterval(interval);
  return [
    make('h3', {}, `Interval: ${intervalWords(interval)}`),
    make('dl', {}, ...intervalFacts(interval, sums).map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)))),
    ...(sums.live.length ? intervalDetails(sums) : []),
    make('div', { class: 'controls' },
      make('button', { type: 'button', onclick: () => timeline.setView(interval.from, interval.to) }, 'Zoom to it')),
  ];
};
