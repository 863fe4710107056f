// SPDX-License-Identifier: Apache-2.0
// Twenty kinds of work for the engine, each in a method; `n` says how much of it.

const mix = (sum, value) => (Math.imul(sum, 31) + value) | 0;

const textSum = text => {
  let sum = 0;
  for (let i = 0; i < text.length; i += 1) sum = mix(sum, text.charCodeAt(i));
  return sum;
};

const numbers = n => {
  const list = [];
  let x = 12345;
  for (let i = 0; i < n; i += 1) {
    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    list.push(x);
  }
  return list;
};

export const json = n => {
  let rows = [];
  for (let i = 0; i < 200; i += 1) {
    rows.push({ id: i, name: `name ${i}`, part: i / 7, nest: { a: [1, 2, i], b: null, c: true } });
  }
  let sum = 0;
  for (let k = 0; k < n; k += 1) {
    const text = JSON.stringify(rows);
    sum = mix(sum, text.length);
    rows = JSON.parse(text);
  }
  return mix(sum, rows.length);
};

export const floats = n => {
  let sum = 0;
  for (let i = 1; i < n * 300; i += 1) sum += (i * 0.5) / (1 + (i % 7)) - i / 3;
  return `${sum}`;
};

export const mathematics = n => {
  let sum = 0;
  for (let i = 1; i < n * 100; i += 1) {
    sum += Math.sqrt(i) + Math.floor(i / 3) * Math.abs(i - 50) + Math.max(i, 17) + Math.trunc(i / 2);
  }
  return `${sum}`;
};

export const formats = n => {
  let sum = 0;
  for (let i = 0; i < n * 5; i += 1) {
    sum = mix(sum, textSum(`${i / 7} ${(i / 3).toFixed(12)} ${i.toString(36)}`));
    sum = mix(sum, parseFloat(`${i}.14159e-5`) * 1e7);
  }
  return sum;
};

export const bigints = n => {
  let r = 0n;
  for (let i = 0n; i < BigInt(n); i += 1n) {
    r = (r * 1234567890123456789n + i) ** 2n % (1n << 512n);
  }
  return textSum(r.toString());
};

export const typed = n => {
  const words = new Uint32Array(1000);
  for (let k = 0; k < n; k += 1) {
    for (let i = 0; i < 1000; i += 1) words[i] = (words[i] * 31 + i) ^ k;
  }
  return words[999];
};

export const objects = n => {
  class Sum {
    constructor(x) {
      this.x = x;
    }
    get twice() {
      return this.x * 2;
    }
    add(other) {
      return new Sum((this.x + other.x) % 1000003);
    }
  }
  class More extends Sum {
    add(other) {
      return super.add(other).add(new Sum(1));
    }
  }
  let sum = new More(1);
  for (let i = 0; i < n * 100; i += 1) {
    sum = sum.add(new Sum(i));
    if (i % 3 === 0) sum = new More(sum.twice % 1000);
  }
  return sum.x;
};

export const sort = n => {
  let sum = 0;
  for (const value of numbers(n * 50).sort((a, b) => a - b)) sum = mix(sum, value);
  return sum;
};

export const strings = n => {
  const map = new Map();
  const object = {};
  const out = [];
  for (let i = 0; i < n * 40; i += 1) {
    const key = `key${(i * 7919) % 3001}`;
    map.set(key, (map.get(key) || 0) + i);
    object[key] = (object[key] || '').slice(-20) + i;
  }
  for (const [key, value] of map) out.push(`${key}=${value}`);
  return textSum(out.join(',').split(',').reverse().join(';')) ^ Object.keys(object).length;
};

export const expressions = n => {
  const text = numbers(n).join(' key1 ');
  const found = text.split(' ').filter(word => /1[23]\d*$/.test(word)).length;
  return found + text.replace(/key(\d)/g, '<$1>').length + [...text.matchAll(/\d+1/g)].length;
};

export const generators = n => {
  function* count(limit) {
    for (let i = 0; i < limit; i += 1) yield i;
  }
  let sum = 0;
  for (const i of count(n * 100)) sum = mix(sum, i);
  return sum;
};

export const exceptions = n => {
  let sum = 0;
  for (let i = 0; i < n * 20; i += 1) {
    try {
      if (i % 3 === 0) throw TypeError(`t${i}`);
      null.x;
    } catch (error) {
      sum += error.message.length;
    }
  }
  return sum;
};

export const weakMaps = n => {
  const map = new WeakMap();
  const keys = [];
  for (let i = 0; i < n * 20; i += 1) {
    const key = {};
    keys.push(key);
    map.set(key, i);
  }
  return keys.reduce((sum, key) => mix(sum, map.get(key)), 0);
};

export const promises = async n => {
  let sum = 0;
  for (let i = 0; i < n * 10; i += 1) sum = mix(sum, await i);
  return sum;
};

export const closures = n => {
  const add = a => b => c => a + b + c;
  let sum = 0;
  for (let i = 0; i < n * 50; i += 1) sum = mix(sum, add(i)(2)(3));
  return sum;
};

export const recursion = n => {
  const fib = k => (k < 2 ? k : fib(k - 1) + fib(k - 2));
  let sum = 0;
  for (let i = 0; i < n; i += 1) sum = mix(sum, fib(10));
  return sum;
};

export const arrays = n => {
  let list = numbers(500);
  for (let i = 0; i < n; i += 1) {
    list = list.map(x => (x * 3) & 0xffff).filter(x => x !== 7).concat(i).slice(-500);
    list.unshift(list.pop());
  }
  return list.reduce(mix, 0);
};

export const destructuring = n => {
  let sum = 0;
  for (let i = 0; i < n * 30; i += 1) {
    const { a, ...rest } = { a: i, b: 2, c: [i, i + 1] };
    const [first, ...others] = [...rest.c, a, 5];
    sum = mix(sum, first + others.length + Object.entries(rest).length);
  }
  return sum;
};

export const keep = n => {
  for (let i = 0; i < n; i += 1) store.set(`row${i}`, `${i}`.repeat(50));
  let sum = 0;
  for (let i = 0; i < n; i += 1) sum = mix(sum, textSum(store.get(`row${i}`)));
  return sum;
};

export const garbage = n => {
  let kept = [];
  for (let i = 0; i < n * 200; i += 1) {
    kept.push({ i, text: `${i}` });
    if (kept.length > 1000) kept = kept.slice(500);
  }
  return kept.length;
};
