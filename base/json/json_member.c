/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_member.h"

#include <math.h>
#include <string.h>

#include "base/json/json_text.h"

void json_member(struct buf *out, const char *name)
{
    buf_append_string(out, ",\"");
    buf_append_string(out, name);
    buf_append_string(out, "\":");
}

void json_member_null(struct buf *out, const char *name)
{
    json_member(out, name);
    buf_append_string(out, "null");
}

void json_member_text(struct buf *out, const char *name, const char *text)
{
    json_member(out, name);
    json_text_string(out, text, strlen(text));
}

void json_member_text_or_null(struct buf *out, const char *name, const char *text)
{
    if (text[0] == '\0')
        json_member_null(out, name);
    else
        json_member_text(out, name, text);
}

void json_member_integer(struct buf *out, const char *name, int64_t number)
{
    json_member(out, name);
    if (number == INT64_MIN)
        buf_append_string(out, "null");
    else
        json_text_integer(out, number);
}

void json_member_seconds(struct buf *out, const char *name, int64_t nanoseconds)
{
    json_member(out, name);
    if (nanoseconds == INT64_MIN)
        buf_append_string(out, "null");
    else
        json_text_nanoseconds(out, nanoseconds);
}

void json_member_number(struct buf *out, const char *name, double number)
{
    json_member(out, name);
    if (isfinite(number))
        buf_printf(out, "%.17g", number);
    else
        buf_append_string(out, "null");
}
