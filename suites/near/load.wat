/* SPDX-License-Identifier: Apache-2.0 */
/* A module of FUNCTIONS (X4 and X16 of ONE), which are never called: what loading takes. */
#include "method.wat"

#define ONE                                                              \
  (func (param i64) (result i64) (local i64)                             \
    (local.set 1 (i64.mul (local.get 0) (i64.const 1000003)))            \
    (if (i64.lt_u (local.get 1) (i64.const 65536))                       \
      (then (local.set 1 (i64.load offset=4096 (i32.wrap_i64 (local.get 1)))))) \
    (i64.xor (local.get 0) (local.get 1)))

(module
  (memory 1024 2048)
  (func (export "nothing"))
  FUNCTIONS
)
