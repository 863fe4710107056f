/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_DELIVERY_LINE_H
#define GASPIPE_SUPERVISOR_RUN_DELIVERY_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "supervisor/run/delivery_input.h"
#include "supervisor/run/line_results.h"
#include "supervisor/schedule/log/smallcaps.h"
#include "supervisor/schedule/speculation.h"

/*
 * One line of the input, checked. A message to a vat's root object is short,
 *     {"vat":"bank","method":"transfer","args":["alice","bob",10]}
 * (args may be left out), or full,
 *     {"vat":"bank","deliver":["message","o+0",{"methargs":CAPDATA,"result":null}]}
 * where the target and CAPDATA's slots may also be the kernel's references ("ko25"). A
 * short line can name its result,
 *     {"vat":"mint","method":"makeMint","id":"mint"}
 * and later lines can be sent to that, or pass it and other references in their args:
 *     {"to":{"@result":"mint"},"method":"pay","args":[{"@vat":"bank"},{"@device":"clock"}]}
 * Other lines set the clock device, in its own units; have the echo device call its
 * listener; send bringOutYourDead to all vats made from bundles:
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
    char *vat;        /* owned; NULL: the message goes to a result */
    char *to;         /* owned; the name of that result; NULL: the message goes to the vat */
    char *target;     /* owned; of a full line: "o+0", the vat's root, or the kernel's reference */
    char *id;         /* owned; a name for the result; NULL: none */
    json_t *call;     /* owned; [METHOD, ARGS] */
    json_t *methargs; /* owned; capdata */
    char *trigger;    /* owned */
    int64_t clock;
};

/* -1 with ERROR_INPUT, whose text does not name the file and line. */
int delivery_line_parse(struct delivery_line *line, const char *text, size_t length,
                        struct error *error);

/*
 * The capdata of a short or full line, a new reference. NULL with ERROR_INPUT when its
 * arguments name something unknown, or ERROR_SYSTEM.
 */
json_t *delivery_line_methargs(const struct delivery_line *line,
                               const struct smallcaps_names *names, struct error *error);

/*
 * ERROR_INPUT, without file and line, if the line names an unknown vat. A line that cannot be
 * parsed passes: it fails in its turn.
 */
int delivery_line_check_vat(struct kernel *kernel, const char *text, size_t length,
                            struct error *error);

/* All zeros is allowed. */
void delivery_line_free(struct delivery_line *line);

/*
 * Queues the message of a short or full line into the kernel. The names in the line are
 * looked up in the results and the kernel; one that is unknown is ERROR_INPUT. `result` is
 * as in kernel_queue_message().
 */
int line_message_queue(struct line_results *results, struct kernel *kernel,
                       const struct delivery_line *line, char result[KERNEL_REF_SIZE],
                       struct error *error);

/* With several jobs: the lines after the last one that had its turn, for speculation on them. */
struct upcoming_lines {
    struct delivery_input *input; /* borrowed, as the next two */
    struct kernel *kernel;
    struct line_results *results;
    bool available;              /* false: what the lines will be is not known yet */
    int64_t passed;              /* number of the last line that had its turn */
    struct upcoming_line *lines; /* owned, in their order */
    size_t count, capacity;
};

struct speculation_source upcoming_lines_source(struct upcoming_lines *upcoming);

/* The line has its turn. */
void upcoming_lines_pass(struct upcoming_lines *upcoming, int64_t number);

void upcoming_lines_free(struct upcoming_lines *upcoming);

#endif
