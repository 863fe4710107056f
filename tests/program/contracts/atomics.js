// Arguments of Atomics that make the buffer shorter, in a script: contracts have no Atomics.
const bytesOf = buffer => new Uint8Array(buffer);
const resizable = length => new ArrayBuffer(length, { maxByteLength: 1024 });
const then = (run, value) => ({ valueOf: () => (run(), value) });
const attempt = run => {
  try {
    return String([...run()]);
  } catch (error) {
    return error.name;
  }
};

const cases = {
  atomicsShrink() {
    const names = ['add', 'and', 'or', 'xor', 'sub', 'exchange', 'store', 'compareExchange'];
    return [Int8Array, Int32Array, BigUint64Array].flatMap(Kind => names.map(name => {
      const buffer = resizable(512);
      const view = new Kind(buffer);
      const convert = Kind === BigUint64Array ? BigInt : Number;
      const last = then(() => buffer.resize(16), convert(1));
      try {
        return Atomics[name](view, view.length - 1, ...(name === 'compareExchange' ? [convert(0), last] : [last]));
      } catch (error) {
        return error.name;
      }
    }));
  },
  atomicIndexShrinks() {
    const buffer = resizable(512);
    return [Atomics.load(new Uint8Array(buffer), then(() => buffer.resize(8), 511))];
  },
  atomicsShrinkEnough() {
    const buffer = resizable(16);
    const view = new Uint16Array(buffer, 2);
    return [Atomics.add(view, 2, then(() => buffer.resize(8), 7)), Atomics.load(view, 2), bytesOf(buffer)];
  },
  atomicsDetach() {
    const buffer = new ArrayBuffer(8);
    return [Atomics.store(new Uint8Array(buffer), 0, then(() => buffer.transfer(), 7))];
  },
};

const atomics = () => Object.entries(cases).map(([name, run]) => `${name}: ${attempt(run)}`);
