/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPILED_COUNT_COMPILED_H
#define GASPIPE_SUPERVISOR_COUNT_COMPILED_COUNT_COMPILED_H

#include "base/error.h"
#include "gas/gas_model.h"
#include "supervisor/count/count_options.h"

/*
 * `gaspipe count --counter compiled`: runs the program as often as it is asked for and writes what
 * was counted. `gas` is NULL without a model. 0, or -1 with the error; ERROR_DELIVERY: a run
 * failed, or the runs differ.
 */
int count_compiled(const struct count_options *options, const struct gas_model *gas,
                   struct error *error);

#endif
