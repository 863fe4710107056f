/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "meter/runtime/notes.h"

/* Programs have few metered libraries; the notes of more are dropped. */
#define PARTS_MAX 64

/* The capacity for function names of all parts; a power of two. If there are more, some metered
 * functions are reported as uncounted. */
#define NAMES_MAX 65536

static struct part {
    const char *first;
    const char *end;
    bool is_copy; /* a copy of an unmapped library's notes */
} parts[PARTS_MAX];
static size_t part_count;

static const char *names[NAMES_MAX];
static size_t name_count;

void gasmeter_add_notes(const char *first, const char *end)
{
    if (part_count < PARTS_MAX) {
        parts[part_count].first = first;
        parts[part_count++].end = end;
    }
}

/* The linker defines them: beginning and end of the program's own memory. */
extern const char __executable_start[], end[];

/* Loading and unloading a library several times keeps one copy. */
static bool has_copy(size_t part, size_t length)
{
    for (size_t i = 0; i < part_count; i++)
        if (i != part && parts[i].is_copy && (size_t)(parts[i].end - parts[i].first) == length &&
            memcmp(parts[i].first, parts[part].first, length) == 0)
            return true;
    return false;
}

void gasmeter_keep_notes(const char *first)
{
    void *copy = MAP_FAILED;
    size_t part = 0, length;

    while (part < part_count && parts[part].first != first)
        part++;
    if (part == part_count || (first >= __executable_start && first < end))
        return;
    length = (size_t)(parts[part].end - first);
    if (!has_copy(part, length))
        copy = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        parts[part] = parts[--part_count];
        return;
    }
    memcpy(copy, first, length);
    parts[part] = (struct part){copy, (char *)copy + length, true};
}

void notes_each(char kind, void (*visit)(const char *text, void *argument), void *argument)
{
    for (size_t i = 0; i < part_count; i++)
        for (const char *note = parts[i].first; note < parts[i].end; note += strlen(note) + 1)
            if (*note == kind)
                visit(note + 2, argument);
}

void notes_each_part(void (*visit)(const char *first, const char *end, void *argument),
                     void *argument)
{
    for (size_t i = 0; i < part_count; i++)
        visit(parts[i].first, parts[i].end, argument);
}

/* Returns true if the name is new. */
static bool add_noted_name(const char *name)
{
    size_t hash = 5381;

    for (const char *byte = name; *byte; byte++)
        hash = hash * 33 + (unsigned char)*byte;
    for (size_t i = hash % NAMES_MAX;; i = (i + 1) % NAMES_MAX) {
        if (!names[i]) {
            if (name_count < NAMES_MAX / 2) {
                names[i] = name;
                name_count++;
            }
            return true;
        }
        if (strcmp(names[i], name) == 0)
            return false;
    }
}

static void add_metered(const char *name, void *unused)
{
    (void)unused;
    add_noted_name(name);
}

struct visitor {
    void (*visit)(const char *name, void *argument);
    void *argument;
};

static void visit_new(const char *name, void *argument)
{
    const struct visitor *visitor = argument;

    if (strncmp(name, "gasmeter_", 9) != 0 && add_noted_name(name))
        visitor->visit(name, visitor->argument);
}

void notes_uncounted(void (*visit)(const char *name, void *argument), void *argument)
{
    struct visitor visitor = {visit, argument};

    memset(names, 0, sizeof names);
    name_count = 0;
    /* Before the metered names, because a metered function may have the same name. */
    if (lookups_each)
        lookups_each(visit_new, &visitor);
    notes_each('D', add_metered, NULL);
    notes_each('C', visit_new, &visitor);
}
