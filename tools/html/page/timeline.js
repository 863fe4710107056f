// SPDX-License-Identifier: Apache-2.0

// The timeline: blocks, cranks, all deliveries together, and a row for each vat.
//
// A delivery that is some pixels wide is drawn span by span. Narrower ones are added up in bins,
// one per pixel of a row, and each bin is drawn as a stack of the kinds of time in it. So drawing
// costs one pass over what is in view.

const ROWS_MOST = 40; // the vats with most time have a row each, the others one together
const DETAIL_FROM = 6; // pixels from which on a delivery shows its spans
const NARROWEST = 0.7; // pixels of a span that is drawn by itself
let NAMES_WIDTH = 130; // less if space is short
const NARROW = 600;
const AXIS_HEIGHT = 22;
const GROUP_HEIGHT = 20;
const ALL_HEIGHT = 54;
const ROW_HEIGHT = 38;
const IDLE_HEIGHT = 13; // of a row with nothing in view
const ARROWS_MOST = 300;
const HEAD_HEIGHT = 14; // of a row, above its bars: deliveries' names
const BAR_HEIGHT = 20;
const CALL_HEIGHT = 11; // of a level of functions, below a row's bars
const CALLS_FROM = 60; // pixels from which on a delivery shows its functions
const CALLS_MOST = 40; // levels
const FONT = '11px system-ui, "DejaVu Sans", sans-serif';
const SHORTEST_VIEW = 100; // nanoseconds
const NOTE_WIDTH = 120;
const NOTE_WORDS = { kernel: 'new kernel process', clock: 'clock was set' };

// Bins hold these, in this order, which is also how they stack.
const LAYERS = ['worker', 'pipe', 'kernel', 'unknown', 'no-cpu'];
const LAYER_OF_SPAN = [1, 0, 1, 2, 1, 1, 3, 3];
const COLOUR_OF_SPAN = ['pipe-down', 'worker', 'pipe', 'kernel', 'pipe-down', 'pipe', 'wait', 'unknown'];

// The kinds of time in each pixel: of all deliveries in line 0, of the rows in the lines from 1 on.
class Bins {
  constructor(from, scale, width, rows) {
    Object.assign(this, { from, scale, columns: Math.ceil(width) });
    this.cells = new Float32Array((rows + 1) * this.columns * LAYERS.length);
    this.sums = LAYERS.map(() => 0); // pixels
  }

  add(line, layer, from, to) {
    const left = Math.max((from - this.from) * this.scale, 0);
    const right = Math.min((to - this.from) * this.scale, this.columns);
    const base = line * this.columns * LAYERS.length + layer;
    for (let column = Math.floor(left); column < right; column++) {
      this.cells[base + column * LAYERS.length] += Math.min(right, column + 1) - Math.max(left, column);
    }
    if (line === 0 && right > left) this.sums[layer] += right - left;
  }
}

class Timeline {
  constructor({ canvas, overview, tip, range, onSelect, onView, onInterval }) {
    Object.assign(this, { canvas, overview, tip, range, onSelect, onView, onInterval });
    this.interval = null; // chosen: { from, to }
    this.found = []; // what a search found, in the order of time
    this.selected = -1;
    this.request = -1;
    overall.phases.sort((a, b) => b[3] - a[3]);
    this.assignRows();
    this.setAxis('clock');
    this.listen();
    new ResizeObserver(() => this.redraw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }

  // ---- layout ----

  assignRows() {
    const { count, vat, total } = deliveries;
    const times = new Float64Array(overall.vats.length);
    const seen = new Uint32Array(overall.vats.length);
    for (let i = 0; i < count; i++) {
      times[vat[i]] += total[i];
      seen[vat[i]]++;
    }
    const vats = [...times.keys()].filter(number => seen[number]).sort((a, b) => times[b] - times[a]);
    const alone = vats.length > ROWS_MOST ? ROWS_MOST - 1 : vats.length;
    this.rowOfVat = new Uint32Array(overall.vats.length).fill(alone);
    vats.slice(0, alone).forEach((number, row) => (this.rowOfVat[number] = row));
    this.rowNames = vats.slice(0, alone).map(vatName);
    if (alone < vats.length) this.rowNames.push(`${vats.length - alone} other vats`);
    this.groups = [{ name: 'cranks', values: deliveries.crank, word: 'crank' }];
    if (blocks.length) this.groups.unshift({ name: 'blocks', values: deliveries.block, word: 'block' });
    if (overall.phases.length) this.groups.unshift({ name: 'phases', phases: true });
    this.allTop = AXIS_HEIGHT + GROUP_HEIGHT * this.groups.length;
    this.rowsTop = this.allTop + ALL_HEIGHT + 8;
    this.placeRows(this.rowNames.map(() => true));
  }

  // As wide as the longest name needs, within reason.
  namesWidth() {
    const context = this.canvas.getContext('2d');
    context.font = FONT;
    const longest = Math.max(0, ...this.rowNames.map(name => context.measureText(name).width));
    return Math.min(Math.max(Math.ceil(longest) + 8, 130), 240);
  }

  // Rows in which nothing is in view are low, so that the others come together.
  placeRows(busy) {
    let top = this.rowsTop;
    this.idle = busy.map(is => !is);
    this.rowHeights = busy.map((is, row) => (is ? ROW_HEIGHT + CALL_HEIGHT * (this.levels?.[row] ?? 0) : IDLE_HEIGHT));
    this.rowTops = this.rowHeights.map(rowHeight => {
      const at = top;
      top += rowHeight;
      return at;
    });
    const height = `${top + 4}px`;
    if (this.canvas.style.height !== height) this.canvas.style.height = height;
  }

  collapse(first, end) {
    const busy = this.rowNames.map(() => false);
    this.levels = this.rowNames.map(() => 0);
    for (let position = first; position < end; position++) {
      const i = deliveries.order[position];
      if (this.at[i] + deliveries.total[i] < this.from) continue;
      const row = this.rowOfVat[deliveries.vat[i]];
      busy[row] = true;
      this.levels[row] = Math.max(this.levels[row], this.levelsOf(i));
    }
    if (this.selected >= 0) busy[this.rowOfVat[deliveries.vat[this.selected]]] = true;
    this.placeRows(busy);
  }

  // The functions of a delivery that are wide enough to be drawn.
  callsIn(i) {
    if (deliveries.total[i] * this.scale < CALLS_FROM) return [];
    return (callSpans(i)?.spans ?? []).filter(({ from, to, level }) =>
      level < CALLS_MOST && (to - from) * this.scale >= NARROWEST && this.at[i] + to >= this.from && this.at[i] + from <= this.to);
  }

  levelsOf(i) {
    return this.callsIn(i).reduce((deepest, { level }) => Math.max(deepest, level + 1), 0);
  }

  // The row at a height; -1: none, or above the rows.
  rowAt(y) {
    return this.rowTops.findIndex((top, row) => y >= top && y < top + this.rowHeights[row]);
  }

  // 'clock': deliveries are at their clock times; 'packed': each directly follows the previous one.
  setAxis(axis) {
    const { count, start, total, order } = deliveries;
    if (this.interval) this.chooseInterval(null);
    this.axis = axis;
    this.at = axis === 'clock' ? start : new Float64Array(count);
    this.latest = new Float64Array(count); // by position: the latest end up to there
    let end = -Infinity;
    let packed = 0;
    order.forEach((i, position) => {
      if (axis === 'packed') {
        this.at[i] = packed;
        packed += total[i];
      }
      end = Math.max(end, this.at[i] + total[i]);
      this.latest[position] = end;
    });
    this.first = count ? this.at[order[0]] : 0;
    this.last = count ? Math.max(end, this.first + 1000) : 1000;
    const margin = (this.last - this.first) * 0.01;
    this.setView(this.first - margin, this.last + margin);
  }

  setView(from, to) {
    const whole = this.last - this.first;
    const length = Math.min(Math.max(to - from, SHORTEST_VIEW), whole * 1.1);
    const middle = Math.min(Math.max((from + to) / 2, this.first), this.last);
    this.from = middle - length / 2;
    this.to = middle + length / 2;
    this.redraw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.setView(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  move(share) {
    const step = (this.to - this.from) * share;
    this.setView(this.from + step, this.to + step);
  }

  // The first position whose value in `values` is above `time`; they rise.
  static above(length, valueAt, time) {
    let low = 0;
    let high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (valueAt(middle) > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Positions in deliveries.order of what is in [from, to].
  visible(from, to) {
    const { count, order } = deliveries;
    return [
      Timeline.above(count, position => this.latest[position], from),
      Timeline.above(count, position => this.at[order[position]], to),
    ];
  }

  // The delivery at a moment, in a row if one is given.
  deliveryAt(time, row) {
    const slack = ((this.to - this.from) / this.width) * 2;
    const [first, end] = this.visible(time - slack, time + slack);
    let best = -1;
    let nearest = slack;
    for (let position = first; position < end; position++) {
      const i = deliveries.order[position];
      if (row !== undefined && this.rowOfVat[deliveries.vat[i]] !== row) continue;
      const from = this.at[i];
      const far = Math.max(from - time, time - from - deliveries.total[i], 0);
      if (far <= nearest) {
        nearest = far;
        best = i;
      }
    }
    return best;
  }

  // ---- choosing ----

  select(i, request = -1, notify = true) {
    this.selected = i;
    this.request = request;
    this.redraw();
    if (notify) this.onSelect(i, request);
  }

  zoomTo(i, request = -1) {
    const { from, to } = request >= 0 ? spansOf(i).requests[request] : { from: 0, to: deliveries.total[i] };
    const margin = Math.max((to - from) * 0.15, SHORTEST_VIEW);
    this.setView(this.at[i] + from - margin, this.at[i] + to + margin);
  }

  // First the delivery, which leaves the interval that it is in, then the interval.
  chooseNone() {
    if (this.selected < 0 && this.interval) this.chooseInterval(null);
    else this.select(-1);
  }

  zoomToChosen() {
    if (this.selected >= 0) this.zoomTo(this.selected, this.request);
    else if (this.interval) this.setView(this.interval.from, this.interval.to);
  }

  show(i, request = -1) {
    this.select(i, request);
    this.zoomTo(i, request);
  }

  chooseInterval(interval) {
    this.interval = interval;
    this.redraw();
    this.onInterval(interval);
  }

  // Scrolls the selected delivery into view without zooming.
  reveal() {
    const i = this.selected;
    const span = this.request >= 0 ? spansOf(i).requests[this.request] : { from: 0, to: deliveries.total[i] };
    const from = this.at[i] + span.from;
    const to = this.at[i] + span.to;
    if (from >= this.from && to <= this.to) return;
    const length = Math.max(this.to - this.from, (to - from) * 1.3);
    this.setView((from + to - length) / 2, (from + to + length) / 2);
  }

  stepDelivery(step) {
    const { count, order } = deliveries;
    if (!count) return;
    let position;
    if (this.selected >= 0) position = order.indexOf(this.selected) + step;
    else position = this.visible(this.from, this.to)[0];
    this.select(order[Math.min(Math.max(position, 0), count - 1)]);
    this.reveal();
  }

  markFound(found) {
    this.found = found;
    this.redraw();
  }

  // To the next that was found, or the previous one; returns its place in `found`.
  stepFound(step) {
    const { at, found } = this;
    if (!found.length) return -1;
    const time = this.selected >= 0 ? at[this.selected] : step > 0 ? -Infinity : Infinity;
    let place = step > 0 ? found.findIndex(i => at[i] > time) : found.findLastIndex(i => at[i] < time);
    if (place < 0) place = step > 0 ? 0 : found.length - 1;
    this.show(found[place]);
    return place;
  }

  stepRequest(step) {
    if (this.selected < 0) this.stepDelivery(0);
    if (this.selected < 0) return;
    const { requests } = spansOf(this.selected);
    if (!requests.length) return;
    this.select(this.selected, Math.min(Math.max(this.request + step, 0), requests.length - 1));
    this.reveal();
  }

  // ---- drawing ----

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colours = {};
    for (const name of ['worker', 'pipe', 'pipe-down', 'kernel', 'wait', 'unknown', 'no-cpu', 'text', 'dim',
      'line', 'panel', 'hover', 'mark', 'on-colour', 'accent']) {
      this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    }
  }

  static prepare(canvas) {
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = canvas;
    canvas.width = Math.round(clientWidth * ratio);
    canvas.height = Math.round(clientHeight * ratio);
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    context.font = FONT;
    context.textBaseline = 'middle';
    return context;
  }

  draw() {
    const started = performance.now();
    this.readColours();
    NAMES_WIDTH = this.canvas.clientWidth < NARROW ? 92 : this.namesWidth();
    const [first, end] = this.visible(this.from, this.to);
    this.width = Math.max(this.canvas.clientWidth - NAMES_WIDTH, 50);
    this.scale = this.width / (this.to - this.from);
    // Not while the mouse drags something.
    if (!this.drag) this.collapse(first, end);
    this.context = Timeline.prepare(this.canvas);

    this.drawFrame();
    this.context.save();
    this.context.beginPath();
    this.context.rect(NAMES_WIDTH, 0, this.width, this.canvas.clientHeight);
    this.context.clip();
    this.drawGroups(first, end);
    this.drawDeliveries(first, end);
    this.drawNotes();
    this.drawFound();
    this.drawArrows();
    this.drawSelected();
    this.drawInterval();
    this.context.restore();
    this.drawOverview();
    this.describeView();
    this.onView();
    this.canvas.dataset.drawn = (performance.now() - started).toFixed(1);
  }

  // Converts a time to a pixel, and back.
  x(time) {
    return NAMES_WIDTH + (time - this.from) * this.scale;
  }

  timeAt(x) {
    return this.from + (x - NAMES_WIDTH) / this.scale;
  }

  rowTop(row) {
    return this.rowTops[row];
  }

  write(text, x, y, width, colour) {
    const { context } = this;
    if (width < 14) return;
    let shown = text;
    if (context.measureText(text).width > width) {
      const fits = Math.floor((text.length * width) / context.measureText(text).width) - 1;
      if (fits < 2) return;
      shown = `${text.slice(0, fits)}…`;
    }
    context.fillStyle = colour;
    context.fillText(shown, x, y, width);
  }

  drawFrame() {
    const { context, colours } = this;
    const height = this.canvas.clientHeight;
    const right = NAMES_WIDTH + this.width;
    const utc = this.axis === 'clock';
    const step = Timeline.tickStep((this.to - this.from) / (this.width / (utc ? 125 : 110)), utc);
    // Ticks of the clock are at its round times, not at those since the first delivery.
    const phase = utc ? Number(BigInt(overall.zero) % BigInt(step)) : 0;
    context.textAlign = 'left';
    for (let tick = Math.ceil((this.from + phase) / step) * step - phase; tick <= this.to; tick += step) {
      const x = this.x(tick);
      context.fillStyle = colours.line;
      context.fillRect(x, 0, 1, height);
      if (x + 24 < right) this.write(utc ? Timeline.utcText(tick, step) : Timeline.tickText(tick, step), x + 4, AXIS_HEIGHT / 2, right - x - 4, colours.dim);
    }
    const day = clockText(Math.max(this.from, 0)).slice(NAMES_WIDTH < 100 ? 5 : 0, 10);
    if (utc) this.write(`${day} UTC`, 2, AXIS_HEIGHT / 2, NAMES_WIDTH - 4, colours.dim);
    const names = [
      ...this.groups.map((group, i) => [group.name, AXIS_HEIGHT + GROUP_HEIGHT * (i + 0.5)]),
      ['all deliveries', this.allTop + ALL_HEIGHT / 2],
    ];
    for (const [name, y] of names) this.write(name, 2, y, NAMES_WIDTH - 4, colours.text);
    this.rowNames.forEach((name, row) => this.writeRowName(name, row));
    context.fillStyle = colours.line;
    context.fillRect(0, this.rowsTop - 5, right, 1);
  }

  // In two lines if one is too short: the vat's number and its name.
  writeRowName(name, row) {
    const { context, colours } = this;
    const width = NAMES_WIDTH - 4;
    const top = this.rowTop(row);
    // An idle row has nothing else, so its name gets the whole row.
    if (this.idle[row]) {
      this.write(name, 2, top + IDLE_HEIGHT / 2, NAMES_WIDTH + this.width, colours.dim);
      return;
    }
    if (context.measureText(name).width > width && name.includes(' ')) {
      const space = name.indexOf(' ');
      this.write(name.slice(0, space), 2, top + HEAD_HEIGHT + 3, width, colours.text);
      this.write(name.slice(space + 1), 2, top + HEAD_HEIGHT + 16, width, colours.text);
    } else {
      this.write(name, 2, top + HEAD_HEIGHT + BAR_HEIGHT / 2, width, colours.text);
    }
  }

  // 1, 2 or 5 times a power of ten; of the clock from a minute on what divides its hours and days.
  static tickStep(least, utc) {
    const MINUTE = 6e10;
    if (utc && least > 3e10) {
      return [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map(minutes => minutes * MINUTE).find(step => step >= least) ??
        Math.ceil(least / (1440 * MINUTE)) * 1440 * MINUTE;
    }
    if (utc && least > 2e10) return 3e10;
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return power * [1, 2, 5, 10].find(factor => factor * power >= least);
  }

  // "00:03:41", with as many decimals as the step needs; below a microsecond only the decimals.
  static utcText(time, step) {
    const moment = BigInt(overall.zero) + BigInt(Math.round(time));
    const clock = clockText(time).slice(11, 19);
    if (step >= 1440 * 6e10) return clockText(time).slice(0, 10);
    if (step >= 1e9) return clock;
    const decimals = (moment % 1000000000n).toString().padStart(9, '0');
    if (step >= 1e6) return `${clock}.${decimals.slice(0, 3)}`;
    return `${clock.slice(6)}.${decimals.slice(0, 3)} ${decimals.slice(3, 6)}${step < 1e3 ? ` ${decimals.slice(6)}` : ''}`;
  }

  static tickText(time, step) {
    const [unit, size] =
      step >= 1e9 ? ['s', 1e9] : step >= 1e6 ? ['ms', 1e6] : step >= 1e3 ? ['µs', 1e3] : ['ns', 1];
    const digits = Math.round(time / step) * (step / size) || 0; // never -0
    return `${digits.toLocaleString('en-US', { maximumFractionDigits: 0 })} ${unit}`;
  }

  // Blocks and cranks: deliveries in a row that have the same number.
  drawGroups(first, end) {
    this.groups.forEach(({ values, word, phases }, line) => {
      const top = AXIS_HEIGHT + GROUP_HEIGHT * line;
      if (phases) {
        this.drawPhases(top);
        return;
      }
      let open = null;
      let painted = -1;
      const close = () => {
        if (open) painted = this.drawGroup(open, word, top, painted);
      };
      for (let position = first; position < end; position++) {
        const i = deliveries.order[position];
        const value = values[i];
        if (Number.isNaN(value)) continue;
        const to = this.at[i] + deliveries.total[i];
        if (open && open.value === value) {
          open.to = Math.max(open.to, to);
        } else {
          close();
          open = { value, from: this.at[i], to };
        }
      }
      close();
    });
  }

  // Long ones first, so that those within them are drawn on top. They are only on the clock axis.
  drawPhases(top) {
    if (this.axis !== 'clock') return;
    for (const [name, vat, start, total] of overall.phases) {
      if (start > this.to || start + total < this.from) continue;
      const left = Math.max(this.x(start), NAMES_WIDTH - 1);
      const right = Math.min(this.x(start + total), NAMES_WIDTH + this.width + 1);
      const width = Math.max(right - left, 1);
      this.context.fillStyle = this.colours[width > 3 ? 'hover' : 'line'];
      this.context.fillRect(left, top + 1, width, GROUP_HEIGHT - 4);
      if (width <= 3) continue;
      this.context.strokeStyle = this.colours.line;
      this.context.strokeRect(left + 0.5, top + 1.5, width - 1, GROUP_HEIGHT - 5);
      this.write(vat ? `${name} ${vat}` : name, left + 4, top + GROUP_HEIGHT / 2 - 1, width - 7, this.colours.text);
    }
  }

  // Groups narrower than a pixel share one; everything up to `painted` is drawn.
  drawGroup({ value, from, to }, word, top, painted) {
    const left = this.x(from);
    const width = Math.max(this.x(to) - left, 1);
    if (left + width < painted + 1) return painted;
    this.context.fillStyle = this.colours[width > 3 ? 'hover' : 'line'];
    this.context.fillRect(left, top + 1, width, GROUP_HEIGHT - 4);
    if (width > 3) {
      this.context.strokeStyle = this.colours.line;
      this.context.strokeRect(left + 0.5, top + 1.5, width - 1, GROUP_HEIGHT - 5);
      const x = Math.max(left, NAMES_WIDTH) + 4;
      this.write(`${word} ${value}`, x, top + GROUP_HEIGHT / 2 - 1, left + width - x - 3, this.colours.text);
    }
    return left + width;
  }

  drawDeliveries(first, end) {
    const rows = this.rowNames.length;
    const bins = new Bins(this.from, this.scale, this.width, rows);
    const wide = [];
    this.count = 0;
    for (let position = first; position < end; position++) {
      const i = deliveries.order[position];
      if (this.at[i] + deliveries.total[i] < this.from) continue;
      this.count++;
      const isWide = deliveries.total[i] * this.scale >= DETAIL_FROM;
      if (isWide) wide.push(i);
      // Which of its spans had the waits for a CPU is not known.
      if (isWide && waitOf(i) === 0) {
        this.binSpans(bins, i);
      } else {
        this.binWhole(bins, i);
      }
    }
    this.paintBins(bins, 0, this.allTop + ALL_HEIGHT, ALL_HEIGHT);
    for (let row = 0; row < rows; row++) {
      if (!this.idle[row]) this.paintBins(bins, row + 1, this.rowTop(row) + HEAD_HEIGHT + BAR_HEIGHT, BAR_HEIGHT);
    }
    this.calls = 0;
    for (const i of wide) {
      this.drawWide(i);
      this.drawCalls(i);
    }
    this.sums = bins.sums;
  }

  // Adds the spans of a row that drawWide() skips because they are too narrow.
  binSpans(bins, i) {
    const { spans } = spansOf(i);
    const line = this.rowOfVat[deliveries.vat[i]] + 1;
    if (!spans.length) this.binWhole(bins, i);
    for (const span of spans) {
      const from = this.at[i] + span.from;
      const to = this.at[i] + span.to;
      if (to < this.from || from > this.to) continue;
      const layer = LAYER_OF_SPAN[span.kind];
      bins.add(0, layer, from, to);
      if ((to - from) * this.scale < NARROWEST) bins.add(line, layer, from, to);
    }
  }

  // Adds the sums of a delivery that is narrow or has no spans, one after another.
  binWhole(bins, i) {
    const line = this.rowOfVat[deliveries.vat[i]] + 1;
    const parts = partsOf(i);
    let from = this.at[i];
    for (let layer = 0; layer < LAYERS.length; layer++) {
      if (!(parts[layer] > 0)) continue;
      bins.add(0, layer, from, from + parts[layer]);
      bins.add(line, layer, from, from + parts[layer]);
      from += parts[layer];
    }
  }

  // Stacks from `bottom` upwards; the fullest pixel in view is as high as the row.
  paintBins({ cells, columns }, line, bottom, height, context = this.context) {
    const width = LAYERS.length;
    const base = line * columns * width;
    const sums = new Float32Array(columns);
    const risen = new Float32Array(columns);
    let fullest = 0;
    for (let column = 0; column < columns; column++) {
      const at = base + column * width;
      for (let layer = 0; layer < width; layer++) sums[column] += cells[at + layer];
      // Deliveries within deliveries fill a pixel more than once.
      fullest = Math.max(fullest, Math.min(sums[column], 1));
    }
    LAYERS.forEach((name, layer) => {
      context.fillStyle = this.colours[name];
      for (let column = 0; column < columns; column++) {
        const taken = cells[base + column * width + layer];
        if (taken <= 0) continue;
        const stack = Math.max((Math.min(sums[column], 1) / fullest) * height, 2);
        const tall = stack * (taken / sums[column]);
        context.fillRect(NAMES_WIDTH + column, bottom - risen[column] - tall, 1, tall);
        risen[column] += tall;
      }
    });
  }

  // Draws the delivery's name, its spans, and its requests' words.
  drawWide(i) {
    const { context, colours } = this;
    const top = this.rowTop(this.rowOfVat[deliveries.vat[i]]);
    const zero = this.x(this.at[i]);
    const right = zero + deliveries.total[i] * this.scale;
    const { spans, requests } = spansOf(i);
    for (const { kind, from, to } of spans) {
      const left = zero + from * this.scale;
      const width = (to - from) * this.scale;
      if (width < NARROWEST || left > NAMES_WIDTH + this.width || left + width < NAMES_WIDTH) continue;
      context.fillStyle = colours[COLOUR_OF_SPAN[kind]];
      context.fillRect(left, top + HEAD_HEIGHT, width, BAR_HEIGHT);
    }
    for (const { words, from, to, unseen } of requests) {
      // The kernel's time is known, but not its place in the delivery: a bar of half the height.
      if (unseen) {
        context.fillStyle = colours.kernel;
        context.fillRect(zero + from * this.scale, top + HEAD_HEIGHT + BAR_HEIGHT / 2, Math.max((to - from) * this.scale, 1), BAR_HEIGHT / 2);
      }
      const left = Math.max(zero + from * this.scale, NAMES_WIDTH);
      const end = zero + to * this.scale;
      if (end < left + 8) continue;
      context.fillStyle = colours.panel;
      context.fillRect(zero + from * this.scale, top + HEAD_HEIGHT, 1, BAR_HEIGHT);
      this.write(words, left + 4, top + HEAD_HEIGHT + BAR_HEIGHT / 2, end - left - 7, colours['on-colour']);
    }
    const failed = deliveries.flags[i] & FLAG.error;
    context.fillStyle = colours[failed ? 'mark' : 'dim'];
    context.fillRect(zero, top + HEAD_HEIGHT - 2, Math.max(right - zero - 1, 1), failed ? 2 : 1);
    const x = Math.max(zero, NAMES_WIDTH) + 2;
    this.write(deliveries.text[i], x, top + HEAD_HEIGHT / 2 - 1, right - x - 4, colours.text);
  }

  // Its functions, one level below the other, under the spans of its worker.
  drawCalls(i) {
    const { context, colours } = this;
    const row = this.rowOfVat[deliveries.vat[i]];
    const zero = this.x(this.at[i]);
    for (const { name, from, to, level } of this.callsIn(i)) {
      const top = this.rowTop(row) + ROW_HEIGHT + CALL_HEIGHT * level - 2;
      if (level >= this.levels[row]) continue;
      const left = Math.max(zero + from * this.scale, NAMES_WIDTH);
      const right = Math.min(zero + to * this.scale, NAMES_WIDTH + this.width);
      context.fillStyle = colours.worker;
      context.fillRect(left, top, Math.max(right - left - 0.5, NARROWEST), CALL_HEIGHT - 1);
      this.write(name, left + 3, top + CALL_HEIGHT / 2, right - left - 6, colours['on-colour']);
      this.calls++;
    }
  }

  // The function at a place of a row; undefined: none.
  callAt(i, row, time, y) {
    const level = Math.floor((y - this.rowTop(row) - ROW_HEIGHT + 2) / CALL_HEIGHT);
    const inside = time - this.at[i];
    return this.callsIn(i).find(call => call.level === level && call.from <= inside && inside < call.to);
  }

  // Marks the start of a new kernel process, or a change of the clock: a tick in the axis, and if
  // space permits, a line and words.
  drawNotes() {
    const { context, colours } = this;
    const places = overall.notes
      .filter(([, before]) => before < deliveries.count)
      .map(([kind, before]) => [kind, this.x(this.at[before])])
      .filter(([, x]) => x >= NAMES_WIDTH && x <= NAMES_WIDTH + this.width);
    context.fillStyle = colours.mark;
    places.forEach(([kind, x], i) => {
      const space = (places[i + 1]?.[1] ?? NAMES_WIDTH + this.width) - x;
      const high = space > NOTE_WIDTH ? this.canvas.clientHeight : 6;
      context.fillRect(x - 1, AXIS_HEIGHT - 6, 1, high);
      if (space > NOTE_WIDTH) this.write(NOTE_WORDS[kind], x + 3, this.allTop + 6, space - 3, colours.mark);
    });
  }

  // From the send that caused the chosen delivery to it, and from it to what it caused.
  drawArrows() {
    const i = this.selected;
    if (i < 0) return;
    const cause = causeOf(i);
    this.context.strokeStyle = this.context.fillStyle = this.colours.accent;
    if (cause >= 0) this.drawArrow(cause, i);
    for (const effect of effectsOf(i).slice(0, ARROWS_MOST)) this.drawArrow(i, effect);
  }

  // The arrow starts when the delivery was sent; on the packed axis, at its sender's end.
  drawArrow(from, to) {
    const { context } = this;
    const queued = deliveries.queued[to];
    const sent = this.axis === 'clock' && !Number.isNaN(queued) ? this.at[to] - queued : this.at[from] + deliveries.total[from];
    const middle = i => {
      const row = this.rowOfVat[deliveries.vat[i]];
      return this.rowTop(row) + (this.idle[row] ? IDLE_HEIGHT / 2 : HEAD_HEIGHT + BAR_HEIGHT / 2);
    };
    const [x1, y1, x2, y2] = [this.x(sent), middle(from), this.x(this.at[to]), middle(to)];
    const bend = Math.max((x2 - x1) / 2, 14);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 4, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 7, y2 - 4);
    context.lineTo(x2 - 7, y2 + 4);
    context.fill();
    context.lineWidth = 1;
  }

  drawSelected() {
    const i = this.selected;
    if (i < 0) return;
    const { requests } = this.request >= 0 ? spansOf(i) : { requests: [] };
    const span = requests[this.request] ?? { from: 0, to: deliveries.total[i] };
    const left = this.x(this.at[i] + span.from);
    const width = Math.max((span.to - span.from) * this.scale, 2);
    const top = this.rowTop(this.rowOfVat[deliveries.vat[i]]) + HEAD_HEIGHT;
    this.context.strokeStyle = this.colours.text;
    this.context.lineWidth = 2;
    this.context.strokeRect(left - 1, top - 1, width + 2, BAR_HEIGHT + 2);
    this.context.lineWidth = 1;
  }

  // A tick above each delivery that was found, at most one a pixel of a row.
  drawFound() {
    const painted = new Map();
    this.context.fillStyle = this.colours.accent;
    for (const i of this.found) {
      const row = this.rowOfVat[deliveries.vat[i]];
      const left = this.x(this.at[i]);
      const width = Math.max(deliveries.total[i] * this.scale, 2);
      if (left + width < NAMES_WIDTH || left > NAMES_WIDTH + this.width || left < (painted.get(row) ?? -1)) continue;
      painted.set(row, left + 1);
      const top = this.rowTop(row);
      this.context.fillRect(left, this.idle[row] ? top : top + HEAD_HEIGHT + BAR_HEIGHT + 1, width, 3);
    }
  }

  drawInterval() {
    if (!this.interval) return;
    const [left, right] = [this.x(this.interval.from), this.x(this.interval.to)];
    const { context, colours } = this;
    context.fillStyle = context.strokeStyle = colours.accent;
    context.globalAlpha = 0.12;
    context.fillRect(left, AXIS_HEIGHT, right - left, this.canvas.clientHeight);
    context.globalAlpha = 1;
    context.strokeRect(left, AXIS_HEIGHT, Math.max(right - left, 1), this.canvas.clientHeight);
  }

  // The overview as an image, drawn again if its size, axis or colours change.
  overviewPicture(columns, height) {
    const key = [columns, height, devicePixelRatio, this.axis, this.colours.panel].join();
    if (this.picture?.key === key) return this.picture.canvas;
    const bins = new Bins(this.first, columns / (this.last - this.first), columns, this.rowNames.length);
    for (let i = 0; i < deliveries.count; i++) this.binWhole(bins, i);
    const canvas = document.createElement('canvas');
    canvas.width = this.overview.width;
    canvas.height = this.overview.height;
    const context = canvas.getContext('2d');
    context.scale(devicePixelRatio, devicePixelRatio);
    this.paintBins(bins, 0, height, height - 4, context);
    this.picture = { key, canvas };
    return canvas;
  }

  // The whole, always, with what is in view marked.
  drawOverview() {
    const context = Timeline.prepare(this.overview);
    const { clientWidth, clientHeight: height } = this.overview;
    const columns = this.width;
    this.write.call({ context }, 'whole', 2, height / 2, NAMES_WIDTH - 10, this.colours.dim);
    context.drawImage(this.overviewPicture(columns, height), 0, 0, clientWidth, height);
    const whole = columns / (this.last - this.first);
    const left = Math.max((this.from - this.first) * whole, 0);
    const right = Math.min((this.to - this.first) * whole, columns);
    context.fillStyle = this.colours.panel;
    context.globalAlpha = 0.65;
    context.fillRect(NAMES_WIDTH, 0, left, height);
    context.fillRect(NAMES_WIDTH + right, 0, columns - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle = this.colours.accent;
    context.strokeRect(NAMES_WIDTH + left + 0.5, 0.5, Math.max(right - left - 1, 2), height - 1);
    for (const i of this.found) context.fillRect(NAMES_WIDTH + (this.at[i] - this.first) * whole, height - 3, 1.5, 3);
  }

  // Describes the view in words, and in attributes for screen readers.
  describeView() {
    const { count, sums } = this;
    const sum = sums.reduce((a, b) => a + b, 0) || 1;
    const parts = PARTS.map(([, name], i) => `${name} ${shareText(sums[i] / sum)}`).filter((_, i) => i < 4 || sums[i] > 0);
    this.range.value = `${timeText(this.to - this.from)} in view, deliveries ${countText(count)}: ${parts.join(', ')}`;
    Object.assign(this.canvas.dataset, {
      from: this.from, to: this.to, count, selected: this.selected, request: this.request, calls: this.calls,
    });
  }

  // ---- mouse, wheel, keys ----

  listen() {
    const { canvas, overview } = this;
    canvas.addEventListener('pointerdown', event => this.press(event));
    canvas.addEventListener('pointermove', event => (this.drag ? this.dragTo(event) : this.hover(event)));
    canvas.addEventListener('pointerup', event => this.release(event));
    canvas.addEventListener('pointercancel', () => (this.drag = null));
    canvas.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
      this.over = -1;
    });
    canvas.addEventListener('dblclick', event => {
      const { i, request } = this.under(event);
      if (i >= 0) this.zoomTo(i, request);
    });
    canvas.addEventListener('wheel', event => this.wheel(event), { passive: false });
    canvas.addEventListener('keydown', event => this.key(event));
    const jump = event => {
      if (!(event.buttons & 1)) return;
      const share = (event.offsetX - NAMES_WIDTH) / this.width;
      const length = (this.to - this.from) / 2;
      const middle = this.first + share * (this.last - this.first);
      this.setView(middle - length, middle + length);
    };
    overview.addEventListener('pointerdown', jump);
    overview.addEventListener('pointermove', jump);
  }

  // The delivery and request at the pointer; -1: none.
  under({ offsetX, offsetY }) {
    const row = this.rowAt(offsetY);
    const time = this.timeAt(offsetX);
    if (offsetX < NAMES_WIDTH || offsetY < this.allTop) return { i: -1, request: -1 };
    const i = this.deliveryAt(time, row >= 0 ? row : undefined);
    let request = -1;
    if (i >= 0 && deliveries.total[i] * this.scale >= DETAIL_FROM) {
      const inside = time - this.at[i];
      request = spansOf(i).requests.findIndex(({ from, to }) => from <= inside && inside < to);
    }
    return { i, request };
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, from: this.from, to: this.to, choose: event.shiftKey, moved: false };
    this.tip.hidden = true;
  }

  dragTo(event) {
    const { drag } = this;
    const far = event.offsetX - drag.x;
    if (Math.abs(far) > 3) drag.moved = true;
    if (!drag.moved) return;
    if (drag.choose) {
      this.draw();
      this.context.globalAlpha = 0.25;
      this.context.fillStyle = this.colours.accent;
      this.context.fillRect(drag.x, 0, far, this.canvas.clientHeight);
      this.context.globalAlpha = 1;
    } else {
      this.setView(drag.from - far / this.scale, drag.to - far / this.scale);
    }
  }

  release(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    if (!drag.moved) {
      const { i, request } = this.under(event);
      this.select(i, request);
    } else if (drag.choose) {
      const [from, to] = [this.timeAt(drag.x), this.timeAt(event.offsetX)].sort((a, b) => a - b);
      this.chooseInterval({ from, to });
    }
  }

  wheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move(event.deltaX / this.width);
    else this.zoom(Math.exp(event.deltaY / 400), this.timeAt(event.offsetX));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowLeft: () => this.move(-0.2),
      ArrowRight: () => this.move(0.2),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      0: () => this.whole(),
      n: () => this.stepDelivery(1),
      p: () => this.stepDelivery(-1),
      '.': () => this.stepRequest(1),
      ',': () => this.stepRequest(-1),
      w: () => this.zoom(0.7, this.pointed()),
      s: () => this.zoom(1 / 0.7, this.pointed()),
      a: () => this.move(-0.2),
      d: () => this.move(0.2),
      m: () => this.chooseInterval({ from: this.from, to: this.to }),
      Escape: () => this.chooseNone(),
      Enter: () => this.zoomToChosen(),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // The time under the mouse, to zoom around it; without a mouse, the middle.
  pointed() {
    return this.over >= NAMES_WIDTH ? this.timeAt(this.over) : undefined;
  }

  whole() {
    this.setView(this.first, this.last);
    this.zoom(1.02);
  }

  hover(event) {
    this.over = event.offsetX;
    const { i, request } = this.under(event);
    this.tip.hidden = i < 0;
    if (i < 0) return;
    const lines = [
      `${vatName(deliveries.vat[i])}: ${deliveries.text[i]}`,
      `${timeText(deliveries.total[i])}: worker ${timeText(deliveries.worker[i]) || '?'}, pipe ${timeText(deliveries.pipe[i]) || '?'}, kernel ${timeText(deliveries.kernel[i]) || '?'}`,
    ];
    for (const [who, waited] of [['gaspipe', deliveries.cpuWait[i]], ['the worker', deliveries.workerCpuWait[i]]]) {
      if (waited > 0) lines.push(`${who} waited ${timeText(waited)} for a CPU`);
    }
    if (deliveries.flags[i] & FLAG.error) lines.push(`failed: ${deliveries.problem[i]}`);
    if (request >= 0) {
      lines.push(requestText(spansOf(i).requests[request]));
    }
    const call = this.callAt(i, this.rowOfVat[deliveries.vat[i]], this.timeAt(event.offsetX), event.offsetY);
    if (call) lines.push(`${call.name}: ${timeText(call.to - call.from)}`);
    this.tip.textContent = lines.join('\n');
    const left = Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(left, 4)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 16, innerHeight - this.tip.offsetHeight - 8)}px`;
  }
}
