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
    int file;          /* 0: none yet */
};

/* -1 with ERROR_SYSTEM. object_writer_free() in any case; one that is all zeros may be freed. */
int object_writer_open(struct object_writer *writer, struct error *error);
int object_writer_add(struct object_writer *writer, const void *bytes, size_t length,
                      struct error *error);

/* Passes the object to the transport, unless that has it already. */
int object_writer_put(struct object_writer *writer, struct fleet_transport *transport,
                      char hash[FLEET_HASH_SIZE], struct error *error);
void object_writer_free(struct object_writer *writer);

/* Puts an object from memory. */
int fleet_object_put(struct fleet_transport *transport, const void *bytes, size_t length,
                     char hash[FLEET_HASH_SIZE], struct error *error);

/* Puts an object from a file. *size: bytes of the file. -1 with ERROR_INPUT (missing or unreadable)
 * or ERROR_SYSTEM. */
int fleet_object_put_file(struct fleet_transport *transport, const char *path,
                          char hash[FLEET_HASH_SIZE], int64_t *size, struct error *error);

/*
 * Writes the object's content to a new file, and checks its hash. `what` is its name in messages.
 * -1 with ERROR_INPUT (missing or damaged) or ERROR_SYSTEM.
 */
int fleet_object_get(struct fleet_transport *transport, const char *hash, const char *what,
                     const char *path, struct error *error);

/*
 * A transport for objects only, for a span that is cut out of its source by the worker that replays
 * it: objects become files object-HASH in the worker's directory. With NULL as directory, nothing
 * is kept, and has_object() finds nothing.
 */
struct span_objects {
    struct fleet_transport transport;
    const char *directory; /* borrowed */
};

struct fleet_transport *span_objects_init(struct span_objects *objects, const char *directory);

/* Files and directories below a directory that all workers reach, each by its own path (--shared
 * DIR). */

/* The path relative to the directory, as a JSON string. NULL with ERROR_INPUT (missing, not below
 * it, not UTF-8) or ERROR_SYSTEM. */
json_t *shared_path_below(const char *directory, const char *path, struct error *error);

/* Returns true if a job may name the path: relative, without "..". */
bool shared_path_is(const json_t *value);

/* The path on this machine. -1 with ERROR_SYSTEM if the directory is not given (NULL) or missing:
 * that is this machine's fault, not the job's. -1 with ERROR_INPUT if the path is too long. */
int shared_path_find(const char *directory, const char *below, char path[PATH_MAX],
                     struct error *error);

#endif
