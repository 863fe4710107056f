/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/plain_syscall.h"

#include <string.h>

static const char before_syscall[] = "[\"syscall\",";

static const struct {
    const char *opening; /* with the quote that ends its word */
    struct vat_syscall syscall;
    bool has_value;
} plain_shapes[] = {
    {"[\"vatstoreGet\"", {.kind = VAT_SYSCALL_STORE_GET, .name = "vatstoreGet"}, false},
    {"[\"vatstoreSet\"", {.kind = VAT_SYSCALL_STORE_SET, .name = "vatstoreSet"}, true},
    {"[\"vatstoreDelete\"", {.kind = VAT_SYSCALL_STORE_DELETE, .name = "vatstoreDelete"}, false},
    {"[\"vatstoreGetNextKey\"",
     {.kind = VAT_SYSCALL_STORE_NEXT_KEY, .name = "vatstoreGetNextKey"},
     false},
};

/* Passes over the word at *at. */
static bool skip_word(const char **at, const char *end, const char *word)
{
    const size_t length = strlen(word);

    if ((size_t)(end - *at) < length || memcmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

/* A comma and a string without escapes. */
static bool take_plain_text(const char **at, const char *end, struct vat_text *text)
{
    const char *bytes;

    if (!skip_word(at, end, ",\""))
        return false;
    for (bytes = *at; *at < end && **at != '"'; (*at)++)
        if (**at < ' ' || **at > '~' || **at == '\\')
            return false;
    *text = (struct vat_text){bytes, (size_t)(*at - bytes)};
    return skip_word(at, end, "\"");
}

static bool take_shape(struct vat_syscall *syscall, size_t shape, const char *at, const char *end)
{
    const char *bytes = at;
    struct vat_syscall taken = plain_shapes[shape].syscall;

    if (!skip_word(&at, end, plain_shapes[shape].opening) ||
        !take_plain_text(&at, end, &taken.key) ||
        (plain_shapes[shape].has_value && !take_plain_text(&at, end, &taken.value)) ||
        !skip_word(&at, end, "]"))
        return false;
    taken.text = (struct vat_text){bytes, (size_t)(at - bytes)};
    if (!skip_word(&at, end, "]") || at != end)
        return false;
    *syscall = taken;
    return true;
}

bool plain_syscall_read(struct vat_syscall *syscall, const char *json, size_t length)
{
    const char *at = json, *end = json + length;

    if (!skip_word(&at, end, before_syscall))
        return false;
    for (size_t shape = 0; shape < sizeof plain_shapes / sizeof *plain_shapes; shape++)
        if (take_shape(syscall, shape, at, end))
            return true;
    return false;
}
