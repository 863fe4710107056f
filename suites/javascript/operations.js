// SPDX-License-Identifier: Apache-2.0
// Operations of JavaScript. A method does one of them `count` times, to `size` things.

const repeat = (count, one) => {
  for (let i = 0; i < count; i += 1) one(i);
};

const state = { value: 1, list: [1, 2, 3, 4], map: new Map([['key', 1]]) };
const plusOne = number => number + 1;
const counter = { value: 0, add() { return this.value; } };
const makeAdder = more => number => number + more;
const addTwo = makeAdder(2);

export const loop = count => repeat(count, () => {});
export const loopAsync = async count => {
  for (let i = 0; i < count; i += 1);
};

// ---- objects ----

export const readProperty = count => repeat(count, () => state.value);
export const writeProperty = count => {
  const object = { value: 0 };
  repeat(count, i => { object.value = i; });
};
export const readElement = count => repeat(count, () => state.list[2]);
export const makeObject = count => repeat(count, i => ({ x: i, y: i }));
export const makeArray = count => repeat(count, i => [i, i, i, i]);
export const mapGet = count => repeat(count, () => state.map.get('key'));
export const mapSet = count => {
  const map = new Map();
  repeat(count, i => map.set(i, i));
};

// ---- calls ----

export const callFunction = count => repeat(count, i => plusOne(i));
export const callClosure = count => repeat(count, i => addTwo(i));
export const callMethod = count => repeat(count, () => counter.add());
export const throwAndCatch = count => repeat(count, () => {
  try {
    throw Error('no');
  } catch (error) {
    // That is all.
  }
});
export const awaitValue = async count => {
  for (let i = 0; i < count; i += 1) await i;
};

// ---- numbers and strings ----

export const addNumbers = count => repeat(count, i => i + 1.5);
export const multiplyBigints = count => {
  const big = 123456789012345678901234567890n;
  repeat(count, () => big * big);
};
export const concatenate = count => repeat(count, i => 'key.' + i);
export const template = count => repeat(count, i => `key.${i}.value`);

export const makeString = (count, size) => {
  const text = 'x'.repeat(size);
  repeat(count, () => text);
};
export const makeParts = (count, size) => {
  const parts = Array(size).fill('x');
  repeat(count, () => parts);
};
export const joinStrings = (count, size) => {
  const parts = Array(size).fill('x');
  repeat(count, () => parts.join(''));
};
export const searchString = (count, size) => {
  const text = 'x'.repeat(size);
  repeat(count, () => text.indexOf('y'));
};
export const stringify = (count, size) => {
  const text = 'x'.repeat(size);
  repeat(count, () => JSON.stringify(text));
};

const numbers = Array.from({ length: 64 }, (_, i) => (i * 7919) % 64);

export const makeNumbers = count => repeat(count, () => numbers.slice());
export const sortArray = count => repeat(count, () => numbers.slice().sort((a, b) => a - b));

// ---- the vat's store ----

export const storeThere = (count, size) => {
  store.set('there', 'x'.repeat(size));
  repeat(count, () => {});
};
export const storeGet = (count, size) => {
  store.set('there', 'x'.repeat(size));
  repeat(count, () => store.get('there'));
};
export const storeSet = (count, size) => {
  const text = 'x'.repeat(size);
  repeat(count, () => store.set('key', text));
};
