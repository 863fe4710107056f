/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_DELIVERY_LINE_H
#define GASPIPE_SUPERVISOR_DELIVERY_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/schedule/log/smallcaps.h"

/*
 * One line of a deliveries file, checked. A message to a vat's root object is short,
 *     {"vat":"bank","method":"transfer","args":["alice","bob",10]}
 * (args may be left out), or in full,
 *     {"vat":"bank","deliver":["message","o+0",{"methargs":CAPDATA,"result":null}]}
 * where the target may also be one of the kernel's references ("ko25"), of which
 * CAPDATA's slots are made, too. A short one can give its result a name,
 *     {"vat":"mint","method":"makeMint","id":"mint"}
 * and later ones can go to it, or hold it and other references in their args:
 *     {"to":{"@result":"mint"},"method":"pay","args":[{"@vat":"bank"},{"@device":"clock"}]}
 * Lines without a message set the clock device, in its own units; have the echo device
 * tell its listener; send bringOutYourDead to all vats of bundles:
 *     {"clock":1000}
 *     {"trigger":"words"}
 *     {"reap":true}
 */
enum delivery_line_kind {
    DELIVERY_LINE_SHORT,   /* `call` has the method and its arguments */
    DELIVERY_LINE_FULL,    /* `methargs` has the capdata */
    DELIVERY_LINE_CLOCK,   /* `clock` has the time */
    DELIVERY_LINE_TRIGGER, /* `trigger` has the words */
    DELIVERY_LINE_REAP,
};

struct delivery_line {
    enum delivery_line_kind kind;
    char *vat;        /* owned; NULL: it goes to a result */
    char *to;         /* owned; the name of the result that it goes to; NULL: to the vat */
    char *target;     /* owned; of a full one: "o+0", the vat's root, or the kernel's reference */
    char *id;         /* owned; a name for its result; NULL: none */
    json_t *call;     /* owned; [METHOD, ARGS] */
    json_t *methargs; /* owned; capdata */
    char *trigger;    /* owned */
    int64_t clock;
};

/* -1 with ERROR_INPUT, whose words do not name the file and line. */
int delivery_line_parse(struct delivery_line *line, const char *text, size_t length,
                        struct error *error);

/*
 * The capdata of a short or full line, a new reference; NULL with ERROR_INPUT when
 * its arguments name what there is not, or ERROR_SYSTEM.
 */
json_t *delivery_line_methargs(const struct delivery_line *line,
                               const struct smallcaps_names *names, struct error *error);

/* A line that is all zeros may be freed. */
void delivery_line_free(struct delivery_line *line);

#endif
