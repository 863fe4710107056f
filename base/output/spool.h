/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_SPOOL_H
#define GASPIPE_BASE_OUTPUT_SPOOL_H

#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/* TMPDIR, or /tmp. */
const char *temporary_file_place(void);

/* A file there without a name, for reading and writing, which is gone when it is closed. -1 with
 * ERROR_SYSTEM. */
int temporary_file_open(struct error *error);

/* The same in another directory. */
int temporary_file_open_in(const char *place, struct error *error);

/*
 * Bytes that may become many: what exceeds SPOOL_MEMORY goes to a temporary file without a name.
 * All zeros is an empty spool. An append that fails is remembered, and the later ones do nothing;
 * the functions that read report it.
 */
enum { SPOOL_MEMORY = 1 << 20 };

struct spool {
    struct buf tail; /* the last bytes */
    size_t written;  /* bytes before the tail, in the file */
    size_t taken;    /* bytes consumed from the front */
    int file;        /* its descriptor and one; 0: there is none yet */
    struct error failure;
};

/* Where spools make their files from now on: an existing directory. Else in $TMPDIR or /tmp. */
void spool_keep_in(const char *path);

/* For spool_append(), where the memory at hand does not suffice. */
void spool_append_slowly(struct spool *spool, const void *bytes, size_t length);

/* A crank appends some two hundred pieces of a few bytes. */
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

/* Keeps the first `length` bytes only. With 0 it also clears a failure. */
void spool_truncate(struct spool *spool, size_t length);

/* Puts bytes before the one at `place`; fails as an append does. */
void spool_insert(struct spool *spool, size_t place, const void *bytes, size_t length);

/* Reads `length` bytes at `place`, which there are. -1 with ERROR_SYSTEM. */
int spool_read(const struct spool *spool, size_t place, void *bytes, size_t length,
               struct error *error);

/* Takes the first `length` bytes away; `length` is at most spool_length(). */
void spool_consume(struct spool *spool, size_t length);

/* 0, or -1 with ERROR_SYSTEM: an append failed since the spool was empty. */
int spool_check(const struct spool *spool, struct error *error);

/* Calls take() for all bytes, one piece after the other, until it returns other than 0, which is
 * returned. -1 with ERROR_SYSTEM when the spool failed or cannot be read. */
int spool_each(struct spool *spool, int (*take)(void *context, struct iovec piece), void *context,
               struct error *error);

/*
 * All bytes in one place, until the spool changes or spool_unmap(): in memory, or in the file,
 * whose pages Linux can take back. -1 with ERROR_SYSTEM.
 */
int spool_map(struct spool *spool, struct iovec *bytes, struct error *error);
void spool_unmap(const struct spool *spool, struct iovec bytes);

void spool_free(struct spool *spool);

#endif
