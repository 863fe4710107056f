// SPDX-License-Identifier: Apache-2.0
// A vat that needs no bundler: the source of a bundle of moduleFormat getExport. It keeps
// a count that outlives its worker, calls a peer, makes objects and promises, and drops them.
function getExport() {
  'use strict';

  const Far = (name, methods) =>
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
  const send = (target, method, ...args) => HandledPromise.applyMethod(target, method, args);

  const buildRootObject = (vatPowers, vatParameters, baggage) => {
    const { makeScalarBigMapStore } = VatData;
    const counts = makeScalarBigMapStore('counts', { durable: true });
    let inHeap = 0;

    const makeCounter = name =>
      Far('counter', {
        add: by => {
          const sum = (counts.has(name) ? counts.get(name) : 0) + by;
          if (counts.has(name)) counts.set(name, sum);
          else counts.init(name, sum);
          inHeap += 1;
          return sum;
        },
      });

    return Far('root', {
      makeCounter,
      heap: () => inHeap,
      addAtPeer: async (peer, name, by) => {
        const counter = send(peer, 'makeCounter', name);
        const sum = await send(counter, 'add', by);
        inHeap += 1;
        return [sum, await send(peer, 'heap'), inHeap];
      },
      fail: why => {
        throw Error(why);
      },
      never: () => new Promise(() => {}),
      spin: () => {
        for (;;);
      },
    });
  };
  return { buildRootObject };
}
