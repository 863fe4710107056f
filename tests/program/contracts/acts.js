// Functions that are called back by what works on arrays, texts and patterns, and texts that end where a
// function does not expect it.
const attempt = run => {
  try {
    return String(run());
  } catch (error) {
    return error.name;
  }
};
const then = (run, value) => ({ valueOf: () => (run(), value) });

const cases = {
  fillShrinks() {
    const array = [1, 2, 3, 4];
    Object.defineProperty(array, 0, { configurable: true, set() { array.length = 0; } });
    return array.fill(7, 0, 3);
  },
  fillCallsSetter() {
    const array = [1, 2, 3];
    let heard;
    Object.defineProperty(array, 1, { configurable: true, enumerable: true, set(value) { heard = value; } });
    array.fill(5);
    return [heard, array[0], array[1], array[2]];
  },
  fillShrinksBefore() {
    const array = [1, 2, 3, 4];
    return array.fill(then(() => {}, 0), then(() => { array.length = 1; }, 1), 4).length;
  },
  fillsFrozen() {
    const array = Object.freeze([1, 2, 3]);
    try { array.fill(0); } catch {}
    try { array.fill(0, 1); } catch {}
    return array;
  },
  fillsSealed: () => Object.seal([1, 2, 3]).fill(0),
  fillsSparse: () => Object.preventExtensions([, 2]).fill(0),
  flattens: () => Array.from({ length: 4200 }, (_, index) => [index]).flat().length,
  flatMaps: () => Array.from({ length: 4200 }, (_, index) => index).flatMap(index => [index, index]).length,
  groupChanges() {
    let count = 0;
    const groups = { get name() { count += 1; return count > 1 ? 'y'.repeat(100000) : 'x'; } };
    const expression = { global: false, exec: () => ({ 0: 'b', index: 1, length: 1, groups }) };
    return RegExp.prototype[Symbol.replace].call(expression, 'abc', '$<name>--$&');
  },
  groupShrinks() {
    let count = 0;
    const groups = { get name() { count += 1; return count > 1 ? 'x' : 'y'.repeat(100); } };
    const expression = { global: false, exec: () => ({ 0: 'b', index: 1, length: 1, groups }) };
    return RegExp.prototype[Symbol.replace].call(expression, 'abc', '[$<name>$&$\']');
  },
  matchIsLongerThanText() {
    const expression = { global: false, exec: () => ({ 0: 'bcdefghijk', index: 1, length: 1 }) };
    return RegExp.prototype[Symbol.replace].call(expression, 'abc', '[$`$\']$\'');
  },
  splitterOutside() {
    const split = last => {
      const splitter = function splitter() {
        let count = 0;
        return { get lastIndex() { return last; }, set lastIndex(value) {}, exec() { count += 1; last = count > 3 ? 99 : last; return count % 2 ? { length: 1 } : null; } };
      };
      const expression = { flags: 'u', constructor: { [Symbol.species]: splitter } };
      return RegExp.prototype[Symbol.split].call(expression, 'a\u{e9}b\u{1f600}cd', 5).join('|');
    };
    return [-1, -5, 100, -1e9, 1e9].map(split).join(' ');
  },
  patternMessages() {
    let count = 0;
    for (let before = 30; before < 100; before += 1)
      for (const after of [1, 20, 300])
        try { RegExp(`(?<${'\u{e9}'.repeat(before)}${'\u{20ac}'.repeat(after)}>a)`); } catch (error) { count += error.message.length > 30; }
    return count;
  },
  longLiterals: () => [19000, 19800, 20000, 160000].map(digits => attempt(() => {
    const value = (0, eval)(`1${'0'.repeat(digits * 0.99)}n`);
    return value % 1000000007n;
  })),
  manyBits: () => [BigInt.asIntN(2 ** 53 - 1, -5n), BigInt.asUintN(2 ** 53 - 1, 5n), BigInt.asIntN(2 ** 31, 5n), BigInt.asIntN(64, -(2n ** 63n) - 1n)],
  longLengths() {
    const lengths = [];
    const Target = function Target(length) { lengths.push(length); };
    const array = new Proxy([], {
      get: (target, key) => key === 'length' ? 2 ** 40 + 3 : key === 'constructor' ? { [Symbol.species]: Target } : 'x',
      has: () => true,
    });
    return [Array.prototype.map.call(array, value => value) instanceof Target, lengths].join();
  },
};

export const acts = () => Object.entries(cases).map(([name, run]) => `${name}: ${attempt(run)}`);
