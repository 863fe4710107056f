/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_KERNEL_H
#define GASPIPE_SUPERVISOR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "slog/writer.h"
#include "store/store.h"
#include "supervisor/delivery_line.h"
#include "supervisor/launcher.h"
#include "supervisor/report.h"

/*
 * The kernel: vats, each in a worker of its own, and one delivery at a time.
 * It lives on a loop and tells its owner what happens.
 */
struct kernel;

struct kernel_options {
    uv_loop_t *loop;
    const struct launcher *launcher;
    struct store *store;
    struct slog_writer *slog; /* NULL: none is written */
    uint64_t timeout_ms; /* for a delivery; launcher_start_limit() of it for a start; 0: none */
};

struct kernel_listener {
    void *context;
    /* A delivery has ended and is committed. The kernel wants the next one. */
    void (*delivered)(void *context, const struct delivery_report *report);
    /* The system failed the kernel (store, slog, memory). It delivers nothing more. */
    void (*failed)(void *context, const struct error *error);
    /* After kernel_close(): all workers are gone. */
    void (*closed)(void *context);
};

/* Everything in the options is borrowed for the kernel's life. NULL when memory ran out. */
struct kernel *kernel_new(const struct kernel_options *options,
                          const struct kernel_listener *listener, struct error *error);

/*
 * Adds a vat for the contract in the file and starts its worker; the file is
 * read at once. Names are unique, not empty, and made of letters, digits, '_',
 * '-' and '.'. -1 with ERROR_USAGE, ERROR_INPUT or ERROR_SYSTEM.
 */
int kernel_add_vat(struct kernel *kernel, const char *name, const char *path, struct error *error);

/* The vat of that name: its index, from 0 in the order of adding; -1: none. */
int kernel_find_vat(const struct kernel *kernel, const char *name);

/* The file of a vat; the kernel's. */
const char *kernel_vat_path(const struct kernel *kernel, int vat);

/*
 * Delivers to a vat: the message, or startVat when `line` is NULL. Not while
 * another delivery is under way. The line is borrowed until delivered() or
 * failed(), one of which is called later, from within the loop.
 */
void kernel_deliver(struct kernel *kernel, int vat, const struct delivery_line *line);

/* Ends all workers. A delivery under way is dropped: nothing of it stays. */
void kernel_close(struct kernel *kernel);

/* After closed(), when the loop has run to its end. NULL is allowed. */
void kernel_free(struct kernel *kernel);

#endif
