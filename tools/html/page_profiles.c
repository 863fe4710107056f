/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_profiles.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "slog/read/reader.h"
#include "tools/input/profile_tree.h"

static int put_tree(struct page_profiles *profiles, struct page_file *file,
                    const struct reader_line *line, uint64_t limit, struct error *error)
{
    struct buf json = {0};
    int result;

    if (line->length > limit || profiles->bytes > limit - line->length) {
        profiles->hidden++;
        return 0;
    }
    buf_append(&json, line->bytes, line->length);
    result = page_file_add(file, "profile", &json, error);
    buf_free(&json);
    profiles->trees++;
    profiles->bytes += line->length;
    return result;
}

/* The other kinds say nothing that a tree does not. */
static int add_line(struct page_profiles *profiles, struct page_file *file, const char *path,
                    const struct reader_line *line, uint64_t limit, struct error *error)
{
    json_t *parsed;
    const char *kind;
    int result = 0;

    if (line->length == 0 || line->torn)
        return 0;
    parsed = line->too_long ? NULL : json_loadb(line->bytes, line->length, 0, NULL);
    kind = json_string_value(json_object_get(parsed, "kind"));
    if (kind == NULL || (strcmp(kind, "tree") == 0 && !profile_tree_is(parsed)))
        result = error_set(error, ERROR_INPUT,
                           "%s:%" PRIu64 ": not a line of a profile, as gaspipe run --profile or "
                           "--native-profile writes it",
                           path, line->number);
    else if (strcmp(kind, "tree") == 0)
        result = put_tree(profiles, file, line, limit, error);
    json_decref(parsed);
    return result;
}

int page_profiles_add(struct page_profiles *profiles, struct page_file *file, const char *path,
                      uint64_t limit, struct error *error)
{
    struct reader *reader = reader_open(path, error);
    struct reader_line line;
    int result;

    if (reader == NULL)
        return -1;
    while ((result = reader_next(reader, false, &line, error)) == 1 &&
           add_line(profiles, file, path, &line, limit, error) == 0)
        continue;
    reader_close(reader);
    return result == 0 ? 0 : -1;
}
