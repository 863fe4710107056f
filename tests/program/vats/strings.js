// SPDX-License-Identifier: Apache-2.0
// A vat that needs no bundler, as counter.js, and has strings that strict parsers refuse:
// halves of surrogate pairs, and '\0'.
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

  // Its UTF-16 units, as text that any parser takes.
  const units = text =>
    [...Array(text.length).keys()].map(i => text.charCodeAt(i).toString(16)).join(' ');

  const buildRootObject = (vatPowers, vatParameters, baggage) => {
    const texts = VatData.makeScalarBigMapStore('texts', { durable: true });

    return Far('root', {
      units,
      // The key stands in the key of a syscall as it is.
      keep: (key, text) => {
        if (texts.has(key)) texts.set(key, text);
        else texts.init(key, text);
        return units(texts.get(key));
      },
      kept: () => [...texts.entries()].map(([key, text]) => `${units(key)}: ${units(text)}`),
      give: (...numbers) => String.fromCharCode(...numbers),
      record: () => ({ '\ud800': '\udfff', ['a\ufffe']: '\ufffe\u0800' }),
      say: text => console.log('it says', text),
      fail: text => {
        throw Error(text);
      },
      '\udead': text => text,
      relay: async (peer, ...numbers) => {
        const text = await send(peer, 'give', ...numbers);
        return units(await send(peer, '\udead', text));
      },
      echo: (device, ...numbers) =>
        units(vatPowers.D(device).echo(String.fromCharCode(...numbers))),
    });
  };
  return { buildRootObject };
}
