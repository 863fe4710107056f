/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_DELIVERY_INPUT_H
#define GASPIPE_SUPERVISOR_RUN_DELIVERY_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"

/* Where delivery lines come from, one at a time: a file, or a stream of NATS. */
struct delivery_input {
    const struct delivery_input_methods *methods;
    const char *name; /* a path, "stdin" or a stream: for messages; borrowed */
};

/* What the owner of an input is told. */
struct delivery_input_listener {
    void *context;
    /* The next line that is not blank, without its newline; borrowed for the call. Numbers
     * grow, from 1. */
    void (*line)(void *context, const char *text, size_t length, int64_t number);
    void (*end)(void *context);
    /* No line is available. True: wait for one. False: delivery_input_next() is called later. */
    bool (*waiting)(void *context);
    void (*failed)(void *context, const struct error *error);
};

/* What a kind of input does; see the functions of the same names. */
struct delivery_input_methods {
    void (*next)(struct delivery_input *input);
    bool (*look)(struct delivery_input *input, int64_t *number, const char **text, size_t *length);
    void (*close)(struct delivery_input *input);
};

/* Asks for the next line. Calls one of the listener's functions, now or from the loop. */
void delivery_input_next(struct delivery_input *input);

/*
 * Peeks at the first line after line *number that is not blank, and sets *number to its own.
 * The line stays in the input. Borrowed until the next call. False: it is not available yet.
 */
bool delivery_input_look(struct delivery_input *input, int64_t *number, const char **text,
                         size_t *length);

/* NULL is allowed. The memory is freed once the loop has closed the handle. */
void delivery_input_close(struct delivery_input *input);

/*
 * Lines of a file, or of stdin, which is "-". The first line has number 1. For a pipe or terminal
 * it waits on the loop. NULL with ERROR_INPUT when the file cannot be opened.
 */
struct delivery_input *file_input_open(uv_loop_t *loop, const char *path,
                                       const struct delivery_input_listener *listener,
                                       struct error *error);

#endif
