/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_VAT_H
#define GASPIPE_WORKER_NEAR_VAT_H

#include <jansson.h>

#include "worker/engine.h"
#include "worker/near/call/call.h"

/*
 * The kernel, as the engine asks it. Once it cannot be asked any more (`is_lost`), all that follows
 * does nothing.
 */
struct near_vat {
    struct engine_host host;
    struct buf request; /* the request at hand */
    bool is_lost;
};

/* The contract's storage, in the vat's store: its records are under "s." and the key in
 * hexadecimal. */
struct near_storage near_vat_storage(struct near_vat *vat);

/* ---- other records of the vat's store: their keys are text without escapes ---- */

/* JSON, the caller's; NULL: there is none. */
json_t *near_vat_get(struct near_vat *vat, const char *key);
void near_vat_set(struct near_vat *vat, const char *key, const json_t *value);
void near_vat_delete(struct near_vat *vat, const char *key);

/* ---- messages ---- */

/* A line on the vat's console. */
void near_vat_log(struct near_vat *vat, const char *text, size_t length);

/* The root object of the vat that has that account, as the device `accounts` knows it; false:
 * there is none. */
bool near_vat_find(struct near_vat *vat, const char *accounts, const char *account,
                   char target[32]);

/* Sends [METHOD, ARGUMENTS]; `result` is a new promise, which is subscribed to, or NULL. */
void near_vat_send(struct near_vat *vat, const char *target, json_t *methargs, const char *result);

/* Resolves a promise with a value, or rejects it with capdata as it came. */
void near_vat_resolve(struct near_vat *vat, const char *promise, json_t *value);
void near_vat_reject(struct near_vat *vat, const char *promise, const json_t *capdata);

#endif
