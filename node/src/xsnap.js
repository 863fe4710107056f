// SPDX-License-Identifier: Apache-2.0
// A worker as SwingSet's kernel uses it: the interface of @agoric/xsnap's xsnap().
import { promisify } from 'node:util';
import { METER_TYPE } from '../api.js';
import {
  loadFromFile,
  loadFromPipe,
  saveThroughFile,
  saveThroughMemory,
  saveThroughPipe,
} from './snapshots.js';
import { isLikeXsnap, startWorker } from './worker_process.js';

/** Computrons of a command. */
export const DEFAULT_CRANK_METERING_LIMIT = 1e8;

// The limit of @endo/netstring.
const FRAME_CAP = 999_999_999;
// Microseconds; longer than most of a worker's answers take, but imperceptible otherwise.
const SYNC_WAIT = 500;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const [QUERY, OK, ERROR] = ['?', '.', '!'].map(letter => letter.charCodeAt(0));
const METER_END = 1;
const NO_METER = { compute: null, allocate: null, currentHeapCount: null, timestamps: [] };

const ignore = () => {};

/** Reads a frame `.METER\1REPLY`, or `.REPLY`. */
const readResult = (frame, times) => {
  const end = frame.indexOf(METER_END, 1);
  const meter = end < 0 ? NO_METER : JSON.parse(decoder.decode(frame.subarray(1, end)));
  return {
    reply: frame.subarray(end < 0 ? 1 : end + 1),
    meterUsage: { meterType: METER_TYPE, ...meter, ...times },
  };
};

/** Parses GASPIPE_SYNC_WAIT_US. */
const readSyncWait = text => {
  if (text === undefined) return SYNC_WAIT;
  if (!/^[0-9]+$/.test(text)) throw Error(`GASPIPE_SYNC_WAIT_US=${text} is not a number of microseconds`);
  return Number(text);
};

const PLACEMENTS = ['same', 'none'];

const checkOptions = ({ os, name, placement }) => {
  if (os !== 'Linux') throw Error(`xsnap does not support platform ${os}`);
  if (!PLACEMENTS.includes(placement))
    throw Error(`placement '${placement}' is none of ${PLACEMENTS.join(', ')}`);
  if (name.startsWith('-')) throw Error(`name '${name}' cannot start with hyphen`);
};

const argumentsOf = ({ meteringLimit, parserBufferSize }, load) => [
  ...(load ? ['-r', load.place] : []),
  ...(meteringLimit ? ['-l', `${meteringLimit}`] : []),
  ...(parserBufferSize ? ['-s', `${parserBufferSize}`] : []),
];

const startOrDrop = async (load, options) => {
  try {
    return startWorker(options);
  } catch (error) {
    await load?.drop();
    throw error;
  }
};

/**
 * Starts a worker; docs/swingset.md has the options.
 */
export async function xsnap(options) {
  const {
    name = '<unnamed xsnap worker>',
    spawn,
    fs,
    handleCommand = message => message,
    netstringMaxChunkSize = FRAME_CAP,
    snapshotStream,
    snapshotDescription = 'unknown',
    snapshotUseFs = false,
    stdout = 'ignore',
    stderr = 'ignore',
    meteringLimit = DEFAULT_CRANK_METERING_LIMIT,
    parserBufferSize,
    env = process.env,
    syncWait = readSyncWait(env.GASPIPE_SYNC_WAIT_US),
    placement = env.GASPIPE_PLACEMENT ?? 'same',
  } = options;
  checkOptions({ os: options.os, name, placement });
  const likeXsnap = isLikeXsnap(env);

  const temporaryName = fs?.tmpName && promisify(fs.tmpName);
  const files = { fs, temporaryName };
  const makeLoad = snapshotUseFs ? loadFromFile : loadFromPipe;
  let load = snapshotStream && (await makeLoad(snapshotStream, snapshotDescription, files));

  const worker = await startOrDrop(load, {
    spawn,
    name,
    args: argumentsOf({ meteringLimit, parserBufferSize }, load),
    env,
    stdout,
    stderr,
    savesThroughPipe: !snapshotUseFs,
    loadsThroughPipe: Boolean(load) && !snapshotUseFs,
    cap: netstringMaxChunkSize,
    syncWait,
    follows: placement === 'same',
  });
  const { channel } = worker;
  // Used once: SwingSet starts a new worker after each snapshot. Later snapshots use the pipe.
  let { snapshotMemory } = worker;

  const loaded = async () => {
    const { done } = load ?? {};
    load = undefined;
    await done?.();
  };
  load?.feed(worker.loadPipe);

  const exited = worker.exit.then(() => {
    throw Error(`${name} exited`);
  });
  // The commands that the worker's end settles; null: it has ended.
  let affected = new Set();
  exited
    .catch(error => {
      affected.forEach(reject => reject(error));
      affected = null;
      return loaded();
    })
    .catch(ignore);

  /** Resolves to the result, unless the worker exits first. */
  const unlessExited = result =>
    new Promise((resolve, reject) => {
      if (affected) affected.add(reject);
      else exited.catch(reject);
      const settle = how => value => {
        affected?.delete(reject);
        how(value);
      };
      result.then(settle(resolve), settle(reject));
    });

  const protocolError = text => {
    worker.kill();
    return Error(`xsnap protocol error: ${text}`);
  };

  const nextFrame = async () => {
    const frame = await channel.next();
    if (load) await loaded();
    if (frame === null) {
      worker.kill();
      return exited;
    }
    if (frame.length === 0) throw protocolError('received empty message');
    return frame;
  };

  const answer = async frame => {
    channel.send('/', await handleCommand(frame.subarray(1)));
  };

  /** Answers the worker's requests until its result. */
  const runToIdle = async () => {
    for (;;) {
      const frame = await nextFrame();
      if (frame[0] === QUERY) await answer(frame);
      else if (frame[0] === OK) return readResult(frame, likeXsnap ? {} : channel.times());
      else if (frame[0] === ERROR)
        throw Error(`Uncaught exception in ${name}: ${decoder.decode(frame.subarray(1))}`);
      else throw protocolError(`received unknown message <<${decoder.decode(frame)}>>`);
    }
  };

  const run = (letter, bytes) => {
    channel.begin();
    channel.send(letter, bytes);
    return runToIdle();
  };

  // Commands run one after another.
  let last = Promise.resolve();
  // The current command still reads what the worker sent.
  const release = () =>
    last.catch(ignore).then(() => {
      channel.close();
      snapshotMemory?.drop();
    });
  worker.exit.then(release, release);
  const queue = task => {
    const result = last.then(task);
    last = result.then(ignore, ignore);
    return unlessExited(result);
  };
  const command = (letter, text) => queue(() => run(letter, encoder.encode(text)));

  const issueCommand = async message => queue(() => run('?', message));

  const close = async () => {
    last = last.then(async () => {
      const running = await Promise.race([worker.exit.then(() => false), true]);
      if (running) channel.send('q');
      channel.hangUp();
      throw Error(`${name} closed`);
    });
    last.catch(ignore);
    return worker.exit;
  };

  const terminate = async () => {
    worker.kill();
    last = Promise.reject(Error(`${name} terminated`));
    last.catch(ignore);
    await worker.exit.catch(ignore);
  };

  const makeSnapshotStream = (description = 'unknown') => {
    // The worker begins at once, so that the first bytes are ready for the reader.
    const before = last;
    let ended;
    last = new Promise(resolve => (ended = resolve));
    const write = place =>
      unlessExited(
        before.then(async () => {
          const { reply } = await run('w', encoder.encode(await place));
          return reply.length ? Number(decoder.decode(reply)) : -1;
        }),
      ).finally(ended);
    if (snapshotUseFs) return saveThroughFile(description, write, files);
    const memory = snapshotMemory;
    snapshotMemory = undefined;
    if (memory) return saveThroughMemory(memory, write);
    return saveThroughPipe(worker.savePipe, before, write);
  };

  return Object.freeze({
    name,
    issueCommand,
    issueStringCommand: async message => {
      const result = await issueCommand(encoder.encode(message));
      return { ...result, reply: decoder.decode(result.reply) };
    },
    isReady: async () => void (await command('R', '')),
    close,
    terminate,
    evaluate: async code => command('e', code),
    execute: async fileName => void (await command('s', fileName)),
    import: async fileName => void (await command('m', fileName)),
    makeSnapshotStream,
  });
}
