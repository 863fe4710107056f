// SPDX-License-Identifier: Apache-2.0
// gaspipe's client for Node and a failing worker.
// usage: node node.mjs PACKAGE CASE [ARGUMENT...]
// Each case prints what came of it, a line each.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const [directory, which, ...rest] = process.argv.slice(2);
const { xsnap, recordXSnap, replayXSnap } = await import(
  pathToFileURL(path.join(directory, 'src/index.js')).href
);

let child;
const powers = {
  os: os.type(),
  spawn: (...args) => (child = spawn(...args)),
  fs: { ...fs, ...fs.promises },
};
const start = options => xsnap({ ...powers, name: 'it', ...options });
const attempt = async call => {
  try {
    await call();
    console.log('done');
  } catch (error) {
    console.log(`${error.name} ${error.code ?? '-'}: ${error.message}`);
  }
};
const echo = 'globalThis.handleCommand = bytes => ({ result: issueCommand(bytes) });';
const descriptors = () => fs.readdirSync('/proc/self/fd').length;

/** How often the event loop turned while the promise was open. */
const turnsDuring = async promise => {
  let turns = 0;
  let open = true;
  const turn = () => {
    turns += 1;
    if (open) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await promise;
  } finally {
    open = false;
  }
  return turns;
};

const cases = {
  /** A command that takes long, and a worker that reads nothing, leave the loop free. */
  async loop() {
    const worker = await start();
    assert((await turnsDuring(worker.evaluate('for (let i = 0; i < 1e6; i++);'))) > 10);
    await worker.evaluate('globalThis.handleCommand = bytes => ({ result: bytes });');
    child.kill('SIGSTOP');
    const large = worker.issueCommand(new Uint8Array(16_000_000).fill(97));
    let turns = 0;
    const turn = () => {
      turns += 1;
      if (turns === 1000) child.kill('SIGCONT');
      else setImmediate(turn);
    };
    setImmediate(turn);
    assert.equal((await large).reply.length, 16_000_000);
    assert.equal(turns, 1000);
    await worker.close();
    console.log('done');
  },

  /** Without a synchronous wait every frame goes through the loop. */
  async impatient() {
    const worker = await start({ syncWait: 0, handleCommand: async message => message });
    await worker.evaluate(echo);
    for (let i = 0; i < 20; i += 1) {
      const { reply } = await worker.issueStringCommand(`${i}`);
      assert.equal(reply, `${i}`);
    }
    await worker.close();
    console.log('done');
  },

  /** Sent and received moments of both ends, one after the other on one clock. */
  async times() {
    const worker = await start({ handleCommand: async message => message });
    await worker.evaluate(echo);
    const { meterUsage } = await worker.issueStringCommand('a question');
    const { monotimes, clientMonotimes } = meterUsage;
    const [sent, question, answered, returned] = clientMonotimes;
    const [arrived, asked, received, finished] = monotimes;
    const order = [sent, arrived, asked, question, answered, received, finished, returned];
    assert.deepEqual(order, order.toSorted((a, b) => a - b));
    assert.equal(clientMonotimes.length, 4);
    assert.equal(monotimes.length, 4);
    await worker.close();
    console.log('done');
  },

  /** The host destroys the streams at the worker's pipes, as if it died. */
  async pipes() {
    const destroy = fds => fds.forEach(fd => child.stdio[fd].end().destroy());
    const lose = async (fds, when) => {
      const worker = await start({
        stderr: 'pipe',
        handleCommand: async () => {
          if (when === 'answering') destroy(fds);
          return new Uint8Array();
        },
      });
      await worker.evaluate('function handleCommand() { issueCommand(new ArrayBuffer(0)); }');
      const said = text(child.stderr);
      const ended = new Promise(resolve => child.once('exit', (...how) => resolve(how)));
      if (when !== 'answering') destroy(fds);
      const failed = when === 'idle' ? false : await worker.issueCommand(new Uint8Array(1)).then(() => false, () => true);
      console.log(JSON.stringify([when, fds, failed, await ended, await said]));
      await attempt(() => worker.close());
    };
    await lose([3], 'answering');
    await lose([4], 'answering');
    await lose([4], 'asking');
    await lose([4, 3], 'idle');
  },

  /** The members of a meter. */
  async meter() {
    const worker = await start({});
    const { meterUsage } = await worker.evaluate('1');
    console.log(Object.keys(meterUsage).join(' '));
    await worker.close();
  },

  async killed() {
    const worker = await start({
      handleCommand: async message => {
        child.kill('SIGKILL');
        return message;
      },
    });
    await attempt(() => worker.evaluate('issueCommand(new ArrayBuffer(0))'));
    await attempt(() => worker.evaluate('1'));
    await attempt(() => worker.close());
  },

  /** A command, to a worker that is no worker. */
  async lies() {
    const worker = await start({ netstringMaxChunkSize: 1000 });
    await attempt(() => worker.evaluate('1'));
    await attempt(() => worker.terminate());
  },

  async missing() {
    await attempt(async () => (await start()).evaluate('1'));
  },

  async platform() {
    await attempt(() => start({ os: 'Darwin' }));
    await attempt(() => start({ name: '-n' }));
  },

  async leaks() {
    let before;
    for (let i = 0; i < 20; i += 1) {
      const worker = await start();
      await worker.evaluate('1');
      if (i % 3 === 0) for await (const _ of worker.makeSnapshotStream());
      if (i % 3 === 1) worker.makeSnapshotStream(); // whose stream is never read
      await (i % 2 ? worker.close() : worker.terminate());
      // By then Node has closed everything.
      const [pipe] = child.stdio.slice(7);
      if (!pipe.closed) await new Promise(resolve => pipe.once('close', resolve));
      globalThis.gc();
      await new Promise(resolve => setImmediate(resolve));
      before ??= descriptors();
    }
    assert(descriptors() <= before + 2, `${before} descriptors became ${descriptors()}`);
    console.log('done');
  },

  /** A written snapshot does not change with the heap; later ones are complete, too. */
  async sealed() {
    const worker = await start();
    await worker.evaluate('globalThis.kept = 7');
    const read = () => buffer(worker.makeSnapshotStream());
    const stream = worker.makeSnapshotStream();
    const { value: first } = await stream.next();
    const copy = Buffer.from(first);
    const file = `/proc/${child.pid}/fd/9`;
    for (const change of [fs.truncateSync, place => fs.writeFileSync(place, 'x', { flag: 'r+' })])
      assert.throws(() => change(file), { code: 'EPERM' });
    assert(copy.equals(first));
    first.fill(0); // a reader's own
    assert((await stream.next()).done);
    for (const snapshot of [copy, await read()]) {
      const next = await start({ snapshotStream: [snapshot] });
      await next.evaluate('if (kept !== 7) throw Error()');
      await next.close();
    }
    await worker.close();
    console.log('done');
  },

  /** A channel that is closed leaves alone what has a number by now that was its own. */
  async reused() {
    const channels = pathToFileURL(path.join(directory, 'src/channel.js')).href;
    const { makePipes, openChannel } = await import(channels);
    const { own } = makePipes();
    const channel = openChannel(own, 1000, 0);
    channel.hangUp();
    const next = makePipes();
    assert.equal(next.own[0], own[1]);
    const reader = new net.Socket({ fd: next.own[0], readable: true, writable: false });
    const read = new Promise(resolve => reader.once('data', resolve));
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    channel.close();
    fs.writeSync(next.theirs[1], 'there');
    console.log(`${await read}`);
    reader.destroy();
  },

  /** Neither a stream that begins late nor a worker that never writes its snapshot hangs another. */
  async late() {
    const worker = await start();
    const snapshot = await buffer(worker.makeSnapshotStream());
    await worker.close();
    const stuck = await start();
    const held = child;
    held.kill('SIGSTOP');
    stuck.makeSnapshotStream();
    let begin;
    const begun = new Promise(resolve => (begin = resolve));
    const next = await start({
      snapshotStream: (async function* late() {
        await begun;
        yield snapshot;
      })(),
    });
    begin();
    await next.evaluate('1');
    await next.close();
    held.kill('SIGCONT');
    await stuck.terminate();
    console.log('done');
  },

  /** A hundred workers, each from the snapshot of the one before it, leave no resources open. */
  async descendants() {
    let before;
    let last;
    let worker = await start();
    await worker.evaluate('globalThis.kept = 7');
    // A function of its own, whose variables end with it.
    const replace = async () => {
      const stream = worker.makeSnapshotStream();
      last = new WeakRef(stream);
      const ended = worker.close();
      worker = await start({ snapshotStream: stream });
      await worker.evaluate('if (kept !== 7) throw Error()');
      await ended;
    };
    for (let i = 0; i < 100; i += 1) {
      const [pipe] = child.stdio.slice(7);
      await replace();
      if (!pipe.closed) await new Promise(resolve => pipe.once('close', resolve));
      globalThis.gc();
      await new Promise(resolve => setImmediate(resolve));
      before ??= descriptors();
    }
    assert(descriptors() <= before + 2, `${before} descriptors became ${descriptors()}`);
    // Node decides when to give memory back. If something keeps it, this continues until the test times
    // out.
    const kept = () => fs.readFileSync('/proc/self/maps', 'utf8').match(/memfd:snapshot/g)?.length ?? 0;
    while (kept() > 2 || last.deref() !== undefined) {
      globalThis.gc();
      await new Promise(resolve => setImmediate(resolve));
    }
    await worker.close();
    console.log('done');
  },

  /** Snapshots whose reader stops, in the middle or before the first piece, block no other worker. */
  async abandoned(place) {
    const tmpName = ({ template }, done) => done(null, path.join(place, template));
    for (const snapshotUseFs of [false, true]) {
      const worker = await start({ snapshotUseFs, fs: { ...powers.fs, tmpName } });
      await worker.evaluate('globalThis.large = "x".repeat(8_000_000)');
      const halfway = worker.makeSnapshotStream();
      assert((await halfway.next()).value.length > 0);
      await halfway.return();
      assert((await halfway.next()).done);
      for await (const _ of worker.makeSnapshotStream()) break;
      const unread = worker.makeSnapshotStream();
      const later = worker.evaluate('1');
      await unread.return();
      await later;
      const reason = Error('no more');
      await assert.rejects(worker.makeSnapshotStream().throw(reason), reason);
      let size = 0;
      for await (const piece of worker.makeSnapshotStream()) size += piece.length;
      assert(size > 8_000_000);
      await worker.close();
      assert.deepEqual(fs.readdirSync(place), []);
    }
    console.log('done');
  },

  /**
   * A snapshot is asked for before the worker starts, since SwingSet's store waits for this reader,
   * and closed when no worker starts.
   */
  async early(place) {
    const events = [];
    const worker = await start();
    await worker.evaluate('globalThis.kept = 7');
    const pieces = [];
    for await (const piece of worker.makeSnapshotStream()) pieces.push(piece);
    await worker.close();
    let closed;
    const snapshot = () => {
      let resolveClosed;
      closed = new Promise(resolve => (resolveClosed = resolve));
      return (async function* read() {
        events.push('asked');
        try {
          yield* pieces;
        } finally {
          resolveClosed();
        }
      })();
    };
    const spawnTold = (...args) => {
      events.push('started');
      return powers.spawn(...args);
    };
    const next = await start({ snapshotStream: snapshot(), spawn: spawnTold });
    await next.evaluate('if (kept !== 7) throw Error()');
    await next.close();
    assert.deepEqual(events, ['asked', 'started']);

    const reason = Error('no process');
    const refuse = () => {
      throw reason;
    };
    await assert.rejects(start({ snapshotStream: snapshot(), spawn: refuse }), reason);
    await closed;
    const tmpName = ({ template }, done) => done(null, path.join(place, template));
    const files = { snapshotUseFs: true, fs: { ...powers.fs, tmpName } };
    await assert.rejects(start({ ...files, snapshotStream: pieces, spawn: refuse }), reason);
    assert.deepEqual(fs.readdirSync(place), []);
    console.log('done');
  },

  /** A result is freed when its caller drops it, not when the worker ends. */
  async forgotten() {
    const worker = await start();
    const results = [];
    for (let i = 0; i < 10; i += 1) results.push(new WeakRef(await worker.evaluate('1')));
    for (let i = 0; i < 3; i += 1) {
      await new Promise(resolve => setImmediate(resolve));
      globalThis.gc();
    }
    const kept = results.filter(result => result.deref()).length;
    assert(kept <= 1, `${kept} of 10 results are kept`);
    await worker.close();
    console.log('done');
  },

  async record(place) {
    const worker = await recordXSnap(
      { ...powers, name: 'it', handleCommand: async message => message },
      `${place}/`,
      fs,
    );
    await worker.evaluate(echo);
    await worker.issueStringCommand('a question');
    await worker.close();
    console.log(fs.readdirSync(place).sort().join(' '));
    const done = await replayXSnap(powers, [place], fs);
    console.log(done.map(([, number, kind]) => `${number} ${kind}`).join(', '));
  },
};

await cases[which](...rest);
