// SPDX-License-Identifier: Apache-2.0
// Modules for bench/wasm: one for each operation, in which a loop does little else until its gas is used up.
// usage: node bench/wasm_operations.mjs DIR
// Writes DIR/NAME.wat for each; `empty` is the loop that the others are compared with.
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';

const directory = process.argv[2];
const times = 16; // of an operation in an iteration
const operands = { i32: '(local.get $i)', i64: '(local.get $j)', f32: '(local.get $f)', f64: '(local.get $g)' };
const modules = new Map([['empty', '']]);

const add = (name, body) => modules.set(name, Array(times).fill(body).join('\n'));

const step = '(local.set $j (i64.add (i64.const 1) (i64.mul (local.get $j) (i64.const 6364136223846793005))))';

function unary(type, result, names) {
    for (const name of names.split(' '))
        add(`${result}.${name}`, `(drop (${result}.${name} ${operands[type]}))`);
}

function binary(type, names) {
    for (const name of names.split(' '))
        add(`${type}.${name}`, `(drop (${type}.${name} ${operands[type]} ${operands[type]}))`);
}

const whole = 'add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u';
for (const type of ['i32', 'i64']) {
    binary(type, whole);
    unary(type, type, 'eqz clz ctz popcnt extend8_s extend16_s');
    for (const load of `load load8_s load8_u load16_s load16_u${type === 'i64' ? ' load32_s load32_u' : ''}`.split(' '))
        add(`${type}.${load}`, `(drop (${type}.${load} (i32.const 64)))`);
    for (const store of `store store8 store16${type === 'i64' ? ' store32' : ''}`.split(' '))
        add(`${type}.${store}`, `(${type}.${store} (i32.const 64) ${operands[type]})`);
}
unary('i64', 'i64', 'extend32_s');
unary('i64', 'i32', 'wrap_i64');
unary('i32', 'i64', 'extend_i32_s extend_i32_u');
for (const type of ['f32', 'f64']) {
    binary(type, 'add sub mul div min max copysign eq ne lt gt le ge');
    unary(type, type, 'abs neg ceil floor trunc nearest sqrt');
    add(`${type}.load`, `(drop (${type}.load (i32.const 64)))`);
    add(`${type}.store`, `(${type}.store (i32.const 64) ${operands[type]})`);
    for (const [from, result] of [['i32', 'i32'], ['i64', 'i64']]) {
        unary(type, result, `trunc_${type}_s trunc_${type}_u trunc_sat_${type}_s trunc_sat_${type}_u`);
        unary(from, type, `convert_${from}_s convert_${from}_u`);
    }
}
unary('f64', 'f32', 'demote_f64');
unary('f32', 'f64', 'promote_f32');
unary('f32', 'i32', 'reinterpret_f32');
unary('f64', 'i64', 'reinterpret_f64');
unary('i32', 'f32', 'reinterpret_i32');
unary('i64', 'f64', 'reinterpret_i64');

add('nop', '(nop)');
add('block', '(block)');
add('br', '(block (br 0))');
add('br_if taken', '(block (br_if 0 (i32.const 1)))');
add('br_if', '(block (br_if 0 (i32.const 0)))');
add('br_table', '(block (block (br_table 0 1 0 (local.get $i))))');
add('br_table first', '(block (block (br_table 0 1 0 (i32.const 0))))');
add('br_if unforeseen', `${step}(block (br_if 0 (i32.and (i32.const 1) (i32.wrap_i64 (i64.shr_u (local.get $j) (i64.const 33))))))`);
add('br_table unforeseen', `${step}(block (block (block (block (br_table 0 1 2 3
    (i32.and (i32.const 3) (i32.wrap_i64 (i64.shr_u (local.get $j) (i64.const 33)))))))))`);
add('if', '(if (local.get $i) (then) (else))');
add('call', '(call $nothing)');
add('call of many locals', '(call $locals)');
add('call_indirect', '(call_indirect (type $nothing) (i32.const 0))');
add('select', '(drop (select (local.get $i) (local.get $i) (local.get $i)))');
add('local.set', '(local.set $i (local.get $i))');
add('local.tee', '(drop (local.tee $i (local.get $i)))');
add('global.get', '(drop (global.get $global))');
add('global.set', '(global.set $global (i64.const 1))');
add('memory.size', '(drop (memory.size))');
add('memory.grow 0', '(drop (memory.grow (i32.const 0)))');
add('memory.grow refused', '(drop (memory.grow (i32.const 65536)))');
add('data.drop', '(data.drop $data)');
add('elem.drop', '(elem.drop $elements)');
add('ref.null', '(drop (ref.null func))');
add('ref.func', '(drop (ref.func $nothing))');
add('ref.is_null', '(drop (ref.is_null (ref.func $nothing)))');
add('table.get', '(drop (table.get $table (i32.const 0)))');
add('table.set', '(table.set $table (i32.const 0) (ref.null func))');
add('table.size', '(drop (table.size $table))');
add('table.grow 0', '(drop (table.grow $table (ref.null func) (i32.const 0)))');
add('table.grow refused', '(drop (table.grow $table (ref.null func) (i32.const 100000000)))');
for (const count of [0, 1, 7, 64, 4096]) {
    add(`memory.fill ${count}`, `(memory.fill (i32.const 64) (i32.const 1) (i32.const ${count}))`);
    add(`memory.copy ${count}`, `(memory.copy (i32.const 64) (i32.const 65) (i32.const ${count}))`);
    add(`memory.init ${count}`, `(memory.init $data (i32.const 64) (i32.const 0) (i32.const ${count}))`);
    add(`table.fill ${count}`, `(table.fill $table (i32.const 1) (ref.null func) (i32.const ${count}))`);
    add(`table.copy ${count}`, `(table.copy $table $table (i32.const 1) (i32.const 2) (i32.const ${count}))`);
    if (count <= 1) add(`table.init ${count}`, `(table.init $elements (i32.const 1) (i32.const 0) (i32.const ${count}))`);
}

// NEAR's host functions: [name, parameters, result, arguments], each with lengths of 0 and more.
const at = '(i64.const 64)', zero = '(i64.const 0)';
const big = '(i64.const 4096)', huge = '(i64.const 65536)';

// Signatures that are valid, since one that is not may be refused at once; each of the message `at`, of zeros, is 32 long.
const message = Buffer.alloc(32);
const ed25519 = generateKeyPairSync('ed25519'), p256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const secp256k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
const bytesOf = (key, name) => Buffer.from(key.publicKey.export({ format: 'jwk' })[name], 'base64url');
const raw = (key) => sign('sha256', message, { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
const objects = [
    sign(null, message, ed25519.privateKey), bytesOf(ed25519, 'x'),
    raw(p256), Buffer.concat([Buffer.from([2 + (bytesOf(p256, 'y')[31] & 1)]), bytesOf(p256, 'x')]),
    raw(secp256k1),
];
const objectsAt = 131072;
const object = (number) => `(i64.const ${objectsAt + number * 128})`;
const functions = [
    ['read_register', 2, 0, `${zero} ${at}`], ['register_len', 1, 1, zero], ['write_register', 3, 0, `${zero} ${zero} ${at}`],
    ['current_account_id', 1, 0, zero], ['signer_account_id', 1, 0, zero], ['signer_account_pk', 1, 0, zero],
    ['predecessor_account_id', 1, 0, zero], ['input', 1, 0, zero], ['block_index', 0, 1, ''], ['block_timestamp', 0, 1, ''],
    ['epoch_height', 0, 1, ''], ['storage_usage', 0, 1, ''], ['account_balance', 1, 0, at], ['account_locked_balance', 1, 0, at],
    ['attached_deposit', 1, 0, at], ['prepaid_gas', 0, 1, ''], ['used_gas', 0, 1, ''], ['random_seed', 1, 0, zero],
    ['sha256', 3, 0, `${zero} ${at} ${zero}`], ['sha256', 3, 0, `${big} ${at} ${zero}`],
    ['keccak256', 3, 0, `${zero} ${at} ${zero}`], ['keccak256', 3, 0, `${big} ${at} ${zero}`],
    ['keccak512', 3, 0, `${zero} ${at} ${zero}`], ['keccak512', 3, 0, `${big} ${at} ${zero}`],
    ['ripemd160', 3, 0, `${zero} ${at} ${zero}`], ['ripemd160', 3, 0, `${big} ${at} ${zero}`],
    ['ecrecover', 7, 1, `(i64.const 32) ${at} (i64.const 64) ${at} ${zero} ${zero} ${zero}`],
    ['ecrecover', 7, 1, `(i64.const 32) ${at} (i64.const 64) ${object(4)} ${zero} ${zero} ${zero}`, 'valid'],
    ['ed25519_verify', 6, 1, `(i64.const 64) ${at} ${zero} ${at} (i64.const 32) ${at}`],
    ['ed25519_verify', 6, 1, `(i64.const 64) ${object(0)} (i64.const 32) ${at} (i64.const 32) ${object(1)}`, 'valid'],
    ['ed25519_verify', 6, 1, `(i64.const 64) ${object(0)} ${huge} ${at} (i64.const 32) ${object(1)}`],
    ['p256_verify', 6, 1, `(i64.const 64) ${object(2)} (i64.const 32) ${at} (i64.const 33) ${object(3)}`, 'valid'],
    ['p256_verify', 6, 1, `(i64.const 64) ${object(2)} ${huge} ${at} (i64.const 33) ${object(3)}`],
    ...['sha256', 'keccak256', 'keccak512', 'ripemd160'].map((name) => [name, 3, 0, `${huge} ${at} ${zero}`]),
    ['write_register', 3, 0, `${zero} ${huge} ${at}`],
    ['storage_write', 5, 1, `(i64.const 8) ${at} ${huge} ${at} ${zero}`],
    ['value_return', 2, 0, `${huge} ${at}`],
    ['storage_write', 5, 1, `${zero} ${at} ${zero} ${at} ${zero}`], ['storage_write', 5, 1, `(i64.const 2048) ${at} ${big} ${at} ${zero}`],
    ['storage_read', 3, 1, `${zero} ${at} ${zero}`], ['storage_read', 3, 1, `(i64.const 2048) ${at} ${zero}`],
    ['storage_remove', 3, 1, `${zero} ${at} ${zero}`], ['storage_has_key', 2, 1, `${zero} ${at}`],
    ['storage_has_key', 2, 1, `(i64.const 2048) ${at}`], ['value_return', 2, 0, `${zero} ${at}`], ['value_return', 2, 0, `${big} ${at}`],
    ['promise_results_count', 0, 1, ''],
    ['validator_total_stake', 1, 0, at],
];
const setup = 'write_register';
const imports = new Map();
for (const [name, parameters, result, text, kind] of functions) {
    imports.set(name, `(import "env" "${name}" (func $${name} (param${' i64'.repeat(parameters)})${result ? ' (result i64)' : ''}))`);
    const call = `(call $${name} ${text})`;
    const length = kind ? ` ${kind}` : /const 65536/.test(text) ? ' huge' : /const (4096|2048)/.test(text) ? ' long' : '';
    add(`${name}${length}`, result ? `(drop ${call})` : call);
}

const escaped = (bytes) => bytes.toString('hex').replace(/../g, '\\$&');
const text = (body) => `(module ${[...imports].filter(([name]) => body.includes(`$${name} `) || (name === setup && body.includes('register'))).map((one) => one[1]).join('\n')}
    (memory 3) (data (i32.const ${objectsAt}) "${objects.map((one) => escaped(Buffer.concat([one, Buffer.alloc(128 - one.length)]))).join('')}")
    (global $global (mut i64) (i64.const 0)) (table $table 5000 funcref) (type $nothing (func))
    (elem (i32.const 0) $nothing) (elem $elements func $nothing) (data $data "${'0123456789abcdef'.repeat(256)}")
    (func $nothing) (func $locals (local ${'i64 '.repeat(1000)}))
    (func (export "m") (local $i i32) (local $j i64) (local $f f32) (local $g f64)
        (local.set $i (i32.const 7)) (local.set $j (i64.const 7)) (local.set $f (f32.const 7)) (local.set $g (f64.const 7))
        ${body.includes('register') ? `(call $${setup} ${zero} (i64.const 32) ${at})` : ''}
        (loop ${body} (br 0))))`;

mkdirSync(directory, { recursive: true });
for (const [name, body] of modules) writeFileSync(`${directory}/${name.replaceAll(' ', '_')}.wat`, text(body));
