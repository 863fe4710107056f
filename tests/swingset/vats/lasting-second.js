// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// Another bundle for a vat that was made of lasting.js: other code over the same baggage.
import { Far } from '@endo/far';

export function buildRootObject(_vatPowers, vatParameters, baggage) {
  const { defineDurableKind } = VatData;
  const { version } = vatParameters;
  const notes = baggage.get('notes');
  const makeNote = defineDurableKind(baggage.get('kind'), text => ({ text }), {
    read: ({ state }) => `${state.text}, read by the second bundle`,
    amend({ state }, text) {
      state.text = text;
    },
  });
  if (!baggage.has('amended')) baggage.init('amended', 0);
  baggage.set('generations', baggage.get('generations') + 1);
  console.log(`the second bundle, version ${version}, with ${notes.getSize()} notes`);

  return Far('lasting second', {
    write(key, text) {
      notes.init(key, makeNote(text));
      return notes.getSize();
    },
    amend(key, text) {
      notes.get(key).amend(text);
      baggage.set('amended', baggage.get('amended') + 1);
    },
    read: key => notes.get(key).read(),
    getNote: key => notes.get(key),
    getVersion: () => version,
    getGenerations: () => baggage.get('generations'),
    getAmended: () => baggage.get('amended'),
    getEphemeral: () => Far('ephemeral', { greet: () => 'hello again' }),
  });
}
