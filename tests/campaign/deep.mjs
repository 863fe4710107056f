// SPDX-License-Identifier: Apache-2.0
// How deep contracts may go, in all configurations: see deep.
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { randomFrom } from './random_script.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const build = path.resolve(process.env.BUILD ?? path.join(here, '../../build'));
const contracts = path.join(here, '../program/contracts');
const contract = path.join(contracts, 'deep.js');
const limitsFile = path.join(contracts, 'deep_limits');

const say = words => console.error(`deep: ${words}`);

// ---- configurations ----

const native = ['--counter', 'none'];
// `replay`: of the options those that gaspipe replay has. Workers whose functions are traced are executed, the
// others are forked.
export const configurations = {
  forked: { options: native, replay: native },
  restored: { options: [...native, '--max-workers', '1'], replay: native },
  jobs: { options: [...native, '--jobs', '3'], replay: [...native, '--jobs', '3'] },
  profile: { options: [...native, '--profile', 'profile'], replay: [...native, '--profile', 'profile'] },
  functions: { options: [...native, '--trace-functions', 'functions'], replay: native },
  computrons: { options: [...native, '--trace-functions', 'functions', '--trace-clock', 'computrons'], replay: native },
  open: { options: [...native, '--sandbox', 'off'], replay: [...native, '--sandbox', 'off'] },
  longPath: { options: native, replay: native, longPath: true },
  smallStack: { options: native, replay: native, smallStack: true },
  compiled: { options: ['--counter', 'compiled'], replay: ['--counter', 'compiled'], counts: true },
  qemu: { options: ['--counter', 'qemu'], replay: ['--counter', 'qemu'], counts: true },
};

const programOf = (directory, { longPath }) => {
  if (!longPath) return path.join(build, 'gaspipe');
  const long = path.join(directory, 'x'.repeat(150));
  if (!fs.existsSync(long)) {
    fs.mkdirSync(long);
    for (const name of ['gaspipe', 'gaspipe-worker', 'gaspipe-sandbox'])
      fs.copyFileSync(path.join(build, name), path.join(long, name));
  }
  return path.join(long, 'gaspipe');
};

// Runs gaspipe in the directory; its output is in the files NAME.out and NAME.err.
const start = (directory, name, configuration, words) => {
  const limit = configuration.smallStack ? 'ulimit -Ss 4096; ' : '';
  const command = `${limit}exec "$@" > ${name}.out 2> ${name}.err`;
  const { status, signal } = spawnSync('bash', ['-c', command, 'bash', programOf(directory, configuration), ...words], {
    cwd: directory,
    timeout: 3600_000,
  });
  return signal ?? status;
};

const linesOf = file =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

// The outcomes of deliveries, by vat and in order.
const run = (directory, store, configuration, lines, vats, more = [], mayHang = false) => {
  const file = path.join(directory, 'lines');
  fs.writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''));
  fs.writeFileSync(path.join(directory, 'config'), JSON.stringify({ vat: Object.fromEntries(vats.map(vat => [vat, contract])) }));
  const common = ['--json', '--store', store, '--config', 'config', '--delivery-timeout', '300', '--retries', '0'];
  const status = start(directory, 'run', configuration, ['run', ...configuration.options, ...common, ...more, 'lines']);
  if (status !== 0 && status !== 1 && !(status === 5 && mayHang)) {
    const words = fs.readFileSync(path.join(directory, 'run.err'), 'utf8').slice(-600);
    throw Error(`gaspipe run ${configuration.options.join(' ')}: status ${status}: ${words}`);
  }
  const found = {};
  for (const { kind, vat, description, status: outcome, result, error, compute } of linesOf(path.join(directory, 'run.out')))
    if (kind === 'delivery') (found[vat] ??= []).push([description, outcome, result, error, compute]);
  return found;
};

// ---- where each construct ends ----

// The largest sizes tried: some constructs have no limit, and others reach the time limit first.
const caps = { 'parse names': 2000, 'parse labels': 3000, 'parse sets': 20000, 'parse captures': 20000, 'parse forOfs': 3000, 'parse forIns': 3000 };
const capOf = kind => caps[kind] ?? { parse: 300000, call: 6000, chain: 20000 }[kind.split(' ')[0]];

const kindsOf = directory => {
  const found = run(directory, 'kinds', configurations.forked, [{ vat: 'kinds', method: 'kinds' }], ['kinds']);
  return found.kinds.at(-1)[2];
};

const isOk = ([, status, result]) => status === 'ok' && result === 'ok';

// Prints a line for each kind: how deep it may be, and what is said of one level more.
const findLimits = directory => {
  const open = new Map(kindsOf(directory).map(kind => [kind, { ok: 0, bad: capOf(kind) + 1, said: 'not tried' }]));
  for (let round = 0; [...open.values()].some(({ ok, bad }) => bad - ok > 1); round += 1) {
    const tried = [...open].filter(([, { ok, bad }]) => bad - ok > 1);
    const depths = tried.map(([, { ok, bad }]) => (round === 0 ? bad - 1 : (ok + bad) >> 1));
    const lines = tried.map(([kind], i) => ({ vat: `v${i}`, method: 'reach', args: [kind, depths[i]] }));
    const found = run(directory, `limits${round}`, { options: [...native, '--jobs', '2'] }, lines, lines.map(({ vat }) => vat), ['--delivery-timeout', '10'], true);
    tried.forEach(([, limit], i) => {
      const outcome = found[`v${i}`].at(-1);
      if (isOk(outcome)) limit.ok = depths[i];
      else Object.assign(limit, { bad: depths[i], said: outcome[1] === 'error' ? 'ends' : `${outcome[2]}`.split(':')[0] });
    });
    fs.rmSync(path.join(directory, `limits${round}`), { recursive: true });
    say(`round ${round}, ${tried.length} kinds`);
  }
  for (const [kind, { ok, said }] of open)
    console.log(`${kind} ${ok} ${ok === capOf(kind) ? '-' : said}`);
};


// ---- what a store holds ----

// All but what counters add, and what depends on the worker's program.
const contents = store => {
  const read = query => {
    const { status, stdout, stderr } = spawnSync('sqlite3', [path.join(store, 'gaspipe.sqlite'), query], {
      encoding: 'utf8',
      maxBuffer: 1 << 30,
    });
    if (status !== 0) throw Error(`sqlite3: ${stderr}`);
    return stdout;
  };
  const counts = ['instructions', 'fingerprint', 'blockCost'].map(name => `'$.r.${name}'`).join();
  return {
    keys: read('SELECT name, hex(value) FROM key ORDER BY name'),
    vatstore: read('SELECT vat, hex(key), hex(value) FROM vatstore ORDER BY vat, key'),
    snapshots: read('SELECT vat, incarnation, position, hash FROM snapshot ORDER BY vat, incarnation, position'),
    transcripts: read(
      `SELECT vat, incarnation, position, json_remove(CAST(item AS TEXT), ${counts}) FROM transcript ORDER BY vat, incarnation, position`,
    ),
  };
};

const same = (what, found, expected) => {
  for (const name of Object.keys(expected)) {
    const [one, other] = [found[name], expected[name]].map(each => JSON.stringify(each) ?? '');
    if (one === other) continue;
    let at = 0;
    while (one[at] === other[at]) at += 1;
    const part = text => text.slice(Math.max(0, at - 60), at + 200);
    throw Error(`${what}: ${name} differs:\n  ${part(one)}\nnot\n  ${part(other)}`);
  }
};

// ---- every store resumed and replayed by every configuration ----

const readLimits = () =>
  fs
    .readFileSync(limitsFile, 'utf8')
    .split('\n')
    .filter(line => line !== '' && line[0] !== '#')
    .map(line => line.match(/^(\S+ \S+) (\d+) (.*)$/).slice(1))
    .map(([kind, depth, words]) => ({ kind, depth: Number(depth), ends: words !== '-' }));

const deliver = (vat, method, ...args) => ({ vat, method, args });

const chainsKept = [['arrays', 9000], ['generators', 5000], ['weakMaps', 5000], ['closures', 5000], ['promises', 300]];

// Two batches of lines. In the first each construct is used to its limit; in the second some go beyond.
// One vat has all errors that can be caught.
const batches = kinds => {
  const caught = kinds.filter(({ kind }) => kind.startsWith('parse '));
  const fatal = kinds.filter(each => !caught.includes(each));
  const vatOf = new Map(fatal.map(({ kind }, i) => [kind, `v${i}`]));
  const first = [
    ...caught.map(({ kind, depth }) => deliver('caught', 'reach', kind, depth)),
    ...fatal.map(({ kind, depth }) => deliver(vatOf.get(kind), 'reach', kind, depth)),
    ...chainsKept.map(([shape, n]) => deliver('heap', 'keep', shape, n)),
  ];
  const second = [
    ...caught.map(({ kind, depth, ends }) => deliver('caught', 'reach', kind, ends ? depth + 1 : depth)),
    ...fatal.map(({ kind, depth, ends }, i) => deliver(vatOf.get(kind), 'reach', kind, depth + (ends && i % 2))),
    ...chainsKept.map(([shape]) => deliver('heap', 'look', shape)),
    deliver('heap', 'resolve', 'promises'),
    deliver('heap', 'isSettled', 'promises'),
  ];
  const vats = ['caught', ...vatOf.values(), 'heap'];
  const replayed = ['caught', 'heap', ...fatal.filter(({ ends }, i) => !(ends && i % 2)).map(({ kind }) => vatOf.get(kind))];
  const expected = [
    first.map(() => true),
    [...caught.map(({ ends }) => !ends), ...fatal.map(({ ends }, i) => !(ends && i % 2)), ...second.slice(kinds.length).map(() => true)],
  ];
  return { first, second, vats, replayed, expected };
};

// The outcomes of the two batches: those that isOk() expects, and those found.
const reached = ({ before, after }, { first, second, expected }) => {
  const found = [first, second].map((lines, i) => {
    const next = {};
    return lines.map(({ vat, method }) => {
      const outcomes = (i === 0 ? before : after)[vat].filter(([description]) => !/startVat/.test(description));
      next[vat] = (next[vat] ?? -1) + 1;
      return method === 'reach' ? isOk(outcomes[next[vat]]) : true;
    });
  });
  return [found, expected];
};

// A snapshot after the first batch, or none.
const snapshots = number => ['--snapshot-initial', number % 2 ? '2' : '1000', '--snapshot-interval', '1000'];

// `mayBeIdle`: a vat may have ended, or had no delivery since its last snapshot.
const replayAll = (directory, store, name, vats, mayBeIdle = false) => {
  const configuration = configurations[name];
  for (const vat of vats) {
    const status = start(directory, 'replay', configuration, ['replay', ...configuration.replay, '--store', store, vat]);
    const words = fs.readFileSync(path.join(directory, 'replay.err'), 'utf8').slice(-600);
    const isIdle = /it had no delivery since|no such vat lives/.test(words);
    if (status !== 0 && !(status === 3 && mayBeIdle && isIdle))
      throw Error(`gaspipe replay ${vat} ${configuration.replay.join(' ')}: status ${status}: ${words}`);
  }
};

const makeReference = (directory, number, { first, second, vats }) => {
  const store = `reference${number}`;
  const before = run(directory, store, configurations.forked, first, vats, snapshots(number));
  const contentsBefore = contents(path.join(directory, store));
  const after = run(directory, store, configurations.forked, second, vats, ['--again', ...snapshots(number)]);
  return { before, contentsBefore, after, contentsAfter: contents(path.join(directory, store)) };
};

// The number of faults.
const compareAll = (directory, names, kinds, isRing) => {
  const all = batches(kinds);
  const { first, second, vats, replayed } = all;
  const expected = [0, 1].map(number => makeReference(directory, number, all));
  let faults = 0;
  const attempt = (what, action) => {
    try {
      action();
      return true;
    } catch (error) {
      faults += 1;
      say(`${what}: ${error.message}`);
      return false;
    }
  };
  attempt('the limits', () => same('what is reached', ...reached(expected[0], all)));
  names.forEach((name, number) => {
    const { before, contentsBefore, after, contentsAfter } = expected[number % 2];
    const store = `by-${name}`;
    const isMade = attempt(name, () => {
      same('results', run(directory, store, configurations[name], first, vats, snapshots(number)), before);
      same('the store', contents(path.join(directory, store)), contentsBefore);
    });
    const others = isRing ? [names[(number + 1) % names.length]] : names;
    for (const other of isMade ? others : [])
      attempt(`${name}, resumed by ${other}`, () => {
        fs.rmSync(path.join(directory, 'copy'), { recursive: true, force: true });
        fs.cpSync(path.join(directory, store), path.join(directory, 'copy'), { recursive: true, preserveTimestamps: true });
        same('results', run(directory, 'copy', configurations[other], second, vats, ['--again', ...snapshots(number)]), after);
        same('the store', contents(path.join(directory, 'copy')), contentsAfter);
        replayAll(directory, 'copy', other, replayed);
      });
    say(`${name}: ${faults} faults`);
  });
  return faults;
};

// ---- random runs ----

const depthOf = ({ kind, depth, ends }, { int, chance }) => {
  const most = kind.startsWith('parse ') ? Math.min(depth, 20000) : depth;
  if (chance(0.3) && ends && (most === depth || chance(0.1))) return depth + int(3);
  return 1 + int(most);
};

// A line for the vat. What has no end takes time only.
const randomLine = (vat, random, { limits, calls, values, slow, shapes }) => {
  const { int, pick } = random;
  const parse = limits.filter(({ kind }) => kind.startsWith('parse '));
  switch (int(8)) {
    case 0:
    case 1: {
      const limit = pick(limits);
      return deliver(vat, 'reach', limit.kind, depthOf(limit, random));
    }
    case 2: {
      const limit = pick(parse);
      const some = Array.from(Array(1 + int(4)), () => pick(calls));
      return deliver(vat, 'within', some, int(60), limit.kind, depthOf(limit, random));
    }
    case 3:
      return deliver(vat, 'keep', pick(shapes), 1 + int(random.chance(0.1) ? 20000 : 2000));
    case 4:
      return deliver(vat, random.chance(0.7) ? 'look' : 'drop', pick(shapes));
    case 5:
      return deliver(vat, 'hold', pick(values), 1 + int(random.chance(0.2) ? 30000 : 1000));
    case 6:
      return deliver(vat, 'work', pick(slow), 1 + int(3000));
    default:
      return deliver(vat, 'nested', 1 + int(random.chance(0.2) ? 3000 : 200));
  }
};

const askContract = (directory, method) =>
  run(directory, `ask-${method}`, configurations.forked, [deliver('asked', method)], ['asked']).asked.at(-1)[2];

const randomRun = (directory, seed, names, known) => {
  const random = randomFrom(seed);
  const { int, pick } = random;
  const vats = Array.from(Array(3 + int(5)), (_, i) => `v${i}`);
  const [first, second] = [0, 1].map(() =>
    Array.from(Array(vats.length * 4), () => randomLine(pick(vats), random, known)),
  );
  const more = ['--snapshot-initial', `${2 + int(3)}`, '--snapshot-interval', `${1 + int(5)}`];
  const limits = ['--max-heap', '300M', '--compute-limit', '20000000'];
  const [one, other, third] = [pick(names), pick(names), pick(names)];
  const words = `seed ${seed}: ${one}, ${other}, ${third}`;
  const by = (store, name, lines, options) => run(directory, store, configurations[name], lines, vats, [...more, ...options]);
  const expected = [by('reference', 'forked', first, limits), by('reference', 'forked', second, ['--again'])];
  same(`${words}: first results`, by('store', one, first, limits), expected[0]);
  same(`${words}: second results`, by('store', other, second, ['--again']), expected[1]);
  same(`${words}: the stores`, contents(path.join(directory, 'store')), contents(path.join(directory, 'reference')));
  replayAll(directory, 'store', third, vats, true);
};

// ---- the command ----

const usage = () => {
  const text = fs.readFileSync(path.join(here, 'deep'), 'utf8');
  console.error(text.match(/^# usage: (.*\n)(#  .*\n){2}/m)[0].replace(/^# /gm, ''));
  process.exit(2);
};

const readArguments = () => {
  try {
    const short = Object.fromEntries(['n', 't', 's', 'e', 'c'].map(name => [name, { type: 'string', short: name }]));
    return parseArgs({ options: { ...short, cross: { type: 'boolean' }, ring: { type: 'boolean' }, limits: { type: 'boolean' } } }).values;
  } catch {
    return usage();
  }
};

const values = readArguments();
const numberOf = (name, otherwise) => (/^\d+$/.test(values[name] ?? otherwise) ? Number(values[name] ?? otherwise) : usage());
const seed = numberOf('s', crypto.randomInt(1 << 24));
const isThere = name => name !== 'compiled' || fs.existsSync(path.join(build, 'gaspipe-worker-metered'));
const names = values.c?.split(',') ?? Object.keys(configurations).filter(isThere);
if (names.some(name => !(name in configurations))) usage();
const directoryOf = () => fs.mkdtempSync(path.join(os.tmpdir(), 'deep-'));

const cross = () => {
  const directory = directoryOf();
  const every = numberOf('e', 10);
  const kinds = readLimits().filter((_, i) => i % every === seed % every);
  say(`${kinds.length} constructs, ${names.length} configurations, seed ${seed}, in ${directory}`);
  const faults = compareAll(directory, names, kinds, values.ring);
  if (faults === 0) fs.rmSync(directory, { recursive: true });
  return [names.length * (values.ring ? 1 : names.length), faults];
};

const runs = () => {
  const [most, seconds] = [numberOf('n', 20), numberOf('t', 0)];
  const until = seconds > 0 ? Date.now() + seconds * 1000 : Infinity;
  const directory = directoryOf();
  const [calls, large, slow] = askContract(directory, 'mixtures');
  const known = { limits: readLimits(), calls, values: large, slow, shapes: askContract(directory, 'shapes') };
  let done = 0, faults = 0;
  say(`seeds from ${seed} on`);
  while (done < most && Date.now() < until) {
    const own = directoryOf();
    try {
      randomRun(own, seed + done, names, known);
      fs.rmSync(own, { recursive: true });
    } catch (error) {
      faults += 1;
      say(`run with -n 1 -s ${seed + done}: ${error.message}; see ${own}`);
    }
    done += 1;
  }
  fs.rmSync(directory, { recursive: true });
  return [done, faults];
};

if (values.limits) {
  findLimits(directoryOf());
} else {
  const [done, faults] = values.cross || values.ring ? cross() : runs();
  console.log(`deep ${done} ${faults}`);
  process.exitCode = faults > 0 ? 1 : 0;
}
