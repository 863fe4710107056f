// Functions that are called back by what copies the bytes of a buffer, and make it shorter meanwhile.
const attempt = run => {
  try {
    return String([...run()]);
  } catch (error) {
    return error.name;
  }
};
const bytesOf = buffer => new Uint8Array(buffer);
const resizable = length => new ArrayBuffer(length, { maxByteLength: 1024 });
const then = (run, value) => ({ valueOf: () => (run(), value) });

const cases = {
  fromShrinks() {
    const buffer = resizable(64);
    const view = new Uint8Array(buffer, 0, 64);
    Uint8Array.from.call(function target() { return view; }, { length: 64 }, (_, index) => {
      if (index === 1) buffer.resize(8);
      return 0xaa;
    });
    return bytesOf(buffer);
  },
  fromIteratorShrinks() {
    const buffer = resizable(64);
    const view = new Uint8Array(buffer, 0, 64);
    Uint8Array.from.call(function target() { return view; }, [1, 2, 3, 4, 5, 6, 7], item => {
      if (item === 3) buffer.resize(4);
      return item;
    });
    return bytesOf(buffer);
  },
  fromDetaches() {
    let target;
    Uint32Array.from.call(function make(n) { return (target = new Uint32Array(n)); }, [1, 2, 3], item => {
      if (item === 2) target.buffer.transfer();
      return item;
    });
    return [target.length, target.buffer.byteLength];
  },
  fromWritesIntoTheView() {
    const buffer = new ArrayBuffer(12);
    const view = new Uint8Array(buffer, 4, 4);
    Uint8Array.from.call(function target() { return view; }, [1, 2, 3, 4]);
    return bytesOf(buffer);
  },
  ofShrinks() {
    const buffer = resizable(16);
    const view = new Uint8Array(buffer);
    Uint8Array.of.call(function target() { return view; }, 1, then(() => buffer.resize(2), 2), 3, 4);
    return bytesOf(buffer);
  },
  mapShrinks() {
    const buffer = resizable(16);
    const array = new Uint8Array(8).fill(7);
    const species = function target() { return new Uint8Array(buffer); };
    Object.defineProperty(array, 'constructor', { value: { [Symbol.species]: species } });
    array.map((item, index) => (index === 4 ? (buffer.resize(3), item) : item));
    return bytesOf(buffer);
  },
  filterShrinks() {
    const buffer = resizable(16);
    const array = new Uint8Array(buffer).fill(7);
    return array.filter((_, index) => (index === 4 ? (buffer.resize(3), true) : true));
  },
  fillShrinks() {
    const buffer = resizable(16);
    new Uint8Array(buffer).fill(then(() => buffer.resize(3), 9));
    return bytesOf(buffer);
  },
  copyWithinShrinks() {
    const buffer = resizable(64);
    const array = new Uint8Array(buffer).map((_, index) => index);
    const view = new Uint8Array(buffer);
    view.set(array);
    return view.copyWithin(1, then(() => buffer.resize(4), 2));
  },
  setShrinks() {
    const buffer = resizable(64);
    const view = new Uint8Array(buffer);
    view.set(new Uint8Array(60), then(() => buffer.resize(4), 2));
    return view;
  },
  setFromArrayShrinks() {
    const buffer = resizable(64);
    const view = new Uint8Array(buffer);
    view.set([1, 2, then(() => buffer.resize(2), 3), 4, 5]);
    return view;
  },
  sliceShrinks() {
    const buffer = resizable(64);
    return new Float64Array(buffer).fill(1).slice(0, then(() => buffer.resize(16), 8));
  },
  sliceDetaches() {
    const buffer = resizable(64);
    return new Float64Array(buffer).slice(0, then(() => buffer.transfer(), 8));
  },
  sortShrinks() {
    const buffer = resizable(16);
    const view = new Uint8Array(buffer).map((_, index) => 16 - index);
    new Uint8Array(buffer).set(view);
    new Uint8Array(buffer).sort((a, b) => (buffer.resize(4), a - b));
    return [buffer.byteLength];
  },
  sortsTheView() {
    const kinds = [Int8Array, Uint8ClampedArray, Int16Array, Uint32Array, Float32Array, Float64Array, BigInt64Array];
    return kinds.map(Kind => {
      const convert = Kind === BigInt64Array ? BigInt : Number;
      const all = Kind.from([9, 8, 7, 3, 5, 4, 1].map(convert));
      all.subarray(2, 6).sort();
      return all.join('');
    });
  },
  joinShrinks() {
    const buffer = resizable(4);
    return [new Uint8Array(buffer).join({ toString: () => (buffer.resize(2), '-') })];
  },
  resizeResizes() {
    const buffer = resizable(4);
    buffer.resize(then(() => buffer.resize(600), 16));
    return bytesOf(buffer);
  },
  resizeShrinksFirst() {
    const buffer = resizable(512);
    new Uint8Array(buffer).fill(1);
    buffer.resize(then(() => buffer.resize(2), 8));
    return bytesOf(buffer);
  },
  transferShrinksFirst() {
    const buffer = resizable(512);
    new Uint8Array(buffer).fill(1);
    return bytesOf(buffer.transfer(then(() => buffer.resize(2), 8)));
  },
  bufferSliceShrinks() {
    const buffer = resizable(64);
    buffer.slice(0, then(() => buffer.resize(4), 64));
    return [buffer.byteLength];
  },
  dataViewShrinks() {
    const buffer = resizable(64);
    new DataView(buffer, 0, 64).setUint32(32, then(() => buffer.resize(4), 1));
    return [buffer.byteLength];
  },
  elementShrinks() {
    const buffer = resizable(64);
    const view = new Uint8Array(buffer);
    view[60] = then(() => buffer.resize(4), 1);
    return view;
  },
  lengthOverflows() {
    return [new BigInt64Array(new ArrayBuffer(64), 0, 2 ** 29 + 1).length];
  },
  nansKeepTheirBits() {
    const bits = new Uint8Array([1, 2, 3, 4, 5, 6, 0xf8, 0xff, 1, 2, 3, 4, 5, 6, 0xf8, 0x7f]);
    const floats = new Float64Array(bits.buffer);
    const other = new Float64Array(3);
    other.set(floats, 1);
    return [bytesOf(floats.slice().buffer), bytesOf(new Float64Array(floats).buffer), bytesOf(other.buffer)];
  },
};

export const buffers = () => Object.entries(cases).map(([name, run]) => `${name}: ${attempt(run)}`);
