/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the modules of this suite share; `cpp -P` puts it in. A method is told eight bytes, two
 * 32-bit numbers, little-endian: how often to do what it does, and to how many bytes.
 *
 * Memory: from 0 those eight bytes, from 64 a key, from 256 constants, from 4096 what is worked on.
 */
#define X4(what) what what what what
#define X16(what) X4(X4(what))

/* Does `body` as often as it is told, after `ready` was done once. */
#define METHOD_AFTER(name, ready, body)                                  \
  (func (export name)                                                    \
    (local $i i32) (local $a i32) (local $b i64) (local $f f64)          \
    (local $s i32) (local $size i64) (local $p i64)                      \
    (call $input (i64.const 0))                                          \
    (call $read_register (i64.const 0) (i64.const 0))                    \
    (local.set $i (i32.load (i32.const 0)))                              \
    (local.set $s (i32.load (i32.const 4)))                              \
    (local.set $size (i64.extend_i32_u (local.get $s)))                  \
    ready                                                                \
    (loop $again                                                         \
      body                                                               \
      (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1))))))
#define METHOD(name, body) METHOD_AFTER(name, , body)

#define IMPORT(name, types) (import "env" #name (func $ ## name types))
#define WORD i64.const
