/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPORT_H
#define GASPIPE_SUPERVISOR_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"

/* A number or time of a report that is not known. */
#define REPORT_NONE MODEL_NONE

/* What came of one delivery. Texts are borrowed. */
struct delivery_report {
    int64_t vat_number;
    const char *vat_id; /* "v1" */
    const char *vat;    /* its name */
    int64_t crank_num;  /* REPORT_NONE: the vat had ended, nothing was delivered */
    int64_t delivery_num;
    const char *dispatch;    /* "message", "startVat", … */
    const char *promise;     /* of a message's result, as the kernel calls it; "": none */
    const char *description; /* as slogreport's */
    const char *method;      /* of a message; else the kind */
    bool ok;
    bool vat_ended;        /* with this delivery */
    bool crank_ended;      /* else what it did can still be undone */
    const char *result;    /* JSON; NULL: none */
    const char *error;     /* NULL when ok */
    const char *place;     /* "FILE:LINE" that asked for it; NULL: none did */
    enum error_kind blame; /* when not ok: ERROR_DELIVERY, or ERROR_SYSTEM for the host */
    int64_t compute;       /* computrons */
    int64_t instructions;  /* machine instructions */
    int64_t total;         /* nanoseconds, from sending to result */
    int64_t pipe;          /* of those: in the pipe, */
    int64_t worker;        /* in the worker, */
    int64_t kernel;        /* in the supervisor */
    int64_t processor;     /* nanoseconds of processor time that the worker used */
    int64_t frames;        /* both ways; 0: the worker told of none */
};

#endif
