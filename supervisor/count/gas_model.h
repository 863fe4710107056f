/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_GAS_MODEL_H
#define GASPIPE_SUPERVISOR_COUNT_GAS_MODEL_H

#include <stdint.h>

#include "base/error.h"

/*
 * What is paid for what was counted: gas for each, zero or more, not
 * necessarily whole. All zeros: nothing costs anything.
 */
struct gas_model {
    double instruction;
    double byte_read;
    double byte_written;
    double syscall;
    double block_cost; /* for a unit of the compiled-in meter */
};

/*
 * Reads a JSON object with the members instruction, byteRead, byteWritten,
 * syscall and blockCost, each a number of zero or more, 0 where it is missing; name and
 * source may be there for people. 0, or -1 with ERROR_INPUT and file and line.
 */
int gas_model_read(struct gas_model *model, const char *path, struct error *error);

/* The gas, rounded to the next whole unit above. */
double gas_model_price(const struct gas_model *model, uint64_t instructions, uint64_t bytes_read,
                       uint64_t bytes_written, uint64_t syscalls);

/* The same for units of block cost. */
double gas_model_price_cost(const struct gas_model *model, uint64_t units);

#endif
