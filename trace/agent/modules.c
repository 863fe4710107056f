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

struct described {
    struct trace_head *head;
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

static int describe_one(struct dl_phdr_info *info, size_t size, void *context)
{
    struct described *const described = context;
    struct trace_head *const head = described->head;
    const struct extent extent = extent_of(info);
    struct trace_module *module;
    uint64_t wanted;

    (void)size;
    if (described->program_seen && !matches_patterns(head->libraries, info->dlpi_name))
        return 0;
    wanted = (extent.text * 8 + REGION_LEAST + 4 * PAGE - 1) & ~(4 * PAGE - 1);
    if (head->module_count == TRACE_MODULES_MAX || wanted > REACH / 2 ||
        described->regions + wanted > head->regions_size)
        return 0;
    module = &head->modules[head->module_count++];
    module->base = info->dlpi_addr;
    module->region_size = wanted;
    module->region = reserve_near(&extent, wanted);
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
