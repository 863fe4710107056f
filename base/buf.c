/* SPDX-License-Identifier: Apache-2.0 */
/* For the analyzer: the header says why. */
#define GASPIPE_BASE_BUF_BODIES

#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/format.h"

enum { BUF_FIRST_CAPACITY = 256 };

static int buf_fail(struct buf *buf)
{
    buf->failed = true;
    return -1;
}

int buf_grow(struct buf *buf, size_t more)
{
    size_t needed, capacity;
    char *data;

    if (buf->failed)
        return -1;
    if (more > SIZE_MAX - buf->length)
        return buf_fail(buf);
    needed = buf->length + more;
    if (needed <= buf->capacity)
        return 0;
    capacity = buf->capacity ? buf->capacity : BUF_FIRST_CAPACITY;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    data = realloc(buf->data, capacity);
    if (data == NULL)
        return buf_fail(buf);
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

int buf_append_string(struct buf *buf, const char *string)
{
    return buf_append(buf, string, strlen(string));
}

int buf_printf(struct buf *buf, const char *format, ...)
{
    size_t space = buf->failed ? 0 : buf->capacity - buf->length;
    va_list args;
    int length;

    va_start(args, format);
    length = format_arguments(space > 0 ? buf->data + buf->length : NULL, space, format, args);
    va_end(args);
    if (length < 0)
        return buf_fail(buf);
    /* One more than the text, for its '\0'. */
    if (buf_reserve(buf, (size_t)length + 1) != 0)
        return -1;
    if ((size_t)length >= space) {
        va_start(args, format);
        format_arguments(buf->data + buf->length, (size_t)length + 1, format, args);
        va_end(args);
    }
    buf->length += (size_t)length;
    return 0;
}

void buf_consume(struct buf *buf, size_t length)
{
    buf->length -= length;
    if (buf->length == 0 && buf->capacity > BUF_KEPT_MAX && !buf->failed)
        buf_free(buf);
    else if (length > 0)
        memmove(buf->data, buf->data + length, buf->length);
}

void buf_clear(struct buf *buf)
{
    if (buf->capacity > BUF_KEPT_MAX)
        buf_free(buf);
    buf->length = 0;
    buf->failed = false;
}

void buf_free(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

const char *buf_string(struct buf *buf)
{
    if (buf_reserve(buf, 1) != 0)
        return NULL;
    buf->data[buf->length] = '\0';
    return buf->data;
}

void buf_append_grouped(struct buf *buf, int width, const char *number)
{
    const char *const point = number + strcspn(number, ".");
    const size_t digits = (size_t)(point - number) - (*number == '-');
    const int length = (int)(strlen(number) + (digits > 0 ? (digits - 1) / 3 : 0));

    buf_printf(buf, "%*s", width > length ? width - length : 0, "");
    for (const char *at = number; *at != '\0'; at++) {
        buf_append_byte(buf, *at);
        if (*at != '-' && at + 1 < point && (point - at - 1) % 3 == 0)
            buf_append_byte(buf, ',');
    }
}
