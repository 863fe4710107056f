// SPDX-License-Identifier: Apache-2.0
// The judge: runs vats under SwingSet's own kernel, npm @agoric/swingset-vat, from what
// `gaspipe run` takes, and leaves what can be compared.
// usage: node kernel.mjs MODULES DIR OPTIONS.json DELIVERIES
// OPTIONS: {"worker":PATH, "echo":BUNDLE-FILE, "vats":{NAME:BUNDLE-FILE,...},
//           "bundles":{NAME:BUNDLE-FILE,...}, "reapInterval":N, "snapshotInitial":N,
//           "snapshotInterval":N, "linesPerRun":N, "runsPerCommit":N, "keys":BOOLEAN,
//           "kernelBundles":FILE, "argv":ARRAY,
//           "vatOptions":{NAME:{"parameters":VALUE,"creationOptions":OBJECT},...}}
// Three of the four before the last are by default 1, 1 and true; FILE is written unless it is there: making
// the bundles of the kernel takes longer than many a run.
// The first delivery must be bootstrap(vats, devices), which this kernel sends by itself.
// Prints a line {"kind":"result",...} for each delivery, as gaspipe does, and at the end one
// {"kind":"summary",...} with seconds: until the kernel was there, of all lines, of commits among
// them. Writes DIR/slog and DIR/keys.jsonl, all keys of the kernel and of the vatstores.
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const [modules, directory, optionsFile, deliveriesFile] = process.argv.slice(2);
const load = file => import(pathToFileURL(path.resolve(modules, file)).href);
await load('@endo/init/pre-bundle-source.js');
await load('@endo/init/index.js');
const { initSwingStore } = await load('@agoric/swing-store/src/index.js');
const { buildKernelBundles, initializeSwingset, makeSwingsetController, buildTimer } = await load(
  '@agoric/swingset-vat/src/index.js',
);
const { kslot } = await load('@agoric/kmarshal/src/kmarshal.js');

const options = JSON.parse(fs.readFileSync(optionsFile, 'utf8'));
const lines = fs
  .readFileSync(deliveriesFile, 'utf8')
  .split('\n')
  .map((text, i) => ({ text, place: `${deliveriesFile}:${i + 1}` }))
  .filter(({ text }) => text.trim())
  .map(({ text, place }) => ({ ...JSON.parse(text), place }));
const bootstrap = lines.shift();
if (bootstrap.method !== 'bootstrap') throw Error('the first delivery is not bootstrap()');

const bundle = file => ({ bundle: JSON.parse(fs.readFileSync(file, 'utf8')) });
const named = (files, others = {}) =>
  Object.fromEntries(Object.entries(files).map(([name, file]) => [name, { ...bundle(file), ...others[name] }]));

const timer = buildTimer();
// The device has the name that bootstrap() gets it by.
const clockName = Object.keys(bootstrap.args[1]).find(name => ['clock', 'timer'].includes(name)) ?? 'clock';
let trigger;
const config = {
  bootstrap: bootstrap.vat,
  defaultManagerType: 'xsnap',
  defaultReapInterval: options.reapInterval,
  snapshotInitial: options.snapshotInitial,
  snapshotInterval: options.snapshotInterval,
  vats: named(options.vats, options.vatOptions),
  bundles: named(options.bundles ?? {}),
  devices: {
    [clockName]: { sourceSpec: timer.srcPath },
    echo: bundle(options.echo),
  },
};

const slog = fs.openSync(path.join(directory, 'slog'), 'w');
const slogSender = line => {
  const plain = (_, value) => (typeof value === 'bigint' ? Number(value) : value);
  fs.writeSync(slog, `${JSON.stringify(line, plain)}\n`);
};

const { kernelStorage, hostStorage } = initSwingStore(path.join(directory, 'swing-store'), {
  keepSnapshots: true,
});
const provideBundles = async file => {
  if (!fs.existsSync(file)) fs.writeFileSync(file, JSON.stringify(await buildKernelBundles()));
  return JSON.parse(fs.readFileSync(file, 'utf8'));
};
const { kernel: kernelBundle, ...kernelBundles } = options.kernelBundles
  ? await provideBundles(options.kernelBundles)
  : {};
const bootstrapResult = await initializeSwingset(config, options.argv, kernelStorage, {
  kernelBundles: kernelBundle && kernelBundles,
  addTimer: false, // `options.vats` has it, where it is wanted
  addComms: false,
  addVattp: false,
});
const { kvStore } = kernelStorage;
await hostStorage.commit();
const controller = await makeSwingsetController(
  kernelStorage,
  {
    [clockName]: { ...timer.endowments },
    echo: { registerTrigger: notify => (trigger = notify) },
  },
  {
    slogSender,
    kernelBundle,
    spawn: (_command, args, rest) => spawn(options.worker, args, rest),
  },
);
const roots = Object.fromEntries(
  Object.keys({ ...options.vats, vatAdmin: '' }).map(name => [name, controller.pinVatRoot(name)]),
);

// A result in JSON, as gaspipe prints it, with the references in `slots`. No vat of the cases makes a record that
// gaspipe would put into {"@record":…}.
const bareValues = ['undefined', 'NaN', 'Infinity', '-Infinity'];
const plainText = (text, slots) => {
  const rest = text.slice(1);
  if (text[0] === '!') return rest;
  if (/^[+-]/.test(text)) return { '@bigint': text.replace('+', '') };
  if (text[0] === '%') return { '@symbol': rest };
  if (text[0] === '#' && bareValues.includes(rest)) return { '@value': rest };
  const slot = /^[$&](\d+)(?:[.](.*))?$/.exec(text);
  return slot ? { '@ref': slots[slot[1]], ...(slot[2] && { iface: slot[2] }) } : text;
};
const plainValue = (value, slots) => {
  if (typeof value === 'string') return plainText(value, slots);
  if (Array.isArray(value)) return value.map(of => plainValue(of, slots));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, of]) => [key[0] === '!' ? key.slice(1) : key, plainValue(of, slots)]),
  );
};

const results = new Map();
const decode = value => {
  if (Array.isArray(value)) return harden(value.map(decode));
  if (value === null || typeof value !== 'object') return value;
  if ('@vat' in value) return kslot(roots[value['@vat']]);
  if ('@result' in value) return kslot(results.get(value['@result']));
  if ('@bigint' in value) return BigInt(value['@bigint']);
  return harden(Object.fromEntries(Object.entries(value).map(([key, of]) => [key, decode(of)])));
};

// A result is printed once, when its promise is settled.
let waiting = [];
const started = performance.now();
let committing = 0;
const commit = async () => {
  const began = performance.now();
  await hostStorage.commit();
  committing += performance.now() - began;
};
const report = ({ place }, kpid) => {
  const status = controller.kpStatus(kpid);
  if (status === 'unresolved') return false;
  const { body, slots } = controller.kpResolution(kpid);
  const value = plainValue(JSON.parse(body.slice(1)), slots);
  console.log(JSON.stringify({ kind: 'result', place, status, value }));
  return true;
};
const { linesPerRun = 1, runsPerCommit = 1 } = options;
let runs = 0;
const run = async () => {
  await controller.run();
  runs += 1;
  if (runs % runsPerCommit === 0) await commit();
  waiting = waiting.filter(([line, kpid]) => !report(line, kpid));
};

waiting.push([bootstrap, bootstrapResult]);
await run();
let queued = 0;
for (const line of lines) {
  if ('clock' in line) {
    timer.poll(line.clock);
  } else if ('trigger' in line) {
    trigger(line.trigger);
  } else if ('reap' in line) {
    controller.reapAllVats();
  } else {
    const kpid = controller.queueToVatRoot(line.vat, line.method, decode(line.args ?? []), 'ignore');
    if (line.id) results.set(line.id, kpid);
    waiting.push([line, kpid]);
  }
  queued += 1;
  if (queued % linesPerRun === 0) await run();
}
if (queued % linesPerRun !== 0) await run();
await commit();
const seconds = { start: started, lines: performance.now() - started, commits: committing };
for (const [name, ms] of Object.entries(seconds)) seconds[name] = ms / 1000;
console.log(JSON.stringify({ kind: 'summary', ...seconds }));

const keys = fs.openSync(path.join(directory, 'keys.jsonl'), 'w');
const firstKey = options.keys === false ? undefined : kvStore.getNextKey('');
for (let key = firstKey; key !== undefined; key = kvStore.getNextKey(key)) {
  fs.writeSync(keys, `${JSON.stringify([key, kvStore.get(key)])}\n`);
}
await controller.shutdown();
await hostStorage.close();
