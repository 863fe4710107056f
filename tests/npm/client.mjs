// SPDX-License-Identifier: Apache-2.0
// A session of npm's own client, @agoric/xsnap 0.15.0, or of another, with a worker.
// usage: node client.mjs NODE_MODULES WORKER [CLIENT.js]
// Prints a JSON line for each thing that it does with what came of it, times left out:
// the lines of two workers that are the same to the client are the same.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, worker, client] = process.argv.slice(2);
const load = file => import(pathToFileURL(path.resolve(modules, file)).href);

await load('@endo/init/debug.js');
const { xsnap } = await (client
  ? import(pathToFileURL(client).href)
  : load('@agoric/xsnap/src/xsnap.js'));
const { default: tmp } = await load('tmp/lib/tmp.js');

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'client-'));
process.on('exit', () => fs.rmSync(directory, { recursive: true }));

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const sorted = times => times.every((time, i) => !i || times[i - 1] <= time);

const print = (...words) => console.log(JSON.stringify(words));

// The outcome of a call, without members that differ from run to run.
const plain = value => {
  if (!value || !value.meterUsage) {
    return value instanceof Uint8Array ? decoder.decode(value) : value;
  }
  const { meterType, compute, allocate, currentHeapCount, timestamps } =
    value.meterUsage;
  const reply =
    typeof value.reply === 'string' ? value.reply : decoder.decode(value.reply);
  const times = [timestamps.length, sorted(timestamps)];
  return { reply, meterType, compute, allocate, currentHeapCount, times };
};

const attempt = async (label, call) => {
  try {
    print(label, plain(await call()));
  } catch (error) {
    // How long a frame is depends on its times.
    const words = error.message.replace(/prefix "\d+"/, 'prefix');
    print(label, 'failed', error.name, error.code, words);
  }
};

// The client looks for its worker in its own package; gaspipe's is put there.
const start = (options = {}) =>
  xsnap({
    os: os.type(),
    spawn: (_command, args, rest) => spawn(worker, args, rest),
    fs: { ...fs, ...fs.promises, tmpName: tmp.tmpName },
    name: 'v1:bank',
    stdout: 'inherit',
    ...options,
  });

const echo = 'globalThis.handleCommand = bytes => ({ result: bytes });';

async function replies() {
  const vat = await start({
    handleCommand: async message => {
      print('asked', decoder.decode(message));
      return encoder.encode('an answer');
    },
  });
  await attempt('ready', () => vat.isReady());
  await attempt('evaluate', () => vat.evaluate('1 + 1'));
  await attempt('print', () => vat.evaluate('print("a word", 7)'));
  await attempt('no handler', () => vat.issueStringCommand('hello'));
  await attempt('echo', () => vat.evaluate(echo));
  await attempt('deliver', () => vat.issueStringCommand('hello ü€😀'));
  await attempt('nothing', () => vat.issueCommand(new Uint8Array()));
  await attempt('throws', () => vat.evaluate('throw new TypeError("no moon")'));
  await attempt('syntax', () => vat.evaluate('((('));
  await attempt('asks', () =>
    vat.evaluate(
      'globalThis.handleCommand = bytes => ({ result: issueCommand(bytes) });',
    ),
  );
  await attempt('asking', () => vat.issueStringCommand('a question'));
  await attempt('many', () =>
    vat.evaluate(
      'for (let i = 0; i < 100; i++) issueCommand(new ArrayBuffer(1));',
    ),
  );
  // Calls that do not wait for each other come out in their order.
  await vat.evaluate(echo);
  await Promise.all(
    [1, 2, 3].map(n =>
      attempt(`in turn ${n}`, () => vat.issueStringCommand(`${n}`)),
    ),
  );
  const large = new Uint8Array(16_000_000).fill(97);
  const { reply } = await vat.issueCommand(large);
  print('large', reply.byteLength, reply.every(byte => byte === 97));
  await attempt('close', () => vat.close());
  await attempt('after the end', () => vat.evaluate('1'));
}

async function files() {
  const vat = await start();
  const write = (name, text) => {
    fs.writeFileSync(path.join(directory, name), text);
    return path.join(directory, name);
  };
  const script = write('script.js', 'globalThis.x = 42; print("script");');
  const module = write('module.js', 'import { y } from "./y.js"; print(y);');
  write('y.js', 'export const y = "module";');
  await attempt('script', () => vat.execute(script));
  await attempt('of it', () => vat.evaluate('print(x)'));
  await attempt('module', () => vat.import(module));
  await attempt('close', () => vat.close());
}

async function snapshots(snapshotUseFs) {
  const program =
    'globalThis.kept = new Map([["a", [1n, { b: 2 }]]]); globalThis.f = () => kept.get("a")[1].b;';
  const vat = await start({ snapshotUseFs });
  await vat.evaluate(program);
  const take = async from => {
    const chunks = [];
    for await (const chunk of from.makeSnapshotStream('of v1')) {
      chunks.push(chunk);
    }
    const bytes = Buffer.concat(chunks);
    const hash = createHash('sha256').update(bytes).digest('hex');
    print('snapshot', snapshotUseFs, bytes.length, hash);
    return bytes;
  };
  await take(vat);
  await attempt('goes on', () => vat.evaluate('kept.set("c", f())'));
  const bytes = await take(vat);
  await attempt('close', () => vat.close());

  const again = await start({
    snapshotUseFs,
    snapshotDescription: 'v1 at 7',
    snapshotStream: (async function* stream() {
      yield bytes;
    })(),
  });
  await attempt('loaded', () =>
    again.evaluate('new TextEncoder().encode(`${f()} ${kept.get("c")}`).buffer'),
  );
  await take(again);
  await attempt('close', () => again.close());
}

async function ends() {
  const end = async (label, source, options = {}) => {
    const vat = await start(options);
    await attempt(label, () => vat.evaluate(source));
    await attempt(`${label}, then`, () => vat.evaluate('1'));
    await attempt(`${label}, closed`, () => vat.close());
  };
  await end('computation', 'for (;;);', { meteringLimit: 1_000_000 });
  await end('stack', '(function f() { f(); })()');
  await end('memory', 'const a = []; for (;;) a.push(new ArrayBuffer(1 << 26));');
  await end('no limit', 'for (let i = 0; i < 1e5; i++);', { meteringLimit: 0 });
  await end('small parser', `"${'a'.repeat(300_000)}".length`, {
    parserBufferSize: 64,
  });
  await end('rejection', 'Promise.reject(Error("of nobody"))');
  await end('exception', 'throw Error("left")');

  // It is known to be at work when it has asked.
  let vat;
  let busy;
  await new Promise(resolve => {
    const handleCommand = async message => {
      resolve();
      return message;
    };
    void start({ name: 'with blanks and: signs', handleCommand }).then(started => {
      vat = started;
      busy = vat.evaluate('issueCommand(new ArrayBuffer(0)); for (;;);');
      busy.catch(() => {});
    });
  });
  await attempt('terminate', () => vat.terminate());
  // The order of its exit and of the write of the answer is random.
  await busy.then(() => print('went on'), () => print('ended by force'));
}

await replies();
await files();
await snapshots(false);
await snapshots(true);
await ends();
