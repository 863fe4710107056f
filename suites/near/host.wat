/* SPDX-License-Identifier: Apache-2.0 */
/* NEAR's host functions. */
#include "method.wat"

#define DATA (i64.const 4096)
#define KEY (i64.const 16) (i64.const 64)
#define WRITE(size) \
  (drop (call $storage_write KEY size DATA (i64.const 1)))
#define SIGNATURE (i64.add (i64.const 1024) (i64.shr_u (local.get $size) (i64.const 2)))
#define NOBODY (i64.const 11) (i64.const 256)
#define PROMISE \
  (call $promise_create NOBODY (i64.const 4) (i64.const 267) (i64.const 0) DATA (i64.const 512) (i64.const 1))

(module
  IMPORT(input, (param i64))
  IMPORT(read_register, (param i64 i64))
  IMPORT(write_register, (param i64 i64 i64))
  IMPORT(register_len, (param i64) (result i64))
  IMPORT(block_timestamp, (result i64))
  IMPORT(current_account_id, (param i64))
  IMPORT(sha256, (param i64 i64 i64))
  IMPORT(keccak256, (param i64 i64 i64))
  IMPORT(keccak512, (param i64 i64 i64))
  IMPORT(ripemd160, (param i64 i64 i64))
  IMPORT(ecrecover, (param i64 i64 i64 i64 i64 i64 i64) (result i64))
  IMPORT(ed25519_verify, (param i64 i64 i64 i64 i64 i64) (result i64))
  IMPORT(p256_verify, (param i64 i64 i64 i64 i64 i64) (result i64))
  IMPORT(log_utf8, (param i64 i64))
  IMPORT(value_return, (param i64 i64))
  IMPORT(storage_write, (param i64 i64 i64 i64 i64) (result i64))
  IMPORT(storage_read, (param i64 i64 i64) (result i64))
  IMPORT(storage_remove, (param i64 i64 i64) (result i64))
  IMPORT(storage_has_key, (param i64 i64) (result i64))
  IMPORT(promise_create, (param i64 i64 i64 i64 i64 i64 i64 i64) (result i64))
  IMPORT(promise_then, (param i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64))
  IMPORT(promise_and, (param i64 i64) (result i64))
  IMPORT(promise_batch_create, (param i64 i64) (result i64))
  IMPORT(promise_batch_action_transfer, (param i64 i64))
  (memory 1024 2048)

  (data (i32.const 64) "a key of sixteen")
  (data (i32.const 256) "nobody.nearcall")
  /* Two promises, for promise_and. */
  (data (i32.const 288) "\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00")
  /* A key of ed25519, and its signatures of 256, 1024 and 4096 zeros, at 1024 + length / 4. */
  (data (i32.const 320) "\c5\28\b7\d6\18\7f\6f\a3\b1\15\c7\0d\70\08\e3\85\9d\b9\f0\f6\f6\18\c1\16\50\e5\16\5d\34\2f\85\b5")
  (data (i32.const 1088) "\ef\c7\0a\b8\64\d3\c4\b8\67\2f\36\f0\5f\93\1c\5c\ef\85\55\89\b0\d9\3d\e8\10\4d\72\b8\64\88\6f\e9\1c\8b\3f\15\cf\d5\a8\5a\bc\c0\e2\4a\2c\a9\48\50\5d\76\c0\62\25\83\45\3a\5c\b2\af\fa\14\28\22\08")
  (data (i32.const 1280) "\ed\d6\b4\f7\1c\60\6e\fb\b3\a5\6e\31\c6\ac\ad\88\de\bd\86\51\80\5d\dc\c8\16\6a\6f\ec\74\c5\51\07\01\1c\92\35\68\15\b7\3c\65\34\fd\63\ba\c7\6b\84\75\c4\22\03\3a\12\47\4a\5e\75\85\d7\30\4c\5b\07")
  (data (i32.const 2048) "\96\6b\80\8a\83\d3\19\14\b2\93\3b\a8\94\53\9b\da\f0\76\e4\f0\5c\17\09\f3\33\d1\93\a7\f0\91\b2\69\c3\ad\5e\f1\46\df\9b\50\be\5e\0a\86\47\ac\fe\8d\00\3a\86\40\63\07\65\d4\fe\11\8e\71\55\60\4c\06")
  /* A recoverable signature: r is the x of secp256k1's generator, s is 1. Its first byte is also
     a hash. */
  (data (i32.const 416) "\79\be\66\7e\f9\dc\bb\ac\55\a0\62\95\ce\87\0b\07\02\9b\fc\db\2d\ce\28\d9\59\f2\81\5b\16\f8\17\98\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01")
  /* The generator of P-256, compressed: a key. */
  (data (i32.const 480) "\03\6b\17\d1\f2\e1\2c\42\47\f8\bc\e6\e5\63\a4\40\f2\77\03\7d\81\2d\eb\33\a0\f4\a1\39\45\d8\98\c2\96")

  METHOD("loop", )
  METHOD("nothing", )
  METHOD("block_timestamp", (drop (call $block_timestamp)))
  METHOD("current_account_id", (call $current_account_id (i64.const 1)))
  METHOD("write_register", (call $write_register (i64.const 1) (local.get $size) DATA))
  METHOD_AFTER("register_there", (call $write_register (i64.const 1) (local.get $size) DATA), )
  METHOD_AFTER("read_register", (call $write_register (i64.const 1) (local.get $size) DATA),
    (call $read_register (i64.const 1) DATA))
  METHOD("sha256", (call $sha256 (local.get $size) DATA (i64.const 1)))
  METHOD("keccak256", (call $keccak256 (local.get $size) DATA (i64.const 1)))
  METHOD("keccak512", (call $keccak512 (local.get $size) DATA (i64.const 1)))
  METHOD("ripemd160", (call $ripemd160 (local.get $size) DATA (i64.const 1)))
  METHOD("ed25519_verify", (drop (call $ed25519_verify (i64.const 64) SIGNATURE
    (local.get $size) DATA (i64.const 32) (i64.const 320))))
  METHOD("ed25519_refuse", (drop (call $ed25519_verify (i64.const 64) (i64.const 1088)
    (i64.const 16) DATA (i64.const 32) (i64.const 320))))
  METHOD("ecrecover", (drop (call $ecrecover (i64.const 32) (i64.const 416) (i64.const 64) (i64.const 416)
    (i64.const 0) (i64.const 1) (i64.const 1))))
  METHOD("p256_verify", (drop (call $p256_verify (i64.const 64) (i64.const 416)
    (local.get $size) DATA (i64.const 33) (i64.const 480))))
  METHOD("log_utf8", (call $log_utf8 (local.get $size) DATA))
  METHOD_AFTER("value_there", (call $value_return (local.get $size) DATA), )
  METHOD("value_return", (call $value_return (local.get $size) DATA))
  METHOD("storage_write", WRITE((local.get $size)))
  /* Other keys than those that storage_has_key and storage_remove do not find. */
  METHOD("storage_write_key", (drop (call $storage_write (local.get $size) (i64.const 60) KEY (i64.const 1))))
  METHOD_AFTER("storage_there", WRITE((local.get $size)), )
  METHOD_AFTER("storage_read", WRITE((local.get $size)),
    (drop (call $storage_read KEY (i64.const 1))))
  METHOD("storage_has_key", (drop (call $storage_has_key (local.get $size) DATA)))
  METHOD("storage_remove", (drop (call $storage_remove (local.get $size) DATA (i64.const 1))))
  METHOD("promise_create", (drop PROMISE))
  METHOD("promise_then", (drop (call $promise_then PROMISE NOBODY (i64.const 4) (i64.const 267)
    (i64.const 0) DATA (i64.const 512) (i64.const 1))))
  METHOD_AFTER("two_promises", (drop PROMISE) (drop PROMISE), )
  METHOD_AFTER("promise_and", (drop PROMISE) (drop PROMISE),
    (drop (call $promise_and (i64.const 288) (i64.const 2))))
  METHOD("promise_batch_transfer", (call $promise_batch_action_transfer
    (call $promise_batch_create NOBODY) (i64.const 512)))
)
