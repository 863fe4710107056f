// SPDX-License-Identifier: Apache-2.0
// A vat of the getExport format, without a bundler: an account in the store of the vat,
// and a receipt, an object that others hold and drop, for each change of it.
function getExport() {
  'use strict';

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

  const buildRootObject = (_powers, _parameters, baggage) => {
    if (!baggage.has('balance')) {
      baggage.init('balance', 0n);
      baggage.init('changes', 0n);
    }
    let sinceStart = 0n; // lives in the worker's memory only

    const receipt = number => far('receipt', { number: () => number });

    return far('ledger', {
      add: amount => {
        baggage.set('balance', baggage.get('balance') + amount);
        baggage.set('changes', baggage.get('changes') + 1n);
        sinceStart += 1n;
        return receipt(sinceStart);
      },
      state: () => [baggage.get('balance'), baggage.get('changes'), sinceStart],
    });
  };

  return harden({ buildRootObject });
}
