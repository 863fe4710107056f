/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_DELIVERY_INPUT_H
#define GASPIPE_SUPERVISOR_DELIVERY_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"

/* Lines of a file or of stdin, one when asked for; a pipe or terminal is waited
 * for on the loop. */
struct delivery_input;

struct delivery_input_listener {
    void *context;
    /* A line that is not blank, without its newline; borrowed for the call. From 1. */
    void (*line)(void *context, const char *text, size_t length, int64_t number);
    void (*end)(void *context);
    /* Nothing has come yet. Whether it is waited for; else it is asked for again later. */
    bool (*waiting)(void *context);
    void (*failed)(void *context, const struct error *error);
};

/* "-" is stdin. NULL with ERROR_INPUT when the file cannot be opened. */
struct delivery_input *delivery_input_open(uv_loop_t *loop, const char *path,
                                           const struct delivery_input_listener *listener,
                                           struct error *error);

/* How messages name it. */
const char *delivery_input_name(const struct delivery_input *input);

/* Asks for the next line. One of the listener's functions is called: at once,
 * or when something has come. */
void delivery_input_next(struct delivery_input *input);

/*
 * The first line behind line *number that is not blank, if it has come, and its number; it
 * will come as the next one all the same. Borrowed until the next call. False: it has not.
 */
bool delivery_input_look(struct delivery_input *input, int64_t *number, const char **text,
                         size_t *length);

/* NULL is allowed. Its memory goes when the loop has closed it. */
void delivery_input_close(struct delivery_input *input);

#endif
