// SPDX-License-Identifier: Apache-2.0

// How vats grow over time: a line for each of those that grew most, and a table of all.

const GROWTH = [
  [1, 'heap slots in use'], [2, 'bytes that the engine took'], [3, 'c-list entries'],
  [4, 'bytes of snapshots'], [5, 'collections'], [6, 'syscalls that released references'],
];
const LINES_MOST = 8;
const GROWTH_CHART = { width: 900 /* of its place */, height: 260, left: 70, right: 12, top: 12, bottom: 34 };

const lineColour = place => `hsl(${(215 + place * 137) % 360} 62% 50%)`;

// [[time, value], ...] of the reported values; the rows of the table.
const growthRows = at =>
  overall.growth.map(([name, points]) => {
    const said = points.filter(point => point[at] != null).map(point => [point[0], point[at]]);
    if (!said.length) return null;
    const values = said.map(([, value]) => value);
    return { name, said, first: values[0], last: values[values.length - 1], most: Math.max(...values) };
  }).filter(row => row && row.most > 0);

const growthOf = row => row.last - row.first;

// 1, 2 or 5 times a power of ten, about `count` of them up to `most`.
const roundStep = (most, count) => {
  const least = Math.max(most / count, 1e-9);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find(factor => factor * power >= least * 0.999);
};

const growthAxes = (from, to, most, x, y) => {
  const { width, height, left, right, bottom } = GROWTH_CHART;
  const marks = [];
  const step = roundStep(most, 4);
  for (let value = 0; value <= most; value += step) {
    marks.push(svg('line', { class: 'axis', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      svg('text', { x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, shortText(value)));
  }
  const times = width < 600 ? 1 : 3;
  for (let i = 0; i <= times; i++) {
    const time = from + ((to - from) * i) / times;
    const anchor = i === 0 ? 'start' : i === times ? 'end' : 'middle';
    marks.push(svg('text', { x: x(time), y: height - bottom + 16, 'text-anchor': anchor }, clockText(time).slice(11, 23)));
  }
  marks.push(svg('text', { x: (left + width - right) / 2, y: height - 2, 'text-anchor': 'middle' }, `time, UTC, ${clockText(from).slice(0, 10)}`));
  return marks;
};

const growthChart = (rows, words) => {
  const { width, height, left, right, top, bottom } = GROWTH_CHART;
  const times = rows.flatMap(({ said }) => [said[0][0], said[said.length - 1][0]]);
  const from = Math.min(...times);
  const to = Math.max(...times, from + 1000);
  const most = Math.max(...rows.map(row => row.most));
  const x = time => left + ((time - from) / (to - from)) * (width - left - right);
  const y = value => height - bottom - (Math.max(value, 0) / most) * (height - bottom - top);
  // A value holds until the next one is reported.
  const line = ({ said, name }, place) => {
    const way = said.map(([time, value], i) => (i ? `H${x(time).toFixed(1)}V${y(value).toFixed(1)}` : `M${x(time).toFixed(1)} ${y(value).toFixed(1)}`)).join('');
    return svg('path', { class: 'line', d: `${way}H${width - right}`, stroke: lineColour(place) }, svg('title', {}, name));
  };
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${words} over time, of ${rows.length} vats` },
    ...growthAxes(from, to, most, x, y), ...rows.map(line));
};

const showGrowth = (container, at) => {
  GROWTH_CHART.width = Math.max(container.clientWidth, 300);
  const words = GROWTH.find(([place]) => place === at)[1];
  const rows = growthRows(at).sort((a, b) => growthOf(b) - growthOf(a));
  const drawn = rows.slice(0, LINES_MOST);
  const table = make('div');
  container.replaceChildren(
    growthChart(drawn, words),
    make('ul', { class: 'keys' }, ...drawn.map((row, place) => make('li', { '--colour': lineColour(place) }, row.name))),
    table);
  const number = (label, value) => ({ label, number: true, value, show: row => countText(value(row)) });
  new Table(table, [
    { label: 'vat', value: row => row.name },
    number('first', row => row.first), number('last', row => row.last),
    number('growth', growthOf), number('most', row => row.most),
  ], { sort: 3, label: words }).setRows(rows);
};
