/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_sources.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "supervisor/profile/elf_symbols.h"

struct trace_module_symbols {
    char *path;                  /* owned */
    struct elf_symbols *symbols; /* NULL: the file cannot be read */
    char build_id[41];
};

static struct trace_module_symbols *find_module(struct trace_sources *sources, const char *path)
{
    struct trace_module_symbols *modules;

    for (size_t i = 0; i < sources->count; i++)
        if (strcmp(sources->modules[i].path, path) == 0)
            return &sources->modules[i];
    modules =
        array_reserve(sources->modules, &sources->capacity, sources->count + 1, sizeof *modules);
    if (modules == NULL)
        return NULL;
    sources->modules = modules;
    modules += sources->count;
    *modules = (struct trace_module_symbols){.path = strdup(path)};
    if (modules->path == NULL)
        return NULL;
    modules->symbols = elf_symbols_open(path);
    if (modules->symbols != NULL)
        elf_symbols_build_id(modules->symbols, modules->build_id);
    sources->count++;
    return modules;
}

static int fill_source(struct trace_sources *sources, struct traced_function *function,
                       struct error *error)
{
    const struct trace_module_symbols *const module = find_module(sources, function->module);
    struct elf_description description;
    struct elf_function found;

    if (module == NULL)
        return error_memory(error, "the functions of a program");
    if (module->symbols == NULL || strcmp(module->build_id, function->build_id) != 0)
        return 0;
    found = elf_symbols_at(module->symbols, function->address);
    description = elf_symbols_describe(module->symbols, &found);
    function->source = description.source;
    function->line = description.line;
    function->inlined = description.inlined;
    return 0;
}

int trace_sources_fill(struct trace_sources *sources, const struct call_tree *tree,
                       struct traced_function *functions, size_t count, struct error *error)
{
    bool *const filled = calloc(count + 1, sizeof *filled);
    int result = 0;

    if (filled == NULL)
        return error_memory(error, "the functions of a program");
    for (size_t i = 1; i < tree->count && result == 0; i++) {
        const uint32_t number = tree->nodes[i].function;

        if (number < 1 || number > count || filled[number])
            continue;
        filled[number] = true;
        result = fill_source(sources, &functions[number - 1], error);
    }
    free(filled);
    return result;
}

/* Matches the path, or the part after any of its slashes. */
static bool source_matches(const char *source, const char *pattern)
{
    while (fnmatch(pattern, source, 0) != 0) {
        source = strchr(source, '/');
        if (source == NULL)
            return false;
        source++;
    }
    return true;
}

static bool source_matches_any(const char *source, const struct option_list *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (source_matches(source, patterns->items[i]))
            return true;
    return false;
}

bool trace_sources_match(struct trace_sources *sources, const char *module, uint64_t address,
                         const struct option_list *patterns)
{
    const struct trace_module_symbols *const symbols = find_module(sources, module);
    struct elf_description description;
    struct elf_function function;

    if (symbols == NULL || symbols->symbols == NULL)
        return false;
    function = elf_symbols_at(symbols->symbols, address);
    description = elf_symbols_describe(symbols->symbols, &function);
    free(description.inlined);
    return description.source != NULL && source_matches_any(description.source, patterns);
}

void trace_sources_close(struct trace_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        free(sources->modules[i].path);
        elf_symbols_close(sources->modules[i].symbols);
    }
    free(sources->modules);
    *sources = (struct trace_sources){0};
}
