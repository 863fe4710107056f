// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// The mint: issuers of assets, with purses to keep them and payments to hand them on.
// Purses and payments are durable objects, so that their number is no matter of memory.
import { Far } from '@endo/far';

export function buildRootObject(_vatPowers, _vatParameters, baggage) {
  const { makeKindHandle, defineDurableKind, makeScalarBigMapStore, makeScalarBigWeakMapStore } =
    VatData;

  const provide = (key, make) => {
    if (!baggage.has(key)) baggage.init(key, make());
    return baggage.get(key);
  };
  // asset => its supply
  const supply = provide('supply', () => makeScalarBigMapStore('supply', { durable: true }));
  // payment => {asset, amount}, until it is deposited
  const valid = provide('valid', () => makeScalarBigWeakMapStore('valid', { durable: true }));

  const definePayment = kind => defineDurableKind(kind, asset => ({ asset }), {
    getAsset: ({ state }) => state.asset,
  });
  const makePayment = definePayment(provide('paymentKind', () => makeKindHandle('payment')));

  const issuePayment = (asset, amount) => {
    const payment = makePayment(asset);
    valid.init(payment, harden({ asset, amount }));
    return payment;
  };

  const makePurse = defineDurableKind(
    provide('purseKind', () => makeKindHandle('purse')),
    asset => ({ asset, balance: 0n }),
    {
      getBalance: ({ state }) => state.balance,
      withdraw({ state }, amount) {
        if (amount <= 0n) throw RangeError(`cannot withdraw ${amount} ${state.asset}`);
        if (amount > state.balance) {
          throw RangeError(`there are ${state.balance} ${state.asset}, not ${amount}`);
        }
        state.balance -= amount;
        return issuePayment(state.asset, amount);
      },
      // What was deposited, once the payment has come.
      async deposit({ state }, paymentP) {
        const payment = await paymentP;
        if (!valid.has(payment)) throw Error('not a payment, or deposited before');
        const { asset, amount } = valid.get(payment);
        if (asset !== state.asset) throw TypeError(`${asset} in a purse for ${state.asset}`);
        valid.delete(payment);
        state.balance += amount;
        return amount;
      },
    },
  );

  const makeIssuer = defineDurableKind(
    provide('issuerKind', () => makeKindHandle('issuer')),
    asset => ({ asset }),
    {
      makeEmptyPurse: ({ state }) => makePurse(state.asset),
      getSupply: ({ state }) => supply.get(state.asset),
      mint({ state }, amount) {
        supply.set(state.asset, supply.get(state.asset) + amount);
        return issuePayment(state.asset, amount);
      },
    },
  );

  return Far('mint', {
    makeIssuer(asset) {
      supply.init(asset, 0n);
      return makeIssuer(asset);
    },
  });
}
