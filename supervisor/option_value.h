/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_OPTION_VALUE_H
#define GASPIPE_SUPERVISOR_OPTION_VALUE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"
#include "supervisor/process/placement.h"

/*
 * The values of options that several commands have, and how getopt's complaints
 * are put. Each returns 0, or -1 with ERROR_USAGE that names the option.
 */

/* --sandbox strict|basic|off. */
int option_take_sandbox(const char *word, enum confinement_level *level, struct error *error);

/* --counter qemu|compiled|qemu,compiled|none. */
int option_take_counter(const char *words, struct counters *counters, struct error *error);

/* --compute-limit N: computrons for each delivery; 0: no limit. */
int option_take_compute(const char *text, uint32_t *limit, struct error *error);

/* Long for any honest delivery, short for a night's run that hangs. */
enum { OPTION_TIMEOUT_MS_DEFAULT = 600000 };

/* --delivery-timeout SECS, a fraction is allowed; 0: none. */
int option_take_timeout(const char *text, uint64_t *timeout_ms, struct error *error);

/* --placement auto|none|same|spread. */
int option_take_placement(const char *word, enum placement_kind *kind, struct error *error);

/* Gives each long option to take(), until one is wrong. What is left begins at optind. */
int option_take_all(int argc, char **argv, const struct option *known,
                    int (*take)(void *options, int option, struct error *error), void *options,
                    struct error *error);

#endif
