/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/address_space.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "counter/qemu/emulator/interpose.h"

enum { PAGE_BITS = 12 };

static uint64_t guest_base;
static uint64_t proven_page; /* a page of the host by number that is known to be writable; 0:
                              * none */
static bool is_shared;

void guest_memory_learn(const struct qemu_plugin_insn *insn)
{
    guest_base = (uintptr_t)qemu_plugin_insn_haddr(insn) - qemu_plugin_insn_vaddr(insn);
}

/* Returns the host address of a guest address. */
static uint64_t guest_memory_host_address(uint64_t guest_address)
{
    return guest_address + guest_base;
}

/* Linux copies the bytes: for a bad address it returns EFAULT, where a plain access would crash
 * QEMU. */
bool guest_memory_read(uint64_t guest_address, void *to, size_t length)
{
    struct iovec local = {to, length};
    struct iovec remote = {(void *)(uintptr_t)guest_memory_host_address(guest_address), length};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)length;
}

void guest_memory_may_change(void)
{
    proven_page = 0;
}

void guest_memory_is_shared(void)
{
    proven_page = 0;
    is_shared = true;
}

/* Returns the page that contains the whole range, or 0. */
static uint64_t page_of(uint64_t address, size_t length)
{
    uint64_t page = address >> PAGE_BITS;

    return (address + length - 1) >> PAGE_BITS == page ? page : 0;
}

bool guest_memory_write(uint64_t guest_address, const void *from, size_t length)
{
    uint64_t address = guest_memory_host_address(guest_address);
    uint64_t page = page_of(address, length);
    struct iovec local = {(void *)(uintptr_t)from, length};
    struct iovec remote = {(void *)(uintptr_t)address, length};

    if (page != 0 && page == proven_page) {
        memcpy(remote.iov_base, from, length);
        return true;
    }
    if (process_vm_writev(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)length)
        return false;
    if (!is_shared)
        proven_page = page;
    return true;
}

static bool parse_map_line(const char *line, struct guest_file *file)
{
    char *at;
    const char *path = strchr(line, '/');

    file->start = strtoull(line, &at, 16);
    if (path == NULL || *at != '-')
        return false;
    file->end = strtoull(at + 1, &at, 16);
    at += strspn(at, " ");
    at += strcspn(at, " "); /* the protection */
    file->offset = strtoull(at, NULL, 16);
    file->path = strndup(path, strcspn(path, "\n"));
    return file->path != NULL;
}

static bool add_file(struct guest_files *files, struct guest_file file)
{
    struct guest_file *larger = reallocarray(files->file, files->count + 1, sizeof *larger);

    if (larger == NULL)
        return false;
    larger[files->count++] = file;
    files->file = larger;
    return true;
}

void guest_files_read(struct guest_files *files)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 100];

    *files = (struct guest_files){0};
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        struct guest_file file;

        if (parse_map_line(line, &file) && !add_file(files, file)) {
            free(file.path);
            break;
        }
    }
    if (maps != NULL)
        fclose(maps);
}

const struct guest_file *guest_files_find(const struct guest_files *files, uint64_t guest_address,
                                          uint64_t *offset)
{
    uint64_t address = guest_memory_host_address(guest_address);
    size_t low = 0, high = files->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (files->file[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == files->count || files->file[low].start > address)
        return NULL;
    *offset = address - files->file[low].start + files->file[low].offset;
    return &files->file[low];
}

bool guest_files_touch(const struct guest_files *files, uint64_t start, uint64_t size)
{
    uint64_t first = guest_memory_host_address(start);

    for (size_t i = 0; i < files->count; i++)
        if (files->file[i].start < first + size && first < files->file[i].end)
            return true;
    return false;
}

void guest_files_free(struct guest_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->file[i].path);
    free(files->file);
    *files = (struct guest_files){0};
}

/* ---- the address space ---- */

/* QEMU 7.2 begins its search here, for a 64-bit guest on a 64-bit host. */
#define FIRST_ADDRESS ((uintptr_t)1 << 38)

/* QEMU since 9.0 begins its search for the target of an mremap here: a third of 1 << 47. */
#define MOVING_HINT ((uintptr_t)0x2aaaaaaab000)

/* The flags with which QEMU searches for free space. */
#define ASKING_FLAGS (MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE)

#define PAGE_SIZE 4096

struct range {
    uintptr_t start, end;
};

/* Released ranges, sorted by address; no two touch. */
#define RANGES_MAX 1024
static struct range released[RANGES_MAX];
static size_t released_count;

static uintptr_t next_hint = FIRST_ADDRESS;  /* QEMU's hint for a mapping without an address */
static uintptr_t end_of_all = FIRST_ADDRESS; /* end of all space that was ever given out */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool guest_runs;
static bool kernel_places; /* QEMU lets Linux choose the address of a mapping */

typedef void *mmap_function(void *, size_t, int, int, int, off_t);
typedef int munmap_function(void *, size_t);
typedef void *mremap_function(void *, size_t, size_t, int, ...);
static mmap_function *real_mmap;
static munmap_function *real_munmap;
static mremap_function *real_mremap;

static void remove_range(size_t index)
{
    released_count--;
    memmove(&released[index], &released[index + 1], (released_count - index) * sizeof *released);
}

/* Drops the range if the table is full: its space is then not used again. */
static void insert_range(size_t index, struct range range)
{
    if (released_count == RANGES_MAX)
        return;
    memmove(&released[index + 1], &released[index], (released_count - index) * sizeof *released);
    released[index] = range;
    released_count++;
}

/* Merges the new range with all that overlap or touch it. */
static void add_released(struct range range)
{
    size_t index = 0;

    while (index < released_count && released[index].end < range.start)
        index++;
    while (index < released_count && released[index].start <= range.end) {
        if (released[index].start < range.start)
            range.start = released[index].start;
        if (released[index].end > range.end)
            range.end = released[index].end;
        remove_range(index);
    }
    insert_range(index, range);
}

/* Returns the lowest released range of that size and removes it from the table; 0: none. */
static uintptr_t address_space_take(size_t size)
{
    for (size_t index = 0; index < released_count; index++) {
        struct range *range = &released[index];
        uintptr_t start = range->start;

        if (range->end - start < size)
            continue;
        range->start += size;
        if (range->start == range->end)
            remove_range(index);
        return start;
    }
    return 0;
}

/* Reserves a range. It asks Linux whether the range is free, since the guest may have mapped
 * something there with MAP_FIXED. */
static void *reserve_free_range(size_t size)
{
    for (;;) {
        uintptr_t start = address_space_take(size);
        uintptr_t address = start != 0 ? start : end_of_all;
        void *space =
            real_mmap((void *)address, size, PROT_NONE, ASKING_FLAGS | MAP_FIXED_NOREPLACE, -1, 0);

        if (space != MAP_FAILED)
            return space;
        if (start == 0)
            return real_mmap((void *)address, size, PROT_NONE, ASKING_FLAGS, -1, 0);
    }
}

static void given(uintptr_t start, size_t size)
{
    next_hint = start + size;
    if (start < GUEST_MEMORY_END && start + size > end_of_all)
        end_of_all = start + size;
}

static bool is_space_search(uintptr_t address, int protection, int flags, int fd)
{
    uintptr_t hint = kernel_places ? MOVING_HINT : __atomic_load_n(&next_hint, __ATOMIC_RELAXED);

    return flags == ASKING_FLAGS && protection == PROT_NONE && fd == -1 && address == hint;
}

/* Returns true for a mapping of the guest without an address. Executable mappings are QEMU's own,
 * for translated code. */
static bool lets_linux_choose(uintptr_t address, int protection, int flags)
{
    return kernel_places && address == 0 && (protection & PROT_EXEC) == 0 &&
           (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == 0;
}

static void *give_space(size_t size)
{
    void *space;

    pthread_mutex_lock(&lock);
    space = reserve_free_range(size);
    if (space != MAP_FAILED)
        given((uintptr_t)space, size);
    pthread_mutex_unlock(&lock);
    return space;
}

static int replace_munmap(void *address, size_t size);

static void *map_at_chosen(size_t size, int protection, int flags, int fd, off_t offset)
{
    size_t whole = (size + (PAGE_SIZE - 1)) & ~(size_t)(PAGE_SIZE - 1);
    void *space = whole >= size ? give_space(whole) : MAP_FAILED, *mapped;
    int error;

    if (space == MAP_FAILED)
        return real_mmap(NULL, size, protection, flags, fd, offset);
    mapped = real_mmap(space, size, protection, flags | MAP_FIXED, fd, offset);
    if (mapped == MAP_FAILED) {
        error = errno;
        replace_munmap(space, whole);
        errno = error;
    }
    return mapped;
}

static void *replace_mmap(void *address, size_t size, int protection, int flags, int fd,
                          off_t offset)
{
    if (is_space_search((uintptr_t)address, protection, flags, fd))
        return give_space(size);
    if (size > 0 && lets_linux_choose((uintptr_t)address, protection, flags))
        return map_at_chosen(size, protection, flags, fd, offset);
    return real_mmap(address, size, protection, flags, fd, offset);
}

static void note_release(void *address, size_t size)
{
    uintptr_t start = (uintptr_t)address;

    if (!__atomic_load_n(&guest_runs, __ATOMIC_RELAXED) || start < FIRST_ADDRESS ||
        start >= GUEST_MEMORY_END || GUEST_MEMORY_END - start < size)
        return;
    pthread_mutex_lock(&lock);
    add_released((struct range){start, start + size});
    pthread_mutex_unlock(&lock);
}

static int replace_munmap(void *address, size_t size)
{
    int result = real_munmap(address, size);

    if (result == 0)
        note_release(address, size);
    return result;
}

static void *remap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    void *target, *moved;
    va_list arguments;

    va_start(arguments, flags);
    target = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    moved = real_mremap(address, old_size, new_size, flags, target);
    if (moved != MAP_FAILED && moved != address)
        note_release(address, old_size);
    return moved;
}

bool address_space_manage(bool kernel_does)
{
    kernel_places = kernel_does;
    return interpose("munmap", (void *)replace_munmap, (void **)&real_munmap) &&
           interpose("mremap", (void *)remap, (void **)&real_mremap) &&
           interpose("mmap64", (void *)replace_mmap, (void **)&real_mmap);
}

void address_space_guest_runs(void)
{
    __atomic_store_n(&guest_runs, true, __ATOMIC_RELAXED);
}
