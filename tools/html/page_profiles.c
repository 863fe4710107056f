/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_profiles.h"

#include <jansson.h>

#include "base/buf.h"
#include "tools/input/profile_tree.h"

struct page_reading {
    struct page_profiles *profiles;
    struct page_file *file;
    uint64_t limit;
};

static int put_tree(void *context, const json_t *tree, const struct reader_line *line,
                    struct error *error)
{
    const struct page_reading *const reading = context;
    struct page_profiles *const profiles = reading->profiles;
    struct buf json = {0};
    int result;

    (void)tree;
    if (line->length > reading->limit || profiles->bytes > reading->limit - line->length) {
        profiles->hidden++;
        return 0;
    }
    buf_append(&json, line->bytes, line->length);
    result = page_file_add(reading->file, "profile", &json, error);
    buf_free(&json);
    profiles->trees++;
    profiles->bytes += line->length;
    return result;
}

int page_profiles_add(struct page_profiles *profiles, struct page_file *file, const char *path,
                      uint64_t limit, struct error *error)
{
    struct page_reading reading = {profiles, file, limit};

    return profile_tree_read(path, put_tree, &reading, error);
}
