// SPDX-License-Identifier: Apache-2.0
// A guest book in AssemblyScript: sign({"text"}), last() and count(). NEAR's host functions are declared
// where they are used; there is no SDK. Build it with
//
//   asc guestbook.ts -o guestbook.wasm -O --runtime stub

@external("env", "input") declare function input(register: u64): void;
@external("env", "register_len") declare function registerLength(register: u64): u64;
@external("env", "read_register") declare function readRegister(register: u64, at: u64): void;
@external("env", "predecessor_account_id") declare function predecessorAccountId(register: u64): void;
@external("env", "storage_write") declare function storageWrite(keyLength: u64, key: u64, valueLength: u64, value: u64, register: u64): u64;
@external("env", "storage_read") declare function storageRead(keyLength: u64, key: u64, register: u64): u64;
@external("env", "value_return") declare function valueReturn(length: u64, at: u64): void;
@external("env", "log_utf16") declare function logUtf16(length: u64, at: u64): void;

const REGISTER: u64 = 0;

function addressOf(bytes: ArrayBuffer): u64 {
  return changetype<usize>(bytes) as u64;
}

function fromRegister(): string {
  const bytes = new ArrayBuffer(registerLength(REGISTER) as i32);
  readRegister(REGISTER, addressOf(bytes));
  return String.UTF8.decode(bytes);
}

function write(key: string, value: string): void {
  const keyBytes = String.UTF8.encode(key);
  const valueBytes = String.UTF8.encode(value);
  storageWrite(keyBytes.byteLength, addressOf(keyBytes), valueBytes.byteLength, addressOf(valueBytes), REGISTER);
}

function read(key: string, otherwise: string): string {
  const bytes = String.UTF8.encode(key);
  return storageRead(bytes.byteLength, addressOf(bytes), REGISTER) == 1 ? fromRegister() : otherwise;
}

function giveBack(text: string): void {
  const bytes = String.UTF8.encode(text);
  valueReturn(bytes.byteLength, addressOf(bytes));
}

/// The string behind "text": in the input's JSON.
function textOfInput(): string {
  input(REGISTER);
  const json = fromRegister();
  const name = json.indexOf('"text"');
  const begin = json.indexOf('"', name + 6);
  const end = json.indexOf('"', begin + 1);
  assert(name >= 0 && begin >= 0 && end > begin, 'the input has no text');
  return json.substring(begin + 1, end);
}

export function sign(): void {
  const text = textOfInput();
  assert(text.length <= 100, 'the text is too long');
  predecessorAccountId(REGISTER);
  const line = fromRegister() + ': ' + text;
  const count = (I32.parseInt(read('count', '0')) + 1).toString();
  write('count', count);
  write('line ' + count, line);
  logUtf16(line.length * 2, changetype<usize>(line) as u64);
}

export function last(): void {
  giveBack('"' + read('line ' + read('count', '0'), '') + '"');
}

export function count(): void {
  giveBack(read('count', '0'));
}
