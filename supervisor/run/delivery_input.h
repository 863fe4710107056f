/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_DELIVERY_INPUT_H
#define GASPIPE_SUPERVISOR_RUN_DELIVERY_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "store/store.h"

/* A source of delivery lines: a file, or a NATS stream. */
struct delivery_input {
    const struct delivery_input_methods *methods;
    const char *name; /* a path, "stdin" or a stream: for messages; borrowed */
};

/* Events of an input. */
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

/* A kind of input; see the functions of the same names. */
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
 * Calls `line` for the lines of a regular file, as the listener would be, and then moves back to
 * where it was. Other inputs have none, since reading them ahead could wait for their writer. -1
 * with ERROR_INPUT, or when `line` returns -1.
 */
int file_input_scan(struct delivery_input *base,
                    int (*line)(void *context, const char *text, size_t length, int64_t number,
                                struct error *error),
                    void *context, struct error *error);

/*
 * Lines of a file, or of stdin, which is "-". The first line has number 1. For a pipe or terminal
 * it waits on the loop. NULL with ERROR_INPUT when the file cannot be opened.
 */
struct delivery_input *file_input_open(uv_loop_t *loop, const char *path,
                                       const struct delivery_input_listener *listener,
                                       struct error *error);

/* ---- how far the store has got ---- */

enum { STREAM_IDENTITY_MAX = 320 };

/* How far a store has got in the input: the store's keys input.lines, input.hash and input.done,
 * which change in the same transaction as the lines' effects. The hash is a chain: SHA-256 of the
 * previous hash and the line. input.batch exists only after a run that ended within a batch of
 * lines; input.stream (name and time of creation) only for messages of a stream. */
struct input_place {
    struct store *store;
    int64_t lines; /* number of the last line that the store has; 0: none */
    char hash[STORE_HASH_SIZE];
    char stream[STREAM_IDENTITY_MAX]; /* that the lines are of; "": they are of a file */
    bool done;                        /* the end of the input was reached */
    /* Lines that are queued and wait for the rest of their batch; 0: none, as usual */
    uint64_t batch;

    char skipped[STORE_HASH_SIZE]; /* the chain over the lines skipped so far */
};

/*
 * Reads the place; a store without one is at the beginning. ERROR_SYSTEM if it is damaged. The
 * store is borrowed.
 */
int input_place_open(struct input_place *place, struct store *store, struct error *error);

/* Starts a new input at its first line: that stream, or a file (""). Within a transaction. */
int input_place_begin(struct input_place *place, const char *stream, struct error *error);

/* How a file compares with the input that the store has delivered to its end. */
enum input_repeat {
    INPUT_OTHER, /* other lines; or the store is within its input */
    INPUT_SAME,  /* all lines and no more */
    INPUT_GROWN, /* all lines, and more after them */
};

/* Reads a regular file only; others are INPUT_OTHER. ERROR_INPUT, ERROR_SYSTEM. */
int input_place_compare(const struct input_place *place, struct delivery_input *input,
                        enum input_repeat *repeat, struct error *error);

/* Returns true if the store has read no input. */
bool input_place_is_new(const struct input_place *place);

/* ERROR_INPUT unless the store's lines are of that stream, or of a file (""). */
int input_place_check_stream(const struct input_place *place, const char *stream,
                             struct error *error);

/* Accepts the line of that number, `length` bytes. Within a transaction. */
int input_place_take(struct input_place *place, int64_t number, const char *text, size_t length,
                     struct error *error);

/* Keeps the number of lines in an unfinished batch; 0: no batch. Within a transaction. */
int input_place_keep_batch(struct input_place *place, uint64_t lines, struct error *error);

/* The end of the input was reached. Within a transaction. */
int input_place_finish(struct input_place *place, struct error *error);

/* Skips a line that the store has already. At the last of these, place->lines: ERROR_INPUT if they
 * are not the accepted lines. */
int input_place_skip(struct input_place *place, int64_t number, const char *text, size_t length,
                     struct error *error);

/* The input has ended, or has passed place->lines: ERROR_INPUT unless it had all of these. */
int input_place_check(const struct input_place *place, struct error *error);

#endif
