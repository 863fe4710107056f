/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_CRANK_H
#define GASPIPE_SUPERVISOR_CRANK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stamp.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "slog/spans.h"
#include "slog/writer.h"
#include "store/store.h"
#include "supervisor/delivery_line.h"
#include "supervisor/report.h"

/*
 * One delivery with all that it causes: what is sent, the syscalls done, the
 * times noted, the lines written to the slog. Knows the store and the slog, and
 * nothing of processes.
 */
struct crank {
    struct store *store;
    struct slog_writer *slog; /* NULL: none is written */

    int64_t crank_num;
    int64_t vat_id; /* the store's */
    char vat_id_text[24];
    const char *vat_name; /* borrowed */
    struct slog_delivery common;
    bool wants_result;       /* a message whose result the kernel waits for */
    char result_promise[24]; /* as the vat knows it */

    struct buf vd;      /* the delivery as the vat sees it; JSON, as all below */
    struct buf kd;      /* as the kernel sees it */
    struct buf message; /* of the crank-start line */
    struct buf result;  /* what the vat resolved the result to; empty: nothing */
    struct buf answer;  /* to the request in hand */
    struct buf scratch;
    struct buf description;
    struct buf method;

    struct stamp started, sent, returned;
    int64_t syscall_num;
    struct model_event *events; /* one for each request */
    size_t event_count, event_capacity;
    int64_t *worker_times; /* of the meter's stamps */
    size_t worker_time_capacity;
    struct spans spans;
};

/* Whose crank it is. */
struct crank_vat {
    int64_t id;
    int64_t delivery_num;
    const char *name; /* borrowed while the crank runs */
};

/* The store and slog are borrowed. */
void crank_init(struct crank *crank, struct store *store, struct slog_writer *slog);
void crank_free(struct crank *crank);

/*
 * Begins a crank: a transaction of the store, and the texts. `line` is the
 * message to deliver, NULL for startVat.
 */
int crank_begin(struct crank *crank, int64_t crank_num, const struct crank_vat *vat,
                const struct delivery_line *line, struct error *error);

/*
 * The report of a delivery that is not made: descriptions only. The caller adds
 * why. Outside of cranks.
 */
int crank_refuse(struct crank *crank, const struct crank_vat *vat, const struct delivery_line *line,
                 struct delivery_report *report, struct error *error);

/* The delivery was sent at that moment. */
int crank_sent(struct crank *crank, struct stamp sent, struct error *error);

/*
 * Does what a request asks; its answer, for the frame after '/', is in
 * crank->answer. CRANK_SENSELESS: the vat asks for what cannot be, and has to
 * end; *error says why. CRANK_BROKEN: the store failed.
 */
enum crank_result { CRANK_OK, CRANK_SENSELESS, CRANK_BROKEN };
enum crank_result crank_request(struct crank *crank, const struct vat_request *request,
                                struct error *error);

/* The request that was come at `come` was answered at `answered`. */
int crank_answered(struct crank *crank, const struct vat_request *request, struct stamp come,
                   struct stamp answered, struct error *error);

/* How a delivery ended. */
struct crank_end {
    struct stamp returned;
    const char *problem;       /* NULL: it went well */
    enum error_kind blame;     /* of the problem */
    const struct meter *meter; /* NULL: the worker died */
    bool vat_ended;
};

/*
 * Commits the crank (after a problem: without the delivery's changes), writes
 * its last lines, and fills the report, which is good until the next begin.
 */
int crank_finish(struct crank *crank, const struct crank_end *end, struct delivery_report *report,
                 struct error *error);

/* Writes that a vat has ended to the slog; outside of a delivery to it. */
int crank_log_terminate(struct crank *crank, const char *vat_id, const char *reason,
                        struct stamp stamp, struct error *error);

/* Drops the crank: nothing of it stays. */
void crank_abandon(struct crank *crank);

#endif
