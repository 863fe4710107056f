/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_VATS_H
#define GASPIPE_SUPERVISOR_RUN_RUN_VATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/run/run_options.h"

/*
 * The vats of the command line. Functions return -1 with the error; those that change the
 * store do so within a transaction.
 */

/* ERROR_USAGE if there is no store yet, and no vat for a new one. Before the store is opened. */
int run_vats_check_store(const struct run_options *options, struct error *error);

/*
 * Puts the contracts and bundles into the store and provides them to the kernel, and queues
 * upgrades. Cuts NAME=FILE in the options in two. ERROR_USAGE for a vat of --vat that a store with
 * other vats does not have. *any_wasm: one of the contracts is in WebAssembly.
 */
int run_vats_add(const struct run_options *options, struct store *store, struct kernel *kernel,
                 bool *any_wasm, struct error *error);

/* After run_vats_add(): whether the startVat of one of them, new or upgraded, is still to come. */
int run_vats_any_new(const struct run_options *options, struct kernel *kernel, bool *any,
                     struct error *error);

/* The file of a vat, after run_vats_add(); NULL: the command line names no such vat. */
const char *run_vats_path(const struct run_options *options, const char *name);

/* Keeps why a vat was terminated, for later deliveries to it. */
int run_vats_note_ended(struct store *store, const char *name, const char *reason,
                        struct error *error);

/* Appends why a vat was terminated; *found: it was. */
int run_vats_why_ended(struct store *store, const char *name, struct buf *reason, bool *found,
                       struct error *error);

/* ---- the operator's decisions ---- */

/* Queues the operator's decisions, in the order of the struct, as the kernel's next cranks. -1 with
 * ERROR_INPUT if one cannot be. Within a transaction. */
int run_vats_queue_operations(const struct operations *operations, struct store *store,
                              struct kernel *kernel, struct error *error);

/* Puts a vat with a damaged record into quarantine, unless a decision about it is queued, and logs
 * that. */
int run_vats_quarantine(struct kernel *kernel, int64_t id, const char *name, const char *damage,
                        struct error *error);

/* Logs each vat in quarantine, with the options that resolve it, and counts them. */
int run_vats_log_quarantined(struct kernel *kernel, int64_t *count, struct error *error);

/*
 * Raises the soft limit of open files: vats can create vats, and each worker needs some.
 * ERROR_SYSTEM if it does not suffice for the workers of the living vats.
 */
int run_vats_raise_files(const struct run_options *options, struct kernel *kernel,
                         struct error *error);

#endif
