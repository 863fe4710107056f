// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// Durable and virtual collections and kinds, and work that makes many syscalls.
import { E, Far } from '@endo/far';

export function buildRootObject(_vatPowers, _vatParameters, baggage) {
  const { makeKindHandle, defineDurableKind, makeScalarBigMapStore, makeScalarBigSetStore } =
    VatData;
  const provide = (key, make) => {
    if (!baggage.has(key)) baggage.init(key, make());
    return baggage.get(key);
  };
  const accounts = provide('accounts', () =>
    makeScalarBigMapStore('accounts', { durable: true }),
  );
  const table = makeScalarBigMapStore('table');
  const names = makeScalarBigSetStore('names');
  const objects = makeScalarBigMapStore('objects');

  const makeSlip = defineDurableKind(
    provide('slipKind', () => makeKindHandle('slip')),
    amount => ({ amount }),
    {
      spend({ state }) {
        const { amount } = state;
        state.amount = 0;
        return amount;
      },
    },
  );
  const makeAccount = defineDurableKind(
    provide('accountKind', () => makeKindHandle('account')),
    name => ({ name, balance: 100, past: harden([]) }),
    {
      take({ state }, amount) {
        if (amount > state.balance) throw RangeError(`${state.name} has ${state.balance}`);
        state.balance -= amount;
        state.past = harden([...state.past.slice(-4), -amount]);
        return makeSlip(amount);
      },
      async put({ state }, slip) {
        const amount = await E(await slip).spend();
        state.balance += amount;
        state.past = harden([...state.past.slice(-4), amount]);
        return state.balance;
      },
    },
  );

  const set = (map, key, value) => (map.has(key) ? map.set(key, value) : map.init(key, value));

  return Far('ledger', {
    provideAccount(name) {
      if (!accounts.has(name)) accounts.init(name, makeAccount(name));
      return accounts.get(name);
    },
    set(key, value) {
      set(table, key, value);
      return table.getSize();
    },
    get: key => (table.has(key) ? table.get(key) : undefined),
    delete(key) {
      if (!table.has(key)) return false;
      table.delete(key);
      return true;
    },
    first: limit => harden([...table.keys()].slice(0, limit)),
    toggle(name) {
      if (names.has(name)) names.delete(name);
      else names.add(name);
      return names.getSize();
    },
    fill(prefix, n, size) {
      for (let i = 0; i < n; i += 1) set(table, `${prefix}${i}`, 'x'.repeat(size));
      console.log('filled', n);
      return table.getSize();
    },
    scan() {
      let length = 0;
      for (const value of table.values()) length += `${value}`.length;
      return length;
    },
    chatter(n) {
      for (let i = 0; i < n; i += 1) {
        console.log('chatter', i);
        table.has(`chatter${i}`);
      }
    },
    empty() {
      table.clear();
      return table.getSize();
    },
    keep(key, things) {
      set(objects, key, harden([...things]));
      return things.length;
    },
    drop: key => objects.has(key) && objects.delete(key),
    work(n) {
      let x = 7;
      for (let i = 0; i < n; i += 1) x = (x * 75 + 74) % 65537;
      return x;
    },
  });
}
