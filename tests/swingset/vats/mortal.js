// SPDX-License-Identifier: Apache-2.0
// Made while the kernel runs, and ends in each way in which a vat can.
import { Far } from '@endo/far';

export function buildRootObject(vatPowers, vatParameters) {
  if (vatParameters?.refuse) throw Error('not to be built');
  let count = 0;

  return Far('mortal', {
    increment() {
      count += 1;
      return count;
    },
    getParameters: () => vatParameters,
    work(n) {
      let sum = 0;
      for (let i = 0; i < n; i += 1) sum += i;
      return sum;
    },
    spin() {
      console.log('for ever');
      for (;;) count += 1;
    },
    overflow() {
      const deeper = n => 1 + deeper(n + 1);
      return deeper(0);
    },
    leave(value) {
      vatPowers.exitVat(value);
      return 'not seen by anyone';
    },
    fail(why) {
      vatPowers.exitVatWithFailure(Error(why));
    },
    never: () => new Promise(() => {}),
  });
}
