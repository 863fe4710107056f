/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_OPTIONS_H
#define GASPIPE_SUPERVISOR_PING_PING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/option/option.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"
#include "supervisor/process/placement.h"

enum { PING_LOAD_MAX = 1024 };

enum { PING_SIZES_MAX = 16 };

/* The command line of `gaspipe ping`. Strings are borrowed from argv. */
struct ping_options {
    uint64_t sizes[PING_SIZES_MAX]; /* bytes of each message */
    size_t size_count;
    uint64_t count; /* round trips of each size; 0: by size */
    enum placement_kind placement;
    bool placement_given;
    uint64_t load; /* processes that compute meanwhile */
    struct counters counters;
    uint64_t cost_limit; /* units of block cost for each delivery; 0: none */
    const char *worker;  /* path of another worker; NULL: gaspipe-worker */
    enum confinement_level sandbox;
    bool json;
};

extern const struct option_table ping_options_table;

/* argv[0] is "ping". */
enum option_result ping_options_parse(struct ping_options *options, int argc, char **argv,
                                      struct error *error);

/* How many round trips a message of that size makes. */
size_t ping_options_count(const struct ping_options *options, size_t size);

#endif
