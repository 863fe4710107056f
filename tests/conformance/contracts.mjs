// SPDX-License-Identifier: Apache-2.0
// Tests of tc39/test262 as plain contracts: each test in a vat of its own, whose contract evaluates the
// harness and the test, and says afterwards, twice, what the test printed.
import fs from 'node:fs';

import { configurations, runVats } from './vats.mjs';

const { none, compiled, restored, executed, qemu } = configurations;
export const contractConfigurations = { none, compiled, restored, executed, qemu };

// A contract evaluates scripts, and its harness is part of each.
export const isContractTest = ({ flags }) => !flags.has('module') && !flags.has('raw');

const contract = `const said = [];
globalThis.print = text => {
  said.push(String(text));
};
globalThis.$262 = {
  evalScript: source => (0, eval)(source),
  detachArrayBuffer: buffer => {
    buffer.transfer();
  },
  gc: () => {},
  global: globalThis,
};
export const test = source => {
  (0, eval)(source);
};
export const heard = () => said.map(text => text.slice(0, 200));
`;

const harnessTexts = new Map();
const harnessText = file => {
  if (!harnessTexts.has(file)) harnessTexts.set(file, fs.readFileSync(file, 'utf8'));
  return harnessTexts.get(file);
};

const programOf = test =>
  [test.strict ? '"use strict";' : '', ...test.harness.map(harnessText), test.text].join('\n');

const deliveriesOf = test => [
  { method: 'test', args: [programOf(test).toWellFormed()] },
  { method: 'heard' },
  { method: 'heard' },
];

const outcomeOf = ({ deliveries, snapshots }) => {
  const [, tested, heard] = deliveries;
  const hasEnded = deliveries.length < 4 || tested.status === 'terminated';
  return {
    ended: hasEnded ? `vat ended: ${tested?.status} ${tested?.error}` : undefined,
    isKilled: deliveries.length < 4,
    threw: tested?.status === 'ok' ? undefined : tested?.error,
    said: heard?.result ?? [],
    record: { deliveries, snapshots },
  };
};

export const runContracts = async (tests, configuration) =>
  (await runVats(contract, tests.map(deliveriesOf), configuration)).map(outcomeOf);
