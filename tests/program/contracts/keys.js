// Keys of Map and Set, and the bits of NaN in a buffer: one answer in every build, the language's.
const bytes = array => [...new Uint8Array(array.buffer)].map(byte => byte.toString(16)).join(' ');

export const keys = () => {
  const map = new Map();
  const answers = [];

  for (const nan of [NaN, 0 / 0, -(0 / 0), Infinity - Infinity, Math.sqrt(-1), parseFloat('x')]) {
    map.set(nan, 1);
    answers.push(map.has(nan), map.size);
  }
  map.set(-0, 'minus');
  answers.push(map.get(0), map.get(-0), Object.is([...map.keys()][1], 0));
  map.set(0, 'plus');
  answers.push(map.get(-0), map.size, map.delete(-0), map.has(0), map.size);
  answers.push(new Set([NaN, Infinity - Infinity]).size, Object.is([...new Set([-0])][0], 0));
  answers.push(new Set([1, 1.0, 2 / 2, 2 ** 31 - (2 ** 31 - 1), '1', 1n]).size);
  answers.push(new Set([1n, 2n - 1n, BigInt('1'), -1n, 2n ** 64n + 1n]).size);
  answers.push(new Set(['ab', 'a' + 'b', String.fromCharCode(97, 98), ['ab'].join('')]).size);
  answers.push(new Set([2 ** 31, 2147483647 + 1, -(2 ** 31), -2147483647 - 1]).size);
  answers.push([NaN].includes(0 / 0), [-0].includes(0), [NaN].indexOf(0 / 0), [-0].indexOf(0));
  answers.push(Object.is(0, -0), Object.is(NaN, 0 / 0));
  return answers;
};

export const nans = () => [
  bytes(new Float64Array([NaN, 0 / 0, -(0 / 0), Infinity - Infinity, Math.sqrt(-1)])),
  bytes(new Float32Array([NaN, -(0 / 0), Math.sqrt(-1)])),
];
