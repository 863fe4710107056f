// SPDX-License-Identifier: Apache-2.0
// Runs random programs in several configurations and compares them: see random-scripts.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { takeSample } from '../conformance/sample.mjs';
import { configurations, runVats } from '../conformance/vats.mjs';
import { reasonOf } from './peer_reasons.mjs';
import { randomFrom, randomScript } from './random_script.mjs';

const contract = `let program;
export const load = source => {
  program = (0, eval)(source);
};
export const call = name => program[name]();
`;

const methods = ['m0', 'm1', 'm2', 'heard'];
const limits = ['--compute-limit', '3000000', '--max-heap', '200M', '--delivery-timeout', '120', '--retries', '0'];

// Programs of a batch; how many of them also run in the slow configurations.
const batch = 40;
const few = { executed: 8, qemu: 4 };

const values = (() => {
  try {
    return parseArgs({
      options: Object.fromEntries(['n', 't', 's', 'f'].map(short => [short, { type: 'string', short }])),
    }).values;
  } catch {
    console.error('usage: random-scripts [-n PROGRAMS] [-t SECONDS] [-s SEED] [-f DIR]');
    return process.exit(2);
  }
})();
const seed = Number(values.s ?? 1);
const most = values.t ? Infinity : Number(values.n ?? 200);
const end = values.t ? Date.now() + Number(values.t) * 1000 : Infinity;
const directory = path.resolve(values.f ?? '.');

// ---- programs ----

const suite = process.env.TEST262;
const tests = suite
  ? takeSample({
      suite,
      seed,
      prefixes: ['built-ins', 'language', 'annexB'],
      count: 3000,
      isSkipped: ({ flags, harness }) =>
        flags.has('module') || flags.has('raw') || harness.some(file => file.endsWith('atomicsHelper.js')),
    }).tests
  : [];

// A test with some lines of it, or of another test, in another place, and some numbers changed.
const mutation = number => {
  const { int, pick, chance } = randomFrom(number);
  const test = pick(tests);
  const lines = test.text.replace(/\/\*---[^]*?---\*\//, '').split('\n');
  const donor = pick(tests).text.replace(/\/\*---[^]*?---\*\//, '').split('\n');
  for (let change = 1 + int(4); change > 0; change -= 1) {
    const at = int(lines.length);
    if (chance(0.3)) lines.splice(at, 1);
    else if (chance(0.4)) lines.splice(at, 0, pick(donor));
    else if (chance(0.4)) lines.splice(at, 0, lines[int(lines.length)]);
    else lines[at] = lines[at].replace(/\d+/g, () => pick(['0', '-1', '1', '4294967295', 'NaN', '1n', '65536']));
  }
  const harness = test.harness.map(file => fs.readFileSync(file, 'utf8')).join('\n');
  return `var print = () => {};\n${harness}\n${lines.join('\n')}\n;({ m0() {}, m1() {}, m2() {}, heard() {} })`.toWellFormed();
};

const programOf = number => (tests.length > 0 && number % 3 === 2 ? mutation(number) : randomScript(number));

const deliveriesOf = source => [
  { method: 'load', args: [source] },
  ...methods.map(name => ({ method: 'call', args: [name] })),
];

// ---- comparing ----

// xsnap-worker has faults (peer_reasons.mjs), another heap and other names of errors than gaspipe's: only results are compared.
const comparable = (name, { deliveries, snapshots }) =>
  configurations[name].isPeer
    ? deliveries.map(({ status, result }) => [status, result])
    : [deliveries.map(({ status, result, error, compute }) => [status, result, error, compute]), snapshots];

const differ = (name, one, other) =>
  one === undefined || other === undefined || JSON.stringify(comparable(name, one)) !== JSON.stringify(comparable(name, other));

const run = async (name, sources) => {
  try {
    return await runVats(contract, sources.map(deliveriesOf), configurations[name], limits);
  } catch (error) {
    if (configurations[name].isPeer) return sources.map(() => undefined);
    throw error;
  }
};

const differsAlone = async (name, source) => {
  // Adds two idle vats, so that the third worker is forked.
  const sources = name === 'executed' ? [source] : [source, '1', '1'];
  const [[one], [other]] = [await run('none', [source, '1', '1']), await run(name, sources)];
  return differ(name, one, other);
};

// Takes lines away as long as it still differs, for a minute at most.
const shorten = async (name, source) => {
  const until = Date.now() + 60000;
  let lines = source.split('\n');
  for (let size = lines.length >> 1; size > 0 && Date.now() < until; size >>= 1)
    for (let at = 0; at < lines.length && Date.now() < until; ) {
      const fewer = [...lines.slice(0, at), ...lines.slice(at + size)];
      if (await differsAlone(name, fewer.join('\n'))) lines = fewer;
      else at += size;
    }
  return lines.join('\n');
};

const keep = async (name, number, source, one, other) => {
  const place = path.join(directory, `differs-${number}-${name}`);
  fs.mkdirSync(place, { recursive: true });
  const write = (file, text) => fs.writeFileSync(path.join(place, file), text);
  const again = await differsAlone(name, source);
  const shorter = again ? await shorten(name, source) : source;
  write('contract.js', contract);
  write('program.js', shorter);
  write('deliveries.jsonl', deliveriesOf(shorter).map(line => `${JSON.stringify({ vat: 'v', ...line })}\n`).join(''));
  write('none.json', JSON.stringify(one, null, 1));
  write(`${name}.json`, JSON.stringify(other ?? null, null, 1));
  const common = ['--json', '--vat', 'v=contract.js', ...limits, '--snapshot-initial', '2', '--snapshot-interval', '1'];
  write(
    'repeat',
    ['none', name].map(each => `gaspipe run ${[...configurations[each].options, ...common].join(' ')} deliveries.jsonl\n`).join(''),
  );
  console.error(`random-scripts: seed ${number} differs in ${name}${again ? '' : ', not by itself'}, see ${place}`);
};

const main = async () => {
  const count = { programs: 0, compared: 0, differing: 0 };
  const faults = new Map();
  console.log(`random-scripts: seeds from ${seed} on${suite ? '' : '; without TEST262, no test is changed'}`);
  for (let next = seed; next < seed + most && Date.now() < end; next += batch) {
    const numbers = Array.from(Array(Math.min(batch, seed + most - next)), (_, i) => next + i);
    const sources = numbers.map(programOf);
    const base = await run('none', sources);
    for (const name of Object.keys(configurations).filter(each => each !== 'none')) {
      const some = sources.slice(0, few[name] ?? batch);
      const results = await run(name, some);
      for (const [i, result] of results.entries()) {
        count.compared += 1;
        if (!differ(name, base[i], result)) continue;
        const reason = configurations[name].isPeer && base[i] && reasonOf(base[i].deliveries, result?.deliveries, sources[i]);
        if (reason) {
          faults.set(reason, (faults.get(reason) ?? 0) + 1);
          continue;
        }
        count.differing += 1;
        await keep(name, numbers[i], sources[i], base[i], result);
      }
      if (Date.now() > end + 60000) break;
    }
    count.programs += numbers.length;
  }
  for (const [reason, number] of faults) console.log(`${number} results are not those of xsnap-worker: ${reason}`);
  console.log(`${count.programs} programs, ${count.compared} comparisons: ${count.differing} differ`);
  process.exitCode = count.differing > 0 ? 1 : 0;
};

await main();
