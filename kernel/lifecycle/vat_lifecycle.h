/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_LIFECYCLE_VAT_LIFECYCLE_H
#define GASPIPE_KERNEL_LIFECYCLE_VAT_LIFECYCLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* Writes the records of a static vat, and queues its startVat. Its name must be new. */
int static_vat_create(struct kernel *kernel, const struct kernel_vat_setup *setup, int64_t *vat,
                      struct error *error);

/* Vats that other vats create, upgrade and change. The vatAdmin device queues this work. */

/* Writes the records of the vat that a "create-vat" item asks for. */
int dynamic_vat_create(struct kernel *kernel, const json_t *item, int64_t *vat,
                       struct error *error);

/* Prepares the next incarnation for an "upgrade-vat" item, after the old one's last delivery:
 * deletes what is not durable. */
int dynamic_vat_begin_incarnation(struct kernel *kernel, int64_t vat, const json_t *item,
                                  struct error *error);

/* Notify the vatAdmin vat about the result of an upgrade, or about a new vat. */
int notify_upgraded(struct kernel *kernel, int64_t vat, const json_t *item, bool well,
                    struct error *error);
int notify_created(struct kernel *kernel, int64_t vat, struct error *error);

/* Sets the kernel's options; *others gets those for the vat, the caller's. */
int dynamic_vat_change_options(struct kernel *kernel, int64_t vat, const json_t *options,
                               json_t **others, struct error *error);

/* Termination. */

/*
 * Terminates a vat: takes it off the lists of living vats, rejects the promises that it
 * decides, notifies the vatAdmin vat, and stops its worker. If the vat's creation was
 * undone, only the notification remains. Later cranks clean up its records. `info` is
 * capdata with krefs, borrowed.
 */
int terminate_vat(struct kernel *kernel, int64_t vat, bool reject, const json_t *info,
                  struct error *error);

/* Cleans up completely after the vat that ended first: orphans its exports, releases its imports
 * and promises, deletes its records and rows. */
int terminate_clean_up(struct kernel *kernel, int64_t vat, struct error *error);

/*
 * Before a vat is terminated: deletes records of it that are damaged, and writes those without
 * which it could not be terminated. Of its references one record says what the other was. The vat
 * cannot be run afterwards. Does nothing if no record is damaged.
 */
int damaged_vat_mend(struct kernel *kernel, int64_t vat, struct error *error);

/* Adds the vat to those whose workers must stop. */
int terminate_stop_worker(struct kernel *kernel, int64_t vat, struct error *error);

/* Sends a message to the vatAdmin vat, if there is one. Takes over the arguments (smallcaps) and
 * their krefs. */
int notify_vat_admin(struct kernel *kernel, const char *method, json_t *arguments, json_t *slots,
                     struct error *error);

#endif
