/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter/guest_memory.h"

/* Instructions that are counted together: those from an address on, so many. */
struct place {
    struct place *next; /* with the same hash */
    uint64_t address;   /* of the guest */
    uint64_t length;
    uint64_t count; /* of instructions; translated code adds to it */
};

#define BUCKETS 65536

static char profile_path[PATH_MAX];
static struct place **buckets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The counts that fork(2) has copied are the parent's. */
static void in_child(void)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        for (struct place *place = buckets[bucket]; place != NULL; place = place->next)
            place->count = 0;
}

bool profile_open(const char *path)
{
    size_t size = strlen(path) + 1;

    buckets = calloc(BUCKETS, sizeof *buckets);
    if (buckets == NULL || size > sizeof profile_path) {
        fprintf(stderr, "gascount: cannot keep a profile for %s\n", path);
        return false;
    }
    memcpy(profile_path, path, size);
    pthread_atfork(NULL, NULL, in_child);
    return true;
}

/* The place, made when it is new; NULL when there is no memory for it. */
static struct place *find_place(uint64_t address, uint64_t length)
{
    struct place **bucket = &buckets[(address ^ address >> 16) % BUCKETS];
    struct place *place;

    for (place = *bucket; place != NULL; place = place->next)
        if (place->address == address && place->length == length)
            return place;
    place = calloc(1, sizeof *place);
    if (place == NULL)
        return NULL;
    place->address = address;
    place->length = length;
    place->next = *bucket;
    *bucket = place;
    return place;
}

static void add(unsigned thread, void *place_of)
{
    struct place *place = place_of;

    (void)thread;
    __atomic_fetch_add(&place->count, place->length, __ATOMIC_RELAXED);
}

void profile_count_before(struct qemu_plugin_insn *insn, uint64_t instructions, bool many_threads)
{
    struct place *place;

    if (buckets == NULL)
        return;
    pthread_mutex_lock(&lock);
    place = find_place(qemu_plugin_insn_vaddr(insn), instructions);
    pthread_mutex_unlock(&lock);
    if (place == NULL)
        abort();
    if (many_threads)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, add, QEMU_PLUGIN_CB_NO_REGS, place);
    else
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &place->count,
                                                   instructions);
}

/* ---- writing ---- */

/* A part of the guest's memory that a file was mapped to. */
struct mapping {
    uint64_t start, end; /* addresses of the host */
    uint64_t offset;     /* in the file */
    char *path;          /* owned */
};

struct mappings {
    struct mapping *mapping; /* in order of addresses */
    size_t count;
};

static bool parse_mapping(const char *line, struct mapping *mapping)
{
    char *at;
    const char *path = strchr(line, '/');

    mapping->start = strtoull(line, &at, 16);
    if (path == NULL || *at != '-')
        return false;
    mapping->end = strtoull(at + 1, &at, 16);
    at += strspn(at, " ");
    at += strcspn(at, " "); /* the protection */
    mapping->offset = strtoull(at, NULL, 16);
    mapping->path = strndup(path, strcspn(path, "\n"));
    return mapping->path != NULL;
}

static void read_mappings(struct mappings *mappings)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 100];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        struct mapping mapping, *larger;

        if (!parse_mapping(line, &mapping))
            continue;
        larger = reallocarray(mappings->mapping, mappings->count + 1, sizeof *larger);
        if (larger == NULL) {
            free(mapping.path);
            break;
        }
        larger[mappings->count++] = mapping;
        mappings->mapping = larger;
    }
    if (file != NULL)
        fclose(file);
}

static void free_mappings(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->count; i++)
        free(mappings->mapping[i].path);
    free(mappings->mapping);
}

static void write_place(FILE *out, const struct place *place, const struct mappings *mappings)
{
    uint64_t address = guest_memory_host_address(place->address);

    for (size_t i = 0; i < mappings->count; i++) {
        const struct mapping *mapping = &mappings->mapping[i];

        if (address >= mapping->start && address < mapping->end) {
            fprintf(out, "%" PRIu64 " %" PRIu64 " %s\n", place->count,
                    address - mapping->start + mapping->offset, mapping->path);
            return;
        }
    }
    fprintf(out, "%" PRIu64 " 0 -\n", place->count);
}

/* What is written is not written again, should the execve fail. */
static void take_out(FILE *out, struct place *place, const struct mappings *mappings)
{
    if (place->count > 0)
        write_place(out, place, mappings);
    place->count = 0;
}

void profile_write(void)
{
    struct mappings mappings = {0};
    FILE *out;

    if (buckets == NULL)
        return;
    out = fopen(profile_path, "ae");
    if (out == NULL) {
        fprintf(stderr, "gascount: cannot write %s: %s\n", profile_path, strerror(errno));
        return;
    }
    read_mappings(&mappings);
    pthread_mutex_lock(&lock);
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        for (struct place *place = buckets[bucket]; place != NULL; place = place->next)
            take_out(out, place, &mappings);
    pthread_mutex_unlock(&lock);
    free_mappings(&mappings);
    if (fclose(out) != 0)
        fprintf(stderr, "gascount: cannot write %s: %s\n", profile_path, strerror(errno));
}
