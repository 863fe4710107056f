// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// One durable collection, of which things are put and got: what bench/swingset measures.
import { Far } from '@endo/far';

export function buildRootObject(_vatPowers, _vatParameters, baggage) {
  if (!baggage.has('shelf')) {
    baggage.init('shelf', VatData.makeScalarBigMapStore('shelf', { durable: true }));
  }
  const shelf = baggage.get('shelf');

  return Far('shelf', {
    bootstrap() {},
    put(key, value) {
      if (shelf.has(key)) shelf.set(key, value);
      else shelf.init(key, value);
      return shelf.getSize();
    },
    get: key => (shelf.has(key) ? shelf.get(key) : null),
  });
}
