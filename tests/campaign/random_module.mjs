// SPDX-License-Identifier: Apache-2.0
// Writes random modules of WebAssembly in text, SEED.wat, SEED+1.wat, .. into a directory.
// usage: node random_module.mjs SEED COUNT DIR
//
// They are valid, end soon (a global counts down with each call and each turn of a loop; at its end the
// module traps), and give the same everywhere: the bits of what is no number, which engines may choose, are
// nowhere looked at. Each exports functions f0, f1, .. without parameters, whose results are integers, and
// "state", a sum over the memory and the globals.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [seed, count, directory] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4]];
const NUMBERS = ['i32', 'i64', 'f32', 'f64'];
const INTEGERS = ['i32', 'i64'];

/** Numbers from a seed: xorshift of 32 bits. */
const makeRandom = start => {
  let state = (start * 2654435761 + 1) >>> 0 || 1;
  const below = limit => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % limit;
  };
  for (let i = 0; i < 8; i += 1) below(2);
  return {
    below,
    one: list => list[below(list.length)],
    chance: (part, whole) => below(whole) < part,
    list: (most, make) => Array.from({ length: below(most + 1) }, make),
  };
};

const UNARY = {
  i32: ['clz', 'ctz', 'popcnt', 'extend8_s', 'extend16_s'],
  i64: ['clz', 'ctz', 'popcnt', 'extend8_s', 'extend16_s', 'extend32_s'],
  f32: ['abs', 'neg', 'sqrt', 'ceil', 'floor', 'trunc', 'nearest'],
  f64: ['abs', 'neg', 'sqrt', 'ceil', 'floor', 'trunc', 'nearest'],
};
const INTEGER_BINARY = ['add', 'sub', 'mul', 'div_s', 'div_u', 'rem_s', 'rem_u', 'and', 'or', 'xor', 'shl',
  'shr_s', 'shr_u', 'rotl', 'rotr'];
const FLOAT_BINARY = ['add', 'sub', 'mul', 'div', 'min', 'max'];
const INTEGER_COMPARE = ['eq', 'ne', 'lt_s', 'lt_u', 'gt_s', 'gt_u', 'le_s', 'le_u', 'ge_s', 'ge_u'];
const FLOAT_COMPARE = ['eq', 'ne', 'lt', 'gt', 'le', 'ge'];
const LOADS = {
  i32: ['i32.load', 'i32.load8_s', 'i32.load8_u', 'i32.load16_s', 'i32.load16_u'],
  i64: ['i64.load', 'i64.load8_s', 'i64.load8_u', 'i64.load16_s', 'i64.load16_u', 'i64.load32_s',
    'i64.load32_u'],
  f32: ['f32.load'],
  f64: ['f64.load'],
};
const STORES = {
  i32: ['i32.store', 'i32.store8', 'i32.store16'],
  i64: ['i64.store', 'i64.store8', 'i64.store16', 'i64.store32'],
};
const CONVERSIONS = {
  i32: [['i32.wrap_i64', 'i64'], ['i32.trunc_f32_s', 'f32'], ['i32.trunc_f64_u', 'f64'],
    ['i32.trunc_f64_s', 'f64'], ['i32.trunc_f32_u', 'f32'], ['i32.trunc_sat_f32_s', 'f32'],
    ['i32.trunc_sat_f64_u', 'f64'], ['call $bits32', 'f32']],
  i64: [['i64.extend_i32_s', 'i32'], ['i64.extend_i32_u', 'i32'], ['i64.trunc_f32_u', 'f32'],
    ['i64.trunc_f64_s', 'f64'], ['i64.trunc_sat_f32_u', 'f32'], ['i64.trunc_sat_f64_s', 'f64'],
    ['call $bits64', 'f64']],
  f32: [['f32.convert_i32_s', 'i32'], ['f32.convert_i64_u', 'i64'], ['f32.convert_i32_u', 'i32'],
    ['f32.convert_i64_s', 'i64'], ['f32.demote_f64', 'f64'], ['f32.reinterpret_i32', 'i32']],
  f64: [['f64.convert_i32_s', 'i32'], ['f64.convert_i64_u', 'i64'], ['f64.convert_i32_u', 'i32'],
    ['f64.convert_i64_s', 'i64'], ['f64.promote_f32', 'f32'], ['f64.reinterpret_i64', 'i64']],
};
const CONSTANTS = {
  i32: ['0', '1', '-1', '2147483647', '-2147483648', '31', '65535', '65536', '255'],
  i64: ['0', '1', '-1', '9223372036854775807', '-9223372036854775808', '63', '4294967296'],
  f32: ['0', '-0', '1', '-1.5', 'inf', '-inf', 'nan', '0x1p-149', '0x1.fffffep127', '2147483648', '0.1'],
  f64: ['0', '-0', '1', '-1.5', 'inf', '-inf', 'nan', '0x1p-1074', '0x1.fffffffffffffp1023',
    '9223372036854775808', '0.1'],
};
// The bits of a float, of NaN always the same ones; a float with the sign of one that is a number.
const HELPERS = `
  (func $bits32 (param f32) (result i32) (select (i32.reinterpret_f32 (local.get 0)) (i32.const 0x7fc00000)
    (f32.eq (local.get 0) (local.get 0))))
  (func $bits64 (param f64) (result i64) (select (i64.reinterpret_f64 (local.get 0))
    (i64.const 0x7ff8000000000000) (f64.eq (local.get 0) (local.get 0))))
  (func $sign32 (param f32 f32) (result f32) (f32.copysign (local.get 0)
    (select (local.get 1) (f32.const 1) (f32.eq (local.get 1) (local.get 1)))))
  (func $sign64 (param f64 f64) (result f64) (f64.copysign (local.get 0)
    (select (local.get 1) (f64.const 1) (f64.eq (local.get 1) (local.get 1)))))
  (func $burn (if (i32.eqz (global.get $fuel)) (then unreachable))
    (global.set $fuel (i32.sub (global.get $fuel) (i32.const 1))))
  (func $state (export "state") (result i64) (local i32 i64)
    (loop
      (local.set 1 (i64.add (i64.mul (local.get 1) (i64.const 31)) (i64.load (local.get 0))))
      (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 8))) (i32.const 65536))))
    (i64.xor (local.get 1) (i64.add (global.get $g1) (i64.extend_i32_u (memory.size)))))`;

class Module {
  constructor(random) {
    this.random = random;
    this.types = Array.from({ length: 3 + random.below(4) }, () => ({
      parameters: random.list(3, () => random.one(NUMBERS)),
      results: random.list(2, () => random.one(NUMBERS)),
    }));
    this.functions = Array.from({ length: 3 + random.below(5) }, (_, i) =>
      i < 2 ? { parameters: [], results: random.list(2, () => random.one(INTEGERS)) } : random.one(this.types));
  }

  constant(type) {
    const { random } = this;
    const value = random.chance(1, 2) ? random.one(CONSTANTS[type]) : `${random.below(1000) - 200}`;
    return `(${type}.const ${value})`;
  }

  /** Mostly inside the memory. */
  place(scope, depth) {
    const at = this.value('i32', scope, depth - 1);
    return this.random.chance(15, 16) ? `(i32.and ${at} (i32.const 0xffff))` : at;
  }

  small(scope, depth, limit) {
    const value = this.value('i32', scope, depth - 1);
    return this.random.chance(15, 16) ? `(i32.rem_u ${value} (i32.const ${limit}))` : value;
  }

  call(index, scope, depth) {
    const { parameters } = this.functions[index];
    return `(call $f${index} ${parameters.map(type => this.value(type, scope, depth - 1)).join(' ')})`;
  }

  /** A function with this result alone. */
  callOf(type, scope, depth) {
    const fitting = this.functions.flatMap((f, i) => (f.results.join() === type ? [i] : []));
    return fitting.length > 0 ? this.call(this.random.one(fitting), scope, depth) : this.constant(type);
  }

  indirect(type, scope, depth) {
    const fitting = this.types.flatMap((f, i) => (f.results.join() === type ? [i] : []));
    if (fitting.length === 0) return this.constant(type);
    const index = this.random.one(fitting);
    const parameters = this.types[index].parameters.map(one => this.value(one, scope, depth - 1));
    return `(call_indirect $t (type $t${index}) ${parameters.join(' ')} ${this.small(scope, depth, 9)})`;
  }

  /** A block, loop or if with this result. */
  block(type, scope, depth) {
    const { random } = this;
    const inner = { ...scope, labels: [...scope.labels, type] };
    const body = `${this.statements(inner, depth - 1)} ${this.value(type, inner, depth - 1)}`;
    if (random.chance(1, 2)) return `(block (result ${type}) ${body})`;
    return `(if (result ${type}) ${this.value('i32', scope, depth - 1)} (then ${body}) (else ${
      this.value(type, inner, depth - 1)}))`;
  }

  integer(type, scope, depth) {
    const { random } = this;
    const other = random.one(NUMBERS);
    const compare = INTEGERS.includes(other) ? INTEGER_COMPARE : FLOAT_COMPARE;
    switch (random.below(type === 'i32' ? 7 : 3)) {
      case 0: return `(${type}.${random.one(INTEGER_BINARY)} ${this.value(type, scope, depth - 1)} ${
        this.value(type, scope, depth - 1)})`;
      case 1: return `(${type}.${random.one(UNARY[type])} ${this.value(type, scope, depth - 1)})`;
      case 2: return `(${random.one(LOADS[type])} offset=${random.below(16)} ${this.place(scope, depth)})`;
      case 3: return `(${other}.${random.one(compare)} ${this.value(other, scope, depth - 1)} ${
        this.value(other, scope, depth - 1)})`;
      case 4: return `(${random.one(INTEGERS)}.eqz ${''}`.startsWith('(i32')
        ? `(i32.eqz ${this.value('i32', scope, depth - 1)})` : `(i64.eqz ${this.value('i64', scope, depth - 1)})`;
      case 5: return random.one(['(memory.size)', `(memory.grow ${this.small(scope, depth, 2)})`,
        '(table.size $t)', '(table.size $x)', `(ref.is_null (table.get $t ${this.small(scope, depth, 8)}))`]);
      default: return random.one([`(table.grow $x (ref.null func) ${this.small(scope, depth, 3)})`,
        `(ref.is_null (table.get $x ${this.small(scope, depth, 3)}))`]);
    }
  }

  float(type, scope, depth) {
    const { random } = this;
    const left = this.value(type, scope, depth - 1);
    switch (random.below(4)) {
      case 0: return `(${type}.${random.one(FLOAT_BINARY)} ${left} ${this.value(type, scope, depth - 1)})`;
      case 1: return `(${type}.${random.one(UNARY[type])} ${left})`;
      case 2: return `(call $sign${type.slice(1)} ${left} ${this.value(type, scope, depth - 1)})`;
      default: return `(${random.one(LOADS[type])} offset=${random.below(16)} ${this.place(scope, depth)})`;
    }
  }

  value(type, scope, depth) {
    const { random } = this;
    const locals = scope.locals.flatMap((one, i) => (one === type ? [i] : []));
    if (depth <= 0 || random.chance(1, 5))
      return locals.length > 0 && random.chance(2, 3) ? `(local.get ${random.one(locals)})` : this.constant(type);
    switch (random.below(10)) {
      case 0: return this.callOf(type, scope, depth);
      case 1: return this.indirect(type, scope, depth);
      case 2: return this.block(type, scope, depth);
      case 3: return `(select ${this.value(type, scope, depth - 1)} ${this.value(type, scope, depth - 1)} ${
        this.value('i32', scope, depth - 1)})`;
      case 4: {
        const [name, from] = random.one(CONVERSIONS[type]);
        return `(${name} ${this.value(from, scope, depth - 1)})`;
      }
      case 5: return locals.length > 0
        ? `(local.tee ${random.one(locals)} ${this.value(type, scope, depth - 1)})` : this.constant(type);
      case 6: return `(global.get $g${NUMBERS.indexOf(type)})`;
      default: return INTEGERS.includes(type) ? this.integer(type, scope, depth) : this.float(type, scope, depth);
    }
  }

  /** A branch out, to a label whose type its operand has. */
  branch(scope, depth) {
    const { random } = this;
    const label = random.below(scope.labels.length);
    const type = scope.labels[scope.labels.length - 1 - label];
    const operand = type === '' ? '' : this.value(type, scope, depth - 1);
    const condition = this.value('i32', scope, depth - 1);
    if (random.chance(1, 2)) return `(br_if ${label} ${operand} ${condition})${type === '' ? '' : ' (drop)'}`;
    const same = scope.labels.flatMap((one, i) => (one === type ? [scope.labels.length - 1 - i] : []));
    const targets = Array.from({ length: 1 + random.below(4) }, () => random.one(same));
    return `(if ${condition} (then (br_table ${targets.map(one => one + 1).join(' ')} ${operand} ${
      this.value('i32', { ...scope, labels: [...scope.labels, ''] }, depth - 1)})))`;
  }

  loop(scope, depth) {
    const turn = scope.loops;
    const inner = { ...scope, labels: [...scope.labels, ''], loops: turn + 1 };
    return `(loop (call $burn) ${this.statements(inner, depth - 1)} (br_if 0 (i32.and ${
      this.value('i32', inner, depth - 1)} (i32.const 1))))`;
  }

  bulk(scope, depth) {
    const [to, from, length] = [this.place(scope, depth), this.place(scope, depth), this.small(scope, depth, 64)];
    const [at, source, few] = [this.small(scope, depth, 8), this.small(scope, depth, 8), this.small(scope, depth, 4)];
    return this.random.one([
      `(memory.fill ${to} ${from} ${length})`,
      `(memory.copy ${to} ${from} ${length})`,
      `(memory.init $d ${to} ${this.small(scope, depth, 8)} ${this.small(scope, depth, 8)})`,
      '(data.drop $d)',
      `(table.fill $t ${at} (ref.func $f0) ${few})`,
      `(table.copy $t $t ${at} ${source} ${few})`,
      `(table.init $t $e ${at} ${few} ${few})`,
      `(table.set $t ${at} (table.get $t ${source}))`,
      `(table.set $x ${few} (ref.func $f1))`,
      '(elem.drop $e)',
    ]);
  }

  statement(scope, depth) {
    const { random } = this;
    const type = random.one(NUMBERS);
    const locals = scope.locals.flatMap((one, i) => (one === type ? [i] : []));
    switch (random.below(9)) {
      case 0: return locals.length > 0
        ? `(local.set ${random.one(locals)} ${this.value(type, scope, depth)})` : '(nop)';
      case 1: return `(global.set $g${NUMBERS.indexOf(type)} ${this.value(type, scope, depth)})`;
      case 2: {
        const stored = random.one(INTEGERS);
        return `(${random.one(STORES[stored])} offset=${random.below(16)} ${this.place(scope, depth)} ${
          this.value(stored, scope, depth)})`;
      }
      case 3: return this.branch(scope, depth);
      case 4: return depth > 0 ? this.loop(scope, depth) : '(nop)';
      case 5: return this.bulk(scope, depth);
      case 6: {
        const index = random.below(this.functions.length);
        return `${this.call(index, scope, depth)} ${this.functions[index].results.map(() => '(drop)').join(' ')}`;
      }
      case 7: return `(if ${this.value('i32', scope, depth)} (then ${
        this.statements({ ...scope, labels: [...scope.labels, ''] }, depth - 1)}))`;
      default: return `(drop ${this.value(type, scope, depth)})`;
    }
  }

  statements(scope, depth) {
    return depth <= 0 ? '' : this.random.list(3, () => this.statement(scope, depth - 1)).join('\n    ');
  }

  function(index) {
    const { parameters, results } = this.functions[index];
    const locals = this.random.list(5, () => this.random.one(NUMBERS));
    const scope = { locals: [...parameters, ...locals], labels: [], loops: 0 };
    // A block around all of it, so that branches of no value have where to go.
    const body = this.statements({ ...scope, labels: [''] }, 5);
    const exported = index < 2 ? `(export "f${index}")` : '';
    const values = results.map(type => this.value(type, { ...scope, labels: [] }, 4)).join(' ');
    return `  (func $f${index} ${exported} ${parameters.map(type => `(param ${type})`).join(' ')} ${
      results.map(type => `(result ${type})`).join(' ')} ${locals.map(type => `(local ${type})`).join(' ')}
    (call $burn) (block ${body}) ${values})`;
  }

  text() {
    const { random } = this;
    const types = this.types.map(({ parameters, results }, i) => `  (type $t${i} (func ${
      parameters.map(type => `(param ${type})`).join(' ')} ${results.map(type => `(result ${type})`).join(' ')}))`);
    const names = Array.from({ length: 5 }, () => `$f${random.below(this.functions.length)}`).join(' ');
    return `(module
${types.join('\n')}
  (memory 1 3) (table $t 8 funcref) (table $x 2 6 funcref)
  (global $fuel (mut i32) (i32.const 200))
  ${NUMBERS.map((type, i) => `(global $g${i} (mut ${type}) ${this.constant(type)})`).join(' ')}
  (data (i32.const ${random.below(1000)}) "some bytes \\00\\ff\\80") (data $d "\\01\\02\\03\\04\\05\\06\\07\\08")
  (elem (table $t) (i32.const ${random.below(3)}) func ${names}) (elem $e func ${names})
  (elem declare func $f0 $f1)
${HELPERS}
${this.functions.map((_, i) => this.function(i)).join('\n')}
  (export "state_after" (func $state)))
`;
  }
}

for (let number = seed; number < seed + count; number += 1)
  writeFileSync(join(directory, `${number}.wat`), new Module(makeRandom(number)).text());
