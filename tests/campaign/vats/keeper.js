// SPDX-License-Identifier: Apache-2.0
// Appends to a value. The second argument is for the worker (tests/program/faulty_worker.c).
export const keep = (name, _fault) => {
    const kept = `${store.get(name) ?? ''}${_fault} kept `.slice(-20000);
    store.set(name, kept);
    return kept.length;
};
