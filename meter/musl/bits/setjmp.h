/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_MUSL_BITS_SETJMP_H
#define GASPIPE_METER_MUSL_BITS_SETJMP_H

/* aarch64 needs this size; with one size, copies cost the same on each machine. */
typedef unsigned long __jmp_buf[22];

#endif
