/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "counter/pair_table.h"
#include "counter/qemu/code/call_stack.h"
#include "counter/qemu/guest/guest_files.h"
#include "counter/qemu/tally.h"

/* Chains of calls beyond so many are not told apart from their callers' chains. */
#define CHAINS_MAX 1000000

static char profile_path[PATH_MAX];
static bool is_open;

/* From (caller's chain, return address) to the chain; and from it back. */
static struct pair_table chains;
static struct chain {
    uint64_t caller, return_address;
} * chain_of;
static size_t chain_room;

/* From (chain, stretch) to how many instructions of the stretch completed so. */
static struct pair_table counts;

/* Of all three. Taken only where there are several threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct call_stack stacks[TALLY_THREADS_MAX];

static void take_profile_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_profile_lock(void)
{
    pthread_mutex_unlock(&lock);
}

/* The counts that fork(2) has copied are the parent's. */
static void profile_in_child(void)
{
    struct pair *count;

    for (size_t at = 0; (count = pair_table_next(&counts, &at)) != NULL;)
        count->value = 0;
    leave_profile_lock();
}

bool profile_open(const char *path)
{
    size_t size = strlen(path) + 1;

    if (size > sizeof profile_path) {
        fprintf(stderr, "gascount: the path of the profile is too long: %s\n", path);
        return false;
    }
    memcpy(profile_path, path, size);
    pthread_atfork(take_profile_lock, leave_profile_lock, profile_in_child);
    is_open = true;
    return true;
}

static _Noreturn void out_of_memory(void)
{
    qemu_plugin_outs("gascount: no memory for the profile\n");
    abort();
}

/* ---- counting ---- */

void profile_began(unsigned thread, const struct stretch *stretch, bool shared)
{
    struct pair *count;

    if (shared)
        take_profile_lock();
    count = pair_table_find(&counts, call_stack_id(&stacks[thread]), (uintptr_t)stretch);
    if (count == NULL)
        out_of_memory();
    count->value += stretch->length;
    if (shared)
        leave_profile_lock();
}

/* The pair is there already, so no memory is asked for: this may be a signal handler. */
void profile_aborted(unsigned thread, const struct stretch *stretch, bool shared)
{
    struct pair *count;

    if (shared)
        take_profile_lock();
    count = pair_table_find(&counts, call_stack_id(&stacks[thread]), (uintptr_t)stretch);
    if (count != NULL)
        count->value--;
    if (shared)
        leave_profile_lock();
}

/* ---- following calls ---- */

void profile_thread_began(unsigned thread)
{
    call_stack_clear(&stacks[thread]);
}

void profile_alternate_stack(unsigned thread, uint64_t start, uint64_t size)
{
    stacks[thread].other_start = start;
    stacks[thread].other_end = start + size;
}

/* Chain 0 is that of no calls. */
static bool keep_chain(struct chain chain)
{
    if (chains.count >= chain_room) {
        size_t room = chain_room > 0 ? 2 * chain_room : 1024;
        struct chain *larger = reallocarray(chain_of, room, sizeof *larger);

        if (larger == NULL)
            return false;
        chain_of = larger;
        chain_room = room;
    }
    chain_of[chains.count] = chain;
    return true;
}

static uint32_t chain_id(uint32_t caller, uint64_t return_address)
{
    struct pair *chain = pair_table_find(&chains, caller, return_address);

    if (chain == NULL)
        out_of_memory();
    if (chain->value == 0) {
        chain->value = chains.count;
        if (!keep_chain((struct chain){caller, return_address}))
            out_of_memory();
    }
    return (uint32_t)chain->value;
}

static void called(unsigned thread, qemu_plugin_meminfo_t info, uint64_t slot, void *return_address)
{
    struct call_stack *stack = &stacks[thread];
    uint32_t caller, id;

    if (!qemu_plugin_mem_is_store(info))
        return; /* of whom to call */
    call_stack_leave(stack, slot);
    caller = id = call_stack_id(stack);
    take_profile_lock();
    if (stack->depth < PROFILE_DEPTH_MAX && chains.count < CHAINS_MAX)
        id = chain_id(caller, (uintptr_t)return_address);
    leave_profile_lock();
    if (!call_stack_enter(stack, slot, id))
        out_of_memory();
}

static void returned(unsigned thread, qemu_plugin_meminfo_t info, uint64_t slot, void *unused)
{
    (void)info, (void)unused;
    call_stack_leave(&stacks[thread], slot);
}

/* QEMU 7.2 takes loads for stores where it is told only of one, so all are asked for. */
void profile_watch(struct qemu_plugin_insn *insn, const struct opcode *opcode)
{
    uint64_t behind = qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn);

    if (!is_open)
        return;
    switch (kind_of(opcode).class) {
    case KIND_CALL:
        qemu_plugin_register_vcpu_mem_cb(insn, called, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         (void *)(uintptr_t)behind);
        break;
    case KIND_RETURN:
        qemu_plugin_register_vcpu_mem_cb(insn, returned, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         NULL);
        break;
    default:
        break;
    }
}

/* ---- writing ---- */

static void write_place(FILE *out, const struct guest_files *files, uint64_t address)
{
    uint64_t offset = 0;
    const struct guest_file *file = guest_files_find(files, address, &offset);

    fprintf(out, "%" PRIu64 " %s\n", offset, file != NULL ? file->path : "-");
}

static void write_chains(FILE *out, const struct guest_files *files)
{
    for (size_t id = 1; id <= chains.count; id++) {
        fprintf(out, "call %zu %" PRIu64 " ", id, chain_of[id].caller);
        write_place(out, files, chain_of[id].return_address);
    }
}

/* What is written is not written again, should the process go on. */
static void write_counts(FILE *out, const struct guest_files *files)
{
    struct pair *count;

    for (size_t at = 0; (count = pair_table_next(&counts, &at)) != NULL;) {
        const struct stretch *stretch = (const struct stretch *)(uintptr_t)count->b;

        if (count->value == 0)
            continue;
        fprintf(out, "count %" PRIu64 " %" PRIu64 " ", count->value, count->a);
        write_place(out, files, stretch->address);
        count->value = 0;
    }
}

/* Others may append to the same file at the same time. */
static bool append_to_file(const char *text, size_t length)
{
    int fd = open(profile_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    ssize_t written = 0;

    if (fd < 0)
        return false;
    while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
        ;
    for (size_t at = 0; at < length && written >= 0; at += (size_t)written) {
        written = write(fd, text + at, length - at);
        if (written < 0 && errno == EINTR)
            written = 0;
    }
    return close(fd) == 0 && written >= 0;
}

static void write_all(const struct guest_files *files)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool written = false;

    if (out != NULL) {
        fprintf(out, "process %d\n", (int)getpid());
        write_chains(out, files);
        write_counts(out, files);
        written = fclose(out) == 0 && append_to_file(text, length);
    }
    if (!written)
        fprintf(stderr, "gascount: cannot write %s: %s\n", profile_path, strerror(errno));
    free(text);
}

void profile_write(void)
{
    struct guest_files files;

    if (!is_open)
        return;
    guest_files_read(&files);
    take_profile_lock();
    write_all(&files);
    leave_profile_lock();
    guest_files_free(&files);
}

void profile_unmaps(uint64_t start, uint64_t size)
{
    struct guest_files files;

    if (!is_open)
        return;
    guest_files_read(&files);
    if (guest_files_touch(&files, start, size)) {
        take_profile_lock();
        write_all(&files);
        leave_profile_lock();
    }
    guest_files_free(&files);
}
