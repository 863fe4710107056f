/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ring/trace_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/patch/trampoline.h"

/* ---- the end of this thread ---- */

/*
 * The hazard: traced threads wait for this one, and would wait forever if it were killed, when no
 * destructor runs. So the wake words are on this thread's list of robust futexes, which Linux walks
 * when the thread ends: it clears the owner's id and wakes a waiter. As in get_robust_list(2), each
 * futex is at the same distance from its entry. Linux reads the list after the thread has ended.
 */
static _Thread_local struct robust_list_head exit_list;

static struct robust_list *entry_of(uint8_t *memory, size_t wake_word)
{
    return (struct robust_list *)(memory - EXIT_NOTIFIER_SIZE + wake_word);
}

/* The id of this thread. */
static uint32_t exit_notifier_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* Links the entry with one store, so that the list is valid whenever the thread is killed. */
static void exit_notifier_add(uint8_t *memory, size_t wake_word)
{
    struct robust_list *const entry = entry_of(memory, wake_word);

    if (exit_list.list.next == NULL) {
        exit_list.list.next = &exit_list.list;
        exit_list.futex_offset = EXIT_NOTIFIER_SIZE;
        (void)syscall(SYS_set_robust_list, &exit_list, sizeof exit_list);
    }
    entry->next = exit_list.list.next;
    __atomic_store_n(&exit_list.list.next, entry, __ATOMIC_RELEASE);
}

/* Add or remove a wake word that this thread's end sets. The thread must not use robust mutexes of
 * the C library. */
static void exit_notifier_remove(uint8_t *memory, size_t wake_word)
{
    const struct robust_list *const entry = entry_of(memory, wake_word);

    for (struct robust_list *at = &exit_list.list; at->next != NULL && at->next != &exit_list.list;
         at = at->next)
        if (at->next == entry) {
            __atomic_store_n(&at->next, entry->next, __ATOMIC_RELEASE);
            return;
        }
}

/* ---- the ring ---- */

enum { PATCHES_MAX = TRACE_FUNCTIONS_MAX, CALLS_MAX = 4096 };

#define REGIONS_SIZE (UINT64_C(1) << 31)
#define SHADOW_LEAST (UINT64_C(8) << 20)
#define SHADOW_MOST  (UINT64_C(1) << 30)
#define PAGE         UINT64_C(4096)

struct trace_ring {
    struct trace_ring_options options;
    struct trace_head layout; /* the original head: the process can change the shared one */
    int fd;
    uint8_t *memory;
    size_t size;
    struct patch_plan plan;
    bool planned, refused;
    size_t patches, calls; /* that are planned */
    bool begun;            /* the sink's begun() was called */
    uint32_t reader;       /* the thread whose end sets the wake words; 0: none yet */
    uint32_t open;         /* chunks of a lane that can be filled before its thread waits */
    char refusal[ERROR_TEXT_SIZE];
};

static uint64_t up(uint64_t size)
{
    return (size + PAGE - 1) & ~(PAGE - 1);
}

/* A call takes at least eight bytes of the stack, and a frame of the shadow stack. */
static uint64_t shadow_size(void)
{
    struct rlimit limit;
    uint64_t size = SHADOW_MOST;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < SHADOW_MOST / 3)
        size = up((uint64_t)limit.rlim_cur / 8 * sizeof(struct trace_frame));
    return size < SHADOW_LEAST ? SHADOW_LEAST : size;
}

static void lay_out(struct trace_ring *ring)
{
    struct trace_head *const head = &ring->layout;
    const struct trace_ring_options *const options = &ring->options;

    head->magic = TRACE_MAGIC;
    head->version = TRACE_VERSION;
    head->policy = options->policy;
    head->clock = options->clock;
    head->lanes = options->lanes;
    head->chunks_per_lane = options->lane_chunks;
    head->chunks_open = options->lane_chunks;
    head->shadow_size = shadow_size();
    head->regions_size = REGIONS_SIZE;
    head->lanes_at = up(sizeof *head);
    head->patches_at = head->lanes_at + up(head->lanes * sizeof(struct trace_lane));
    head->calls_at = head->patches_at + up(PATCHES_MAX * sizeof(struct trace_patch));
    head->chunks_at = head->calls_at + up(CALLS_MAX * sizeof(struct trace_call));
    head->shadows_at =
        head->chunks_at + (uint64_t)head->lanes * head->chunks_per_lane * TRACE_CHUNK_SIZE;
    head->regions_at = head->shadows_at + head->lanes * head->shadow_size;
    ring->size = head->regions_at + head->regions_size;
    for (size_t i = 0, length = 0; i < options->libraries.count; i++) {
        const size_t more = strlen(options->libraries.items[i]) + 1;

        if (length + more >= sizeof head->libraries)
            break;
        snprintf(head->libraries + length, more + 1, "%s ", options->libraries.items[i]);
        length += more;
    }
}

/* Maps the file after EXIT_NOTIFIER_SIZE private bytes; NULL if that fails. */
static uint8_t *map_after_list(int fd, size_t size)
{
    uint8_t *const all = mmap(NULL, EXIT_NOTIFIER_SIZE + size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (all == MAP_FAILED)
        return NULL;
    /* cppcheck-suppress leakReturnValNotUsed ; at a fixed address */
    if (mmap(all + EXIT_NOTIFIER_SIZE, size, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) != MAP_FAILED)
        return all + EXIT_NOTIFIER_SIZE;
    (void)munmap(all, EXIT_NOTIFIER_SIZE + size);
    return NULL;
}

/* ---- wake words ---- */

/* The wake word of a lane; `lane` == lanes: of the head. */
static size_t wake_word_at(const struct trace_ring *ring, unsigned lane)
{
    return lane == ring->layout.lanes ? offsetof(struct trace_head, wake_word)
                                      : ring->layout.lanes_at + lane * sizeof(struct trace_lane) +
                                            offsetof(struct trace_lane, wake_word);
}

static _Atomic uint32_t *wake_word_of(const struct trace_ring *ring, unsigned lane)
{
    return (_Atomic uint32_t *)(ring->memory + wake_word_at(ring, lane));
}

/* An atomic exchange also where the bit is set already: see enum trace_wake_word. */
static void set_wake_word(_Atomic uint32_t *wake_word)
{
    if ((atomic_fetch_or(wake_word, TRACE_WAKE_SET) & TRACE_WAKE_SET) == 0)
        (void)syscall(SYS_futex, wake_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The thread that reads is the one that traced threads wait for. */
static void own_wake_words(struct trace_ring *ring)
{
    const uint32_t reader = exit_notifier_thread();

    ring->reader = reader;
    for (unsigned i = 0; i <= ring->layout.lanes; i++) {
        _Atomic uint32_t *const word = wake_word_of(ring, i);
        uint32_t value = atomic_load(word);

        while (!atomic_compare_exchange_weak(word, &value,
                                             (value & ~(uint32_t)TRACE_WAKE_TRACER) | reader)) {
        }
        exit_notifier_add(ring->memory, wake_word_at(ring, i));
    }
}

/* If another thread frees the ring, the reader has ended, and Linux has done this. */
static void disown_wake_words(struct trace_ring *ring)
{
    for (unsigned i = 0; ring->reader == exit_notifier_thread() && i <= ring->layout.lanes; i++)
        exit_notifier_remove(ring->memory, wake_word_at(ring, i));
}

/* ---- making ---- */

static int open_ring_memory(struct trace_ring *ring, struct error *error)
{
    if (ring->fd < 0)
        ring->fd = memfd_create("gaspipe-trace", MFD_CLOEXEC);
    if (ring->fd < 0 || ftruncate(ring->fd, (off_t)ring->size) != 0)
        return error_system(error, errno, "cannot make memory for a trace");
    ring->memory = map_after_list(ring->fd, ring->size);
    if (ring->memory == NULL)
        return error_system(error, errno, "cannot map memory for a trace");
    memcpy(ring->memory, &ring->layout, sizeof ring->layout);
    for (unsigned i = 0; i <= ring->layout.lanes; i++)
        atomic_store(wake_word_of(ring, i),
                     TRACE_WAKE_ALWAYS | TRACE_WAKE_SET | exit_notifier_thread());
    return 0;
}

struct trace_ring *trace_ring_new(const struct trace_ring_options *options, int fd,
                                  struct error *error)
{
    struct trace_ring *const ring = calloc(1, sizeof *ring);

    if (ring == NULL) {
        error_memory(error, "a trace");
        return NULL;
    }
    ring->options = *options;
    ring->open = options->lane_chunks;
    ring->fd = fd;
    lay_out(ring);
    if (open_ring_memory(ring, error) == 0)
        return ring;
    trace_ring_free(ring);
    return NULL;
}

void trace_ring_free(struct trace_ring *ring)
{
    if (ring == NULL)
        return;
    if (ring->memory != NULL) {
        disown_wake_words(ring);
        munmap(ring->memory - EXIT_NOTIFIER_SIZE, EXIT_NOTIFIER_SIZE + ring->size);
    }
    if (ring->fd >= 0)
        close(ring->fd);
    patch_plan_free(&ring->plan);
    free(ring);
}

int trace_ring_fd(const struct trace_ring *ring)
{
    return ring->fd;
}

struct trace_head *trace_ring_head(const struct trace_ring *ring)
{
    return (struct trace_head *)ring->memory;
}

const struct trace_head *trace_ring_layout(const struct trace_ring *ring)
{
    return &ring->layout;
}

size_t trace_ring_patches(const struct trace_ring *ring)
{
    return ring->patches;
}

static struct trace_lane *lane_of(const struct trace_ring *ring, unsigned lane)
{
    return (struct trace_lane *)(ring->memory + ring->layout.lanes_at) + lane;
}

/* ---- answering the agent ---- */

static void answer_agent(struct trace_ring *ring)
{
    struct trace_head *const head = trace_ring_head(ring);
    struct error error;

    if (patch_plan_make(&ring->plan, ring->memory, ring->size, ring->options.program,
                        &ring->options.choice, &error) == 0) {
        ring->planned = true;
        ring->patches = head->patch_count;
        ring->calls = head->call_count;
        atomic_store(&head->state, TRACE_READY);
    } else {
        ring->refused = true;
        snprintf(ring->refusal, sizeof ring->refusal, "%s", error.text);
        atomic_store(&head->state, TRACE_REFUSED);
    }
    set_wake_word(&head->wake_word);
}

const char *trace_ring_attach_check(struct trace_ring *ring)
{
    struct trace_head *const head = trace_ring_head(ring);

    if (!ring->refused && atomic_load(&head->state) == TRACE_REFUSED)
        snprintf(ring->refusal, sizeof ring->refusal, "%.*s", (int)sizeof head->refusal - 1,
                 head->refusal);
    return ring->refusal;
}

/* ---- lanes ---- */

/* Passes the chunk's events to the sink, and empties it. */
static int take_chunk(struct trace_ring *ring, unsigned lane, uint64_t number,
                      const struct trace_sink *sink, struct error *error)
{
    const uint64_t index =
        (uint64_t)lane * ring->layout.chunks_per_lane + number % ring->layout.chunks_per_lane;
    uint64_t *const chunk =
        (uint64_t *)(ring->memory + ring->layout.chunks_at + index * TRACE_CHUNK_SIZE);
    uint64_t events[TRACE_CHUNK_EVENTS];
    size_t count = 0;

    for (size_t i = TRACE_CHUNK_HEAD / 8; i < TRACE_CHUNK_SIZE / 8; i++) {
        const uint64_t event = ((volatile const uint64_t *)chunk)[i];

        /* 0: a signal handler interrupted the thread between taking a place and writing it. */
        if (event != 0)
            events[count++] = event;
    }
    memset(chunk, 0, TRACE_CHUNK_SIZE);
    return sink->events(sink->context, lane, lane_of(ring, lane)->thread, events, count, error);
}

/* With few open chunks, the thread is woken after the last, in case the sink still closes them. */
static uint64_t wake_below(const struct trace_ring *ring)
{
    return ring->open == ring->layout.chunks_per_lane ? ring->open / 2 : 0;
}

static int take_lane(struct trace_ring *ring, unsigned number, const struct trace_sink *sink,
                     bool *busy, struct error *error)
{
    struct trace_lane *const lane = lane_of(ring, number);
    const uint64_t head = atomic_load_explicit(&lane->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);

    /* The process may have written an impossible number there. */
    if (head - tail > ring->layout.chunks_per_lane)
        tail = head;
    for (; tail < head; tail++) {
        *busy = true;
        if (take_chunk(ring, number, tail, sink, error) != 0)
            return -1;
        atomic_store_explicit(&lane->tail, tail + 1, memory_order_release);
        /* Not for each chunk: waking the thread takes longer than reading one. */
        if (head - tail - 1 <= wake_below(ring))
            set_wake_word(&lane->wake_word);
    }
    return 0;
}

/* Reads all of a lane whose thread has ended or stopped tracing. Its last chunk is not published.
 */
static int take_last(struct trace_ring *ring, unsigned number, const struct trace_sink *sink,
                     struct error *error)
{
    bool busy;

    if (take_lane(ring, number, sink, &busy, error) != 0 ||
        take_chunk(ring, number, atomic_load(&lane_of(ring, number)->head), sink, error) != 0)
        return -1;
    return sink->ended(sink->context, number, error);
}

/* The thread has ended. */
static int end_ring_lane(struct trace_ring *ring, unsigned number, const struct trace_sink *sink,
                         struct error *error)
{
    if (take_last(ring, number, sink, error) != 0)
        return -1;
    atomic_store_explicit(&lane_of(ring, number)->state, TRACE_LANE_FREE, memory_order_release);
    set_wake_word(&trace_ring_head(ring)->wake_word);
    return 0;
}

static int step_lane(struct trace_ring *ring, unsigned number, const struct trace_sink *sink,
                     bool *busy, struct error *error)
{
    switch (atomic_load_explicit(&lane_of(ring, number)->state, memory_order_acquire)) {
    case TRACE_LANE_USED:
        return take_lane(ring, number, sink, busy, error);
    case TRACE_LANE_ENDED:
        *busy = true;
        return end_ring_lane(ring, number, sink, error);
    default:
        return 0;
    }
}

static int trace_ring_begin(struct trace_ring *ring, const struct trace_sink *sink,
                            struct error *error)
{
    if (ring->begun || !ring->planned)
        return 0;
    ring->begun = true;
    return sink->begun(sink->context, trace_ring_head(ring)->process, &ring->plan, error);
}

int trace_ring_step(struct trace_ring *ring, const struct trace_sink *sink, bool *busy,
                    struct error *error)
{
    struct trace_head *const head = trace_ring_head(ring);

    if (ring->reader == 0)
        own_wake_words(ring);
    atomic_fetch_add(&head->heartbeat, 1);
    if (!ring->planned && !ring->refused && atomic_load(&head->state) == TRACE_ASKED)
        answer_agent(ring);
    if (trace_ring_begin(ring, sink, error) != 0)
        return -1;
    for (unsigned i = 0; ring->begun && i < ring->layout.lanes; i++)
        if (step_lane(ring, i, sink, busy, error) != 0)
            return -1;
    return 0;
}

int trace_ring_finish(struct trace_ring *ring, const struct trace_sink *sink, struct error *error)
{
    bool busy;

    if (trace_ring_step(ring, sink, &busy, error) != 0)
        return -1;
    /* The lane stays its thread's: the calls in progress have their return addresses there. */
    for (unsigned i = 0; ring->begun && i < ring->layout.lanes; i++)
        if (atomic_load(&lane_of(ring, i)->state) == TRACE_LANE_USED &&
            take_last(ring, i, sink, error) != 0)
            return -1;
    return 0;
}

void trace_ring_detach(struct trace_ring *ring)
{
    trace_ring_head(ring)->policy = TRACE_DROP;
    for (unsigned i = 0; i <= ring->layout.lanes; i++)
        set_wake_word(wake_word_of(ring, i));
}

/* ---- holding a thread ---- */

static bool trace_ring_is_used(const struct trace_ring *ring, unsigned lane)
{
    return atomic_load(&lane_of(ring, lane)->state) == TRACE_LANE_USED;
}

bool trace_ring_hold(struct trace_ring *ring)
{
    unsigned used = 0;

    for (unsigned i = 0; i < ring->layout.lanes; i++)
        used += trace_ring_is_used(ring, i);
    if (used != 1 || ring->layout.policy != TRACE_WAIT)
        return false;
    atomic_store(&trace_ring_head(ring)->chunks_open, 1);
    return true;
}

uint64_t trace_ring_held_at(const struct trace_ring *ring)
{
    for (unsigned i = 0; i < ring->layout.lanes; i++) {
        const struct trace_lane *const lane = lane_of(ring, i);

        if (trace_ring_is_used(ring, i) && (atomic_load(&lane->wake_word) & TRACE_WAKE_SET) == 0)
            return trace_ring_head(ring)->mapped_at + wake_word_at(ring, i);
    }
    return 0;
}

void trace_ring_continue(struct trace_ring *ring)
{
    atomic_store(&trace_ring_head(ring)->chunks_open, ring->open);
    for (unsigned i = 0; i < ring->layout.lanes; i++)
        set_wake_word(&lane_of(ring, i)->wake_word);
}

void trace_ring_open_chunks(struct trace_ring *ring, uint32_t chunks)
{
    /* Otherwise events without a free chunk would be lost. */
    if (ring->layout.policy != TRACE_WAIT)
        return;
    ring->open = chunks < ring->layout.chunks_per_lane ? chunks : ring->layout.chunks_per_lane;
    atomic_store(&trace_ring_head(ring)->chunks_open, ring->open);
}

bool trace_ring_has_more(const struct trace_ring *ring)
{
    for (unsigned i = 0; i < ring->layout.lanes; i++) {
        const struct trace_lane *const lane = lane_of(ring, i);

        if (trace_ring_is_used(ring, i) && atomic_load(&lane->head) - atomic_load(&lane->tail) > 1)
            return true;
    }
    return false;
}

/* ---- figures ---- */

const struct patch_plan *trace_ring_plan(const struct trace_ring *ring)
{
    return ring->planned ? &ring->plan : NULL;
}

uint64_t trace_ring_threads_left_out(const struct trace_ring *ring)
{
    return atomic_load(&trace_ring_head(ring)->threads_left_out);
}

void trace_ring_leave_out(struct trace_ring *ring, unsigned number)
{
    if (number >= 1 && number <= ring->plan.count)
        trampoline_switch_off(ring->memory + ring->plan.functions[number - 1].trampoline,
                              ring->plan.functions[number - 1].length);
}

/* The process may have changed the patch in memory, which affects only its own text. */
bool trace_ring_patch_of(const struct trace_ring *ring, unsigned number, struct trace_patch *patch)
{
    const struct trace_head *const head = (const struct trace_head *)ring->memory;
    const struct trace_patch *const patches =
        (const struct trace_patch *)(ring->memory + ring->layout.patches_at);
    const struct planned_function *function;
    uint64_t address;

    if (number < 1 || number > ring->plan.count)
        return false;
    function = &ring->plan.functions[number - 1];
    address = head->modules[function->module].base + function->address;
    /* In the functions' order; those of other libraries' calls have none. */
    for (size_t i = number < ring->patches ? number : ring->patches; i-- > 0;) {
        *patch = patches[i];
        if (patch->address == address)
            return true;
    }
    return false;
}
