/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/tally.h"

#include <pthread.h>

#include "counter/profile.h"

/* A cache line pair for each thread, so that threads do not slow each other. */
struct slot {
    uint64_t begun;  /* instructions, those that did not complete included */
    uint64_t aborts; /* of them, those that did not complete */
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t repeated_address; /* the last repeating instruction that began */
    uint64_t repeated_begun;   /* begun_by() the thread just after it was counted */
    struct tally flushed;
    uint64_t raising_begun; /* begun_by() it when an instruction that can raise began */
} __attribute__((aligned(128)));

static struct slot slots[TALLY_THREADS_MAX];
static unsigned slots_used;

/* Threads that ended and whose index was given to another. */
static struct tally ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What the first thread began while it was the only one: the sum of these. */
static uint64_t *alone_words;
static bool many_threads;

/* Which slot is the calling host thread's. */
static __thread struct slot *own_slot __attribute__((tls_model("initial-exec")));

struct tally tally_sum(struct tally a, struct tally b)
{
    return (struct tally){
        .instructions = a.instructions + b.instructions,
        .faults = a.faults + b.faults,
        .bytes_read = a.bytes_read + b.bytes_read,
        .bytes_written = a.bytes_written + b.bytes_written,
        .syscalls = a.syscalls + b.syscalls,
    };
}

struct tally tally_difference(struct tally a, struct tally b)
{
    return (struct tally){
        .instructions = a.instructions - b.instructions,
        .faults = a.faults - b.faults,
        .bytes_read = a.bytes_read - b.bytes_read,
        .bytes_written = a.bytes_written - b.bytes_written,
        .syscalls = a.syscalls - b.syscalls,
    };
}

static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_lock(void)
{
    pthread_mutex_unlock(&lock);
}

/* A child of fork(2) must not find the lock held by a thread that it does not have. */
void tally_begin(void)
{
    pthread_atfork(take_lock, leave_lock, leave_lock);
}

bool tally_thread_began(unsigned thread)
{
    if (thread >= TALLY_THREADS_MAX)
        return false;
    pthread_mutex_lock(&lock);
    ended = tally_sum(ended, tally_of_thread(thread));
    slots[thread] = (struct slot){0};
    if (thread >= slots_used)
        slots_used = thread + 1;
    if (thread > 0)
        many_threads = true;
    pthread_mutex_unlock(&lock);
    return true;
}

/* The words change behind the compiler's back. */
static uint64_t begun_alone(void)
{
    uint64_t begun = 0;

    for (int word = 0; word < TALLY_WORDS; word++)
        begun += *(volatile uint64_t *)&alone_words[word];
    return begun;
}

static uint64_t begun_by(unsigned thread)
{
    return slots[thread].begun + (thread == 0 ? begun_alone() : 0);
}

static void add_begun(unsigned thread, void *instructions)
{
    slots[thread].begun += (uintptr_t)instructions;
}

static void add_raising(unsigned thread, void *unused)
{
    (void)unused;
    slots[thread].begun++;
    slots[thread].raising_begun = begun_by(thread);
}

/*
 * QEMU begins the same instruction again and nothing else in between: only then
 * is the number of instructions begun the same as when it was counted.
 */
static void add_repeated(unsigned thread, void *address)
{
    struct slot *slot = &slots[thread];

    if (slot->repeated_address == (uintptr_t)address && slot->repeated_begun == begun_by(thread))
        return;
    slot->begun++;
    slot->repeated_address = (uintptr_t)address;
    slot->repeated_begun = begun_by(thread);
}

void tally_count_before(struct qemu_plugin_insn *insn, uint64_t instructions)
{
    static unsigned turn;

    profile_count_before(insn, instructions, many_threads);
    if (many_threads)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, add_begun, QEMU_PLUGIN_CB_NO_REGS,
                                               (void *)(uintptr_t)instructions);
    else
        qemu_plugin_register_vcpu_insn_exec_inline(
            insn, QEMU_PLUGIN_INLINE_ADD_U64, &alone_words[turn++ % TALLY_WORDS], instructions);
}

void tally_count_repeated(struct qemu_plugin_insn *insn)
{
    uint64_t address = qemu_plugin_insn_vaddr(insn);

    profile_count_before(insn, 1, many_threads);
    qemu_plugin_register_vcpu_insn_exec_cb(insn, add_repeated, QEMU_PLUGIN_CB_NO_REGS,
                                           (void *)(uintptr_t)address);
}

void tally_count_raising(struct qemu_plugin_insn *insn)
{
    profile_count_before(insn, 1, many_threads);
    qemu_plugin_register_vcpu_insn_exec_cb(insn, add_raising, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

void tally_set_thread(unsigned thread)
{
    own_slot = &slots[thread];
}

void tally_note_abort(enum abort_reason reason)
{
    if (own_slot == NULL)
        return;
    if (reason == ABORT_BY_MEMORY ||
        own_slot->raising_begun == begun_by((unsigned)(own_slot - slots)))
        own_slot->aborts++;
}

void tally_add_syscall(unsigned thread)
{
    slots[thread].syscalls++;
}

void tally_add_bytes(unsigned thread, uint64_t read, uint64_t written)
{
    slots[thread].bytes_read += read;
    slots[thread].bytes_written += written;
}

/* Without what went to the words. */
static struct tally tally_of_slot(const struct slot *slot)
{
    return (struct tally){
        .instructions = slot->begun - slot->aborts,
        .faults = slot->aborts,
        .bytes_read = slot->bytes_read,
        .bytes_written = slot->bytes_written,
        .syscalls = slot->syscalls,
    };
}

struct tally tally_of_thread(unsigned thread)
{
    struct tally tally = tally_of_slot(&slots[thread]);

    if (thread == 0)
        tally.instructions += begun_alone();
    return tally;
}

void tally_use_words(uint64_t *words)
{
    alone_words = words;
}

struct tally tally_flush(unsigned thread)
{
    struct tally now = tally_of_slot(&slots[thread]);
    struct tally done = tally_difference(now, slots[thread].flushed);

    slots[thread].flushed = now;
    return done;
}

struct tally tally_of_process(void)
{
    struct tally total;

    pthread_mutex_lock(&lock);
    total = ended;
    for (unsigned thread = 0; thread < slots_used; thread++)
        total = tally_sum(total, tally_of_thread(thread));
    pthread_mutex_unlock(&lock);
    return total;
}
