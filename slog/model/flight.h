/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_FLIGHT_H
#define GASPIPE_SLOG_MODEL_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"

/* Tells which send caused which delivery, by what the kernel says of both. */

/* A growing list of digests, each of a promise of the kernel's; all zeros is empty. */
struct promises {
    uint64_t *at; /* owned */
    size_t count, capacity;
};

/* A delivery whose deliver line has come and its deliver-result not yet. */

/* A moment of the kernel's: nanoseconds on both clocks, mono MODEL_NONE when not comparable. */
struct moment {
    int64_t real, mono;
};

struct request {
    bool console, changed_before, changed_within;
    struct moment arrived, answered;
    int64_t syscall_num;
    uint32_t kind;       /* its number in the model's names */
    size_t label;        /* where in the flight's words */
    size_t said, answer; /* the same, or FLIGHT_NO_WORD */
    size_t request_bytes, answer_bytes;
    struct model_message message;
    size_t promises, promise_count; /* where in the flight's promises */
};

struct flight {
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
    size_t arguments;                 /* the same, or FLIGHT_NO_WORD */
    struct request *requests;         /* owned */
    size_t request_count, request_capacity;
    size_t consoles, bytes;
    uint64_t syscall_digest;
    struct model_message message;
    struct promises promises; /* that a notify tells of, then those of its resolves */
    size_t notified;
};

/* An empty flight; NULL when memory ran out. */
struct flight *flight_new(struct error *error);
void flight_free(struct flight *flight);

/* Forgets the last delivery and keeps the memory. */
void flight_reset(struct flight *flight);

/* Takes what the deliver line says into the words. */
int flight_describe(struct flight *flight, const struct record *record, struct error *error);

/* The word that is there, or "". */
const char *flight_word(const struct flight *flight, size_t place);

/* Takes what tells which send or resolve the delivery comes of. -1 when memory ran out. */
int flight_add_causes(struct flight *flight, const struct record *record, struct error *error);

/*
 * Adds a request that came at `arrived`; with its label and message, and in the
 * digest, when `labelled`. -1 when memory ran out.
 */
int flight_add_request(struct flight *flight, const struct record *record, struct moment arrived,
                       uint32_t kind, bool labelled, struct error *error);

/* Notes the answer to the last syscall; one that does not fit is passed over. */
void flight_answer(struct flight *flight, const struct record *record, struct moment answered);

#endif
