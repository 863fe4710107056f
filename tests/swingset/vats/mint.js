// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// Durable objects with two facets each, of which the host gets some as results.
import { Far } from '@endo/far';

export function buildRootObject(_vatPowers, vatParameters, baggage) {
  const { makeKindHandle, defineDurableKindMulti } = VatData;

  baggage.init('coin', makeKindHandle('coin'));
  const makeCoin = defineDurableKindMulti(
    baggage.get('coin'),
    value => ({ value, owner: undefined }),
    {
      purse: {
        getValue: ({ state }) => state.value,
        getOwner: ({ state }) => state.owner,
      },
      stamp: {
        restamp({ state }, value) {
          state.value = value;
        },
        setOwner({ state }, owner) {
          state.owner = owner;
        },
      },
    },
  );
  return Far('mint', {
    getParameters: () => vatParameters,
    // One facet leaves, the other is garbage.
    makePurse: value => makeCoin(value).purse,
    makeBoth: value => makeCoin(value),
    refuse(value) {
      throw harden(makeCoin(value).stamp);
    },
    forget: () => undefined,
  });
}
