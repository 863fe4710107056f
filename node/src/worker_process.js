// SPDX-License-Identifier: Apache-2.0
// A worker's process: which program it is, how it is started, and how it ended.
import fs from 'node:fs';
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

const commandOf = (env, args) => {
  const worker = program(env);
  return env.XSNAP_DEBUG_RR ? ['rr', [worker, ...args]] : [worker, args];
};

const endingOf = (name, code, signal) => {
  if (signal !== null) return new ErrorSignal(signal, `${name} exited due to signal ${signal}`);
  return new ErrorCode(code, `${name} exited: ${ErrorMessage[code] || 'unknown error'}`);
};

/** Resolves when it ends with status 0, and rejects with how it ended otherwise. */
const exitOf = (child, name) =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(endingOf(name, code, signal)),
    );
  });

/** Memory that a worker writes a snapshot into, once; undefined where the system has none. */
const makeMemory = () => {
  let fd = memory();
  if (fd < 0) return undefined;
  return {
    fd,
    /** What was written, which nobody can change any more. */
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
 * @param {string[]} options.args behind the name
 * @param {Record<string, string>} options.env where GASPIPE_… are looked up
 * @param {'ignore' | 'inherit' | 'pipe'} options.stdout
 * @param {'ignore' | 'inherit' | 'pipe'} options.stderr
 * @param {boolean} options.savesThroughPipe
 * @param {boolean} options.loadsThroughPipe
 * @param {number} options.cap bytes of a frame
 * @param {number} options.patience microseconds
 * @param {boolean} options.follows it is placed on this thread's processor
 */
export const startWorker = options => {
  const { theirs, ours } = makePipes();
  const [command, args] = commandOf(options.env, [options.name, ...options.args]);
  const stdio = ['ignore', options.stdout, options.stderr, ...theirs, 'ignore', 'ignore'];
  stdio[SAVE_FD] = options.savesThroughPipe ? 'pipe' : 'ignore';
  stdio[LOAD_FD] = options.loadsThroughPipe ? 'pipe' : 'ignore';
  const snapshotMemory = options.savesThroughPipe ? makeMemory() : undefined;
  if (snapshotMemory) stdio[MEMORY_FD] = snapshotMemory.fd;
  let channel;
  let child;
  try {
    channel = openChannel(ours, options.cap, options.patience);
    child = options.spawn(command, args, { stdio });
  } catch (error) {
    if (channel) channel.close();
    else ours.forEach(fd => fs.closeSync(fd));
    snapshotMemory?.drop();
    throw error;
  } finally {
    theirs.forEach(fd => fs.closeSync(fd));
  }
  if (options.follows && child.pid !== undefined) channel.follow(child.pid);
  const exit = exitOf(child, options.name);
  exit.catch(() => {}); // whoever waits for it is told too
  return {
    channel,
    exit,
    kill: () => {
      // One that could not be started has the number 0 within Node until its error has been told,
      // and kill(2) would take that for this process and its whole group.
      if (child.pid !== undefined) child.kill();
    },
    savePipe: child.stdio[SAVE_FD],
    snapshotMemory,
    loadPipe: child.stdio[LOAD_FD],
  };
};
