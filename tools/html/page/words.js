// SPDX-License-Identifier: Apache-2.0

// Numbers and elements for display.

const threeDigits = number => number.toFixed(number < 9.995 ? 2 : number < 99.95 ? 1 : 0);

const timeText = nanoseconds => {
  if (nanoseconds == null || Number.isNaN(nanoseconds)) return '';
  const size = Math.abs(nanoseconds);
  const sign = nanoseconds < 0 ? '−' : '';
  if (size < 1e3) return `${sign}${Math.round(size)} ns`;
  if (size < 999.5e3) return `${sign}${threeDigits(size / 1e3)} µs`;
  if (size < 999.5e6) return `${sign}${threeDigits(size / 1e6)} ms`;
  return `${sign}${threeDigits(size / 1e9)} s`;
};

const countText = number =>
  number == null || Number.isNaN(number) ? '' : Math.round(number).toLocaleString('en-US');

// "1 stall", "2 stalls"
const countOf = (count, noun) => `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;

// 1,234 as 1.23 k: on an axis.
const shortText = number => {
  const units = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
  const unit = units.find(([size]) => Math.abs(number) >= size);
  return unit ? `${Number((number / unit[0]).toPrecision(3))} ${unit[1]}` : String(Number(number.toPrecision(3)));
};

const shareText = share => (Number.isFinite(share) ? `${(share * 100).toFixed(1)} %` : '');

const requestText = ({ words, times, unseen }) =>
  unseen
    ? `${words}: kernel ${timeText(times[1])}, and the worker noted nothing`
    : `${words}: up ${timeText(times[0])}, kernel ${timeText(times[1])}, down ${timeText(times[2])}`;

// Nanoseconds after the page's zero as a moment of the clock.
const clockText = nanoseconds => {
  const moment = BigInt(overall.zero) + BigInt(Math.round(nanoseconds));
  const date = new Date(Number(moment / 1000000n));
  if (Number.isNaN(date.getTime())) return '';
  const micros = ((moment / 1000n) % 1000000n).toString().padStart(6, '0');
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}.${micros}`;
};

// make('td', {class: 'number'}, 'text' or element, ...): text is never read as HTML.
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name.startsWith('--')) element.style.setProperty(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

const byId = id => document.getElementById(id);

const PARTS = [
  ['worker', 'worker'],
  ['pipe', 'pipe'],
  ['kernel', 'kernel'],
  ['unknown', 'unattributed'],
  ['no-cpu', 'no CPU'],
];

// Of all time, also what is in no delivery.
const PARTS_AND_OUTSIDE = [...PARTS, ['line', 'outside deliveries']];

// A bar of worker, pipe, kernel, what is unattributed, waits for a CPU and, of all time, what is outside deliveries.
const splitBar = (times, element = make('div', { class: 'split', role: 'img' })) => {
  const sum = times.reduce((a, b) => a + (b > 0 ? b : 0), 0);
  const words = [];
  times.forEach((time, i) => {
    if (!(time > 0)) return;
    const part = make('div');
    part.style.flex = `${time / sum} 0 0`;
    part.style.background = `var(--${PARTS_AND_OUTSIDE[i][0]})`;
    element.append(part);
    words.push(`${PARTS_AND_OUTSIDE[i][1]} ${shareText(time / sum)}`);
  });
  element.setAttribute('aria-label', words.join(', '));
  element.title = words.join(', ');
  return element;
};
