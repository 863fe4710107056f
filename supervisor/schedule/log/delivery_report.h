/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_REPORT_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_wait.h"
#include "base/error.h"
#include "proto/meter.h"
#include "slog/model/model.h"
#include "supervisor/process/worker_exit.h"

/* A number or time of a report that is not known. */
#define REPORT_NONE MODEL_NONE

/* A limit that stopped a delivery. All zeros is none. */
struct delivery_limit {
    struct worker_limit of;
    int64_t value; /* 0: it is the engine's own */
};

/* How a delivery ended. Everything is borrowed. */
struct delivery_end {
    struct stamp returned;       /* when the answer came, or the worker was found dead */
    const char *problem;         /* NULL: none */
    const char *stack;           /* of the problem, lines of text; NULL: not known */
    const char *source;          /* the line of the contract that it leads to; NULL: to none */
    const char *value;           /* what came with "ok", JSON; NULL: null */
    bool died;                   /* the worker did: the problem says why */
    const struct meter *meter;   /* NULL: nothing is known of what it used */
    struct cpu_waits cpu_waits;  /* both ends' in this delivery */
    struct delivery_limit limit; /* that the worker met and died of */
};

/* The outcome of one delivery. Texts are borrowed. */
struct delivery_report {
    const char *vat_id; /* "v1" */
    const char *vat;    /* its name */
    int64_t crank_num;  /* REPORT_NONE: the vat had been terminated, nothing was delivered */
    int64_t delivery_num;
    const char *dispatch;    /* "message", "startVat", ... */
    const char *promise;     /* for a message's result, in the kernel's reference; "": none */
    const char *description; /* as in slogreport: "(o+0).buy -> p-1" */
    const char *method;      /* of a message; otherwise the dispatch */
    bool ok;
    bool vat_ended;     /* this delivery terminated its vat */
    bool crank_ended;   /* false: the crank continues and may still be undone */
    const char *result; /* JSON; NULL: none */
    const char *error;  /* NULL when ok */
    const char *stack;  /* of the error, lines of text, as the worker reports it; NULL: not known */
    const char *source; /* the line of the contract that it leads to; NULL: to none */
    const char *file;   /* the vat's contract as this run was given it; NULL: it was not */
    const char *place;  /* "FILE:LINE" of the line that caused it; NULL: none did */
    /* The name of the limit that stopped the delivery, as in struct worker_limit; NULL: none did.
     */
    const char *limited;
    /* It is one of computrons, instructions or units, and stands below for what was used: more is
     * not known. */
    bool at_least;
    bool rejected;        /* its line's result was rejected in it, as `run` finds out */
    int64_t compute;      /* computrons */
    int64_t instructions; /* machine instructions */
    int64_t block_cost;   /* units of the compiled-in meter */
    int64_t gas_burnt;    /* by NEAR's costs */
    int64_t gas_refunded; /* prepaid gas that was given back */
    int64_t bytes_read, bytes_written; /* where instructions are counted */
    int64_t syscalls;                  /* that the vat made */
    int64_t total;                     /* nanoseconds, from sending to result */
    int64_t pipe;                      /* of the total: in the pipe, */
    int64_t worker;                    /* in the worker, */
    int64_t kernel;                    /* in the supervisor */
    struct cpu_waits cpu_waits;        /* as of struct delivery_end */
    struct model_waits waits;          /* the same by part; zeros without the worker's stamps */
    /* Nanoseconds of CLOCK_MONOTONIC: when the worker had it and had done it; 0: not known. */
    int64_t worker_began, worker_ended;
    struct iovec profile;     /* of the meter; no bytes: none was taken */
    struct iovec gas_profile; /* likewise, gas by cost */
};

#endif
