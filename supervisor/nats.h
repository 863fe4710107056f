/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_NATS_H
#define GASPIPE_SUPERVISOR_NATS_H

#include <nats/nats.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum { NATS_URL_SIZE = 4096, NATS_STREAM_SIZE = 256 };

/* A stream and its servers. */
struct nats_address {
    char url[NATS_URL_SIZE]; /* several with commas between them */
    char stream[NATS_STREAM_SIZE];
};

/*
 * Reads nats://HOST[:PORT][,nats://HOST...]/STREAM; tls:// is a scheme as well. ERROR_USAGE for
 * anything else; the message does not repeat the text, which may have a password in it.
 */
int nats_address_parse(struct nats_address *address, const char *text, struct error *error);

/*
 * A connection to NATS with JetStream, and values in streams that keep one message for each
 * subject. Calls that a server does not answer, as while another takes over, are repeated for
 * half a minute. Errors are ERROR_INPUT (refused: credentials, a stream of another shape) or
 * ERROR_SYSTEM (not reached); no message has a secret in it.
 */

/* How to connect. Strings are borrowed; NULL: not given. */
struct nats_access {
    const char *url; /* several with commas between them */
    const char *credentials;
    const char *ca, *certificate, *key; /* files, PEM */
};

enum { NATS_NAME_SIZE = 256 };

struct nats_link {
    natsConnection *connection;
    jsCtx *js;
    atomic_bool refused;       /* the server has refused a subject; a thread of libnats sets it */
    char name[NATS_NAME_SIZE]; /* the URL without user and password */
};

/* 0, or -1; nats_link_close() in any case. All zeros may be closed. It stays where it is. */
int nats_link_open(struct nats_link *link, const struct nats_access *access, struct error *error);
void nats_link_close(struct nats_link *link);

/* A stream, all of whose subjects begin with `subject`, which ends with ".>". */
struct nats_stream {
    const char *name, *subject;
    bool is_queue; /* a message is gone when it is acknowledged */
};

/* Checks that the stream is of that shape; where `replicas` is not 0, makes it if it is missing. */
int nats_link_stream(struct nats_link *link, const struct nats_stream *stream, int replicas,
                     struct error *error);

/* Appends the value of a subject. */
int nats_link_get(struct nats_link *link, const char *stream, const char *subject,
                  struct buf *value, bool *found, struct error *error);

/* The same, and when it was set: nanoseconds since the epoch, of the server's clock; 0: it has
 * none. */
int nats_link_get_dated(struct nats_link *link, const char *stream, const char *subject,
                        struct buf *value, int64_t *time, struct error *error);

/* Sets it and *added, if the subject has none. */
int nats_link_add(struct nats_link *link, const char *stream, const char *subject,
                  const void *bytes, size_t length, bool *added, struct error *error);

/* Sets it, whatever it was. */
int nats_link_set(struct nats_link *link, const char *stream, const char *subject,
                  const void *bytes, size_t length, struct error *error);

/* Removes the message of a subject from its stream, if there is one. */
int nats_link_remove(struct nats_link *link, const char *stream, const char *subject,
                     struct error *error);

/* How many messages a stream has. */
int nats_link_count(struct nats_link *link, const char *stream, uint64_t *count,
                    struct error *error);

/*
 * The server's time, nanoseconds since the epoch. No message says it, but when something was made:
 * a consumer of the stream, which the server takes away again. Where the credentials do not allow
 * that, *exact is false, and it is the time of the stream's last message, or 0.
 */
int nats_link_time(struct nats_link *link, const char *stream, int64_t *now, bool *exact,
                   struct error *error);

/* Calls each() with the subjects of a stream that match. */
int nats_link_subjects(struct nats_link *link, const char *stream, const char *filter,
                       int (*each)(void *context, const char *subject, struct error *error),
                       void *context, struct error *error);

/* Sets the error for a status of libnats; -1. */
int nats_link_fail(const struct nats_link *link, natsStatus status, jsErrCode code,
                   const char *what, struct error *error);

/* Returns true if the call may be repeated, after a short wait. `tries` is counted from 0. */
bool nats_link_again(struct nats_link *link, natsStatus status, jsErrCode code, int *tries);

/*
 * The messages of a JetStream stream in their order, from any sequence number on. The server keeps
 * no place for the reader, who knows its own. Calls wait; they belong in a thread of their own.
 */
struct nats_reader {
    struct nats_link *link; /* borrowed, like the name */
    const char *stream;
    int64_t created; /* nanoseconds since the epoch: a later stream of this name has another */
    uint64_t next;   /* sequence number of the message that comes next */

    natsSubscription *subscription; /* NULL: gaspipe has no consumer on the server */
    uint64_t pending;               /* messages that the server had after the last one */
    int missing;                    /* times in a row that the stream was not found */
};

/*
 * Checks that the stream is there and keeps its messages; sets `created`. `next` is 1 then. -1 with
 * ERROR_INPUT (no such stream, one of another shape, not authorized) or ERROR_SYSTEM.
 */
int nats_reader_open(struct nats_reader *reader, struct nats_link *link, const char *stream,
                     struct error *error);

/* Waits up to a second for messages, and calls each() for them. -1 with ERROR_INPUT if the stream
 * has lost messages that are due, or is another one; with ERROR_SYSTEM if the call may be repeated
 * after a pause. */
int nats_reader_fetch(struct nats_reader *reader,
                      int (*each)(void *context, uint64_t sequence, const char *bytes,
                                  size_t length, struct error *error),
                      void *context, struct error *error);

/* The link stays open. All zeros may be closed. */
void nats_reader_close(struct nats_reader *reader);

/* Publishes into whichever stream takes a subject, each message once. Calls wait. */
struct nats_writer {
    struct nats_link *link; /* borrowed */
    char stream[NATS_STREAM_SIZE];
};

/* `subject` is one that will be published to. -1 with ERROR_INPUT if no stream takes it. */
int nats_writer_open(struct nats_writer *writer, struct nats_link *link, const char *subject,
                     struct error *error);

/* Stores a message on a subject that has none, or this message already. -1 with ERROR_INPUT if it
 * has a message with another ID; with ERROR_SYSTEM if the call may be repeated after a pause. */
int nats_writer_put(struct nats_writer *writer, const char *subject, const char *id,
                    const char *bytes, size_t length, struct error *error);

/* A time as NATS writes it in JSON, "2026-11-22T23:11:12.5Z" with up to nine decimals, in
 * nanoseconds since the epoch. False: it is none. */
bool nats_time_read(const char *text, int64_t *nanoseconds);

#endif
