/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_NATS_RECORDS_H
#define GASPIPE_SUPERVISOR_FLEET_NATS_RECORDS_H

#include "supervisor/fleet/transport.h"
#include "supervisor/nats.h"

/* Objects, in pieces that fit in a message, and records of any length. */

enum { NATS_PIECE_SIZE = 512 * 1024, NATS_SUBJECT_SIZE = 160 };

#define NATS_OBJECTS "GASPIPE_OBJECTS"
#define NATS_RECORDS "GASPIPE_RECORDS"

int nats_object_has(struct nats_link *link, const char *hash, bool *found, struct error *error);

/* From the file's start. */
int nats_object_put(struct nats_link *link, const char *hash, int file, struct error *error);

/* Writes into the file, from its place on. */
int nats_object_get(struct nats_link *link, const char *hash, int file, bool *found,
                    struct error *error);

/* gaspipe.record.KIND.KEY: kept once. */
int nats_record_put(struct nats_link *link, const char *kind, const char *key,
                    const struct buf *text, bool *added, struct error *error);
int nats_record_get(struct nats_link *link, const char *kind, const char *key, struct buf *text,
                    bool *found, struct error *error);

#endif
