/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/tally.h"

#include <pthread.h>

/* A cache line pair for each thread, so that threads do not slow each other. */
struct slot {
    struct tally tally;
} __attribute__((aligned(128)));

static struct slot slots[TALLY_THREADS_MAX];
static unsigned slots_used;

/* Threads that ended and whose index was given to another. */
static struct tally ended;
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;

/* What the first thread executed while it was the only one. */
static uint64_t alone_instructions;
static bool many_threads;

struct tally tally_sum(struct tally a, struct tally b)
{
    return (struct tally){
        .instructions = a.instructions + b.instructions,
        .bytes_read = a.bytes_read + b.bytes_read,
        .bytes_written = a.bytes_written + b.bytes_written,
        .syscalls = a.syscalls + b.syscalls,
    };
}

struct tally tally_difference(struct tally a, struct tally b)
{
    return (struct tally){
        .instructions = a.instructions - b.instructions,
        .bytes_read = a.bytes_read - b.bytes_read,
        .bytes_written = a.bytes_written - b.bytes_written,
        .syscalls = a.syscalls - b.syscalls,
    };
}

bool tally_thread_began(unsigned thread)
{
    if (thread >= TALLY_THREADS_MAX)
        return false;
    pthread_mutex_lock(&ended_lock);
    ended = tally_sum(ended, slots[thread].tally);
    slots[thread].tally = (struct tally){0};
    if (thread >= slots_used)
        slots_used = thread + 1;
    if (thread > 0)
        many_threads = true;
    pthread_mutex_unlock(&ended_lock);
    return true;
}

static void add_instructions(unsigned thread, void *instructions)
{
    slots[thread].tally.instructions += (uintptr_t)instructions;
}

void tally_count_block(struct qemu_plugin_tb *tb, uint64_t instructions)
{
    if (many_threads)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, add_instructions, QEMU_PLUGIN_CB_NO_REGS,
                                             (void *)(uintptr_t)instructions);
    else
        qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
                                                 &alone_instructions, instructions);
}

void tally_add_syscall(unsigned thread)
{
    slots[thread].tally.syscalls++;
}

void tally_add_bytes(unsigned thread, uint64_t read, uint64_t written)
{
    slots[thread].tally.bytes_read += read;
    slots[thread].tally.bytes_written += written;
}

struct tally tally_of_thread(unsigned thread)
{
    struct tally tally = slots[thread].tally;

    if (thread == 0)
        tally.instructions += *(volatile uint64_t *)&alone_instructions;
    return tally;
}

struct tally tally_of_process(void)
{
    struct tally total;

    pthread_mutex_lock(&ended_lock);
    total = ended;
    for (unsigned thread = 0; thread < slots_used; thread++)
        total = tally_sum(total, tally_of_thread(thread));
    pthread_mutex_unlock(&ended_lock);
    return total;
}
