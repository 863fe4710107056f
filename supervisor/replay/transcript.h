/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRANSCRIPT_H
#define GASPIPE_SUPERVISOR_TRANSCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"
#include "supervisor/replay/stored_transcript.h"

/*
 * What vats were sent and what they asked, step by step, out of a slogfile of
 * ours or of SwingSet's, or out of an exported transcript: a create-vat line
 * with the bundle, then one line for each delivery, as SwingSet's swing-store
 * has them: {"d":VatDelivery,"sc":[{"s":VatSyscall,"r":answer},...],"r":{"status",
 * "metering":{"computrons"}}}, in ours also "instructions" and the "fingerprint"
 * of what counted them. Deliveries are numbered from 0, or from the create-vat
 * line's deliveryNum. Either may be compressed. The store's transcripts are read
 * as such lines. Only one line is kept in memory.
 */
struct transcript;

enum transcript_kind {
    TRANSCRIPT_SESSION,         /* another process begins to write; json is its fingerprint */
    TRANSCRIPT_CREATE,          /* a vat; json is its bundle, if the line has one */
    TRANSCRIPT_UPGRADE,         /* its next startVat that is no replay is for `bundle_id` */
    TRANSCRIPT_START,           /* its worker was started anew, to be sent what follows */
    TRANSCRIPT_SNAPSHOT_SAVED,  /* of its worker, which was not restarted by this */
    TRANSCRIPT_SNAPSHOT_LOADED, /* its worker was started anew, from the snapshot `hash` */
    TRANSCRIPT_DELIVER,         /* json is the VatDelivery */
    TRANSCRIPT_SYSCALL,         /* json is the VatSyscall */
    TRANSCRIPT_ANSWER,          /* json is what the worker was answered */
    TRANSCRIPT_RESULT,          /* of the delivery */
    TRANSCRIPT_TERMINATE,       /* nothing more is delivered to the vat */
};

/* A number that the file does not say. */
#define TRANSCRIPT_NONE INT64_MIN

/* Spans are borrowed until the next step. Strings are without quotes, escapes as they are. */
struct transcript_step {
    enum transcript_kind kind;
    uint64_t line;
    struct scan_span vat_id;
    int64_t delivery_num;
    int64_t syscall_num; /* from 0 in each delivery */
    struct scan_span json;

    struct scan_span name;         /* of TRANSCRIPT_CREATE; none: not said */
    struct scan_span manager_type; /* of TRANSCRIPT_CREATE */
    struct scan_span hash;         /* of snapshots */
    struct scan_span bundle_id;    /* of TRANSCRIPT_UPGRADE */
    bool replay;                   /* of TRANSCRIPT_DELIVER: it brought a worker back */

    /* Of TRANSCRIPT_RESULT. */
    struct scan_span status;  /* "ok", "error" */
    struct scan_span problem; /* JSON; none: not said */
    bool metered;             /* there is a meter record: the worker lived on */
    int64_t compute;          /* computrons */
    int64_t instructions;
    struct scan_span fingerprint; /* of what counted them; none: the session's */
};

/* "-" is stdin. NULL with ERROR_INPUT or ERROR_SYSTEM. */
struct transcript *transcript_open(const char *path, struct error *error);

/*
 * One of a store, and how messages name it; both are borrowed. NULL when memory ran
 * out.
 */
struct transcript *transcript_open_stored(struct stored_transcript *stored, const char *name,
                                          struct error *error);

/*
 * 1 with the next step, 0 at the end, -1 when the file cannot be read or a line
 * is no such line (ERROR_INPUT, file and line named). A last line that was torn
 * by a crash is the end.
 */
int transcript_next(struct transcript *transcript, struct transcript_step *step,
                    struct error *error);

/* The next transcript_next() gives the last step again. */
void transcript_unread(struct transcript *transcript);

/* How messages name it. */
const char *transcript_name(const struct transcript *transcript);

/* Whether the file ended in the midst of a line or of compressed data. */
bool transcript_is_torn(const struct transcript *transcript);

void transcript_close(struct transcript *transcript);

#endif
