/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_BUF_H
#define GASPIPE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * The growing byte buffer.
 *
 * A `struct buf` of all zeros is empty. It allocates memory when first written to, and buf_free()
 * frees it. When out of memory, `failed` is set: later appends do nothing, and the contents stay.
 * So a writer may append many times and check once, at the end, with buf_failed().
 *
 * The bytes are not terminated; buf_string() terminates them to make a C string.
 */
struct buf {
    char *data; /* owned; NULL before the first append */
    size_t length;
    size_t capacity;
    bool failed;
};

/* Called by buf_reserve() when it must grow. */
int buf_grow(struct buf *buf, size_t more);

/* Not inlined for Clang's analyzer, except in buf.c: each call multiplies the paths that it
 * follows, and it stopped early in functions that append often. */
#if defined __clang_analyzer__ && !defined GASPIPE_BASE_BUF_BODIES
int buf_reserve(struct buf *buf, size_t more);
int buf_append(struct buf *buf, const void *bytes, size_t length);
int buf_append_byte(struct buf *buf, char byte);
#else
/* Makes space for `more` bytes. 0, or -1 when out of memory or size_t. */
static inline int buf_reserve(struct buf *buf, size_t more)
{
    if (!buf->failed && more <= buf->capacity - buf->length)
        return 0;
    return buf_grow(buf, more);
}

/* Append and return 0, or -1 with buf->failed set. */
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

/* Empties the buffer and resets `failed`; keeps up to BUF_KEPT_MAX bytes of memory. */
enum { BUF_KEPT_MAX = 2 << 20 };
void buf_clear(struct buf *buf);

/* Frees the memory; the buffer can be used again. */
void buf_free(struct buf *buf);

/* The bytes, terminated by '\0', owned by the buffer; NULL when out of memory. */
const char *buf_string(struct buf *buf);

static inline bool buf_failed(const struct buf *buf)
{
    return buf->failed;
}

/* Appends a decimal number with commas, right-aligned in `width` columns: "-1234.5" as "-1,234.5".
 */
void buf_append_grouped(struct buf *buf, int width, const char *number);

#endif
