/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/slog_parts.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

const char *slog_parts_path(struct buf *name, const char *path, int64_t part)
{
    static const char suffix[] = ".zst";
    size_t length = strlen(path), suffix_length = strlen(suffix);
    size_t stem = length;

    buf_clear(name);
    if (length >= suffix_length && strcmp(path + length - suffix_length, suffix) == 0)
        stem -= suffix_length;
    buf_append(name, path, stem);
    if (part > 0)
        buf_printf(name, ".%" PRId64, part);
    buf_append(name, path + stem, length - stem);
    return buf_string(name);
}

int slog_parts_last(const char *path, int64_t *part, struct error *error)
{
    struct buf name = {0};
    const char *next = slog_parts_path(&name, path, 1);

    *part = 0;
    while (next != NULL && access(next, F_OK) == 0) {
        ++*part;
        next = slog_parts_path(&name, path, *part + 1);
    }
    buf_free(&name);
    return next == NULL ? error_memory(error, "the slogfile") : 0;
}
