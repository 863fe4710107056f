/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_OBJECT_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_OBJECT_H

#include <jansson.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/output/packer.h"
#include "supervisor/fleet/transport.h"

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

/*
 * A transport of objects alone, for a span that is cut out of its source where it is replayed: they
 * become files in a directory of the worker's, object-HASH. With NULL for a directory nothing is
 * kept, and has_object() finds nothing.
 */
struct span_objects {
    struct fleet_transport transport;
    const char *directory; /* borrowed */
};

struct fleet_transport *span_objects_init(struct span_objects *objects, const char *directory);

/* Files and directories below a directory that all workers reach, each by its own path (--shared
 * DIR). */

/* Where it is below the directory, as a JSON string. NULL with ERROR_INPUT (not there, not below
 * it, not UTF-8) or ERROR_SYSTEM. */
json_t *shared_path_below(const char *directory, const char *path, struct error *error);

/* Whether a job may name it: no "..", and not from the root. */
bool shared_path_is(const json_t *value);

/* The path on this machine. -1 with ERROR_SYSTEM where the directory is not given (NULL) or not
 * there: whatever is wrong with it is wrong with this machine, and not with the job; with
 * ERROR_INPUT where the path is too long. */
int shared_path_find(const char *directory, const char *below, char path[PATH_MAX],
                     struct error *error);

#endif
