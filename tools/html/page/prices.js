// SPDX-License-Identifier: Apache-2.0

// Computrons against what they stand for: each live delivery a point, both axes logarithmic. The
// line is the usual ratio, the median; what is farther from it than 3.5 times the usual
// distance lies off the line.

const PRICES = [
  ['instructions', 'instructions', i => deliveries.instructions[i], countText],
  ['worker', 'time in the worker', i => deliveries.worker[i], value => timeText(value)],
  ['total', 'time in all', i => deliveries.total[i], value => timeText(value)],
  ['gas', 'gas', i => deliveries.gas[i], countText],
];
const FAR_OFF = 3.5;
const LEAST_SPREAD = Math.log(1.02); // as tools/stats/pairs.c has it
const PRICES_HEIGHT = 360;
const PRICES_EDGE = { left: 74, right: 12, top: 12, bottom: 36 };

const medianOf = values => {
  values.sort();
  const half = values.length >> 1;
  return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
};

const isPriced = i => !(deliveries.flags[i] & (FLAG.replay | FLAG.clock)) && deliveries.compute[i] > 0;

// The points, and how far each is from the line: { places, logs, middle, spread }.
const measurePrices = valueOf => {
  const places = [];
  for (let i = 0; i < deliveries.count; i++) if (isPriced(i) && valueOf(i) > 0) places.push(i);
  const logs = Float64Array.from(places, i => Math.log(valueOf(i) / deliveries.compute[i]));
  if (!places.length) return null;
  const middle = medianOf(logs.slice());
  const spread = Math.max(medianOf(logs.map(log => Math.abs(log - middle))), LEAST_SPREAD);
  return { places, logs, middle, spread };
};

class Prices {
  constructor({ canvas, by, table, words, onChoose }) {
    Object.assign(this, { canvas, by, table, words, onChoose });
    this.kinds = PRICES.filter(([, , valueOf]) => measurePrices(valueOf));
    if (!this.kinds.length) return;
    by.addEventListener('change', () => this.show());
    canvas.addEventListener('click', event => {
      const i = this.nearest(event.offsetX, event.offsetY);
      if (i >= 0) onChoose(i);
    });
    new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  show() {
    [, this.name, this.valueOf, this.text] = this.kinds.find(([name]) => name === this.by.value);
    this.found = measurePrices(this.valueOf);
    this.draw();
    const { places, logs, middle, spread } = this.found;
    const rows = places.map((i, at) => ({ i, off: logs[at] - middle })).filter(({ off }) => Math.abs(off) > FAR_OFF * spread);
    const ratio = Math.exp(middle);
    this.words.textContent = `${countText(places.length)} deliveries; usually a computron is ${this.name === 'instructions' || this.name === 'gas' ? `${threeDigits(ratio)} ${this.name}` : `${timeText(ratio)} of ${this.name}`}, within a factor of ${threeDigits(Math.exp(spread))} for half of them. ${countText(rows.length)} lie off the line.`;
    new Table(this.table, [
      { label: 'off the line', value: ({ i }) => deliveries.text[i], show: ({ i }) => make('button', { type: 'button', onclick: () => this.onChoose(i) }, deliveries.text[i]) },
      { label: 'vat', value: ({ i }) => vatName(deliveries.vat[i]) },
      { label: 'computrons', number: true, value: ({ i }) => deliveries.compute[i], show: ({ i }) => countText(deliveries.compute[i]) },
      { label: this.name, number: true, value: ({ i }) => this.valueOf(i), show: ({ i }) => this.text(this.valueOf(i)) },
      { label: 'times the usual', number: true, value: ({ off }) => Math.exp(off), show: ({ off }) => threeDigits(Math.exp(off)) },
    ], { sort: 4, label: 'Deliveries off the line' }).setRows(rows);
  }

  // Pixels of values; [least, greatest] of each axis with some room.
  scales() {
    const { left, right, top, bottom } = PRICES_EDGE;
    const ends = valueOf => {
      let [low, high] = [Infinity, -Infinity];
      for (const i of this.found.places) {
        low = Math.min(low, valueOf(i));
        high = Math.max(high, valueOf(i));
      }
      return [Math.log(low / 1.3), Math.log(high * 1.3)];
    };
    this.x = ends(i => deliveries.compute[i]);
    this.y = ends(this.valueOf);
    const width = this.canvas.clientWidth - left - right;
    const height = PRICES_HEIGHT - top - bottom;
    this.xOf = value => left + ((Math.log(value) - this.x[0]) / (this.x[1] - this.x[0])) * width;
    this.yOf = value => top + height - ((Math.log(value) - this.y[0]) / (this.y[1] - this.y[0])) * height;
  }

  nearest(x, y) {
    let best = -1;
    let far = 10;
    for (const i of this.found.places) {
      const away = Math.hypot(this.xOf(deliveries.compute[i]) - x, this.yOf(this.valueOf(i)) - y);
      if (away <= far) [best, far] = [i, away];
    }
    return best;
  }

  draw() {
    if (!this.found || !this.canvas.clientWidth) return;
    this.canvas.style.height = `${PRICES_HEIGHT}px`;
    const context = Timeline.prepare(this.canvas);
    const style = getComputedStyle(document.documentElement);
    this.colour = name => style.getPropertyValue(`--${name}`).trim();
    this.scales();
    this.drawAxes(context);
    this.drawLine(context);
    const { places, logs, middle, spread } = this.found;
    places.forEach((i, at) => {
      const off = Math.abs(logs[at] - middle) > FAR_OFF * spread;
      context.fillStyle = this.colour(off ? 'mark' : 'worker');
      context.globalAlpha = off ? 0.9 : 0.55;
      context.fillRect(this.xOf(deliveries.compute[i]) - 2, this.yOf(this.valueOf(i)) - 2, 4, 4);
    });
    context.globalAlpha = 1;
  }

  drawAxes(context) {
    const { left, right, top, bottom } = PRICES_EDGE;
    const width = this.canvas.clientWidth;
    const tens = ([low, high], most) => {
      const powers = [];
      for (let power = Math.floor(low / Math.LN10); power <= high / Math.LN10; power++) powers.push(10 ** power);
      const fits = value => Math.log(value) >= low && Math.log(value) <= high;
      if (powers.length <= 3) return powers.flatMap(power => [power, 2 * power, 5 * power]).filter(fits);
      return powers.filter(fits).filter((_, i) => i % Math.ceil(powers.length / most) === 0);
    };
    context.fillStyle = this.colour('line');
    for (const value of tens(this.x, 8)) context.fillRect(this.xOf(value), top, 1, PRICES_HEIGHT - top - bottom);
    for (const value of tens(this.y, 8)) context.fillRect(left, this.yOf(value), width - left - right, 1);
    context.fillStyle = this.colour('dim');
    context.textAlign = 'center';
    for (const value of tens(this.x, width < 500 ? 4 : 8)) context.fillText(shortText(value), this.xOf(value), PRICES_HEIGHT - bottom + 10);
    context.fillText('computrons of a delivery (logarithmic)', (left + width - right) / 2, PRICES_HEIGHT - 8);
    context.textAlign = 'right';
    for (const value of tens(this.y, 8)) context.fillText(this.text === countText ? shortText(value) : this.text(value), left - 6, this.yOf(value));
    context.save();
    context.translate(9, (top + PRICES_HEIGHT - bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText(this.name, 0, 0);
    context.restore();
    context.textAlign = 'left';
  }

  // The usual ratio, and how far from it is off the line.
  drawLine(context) {
    const { left, right, top, bottom } = PRICES_EDGE;
    const { middle, spread } = this.found;
    const [from, to] = this.x.map(log => Math.exp(log));
    context.save();
    context.beginPath();
    context.rect(left, top, this.canvas.clientWidth - left - right, PRICES_HEIGHT - top - bottom);
    context.clip();
    context.strokeStyle = this.colour('text');
    [[0, []], [FAR_OFF * spread, [4, 4]], [-FAR_OFF * spread, [4, 4]]].forEach(([off, dashes]) => {
      context.setLineDash(dashes);
      context.globalAlpha = dashes.length ? 0.5 : 1;
      context.beginPath();
      context.moveTo(this.xOf(from), this.yOf(from * Math.exp(middle + off)));
      context.lineTo(this.xOf(to), this.yOf(to * Math.exp(middle + off)));
      context.stroke();
    });
    context.restore();
  }
}
