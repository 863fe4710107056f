// SPDX-License-Identifier: Apache-2.0
// How snapshots get into a worker and out of it: through a pipe of its own, or a file.
import { PassThrough, Readable } from 'node:stream';

export const SAVE_FD = 7;
export const LOAD_FD = 8;
export const MEMORY_FD = 9;

// Of what a worker has written at once: no more is hashed in one turn of the event loop.
const PIECE = 16 * 1024 * 1024;

const fileNamePart = text => text.replaceAll(/[^a-zA-Z0-9_.-]/g, '-');

/**
 * A snapshot that a worker starts from.
 *
 * @returns what `place` the worker is told, and what is done when it runs (`feed`), when it has read
 *   the snapshot (`done`), and when it could not be started (`drop`)
 */
export const loadFromPipe = (bytes, description) => {
  // It is asked for its first piece at once, and not when the worker runs: SwingSet's store gets the
  // same pieces, and waits until both want the next.
  const source = Readable.from(bytes);
  const failed = new Promise((_, reject) => source.once('error', reject));
  failed.catch(() => {}); // whoever feeds it is told
  source.read(0);
  let fed = Promise.resolve();
  return {
    place: `@${LOAD_FD}:${fileNamePart(description)}`,
    // A worker that ends while it reads is met by its exit status.
    feed: pipe => {
      const taken = new Promise(resolve => {
        pipe.once('error', () => resolve());
        pipe.once('finish', () => resolve());
      });
      fed = Promise.race([failed, taken]);
      fed.catch(() => pipe.destroy()); // the worker reads an end, and says so
      source.pipe(pipe);
    },
    done: () => fed,
    drop: () => source.destroy(),
  };
};

export const loadFromFile = async (bytes, description, { fs, temporaryName }) => {
  const place = await temporaryName({
    template: `load-snapshot-${fileNamePart(description)}-XXXXXX.xss`,
  });
  const done = () => fs.unlink(place);
  try {
    const file = await fs.open(place, 'w');
    try {
      await file.writeFile(bytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    await done();
    throw error;
  }
  return { place, feed: () => {}, done, drop: done };
};

const wrongSize = (saved, read) =>
  Error(`Snapshot size does not match. saved=${saved}, read=${read}`);

/**
 * The pieces of a snapshot for a reader, who may stop at any of them, also before the first.
 *
 * @param {AsyncIterator<Uint8Array>} pieces
 * @param {() => Promise<void>} finish once, when the pieces are read or no more are wanted
 * @returns {AsyncGenerator<Uint8Array, void, undefined>}
 */
const streamOf = (pieces, finish) => {
  let finished;
  const end = () => (finished ??= finish());
  const settle = async step => {
    try {
      const result = await step;
      if (result.done) await end();
      return result;
    } catch (error) {
      await end();
      throw error;
    }
  };
  const leave = async () => {
    await pieces.return();
    await end();
  };
  return {
    next: () => settle(pieces.next()),
    return: async value => {
      await leave();
      return { done: true, value };
    },
    throw: async error => {
      await leave();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
};

/**
 * Has a worker write a snapshot into its pipe, and passes the bytes on while they come.
 *
 * @param {Readable} pipe the worker's; it stays open for the next snapshot
 * @param {Promise<unknown>} turn settled when the pipe is nobody else's
 * @param {(place: string | Promise<string>) => Promise<number>} write the command; how many bytes
 *   there are
 */
export const saveThroughPipe = (pipe, turn, write) => {
  const output = new PassThrough({ highWaterMark: 1024 * 1024 });
  let read = 0;
  let size;
  let stopped = false;
  let tellStopped;
  const stopping = new Promise(resolve => (tellStopped = resolve));
  const stop = () => {
    stopped = true;
    pipe.off('data', take);
    pipe.pause();
    output.end();
    tellStopped();
  };
  const endWhenWhole = () => {
    if (size !== undefined && read >= size) stop();
  };
  const take = chunk => {
    read += chunk.length;
    if (!output.destroyed && !output.write(chunk)) pipe.pause();
    endWhenWhole();
  };
  output.on('drain', () => pipe.resume());
  // It is read before the answer comes: a worker whose pipe is full would wait for ever.
  const reading = turn.then(() => pipe.on('data', take).resume());
  const written = Promise.all([write(`@${SAVE_FD}`), reading]).then(([bytes]) => {
    size = bytes;
    endWhenWhole();
  });
  written.catch(stop);
  return streamOf(output[Symbol.asyncIterator](), async () => {
    output.destroy();
    // The rest of what is abandoned is read all the same: until then the worker waits.
    await reading;
    if (!stopped) pipe.resume();
    await written;
    await stopping;
    if (read !== size) throw wrongSize(size, read);
  });
};

/**
 * As saveThroughPipe(), by way of memory that serves once: nothing is copied, and what compresses
 * the bytes gets enough of them to be busy while the next worker is started.
 *
 * @param {{ seal: () => Buffer, drop: () => void }} memory
 * @param {(place: string) => Promise<number>} write
 */
export const saveThroughMemory = (memory, write) => {
  // Also when nobody reads it: the descriptor is closed, and the bytes are garbage.
  const written = write(`@${MEMORY_FD}`)
    .then(size => {
      const bytes = memory.seal();
      if (bytes.length !== size) throw wrongSize(size, bytes.length);
      return bytes;
    })
    .finally(memory.drop);
  written.catch(() => {}); // the reader is told
  async function* pieces() {
    const bytes = await written;
    for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
  }
  return streamOf(pieces(), () => written.catch(() => {}));
};

/** As saveThroughPipe(), by way of a file that is removed. */
export const saveThroughFile = (description, write, { fs, temporaryName }) => {
  const named = async () =>
    temporaryName({ template: `make-snapshot-${fileNamePart(description)}-XXXXXX.xss` });
  const place = named();
  const written = write(place);
  written.catch(() => {}); // the reader is told
  async function* pieces() {
    const size = await written;
    let read = 0;
    for await (const chunk of fs.createReadStream(await place)) {
      read += chunk.length;
      yield chunk;
    }
    if (read !== size) throw wrongSize(size, read);
  }
  return streamOf(pieces(), async () => {
    await written.catch(() => {});
    await place.then(fs.unlink).catch(() => {});
  });
};
