/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_DELIVERY_LINE_H
#define GASPIPE_SUPERVISOR_DELIVERY_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * One line of a deliveries file, checked. Either short,
 *     {"vat":"bank","method":"transfer","args":["alice","bob",10]}
 * (args may be left out), or in full,
 *     {"vat":"bank","deliver":["message","o+0",{"methargs":CAPDATA,"result":null}]}
 */
struct delivery_line {
    char *vat;         /* owned */
    char *target;      /* owned: "o+0" for the contract itself */
    json_t *methargs;  /* owned: capdata */
    bool wants_result; /* the short form does */
};

/* -1 with ERROR_INPUT, whose words do not name the file and line. */
int delivery_line_parse(struct delivery_line *line, const char *text, size_t length,
                        struct error *error);

/* A line that is all zeros may be freed. */
void delivery_line_free(struct delivery_line *line);

#endif
