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
import { startWorker } from './worker_process.js';

/** Computrons of a command. */
export const DEFAULT_CRANK_METERING_LIMIT = 1e8;

// What @endo/netstring allows.
const FRAME_CAP = 999_999_999;
// Microseconds; longer than most answers of a worker take, short for everything else.
const PATIENCE = 500;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const [QUERY, OK, ERROR] = ['?', '.', '!'].map(letter => letter.charCodeAt(0));
const METER_END = 1;
const NO_METER = { compute: null, allocate: null, currentHeapCount: null, timestamps: [] };

const ignore = () => {};

/** A frame `.METER\1REPLY`, or `.REPLY`. */
const readResult = (frame, times) => {
  const end = frame.indexOf(METER_END, 1);
  const meter = end < 0 ? NO_METER : JSON.parse(decoder.decode(frame.subarray(1, end)));
  return {
    reply: frame.subarray(end < 0 ? 1 : end + 1),
    meterUsage: { meterType: METER_TYPE, ...meter, ...times },
  };
};

/** Of GASPIPE_PATIENCE. */
const patienceFrom = text => {
  if (text === undefined) return PATIENCE;
  if (!/^[0-9]+$/.test(text)) throw Error(`GASPIPE_PATIENCE=${text} is not a number of microseconds`);
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
    patience = patienceFrom(env.GASPIPE_PATIENCE),
    placement = env.GASPIPE_PLACEMENT ?? 'same',
  } = options;
  checkOptions({ os: options.os, name, placement });

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
    patience,
    follows: placement === 'same',
  });
  const { channel } = worker;
  // It serves once: SwingSet starts a worker anew behind each snapshot. Later ones use the pipe.
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
  // Those whose commands the worker's end settles; null: it has ended.
  let affected = new Set();
  exited
    .catch(error => {
      affected.forEach(reject => reject(error));
      affected = null;
      return loaded();
    })
    .catch(ignore);

  /** The result, unless the worker ends before. */
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

  /** Answers what the worker asks, up to its result. */
  const runToIdle = async () => {
    for (;;) {
      const frame = await nextFrame();
      if (frame[0] === QUERY) await answer(frame);
      else if (frame[0] === OK) return readResult(frame, channel.times());
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
  // The one that is running still reads what the worker has left.
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
    // The worker begins at once, so that the first bytes are there when they are asked for.
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
