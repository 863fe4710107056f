// SPDX-License-Identifier: Apache-2.0
// Holds what others made, strongly or only so that it would know it again.
import { E, Far } from '@endo/far';

const depth = async promise => {
  const { next } = await promise;
  return next ? 1 + (await depth(next)) : 1;
};

export function buildRootObject() {
  let held = [];
  let known = new WeakSet(); // liveslots' own, which knows virtual objects too

  return Far('holder', {
    async hold(things) {
      held.push(...things);
      const serials = await Promise.all(things.map(thing => E(thing).getSerial()));
      return serials.length;
    },
    release() {
      const { length } = held;
      held = [];
      return length;
    },
    recognize(things) {
      for (const thing of things) known.add(thing);
      return things.length;
    },
    forget() {
      known = new WeakSet();
    },
    async countSettled(promises) {
      const settled = await Promise.allSettled(promises);
      const count = wanted => settled.filter(({ status }) => status === wanted).length;
      return harden({ fulfilled: count('fulfilled'), rejected: count('rejected') });
    },
    depth,
  });
}
