/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_LIFECYCLE_TERMINATE_H
#define GASPIPE_KERNEL_LIFECYCLE_TERMINATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* The end of vats. */

/*
 * Ends a vat: it is in no list of vats that live, promises that it decided are
 * rejected, the vatAdmin vat is told, its worker is among those to stop. One that
 * does not live (its making was undone) is only told of. What it had is cleaned
 * up in cranks of their own. `info` is capdata with krefs, borrowed.
 */
int terminate_vat(struct kernel *kernel, int64_t vat, bool reject, const json_t *info,
                  struct error *error);

/*
 * Cleans up after the first vat that ended, all of it: exports become orphans,
 * imports and promises are let go, records and rows are deleted.
 */
int terminate_clean_up(struct kernel *kernel, int64_t vat, struct error *error);

/* Adds to the vats whose workers must stop. */
int terminate_stop_worker(struct kernel *kernel, int64_t vat, struct error *error);

/* Tells the vatAdmin vat, if there is one. Takes the arguments, smallcaps, and their krefs over. */
int terminate_tell_vat_admin(struct kernel *kernel, const char *method, json_t *arguments,
                             json_t *slots, struct error *error);

#endif
