/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_ESTIMATE_OPTIONS_H
#define GASPIPE_SUPERVISOR_ESTIMATE_ESTIMATE_OPTIONS_H

#include <stdbool.h>

#include "base/option/option.h"
#include "gas/gas_model.h"
#include "supervisor/process/launcher.h"

/* The command line of `gaspipe estimate`. Strings are borrowed from argv. */
struct estimate_options {
    const char *directory; /* of the suite */
    const char *only;      /* a pattern of operations; NULL: all */
    struct counters counters;
    int sandbox;            /* enum confinement_level */
    uint64_t near_protocol; /* 0: gaspipe run's default */
    const char *gas;        /* a gas model's file; NULL: NEAR's price of an instruction */
    const char *charge;     /* a gas model's file; NULL: what the engine or the suite says */
    const char *from;       /* a file of counts in place of a run, or NULL */
    const char *counts;     /* a file for the counts, or NULL */
    bool deliveries;        /* print the deliveries instead of running them */
    bool json;
    const char *save, *compare, *history, *html; /* files, or NULL */
    const char *label;                           /* of this version, in the history */
    double allow;                                /* percent that a cost may move */
};

extern const struct option_table estimate_options_table;

/* argv[0] is "estimate". Nothing is to be freed. */
enum option_result estimate_options_parse(struct estimate_options *options, int argc, char **argv,
                                          struct error *error);

#endif
