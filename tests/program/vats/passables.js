// SPDX-License-Identifier: Apache-2.0
// A vat that needs no bundler, and makes a value of each type that @endo/marshal passes.
function getExport() {
  'use strict';

  const styled = (style, name, more) =>
    harden(
      Object.create(Object.prototype, {
        [Symbol.for('passStyle')]: { value: style },
        [Symbol.toStringTag]: { value: name },
        ...more,
      }),
    );
  const Far = (name, methods) =>
    harden(Object.setPrototypeOf(methods, styled('remotable', `Alleged: ${name}`)));
  const tagged = (tag, payload) => styled('tagged', tag, { payload: { value: payload, enumerable: true } });

  const buildRootObject = () => {
    const purse = Far('purse', { worth: () => 3n });
    const values = harden([
      undefined,
      null,
      true,
      0,
      -1.5,
      1e300,
      NaN,
      Infinity,
      -Infinity,
      0n,
      6921n,
      -(2n ** 80n),
      '',
      'plain',
      '!bang',
      '#undefined',
      '+1',
      '$0.Alleged: purse',
      Symbol.asyncIterator,
      Symbol.for('mine'),
      [],
      [1n, [undefined]],
      {},
      { a: 1n, '!b': { '#c': NaN } },
      { '@bigint': '7' },
      { '@record': {} },
      { '#tag': 'copySet', payload: [] },
      { '#error': 'not one', name: 'Error' },
      tagged('copySet', [2n, 'x']),
      tagged('#odd', undefined),
      TypeError('-1 is odd'),
      purse,
      [purse, { again: purse }],
      Promise.resolve(5n),
    ]);
    return Far('root', { all: () => values, keep: value => harden([value, [value]]), negative: zero => Object.is(zero, -0) });
  };
  return { buildRootObject };
}
