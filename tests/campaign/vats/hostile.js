// SPDX-License-Identifier: Apache-2.0
// Each method wastes one thing, or says what it should not.
export const forever = () => {
    for (;;);
};
export const recurse = () => {
    const deeper = depth => deeper(depth + 1) + 1;
    return deeper(0);
};
export const arrays = () => {
    const held = [];
    for (;;) held.push(new Array(1000).fill(0));
};
export const strings = () => {
    let text = 'a';
    for (;;) text += text;
};
export const search = () => 'a'.repeat(3e7).indexOf('b'.repeat(1e7));
export const searches = () => {
    for (let i = 0; i < 1000; i += 1) 'a'.repeat(3e6).indexOf('ab');
};
export const joined = () => new Array(2 ** 28).join();
export const holes = () => {
    const list = [];
    list[2 ** 31] = 1;
    return list.reverse().length;
};
export const sorted = () => new Array(1e6).fill(0).sort((a, b) => b - a).length;
export const manyKeys = () => {
    const object = {};
    for (let i = 0; i < 1e8; i += 1) object[`k${i}`] = i;
};
export const bigint = () => 2n ** 1000000n;
export const bigints = () => {
    let number = 3n;
    for (;;) number *= number;
};
export const promises = () => {
    const again = () => Promise.resolve().then(again);
    return again();
};
export const promisesAhead = async () => {
    const held = [];
    for (;;) held.push(new Promise(() => {}));
};
export const unsettled = () => new Promise(() => {});
export const expression = () => /^(a+)+$/.test(`${'a'.repeat(40)}b`);
export const nested = () => JSON.parse('['.repeat(1e6));
export const nestedResult = () => {
    let list = [];
    for (let i = 0; i < 1e5; i += 1) list = [list];
    return list;
};
export const wideResult = () => new Array(3e6).fill(0).map(() => []);
export const longResult = () => 'a'.repeat(7e7);
export const cyclicResult = () => {
    const list = [];
    list[0] = list;
    return list;
};
export const storeKeys = () => {
    for (let i = 0; i < 1e5; i += 1) store.set(`key${i}`, '');
};
export const storeValue = () => store.set('key', 'a'.repeat(6e7));
export const storeKey = () => store.set('k'.repeat(6e7), 'a');
export const consoleFlood = () => {
    for (let i = 0; i < 1e5; i += 1) console.log('a'.repeat(1000));
};
export const consoleLong = () => console.log('a'.repeat(7e7));
export const turned = () => {
    console.log('\u202egpj.exe\u202c \u009b31m \u001b[2J \u2066');
    return '\u202egpj.exe \u009b31m \u001b[2J';
};
export const turnedError = () => {
    throw Error('\u202egpj.exe \u009b31m \u001b[2J');
};
export const thrownNull = () => {
    throw null;
};
export const thrownGetter = () => {
    throw harden({
        get message() {
            for (;;);
        },
    });
};
export const thrownProxy = () => {
    throw new Proxy({}, { get: (_target, name) => thrownProxy(name) });
};
export const resultProxy = () =>
    new Proxy([], { get: () => resultProxy(), ownKeys: () => ['0', 'length'] });
export const resultToJson = () => ({
    toJSON() {
        for (;;);
    },
});
