// SPDX-License-Identifier: Apache-2.0
// Tests of tc39/test262 in bare workers, without a supervisor: each test in a worker of its own, which
// is sent the harness and the test as files, and has its heap hashed afterwards.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const build = path.resolve(process.env.BUILD ?? path.join(here, '../../build'));
const peer = path.join(build, 'xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker');
const worker = path.join(build, 'gaspipe-worker');

// Some tests never end in XS; this ends them at the same place everywhere.
const limits = ['-l', '100000000'];
const timeout = '120';

export const bareConfigurations = {
  native: { command: [worker] },
  compiled: { command: [`${worker}-metered`] },
  forked: { command: [worker], forks: true },
  restored: { command: [worker], restores: true },
  qemu: { command: ['/usr/bin/qemu-x86_64', worker] },
  xsnap: { command: [peer], isPeer: true },
};

const said = 'e(x => new TextEncoder().encode(JSON.stringify(x)).buffer)($262.said.map(x => x.slice(0, 200)))';

const programOf = (test, number, directory) => {
  if (!test.strict) return test.file;
  const file = path.join(directory, `${number}.js`);
  fs.writeFileSync(file, `"use strict";\n${test.text}`);
  return file;
};

const jobOf = (test, number, directory, restores) => {
  const before = [path.join(here, 'host.js'), ...test.harness].map(file => `s${file}`);
  const program = `${test.flags.has('module') ? 'm' : 's'}${programOf(test, number, directory)}`;
  const after = restores ? [said, 'w@7', 'r', 'w@7'] : [said, 'w@7'];
  return [...before, ...(restores ? ['r'] : []), program, ...after].join('\t');
};

const withoutSyntaxLine = printed => printed.replace(/gaspipe-worker: (line \d+: [^?]*\?)?/g, '').trim();

// As failureOf() takes it.
const endOf = (test, at, { end, printed, replies }) => {
  const reply = replies[at] ?? '';
  const isDead = /signal|late|unrestored/.test(end) || replies.length < at + 2;
  const left = test.flags.has('module') && end === ' exit 15';
  const printedWords = withoutSyntaxLine(printed);
  let threw;
  if (reply.startsWith('!')) threw = reply.slice(1) || printedWords;
  else if (left) threw = printedWords;
  let heard = [];
  try {
    heard = JSON.parse(replies[at + 1].slice(1));
  } catch {
    // The worker is dead, or the test has taken away what prints.
  }
  return {
    ended: isDead ? `worker ended: ${end}: ${printed.trim()}` : undefined,
    isKilled: /signal|late/.test(end),
    threw,
    said: heard,
  };
};

// xsnap-worker's snapshots have what a suspended function held before, and addresses of lookarounds.
const snapshotsDiffer = /\b(yield|await)\b|\(\?<?[=!]/;

// The record that must be the same in each configuration.
const recordOf = (test, outcome, { restores, isPeer }) => {
  const { compute, allocate, snapshots, end, replies } = outcome;
  if (isPeer) return snapshotsDiffer.test(test.text) ? { compute, allocate, end } : { compute, allocate, snapshots, end };
  if (!restores) return { compute, allocate, snapshots, end, replies };
  const frames = test.harness.length + 4;
  return {
    compute: compute.slice(0, frames),
    replies: replies.slice(0, frames),
    again: snapshots.length < 3 || snapshots[1] === snapshots[2] ? undefined : snapshots.slice(1),
  };
};

export const runBare = async (tests, configuration) => {
  const { command, forks = false, restores = false } = configuration;
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'test262-'));
  const list = path.join(directory, 'jobs');
  const jobs = tests.map((test, number) => `${jobOf(test, number, directory, restores)}\n`);
  fs.writeFileSync(list, jobs.join(''));
  const child = spawn(
    path.join(build, 'tests/bare_workers'),
    [...(forks ? ['-z'] : []), '-j', `${os.cpus().length}`, '-t', timeout, list, ...command, ...limits, 'test'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const outcomes = Array(tests.length);
  for await (const line of createInterface({ input: child.stdout })) {
    const outcome = JSON.parse(line);
    const test = tests[outcome.job];
    outcomes[outcome.job] = {
      ...endOf(test, test.harness.length + 1, outcome),
      record: recordOf(test, outcome, configuration),
    };
  }
  fs.rmSync(directory, { recursive: true });
  return outcomes;
};
