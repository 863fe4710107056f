// SPDX-License-Identifier: Apache-2.0
// Round trips of npm's @agoric/xsnap client to a worker.
// usage: node npm_client.mjs NODE_MODULES WORKER PLACEMENT COUNT SIZE
// Prints {"median":NANOSECONDS,"p99":NANOSECONDS}. PLACEMENT is same, spread or none;
// for the first two, the caller has pinned this process to CPU 0.
import fs from 'node:fs';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, worker, placement, countText, sizeText] = process.argv.slice(2);
const load = file => import(pathToFileURL(path.resolve(modules, file)).href);

await load('@endo/init/index.js');
const { xsnap } = await load('@agoric/xsnap/src/xsnap.js');

const place = (command, args) =>
  placement === 'spread'
    ? ['taskset', ['-c', '1', command, ...args]]
    : [command, args];

const vat = await xsnap({
  os: 'Linux',
  fs,
  spawn: (_command, args, options) => spawn(...place(worker, args), options),
  name: 'bench',
  stderr: 'inherit',
});
await vat.evaluate(
  'globalThis.handleCommand = bytes => ({ result: bytes });',
);

const count = Number(countText);
const message = new Uint8Array(Number(sizeText));
const times = [];
for (let i = -count / 5; i < count; i += 1) {
  const start = process.hrtime.bigint();
  await vat.issueCommand(message);
  const end = process.hrtime.bigint();
  if (i >= 0) {
    times.push(Number(end - start));
  }
}
await vat.close();

times.sort((a, b) => a - b);
const percentile = share => times[Math.ceil(share * times.length) - 1];
console.log(
  JSON.stringify({ median: percentile(0.5), p99: percentile(0.99) }),
);
