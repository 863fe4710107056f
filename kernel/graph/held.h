/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_HELD_H
#define GASPIPE_KERNEL_GRAPH_HELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"

/*
 * Vats in quarantine: nothing is delivered to them, and their work is held, in its order, until
 * somebody decides. `kernel.quarantined` lists them; vN.quarantine says why; vN.held is [head,tail]
 * of the items vN.held.NUMBER. A kernel without any has none of these records.
 */

int held_is(struct kernel *kernel, int64_t vat, bool *is, struct error *error);

/* Why, in words; *is as above. */
int held_reason(struct kernel *kernel, int64_t vat, bool *is, struct buf *reason,
                struct error *error);

/* From now on its work is held. One that is held already gets the new reason. */
int held_begin(struct kernel *kernel, int64_t vat, const char *reason, struct error *error);

/* The vat in quarantine that the item is for; 0: it is for none. */
int held_vat_of(struct kernel *kernel, const json_t *item, int64_t *vat, struct error *error);

int held_add(struct kernel *kernel, int64_t vat, const json_t *item, struct error *error);

/* The first item, the caller's; NULL with 0: there is none. Taking removes it. */
int held_look(struct kernel *kernel, int64_t vat, json_t **item, struct error *error);
int held_take(struct kernel *kernel, int64_t vat, json_t **item, struct error *error);

/* Ends the quarantine, if there is one: what was held is the next that the run queue has. */
int held_release(struct kernel *kernel, int64_t vat, struct error *error);

#endif
