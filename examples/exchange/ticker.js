// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// The ticker: what was traded, kept by asset.
import { Far } from '@endo/far';

export function buildRootObject() {
  const totals = VatData.makeScalarBigMapStore('totals');

  return Far('ticker', {
    trade(asset, price, amount) {
      if (!totals.has(asset)) {
        totals.init(
          asset,
          harden({ trades: 1n, volume: amount, turnover: price * amount, low: price, high: price, last: price }),
        );
        return;
      }
      const { trades, volume, turnover, low, high } = totals.get(asset);
      totals.set(
        asset,
        harden({
          trades: trades + 1n,
          volume: volume + amount,
          turnover: turnover + price * amount,
          low: price < low ? price : low,
          high: price > high ? price : high,
          last: price,
        }),
      );
    },
    quote: asset => (totals.has(asset) ? totals.get(asset) : undefined),
  });
}
