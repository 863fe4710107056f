/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_SMALLCAPS_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_SMALLCAPS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Smallcaps, the encoding of SwingSet's message bodies: JSON in which a string that begins
 * with a character from '!' to '-' has a special meaning, unless '!' is put before it.
 * https://github.com/endojs/endo/blob/master/packages/marshal/docs/smallcaps-cheatsheet.md
 */

/* Looks up the names in an input line. */
struct smallcaps_names {
    void *context;
    /*
     * The kernel's reference for {"@KIND":NAME}, where KIND is "vat", "device", "result" or "ref":
     * a new string. -1 with ERROR_INPUT when there is no such thing.
     */
    int (*find)(void *context, const char *kind, const char *name, char **reference,
                struct error *error);
    /* Roots and devices get the names of interfaces that SwingSet gives them in bootstrap(). */
    bool bootstraps;
};

/*
 * Encodes the arguments of an input line for a body, as a new reference. gaspipe-deliveries(5)
 * lists the objects that stand for what JSON lacks; references are appended to the array `slots`.
 * NULL with ERROR_INPUT, or ERROR_SYSTEM if out of memory.
 */
json_t *smallcaps_encode(const json_t *value, const struct smallcaps_names *names, json_t *slots,
                         struct error *error);

/*
 * The inverse: a body's value as an input line would have it, where references are {"@ref":SLOT}.
 * `slots` may be NULL. A new reference; NULL if out of memory.
 */
json_t *smallcaps_decode(const json_t *value, json_t *slots);

/*
 * Replaces `json` by the decoded value of `capdata`, {"body":"#SMALLCAPS","slots":[...]}; capdata
 * in another encoding is written as it is. -1 if out of memory.
 */
int smallcaps_write_value(struct buf *json, const json_t *capdata, struct error *error);

#endif
