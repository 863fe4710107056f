/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_NATS_NATS_WRITER_H
#define GASPIPE_SUPERVISOR_NATS_NATS_WRITER_H

#include <stddef.h>

#include "base/error.h"
#include "supervisor/nats/nats_address.h"
#include "supervisor/nats/nats_link.h"

/* Publishes into whichever stream takes a subject, each message once. Calls wait. */
struct nats_writer {
    struct nats_link *link; /* borrowed */
    char stream[NATS_STREAM_SIZE];
};

/* `subject` is one that will be published to. -1 with ERROR_INPUT if no stream takes it. */
int nats_writer_open(struct nats_writer *writer, struct nats_link *link, const char *subject,
                     struct error *error);

/*
 * Stores a message on a subject that has no other one. 0 also if the message with this ID is there
 * already. -1 with ERROR_INPUT: the subject has a message with another ID; ERROR_SYSTEM: it may be
 * repeated, after a pause.
 */
int nats_writer_put(struct nats_writer *writer, const char *subject, const char *id,
                    const char *bytes, size_t length, struct error *error);

#endif
