/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_ERROR_H
#define GASPIPE_BASE_ERROR_H

#include <stdbool.h>

/*
 * The text and kind of a failure.
 *
 * A function that can fail takes a `struct error *` as its last parameter, returns 0 or a value,
 * and on failure fills the error and returns -1 (or NULL). The text is one line without a newline:
 * what was wrong, where and, if possible, what to do. A caller adds context with error_prefix() and
 * passes the error on.
 */

/* The kinds are the exit statuses of the commands (see gaspipe(1)). */
enum error_kind {
    ERROR_NONE = 0,
    ERROR_DELIVERY = 1, /* a delivery failed and the run continued */
    ERROR_USAGE = 2,    /* the command line is wrong */
    ERROR_INPUT = 3,    /* a file or message from outside is wrong */
    ERROR_SYSTEM = 4,   /* disk, fork, memory, a missing program */
};

#define ERROR_TEXT_SIZE 1024

struct error {
    enum error_kind kind;
    bool is_damage;             /* a part of a store is damaged: what does not need it continues */
    long long damaged_vat;      /* then: the number of the vat that it belongs to; 0: not known */
    char text[ERROR_TEXT_SIZE]; /* cut to fit, always terminated */
};

/* Fills *error. Returns -1, so that a caller can `return error_set(...)`. */
int error_set(struct error *error, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set() with ERROR_SYSTEM, followed by ": " and errnum's text. */
int error_system(struct error *error, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For a failed allocation: ERROR_SYSTEM, naming what the memory was for. */
int error_memory(struct error *error, const char *what);

/* Puts text and ": " before that of *error. Returns -1. */
int error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The macros show compilers and checkers, which see one source file at a time, that the result is
 * -1. Otherwise they assume that a failure may be followed by success with nothing filled in.
 */
static inline int error_minus_one(int result)
{
    (void)result;
    return -1;
}

#define error_set(...)    error_minus_one((error_set)(__VA_ARGS__))
#define error_system(...) error_minus_one((error_system)(__VA_ARGS__))
#define error_memory(...) error_minus_one((error_memory)(__VA_ARGS__))
#define error_prefix(...) error_minus_one((error_prefix)(__VA_ARGS__))

#endif
