/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_ALIGNMENT_H
#define GASPIPE_METER_PASS_ALIGNMENT_H

#include "meter/pass/ir/ir.h"

/*
 * Aligns variables that are arrays of 16 bytes and more to 16 on every machine, as the x86-64 ABI
 * wants it: code that first goes to the next whole word, such as zlib's CRC, then takes the same
 * number of steps everywhere. Variables in sections of their own stay where they are.
 */
void alignment_raise(const struct ir *ir);

#endif
