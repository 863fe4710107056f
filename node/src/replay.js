// SPDX-License-Identifier: Apache-2.0
// Keeps sessions in a directory, one file per step, and runs them again. The names and contents of
// the files are those of @agoric/xsnap.
import { Readable } from 'node:stream';
import { DEFAULT_CRANK_METERING_LIMIT, xsnap } from './xsnap.js';

const encoder = new TextEncoder();

const snapshotFile = (description = 'unknown') =>
  `${description.replaceAll(/[^a-zA-Z0-9_.-]/g, '-')}.xss`;

/** Like xsnap(), but writes every step to `directory`, which ends with a slash. */
export async function recordXSnap(options, directory, { writeFileSync }) {
  let count = 0;
  const keep = (kind, content, ending = 'dat') => {
    const file = `${directory}${`${count}`.padStart(5, '0')}-${kind}.${ending}`;
    count += 1;
    writeFileSync(file, typeof content === 'string' ? encoder.encode(content) : content, { flag: 'wx' });
  };

  const { handleCommand = message => message } = options;
  const {
    os,
    name = '_replay_',
    debug = false,
    parserBufferSize,
    snapshotStream,
    snapshotDescription,
    meteringLimit = DEFAULT_CRANK_METERING_LIMIT,
  } = options;
  const snapshot = snapshotStream && snapshotFile(snapshotDescription);
  const start = { os, name, debug, parserBufferSize, snapshot, meteringLimit };
  keep('options', JSON.stringify(start), 'json');

  const worker = await xsnap({
    ...options,
    handleCommand: async message => {
      keep('command', message);
      const reply = await handleCommand(message);
      keep('reply', reply);
      return reply;
    },
  });
  const kept = (kind, call, contentOf = content => content) =>
    async content => {
      keep(kind, contentOf(content) ?? '');
      return call(content);
    };
  const notKept = what => async () => {
    throw Error(`recording: ${what} not supported`);
  };
  return Object.freeze({
    ...worker,
    isReady: kept('isReady', worker.isReady),
    issueCommand: kept('issueCommand', worker.issueCommand),
    issueStringCommand: kept('issueCommand', worker.issueStringCommand),
    evaluate: kept('evaluate', worker.evaluate),
    execute: notKept('execute'),
    import: notKept('import'),
    makeSnapshotStream: description => {
      keep('snapshot', snapshotFile(description));
      return worker.makeSnapshotStream(description);
    },
  });
}

/** Returns the replies in the order of the files, for the requests of the replay. */
const makeReplies = () => {
  const [ready, asked] = [[], []];
  return {
    put: reply => (asked.length ? asked.shift()(reply) : ready.push(reply)),
    next: () =>
      ready.length ? Promise.resolve(ready.shift()) : new Promise(resolve => asked.push(resolve)),
  };
};

/**
 * Runs the steps in directories. The options in the first one start the worker. In all but the
 * last, the steps up to the first snapshot run.
 *
 * @returns the steps that were run: [directory, number, kind]
 */
export async function replayXSnap(options, directories, { readdirSync, readFileSync }) {
  const replies = makeReplies();
  const read = (directory, file) => readFileSync(`${directory}/${file}`);
  const stepsOf = directory => readdirSync(directory).sort().filter(file => /^\d+-/.test(file));

  const [first] = directories;
  const stored = JSON.parse(read(first, stepsOf(first)[0]).toString());
  const worker = await xsnap({
    ...options,
    ...stored,
    os: options.os,
    snapshotStream: stored.snapshot && Readable.from([read(first, stored.snapshot)]),
    handleCommand: () => replies.next(),
  });

  const steps = {
    isReady: () => worker.isReady(),
    evaluate: content => worker.evaluate(content.toString()),
    issueCommand: content => worker.issueCommand(content),
    snapshot: async content => {
      const place = content.toString();
      const file = await options.fs.open(place, 'w');
      await file.writeFile(worker.makeSnapshotStream(place));
      await file.close();
    },
  };
  const done = [];
  let running;
  const runStep = async (directory, file) => {
    const [, number, kind] = file.match(/^(\d+)-([a-zA-Z]+)\.(?:dat|json)$/) ?? [];
    if (kind === 'reply') replies.put(read(directory, file));
    else if (kind !== 'command') {
      await running;
      if (!(kind in steps)) throw RangeError(`${directory}/${file}: unknown kind of step`);
      running = steps[kind](read(directory, file));
    }
    done.push([directory, Number(number), kind]);
  };
  for (const directory of directories) {
    for (const file of stepsOf(directory).slice(1)) {
      if (file.includes('-snapshot.') && directory !== directories.at(-1)) break;
      await runStep(directory, file);
    }
  }
  await running;
  await worker.close();
  return done;
}
