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

/* A growing list of digests, each of a promise of the kernel's; all zeros is empty. */
struct promises {
    uint64_t *at; /* owned */
    size_t count, capacity;
};

/* A moment of the kernel's: nanoseconds on both clocks, mono MODEL_NONE when not comparable. */
struct moment {
    int64_t real, mono;
};

/* The clock that the lines of one kernel process share. */
static inline int64_t moment_steady(struct moment moment)
{
    return moment.mono != MODEL_NONE ? moment.mono : moment.real;
}

struct request {
    bool console, changed_before, changed_within;
    struct moment arrived, answered;
    int64_t syscall_num;
    uint32_t kind;       /* its number in the model's names */
    size_t label;        /* where in the delivery's words */
    size_t said, answer; /* the same, or NO_WORD */
    size_t request_bytes, answer_bytes;
    struct model_message message;
    size_t promises, promise_count; /* where in the delivery's promises */
};

/* A delivery whose deliver line has come but not its deliver-result line. */
struct pending_delivery {
    uint32_t vat;     /* its number in the model's names */
    const char *file; /* which the line is in, as model_begin_file() */
    uint64_t line;
    int64_t crank_num, delivery_num, block_height, between;
    bool replay;
    bool wordy;   /* what it and its requests say is kept */
    bool changed; /* the clock was set since the kernel's last moment */
    struct moment sent;
    struct buf words;                 /* each ended by '\0' */
    size_t kind, method, description; /* where in words */
    size_t arguments;                 /* the same, or NO_WORD */
    struct request *requests;         /* owned */
    size_t request_count, request_capacity;
    size_t consoles, bytes;
    uint64_t syscall_digest;
    struct model_message message;
    struct promises promises; /* that a notify tells of, then those of its resolves */
    size_t notified;
};

/* An empty pending; NULL when memory ran out. */
struct pending_delivery *pending_new(struct error *error);
void pending_free(struct pending_delivery *pending);

/* Forgets the last delivery and keeps the memory. */
void pending_reset(struct pending_delivery *pending);

/* Takes what the deliver line says into the words. */
int pending_describe(struct pending_delivery *pending, const struct record *record,
                     struct error *error);

/* The word that is there, or "". */
const char *pending_word(const struct pending_delivery *pending, size_t place);

/* Takes what tells which send or resolve the delivery comes of. -1 when memory ran out. */
int pending_add_causes(struct pending_delivery *pending, const struct record *record,
                       struct error *error);

/*
 * Adds a request that came at `arrived`; with its label and message, and in the
 * digest, when `labelled`. -1 when memory ran out.
 */
int pending_add_request(struct pending_delivery *pending, const struct record *record,
                        struct moment arrived, uint32_t kind, bool labelled, struct error *error);

/* Notes the answer to the last syscall; one that does not fit is passed over. */
void pending_answer(struct pending_delivery *pending, const struct record *record,
                    struct moment answered);

/*
 * True if kernel and worker both noted every moment on the monotonic clock, which cannot be set. A
 * worker on another host has another one, whose moments do not fit between the kernel's.
 */
bool pending_is_precise(const struct pending_delivery *pending, const struct outcome *outcome,
                        struct moment returned);

/* Fills one event for each request. `kinds`: the names of their kinds. */
void pending_make_events(const struct pending_delivery *pending, bool precise,
                         const struct names *kinds, struct model_event *events);

/* Fills what the deliver line and its requests say. Texts are borrowed from the pending delivery.
 */
void pending_fill_words(const struct pending_delivery *pending, struct model_delivery *delivery);

#endif
