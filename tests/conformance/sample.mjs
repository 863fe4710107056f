// SPDX-License-Identifier: Apache-2.0
// A sample of tc39/test262 by seed, and the verdict on what came of a test, both by its front matter
// (INTERPRETING.md there).
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const listIn = (yaml, name) => {
  const pattern = `^ *${name}:[ \\t]*(?:\\[([^\\]]*)\\]|((?:\\r?\\n *- .*)+))`;
  const [, inline, lines = ''] = new RegExp(pattern, 'm').exec(yaml) ?? [];
  return (inline ?? lines.replace(/^ *- */gm, ','))
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '');
};

const frontMatter = text => {
  const [, yaml = ''] = /\/\*---([^]*?)---\*\//.exec(text) ?? [];
  const [, negative = ''] = /^negative:\s*\n((?:[ \t]+.*\n?)+)/m.exec(yaml) ?? [];
  return {
    flags: new Set(listIn(yaml, 'flags')),
    includes: listIn(yaml, 'includes'),
    features: listIn(yaml, 'features'),
    negative: /type:\s*(\w+)/.exec(negative)?.[1],
  };
};

// A test that may run in either mode runs in one of them, by its hash.
const readTest = (suite, { name, hash }) => {
  const file = path.join(suite, 'test', name);
  const text = fs.readFileSync(file, 'utf8');
  const matter = frontMatter(text);
  const { flags, includes } = matter;
  const isOnce = ['noStrict', 'raw', 'module'].some(flag => flags.has(flag));
  const strict = flags.has('onlyStrict') || (!isOnce && /^[89a-f]/.test(hash));
  const harness = flags.has('raw')
    ? []
    : [
        'assert.js',
        'sta.js',
        ...(flags.has('async') ? ['doneprintHandle.js'] : []),
        ...includes,
      ];
  return {
    name,
    file,
    text,
    strict,
    ...matter,
    harness: harness.map(each => path.join(suite, 'harness', each)),
    shown: `${name}${strict ? ' (strict)' : ''}`,
  };
};

// The first `count` tests below these paths, in an order that depends on the seed, without those
// that `isSkipped` names; how many these were.
export const takeSample = ({ suite, seed, prefixes, count, isSkipped }) => {
  const tests = [];
  let skipped = 0;
  const entries = fs
    .readdirSync(path.join(suite, 'test'), { recursive: true })
    .filter(name => name.endsWith('.js') && !name.includes('_FIXTURE'))
    .filter(name => prefixes.some(prefix => name.startsWith(prefix)))
    .map(name => ({
      name,
      hash: createHash('sha256').update(`${seed}:${name}`).digest('hex'),
    }))
    .sort((a, b) => (a.hash < b.hash ? -1 : 1));
  for (const entry of entries) {
    if (tests.length === count) break;
    const test = readTest(suite, entry);
    if (isSkipped(test)) skipped += 1;
    else tests.push(test);
  }
  return { tests, skipped };
};

const errorName = words => /(\w*Error)\b/.exec(words)?.[1];

// Why a test failed; undefined if it passed. `ended`: its worker did, and how; `threw`: what its script
// threw, in words; `said`: what it printed.
export const failureOf = (test, { ended, threw, said }) => {
  if (ended !== undefined) return ended;
  if (test.negative !== undefined) {
    if (threw === undefined) return `no ${test.negative}`;
    return errorName(threw) === test.negative ? undefined : `not a ${test.negative}: ${threw}`;
  }
  if (threw !== undefined) return threw;
  if (!test.flags.has('async')) return undefined;
  const [first = 'nothing'] = said;
  return first === 'Test262:AsyncTestComplete' ? undefined : `printed ${first}`;
};
