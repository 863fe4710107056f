/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/kept_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter/qemu/guest/address_space.h"
#include "counter/qemu/guest/guest_memory.h"

#define PAGE_SIZE 4096

/* A worker of XS has 50 MiB that it may write to, and 256 MiB of stack. */
#define KEPT_MAX ((size_t)512 << 20)

/* A mapping, or several in a row that do not differ. */
struct mapped {
    uint64_t start, end; /* addresses of the host */
    char rights[5];      /* as in /proc/self/maps */
    uint64_t offset, file;
};

struct mappings {
    struct mapped *items; /* owned; in order of their addresses */
    size_t count, room;
};

static struct mappings kept;
static char *copy; /* of all that can be written to, in a row; owned. NULL: nothing is kept */
static size_t copy_size;
static uint64_t kept_heap_end, heap_end;

void kept_memory_heap_ends(uint64_t address)
{
    heap_end = address;
}

/* ---- what is mapped ---- */

static bool goes_on(const struct mapped *before, const struct mapped *next)
{
    return before->end == next->start && before->file == 0 && next->file == 0 &&
           strcmp(before->rights, next->rights) == 0;
}

/* False without memory. */
static bool add_mapping(struct mappings *mappings, const struct mapped *mapped)
{
    struct mapped *const last = mappings->count > 0 ? &mappings->items[mappings->count - 1] : NULL;
    struct mapped *more;

    if (last != NULL && goes_on(last, mapped)) {
        last->end = mapped->end;
        return true;
    }
    if (mappings->count == mappings->room) {
        more = reallocarray(mappings->items, 2 * mappings->room + 64, sizeof *more);
        if (more == NULL)
            return false;
        mappings->items = more;
        mappings->room = 2 * mappings->room + 64;
    }
    mappings->items[mappings->count++] = *mapped;
    return true;
}

static void free_mappings(struct mappings *mappings)
{
    free(mappings->items);
    *mappings = (struct mappings){0};
}

/* A number that ends with that, after which *text then is. */
static bool take_number(char **text, int base, char ends_with, uint64_t *number)
{
    char *end;

    *number = strtoull(*text, &end, base);
    if (end == *text || *end != ends_with)
        return false;
    *text = end + 1;
    return true;
}

/* START-END RIGHTS OFFSET DEVICE FILE ... */
static bool read_mapping(char *line, struct mapped *mapped)
{
    const size_t rights = sizeof mapped->rights - 1;

    if (!take_number(&line, 16, '-', &mapped->start) ||
        !take_number(&line, 16, ' ', &mapped->end) || strnlen(line, rights + 1) <= rights)
        return false;
    memcpy(mapped->rights, line, rights);
    mapped->rights[rights] = '\0';
    line += rights + 1;
    if (!take_number(&line, 16, ' ', &mapped->offset))
        return false;
    line = strchr(line, ' ');
    return line != NULL && take_number(&line, 10, ' ', &mapped->file);
}

/* The guest's, which lie below QEMU's own. An errno. */
static int read_mappings(FILE *maps, struct mappings *mappings)
{
    struct mapped mapped;
    char *line = NULL;
    size_t room = 0;
    int result = 0;

    while (result == 0 && getline(&line, &room, maps) > 0) {
        if (!read_mapping(line, &mapped))
            result = EPROTO;
        else if (mapped.start < GUEST_MEMORY_END && !add_mapping(mappings, &mapped))
            result = ENOMEM;
    }
    free(line);
    return result;
}

/* 0 or an errno: then there are none. */
static int find_mappings(struct mappings *mappings)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    int result;

    *mappings = (struct mappings){0};
    if (maps == NULL)
        return errno;
    result = read_mappings(maps, mappings);
    fclose(maps);
    if (result != 0)
        free_mappings(mappings);
    return result;
}

static bool is_writable(const struct mapped *mapped)
{
    return mapped->rights[1] == 'w';
}

/* How much there is to keep, in *size. An errno where that cannot be done. */
static int measure(const struct mappings *mappings, size_t *size)
{
    *size = 0;
    for (size_t i = 0; i < mappings->count; i++) {
        const struct mapped *mapped = &mappings->items[i];

        if (!is_writable(mapped))
            continue;
        if (mapped->rights[3] != 'p' || mapped->rights[0] != 'r')
            return ENOTSUP;
        *size += mapped->end - mapped->start;
        if (*size > KEPT_MAX)
            return EFBIG;
    }
    return *size > 0 ? 0 : ENOTSUP;
}

/* ---- which pages have been used ---- */

/* A worker's stack has 65,536 pages, and uses a few. To read the others would take time and page
 * tables. */
struct pages {
    int pagemap; /* -1: all pages count as used */
    const char *start;
    size_t first; /* the page that entries[0] is of */
    size_t known; /* entries */
    uint64_t entries[512];
};

static struct pages pages_open(int pagemap, const char *start)
{
    return (struct pages){.pagemap = pagemap, .start = start};
}

/* Linux's own words for a page: in memory, or swapped out. */
static const uint64_t used = UINT64_C(3) << 62;

/* A page that was never used is all zeros. */
static bool pages_is_used(struct pages *pages, size_t page)
{
    const size_t entry = sizeof pages->entries[0];

    if (page - pages->first >= pages->known) {
        const uint64_t at = ((uintptr_t)pages->start / PAGE_SIZE + page) * entry;
        const ssize_t got = pages->pagemap >= 0 ? pread(pages->pagemap, pages->entries,
                                                        sizeof pages->entries, (off_t)at)
                                                : -1;

        pages->first = page;
        pages->known = got > 0 ? (size_t)got / entry : 0;
    }
    return pages->known == 0 || (pages->entries[page - pages->first] & used) != 0;
}

/* ---- keeping ---- */

static bool is_zero(const char *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE_SIZE - 1) == 0;
}

/* Pages of zeros take no memory in the copy. */
static void keep_mapping(const struct mapped *mapped, char *to, int pagemap)
{
    const char *from = (const char *)mapped->start;
    struct pages pages = pages_open(mapped->file == 0 ? pagemap : -1, from);

    for (size_t at = 0; at < mapped->end - mapped->start; at += PAGE_SIZE)
        if (pages_is_used(&pages, at / PAGE_SIZE) && !is_zero(from + at))
            memcpy(to + at, from + at, PAGE_SIZE);
}

static void forget(void)
{
    free_mappings(&kept);
    if (copy != NULL)
        (void)munmap(copy, copy_size);
    copy = NULL;
}

static int keep_all(void)
{
    size_t at = 0;
    int pagemap;

    copy = mmap(NULL, copy_size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) {
        copy = NULL;
        return ENOMEM;
    }
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < kept.count; i++) {
        if (!is_writable(&kept.items[i]))
            continue;
        keep_mapping(&kept.items[i], copy + at, pagemap);
        at += kept.items[i].end - kept.items[i].start;
    }
    if (pagemap >= 0)
        close(pagemap);
    kept_heap_end = heap_end;
    address_space_keep();
    return 0;
}

int kept_memory_keep(void)
{
    int result;

    forget();
    if (guest_memory_may_be_shared() || !address_space_is_managed())
        return ENOTSUP;
    result = find_mappings(&kept);
    if (result == 0)
        result = measure(&kept, &copy_size);
    if (result == 0)
        result = keep_all();
    if (result != 0)
        forget();
    return result;
}

/* ---- restoring ---- */

/* Behind the guest's heap QEMU keeps the room that it once took, which the guest cannot reach. */
static bool holds_heap_end(const struct mapped *mapped)
{
    const uintptr_t end = guest_memory_host_address(kept_heap_end);

    return mapped->start < end && end <= mapped->end;
}

static bool begins_as(const struct mapped *before, const struct mapped *now)
{
    return before->start == now->start && before->end <= now->end && before->file == now->file &&
           before->offset == now->offset && strcmp(before->rights, now->rights) == 0;
}

/* What was mapped between two addresses; the kept mapping with that number lies behind. */
static int tell_more(uintptr_t start, uintptr_t end, size_t next, struct kept_memory_range *more)
{
    if (next < kept.count && kept.items[next].start < end)
        end = kept.items[next].start;
    if (start >= end)
        return EBUSY;
    more->start = start - guest_memory_host_address(0);
    more->size = end - start;
    return EEXIST;
}

/* Whether what was mapped is mapped now, and nothing else is; as kept_memory_restore(). */
static int compare(const struct mappings *now, struct kept_memory_range *more)
{
    for (size_t i = 0; i < now->count; i++) {
        const struct mapped *mapped = &now->items[i], *before = &kept.items[i];

        if (i >= kept.count || !begins_as(before, mapped))
            return tell_more(mapped->start, mapped->end, i, more);
        if (before->end < mapped->end && !holds_heap_end(before))
            return tell_more(before->end, mapped->end, i + 1, more);
    }
    return now->count == kept.count ? 0 : ENOENT;
}

/* Zeros that nobody wrote take no memory. */
static void restore_page(const struct mapped *mapped, char *page, const char *before)
{
    if (memcmp(page, before, PAGE_SIZE) == 0)
        return;
    if (mapped->file != 0 || !is_zero(before) || madvise(page, PAGE_SIZE, MADV_DONTNEED) != 0)
        memcpy(page, before, PAGE_SIZE);
}

static void restore_mapping(const struct mapped *mapped, const char *from, int pagemap)
{
    char *to = (char *)mapped->start;
    struct pages now = pages_open(mapped->file == 0 ? pagemap : -1, to);
    struct pages before = pages_open(pagemap, from);

    for (size_t at = 0; at < mapped->end - mapped->start; at += PAGE_SIZE)
        if (pages_is_used(&now, at / PAGE_SIZE) || pages_is_used(&before, at / PAGE_SIZE))
            restore_page(mapped, to + at, from + at);
}

static void restore_all(const struct mappings *now)
{
    const char *from = copy;
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    for (size_t i = 0; i < kept.count; i++) {
        const struct mapped *mapped = &kept.items[i];
        const size_t size = mapped->end - mapped->start;

        if (!is_writable(mapped))
            continue;
        restore_mapping(mapped, from, pagemap);
        from += size;
        if (now->items[i].end > mapped->end)
            (void)madvise((void *)mapped->end, now->items[i].end - mapped->end, MADV_DONTNEED);
    }
    if (pagemap >= 0)
        close(pagemap);
}

int kept_memory_restore(struct kept_memory_range *more)
{
    struct mappings now;
    int result;

    if (copy == NULL || heap_end != kept_heap_end || guest_memory_may_be_shared())
        return EINVAL;
    result = find_mappings(&now);
    if (result == 0)
        result = compare(&now, more);
    if (result == 0) {
        restore_all(&now);
        address_space_restore();
        forget();
    }
    free_mappings(&now);
    return result;
}
