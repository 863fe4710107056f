/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_GAS_GAS_MODEL_H
#define GASPIPE_GAS_GAS_MODEL_H

#include <stdint.h>

#include "base/error.h"

/*
 * Prices in gas for each counted thing: zero or more, not necessarily whole. All zeros: nothing
 * costs anything.
 */
struct gas_model {
    double instruction;
    double byte_read;
    double byte_written;
    double syscall;    /* of a counted program; of a vat where deliveries are priced */
    double block_cost; /* for a unit of the compiled-in meter */
    double computron;  /* of the engine; programs have none */
};

/*
 * Reads a JSON object with the members instruction, byteRead, byteWritten, syscall, blockCost
 * and computron, each a number of zero or more, 0 where it is missing; name and
 * source may be there for people. 0, or -1 with ERROR_INPUT and file and line.
 */
int gas_model_read(struct gas_model *model, const char *path, struct error *error);

/* The gas, rounded to the next whole unit above. */
double gas_model_price(const struct gas_model *model, uint64_t instructions, uint64_t bytes_read,
                       uint64_t bytes_written, uint64_t syscalls);

/* The same for units of block cost. */
double gas_model_price_cost(const struct gas_model *model, uint64_t units);

/* The amounts that a delivery used; NAN where unknown. */
struct gas_usage {
    double computrons, instructions, bytes_read, bytes_written, syscalls, block_cost;
};

/*
 * A delivery's gas, rounded to the next whole unit above. NAN where something that costs gas is
 * not known: part of a price is not a price.
 */
double gas_model_price_delivery(const struct gas_model *model, const struct gas_usage *usage);

/* The same, not rounded: for amounts that are no delivery's, but parts of one. */
double gas_model_weigh(const struct gas_model *model, const struct gas_usage *usage);

#endif
