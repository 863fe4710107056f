/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_ENGINE_H
#define GASPIPE_WORKER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "proto/command.h"

/* The interface between the worker's loop and an engine. An engine is one file that fills a
 * `struct engine_ops`; main.c names it. The rest of the worker does not know which engine runs. */

/* Functions of the loop that the engine may call while it runs. */
struct engine_host {
    void *context;
    /*
     * Sends a request to the supervisor and waits for the answer, which is borrowed until the
     * next call. If the pipe fails, iov_base is NULL: the supervisor is gone, so the engine must
     * stop at once (ENGINE_STOPPED, with any text and status).
     */
    struct iovec (*request)(void *context, struct iovec message);
    /* For an engine that `confines_itself`: closes the sandbox, if the worker has one. Returns
     * 0, or -1 after reporting why not. */
    int (*confine)(void *context);
};

struct engine_options {
    uint32_t compute_limit;    /* computrons for each command; 0: none */
    uint32_t compute_interval; /* check the limit every so many; 0: the engine's choice */
    bool cost_limited;         /* check worker/region.h, as often as that limit */
    uint64_t cost_limit;       /* of block cost for each call, of an engine that `limits_cost` */
    uint64_t heap_limit;       /* bytes; 0: the engine's own limit */
    uint32_t parser_kb;        /* the parser's buffer in KiB; 0: the engine's default */
    bool quiet;                /* say nothing on stderr, as xsnap-worker */
    bool print_compute;        /* print() puts the meter's state in front */
    bool profile;              /* take a profile of each command */
    const char *compiled;      /* machine code of the contract, if the engine uses it; NULL: none */
    struct engine_host host;
};

enum engine_outcome {
    ENGINE_OK,      /* text is the result */
    ENGINE_THREW,   /* text is the exception's message; the engine continues */
    ENGINE_STOPPED, /* the engine cannot continue; text says why, exit_status is the worker's */
};

/* The text is borrowed from the engine until the next call into it. */
struct engine_result {
    enum engine_outcome outcome;
    struct iovec text;
    int exit_status; /* enum worker_exit, of ENGINE_STOPPED */
};

/* Use by the last command (compute), and by the engine as a whole (the others). */
struct engine_usage {
    uint64_t compute;
    uint64_t allocate;         /* bytes of memory taken */
    uint64_t heap_count;       /* heap slots in use */
    const struct buf *profile; /* of the last command, JSON; NULL: none is taken */
    bool gas_known;            /* the engine charges gas: the next ones are of the last command */
    uint64_t gas_burnt;
    uint64_t gas_refunded;         /* neither burnt nor given to others, of what was prepaid */
    const struct buf *gas_profile; /* the same by cost, a JSON object of numbers */
    bool cost_known;               /* the contract counts block cost, and the worker does not: */
    uint64_t block_cost;           /* of the last command */
};

struct engine; /* each engine has its own */

struct engine_ops {
    bool confines_itself; /* when it has loaded what it could not load in the sandbox */
    bool limits_cost;     /* the contract has the compiled-in meter, not the worker */

    /* One line for -v: the engine's name and version. */
    void (*version)(char *line, size_t size);

    /* NULL with *error when it cannot start. The options are copied. */
    struct engine *(*open)(const struct engine_options *options, struct error *error);
    void (*close)(struct engine *engine);

    /* Each runs until the engine is idle. Arguments are borrowed until the first request. */
    struct engine_result (*evaluate)(struct engine *engine, struct iovec source);
    struct engine_result (*deliver)(struct engine *engine, struct iovec message);
    struct engine_result (*run_script)(struct engine *engine, const char *path);
    struct engine_result (*run_module)(struct engine *engine, const char *path);

    /*
     * Snapshots; NULL for an engine without. A place is a path, or "@N" for an
     * open descriptor.
     */
    struct engine_result (*write_snapshot)(struct engine *engine, const char *place);
    struct engine *(*open_snapshot)(const struct engine_options *options, const char *place,
                                    struct error *error);

    /* Returns the message of an exception that no code caught, such as of a promise or a module;
     * NULL if absent. Borrowed until the next call. */
    const char *(*exception_left)(struct engine *engine);

    struct engine_usage (*usage)(const struct engine *engine);
};

/*
 * Opens the place of a snapshot: a path, or "@N" for descriptor N, after which ":WORDS" may
 * stand for readers of ps(1). Each form has its fopen(3) mode. fclose() leaves the
 * descriptor open. NULL with errno.
 */
FILE *engine_open_place(const char *place, const char *mode_of_path,
                        const char *mode_of_descriptor);

#endif
