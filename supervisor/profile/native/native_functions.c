/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/native/native_functions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "supervisor/count/profile/count_profile.h"
#include "supervisor/count/profile/elf_symbols.h"

struct native_file {
    char *path;                  /* owned; NULL: code of no file */
    char *object;                /* owned */
    struct elf_symbols *symbols; /* NULL: it has none that can be read */
    char *build_id;              /* owned; NULL: it has none */
    struct pair_table functions; /* from an address to the number of its function and 1 */
};

static bool is_of(const struct native_file *file, const char *path)
{
    if (path == NULL || file->path == NULL)
        return path == file->path;
    return strcmp(file->path, path) == 0;
}

/* False without memory. */
static bool read_build_id(struct native_file *file)
{
    char text[41] = "";

    if (file->symbols != NULL)
        elf_symbols_build_id(file->symbols, text);
    if (text[0] != '\0')
        file->build_id = strdup(text);
    return text[0] == '\0' || file->build_id != NULL;
}

static struct native_file *open_native_file(const char *path, struct native_file *file)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    *file = (struct native_file){
        .path = path != NULL ? strdup(path) : NULL,
        .object = count_profile_fit_name(slash != NULL ? slash + 1 : "[generated]"),
        .symbols = path != NULL ? elf_symbols_open(path) : NULL,
    };
    if (file->object != NULL && (path == NULL) == (file->path == NULL) && read_build_id(file))
        return file;
    free(file->path);
    free(file->object);
    elf_symbols_close(file->symbols);
    return NULL;
}

static struct native_file *file_of(struct native_functions *functions, const char *path)
{
    struct native_file *files;

    for (size_t i = 0; i < functions->file_count; i++)
        if (is_of(&functions->files[i], path))
            return &functions->files[i];
    files = array_reserve(functions->files, &functions->file_room, functions->file_count + 1,
                          sizeof *files);
    if (files == NULL)
        return NULL;
    functions->files = files;
    if (open_native_file(path, &files[functions->file_count]) == NULL)
        return NULL;
    return &files[functions->file_count++];
}

static void native_function_free(struct native_function *function)
{
    free(function->name);
    free(function->source);
    free(function->inlined);
}

/* Fills the next function's place. */
static bool fill_function(struct native_function *function, const struct native_file *file,
                          const struct elf_function *found)
{
    struct elf_description description = {0};

    if (file->symbols != NULL)
        description = elf_symbols_describe(file->symbols, found);
    *function = (struct native_function){
        .object = file->object,
        .name = count_profile_fit_name(found->name),
        .line = description.line,
        .inlined = description.inlined,
        .build_id = file->build_id,
    };
    if (description.source != NULL)
        function->source = count_profile_fit_name(description.source);
    if (function->name != NULL && (description.source == NULL) == (function->source == NULL))
        return true;
    native_function_free(function);
    return false;
}

static size_t add_function(struct native_functions *functions, const struct native_file *file,
                           const struct elf_function *found)
{
    struct native_function *items =
        array_reserve(functions->items, &functions->room, functions->count + 1, sizeof *items);

    if (items == NULL)
        return SIZE_MAX;
    functions->items = items;
    return fill_function(&items[functions->count], file, found) ? functions->count++ : SIZE_MAX;
}

size_t native_functions_find(struct native_functions *functions, const char *path, uint64_t offset,
                             uint64_t *within)
{
    struct native_file *file = file_of(functions, path);
    struct elf_function found = {.name = "[unknown]", .address = UINT64_MAX, .within = offset};
    struct pair *number;

    if (file == NULL)
        return SIZE_MAX;
    if (file->symbols != NULL)
        (void)elf_symbols_find(file->symbols, offset, &found); /* where there is none, it stays */
    *within = found.within;
    number = pair_table_find(&file->functions, found.address, 0);
    if (number == NULL)
        return SIZE_MAX;
    if (number->value == 0)
        number->value = add_function(functions, file, &found) + 1;
    return number->value - 1;
}

bool native_functions_lines(struct native_functions *functions, const char *path, uint64_t offset,
                            uint32_t length, size_t function, uint32_t *first, uint32_t *count)
{
    const struct native_file *const file = file_of(functions, path);

    return file != NULL && native_lines_add(&functions->lines, file->symbols, offset, length,
                                            function, first, count);
}

void native_functions_free(struct native_functions *functions)
{
    native_lines_free(&functions->lines);
    for (size_t i = 0; i < functions->count; i++)
        native_function_free(&functions->items[i]);
    for (size_t i = 0; i < functions->file_count; i++) {
        free(functions->files[i].path);
        free(functions->files[i].object);
        free(functions->files[i].build_id);
        elf_symbols_close(functions->files[i].symbols);
        pair_table_free(&functions->files[i].functions);
    }
    free(functions->items);
    free(functions->files);
    *functions = (struct native_functions){0};
}
