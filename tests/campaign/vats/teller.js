// SPDX-License-Identifier: Apache-2.0
// A vat of the getExport format: moves amounts between two ledgers.
function getExport() {
  'use strict';

  const call = (target, method, ...args) =>
    HandledPromise.applyMethod(target, method, args);

  const far = (name, methods) =>
    harden(
      Object.setPrototypeOf(
        methods,
        harden(
          Object.create(Object.prototype, {
            [Symbol.for('passStyle')]: { value: 'remotable' },
            [Symbol.toStringTag]: { value: `Alleged: ${name}` },
          }),
        ),
      ),
    );

  const buildRootObject = () => {
    let ledgers;
    let last = []; // receipts, dropped by the next move

    return far('teller', {
      open: (left, right) => {
        ledgers = [left, right];
      },
      move: async amount => {
        const [left, right] = ledgers;
        last = await Promise.all([
          call(left, 'add', -amount),
          call(right, 'add', amount),
        ]);
        const numbers = await Promise.all(last.map(it => call(it, 'number')));
        return harden(numbers);
      },
      audit: async () => {
        const states = await Promise.all(ledgers.map(it => call(it, 'state')));
        return harden(states);
      },
    });
  };

  return harden({ buildRootObject });
}
