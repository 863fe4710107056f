// SHA-256 (FIPS 180-4) of a text, computed in JavaScript: work for the engine,
// none for the store.

const firstPrimes = count => {
  const primes = [];
  for (let candidate = 2; primes.length < count; candidate += 1) {
    if (primes.every(prime => candidate % prime !== 0)) {
      primes.push(candidate);
    }
  }
  return primes;
};

// The first 32 bits after the binary point.
const fraction = number => ((number - Math.floor(number)) * 2 ** 32) | 0;

const primes = firstPrimes(64);
const initialState = primes.slice(0, 8).map(prime => fraction(Math.sqrt(prime)));
const roundConstants = primes.map(prime => fraction(Math.cbrt(prime)));

const rotate = (word, bits) => (word >>> bits) | (word << (32 - bits));

// The message, a one bit, zeros, and its length in bits, to whole blocks of 64 bytes.
const pad = message => {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  const view = new DataView(padded.buffer);
  padded.set(message);
  padded[message.length] = 0x80;
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);
  return view;
};

const schedule = (view, offset) => {
  const words = new Int32Array(64);
  for (let i = 0; i < 16; i += 1) {
    words[i] = view.getInt32(offset + 4 * i);
  }
  for (let i = 16; i < 64; i += 1) {
    const early = words[i - 15];
    const late = words[i - 2];
    const s0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const s1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
  }
  return words;
};

const compress = (state, words) => {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + s1 + choice + roundConstants[i] + words[i]) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e] = [g, f, e, (d + first) | 0];
    [d, c, b, a] = [c, b, a, (first + s0 + majority) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (word + state[i]) | 0);
};

const hex = word => (word >>> 0).toString(16).padStart(8, '0');

export const sha256 = text => {
  const view = pad(new TextEncoder().encode(text));
  let state = initialState;
  for (let offset = 0; offset < view.byteLength; offset += 64) {
    state = compress(state, schedule(view, offset));
  }
  return state.map(hex).join('');
};

export const sha256Repeated = (text, times) => {
  let digest = text;
  for (let i = 0; i < times; i += 1) {
    digest = sha256(digest);
  }
  return digest;
};
