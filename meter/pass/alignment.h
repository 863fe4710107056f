/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_ALIGNMENT_H
#define GASPIPE_METER_PASS_ALIGNMENT_H

#include "meter/pass/ir/ir.h"

/*
 * Aligns variables that are arrays or structures, and texts, to 8 bytes on every machine, from 16
 * bytes on to 16, as the x86-64 ABI wants arrays: code that first goes to the next whole word, such
 * as zlib's CRC, or reads whole words where it can, such as jansson's hash, then takes the same
 * number of steps wherever a linker puts them. Variables in sections of their own stay where they
 * are.
 */
void alignment_raise(const struct ir *ir);

#endif
