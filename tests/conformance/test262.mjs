// SPDX-License-Identifier: Apache-2.0
// A sample of tc39/test262 in several configurations, between which neither outcomes nor costs may
// differ, judged by the tests' front matter, by xsnap-worker, and by the list of expected failures.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { bareConfigurations, runBare } from './bare.mjs';
import { contractConfigurations, isContractTest, runContracts } from './contracts.mjs';
import { failureOf, takeSample } from './sample.mjs';
import { readExpected } from './expected.mjs';

const usage = `usage: node test262.mjs [-n TESTS] [-m TESTS] [-s SEED] [-p PATH,...] [-c NAME,...] [-f DIR] TEST262
  -n TESTS     how many, for the first two of the bare workers and of the contracts (1000)
  -m TESTS     how many of these in each other configuration (300)
  -s SEED      which ones (1)
  -p PATH,...  only those below these, such as built-ins/Array
  -c NAME,...  only these configurations: bare or contract, a dash, and
               ${Object.keys(bareConfigurations).join(' ')}, or ${Object.keys(contractConfigurations).join(' ')}
  -f DIR    write there which tests failed and differed, each with its reason`;

const members = (a, b) => [...new Set([...Object.keys(a), ...Object.keys(b)])];

// Compares the members that both records have.
const differenceOf = (base, other) => {
  if (base === undefined || other === undefined) return 'it did not run';
  return members(base.record, other.record)
    .filter(name => name === 'again' || (name in base.record && name in other.record))
    .map(name => [name, JSON.stringify(base.record[name]), JSON.stringify(other.record[name])])
    .filter(([, a, b]) => a !== b)
    .map(([name, a, b]) => `${name} ${a} and ${b}`)
    .join(', ');
};

const group = (kind, all, run, options) => {
  const base = kind === 'bare' ? 'native' : 'none';
  const names = Object.keys(all).filter(name => !options.only || options.only.includes(`${kind}-${name}`));
  return { kind, base, names: names.includes(base) || names.length === 0 ? names : [base, ...names], all, run };
};

const report = (options, name, lines) => {
  if (options.directory) fs.writeFileSync(path.join(options.directory, name), lines.map(each => `${each}\n`).join(''));
};

// Ignores differences of the clock, and of tests that kill xsnap-worker: the first configuration differs from itself.
const differences = async ({ base, all, run }, name, tests, [first, second]) => {
  const differing = tests
    .map((test, i) => ({ test, i, words: differenceOf(first[i], second[i]) }))
    .filter(({ words, i }) => words !== '' && !(all[name].isPeer && second[i]?.isKilled));
  if (differing.length === 0) return [];
  const again = differing.map(({ test }) => test);
  const runs = [await run(again, all[base]), await run(again, all[base]), await run(again, all[name])];
  return differing
    .filter((_, i) => differenceOf(runs[0][i], runs[1][i]) === '' && differenceOf(runs[0][i], runs[2][i]) !== '')
    .map(({ test, words }) => `${test.shown}: ${words}`);
};

// A failure that the list of expected ones lacks is XS's own where xsnap-worker has it, too.
const withoutPeers = async ({ kind, all, run }, surprising) => {
  if (kind !== 'bare' || surprising.length === 0) return surprising.map(({ words }) => words);
  const tests = surprising.map(({ test }) => test);
  const outcomes = await run(tests, all.xsnap);
  return surprising
    .filter(({ test, words }, i) => {
      const isPeers = words.startsWith('fails: ') && failureOf(test, outcomes[i]) !== undefined;
      if (isPeers) console.log(`  to be listed, since xsnap-worker fails, too: ${words}`);
      return !isPeers;
    })
    .map(({ words }) => words);
};

// ---- one kind of configurations ----

const sum = { passed: 0, failed: 0, wrong: 0 };

const runGroup = async (options, tests, skipped, expected, configurations) => {
  const { kind, base, names, all, run } = configurations;
  let first;
  let firstFailures;
  for (const [number, name] of names.entries()) {
    const some = tests.slice(0, number < 2 ? options.n : options.m);
    const start = Date.now();
    const outcomes = await run(some, all[name]);
    const failures = some.map((test, i) => (outcomes[i] ? failureOf(test, outcomes[i]) : 'not run'));
    const failed = failures.filter(words => words !== undefined).length;
    const killed = outcomes.filter(outcome => outcome?.isKilled).length;
    firstFailures ??= failures;
    // xsnap-worker may fail where it likes, but passes nothing that fails here.
    const surpriseOf = i => {
      if (!all[name].isPeer) return expected.judge(kind, some[i], failures[i]);
      return failures[i] === undefined && firstFailures[i] ? `passes only there: ${some[i].shown}` : undefined;
    };
    const surprising = some
      .map((test, i) => ({ test, words: surpriseOf(i) }))
      .filter(({ words }) => words !== undefined);
    const unexpected = await withoutPeers(configurations, surprising);
    first ??= outcomes;
    const differing = name === base ? [] : await differences(configurations, name, some, [first, outcomes]);
    const seconds = Math.round((Date.now() - start) / 1000);
    report(options, `${kind}-${name}.failed`, some.flatMap((test, i) => (failures[i] ? [`${test.shown}\t[${test.features}]\t${failures[i]}`] : [])));
    report(options, `${kind}-${name}.different`, differing);
    report(options, `${kind}-${name}.unexpected`, unexpected);
    for (const words of differing.slice(0, 10)) console.log(`  differs from ${base}: ${words}`);
    for (const words of unexpected.slice(0, 10)) console.log(`  ${words}`);
    console.log(
      `${kind} ${name}: ${some.length - failed} passed, ${failed} failed (${unexpected.length} unexpected), ${skipped} skipped, ` +
        `${differing.length} differ, ${killed} killed, ${seconds} s`,
    );
    sum.passed += some.length - failed;
    sum.failed += failed;
    sum.wrong += differing.length + unexpected.length + (all[name].isPeer ? 0 : killed);
  }
};

const main = async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(['n', 'm', 's', 'p', 'c', 'f'].map(short => [short, { type: 'string', short }])),
  });
  if (positionals.length !== 1) {
    console.error(usage);
    process.exit(2);
  }
  const options = {
    n: Number(values.n ?? 1000),
    m: Number(values.m ?? 300),
    only: values.c?.split(','),
    directory: values.f,
  };
  const expected = readExpected();
  const { tests, skipped } = takeSample({
    suite: positionals[0],
    seed: values.s ?? '1',
    prefixes: (values.p ?? '').split(','),
    count: options.n,
    isSkipped: expected.isSkipped,
  });
  await runGroup(options, tests, skipped, expected, group('bare', bareConfigurations, runBare, options));
  const inContracts = tests.filter(test => isContractTest(test) && !expected.isEndlessInContract(test));
  await runGroup(
    options, inContracts, skipped + tests.length - inContracts.length, expected,
    group('contract', contractConfigurations, runContracts, options),
  );
  console.log(`${sum.passed} passed, ${sum.failed} failed, ${skipped} skipped`);
  process.exitCode = sum.wrong > 0 ? 1 : 0;
};

await main();
