// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// Can be upgraded: what is in its baggage stays.
import { Far } from '@endo/far';

export function buildRootObject(_vatPowers, vatParameters, baggage) {
  const { makeKindHandle, defineDurableKind, makeScalarBigMapStore } = VatData;
  const { version, broken } = vatParameters;
  const isNew = !baggage.has('kind');
  if (isNew) {
    baggage.init('kind', makeKindHandle('note'));
    baggage.init('notes', makeScalarBigMapStore('notes', { durable: true }));
    baggage.init('generations', 0);
  }
  // A durable kind of the incarnation before must be defined again.
  const makeNote =
    !broken &&
    defineDurableKind(baggage.get('kind'), text => ({ text }), {
      read: ({ state }) => `${state.text}, read in version ${version}`,
    });
  baggage.set('generations', baggage.get('generations') + 1);
  const notes = baggage.get('notes');
  console.log(`version ${version} with ${notes.getSize()} notes`);

  return Far('lasting', {
    write(key, text) {
      const note = makeNote(text);
      notes.init(key, note);
      return notes.getSize();
    },
    read: key => notes.get(key).read(),
    getNote: key => notes.get(key),
    getVersion: () => version,
    getGenerations: () => baggage.get('generations'),
    getEphemeral: () => Far('ephemeral', { greet: () => 'hello' }),
    never: () => new Promise(() => {}),
  });
}
