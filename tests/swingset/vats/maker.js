// SPDX-License-Identifier: Apache-2.0
// Makes objects for others, refuses, talks, and can die.
import { Far } from '@endo/far';

export function buildRootObject() {
  let serial = 0;

  return Far('maker', {
    square: n => n * n,
    same: value => value,
    refuse(words) {
      throw TypeError(words);
    },
    makeThings(n) {
      const makeThing = () => {
        serial += 1;
        const mine = serial;
        return Far('thing', { getSerial: () => mine });
      };
      return harden(Array.from({ length: n }, makeThing));
    },
    talk(text) {
      console.debug('debug', text);
      console.log('log', text, 12n, { a: [1, 2, 3] }, undefined, Symbol.for('s'));
      console.info('info', text, () => {});
      console.warn('warn', text, Far('odd', {}));
      console.error('error', text, Error('an error'));
    },
    overflow() {
      const deeper = n => 1 + deeper(n + 1);
      return deeper(0);
    },
  });
}
