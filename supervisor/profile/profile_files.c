/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/profile_files.h"

#include <jansson.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/number.h"

#define PACKED ".zst"

static int open_profile_file(struct profile_files *files, const char *path,
                             enum profile_format format, struct error *error)
{
    struct profile_file *const file = &files->files[files->count];
    const size_t length = path != NULL ? strlen(path) : 0;

    if (path == NULL)
        return 0;
    *file = (struct profile_file){.format = format};
    if (length >= strlen(PACKED) && strcmp(path + length - strlen(PACKED), PACKED) == 0 &&
        (file->packer = packer_new(error)) == NULL)
        return -1;
    if (output_file_open_growing(&file->file, path, "the profile", error) != 0) {
        packer_free(file->packer);
        return -1;
    }
    files->count++;
    return 0;
}

int profile_files_open(struct profile_files *files, struct profile_paths paths, struct error *error)
{
    if (open_profile_file(files, paths.json, PROFILE_JSON, error) != 0)
        return -1;
    return open_profile_file(files, paths.folded, PROFILE_FOLDED, error);
}

int profile_files_check_input(struct profile_paths paths, const char *input, struct error *error)
{
    const char *const outputs[] = {paths.json, paths.folded};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i] != NULL && output_file_check(outputs[i], "the profile", input, error) != 0)
            return -1;
    return 0;
}

int profile_files_put(struct profile_files *files, const struct profile *profile,
                      const struct profile_delivery *delivery, enum profile_frame frame,
                      struct error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        struct buf *const gathered = &files->files[i].gathered;

        if ((files->files[i].format == PROFILE_JSON
                 ? profile_put_lines(gathered, profile, delivery, error)
                 : profile_put_folded(gathered, profile, delivery, frame, error)) != 0)
            return -1;
    }
    return 0;
}

int profile_files_add(struct profile_files *files, const struct profiled_delivery *delivery,
                      struct error *error)
{
    struct profile profile;
    int result;

    if (delivery->profile.iov_len == 0 || files->count == 0)
        return 0;
    result = script_profile_read(&profile, delivery->profile,
                                 delivery->counted ? (int64_t)delivery->instructions : -1, error);
    if (result == 0)
        result =
            profile_files_put(files, &profile, &delivery->delivery, PROFILE_FRAME_SOURCE, error);
    profile_close(&profile);
    return result;
}

void profile_files_keep(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        files->files[i].kept = files->files[i].gathered.length;
}

void profile_files_undo(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        files->files[i].gathered.length = files->files[i].kept;
}

/* Compresses the lines if the file's name ends in .zst. */
static int write_gathered(struct profile_file *file, enum packer_end end, struct error *error)
{
    struct buf packed = {0};
    int result;

    if (file->packer == NULL || buf_failed(&file->gathered))
        return output_file_write(&file->file, &file->gathered, error);
    result =
        packer_add(file->packer, file->gathered.data, file->gathered.length, end, &packed, error);
    buf_clear(&file->gathered);
    if (result == 0)
        result = output_file_write(&file->file, &packed, error);
    buf_free(&packed);
    return result;
}

int profile_files_flush(struct profile_files *files, struct error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        struct profile_file *const file = &files->files[i];

        file->kept = 0;
        if ((file->gathered.length > 0 || buf_failed(&file->gathered)) &&
            write_gathered(file, PACKER_FLUSH, error) != 0)
            return -1;
    }
    return 0;
}

void profile_files_drop(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        buf_clear(&files->files[i].gathered);
        files->files[i].kept = 0;
    }
}

static int close_profile_file(struct profile_file *file, struct error *error)
{
    int result = 0;

    if (file->file.path != NULL) {
        result = write_gathered(file, PACKER_FINISH, error) == 0
                     ? output_file_finish(&file->file, error)
                     : -1;
        output_file_discard(&file->file);
    }
    packer_free(file->packer);
    buf_free(&file->gathered);
    return result;
}

int profile_files_close(struct profile_files *files, struct error *error)
{
    int result = 0;

    for (size_t i = 0; i < files->count; i++)
        if (close_profile_file(&files->files[i], error) != 0)
            result = -1;
    *files = (struct profile_files){0};
    return result;
}

static int bad_profile(struct error *error, const char *what)
{
    return error_set(error, ERROR_INPUT, "invalid profile from a worker: %s", what);
}

/* NULL becomes NULL. False without memory. */
static bool copy_profile_text(struct profile *profile, const json_t *row, size_t index,
                              const char **copy)
{
    const char *const text = json_string_value(json_array_get(row, index));

    *copy = text != NULL ? profile_texts_copy(&profile->texts, text) : NULL;
    return (text == NULL) == (*copy == NULL);
}

static bool profile_number_at(const json_t *row, size_t index, int64_t *number)
{
    const json_t *value = json_array_get(row, index);

    *number = json_integer_value(value);
    return json_is_integer(value);
}

static bool cost_at(const json_t *row, size_t index, struct profile_cost *cost)
{
    return profile_number_at(row, index, &cost->of[0]) &&
           profile_number_at(row, index + 1, &cost->of[1]) && cost->of[1] >= 0;
}

static int read_profile_function(struct profile *profile, const json_t *row, struct error *error)
{
    struct profile_function *const function = profile_add_function(profile);

    if (function == NULL || !copy_profile_text(profile, row, 0, &function->name) ||
        !copy_profile_text(profile, row, 1, &function->file))
        return error_memory(error, "a profile");
    return function->name != NULL && profile_number_at(row, 2, &function->line)
               ? 0
               : bad_profile(error, "a function is not [NAME,FILE,LINE]");
}

/* The first node is the engine, which the profile has as nodes[1]. */
static int read_profile_node(struct profile *profile, const json_t *row, struct error *error)
{
    const int64_t index = (int64_t)profile->node_count - 1;
    int64_t caller, function;
    struct profile_node node;
    size_t added;

    if (!profile_number_at(row, 0, &caller) || !profile_number_at(row, 1, &function) ||
        !profile_number_at(row, 2, &node.calls) || !cost_at(row, 3, &node.self) || caller < 0 ||
        (index > 0 && caller >= index) || function < 0 ||
        (size_t)function >= profile->function_count)
        return bad_profile(error, "a node is not [CALLER,FUNCTION,CALLS,COMPUTRONS,INSTRUCTIONS]");
    added = profile_add_node(profile, index > 0 ? (size_t)caller + 1 : 0, (size_t)function);
    if (added == 0)
        return error_memory(error, "a profile");
    profile->nodes[added].calls = node.calls;
    profile->nodes[added].self = node.self;
    return 0;
}

static int read_profile_line(struct profile *profile, const json_t *row, struct error *error)
{
    struct profile_line *const line = profile_add_line(profile);

    if (line == NULL || !copy_profile_text(profile, row, 0, &line->file))
        return error_memory(error, "a profile");
    line->function = PROFILE_NO_FUNCTION;
    return profile_number_at(row, 1, &line->line) && cost_at(row, 2, &line->self)
               ? 0
               : bad_profile(error, "a line is not [FILE,LINE,COMPUTRONS,INSTRUCTIONS]");
}

static int read_profile_rows(struct profile *profile, const json_t *document, const char *member,
                             int (*read_one)(struct profile *, const json_t *, struct error *),
                             struct error *error)
{
    const json_t *const rows = json_object_get(document, member);
    const json_t *row;
    size_t i;

    if (json_array_size(rows) == 0)
        return bad_profile(error, "no functions, nodes or lines");
    json_array_foreach((json_t *)rows, i, row)
    {
        if (read_one(profile, row, error) != 0)
            return -1;
    }
    return 0;
}

/* The worker's instructions around the command count for the engine. */
static void add_rest_to_engine(struct profile *profile, int64_t instructions)
{
    struct profile_cost rest = {.of = {0, instructions}};

    for (size_t i = 1; i < profile->node_count; i++)
        rest.of[1] = saturate_subtract(rest.of[1], profile->nodes[i].self.of[1]);
    profile_cost_add(&profile->nodes[1].self, &rest);
    profile_cost_add(&profile->lines[0].self, &rest);
}

static int read_profile_document(struct profile *profile, const json_t *document,
                                 int64_t instructions, struct error *error)
{
    if (read_profile_rows(profile, document, "functions", read_profile_function, error) != 0 ||
        read_profile_rows(profile, document, "nodes", read_profile_node, error) != 0 ||
        read_profile_rows(profile, document, "lines", read_profile_line, error) != 0)
        return -1;
    if (instructions >= 0) {
        profile->units[profile->unit_count++] = PROFILE_INSTRUCTIONS;
        add_rest_to_engine(profile, instructions);
    }
    return profile_sum(profile, error);
}

int script_profile_read(struct profile *profile, struct iovec json, int64_t instructions,
                        struct error *error)
{
    json_t *document;
    int result;

    if (!profile_init(profile, PROFILE_COMPUTRONS))
        return error_memory(error, "a profile");
    profile->has_root = true;
    document = json_value_read(json.iov_base, json.iov_len, JSON_DECODE_ANY, NULL);
    result = document != NULL ? read_profile_document(profile, document, instructions, error)
                              : bad_profile(error, "not JSON");
    json_decref(document);
    return result;
}
