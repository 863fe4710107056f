// SPDX-License-Identifier: Apache-2.0
// npm's near-mock-vm does the deliveries that gaspipe does (JSON lines on stdin, docs/wasm.md).
// usage: node mock_vm.mjs PACKAGE MODULE ACCOUNT
// Prints a line for each call, {"value","logs","actions"} or {"error"}, and one with the storage at the end.
//
// Only the package's VM is used, nearcore's logic of 2021. Its own runner gives a contract only
// the functions that near-sdk-as imports: without panic_utf8 it links nothing that C or Rust compiles to.
import fs from 'node:fs';
import { createRequire } from 'node:module';

const [directory, file, account] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const vmFile = require.resolve(`${directory}/pkg/near_mock_vm.js`);
// With its memory imported, so that functions called at the start find it.
const module = new WebAssembly.Module(Buffer.from(require(vmFile).inject_contract(fs.readFileSync(file))));
const imports = WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'function');

const KEY = 'HuxUynD5GdrcZ5MauxJuu74sGHgS6wLfCqqhQkLWK';
const base64 = input =>
  input?.base64 ?? Buffer.from(typeof input === 'string' ? input : JSON.stringify(input)).toString('base64');

/** The words of nearcore today for its errors of that day, which the VM prints as Rust's debug output. */
const words = {
  GuestPanic: ({ panic_msg: text }) => `Smart contract panicked: ${text}`,
  ProhibitedInView: ({ method_name: name }) => `${name} is not allowed in view calls`,
  InvalidRegisterId: ({ register_id: id }) => `Accessed invalid register id: ${id}`,
  InvalidPromiseIndex: ({ promise_idx: index }) => `${index} does not correspond to existing promises`,
  InvalidPromiseResultIndex: ({ result_idx: index }) => `Accessed invalid promise result index: ${index}`,
  CannotAppendActionToJointPromise: () => 'Actions can only be appended to non-joint promise.',
  CannotReturnJointPromise: () => 'Returning joint promise is currently prohibited.',
  EmptyMethodName: () => 'Tried to call an empty method name.',
  MemoryAccessViolation: () => 'Accessed memory outside the bounds.',
  BalanceExceeded: () => 'Exceeded the account balance.',
  BadUTF8: () => 'String encoding is bad UTF-8 sequence.',
  BadUTF16: () => 'String encoding is bad UTF-16 sequence.',
};

const errorOf = printed => {
  const [, name, members = ''] = /HostError\((\w+)(?: \{ (.*) \})?\)/.exec(printed) ?? [];
  if (!words[name]) return printed;
  const json = members.replace(/\\u\{(\w+)\}/g, (_, hex) => `\\u${hex.padStart(4, '0')}`).replace(/\\'/g, "'").replace(/^\w+/, '"$&"');
  return words[name](JSON.parse(`{${json}}`));
};

/** The memory of the running contract, for the VM. */
const guest = {
  memory: new WebAssembly.Memory({ initial: 1024, maximum: 2048 }),
  bytes() {
    return new Uint8Array(this.memory.buffer);
  },
  fits_memory(at, length) {
    return BigInt(at) + BigInt(length) <= BigInt(this.bytes().length);
  },
  read_memory(at, into) {
    into.set(this.bytes().subarray(Number(at), Number(at) + into.length));
  },
  read_memory_u8(at) {
    return this.bytes()[Number(at)];
  },
  write_memory(at, from) {
    this.bytes().set(from, Number(at));
  },
};
const own = guest.memory;

const storage = new Map(); // what earlier calls left, in hexadecimal

const withOwnMemory = does => {
  const { memory } = guest;
  guest.memory = own;
  try {
    return does();
  } finally {
    guest.memory = memory;
  }
};
const place = bytes => {
  guest.bytes().set(bytes);
  return BigInt(bytes.length);
};

/** A VM in a process of its own, so to speak: after a panic, Rust's run-time part is of no use. */
const newVm = (input, world) => {
  delete require.cache[vmFile];
  const { VM } = require(vmFile);
  const vm = new VM(contextOf(input, world), guest);
  vm.set_block_timestamp(BigInt(world.blockTimestamp ?? 1600000000000000000n));
  return vm;
};

const restore = vm =>
  withOwnMemory(() => {
    for (const [key, value] of storage) {
      const both = Buffer.from(key + value, 'hex');
      const length = BigInt(key.length / 2);
      vm.storage_write(length, 0n, place(both) - length, length, 0n);
    }
  });

/** Asks the VM what is there now for each key that a call has touched. */
const keep = (vm, keys) =>
  withOwnMemory(() => {
    for (const key of keys) {
      const length = place(Buffer.from(key, 'hex'));
      storage.delete(key);
      if (vm.storage_read(length, 0n, 0n)) {
        const size = Number(vm.register_len(0n));
        vm.read_register(0n, 0n);
        storage.set(key, Buffer.from(guest.bytes().subarray(0, size)).toString('hex'));
      }
    }
  });

const contextOf = (input, world) => ({
  current_account_id: world.account ?? account,
  signer_account_id: world.signer ?? 'alice.near',
  signer_account_pk: KEY,
  predecessor_account_id: world.predecessor ?? world.signer ?? 'alice.near',
  input: base64(input ?? ''),
  block_index: world.blockHeight ?? 1,
  block_timestamp: 0,
  epoch_height: world.epochHeight ?? 1,
  account_balance: world.balance ?? '1000000000000000000000000000',
  account_locked_balance: '0',
  storage_usage: 0,
  attached_deposit: world.deposit ?? '0',
  prepaid_gas: world.gas ?? 300000000000000,
  random_seed: KEY,
  is_view: false,
  output_data_receivers: [],
});

/** The contract with the VM's functions, and a list of the keys that it writes and removes. */
const link = (vm, keys) => {
  const env = { memory: guest.memory };
  for (const { name } of imports) {
    if (!vm[name]) continue; // linking says so
    env[name] = (...values) => {
      if (name === 'storage_write' || name === 'storage_remove')
        keys.add(Buffer.from(guest.bytes().slice(Number(values[1]), Number(values[1] + values[0]))).toString('hex'));
      return vm[name](...values);
    };
  }
  return new WebAssembly.Instance(module, { env }).exports;
};

/** Actions that need a chain, in gaspipe's words. */
const actionWords = {
  CreateAccount: () => 'create account',
  Transfer: ({ deposit }) => `transfer ${deposit}`,
  AddKeyWithFullAccess: () => 'add full access key',
  AddKeyWithFunctionCall: () => 'add function call key',
  DeleteAccount: ({ beneficiary_id: account }) => `delete account, the rest to ${account}`,
};

const actionsOf = vm => {
  const text = vm.created_receipts().replace(/("(?:deposit|allowance)":)(\d+)/g, '$1"$2"');
  return JSON.parse(text).flatMap(({ receiver_id: receiver, actions }) =>
    actions
      .map(action => (typeof action === 'string' ? [action] : Object.entries(action)[0]))
      .filter(([name]) => name !== 'FunctionCall')
      .map(([name, members]) => `action on ${receiver}: ${actionWords[name](members)}`),
  );
};

/** The value that a call returned itself, not by a promise. */
const valueOf = returned => {
  if (returned === 'None' || returned.ReceiptIndex !== undefined) return null;
  try {
    return JSON.parse(returned.Value);
  } catch {
    return returned.Value;
  }
};

const call = ({ method, args: [input, world = {}] }) => {
  const printed = [];
  const { error } = console;
  console.error = text => printed.push(text);
  try {
    guest.memory = new WebAssembly.Memory({ initial: 1024, maximum: 2048 });
    const vm = newVm(input, world);
    const keys = new Set();
    restore(vm);
    vm.set_is_view(world.view ?? false);
    const exports = link(vm, keys);
    if (!exports[method]) return { error: 'MethodNotFound' };
    exports[method]();
    const { return_data: returned, logs } = vm.outcome();
    keep(vm, keys);
    return { value: valueOf(returned), logs, actions: actionsOf(vm) };
  } catch (thrown) {
    return { error: printed.length ? errorOf(printed[0]) : String(thrown) };
  } finally {
    console.error = error;
  }
};

for (const line of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean))
  console.log(JSON.stringify(call(JSON.parse(line))));
console.log(JSON.stringify({ storage: Object.fromEntries([...storage].sort()) }));
