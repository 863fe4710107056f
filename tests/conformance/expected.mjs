// SPDX-License-Identifier: Apache-2.0
// The list of expected failures, expected.txt, and what it says of a test.
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('expected.txt', import.meta.url));

const readEntries = () =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      const [kind, pattern] = line.split(/\s+/);
      return { kind, pattern: pattern.replaceAll('_', ' '), name: pattern };
    });

export const readExpected = () => {
  const entries = readEntries();
  const of = kind => entries.filter(entry => entry.kind === kind);
  const [skips, endless, features, paths, contracts] = ['skip', 'endless', 'feature', 'path', 'contract'].map(of);
  const isUnder = ({ name }, test) => test.name.startsWith(name);
  const isIncluded = ({ name }, test) => test.includes.includes(name) || test.flags.has(name);
  const mayFail = (kind, test, failure) =>
    features.some(({ name }) => test.features.includes(name)) ||
    paths.some(entry => isUnder(entry, test)) ||
    (kind === 'contract' &&
      contracts.some(entry => isUnder(entry, test) || failure.includes(entry.pattern)));
  return {
    isSkipped: test => skips.some(entry => isUnder(entry, test) || isIncluded(entry, test)),
    isEndlessInContract: test => endless.some(({ name }) => name === test.name),
    // Returns a text for an unexpected result; else undefined.
    judge: (kind, test, failure) => {
      if (failure !== undefined) return mayFail(kind, test, failure) ? undefined : `fails: ${test.shown}: ${failure}`;
      const named = kind === 'bare' && paths.some(({ name }) => name === test.name);
      return named ? `passes: ${test.shown}` : undefined;
    },
  };
};
