// SPDX-License-Identifier: Apache-2.0
// How snapshots get into a worker and out of it: through a pipe of its own, or a file.
import { PassThrough, Readable } from 'node:stream';

export const SAVE_FD = 7;
export const LOAD_FD = 8;

const fileNamePart = text => text.replaceAll(/[^a-zA-Z0-9_.-]/g, '-');

/**
 * A snapshot that a worker starts from.
 *
 * @returns what `place` the worker is told, and what is done when it runs (`feed`) and when it
 *   has read the snapshot (`done`)
 */
export const loadFromPipe = (bytes, description) => {
  let fed = Promise.resolve();
  return {
    place: `@${LOAD_FD}:${fileNamePart(description)}`,
    // A worker that ends while it reads is met by its exit status.
    feed: pipe => {
      const source = Readable.from(bytes);
      fed = new Promise((resolve, reject) => {
        source.once('error', reject);
        pipe.once('error', () => resolve());
        pipe.once('finish', () => resolve());
      });
      fed.catch(() => pipe.destroy()); // the worker reads an end, and says so
      source.pipe(pipe);
    },
    done: () => fed,
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
  return { place, feed: () => {}, done };
};

const wrongSize = (saved, read) =>
  Error(`Snapshot size does not match. saved=${saved}, read=${read}`);

/**
 * Has a worker write a snapshot into its pipe, and passes the bytes on while they come.
 *
 * @param {Readable} pipe the worker's; it stays open for the next snapshot
 * @param {Promise<unknown>} turn settled when the pipe is nobody else's
 * @param {(place: string) => Promise<number>} write the command; how many bytes there are
 */
export async function* saveThroughPipe(pipe, turn, write) {
  const output = new PassThrough({ highWaterMark: 1024 * 1024 });
  let read = 0;
  let size;
  const take = chunk => {
    read += chunk.length;
    if (!output.write(chunk)) pipe.pause();
    endWhenWhole();
  };
  const stop = () => {
    pipe.off('data', take);
    pipe.pause();
    output.end();
  };
  const endWhenWhole = () => {
    if (size !== undefined && read >= size) stop();
  };
  output.on('drain', () => pipe.resume());
  // It is read before the answer comes: a worker whose pipe is full would wait for ever.
  const reading = turn.then(() => pipe.on('data', take).resume());
  const written = Promise.all([write(`@${SAVE_FD}`), reading]).then(([bytes]) => {
    size = bytes;
    endWhenWhole();
  });
  written.catch(stop);
  try {
    yield* output;
  } finally {
    stop();
    await written;
    if (read !== size) throw wrongSize(size, read);
  }
}

/** As saveThroughPipe(), by way of a file that is removed. */
export async function* saveThroughFile(description, write, { fs, temporaryName }) {
  const place = await temporaryName({
    template: `make-snapshot-${fileNamePart(description)}-XXXXXX.xss`,
  });
  try {
    const size = await write(place);
    let read = 0;
    for await (const chunk of fs.createReadStream(place)) {
      read += chunk.length;
      yield chunk;
    }
    if (read !== size) throw wrongSize(size, read);
  } finally {
    await fs.unlink(place).catch(() => {});
  }
}
