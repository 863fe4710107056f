/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_TRANSLATE_H
#define GASPIPE_KERNEL_TRANSLATE_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/records/reference.h"

/*
 * Deliveries as the kernel sees them (kd) into the vat's references (vd). What the
 * vat has not seen is imported on the way. Results are the caller's.
 */

/* ["message",target,{"methargs":capdata,"result":kpid}]; the vat becomes decider of the result. */
int translate_message(struct kernel *kernel, int64_t vat, const char *target, const json_t *message,
                      json_t **vd, struct error *error);

/* Settled promises: both ["notify",[[promise,...],...]], and the c-list loses them. */
int translate_notify(struct kernel *kernel, int64_t vat, const struct reference_set *kpids,
                     json_t **kd, json_t **vd, struct error *error);

/* ["startVat",capdata] */
int translate_start(struct kernel *kernel, int64_t vat, const json_t *parameters, json_t **vd,
                    struct error *error);

/* dropExports: the kernel reaches them no longer. retireExports, retireImports: out of the c-list.
 */
int translate_garbage(struct kernel *kernel, int64_t vat, const char *type, const json_t *krefs,
                      json_t **vd, struct error *error);

/* Capdata with krefs into capdata with vrefs. */
int translate_capdata(struct kernel *kernel, int64_t vat, const json_t *capdata,
                      json_t **translated, struct error *error);

#endif
