/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_PENDING_DELIVERY_H
#define GASPIPE_SLOG_MODEL_PENDING_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "slog/model/spans.h"
#include "slog/read/names.h"

/* A growing list of digests of the kernel's promises; all zeros is empty. */
struct promises {
    uint64_t *at; /* owned */
    size_t count, capacity;
};

/*
 * A moment on the kernel's clocks, in nanoseconds; mono is MODEL_NONE if not comparable with the
 * worker's.
 */
struct moment {
    int64_t real, mono;
};

/* The clock on which the lines of one kernel process compare. */
static inline int64_t moment_steady(struct moment moment)
{
    return moment.mono != MODEL_NONE ? moment.mono : moment.real;
}

struct request {
    bool console, changed_before, changed_within;
    struct moment arrived, answered;
    int64_t syscall_num;
    uint32_t kind;       /* its number in the model's names */
    size_t label;        /* offset in the delivery's words */
    size_t said, answer; /* offsets, or NO_WORD */
    size_t request_bytes, answer_bytes;
    struct model_message message;
    size_t promises, promise_count; /* range in the delivery's promises */
};

/* A delivery between its deliver and its deliver-result line. */
struct pending_delivery {
    uint32_t vat;     /* its number in the model's names */
    const char *file; /* with the line, as model_begin_file() */
    uint64_t line;
    int64_t crank_num, delivery_num, block_height, between;
    bool replay;
    bool wordy;   /* keeps the text of the delivery and of its requests */
    bool changed; /* the clock was set since the last line of the delivery */
    struct moment sent;
    struct buf words;                 /* each with its '\0' */
    size_t kind, method, description; /* offsets in words */
    size_t arguments;                 /* offsets, or NO_WORD */
    struct request *requests;         /* owned */
    size_t request_count, request_capacity;
    size_t consoles, bytes;
    uint64_t syscall_digest;
    struct model_message message;
    struct promises promises; /* of a notify, then of its resolves */
    size_t notified;
};

/* NULL when out of memory. */
struct pending_delivery *pending_new(struct error *error);
void pending_free(struct pending_delivery *pending);

/* Empties it and keeps the memory. */
void pending_reset(struct pending_delivery *pending);

/* Stores the text of the deliver line. */
int pending_describe(struct pending_delivery *pending, const struct record *record,
                     struct error *error);

/* Stores what identifies the send or resolve that caused the delivery. -1 when out of memory. */
int pending_add_causes(struct pending_delivery *pending, const struct record *record,
                       struct error *error);

/*
 * Adds a request that arrived at `arrived`. If `labelled`, also stores its label and message and
 * adds it to the digest. -1 when out of memory.
 */
int pending_add_request(struct pending_delivery *pending, const struct record *record,
                        struct moment arrived, uint32_t kind, bool labelled, struct error *error);

/* Stores the answer to the last syscall; ignores one that does not match. */
void pending_answer(struct pending_delivery *pending, const struct record *record,
                    struct moment answered);

/*
 * True if kernel and worker both noted every moment on the monotonic clock, which cannot be set. A
 * worker on another host has another one, whose moments do not fit between the kernel's.
 */
bool pending_is_precise(const struct pending_delivery *pending, const struct outcome *outcome,
                        struct moment returned);

/* Fills an event for each request. `kinds` has the names of their kinds. */
void pending_make_events(const struct pending_delivery *pending, bool precise,
                         const struct names *kinds, struct model_event *events);

/*
 * Fills what the deliver line and the requests say. Texts are borrowed from the pending delivery.
 */
void pending_fill_words(const struct pending_delivery *pending, struct model_delivery *delivery);

/* Fills in both CPU waits from the record of the deliver-result, where the delivery is slow enough
 * to have them. */
void pending_fill_cpu_waits(const struct record *record, struct model_delivery *delivery);

#endif
