// SPDX-License-Identifier: Apache-2.0
// Tests of tc39/test262 as plain contracts of `gaspipe run`: each test in a vat of its own, whose
// contract evaluates the harness and the test, and says afterwards, twice, what the test printed.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const build = path.resolve(process.env.BUILD ?? path.join(import.meta.dirname, '../../build'));
const gaspipe = path.join(build, 'gaspipe');
const run = promisify(execFile);

// Vats of one run: all but its first two workers are forked, and one by itself is executed.
export const contractConfigurations = {
  none: { options: ['--counter', 'none'], batch: 250 },
  compiled: { options: ['--counter', 'compiled'], batch: 250 },
  restored: { options: ['--counter', 'none', '--max-workers', '1'], batch: 250 },
  executed: { options: ['--counter', 'none'], batch: 1 },
  qemu: { options: ['--counter', 'qemu'], batch: 100 },
};

// A contract has no modules, and its harness begins each script.
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
export const heard = () => said.map(text => text.slice(0, 200).toWellFormed());
`;

const harnessTexts = new Map();
const harnessText = file => {
  if (!harnessTexts.has(file)) harnessTexts.set(file, fs.readFileSync(file, 'utf8'));
  return harnessTexts.get(file);
};

const programOf = test =>
  [test.strict ? '"use strict";' : '', ...test.harness.map(harnessText), test.text].join('\n').toWellFormed();

const linesOf = (test, number) =>
  [
    { vat: `t${number}`, method: 'test', args: [programOf(test)] },
    { vat: `t${number}`, method: 'heard' },
  ].map(line => `${JSON.stringify(line)}\n`);

const readLines = file =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

const outcomeOf = (deliveries, snapshots) => {
  const [, tested, heard] = deliveries;
  const ended = deliveries.length < 4 || tested.status === 'terminated';
  return {
    ended: ended ? `vat ended: ${tested?.status} ${tested?.error}` : undefined,
    isKilled: deliveries.length < 2,
    threw: tested?.status === 'ok' ? undefined : tested?.error,
    said: heard?.result ?? [],
    record: {
      deliveries: deliveries.map(({ status, result, error, compute }) => [status, result, error, compute]),
      snapshots,
    },
  };
};

const runBatch = async (tests, { options }) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'test262-'));
  const file = name => path.join(folder, name);
  const lines = tests.map(linesOf);
  fs.writeFileSync(file('contract.js'), contract);
  // Each vat is idle while the others have their first two deliveries.
  fs.writeFileSync(file('lines'), [...lines.flat(), ...lines.map(([, heard]) => heard)].join(''));
  fs.writeFileSync(
    file('config'),
    JSON.stringify({ vat: Object.fromEntries(tests.map((_, number) => [`t${number}`, 'contract.js'])) }),
  );
  await run(
    'sh',
    [
      '-c', 'exec "$@" > out 2> err', 'sh', gaspipe, 'run', ...options, '--config', 'config', '--json',
      '--snapshot-initial', '2', '--snapshot-interval', '1', '--slog', 'slog', 'lines',
    ],
    { cwd: folder },
  ).catch(({ code }) => {
    if (code !== 1) throw Error(`gaspipe run: status ${code}: ${fs.readFileSync(file('err'), 'utf8').slice(-1000)}`);
  });
  const deliveries = tests.map(() => []);
  const snapshots = tests.map(() => []);
  for (const line of readLines(file('out')))
    if (line.kind === 'delivery') deliveries[Number(line.vat.slice(1))].push(line);
  for (const { type, vatID, snapshotID } of readLines(file('slog')))
    if (type === 'heap-snapshot-save') snapshots[Number(vatID.slice(1)) - 1].push(snapshotID.slice(0, 16));
  fs.rmSync(folder, { recursive: true });
  return tests.map((_, number) => outcomeOf(deliveries[number], snapshots[number]));
};

export const runContracts = async (tests, configuration) => {
  const outcomes = Array(tests.length);
  let next = 0;
  const share = async () => {
    while (next < tests.length) {
      const from = next;
      next += configuration.batch;
      const results = await runBatch(tests.slice(from, next), configuration);
      results.forEach((outcome, number) => {
        outcomes[from + number] = outcome;
      });
    }
  };
  await Promise.all(os.cpus().map(share));
  return outcomes;
};
