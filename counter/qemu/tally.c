/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/tally.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "counter/qemu/code/profile.h"
#include "counter/qemu/emulator/host.h"
#include "counter/qemu/emulator/interpose.h"

/* One pair of cache lines per thread, so that threads do not slow each other. */
struct slot {
    uint64_t begun;  /* instructions begun, including those that did not complete */
    uint64_t aborts; /* instructions that did not complete */
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t repeated_address; /* address of the last repeated instruction that began */
    uint64_t repeated_begun;   /* begun_by() for the thread directly after it was counted */
    struct tally flushed;
    uint64_t raising_begun; /* begun_by() when an instruction that can raise an exception began */
    uint64_t atomic_begun;  /* likewise for an atomic operation; 0: none that may begin again */
    uint64_t added_before;  /* host_added() when the thread began */
    /* Only if kinds or a profile are requested: */
    uint32_t last;              /* key of the sequence that began last; 0: none */
    uint64_t kinds[KIND_COUNT]; /* completed instructions by kind */
} __attribute__((aligned(128)));

static struct slot slots[TALLY_THREADS_MAX];
static unsigned slots_used;

/* Totals of threads that ended and whose index was reused. */
static struct tally ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The instructions of the first thread while it was alone: the sum of these words. */
static uint64_t *alone_words;
static bool many_threads;

/* Like alone_words, for kinds; NULL: not requested. */
static uint64_t *alone_kinds;
static bool feeds_profile;

/* The calling host thread's slot. */
static __thread struct slot *own_slot __attribute__((tls_model("initial-exec")));

struct tally tally_sum(struct tally a, struct tally b)
{
    a.instructions += b.instructions;
    a.faults += b.faults;
    a.bytes_read += b.bytes_read;
    a.bytes_written += b.bytes_written;
    a.syscalls += b.syscalls;
    for (int kind = 0; alone_kinds != NULL && kind < KIND_COUNT; kind++)
        a.kinds[kind] += b.kinds[kind];
    return a;
}

struct tally tally_difference(struct tally a, struct tally b)
{
    a.instructions -= b.instructions;
    a.faults -= b.faults;
    a.bytes_read -= b.bytes_read;
    a.bytes_written -= b.bytes_written;
    a.syscalls -= b.syscalls;
    for (int kind = 0; alone_kinds != NULL && kind < KIND_COUNT; kind++)
        a.kinds[kind] -= b.kinds[kind];
    return a;
}

static void take_tally_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_tally_lock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Holds the lock over a fork, so that the child does not inherit it locked. */
void tally_begin(void)
{
    pthread_atfork(take_tally_lock, leave_tally_lock, leave_tally_lock);
}

bool tally_thread_began(unsigned thread)
{
    if (thread >= TALLY_THREADS_MAX)
        return false;
    pthread_mutex_lock(&lock);
    ended = tally_sum(ended, tally_of_thread(thread));
    slots[thread] = (struct slot){0};
    if (host_has_scoreboards())
        slots[thread].added_before = host_added(thread);
    if (thread >= slots_used)
        slots_used = thread + 1;
    pthread_mutex_unlock(&lock);
    return true;
}

void tally_threads_come(void)
{
    many_threads = true;
}

/* Volatile, because translated code changes the words without the compiler's knowledge. */
static uint64_t begun_alone(void)
{
    uint64_t begun = 0;

    for (int word = 0; word < TALLY_WORDS; word++)
        begun += *(volatile uint64_t *)&alone_words[word];
    return begun;
}

/* Returns what was counted in the thread's own slot. */
static uint64_t begun_in_slot(const struct slot *slot)
{
    if (!host_has_scoreboards())
        return slot->begun;
    return slot->begun + host_added((unsigned)(slot - slots)) - slot->added_before;
}

static uint64_t begun_by(unsigned thread)
{
    return begun_in_slot(&slots[thread]) + (thread == 0 ? begun_alone() : 0);
}

void tally_set_thread(unsigned thread)
{
    own_slot = &slots[thread];
}

/* Also records the host thread's slot, since a thread can fault before its first system call. */
static void begin_instructions(unsigned thread, uint64_t instructions)
{
    tally_set_thread(thread);
    own_slot->begun += instructions;
}

static void add_begun(unsigned thread, void *instructions)
{
    begin_instructions(thread, (uintptr_t)instructions);
}

static void add_raising(unsigned thread, void *unused)
{
    (void)unused;
    begin_instructions(thread, 1);
    slots[thread].raising_begun = begun_by(thread);
}

static void add_atomic(unsigned thread, void *unused)
{
    (void)unused;
    begin_instructions(thread, 1);
    slots[thread].atomic_begun = begun_by(thread);
}

/* Returns true if QEMU begins the same instruction again directly: then the number of instructions
 * begun has not changed since it was counted. */
static bool begins_again(unsigned thread, uint64_t address)
{
    const struct slot *slot = &slots[thread];

    return slot->repeated_address == address && slot->repeated_begun == begun_by(thread);
}

static void add_repeated(unsigned thread, void *address)
{
    struct slot *slot = &slots[thread];

    if (begins_again(thread, (uintptr_t)address))
        return;
    begin_instructions(thread, 1);
    slot->repeated_address = (uintptr_t)address;
    slot->repeated_begun = begun_by(thread);
}

/* ---- functions that each sequence calls if kinds or a profile are requested ---- */

static void add_kinds(unsigned thread, const struct insn_sequence *sequence)
{
    uint64_t *kinds = many_threads ? slots[thread].kinds : alone_kinds;

    for (int kind = 0; kind < KIND_COUNT; kind++)
        kinds[kind] += sequence->kinds[kind];
}

static void tally_note(unsigned thread, const struct insn_sequence *sequence)
{
    slots[thread].last = sequence->key;
    if (alone_kinds != NULL)
        add_kinds(thread, sequence);
    if (feeds_profile)
        profile_began(thread, sequence);
}

/* Adds to the same words as translated code, so that a reader sees both kinds of count at once. */
static void note_plain(unsigned thread, void *insn_sequence_of)
{
    const struct insn_sequence *sequence = insn_sequence_of;

    if (many_threads)
        begin_instructions(thread, sequence->length);
    else
        alone_words[0] += sequence->length;
    tally_note(thread, sequence);
}

/* For one thread without kinds. Length and key fit into one word, which saves a load. */
static void note_profiled(unsigned thread, void *length_and_key)
{
    const uint32_t key = (uint32_t)(uintptr_t)length_and_key;
    const uint32_t length = (uint32_t)((uintptr_t)length_and_key >> 32);

    (void)thread;
    alone_words[0] += length;
    slots[0].last = key;
    profile_began_alone(key, length);
}

static void *length_and_key(const struct insn_sequence *sequence)
{
    return (void *)(uintptr_t)(sequence->length << 32 | sequence->key);
}

static void note_raising(unsigned thread, void *sequence)
{
    add_raising(thread, NULL);
    tally_note(thread, sequence);
}

static void note_atomic(unsigned thread, void *sequence)
{
    add_atomic(thread, NULL);
    tally_note(thread, sequence);
}

static void note_repeated(unsigned thread, void *insn_sequence_of)
{
    const struct insn_sequence *sequence = insn_sequence_of;

    if (begins_again(thread, sequence->address))
        return;
    tally_note(thread, sequence);
    add_repeated(thread, (void *)(uintptr_t)sequence->address);
}

static void call_before(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t function,
                        const void *data)
{
    qemu_plugin_register_vcpu_insn_exec_cb(insn, function, QEMU_PLUGIN_CB_NO_REGS,
                                           (void *)(uintptr_t)data);
}

static void note_before(struct qemu_plugin_insn *insn, const struct insn_sequence *sequence,
                        enum tally_manner manner)
{
    static const qemu_plugin_vcpu_udata_cb_t functions[] = {
        [TALLY_PLAIN] = note_plain,
        [TALLY_REPEATED] = note_repeated,
        [TALLY_RAISING] = note_raising,
        [TALLY_ATOMIC] = note_atomic,
    };
    const struct insn_sequence *kept = insn_sequence_keep(sequence);

    if (kept == NULL) {
        qemu_plugin_outs("gascount: no memory for what is counted\n");
        abort();
    }
    if (manner == TALLY_PLAIN && alone_kinds == NULL && !many_threads)
        call_before(insn, note_profiled, length_and_key(kept));
    else
        call_before(insn, functions[manner], kept);
}

static void add_to_words(struct qemu_plugin_insn *insn, uint64_t instructions)
{
    static unsigned turn;
    uint64_t *word = &alone_words[turn++ % TALLY_WORDS];

    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, word,
                                               instructions);
}

static void count_plain(struct qemu_plugin_insn *insn, uint64_t instructions)
{
    if (host_has_scoreboards())
        host_add_before(insn, instructions);
    else if (many_threads)
        call_before(insn, add_begun, (void *)(uintptr_t)instructions);
    else
        add_to_words(insn, instructions);
}

void tally_count_before(struct qemu_plugin_insn *insn, const struct insn_sequence *sequence,
                        enum tally_manner manner)
{
    if (alone_kinds != NULL || feeds_profile)
        note_before(insn, sequence, manner);
    else if (manner == TALLY_REPEATED)
        call_before(insn, add_repeated, (void *)(uintptr_t)sequence->address);
    else if (manner == TALLY_RAISING)
        call_before(insn, add_raising, NULL);
    else if (manner == TALLY_ATOMIC)
        call_before(insn, add_atomic, NULL);
    else
        count_plain(insn, sequence->length);
}

/* The aborted instruction is the last of the last sequence; this subtracts its kind. */
static void take_back_kind(struct slot *slot)
{
    unsigned thread = (unsigned)(slot - slots);
    const struct insn_sequence *last;

    if (slot->last == 0)
        return;
    last = insn_sequence_of_key(slot->last);
    if (alone_kinds != NULL) {
        slot->kinds[last->last_class]--;
        slot->kinds[last->last_memory]--;
    }
    if (feeds_profile)
        profile_aborted(thread, last);
}

void tally_note_abort(enum abort_reason reason)
{
    uint64_t begun;

    if (own_slot == NULL)
        return;
    begun = begun_by((unsigned)(own_slot - slots));
    if (reason == ABORT_BY_MEMORY || own_slot->raising_begun == begun) {
        own_slot->aborts++;
        take_back_kind(own_slot);
    } else if (own_slot->atomic_begun == begun) {
        own_slot->begun--;
        own_slot->atomic_begun = 0;
        take_back_kind(own_slot);
    }
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

/* Without the words. */
static struct tally tally_of_slot(const struct slot *slot)
{
    struct tally tally = {
        .instructions = begun_in_slot(slot) - slot->aborts,
        .faults = slot->aborts,
        .bytes_read = slot->bytes_read,
        .bytes_written = slot->bytes_written,
        .syscalls = slot->syscalls,
    };

    if (alone_kinds != NULL)
        memcpy(tally.kinds, slot->kinds, sizeof tally.kinds);
    return tally;
}

struct tally tally_of_thread(unsigned thread)
{
    struct tally tally = tally_of_slot(&slots[thread]);

    if (thread > 0)
        return tally;
    tally.instructions += begun_alone();
    for (int kind = 0; alone_kinds != NULL && kind < KIND_COUNT; kind++)
        tally.kinds[kind] += *(volatile uint64_t *)&alone_kinds[kind];
    return tally;
}

void tally_use_words(uint64_t *words)
{
    alone_words = words;
}

void tally_use_kind_words(uint64_t *words)
{
    alone_kinds = words;
}

void tally_feed_profile(void)
{
    feeds_profile = true;
}

struct tally tally_flush(unsigned thread)
{
    struct tally now = tally_of_slot(&slots[thread]);
    struct tally done = tally_difference(now, slots[thread].flushed);

    slots[thread].flushed = now;
    return done;
}

struct tally tally_flush_own(void)
{
    return own_slot != NULL ? tally_flush((unsigned)(own_slot - slots)) : (struct tally){0};
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

typedef void release_function(void *object, const char *name, void *opaque);

/* QEMU's struct ObjectProperty (include/qom/object.h), from 2.4 to 10: the part used here. */
struct property {
    const char *name;
    const char *type;
    const char *description;
    void *get, *set, *resolve;
    release_function *release;
    void *init;
    void *opaque; /* of a child, the child */
};

/* A vCPU object that is a child of its container; all NULL: none. */
struct child {
    void *table; /* the parent's table of properties */
    struct property *property;
};

typedef int insert_function(void *table, void *key, void *value);
typedef int remove_function(void *table, const void *key);
typedef void exit_function(void *result);
typedef void *seed_function(const uint32_t *seed, unsigned length);
typedef void free_function(void *random);

static insert_function *real_insert;
static remove_function *remove_entry;
static exit_function *real_exit;
static seed_function *real_seed;
static free_function *free_random;
static release_function *real_release;

/* The children of running threads by index, then those of ended threads. */
static struct child children[TALLY_THREADS_MAX];
static struct child ended_children[TALLY_THREADS_MAX];
static unsigned ended_count;
static pthread_mutex_t children_lock = PTHREAD_MUTEX_INITIALIZER;

#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))

OF_THREAD struct child last_made; /* the child that this thread created last */
OF_THREAD struct child own;       /* set when the thread's exit began */
OF_THREAD void *random_numbers;   /* the thread's own random number generator */

static bool is_processor(const struct property *property, const void *key)
{
    size_t length;

    if (property == NULL || property->name != key || strncmp(key, "device[", 7) != 0 ||
        property->type == NULL || strncmp(property->type, "child<", 6) != 0)
        return false;
    length = strlen(property->type);
    return length > 5 && strcmp(property->type + length - 5, "-cpu>") == 0;
}

/* QEMU removed the child itself when the thread exited. */
static void released(void *object, const char *name, void *opaque)
{
    if (own.property != NULL && own.property->opaque == opaque)
        own = (struct child){0};
    real_release(object, name, opaque);
}

/* Returns a child of an ended thread; all NULL if no such child is left. */
static struct child take_ended(void)
{
    struct child taken = {0};

    pthread_mutex_lock(&children_lock);
    if (ended_count > 0)
        taken = ended_children[--ended_count];
    pthread_mutex_unlock(&children_lock);
    return taken;
}

/* The release function reads only the child. */
static void reclaim(void)
{
    for (struct child child = take_ended(); child.property != NULL; child = take_ended()) {
        struct property *property = child.property;

        property->release = NULL;
        real_release(NULL, property->name, property->opaque);
        remove_entry(child.table, property->name);
    }
}

static int insert(void *table, void *key, void *value)
{
    struct property *property = value;
    int result = real_insert(table, key, value);

    if (key == NULL || !is_processor(property, key))
        return result;
    reclaim();
    if (real_release == NULL)
        real_release = property->release;
    if (property->release == real_release && real_release != NULL) {
        property->release = released;
        last_made = (struct child){table, property};
    }
    return result;
}

static void *seed_random(const uint32_t *seed, unsigned length)
{
    random_numbers = real_seed(seed, length);
    return random_numbers;
}

/* If the table is full, the child is not reclaimed. */
static _Noreturn void end_thread(void *result)
{
    if (own.property != NULL) {
        pthread_mutex_lock(&children_lock);
        if (ended_count < TALLY_THREADS_MAX)
            ended_children[ended_count++] = own;
        pthread_mutex_unlock(&children_lock);
    }
    if (random_numbers != NULL)
        free_random(random_numbers);
    real_exit(result);
    __builtin_unreachable();
}

static void take_threads_lock(void)
{
    pthread_mutex_lock(&children_lock);
}

static void leave_threads_lock(void)
{
    pthread_mutex_unlock(&children_lock);
}

bool ended_threads_reclaim(void)
{
    remove_entry = (remove_function *)dlsym(RTLD_DEFAULT, "g_hash_table_remove");
    free_random = (free_function *)dlsym(RTLD_DEFAULT, "g_rand_free");
    pthread_atfork(take_threads_lock, leave_threads_lock, leave_threads_lock);
    return remove_entry != NULL && free_random != NULL &&
           interpose("g_rand_new_with_seed_array", (void *)seed_random, (void **)&real_seed) &&
           interpose("pthread_exit", (void *)end_thread, (void **)&real_exit) &&
           interpose("g_hash_table_insert", (void *)insert, (void **)&real_insert);
}

void ended_threads_began(unsigned thread)
{
    pthread_mutex_lock(&children_lock);
    children[thread] = last_made;
    pthread_mutex_unlock(&children_lock);
    last_made = (struct child){0};
}

/* Another thread may soon get this index. */
void ended_threads_exits(unsigned thread)
{
    pthread_mutex_lock(&children_lock);
    /* QEMU may begin the system call again. */
    if (children[thread].property != NULL)
        own = children[thread];
    children[thread] = (struct child){0};
    pthread_mutex_unlock(&children_lock);
}
