/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_NATS_NATS_LINK_H
#define GASPIPE_SUPERVISOR_NATS_NATS_LINK_H

#include <nats/nats.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

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
    atomic_bool refused;       /* the server has refused a subject, which nothing else tells */
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

/* Sets it, if the subject has none, which *added tells. */
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

/* What a status of libnats means; -1. */
int nats_link_fail(const struct nats_link *link, natsStatus status, jsErrCode code,
                   const char *what, struct error *error);

/* The same of a failure that may pass: always ERROR_SYSTEM. */
int nats_link_fail_for_now(const struct nats_link *link, natsStatus status, jsErrCode code,
                           const char *what, struct error *error);

/* Whether the call may be repeated; waits a little if so. `tries` is counted from 0. */
bool nats_link_again(struct nats_link *link, natsStatus status, jsErrCode code, int *tries);

#endif
