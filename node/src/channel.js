// SPDX-License-Identifier: Apache-2.0
// Frames to and from a worker, through the addon. If the next frame comes soon, this waits for it
// synchronously: returning to Node's event loop costs many times what the pipe does.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

const load = () => {
  const places = ['../channel.node', '../build/Release/channel.node'];
  const reasons = [];
  for (const place of places) {
    try {
      return require(place);
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
      reasons.push(place);
    }
  }
  throw Error(
    `the addon is not built (looked for ${reasons.join(', ')}); build it with npm run build`,
  );
};

const { Channel, pipes, clockOffset, memory, seal } = load();

/**
 * memory(): the descriptor of new memory that a worker may write into, or -1.
 * seal(fd): returns what it wrote, which cannot change afterwards.
 */
export { memory, seal };

const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();

// After this many milliseconds of synchronous waits, the event loop gets a turn.
const TURN = 10;

/**
 * Pipes for a worker: `theirs` are the descriptors for its fds 3 and 4, which the caller closes
 * once it is started; `open` makes the channel over the others.
 *
 * @returns {{theirs: [number, number], own: [number, number]}}
 */
export const makePipes = () => {
  const [up, theirUp, theirDown, down] = pipes();
  return { theirs: [theirDown, theirUp], own: [up, down] };
};

/**
 * @param {[number, number]} own from makePipes()
 * @param {number} cap most bytes of a frame from the worker
 * @param {number} syncWait microseconds to wait for a frame outside of the loop
 */
export const openChannel = ([up, down], cap, syncWait) => {
  const channel = new Channel(up, down, cap, Math.round(syncWait * 1000));
  let times = [];
  let turnBegan = 0;
  let stopped = false;
  let wake; // what ends the wait in the loop

  const checkReading = () => {
    if (stopped) throw Error('the pipe from the worker was closed at this end');
  };

  const nextThroughLoop = async () => {
    for (;;) {
      await new Promise(resolve => channel.wait((wake = resolve)));
      checkReading();
      turnBegan = performance.now();
      const frame = channel.receive();
      if (frame !== undefined) return frame;
    }
  };

  return Object.freeze({
    /** The worker's process ID; while a frame is awaited, the worker runs on this thread's CPU. */
    follow: pid => channel.follow(pid),
    /** Begins a command: from its call on, the times of frames are kept. */
    begin: () => {
      times = [];
      turnBegan = performance.now();
    },
    /** Sends the letter and the bytes as one frame. */
    send: (letter, bytes = NOTHING) => {
      channel.send(encoder.encode(letter), bytes);
      times.push(channel.moved());
    },
    /** The next frame, or null if the worker closed its end. */
    next: async () => {
      checkReading();
      let frame = performance.now() - turnBegan < TURN ? channel.receive() : undefined;
      if (frame === undefined) frame = await nextThroughLoop();
      times.push(channel.moved());
      return frame;
    },
    /**
     * When each frame since begin() was sent or received: nanoseconds of CLOCK_MONOTONIC, and
     * seconds since the epoch.
     */
    times: () => {
      const offset = clockOffset();
      return {
        clientTimestamps: times.map(time => Math.round(offset + time / 1000) / 1e6),
        clientMonotimes: times,
      };
    },
    /** Closes the pipe from the worker, whose next write fails; so does next(). */
    stopReading: () => {
      stopped = true;
      channel.stopReading();
      wake?.();
    },
    /** Closes the pipe to the worker. */
    hangUp: () => channel.hangUp(),
    close: () => channel.close(),
  });
};
