/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_SPOOL_H
#define GASPIPE_BASE_OUTPUT_SPOOL_H

#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/* Returns TMPDIR, or /tmp. */
const char *temporary_file_place(void);

/* Opens an unnamed file in TMPDIR for reading and writing; closing it removes it. Returns -1 with
 * ERROR_SYSTEM. */
int temporary_file_open(struct error *error);

/* A sequence of bytes that may become long: bytes beyond SPOOL_MEMORY go to an unnamed temporary
 * file. All zeros is an empty spool. After a failed append, later ones do nothing, and the
 * functions that read report the failure. */
enum { SPOOL_MEMORY = 1 << 20 };

struct spool {
    struct buf tail; /* the last bytes */
    size_t written;  /* bytes before the tail, in the file */
    size_t taken;    /* bytes consumed from the front */
    int file;        /* its descriptor plus one; 0: not opened */
    struct error failure;
};

/* Sets the directory of later spools' files, which must exist. Default: $TMPDIR or /tmp. */
void spool_keep_in(const char *path);

/* For spool_append(), if the memory does not suffice. */
void spool_append_slowly(struct spool *spool, const void *bytes, size_t length);

/* Inline: a crank appends about two hundred pieces of a few bytes. */
static inline void spool_append(struct spool *spool, const void *bytes, size_t length)
{
    if (length > spool->tail.capacity - spool->tail.length || spool->failure.kind != ERROR_NONE)
        spool_append_slowly(spool, bytes, length);
    else
        (void)buf_append(&spool->tail, bytes, length); /* cannot fail: it has the capacity */
}

void spool_append_string(struct spool *spool, const char *string);

static inline size_t spool_length(const struct spool *spool)
{
    return spool->written - spool->taken + spool->tail.length;
}

/* Keeps only the first `length` bytes. With 0 it also clears a failure. */
void spool_truncate(struct spool *spool, size_t length);

/* Inserts bytes before the one at `place`; fails like an append. */
void spool_insert(struct spool *spool, size_t place, const void *bytes, size_t length);

/* Reads `length` bytes at `place`, which must exist. Returns -1 with ERROR_SYSTEM. */
int spool_read(const struct spool *spool, size_t place, void *bytes, size_t length,
               struct error *error);

/* Takes the first `length` bytes away; `length` is at most spool_length(). */
void spool_consume(struct spool *spool, size_t length);

/* Returns 0, or -1 with ERROR_SYSTEM if an append failed since the spool was empty. */
int spool_check(const struct spool *spool, struct error *error);

/* Calls take() for all bytes, one piece after the other, until it returns other than 0, which is
 * returned. -1 with ERROR_SYSTEM when the spool failed or cannot be read. */
int spool_each(struct spool *spool, int (*take)(void *context, struct iovec piece), void *context,
               struct error *error);

/* Returns all bytes in one block, valid until the spool changes or spool_unmap(). They are in
 * memory, or mapped from the file, whose pages Linux can reclaim. Returns -1 with ERROR_SYSTEM. */
int spool_map(struct spool *spool, struct iovec *bytes, struct error *error);
void spool_unmap(const struct spool *spool, struct iovec bytes);

void spool_free(struct spool *spool);

#endif
