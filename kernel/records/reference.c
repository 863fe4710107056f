/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/reference.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/format.h"

static const char letters[] = {
    [REFERENCE_OBJECT] = 'o',
    [REFERENCE_DEVICE] = 'd',
    [REFERENCE_PROMISE] = 'p',
};

static bool read_kind(char letter, enum reference_kind *kind)
{
    for (size_t i = 0; i < sizeof letters; i++) {
        if (letters[i] == letter) {
            *kind = (enum reference_kind)i;
            return true;
        }
    }
    return false;
}

/* A number in its one spelling, at *at; moves *at behind it. */
static bool read_id(const char **at, const char *end, int64_t *id)
{
    const char *start = *at;
    int64_t number = 0;

    while (*at < end && **at >= '0' && **at <= '9') {
        number = number * 10 + (**at - '0');
        if (number > REFERENCE_LIMIT)
            return false;
        (*at)++;
    }
    *id = number;
    return *at > start && (*start != '0' || *at == start + 1);
}

static bool skip(const char **at, const char *end, char expected)
{
    if (*at == end || **at != expected)
        return false;
    (*at)++;
    return true;
}

/* Behind "o+d" or "o+v": KIND/INSTANCE or KIND/INSTANCE:FACET. */
static bool read_virtual(const char *at, const char *end)
{
    int64_t id;

    return read_id(&at, end, &id) && skip(&at, end, '/') && read_id(&at, end, &id) &&
           (at == end || (skip(&at, end, ':') && read_id(&at, end, &id) && at == end));
}

bool reference_read_vref(struct vref *vref, const char *bytes, size_t length)
{
    const char *at = bytes + 2, *end = bytes + length;
    int64_t id;

    if (length < 3 || length >= VREF_SIZE || !read_kind(bytes[0], &vref->kind) ||
        (bytes[1] != '+' && bytes[1] != '-'))
        return false;
    vref->by_vat = bytes[1] == '+';
    memcpy(vref->text, bytes, length);
    vref->text[length] = '\0';
    if (vref->kind == REFERENCE_OBJECT && vref->by_vat && (*at == 'd' || *at == 'v'))
        return read_virtual(at + 1, end);
    return read_id(&at, end, &id) && at == end;
}

bool reference_read_kref(enum reference_kind *kind, const char *text)
{
    const char *at, *end;
    int64_t id;

    if (text == NULL)
        return false;
    end = text + strlen(text);
    if (end - text < 3 || text[0] != 'k' || !read_kind(text[1], kind))
        return false;
    at = text + 2;
    return read_id(&at, end, &id) && at == end;
}

enum reference_kind reference_kref_kind(const char *kref)
{
    enum reference_kind kind = REFERENCE_OBJECT;

    (void)read_kind(kref[1], &kind);
    return kind;
}

void reference_make_kref(char kref[KERNEL_REF_SIZE], enum reference_kind kind, int64_t id)
{
    format_text(kref, KERNEL_REF_SIZE, "k%c%" PRId64, letters[kind], id);
}

void reference_make_import(char vref[VREF_SIZE], enum reference_kind kind, int64_t id)
{
    format_text(vref, VREF_SIZE, "%c-%" PRId64, letters[kind], id);
}

char reference_letter(enum reference_kind kind)
{
    return letters[kind];
}

bool reference_read_number(const char *text, char letter, int64_t *number)
{
    const char *at;

    if (text == NULL || text[0] != letter)
        return false;
    at = text + 1;
    return read_id(&at, text + strlen(text), number) && *at == '\0';
}
