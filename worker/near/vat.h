/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_VAT_H
#define GASPIPE_WORKER_NEAR_VAT_H

#include <jansson.h>

#include "worker/engine.h"
#include "worker/near/call/call.h"

/* The engine's connection to the kernel. After it is lost (`is_lost`), all calls do nothing. */
struct near_vat {
    struct engine_host host;
    struct buf request; /* the current request */
    bool is_lost;
};

/* The contract's storage in the vatstore: keys are "s." and the key in hexadecimal. */
struct near_storage near_vat_storage(struct near_vat *vat);

/* ---- other vatstore records: their keys are text without escapes ---- */

/* Returns JSON, the caller's; NULL if absent. */
json_t *near_vat_get(struct near_vat *vat, const char *key);
void near_vat_set(struct near_vat *vat, const char *key, const json_t *value);
void near_vat_delete(struct near_vat *vat, const char *key);

/* ---- messages ---- */

/* A line on the vat's console. */
void near_vat_log(struct near_vat *vat, const char *text, size_t length);

/* Makes a vat of a module, in base64, for an account that has none. */
void near_vat_deploy(struct near_vat *vat, const char *accounts, const char *account,
                     const char *module, const char *protocol);

/* Ends the vat as a failure after the delivery, which then has no other effect. */
void near_vat_exit(struct near_vat *vat, const char *reason);

/* Finds the root object of the vat with that account, through the device `accounts`; false if
 * there is no such vat. */
bool near_vat_find(struct near_vat *vat, const char *accounts, const char *account,
                   char target[32]);

/* Sends [METHOD, ARGUMENTS]; `result` is a new promise to subscribe to, or NULL. */
void near_vat_send(struct near_vat *vat, const char *target, json_t *methargs, const char *result);

/* Resolves a promise with a value, or rejects it with capdata. */
void near_vat_resolve(struct near_vat *vat, const char *promise, json_t *value);
void near_vat_reject(struct near_vat *vat, const char *promise, const json_t *capdata);

#endif
