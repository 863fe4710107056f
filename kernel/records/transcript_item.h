/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_TRANSCRIPT_ITEM_H
#define GASPIPE_KERNEL_RECORDS_TRANSCRIPT_ITEM_H

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * A delivery in its vat's transcript, as SwingSet's: {"d":vd,"sc":[{"s":vsc,"r":vsr},
 * ...],"r":{"status":"ok" or "error","problem":...,"metering":{"computrons":N}}};
 * and in "r", of ours, "instructions" and "fingerprint" of what counted them.
 */

/* A delivery begins. */
void transcript_item_begin(struct kernel *kernel);

/* A syscall of the delivery under way; both are JSON. */
void transcript_item_add_syscall(struct kernel *kernel, const char *vsc, const char *vsr);

/* Puts the delivery under way into the store, at the place that its view says. */
int transcript_item_keep(struct kernel *kernel, const struct kernel_outcome *outcome,
                         struct error *error);

#endif
