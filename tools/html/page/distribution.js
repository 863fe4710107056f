// SPDX-License-Identifier: Apache-2.0

// Distributions: the histogram of a measure, eight bars to each doubling.

const MEASURES = [
  ['total', 'total', 'text'],
  ['up', 'pipe up', 'pipe'],
  ['down', 'pipe down', 'pipe-down'],
  ['worker', 'worker', 'worker'],
  ['kernel', 'kernel', 'kernel'],
  ['unattributed', 'unattributed', 'unknown'],
  ['between', 'between deliveries', 'dim'],
  ['compute', 'computrons', 'worker'],
  ['instructions', 'instructions', 'worker'],
  ['blockCost', 'block cost', 'worker'],
  ['gasBurnt', 'gas burnt', 'worker'],
  ['queued', 'waited in the queue', 'dim'],
  ['gas', 'gas', 'worker'],
  ['instructionsPerComputron', 'instructions for a computron', 'worker'],
];

const isTime = measure => !['compute', 'instructions', 'blockCost', 'gasBurnt', 'gas', 'instructionsPerComputron'].includes(measure);
// The page has thousandths of this one.
const isRatio = measure => measure === 'instructionsPerComputron';
const measureText = (measure, value) =>
  isTime(measure) ? timeText(value) : isRatio(measure) ? (value == null ? '' : threeDigits(value / 1000)) : countText(value);

// histogram_lowest() of tools/stats/histogram.c, of every eighth bucket: 64 to each doubling.
const lowestOf = number => {
  const index = number * 8;
  if (index < 64) return index;
  return ((index % 64) + 64) * 2 ** (Math.floor(index / 64) - 1);
};

const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const CHART = { width: 360, height: 124, bottom: 92, top: 14, left: 46 };
const ZERO_WIDTH = 16;
const MARK_WIDTH = 28;

// Pixels of values on a logarithmic scale, on which buckets are evenly wide. Nought
// has no place there, and gets one of its own on the left.
const scaleOf = buckets => {
  const [first, second] = buckets;
  const zero = first[0] === 0 && second ? ZERO_WIDTH : 0;
  const from = Math.log(Math.max(lowestOf(zero ? second[0] : first[0]), 1));
  const to = Math.log(lowestOf(buckets[buckets.length - 1][0] + 1));
  return value =>
    value < 8 && zero ? 0 : zero + ((Math.log(Math.max(value, 1)) - from) / (to - from)) * (CHART.width - zero);
};

const chartBars = (buckets, scale, colour) => {
  const highest = Math.max(...buckets.map(([, count]) => count));
  return buckets.map(([number, count]) => {
    const left = scale(lowestOf(number));
    const right = left === 0 && number === 0 ? ZERO_WIDTH - 6 : scale(lowestOf(number + 1));
    const height = Math.max((count / highest) * (CHART.bottom - CHART.top), 1);
    return svg('rect', {
      x: left, y: CHART.bottom - height, width: Math.max(right - left - 0.5, 0.5), height,
      fill: `var(--${colour})`,
    });
  });
};

const chartMarks = ([, , median, p90, p99], scale) => {
  let free = -Infinity;
  return [['50', median], ['90', p90], ['99', p99]].flatMap(([words, value]) => {
    const x = Math.min(Math.max(scale(value), 0), CHART.width);
    const mark = svg('line', { class: 'mark', x1: x, x2: x, y1: CHART.top - 2, y2: CHART.bottom });
    const left = x > CHART.width - MARK_WIDTH ? x - MARK_WIDTH : x;
    if (left < free) return [mark];
    free = left + MARK_WIDTH;
    return [mark, svg('text', { x: left, y: 9 }, `${words} %`)];
  });
};

// How many the highest bar has, and what they are.
const chartCounts = (highest, what) => [
  svg('line', { class: 'axis', x1: 0, x2: CHART.width, y1: CHART.top, y2: CHART.top }),
  svg('text', { x: -4, y: CHART.top + 4, 'text-anchor': 'end' }, shortText(highest)),
  svg('text', { x: -4, y: CHART.bottom, 'text-anchor': 'end' }, '0'),
  svg('text', { x: 0, y: 0, 'text-anchor': 'middle', transform: `translate(${-CHART.left + 9} ${(CHART.top + CHART.bottom) / 2}) rotate(-90)` }, what),
];

const chart = (measure, words, colour, column, what) => {
  const [count, , median, p90, p99, max, buckets] = column;
  const scale = scaleOf(buckets);
  const text = `median ${measureText(measure, median)}, 90 % ${measureText(measure, p90)}, 99 % ${measureText(measure, p99)}, greatest ${measureText(measure, max)}`;
  return make('figure', {},
    make('figcaption', {}, make('strong', {}, words), ` of ${countText(count)}: ${text}`),
    svg('svg', { viewBox: `${-CHART.left} 0 ${CHART.width + CHART.left + 4} ${CHART.height}`, role: 'img', 'aria-label': `${words}: ${text}` },
      svg('line', { class: 'axis', x1: 0, x2: CHART.width, y1: CHART.bottom, y2: CHART.bottom }),
      ...chartBars(buckets, scale, colour),
      ...chartMarks(column, scale),
      ...chartCounts(Math.max(...buckets.map(([, values]) => values)), what),
      svg('text', { x: CHART.width / 2, y: CHART.height - 3, 'text-anchor': 'middle' }, `${words}, logarithmic`),
      svg('text', { x: 0, y: CHART.bottom + 13 }, measureText(measure, lowestOf(buckets[0][0]))),
      svg('text', { x: CHART.width, y: CHART.bottom + 13, 'text-anchor': 'end' }, measureText(measure, lowestOf(buckets[buckets.length - 1][0] + 1)))));
};

const showDistributions = (container, group) =>
  container.replaceChildren(...MEASURES.filter(([name]) => group.columns[name]).map(
    ([name, words, colour]) => chart(name, words, colour, group.columns[name], group.by === 'syscall' ? 'syscalls' : 'deliveries')));
