/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/modules.h"

#include <fnmatch.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define REACH        UINT64_C(0x60000000) /* well within 2 GiB */
#define STEP         UINT64_C(0x400000)
#define REGION_LEAST UINT64_C(0x40000)
#define PAGE         UINT64_C(4096)

/* Objects that stay loaded: the program, and what it needs. */
enum { LASTING_MAX = 256 };

struct lasting {
    const struct link_map *objects[LASTING_MAX];
    size_t count;
};

struct described {
    struct trace_head *head;
    struct lasting lasting;
    uint64_t regions; /* bytes so far */
    bool program_seen;
};

struct extent {
    uint64_t begin, end; /* of all that is loaded of it */
    uint64_t text;       /* bytes of code */
};

static struct extent extent_of(const struct dl_phdr_info *info)
{
    struct extent extent = {.begin = UINT64_MAX};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const segment = &info->dlpi_phdr[i];
        const uint64_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type != PT_LOAD)
            continue;
        if (begin < extent.begin)
            extent.begin = begin;
        if (begin + segment->p_memsz > extent.end)
            extent.end = begin + segment->p_memsz;
        if (segment->p_flags & PF_X)
            extent.text += segment->p_memsz;
    }
    return extent;
}

static uint64_t try_at(uint64_t address, uint64_t size)
{
    void *const wanted = (void *)address;
    void *const got =
        mmap(wanted, size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    if (got == MAP_FAILED)
        return 0;
    if (got == wanted)
        return address; /* cppcheck-suppress memleak ; the caller's */
    munmap(got, size);  /* a Linux that does not know the flag */
    return 0;
}

/* Below it if that can be had: above a program its heap grows. */
static uint64_t reserve_near(const struct extent *extent, uint64_t size)
{
    const uint64_t low = (extent->begin & ~(PAGE - 1)) - size;
    const uint64_t high = (extent->end + PAGE - 1) & ~(PAGE - 1);
    uint64_t got = 0;

    for (uint64_t away = STEP; away < REACH - size && got == 0; away += STEP)
        if (low > away && low < extent->begin)
            got = try_at(low - away, size);
    for (uint64_t away = REACH - size; away >= STEP && got == 0; away -= STEP)
        got = try_at(high + away, size);
    return got;
}

/* ---- regions of earlier traces ---- */

static struct kept_region {
    uint64_t begin, size, region; /* the module's address, the region's size and address */
    bool is_registered;
} kept[TRACE_MODULES_MAX];
static size_t kept_count;

/* 0: no address is left, or no place to keep it. */
static uint64_t choose_region(const struct extent *extent, uint64_t size)
{
    uint64_t region;

    for (size_t i = 0; i < kept_count; i++)
        if (kept[i].begin == extent->begin && kept[i].size == size)
            return kept[i].region;
    region = kept_count < TRACE_MODULES_MAX ? reserve_near(extent, size) : 0;
    if (region != 0)
        kept[kept_count++] =
            (struct kept_region){.begin = extent->begin, .size = size, .region = region};
    return region;
}

bool modules_register(uint64_t region)
{
    for (size_t i = 0; i < kept_count; i++)
        if (kept[i].region == region && !kept[i].is_registered) {
            kept[i].is_registered = true;
            return true;
        }
    return false;
}

void modules_forget(void)
{
    kept_count = 0;
}

static bool matches_patterns(const char *patterns, const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const name = slash != NULL ? slash + 1 : path;
    char pattern[TRACE_LIBRARIES_SIZE];
    int taken;

    if (fnmatch("libc.so*", name, 0) == 0 || fnmatch("ld-linux*", name, 0) == 0 ||
        strcmp(name, "libgastrace.so") == 0)
        return false;
    for (; sscanf(patterns, " %511s%n", pattern, &taken) == 1; patterns += taken)
        if (fnmatch(pattern, name, 0) == 0)
            return true;
    return false;
}

/* ---- what stays loaded ---- */

static const Elf64_Dyn *dynamic_entry(const struct link_map *object, Elf64_Sxword tag)
{
    for (const Elf64_Dyn *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry;
    return NULL;
}

/* glibc has relocated these addresses, except in the vdso, which cannot be written. */
static const char *string_of(const struct link_map *object, const Elf64_Dyn *entry)
{
    const uint64_t table = dynamic_entry(object, DT_STRTAB)->d_un.d_ptr;

    return (const char *)((table < object->l_addr ? object->l_addr : 0) + table +
                          entry->d_un.d_val);
}

static bool is_named(const struct link_map *object, const char *name)
{
    const Elf64_Dyn *const soname = dynamic_entry(object, DT_SONAME);
    const char *const slash = strrchr(object->l_name, '/');

    return strcmp(object->l_name, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0) ||
           (soname != NULL && dynamic_entry(object, DT_STRTAB) != NULL &&
            strcmp(string_of(object, soname), name) == 0);
}

static void add_lasting(struct lasting *lasting, const struct link_map *object)
{
    for (size_t i = 0; i < lasting->count; i++)
        if (lasting->objects[i] == object)
            return;
    if (lasting->count < LASTING_MAX)
        lasting->objects[lasting->count++] = object;
}

static void add_needed(struct lasting *lasting, const struct link_map *first, const char *name)
{
    for (const struct link_map *object = first; object != NULL; object = object->l_next)
        if (is_named(object, name))
            add_lasting(lasting, object);
}

/*
 * The hazard: the program may unload a library that it has loaded with dlopen(3) at any moment, so
 * that its text is patched, or written back, where something else lies by then. The program's own
 * libraries are never unloaded.
 */
static void find_lasting(struct lasting *lasting)
{
    const struct link_map *const first = _r_debug.r_map;

    lasting->count = 0;
    add_lasting(lasting, first);
    for (size_t i = 0; i < lasting->count; i++) {
        const struct link_map *const object = lasting->objects[i];

        if (dynamic_entry(object, DT_STRTAB) == NULL)
            continue;
        for (const Elf64_Dyn *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_NEEDED)
                add_needed(lasting, first, string_of(object, entry));
    }
}

static bool is_lasting(const struct lasting *lasting, const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < lasting->count; i++)
        if (lasting->objects[i]->l_addr == info->dlpi_addr &&
            strcmp(lasting->objects[i]->l_name, info->dlpi_name) == 0)
            return true;
    return false;
}

/* ---- each object ---- */

static int describe_one(struct dl_phdr_info *info, size_t size, void *context)
{
    struct described *const described = context;
    struct trace_head *const head = described->head;
    const struct extent extent = extent_of(info);
    struct trace_module *module;
    uint64_t wanted;

    (void)size;
    /* Here, because no other thread changes the list of objects meanwhile. */
    if (!described->program_seen)
        find_lasting(&described->lasting);
    if (described->program_seen && (!matches_patterns(head->libraries, info->dlpi_name) ||
                                    !is_lasting(&described->lasting, info)))
        return 0;
    wanted = (extent.text * 8 + REGION_LEAST + 4 * PAGE - 1) & ~(4 * PAGE - 1);
    if (head->module_count == TRACE_MODULES_MAX || wanted > REACH / 2 ||
        described->regions + wanted > head->regions_size)
        return 0;
    module = &head->modules[head->module_count++];
    module->base = info->dlpi_addr;
    module->region_size = wanted;
    module->region = choose_region(&extent, wanted);
    if (described->program_seen)
        snprintf(module->path, sizeof module->path, "%s", info->dlpi_name);
    described->program_seen = true;
    described->regions += wanted;
    return 0;
}

void modules_describe(struct trace_head *head)
{
    struct described described = {.head = head};

    head->module_count = 0;
    dl_iterate_phdr(describe_one, &described);
}
