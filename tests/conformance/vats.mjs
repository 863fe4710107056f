// SPDX-License-Identifier: Apache-2.0
// Scripts in plain contracts: each list of deliveries goes to a vat of its own, in one run of gaspipe,
// and what came of it can be compared between configurations.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const build = path.resolve(process.env.BUILD ?? path.join(path.dirname(fileURLToPath(import.meta.url)), '../../build'));
const gaspipe = path.join(build, 'gaspipe');
const peer = path.join(build, 'xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker');
const run = promisify(execFile);
const native = ['--counter', 'none'];

// Workers are forked where a run has more than two vats, and executed where each run has one.
export const configurations = {
  none: { options: native, batch: 250 },
  compiled: { options: ['--counter', 'compiled'], batch: 250 },
  restored: { options: [...native, '--max-workers', '1'], batch: 250 },
  executed: { options: native, batch: 1 },
  qemu: { options: ['--counter', 'qemu'], batch: 100 },
  profile: { options: [...native, '--profile', 'profile'], batch: 250 },
  open: { options: [...native, '--sandbox', 'off'], batch: 250 },
  xsnap: { options: [...native, '--worker', peer], batch: 250, isPeer: true },
};

const readLines = file =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

// Each vat is idle while the others have a delivery.
const inTurns = vats => {
  const most = Math.max(...vats.map(deliveries => deliveries.length));
  return Array.from(Array(most), (_, turn) =>
    vats.flatMap((deliveries, number) =>
      turn < deliveries.length ? [{ vat: `t${number}`, ...deliveries[turn] }] : [],
    ),
  ).flat();
};

const start = async (directory, options) => {
  const all = [
    ...['run', ...options, '--config', 'config', '--json', '--slog', 'slog'],
    ...['--snapshot-initial', '2', '--snapshot-interval', '1', 'lines'],
  ];
  try {
    await run('sh', ['-c', 'exec "$@" > out 2> err', 'sh', gaspipe, ...all], { cwd: directory });
  } catch ({ code, signal }) {
    // 1: a delivery failed; 5: a vat is in quarantine.
    if (code !== 1 && code !== 5) {
      const words = fs.readFileSync(path.join(directory, 'err'), 'utf8').slice(-1000);
      throw Error(`gaspipe run: ${signal ?? `status ${code}`}: ${words}`);
    }
  }
};

const runBatch = async (contract, vats, options) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'vats-'));
  const file = name => path.join(directory, name);
  const names = vats.map((_, number) => `t${number}`);
  const text = inTurns(vats).map(line => `${JSON.stringify(line)}\n`);
  fs.writeFileSync(file('contract.js'), contract);
  fs.writeFileSync(file('lines'), text.join(''));
  fs.writeFileSync(
    file('config'),
    JSON.stringify({ vat: Object.fromEntries(names.map(name => [name, 'contract.js'])) }),
  );
  await start(directory, options);
  const results = vats.map(() => ({ deliveries: [], snapshots: [] }));
  for (const { kind, vat, status, result, error, compute } of readLines(file('out')))
    if (kind === 'delivery')
      results[Number(vat.slice(1))].deliveries.push({ status, result, error, compute });
  for (const { type, vatID, snapshotID } of readLines(file('slog')))
    if (type === 'heap-snapshot-save')
      results[Number(vatID.slice(1)) - 1].snapshots.push(snapshotID.slice(0, 16));
  fs.rmSync(directory, { recursive: true });
  return results;
};

// Returns the outcomes of each vat's deliveries, beginning with startVat, and its snapshots' hashes.
// `more`: options for gaspipe besides those of the configuration.
export const runVats = async (contract, vats, { options, batch }, more = []) => {
  const results = Array(vats.length);
  let next = 0;
  const share = async () => {
    while (next < vats.length) {
      const from = next;
      next += batch;
      const some = await runBatch(contract, vats.slice(from, from + batch), [...options, ...more]);
      some.forEach((result, number) => {
        results[from + number] = result;
      });
    }
  };
  await Promise.all(os.cpus().map(share));
  return results;
};
