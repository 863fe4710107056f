/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_SUITE_H
#define GASPIPE_SUPERVISOR_ESTIMATE_SUITE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "gas/gas_model.h"

/*
 * A suite of operations whose costs are to be estimated: a directory with suite.json and the
 * contracts that it names. docs/estimate.md describes the file.
 */

enum {
    SUITE_NUMBERS_MAX = 16, /* counts, sizes or contracts of an operation */
    SUITE_OPERATIONS_MAX = 1000,
    SUITE_NUMBER_MAX = 1 << 24,
    SUITE_CALLS_MAX = 100,
};

struct suite_contract {
    const char *name;    /* of its vat; borrowed from the suite */
    char path[PATH_MAX]; /* of its file */
    uint64_t length;     /* of its file, in bytes */
    bool takes_bytes;    /* not JavaScript: a call's input is eight bytes, not two numbers */
};

struct suite_numbers {
    uint64_t values[SUITE_NUMBERS_MAX];
    size_t count;
};

/* A method that does something `count` times, each time with `size` units. Text is borrowed. */
struct suite_operation {
    const char *name;
    size_t contract;             /* index of the contract; unused where there are loads */
    const char *method, *base;   /* base: the method that does the same without it, or NULL */
    uint64_t repeat;             /* how often a single repetition of the method does it */
    struct suite_numbers counts; /* repetitions */
    struct suite_numbers sizes;  /* in units; none: it has no size */
    const char *unit;            /* of size: "byte" where the suite names no other */
    /* Not an operation in a method, but the start of these contracts: indexes. The charge for it
     * is in each call of the method. */
    struct suite_numbers loads;
};

struct suite {
    json_t *json; /* owned; what text is borrowed from */
    const char *name;
    uint64_t calls; /* measured at each point, after a first one */
    bool has_charge;
    struct gas_model charge; /* today's price, if the engine does not report it */
    struct suite_contract *contracts;
    size_t contract_count;
    struct suite_operation *operations;
    size_t operation_count;
};

/*
 * Reads the suite in the directory. If a name without a slash is not a directory here, it is a
 * suite that was built or installed with gaspipe. 0, or -1 with ERROR_INPUT (the file and
 * operation) or ERROR_SYSTEM. To be freed in any case.
 */
int suite_read(struct suite *suite, const char *directory, struct error *error);

void suite_free(struct suite *suite);

/* Keeps only operations whose names match the pattern of fnmatch(3). How many are left. */
size_t suite_select(struct suite *suite, const char *pattern);

#endif
