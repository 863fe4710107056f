/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SPAN_FLEET_OBJECT_H
#define GASPIPE_SUPERVISOR_FLEET_SPAN_FLEET_OBJECT_H

#include <openssl/evp.h>

#include "base/output/packer.h"
#include "supervisor/fleet/transport/transport.h"

/* An object that is written piece by piece, hashed and compressed as it comes: in memory as long as
 * it is small, then in a file in TMPDIR. */
struct object_writer {
    struct packer *packer;
    EVP_MD_CTX *digest;
    struct buf packed; /* that is not in the file yet */
    int file;          /* 0: none yet, since it is none of the standard ones */
};

/* -1 with ERROR_SYSTEM. object_writer_free() in any case; one that is all zeros may be freed. */
int object_writer_open(struct object_writer *writer, struct error *error);
int object_writer_add(struct object_writer *writer, const void *bytes, size_t length,
                      struct error *error);

/* Hands it to the transport, unless that has it. */
int object_writer_put(struct object_writer *writer, struct fleet_transport *transport,
                      char hash[FLEET_HASH_SIZE], struct error *error);
void object_writer_free(struct object_writer *writer);

/* An object out of memory. */
int fleet_object_put(struct fleet_transport *transport, const void *bytes, size_t length,
                     char hash[FLEET_HASH_SIZE], struct error *error);

/* One out of a file. *size: of that, in bytes. -1 with ERROR_INPUT (not there, or not readable) or
 * ERROR_SYSTEM. */
int fleet_object_put_file(struct fleet_transport *transport, const char *path,
                          char hash[FLEET_HASH_SIZE], int64_t *size, struct error *error);

/*
 * Writes what the object holds to a new file, and checks its hash. `what` is how messages call it.
 * -1 with ERROR_INPUT (missing or damaged) or ERROR_SYSTEM.
 */
int fleet_object_get(struct fleet_transport *transport, const char *hash, const char *what,
                     const char *path, struct error *error);

#endif
