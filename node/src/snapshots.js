// SPDX-License-Identifier: Apache-2.0
// How snapshots get into a worker and out of it: through a pipe of its own, or a file.
import { PassThrough, Readable } from 'node:stream';

export const SAVE_FD = 7;
export const LOAD_FD = 8;
export const MEMORY_FD = 9;

// At most this many bytes of a worker's output are hashed in one turn of the event loop.
const PIECE = 16 * 1024 * 1024;

const fileNamePart = text => text.replaceAll(/[^a-zA-Z0-9_.-]/g, '-');

/**
 * A snapshot that a worker starts from.
 *
 * @returns `place`, the worker's argument; `feed`, called when it runs; `done`, called when it has
 * read the snapshot; and `drop`, called if it could not be started
 */
export const loadFromPipe = (bytes, description) => {
  // Request the first piece at once, before the worker runs: SwingSet's store receives the same
  // pieces and waits until both readers request the next.
  let source = Readable.from(bytes);
  const failed = new Promise((_, reject) => source.once('error', reject));
  failed.catch(() => {}); // feed() reports it
  source.read(0);
  let fed = Promise.resolve();
  return {
    place: `@${LOAD_FD}:${fileNamePart(description)}`,
    // If a worker exits while it reads, its exit status reports it.
    feed: pipe => {
      const taken = new Promise(resolve => {
        pipe.once('error', () => resolve());
        pipe.once('finish', () => resolve());
      });
      // The pipe's listeners live as long as the worker, and would keep the snapshot's bytes.
      fed = Promise.race([failed, taken]).finally(() => (source = undefined));
      fed.catch(() => pipe.destroy()); // the worker reads end of file and reports it
      source.pipe(pipe);
    },
    done: () => fed,
    drop: () => source?.destroy(),
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
 * The pieces of a snapshot for a reader, who may stop before any of them.
 *
 * @param {AsyncIterator<Uint8Array>} pieces
 * @param {() => Promise<void>} finish called once, when the pieces are read or the reader stops
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
 * Makes a worker write a snapshot into its pipe, and passes on the bytes as they come.
 *
 * @param {Readable} pipe the worker's; it stays open for the next snapshot
 * @param {Promise<unknown>} turn settled when no earlier snapshot uses the pipe
 * @param {(place: string | Promise<string>) => Promise<number>} write sends the command and
 * resolves to the number of bytes
 */
export const saveThroughPipe = (pipe, turn, write) => {
  const output = new PassThrough({ highWaterMark: 1024 * 1024 });
  let read = 0;
  let size;
  let stopped = false;
  let resolveStopped;
  const stopping = new Promise(resolve => (resolveStopped = resolve));
  const stop = () => {
    stopped = true;
    pipe.off('data', take);
    pipe.pause();
    output.end();
    resolveStopped();
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
  // Read before the answer comes: a worker whose pipe is full would block.
  const reading = turn.then(() => pipe.on('data', take).resume());
  const written = Promise.all([write(`@${SAVE_FD}`), reading]).then(([bytes]) => {
    size = bytes;
    endWhenWhole();
  });
  written.catch(stop);
  return streamOf(output[Symbol.asyncIterator](), async () => {
    output.destroy();
    // Read the rest of an abandoned snapshot too: until then the worker blocks.
    await reading;
    if (!stopped) pipe.resume();
    await written;
    await stopping;
    if (read !== size) throw wrongSize(size, read);
  });
};

/**
 * Like saveThroughPipe(), through memory that is used once. Nothing is copied, and compression
 * gets enough bytes at once to keep busy while the next worker starts.
 *
 * @param {{ seal: () => Buffer, drop: () => void }} memory
 * @param {(place: string) => Promise<number>} write
 */
export const saveThroughMemory = (memory, write) => {
  // Runs without a reader too: it closes the descriptor, and the bytes become garbage.
  const written = write(`@${MEMORY_FD}`)
    .then(size => {
      const bytes = memory.seal();
      if (bytes.length !== size) throw wrongSize(size, bytes.length);
      return bytes;
    })
    .finally(memory.drop);
  written.catch(() => {}); // the reader receives the error
  async function* pieces() {
    const bytes = await written;
    for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
  }
  return streamOf(pieces(), () => written.catch(() => {}));
};

/** Like saveThroughPipe(), through a file that is then removed. */
export const saveThroughFile = (description, write, { fs, temporaryName }) => {
  const named = async () =>
    temporaryName({ template: `make-snapshot-${fileNamePart(description)}-XXXXXX.xss` });
  const place = named();
  const written = write(place);
  written.catch(() => {}); // the reader receives the error
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
