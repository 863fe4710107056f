/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "meter/runtime/notes.h"

/* Records which functions a program looks up with dlsym() in code without a meter. */

/* Metered code calls this after each dlsym() and dlvsym(). */
void gasmeter_note_lookup(const void *address, const char *name);

#ifdef __GLIBC__

/* In bytes; the names of more functions are dropped. */
#define LOOKUPS_MAX 65536

static char lookups[LOOKUPS_MAX]; /* each name ends with a NUL */
static atomic_size_t lookups_length;
static pthread_mutex_t lookups_lock = PTHREAD_MUTEX_INITIALIZER;

struct lookup {
    const void *base; /* where the library with the function is loaded */
    const char *name;
    bool metered;
};

static void find_in_part(const char *first, const char *end, void *argument)
{
    struct lookup *lookup = argument;
    Dl_info part;

    if (dladdr(first, &part) == 0 || part.dli_fbase != lookup->base)
        return;
    for (const char *note = first; note < end; note += strlen(note) + 1)
        if (*note == 'D' && strcmp(note + 2, lookup->name) == 0)
            lookup->metered = true;
}

static bool has_lookup(const char *name, size_t length)
{
    for (const char *other = lookups; other < lookups + length; other += strlen(other) + 1)
        if (strcmp(other, name) == 0)
            return true;
    return false;
}

/* Publishes the length last, because the process may report at any time. */
static void add_lookup(const char *name)
{
    size_t size = strlen(name) + 1, length;

    if (pthread_mutex_lock(&lookups_lock))
        return;
    length = atomic_load(&lookups_length);
    if (size <= LOOKUPS_MAX - length && !has_lookup(name, length)) {
        memcpy(lookups + length, name, size);
        atomic_store(&lookups_length, length + size);
    }
    (void)pthread_mutex_unlock(&lookups_lock);
}

static bool is_variable(const ElfW(Sym) * symbol)
{
    return symbol != NULL && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
}

void gasmeter_note_lookup(const void *address, const char *name)
{
    struct lookup lookup = {.name = name};
    const ElfW(Sym) *symbol = NULL;
    Dl_info place;

    if (!address || !name || dladdr1(address, &place, (void **)&symbol, RTLD_DL_SYMENT) == 0 ||
        is_variable(symbol))
        return;
    lookup.base = place.dli_fbase;
    notes_each_part(find_in_part, &lookup);
    if (!lookup.metered)
        add_lookup(name);
}

void lookups_each(void (*visit)(const char *name, void *argument), void *argument)
{
    size_t length = atomic_load(&lookups_length);

    for (const char *name = lookups; name < lookups + length; name += strlen(name) + 1)
        visit(name, argument);
}

#else

/* A static musl program finds nothing with dlsym(). */
void gasmeter_note_lookup(const void *address, const char *name)
{
    (void)address;
    (void)name;
}

void lookups_each(void (*visit)(const char *name, void *argument), void *argument)
{
    (void)visit;
    (void)argument;
}

#endif
