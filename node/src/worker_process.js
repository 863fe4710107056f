// SPDX-License-Identifier: Apache-2.0
// A worker's process: which program it is, how it is started, and how it ended.
import fs from 'node:fs';
import { basename } from 'node:path';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ErrorCode, ErrorMessage, ErrorSignal } from '../api.js';
import { makePipes, memory, openChannel, seal } from './channel.js';
import { LOAD_FD, MEMORY_FD, SAVE_FD } from './snapshots.js';

/** GASPIPE_WORKER, the one in this package, or else gaspipe-worker on the PATH. */
const program = env => {
  if (env.GASPIPE_WORKER) return env.GASPIPE_WORKER;
  const own = fileURLToPath(new URL('../bin/gaspipe-worker', import.meta.url));
  return fs.existsSync(own) ? own : 'gaspipe-worker';
};

/** Returns true if results are those of xsnap-worker, without gaspipe's additions to the meter. */
export const isLikeXsnap = ({ GASPIPE_METER: meter }) => {
  if (meter === undefined || meter === 'gaspipe') return false;
  if (meter !== 'xsnap') throw Error(`GASPIPE_METER=${meter} is neither gaspipe nor xsnap`);
  return true;
};

/** Another worker may not know the option. */
const dialectOf = (env, worker) =>
  basename(worker).startsWith('gaspipe-worker') ? ['--compat', isLikeXsnap(env) ? 'xsnap' : 'words'] : [];

const commandOf = (env, args) => {
  const worker = program(env);
  const all = [...args, ...dialectOf(env, worker)];
  return env.XSNAP_DEBUG_RR ? ['rr', [worker, ...all]] : [worker, all];
};

/**
 * The stream at a descriptor that the channel uses: destroying it closes that pipe. Frames do not
 * go through it.
 */
const standIn = close =>
  new Duplex({
    read: () => {},
    write: (_chunk, _encoding, done) => done(Error('frames go through the channel')),
    destroy: (error, done) => {
      close();
      done(error);
    },
  });

const endingOf = (name, code, signal) => {
  if (signal !== null) return new ErrorSignal(signal, `${name} exited due to signal ${signal}`);
  return new ErrorCode(code, `${name} exited: ${ErrorMessage[code] || 'unknown error'}`);
};

/** Resolves if it exits with status 0; otherwise rejects with how it ended. */
const exitOf = (child, name) =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(endingOf(name, code, signal)),
    );
  });

/** Memory for one snapshot of a worker; undefined if the system has none. */
const makeMemory = () => {
  let fd = memory();
  if (fd < 0) return undefined;
  return {
    fd,
    /** Returns what was written, which cannot change afterwards. */
    seal: () => seal(fd),
    drop: () => {
      if (fd >= 0) fs.closeSync(fd);
      fd = -1;
    },
  };
};

/**
 * @param {object} options
 * @param {(command: string, args: string[], rest: object) => import('child_process').ChildProcess} options.spawn
 * @param {string} options.name
 * @param {string[]} options.args after the name
 * @param {Record<string, string>} options.env has GASPIPE_… variables
 * @param {'ignore' | 'inherit' | 'pipe'} options.stdout
 * @param {'ignore' | 'inherit' | 'pipe'} options.stderr
 * @param {boolean} options.savesThroughPipe
 * @param {boolean} options.loadsThroughPipe
 * @param {number} options.cap bytes of a frame
 * @param {number} options.syncWait microseconds
 * @param {boolean} options.follows move it to this thread's CPU while a frame is awaited
 */
export const startWorker = options => {
  const { theirs, own } = makePipes();
  const [command, args] = commandOf(options.env, [options.name, ...options.args]);
  const stdio = ['ignore', options.stdout, options.stderr, ...theirs, 'ignore', 'ignore'];
  stdio[SAVE_FD] = options.savesThroughPipe ? 'pipe' : 'ignore';
  stdio[LOAD_FD] = options.loadsThroughPipe ? 'pipe' : 'ignore';
  const snapshotMemory = options.savesThroughPipe ? makeMemory() : undefined;
  if (snapshotMemory) stdio[MEMORY_FD] = snapshotMemory.fd;
  let channel;
  let child;
  try {
    channel = openChannel(own, options.cap, options.syncWait);
    child = options.spawn(command, args, { stdio });
  } catch (error) {
    if (channel) channel.close();
    else own.forEach(fd => fs.closeSync(fd));
    snapshotMemory?.drop();
    throw error;
  } finally {
    theirs.forEach(fd => fs.closeSync(fd));
  }
  const [toWorker, fromWorker] = [3, 4];
  child.stdio[toWorker] = standIn(() => channel.hangUp());
  child.stdio[fromWorker] = standIn(() => channel.stopReading());
  if (options.follows && child.pid !== undefined) channel.follow(child.pid);
  const exit = exitOf(child, options.name);
  exit.catch(() => {}); // the other handlers receive it too
  return {
    channel,
    exit,
    kill: () => {
      // Node gives a process that failed to start the number 0 until it reports the error. kill(2)
      // takes 0 for this process and its whole group.
      if (child.pid !== undefined) child.kill();
    },
    savePipe: child.stdio[SAVE_FD],
    snapshotMemory,
    loadPipe: child.stdio[LOAD_FD],
  };
};
