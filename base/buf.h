/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_BUF_H
#define GASPIPE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * The one growing byte buffer.
 *
 * A `struct buf` that is all zeros is an empty buffer; it takes memory when
 * first written to and gives it back in buf_free(). When memory runs out the
 * buffer remembers it: `failed` stays set, later appends do nothing, and what
 * was in it before stays. So a writer may append many times and look once, at
 * the end, with buf_failed().
 *
 * The bytes are not terminated; buf_string() terminates them where a C string
 * is wanted.
 */
struct buf {
    char *data; /* owned; NULL while nothing was ever appended */
    size_t length;
    size_t capacity;
    bool failed;
};

/* For buf_reserve(), where there is no room. */
int buf_grow(struct buf *buf, size_t more);

/*
 * Clang's analyzer does not go into these where they are called, as it does not go into other
 * files: each call would multiply the paths that it follows, and it gave up on functions that
 * append much. In buf.c, which defines GASPIPE_BASE_BUF_BODIES, it sees them.
 */
#if defined __clang_analyzer__ && !defined GASPIPE_BASE_BUF_BODIES
int buf_reserve(struct buf *buf, size_t more);
int buf_append(struct buf *buf, const void *bytes, size_t length);
int buf_append_byte(struct buf *buf, char byte);
#else
/* Makes room for `more` further bytes. 0, or -1 when memory or size_t ran out. */
static inline int buf_reserve(struct buf *buf, size_t more)
{
    if (!buf->failed && more <= buf->capacity - buf->length)
        return 0;
    return buf_grow(buf, more);
}

/* Each appends and returns 0, or -1 with buf->failed set. */
static inline int buf_append(struct buf *buf, const void *bytes, size_t length)
{
    if (buf_reserve(buf, length) != 0)
        return -1;
    if (length > 0)
        memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    return 0;
}

static inline int buf_append_byte(struct buf *buf, char byte)
{
    if (buf_reserve(buf, 1) != 0)
        return -1;
    buf->data[buf->length++] = byte;
    return 0;
}
#endif

int buf_append_string(struct buf *buf, const char *string);
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the first `length` bytes away; `length` is at most buf->length. */
void buf_consume(struct buf *buf, size_t length);

/* Empties the buffer and forgets a failure; keeps the memory, up to BUF_KEPT_MAX bytes. */
enum { BUF_KEPT_MAX = 2 << 20 };
void buf_clear(struct buf *buf);

/* Gives the memory back; the buffer can be used again. */
void buf_free(struct buf *buf);

/* The bytes with a '\0' behind them, owned by the buffer; NULL when memory ran out. */
const char *buf_string(struct buf *buf);

static inline bool buf_failed(const struct buf *buf)
{
    return buf->failed;
}

#endif
