// SPDX-License-Identifier: Apache-2.0
// Frames to and from a worker, through the addon. A frame that comes soon is waited for
// right here: going back to Node's event loop for it costs many times what the pipe does.
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
 * memory(): the descriptor of new memory that a worker may write into, or -1; seal(fd): what it
 * has written, which nobody can change any more.
 */
export { memory, seal };

const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();

// After so many milliseconds without the event loop, others get their turn.
const TURN = 10;

/**
 * Pipes for a worker: `theirs` are the descriptors for its fds 3 and 4, which the caller
 * closes once it is started; `open` makes the channel over the others.
 *
 * @returns {{theirs: [number, number], ours: [number, number]}}
 */
export const makePipes = () => {
  const [up, theirUp, theirDown, down] = pipes();
  return { theirs: [theirDown, theirUp], ours: [up, down] };
};

/**
 * @param {[number, number]} ours from makePipes()
 * @param {number} cap bytes of a frame from the worker at most
 * @param {number} patience microseconds for which a frame is waited for outside of the loop
 */
export const openChannel = ([up, down], cap, patience) => {
  const channel = new Channel(up, down, cap, Math.round(patience * 1000));
  let times = [];
  let turnBegan = 0;

  const nextThroughLoop = async () => {
    for (;;) {
      await new Promise(resolve => channel.wait(resolve));
      turnBegan = performance.now();
      const frame = channel.receive();
      if (frame !== undefined) return frame;
    }
  };

  return Object.freeze({
    /** The worker's process; it is placed on this thread's processor while it is awaited. */
    follow: pid => channel.follow(pid),
    /** Begins a command: the times of its frames are kept from now on. */
    begin: () => {
      times = [];
      turnBegan = performance.now();
    },
    /** Sends the letter and the bytes as one frame. */
    send: (letter, bytes = NOTHING) => {
      channel.send(encoder.encode(letter), bytes);
      times.push(channel.moved());
    },
    /** The next frame, or null when the worker has closed its end. */
    next: async () => {
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
    /** Nothing more is sent. */
    hangUp: () => channel.hangUp(),
    close: () => channel.close(),
  });
};
