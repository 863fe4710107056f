/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "supervisor/elf_symbols.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 30)

/* One line. */
struct place {
    uint64_t count;
    uint64_t offset;
    const char *path;
};

struct places {
    struct place *place;
    size_t count;
};

static bool parse_line(char *line, struct place *place)
{
    char *at;

    errno = 0;
    if (*line < '0' || *line > '9')
        return false;
    place->count = strtoull(line, &at, 10);
    if (*at != ' ' || at[1] < '0' || at[1] > '9')
        return false;
    place->offset = strtoull(at + 1, &at, 10);
    place->path = at + 1;
    return *at == ' ' && errno == 0;
}

/* The lines point into the text, whose newlines become ends. */
static int parse_text(struct places *places, char *text, const char *path, struct error *error)
{
    size_t lines = 0, number = 0;
    char *next;

    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    places->place = calloc(lines + 1, sizeof *places->place);
    if (places->place == NULL)
        return error_memory(error, "the profile");
    for (char *line = text; (next = strchr(line, '\n')) != NULL; line = next + 1) {
        *next = '\0';
        number++;
        if (!parse_line(line, &places->place[places->count]))
            return error_set(error, ERROR_INPUT, "%s:%zu: not a line of a profile", path, number);
        places->count++;
    }
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order != 0 ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Adds to the last function when it is the same, so places come in order. */
static bool add_place(struct count_profile *profile, const char *object, const char *name,
                      uint64_t instructions)
{
    struct profile_function *last, *larger;

    if (profile->count > 0) {
        last = &profile->functions[profile->count - 1];
        if (strcmp(last->object, object) == 0 && strcmp(last->name, name) == 0) {
            last->instructions += instructions;
            return true;
        }
    }
    larger = reallocarray(profile->functions, profile->count + 1, sizeof *larger);
    if (larger == NULL)
        return false;
    profile->functions = larger;
    last = &larger[profile->count];
    *last = (struct profile_function){strdup(object), strdup(name), instructions};
    profile->count++;
    return last->object != NULL && last->name != NULL;
}

static const char *object_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? "[generated]" : slash + 1;
}

static int add_places(struct count_profile *profile, const struct places *places,
                      struct error *error)
{
    struct elf_symbols *symbols = NULL;
    const char *open_path = "";
    bool added = true;

    for (size_t i = 0; added && i < places->count; i++) {
        const struct place *place = &places->place[i];
        const char *name = NULL;

        if (strcmp(place->path, open_path) != 0) {
            elf_symbols_close(symbols);
            open_path = place->path;
            symbols = elf_symbols_open(open_path);
        }
        if (symbols != NULL)
            name = elf_symbols_find(symbols, place->offset);
        added = add_place(profile, object_name(place->path), name != NULL ? name : "[unknown]",
                          place->count);
    }
    elf_symbols_close(symbols);
    return added ? 0 : error_memory(error, "the profile");
}

static int compare_names(const void *a, const void *b)
{
    const struct profile_function *x = a, *y = b;
    int order = strcmp(x->object, y->object);

    return order != 0 ? order : strcmp(x->name, y->name);
}

static int compare_instructions(const void *a, const void *b)
{
    const struct profile_function *x = a, *y = b;

    if (x->instructions != y->instructions)
        return x->instructions < y->instructions ? 1 : -1;
    return compare_names(a, b);
}

/* Places without a name lie between functions; each object has one entry for them. */
static void merge_names(struct count_profile *profile)
{
    size_t kept = 0;

    qsort(profile->functions, profile->count, sizeof *profile->functions, compare_names);
    for (size_t i = 1; i < profile->count; i++) {
        if (compare_names(&profile->functions[kept], &profile->functions[i]) == 0) {
            profile->functions[kept].instructions += profile->functions[i].instructions;
            free(profile->functions[i].object);
            free(profile->functions[i].name);
        } else {
            profile->functions[++kept] = profile->functions[i];
        }
    }
    profile->count = kept + 1;
    qsort(profile->functions, profile->count, sizeof *profile->functions, compare_instructions);
}

int count_profile_read(struct count_profile *profile, const char *path, struct error *error)
{
    struct places places = {0};
    struct buf text = {0};
    int result = -1;

    *profile = (struct count_profile){0};
    if (io_read_file(path, PROFILE_BYTES_MAX, &text, error) == 0) {
        if (buf_string(&text) == NULL)
            error_memory(error, "the profile");
        else
            result = parse_text(&places, text.data, path, error);
    }
    if (result == 0 && places.count > 0) {
        qsort(places.place, places.count, sizeof *places.place, compare_places);
        result = add_places(profile, &places, error);
    }
    if (result == 0 && profile->count > 0)
        merge_names(profile);
    free(places.place);
    buf_free(&text);
    if (result != 0)
        count_profile_free(profile);
    return result;
}

void count_profile_fold(struct buf *out, const struct count_profile *profile)
{
    for (size_t i = 0; i < profile->count; i++)
        buf_printf(out, "%s;%s %" PRIu64 "\n", profile->functions[i].object,
                   profile->functions[i].name, profile->functions[i].instructions);
}

void count_profile_free(struct count_profile *profile)
{
    for (size_t i = 0; i < profile->count; i++) {
        free(profile->functions[i].object);
        free(profile->functions[i].name);
    }
    free(profile->functions);
    *profile = (struct count_profile){0};
}
