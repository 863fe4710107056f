/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_BANKS_H
#define GASPIPE_METER_PASS_BANKS_H

#include "meter/pass/support.h"

/*
 * Gives each function the bank that its flushes add to. With one word for all, each flush
 * would wait for the store of the one before: that chain was most of what metering cost. To
 * be called after optimisation, since LLVM merges the flushes of inlined functions only
 * while they name the same word.
 */
void banks_spread(const struct ir *ir);

#endif
