/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/counter_profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/io.h"
#include "base/number.h"
#include "supervisor/profile/elf_symbols.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 32)

enum line_type { LINE_PROCESS, LINE_CALL, LINE_COUNT };

/* One line; a place in a file is looked up for calls and counts. */
struct line {
    enum line_type type;
    uint64_t number; /* of a call: its ID; of a count: instructions */
    uint64_t chain;  /* ID of the caller's chain, or of the one counted for */
    uint64_t offset;
    const char *path;
    const char *module; /* borrowed */
    const struct elf_symbols *file;
    struct elf_function found; /* what is there */
    size_t function;           /* index */
};

/* A file of symbols stays open while its names are used. */
struct reading {
    struct line *lines;
    size_t line_count;
    struct line **sorted; /* calls and counts */
    size_t sorted_count;
    struct elf_symbols **files;
    size_t file_count, file_capacity;
    struct profile *profile;
    size_t *chains; /* of the process that is being read: from ID to node */
    size_t chain_count, chain_capacity;
};

/* ---- lines ---- */

/* "123 ": moves past it. */
static bool take_number(const char **at, uint64_t *number)
{
    return number_take(at, number) && *(*at)++ == ' ';
}

static bool parse_counted_line(const char *text, struct line *line)
{
    if (strncmp(text, "process ", 8) == 0) {
        *line = (struct line){.type = LINE_PROCESS};
        return true;
    }
    if (strncmp(text, "call ", 5) == 0)
        *line = (struct line){.type = LINE_CALL};
    else if (strncmp(text, "count ", 6) == 0)
        *line = (struct line){.type = LINE_COUNT};
    else
        return false;
    text += line->type == LINE_CALL ? 5 : 6;
    if (!take_number(&text, &line->number) || !take_number(&text, &line->chain) ||
        !take_number(&text, &line->offset) || line->number > INT64_MAX)
        return false;
    line->path = text;
    return *text != '\0';
}

/* The lines point into the text, whose newlines become '\0'. */
static int parse_text(struct reading *reading, char *text, const char *path, struct error *error)
{
    size_t lines = 0;
    char *next;

    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    reading->lines = calloc(lines + 1, sizeof *reading->lines);
    reading->sorted = calloc(lines + 1, sizeof *reading->sorted);
    if (reading->lines == NULL || reading->sorted == NULL)
        return error_memory(error, "the profile");
    for (char *line = text; (next = strchr(line, '\n')) != NULL; line = next + 1) {
        struct line *parsed = &reading->lines[reading->line_count++];

        *next = '\0';
        if (!parse_counted_line(line, parsed))
            return error_set(error, ERROR_INPUT, "%s:%zu: not a line of a profile", path,
                             reading->line_count);
        if (parsed->type != LINE_PROCESS)
            reading->sorted[reading->sorted_count++] = parsed;
    }
    return 0;
}

/* ---- names ---- */

static int compare_places(const void *a, const void *b)
{
    const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;
    int order = strcmp(x->path, y->path);

    return order != 0 ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static const char *module_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? "[generated]" : slash + 1;
}

static bool keep_file(struct reading *reading, struct elf_symbols *file)
{
    struct elf_symbols **files =
        array_reserve(reading->files, &reading->file_capacity, reading->file_count + 1,
                      sizeof(struct elf_symbols *));

    if (files == NULL) {
        elf_symbols_close(file);
        return false;
    }
    reading->files = files;
    files[reading->file_count++] = file;
    return true;
}

/* A call at a function's end returns to the next function: the byte before is looked up. */
static void name_line(struct line *line, struct elf_symbols *file)
{
    uint64_t offset = line->type == LINE_CALL && line->offset > 0 ? line->offset - 1 : line->offset;

    line->module = module_name(line->path);
    line->file = file;
    if (file == NULL || !elf_symbols_find(file, offset, &line->found)) {
        line->file = NULL;
        line->found.name = "[unknown]";
    }
}

static int name_lines(struct reading *reading, struct error *error)
{
    struct elf_symbols *file = NULL;
    const char *open_path = NULL;

    qsort(reading->sorted, reading->sorted_count, sizeof(struct line *), compare_places);
    for (size_t i = 0; i < reading->sorted_count; i++) {
        struct line *line = reading->sorted[i];

        if (open_path == NULL || strcmp(line->path, open_path) != 0) {
            open_path = line->path;
            file = elf_symbols_open(open_path);
            if (file != NULL && !keep_file(reading, file))
                return error_memory(error, "the profile");
        }
        name_line(line, file);
    }
    return 0;
}

/* ---- functions ---- */

static int compare_function_names(const void *a, const void *b)
{
    const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;
    int order = strcmp(x->module, y->module);

    return order != 0 ? order : strcmp(x->found.name, y->found.name);
}

static bool add_counted_function(struct profile *profile, const struct line *line)
{
    struct profile_function *const added = profile_add_function(profile);
    const char *source = NULL;
    int number = 0;

    if (added == NULL)
        return false;
    added->module = profile_texts_copy_name(&profile->texts, line->module);
    added->name = profile_texts_copy_name(&profile->texts, line->found.name);
    if (line->file != NULL)
        source = elf_symbols_source(line->file, &line->found, &number);
    if (source != NULL)
        added->file = profile_texts_copy_name(&profile->texts, source);
    added->line = number;
    return added->module != NULL && added->name != NULL &&
           (source == NULL) == (added->file == NULL);
}

static int make_functions(struct reading *reading, struct error *error)
{
    struct line **sorted = reading->sorted;

    qsort(sorted, reading->sorted_count, sizeof(struct line *), compare_function_names);
    for (size_t i = 0; i < reading->sorted_count; i++) {
        if ((i == 0 || compare_function_names(&sorted[i - 1], &sorted[i]) != 0) &&
            !add_counted_function(reading->profile, sorted[i]))
            return error_memory(error, "the profile");
        sorted[i]->function = reading->profile->function_count - 1;
    }
    return 0;
}

/* ---- nodes ---- */

static bool add_counted_chain(struct reading *reading, size_t node)
{
    size_t *const larger = array_reserve(reading->chains, &reading->chain_capacity,
                                         reading->chain_count + 1, sizeof *larger);

    if (larger == NULL)
        return false;
    reading->chains = larger;
    larger[reading->chain_count++] = node;
    return true;
}

/* IDs of chains come in order, from 1. */
static int take_counted_line(struct reading *reading, const struct line *line, struct error *error)
{
    size_t node;

    if (line->type == LINE_PROCESS) {
        reading->chain_count = 0;
        return add_counted_chain(reading, 0) ? 0 : error_memory(error, "the profile");
    }
    if (line->chain >= reading->chain_count ||
        (line->type == LINE_CALL && line->number != reading->chain_count))
        return error_set(error, ERROR_INPUT, "the profile names a call that it does not have");
    node = profile_child(reading->profile, reading->chains[line->chain], line->function);
    if (node == 0 || (line->type == LINE_CALL && !add_counted_chain(reading, node)))
        return error_memory(error, "the profile");
    if (line->type == LINE_COUNT)
        reading->profile->nodes[node].self.of[0] =
            saturate_add(reading->profile->nodes[node].self.of[0], (int64_t)line->number);
    return 0;
}

static int make_nodes(struct reading *reading, struct error *error)
{
    for (size_t i = 0; i < reading->line_count; i++)
        if (take_counted_line(reading, &reading->lines[i], error) != 0)
            return -1;
    return 0;
}

static void reading_free(struct reading *reading)
{
    for (size_t i = 0; i < reading->file_count; i++)
        elf_symbols_close(reading->files[i]);
    free(reading->files);
    free(reading->lines);
    free(reading->sorted);
    free(reading->chains);
}

static int read_text(struct profile *profile, char *text, const char *path, struct error *error)
{
    struct reading reading = {.profile = profile};
    int result = parse_text(&reading, text, path, error);

    if (result == 0)
        result = name_lines(&reading, error);
    if (result == 0)
        result = make_functions(&reading, error);
    if (result == 0)
        result = make_nodes(&reading, error);
    if (result == 0)
        result = profile_sum(profile, error);
    reading_free(&reading);
    return result;
}

int counter_profile_read(struct profile *profile, const char *path, struct error *error)
{
    struct buf text = {0};
    int result = -1;

    if (!profile_init(profile, PROFILE_INSTRUCTIONS))
        return error_memory(error, "the profile");
    if (io_read_file(path, PROFILE_BYTES_MAX, &text, error) == 0) {
        if (buf_string(&text) == NULL)
            error_memory(error, "the profile");
        else
            result = read_text(profile, text.data, path, error);
    }
    buf_free(&text);
    return result;
}
