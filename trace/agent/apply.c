/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/apply.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/agent/lane.h"

enum { PAGE = 4096, PATCH_BYTES = 5 };

static int apply_refuse(struct trace_head *head, const char *words)
{
    snprintf(head->refusal, sizeof head->refusal, "%s: %s", words, strerror(errno));
    return -1;
}

static bool map_at(uint64_t address, uint64_t size, int protection, int fd, uint64_t offset)
{
    /* cppcheck-suppress leakReturnValNotUsed ; at a fixed address */
    return mmap((void *)address, size, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) !=
           MAP_FAILED;
}

int apply_regions(struct trace_head *head, int fd)
{
    uint64_t offset = head->regions_at;

    for (uint32_t i = 0; i < head->module_count; i++) {
        const struct trace_module *const module = &head->modules[i];
        const uint64_t code = module->region_size / 4 * 3, data = module->region_size / 4;

        if (module->region != 0) {
            /* cppcheck-suppress leakReturnValNotUsed ; at a fixed address */
            if (!map_at(module->region, code, PROT_READ | PROT_EXEC, fd, offset) ||
                /* cppcheck-suppress leakReturnValNotUsed ; at a fixed address */
                !map_at(module->region + code, data, PROT_READ | PROT_WRITE, fd, offset + code))
                return apply_refuse(head, "cannot map memory that can be executed");
            lanes_add_region(module->region, module->region + code);
        }
        offset += module->region_size;
    }
    return 0;
}

/* ---- library calls ---- */

static struct trace_call *calls_of(struct trace_head *head)
{
    return (struct trace_call *)((char *)head + head->calls_at);
}

/* A slot of a program that was linked so cannot be written to after its start. */
static bool write_slot(const struct trace_call *call, uint64_t value)
{
    void *const page = (void *)(call->slot & ~(uint64_t)(PAGE - 1));
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((uint64_t *)call->slot, value, __ATOMIC_RELEASE);
    if (call->read_only != 0)
        (void)mprotect(page, PAGE, PROT_READ);
    return true;
}

void apply_calls(struct trace_head *head)
{
    struct trace_call *const calls = calls_of(head);

    for (uint32_t i = 0; i < head->call_count; i++) {
        struct trace_call *const call = &calls[i];
        const uint64_t before = *(uint64_t *)call->slot;
        uint64_t function = before;

        if (before >= call->text_begin && before < call->text_end)
            function = (uint64_t)dlsym(RTLD_DEFAULT, call->name);
        if (function == 0)
            continue;
        *(uint64_t *)call->cell = function;
        if (write_slot(call, call->trampoline))
            call->before = before;
    }
}

void undo_calls(struct trace_head *head)
{
    struct trace_call *const calls = calls_of(head);

    for (uint32_t i = 0; i < head->call_count; i++)
        if (calls[i].before != 0 && *(uint64_t *)calls[i].slot == calls[i].trampoline)
            (void)write_slot(&calls[i], calls[i].before);
}

/* ---- functions ---- */

static struct trace_patch *patches_of(struct trace_head *head)
{
    return (struct trace_patch *)((char *)head + head->patches_at);
}

/* The pages of patches that stand close together. */
struct stretch {
    uint64_t begin, end;
    uint32_t first, behind; /* patches */
};

static struct stretch stretch_from(const struct trace_head *head, const struct trace_patch *patches,
                                   uint32_t first)
{
    struct stretch stretch = {.first = first, .behind = first};

    stretch.begin = patches[first].address & ~(uint64_t)(PAGE - 1);
    stretch.end = stretch.begin;
    while (stretch.behind < head->patch_count &&
           patches[stretch.behind].address < stretch.end + PAGE)
        stretch.end =
            (patches[stretch.behind++].address + PATCH_BYTES + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return stretch;
}

static bool protect(const struct stretch *stretch, int protection)
{
    return mprotect((void *)stretch->begin, stretch->end - stretch->begin, protection) == 0;
}

static int write_text(struct trace_head *head, bool undo)
{
    struct trace_patch *const patches = patches_of(head);
    struct stretch stretch;

    for (uint32_t i = 0; i < head->patch_count; i = stretch.behind) {
        stretch = stretch_from(head, patches, i);
        if (!protect(&stretch, PROT_READ | PROT_WRITE | PROT_EXEC))
            return apply_refuse(head, "the program's text cannot be written to");
        for (uint32_t k = stretch.first; k < stretch.behind; k++)
            memcpy((void *)patches[k].address, undo ? patches[k].before : patches[k].after,
                   PATCH_BYTES);
        (void)protect(&stretch, PROT_READ | PROT_EXEC);
    }
    return 0;
}

int apply_patches(struct trace_head *head)
{
    const struct trace_patch *const patches = patches_of(head);

    for (uint32_t i = 0; i < head->patch_count; i++) {
        if (memcmp((const void *)patches[i].address, patches[i].before, PATCH_BYTES) == 0)
            continue;
        snprintf(head->refusal, sizeof head->refusal,
                 "the program's text is not what its file has");
        return -1;
    }
    if (write_text(head, false) == 0)
        return 0;
    (void)write_text(head, true);
    return -1;
}

void undo_patches(struct trace_head *head)
{
    (void)write_text(head, true);
}
