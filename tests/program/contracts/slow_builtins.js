// Built-in functions that take long and cost few computrons. Each method's last words say what
// tests/program/slow_builtins.bats expects of it: that it ends at the limit of cost, or that its cost grows with n.
const range = n => Array.from(Array(n), (_, i) => i);
const endless = { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) };
const native = { [Symbol.iterator]: () => ({ next: Object.bind(null, { value: 1, done: false }) }) };

export const bigintPower = n => (3n ** BigInt(n)) > 0n; // limited
export const bigintText = n => `${(1n << BigInt(n)) - 1n}`.length; // limited
export const bigintParse = n => BigInt('9'.repeat(n)) > 0n; // limited
export const indexOf = n => 'x'.repeat(n).indexOf(`${'x'.repeat(n / 2)}y`); // limited
export const lastIndexOf = n => 'x'.repeat(n).lastIndexOf(`${'x'.repeat(n / 2)}y`); // limited
export const includes = n => 'x'.repeat(n).includes(`${'x'.repeat(n / 2)}y`); // limited
export const indexOfAgain = n => { const s = 'x'.repeat(1 << 20); for (let i = 0; i < n; i++) s.indexOf('y'); }; // limited
export const concat = n => { let s = ''; for (let i = 0; i < n; i++) s += 'x'; }; // limited
export const normalize = n => `e${'\u0301\u0323'.repeat(n)}`.normalize('NFC').length; // limited
export const base64 = n => { const b = new ArrayBuffer(1 << 20); for (let i = 0; i < n; i++) Base64.encode(b); }; // limited
export const typedFill = n => { const a = new Uint8Array(1 << 20); for (let i = 0; i < n; i++) a.fill(1); }; // limited
export const arrayIndexOf = n => { const a = range(9999); for (let i = 0; i < n; i++) a.indexOf(-1); }; // limited
export const bigintKeys = n => { const m = new Map(); for (let i = 0; i < n; i++) m.set(BigInt(i) << 64n, i); }; // limited
export const weakMaps = n => { const o = {}, k = []; for (let i = 0; i < n; i++) k.push(new WeakMap([[o, i]])); }; // limited
export const regexpClass = n => { let s = ''; for (let i = 0; i < n; i++) s += String.fromCodePoint(0x10000 + i % 0x80000 * 2); RegExp(`[${s}]`, 'u'); }; // limited
export const equalStrings = n => { const a = 'x'.repeat(1 << 20), b = 'x'.repeat(1 << 20); for (let i = 0, c = 0; i < n; i++) c += a === b; }; // limited
export const unicodeSplit = n => 'x'.repeat(n).split(/(?:)/u).length; // limited
export const bufferSlice = n => { const b = new ArrayBuffer(1e7); for (let i = 0; i < n; i++) b.slice(0); }; // limited
export const indexOfHoles = () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); // limited
export const raceEndless = () => Promise.race(endless); // limited
export const setEndless = () => new Set(native).size; // limited
export const anyEndless = () => Promise.any(native); // limited

export const thens = async n => { const p = new Promise(() => 0); for (let i = 0; i < n; i++) p.then(() => 0); }; // linear
export const jobs = async n => { const p = Promise.resolve(0); for (let i = 0; i < n; i++) p.then(() => 0); }; // linear
export const deleteFirst = n => { const m = new Map(range(n).map(i => [i, i])); for (const k of m.keys()) m.delete(k); }; // linear
export const deleteEach = n => { const s = new Set(range(n)); s.forEach(v => { s.delete(v); }); }; // linear
export const groups = n => { RegExp(range(n).map(i => `(?<a${i}>.)`).join('')); }; // linear
export const fillHoles = n => { const a = new Array(n); for (let i = 0; i < n / 4; i++) a[i] = i; }; // linear
export const readHoles = n => { const a = new Array(n); for (let i = 0; i < n / 4; i++) a[i] = i; for (let i = 0; i < n / 4; i++) a[i] += a[i >> 1]; }; // linear
export const fillHolesBack = n => { const a = new Array(n); for (let i = n / 4; i--;) a[i] = i; }; // linear
export const deleteItems = n => { const a = Array(n / 4).fill(0); for (let i = 0; i < n / 4; i++) delete a[i]; }; // linear
export const deleteItemsBack = n => { const a = Array(n / 4).fill(0); for (let i = n / 4; i--;) delete a[i]; }; // linear
export const ignoredCase = n => { RegExp(`[\\u{20000}-\\u{${(0x20000 + n * 16).toString(16)}}]`, 'iu'); }; // linear
export const symbolRegistry = n => { for (let i = 0; i < n * 40; i++) Symbol.for(`s${i}`); }; // linear
export const dictionary = n => { const o = {}; for (let i = 0; i < n; i++) o[`k${i}`] = i; for (const k in o) o.sum += o[k]; }; // linear
export const emptied = n => { const o = {}; for (let i = 0; i < n; i++) o[`k${i}`] = i; for (let i = n; i--;) delete o[`k${i}`]; }; // linear
export const parsedKeys = n => Object.keys(JSON.parse(`{${range(n).map(i => `"k${i}":${i}`)}}`)).length; // linear
export const proxyKeys = n => { const keys = range(n).flatMap(i => [`k${i}`, Symbol()]); Reflect.ownKeys(new Proxy({}, { ownKeys: () => keys })); }; // linear
export const matchWide = n => '\u00e9'.repeat(n).match(/./g).length; // linear
export const matchAllWide = n => [...'\u00e9'.repeat(n).matchAll(/./g)].length; // linear
export const matchIndices = n => [...'\u00e9'.repeat(n).matchAll(/./dg)].length; // linear
export const replaceWide = n => '\u00e9'.repeat(n).replace(/./g, x => x + x).length; // linear

// Collects garbage in a heap of n objects that refer to each other, to the next one or all over the heap.
const collect = (n, step) => {
  const all = [];
  for (let i = 0; i < n; i++) all.push({ next: null });
  for (let i = 0; i < n; i++) all[i * step % n].next = all[(i + 1) * step % n];
  const first = all[0];
  all.length = 0;
  for (let i = 0; i < 10; i++) new ArrayBuffer(3e7);
  return first.next !== null;
};
export const collectInOrder = n => collect(n, 1);
export const collectScattered = n => collect(n, 75011);
