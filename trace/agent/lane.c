/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/lane.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "trace/agent/bell.h"
#include "trace/agent/clock.h"
#include "trace/agent/parked.h"
#include "trace/agent/system_call.h"

enum {
    LANES_MAX = 256,
    WAITS_MAX = 5, /* seconds without a sign of the reader */
    CHUNK_WORDS = TRACE_CHUNK_SIZE / 8,
    CHUNK_FIRST = TRACE_CHUNK_HEAD / 8,
    RESTATED_MAX = 400,
    FAR = 64 * 1024, /* bytes of stack that are seldom unwound at a time */
};

/* A thread's lane, as the agent has it. */
struct lane {
    struct trace_lane *shared;
    struct trace_frame *frames; /* frames[0] stands for the stack's bottom */
    uint64_t *chunks;
    uint64_t *chunk;   /* that is being filled */
    uint64_t lost;     /* events, so far */
    uint64_t restated; /* words in the chunk that are no events */
    struct parked parked;
};

/* Below every frame: no thread has a lane at first. */
static struct trace_frame nothing[2];

_Thread_local struct trace_frame *trace_top = nothing + 1;
_Thread_local uint64_t *trace_event;
static _Thread_local struct lane *own;
static _Thread_local bool acquiring, left_out;

static struct trace_head *head;
static struct lane lanes[LANES_MAX];
static void (*on_thread_began)(void);

static struct {
    uint64_t begin, end;
} regions[TRACE_MODULES_MAX];
static size_t region_count;

void lanes_add_region(uint64_t begin, uint64_t end)
{
    regions[region_count].begin = begin;
    regions[region_count++].end = end;
}

static bool in_trampolines(uint64_t address)
{
    for (size_t i = 0; i < region_count; i++)
        if (address >= regions[i].begin && address < regions[i].end)
            return true;
    return false;
}

void lanes_open(struct trace_head *base, void (*thread_began)(void))
{
    char *const file = (char *)base;
    struct trace_lane *const shared = (struct trace_lane *)(file + base->lanes_at);

    head = base;
    on_thread_began = thread_began;
    for (uint32_t i = 0; i < base->lanes && i < LANES_MAX; i++) {
        lanes[i].shared = &shared[i];
        lanes[i].frames = (struct trace_frame *)(file + base->shadows_at + i * base->shadow_size);
        lanes[i].chunks = (uint64_t *)(file + base->chunks_at +
                                       (uint64_t)i * base->chunks_per_lane * TRACE_CHUNK_SIZE);
        shared[i].shadow = (uint64_t)(lanes[i].frames + 1);
    }
}

/* ---- chunks ---- */

/* Keeps the compiler from reordering; the processor does not, as seen by its own handlers. */
static void fence(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

static bool has_room(const uint64_t *at)
{
    return ((uintptr_t)at & (TRACE_CHUNK_SIZE - TRACE_CHUNK_HEAD)) != 0;
}

static uint64_t *take_place(void)
{
    uint64_t *at = (uint64_t *)sizeof *at;

    /* One instruction, so that a handler takes its place before or after it. */
    __asm__ volatile("xadd %0,%1" : "+r"(at), "+m"(trace_event) : : "memory", "cc");
    return at;
}

static void lane_put(uint64_t event)
{
    uint64_t *const at = take_place();

    if (has_room(at))
        *(volatile uint64_t *)at = event;
    else
        lanes_slow_event(event);
}

static uint64_t control(enum trace_number number, uint64_t argument)
{
    return argument << TRACE_TIME_SHIFT | (uint64_t)number << 1;
}

static unsigned lane_number_of(uint64_t event)
{
    return event >> 1 & 0x7fff;
}

static bool is_full(const struct lane *lane, uint64_t published)
{
    return published + 1 - atomic_load_explicit(&lane->shared->tail, memory_order_acquire) >=
           atomic_load(&head->chunks_open);
}

/*
 * A tracer that has ended is told by the bell. One that was stopped does not count its heartbeat up
 * for some seconds. In both cases the program goes on without it: no other chunk or thread waits
 * for it again.
 */
static bool wait_for_room(struct lane *lane, uint64_t published)
{
    _Atomic uint32_t *const bell = &lane->shared->bell;
    uint32_t beat = atomic_load(&head->heartbeat);
    int waits = 0;

    while (head->policy == TRACE_WAIT) {
        const uint32_t quiet = bell_silence(bell);
        enum bell_end end;

        if (!is_full(lane, published))
            return true;
        end = bell_wait(bell, quiet);
        waits = beat != atomic_load(&head->heartbeat) ? 0 : waits + (end == BELL_SECOND);
        beat = atomic_load(&head->heartbeat);
        if (end == BELL_ALONE || waits >= WAITS_MAX)
            head->policy = TRACE_DROP;
    }
    return false;
}

static void open_chunk(struct lane *lane, uint64_t number)
{
    lane->restated = 0;
    lane->chunk = lane->chunks + number % head->chunks_per_lane * CHUNK_WORDS;
    *(volatile uint64_t *)lane->chunk = number;
}

/* The chunk's events are lost. What is on the stack is said again, so that the reader can go on
 * from here. Returns where the next event goes. */
static uint64_t *begin_anew(struct lane *lane, uint64_t event)
{
    volatile uint64_t *at = lane->chunk + CHUNK_FIRST;
    /* The frame of a function that is being entered is there already. */
    const bool entry = (event & 1) == 0 && lane_number_of(event) < TRACE_CONTROL;
    const uint64_t depth = (uint64_t)(trace_top - lane->frames - 1 - entry);
    const uint64_t first = depth > RESTATED_MAX ? depth - RESTATED_MAX : 0;

    for (size_t i = CHUNK_FIRST; i < CHUNK_WORDS; i++)
        ((volatile uint64_t *)lane->chunk)[i] = 0;
    *at++ = control(TRACE_LOST, lane->lost);
    if (first > 0)
        *at++ = control(TRACE_DEEP, first);
    for (uint64_t i = first; i < depth; i++)
        *at++ = control(TRACE_OPEN, lane->frames[i + 1].function);
    lane->restated = (uint64_t)(at - (lane->chunk + CHUNK_FIRST));
    return (uint64_t *)at;
}

static uint64_t *drop_chunk(struct lane *lane, uint64_t event)
{
    lane->lost += CHUNK_WORDS - CHUNK_FIRST - lane->restated;
    atomic_fetch_add_explicit(&lane->shared->lost_chunks, 1, memory_order_relaxed);
    atomic_store_explicit(&lane->shared->lost_events, lane->lost, memory_order_relaxed);
    return begin_anew(lane, event);
}

static uint64_t *next_chunk(struct lane *lane, uint64_t event)
{
    const uint64_t published = atomic_load_explicit(&lane->shared->head, memory_order_relaxed);

    if (is_full(lane, published) && (head->policy != TRACE_WAIT || !wait_for_room(lane, published)))
        return drop_chunk(lane, event);
    atomic_store_explicit(&lane->shared->head, published + 1, memory_order_release);
    open_chunk(lane, published + 1);
    return lane->chunk + CHUNK_FIRST;
}

/* Whether the next place lies in the lane's chunk: a handler may have gone on to the next chunk
 * between an event's failure to find room and this. */
static bool is_in_chunk(const struct lane *lane)
{
    return (uint64_t)trace_event - (uint64_t)(lane->chunk + CHUNK_FIRST) <
           TRACE_CHUNK_SIZE - TRACE_CHUNK_HEAD;
}

static void put_in_chunk(uint64_t event)
{
    *(volatile uint64_t *)trace_event = event;
    trace_event++;
}

/* No handler may come in between: it could jump out, and leave the work half done. */
void lanes_slow_event(uint64_t event)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    struct lane *const lane = own;

    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before);
    if (!is_in_chunk(lane))
        trace_event = next_chunk(lane, event);
    /* What was unwound has left the stack, and is not on the one that was restated. */
    if (lane->restated == 0 || lane_number_of(event) != TRACE_UNWOUND)
        put_in_chunk(event);
    fence();
    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
}

/* ---- threads ---- */

/* What is called may use vector registers, which hold the traced function's arguments. */
static void tell_thread_began(void)
{
    char room[512 + 16];
    char *const saved = (char *)(((uintptr_t)room + 15) & ~(uintptr_t)15);

    __asm__ volatile("fxsave64 (%0)" : : "r"(saved) : "memory");
    on_thread_began();
    __asm__ volatile("fxrstor64 (%0)" : : "r"(saved) : "memory");
}

static struct lane *find_free_lane(bool *some_ended)
{
    *some_ended = false;
    for (uint32_t i = 0; i < head->lanes && i < LANES_MAX; i++) {
        uint32_t expected = TRACE_LANE_FREE;

        if (atomic_compare_exchange_strong(&lanes[i].shared->state, &expected, TRACE_LANE_USED))
            return &lanes[i];
        *some_ended |= expected == TRACE_LANE_ENDED;
    }
    return NULL;
}

/* Only one thread waits at the head's bell, the others for that one. */
static struct lane *wait_for_lane(void)
{
    struct lane *lane = NULL;
    bool some_ended;

    turn_take();
    for (int waits = 0; waits < WAITS_MAX;) {
        const uint32_t quiet = bell_silence(&head->bell);
        enum bell_end end;

        lane = find_free_lane(&some_ended);
        if (lane != NULL || !some_ended || head->policy != TRACE_WAIT)
            break;
        end = bell_wait(&head->bell, quiet);
        waits = end == BELL_ALONE ? WAITS_MAX : waits + (end == BELL_SECOND);
    }
    turn_leave();
    return lane;
}

/* The reader frees lanes of threads that have ended; it is waited for if it is for events. */
static struct lane *find_lane(void)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    bool some_ended;
    struct lane *lane = find_free_lane(&some_ended);

    if (lane != NULL || !some_ended || head->policy != TRACE_WAIT)
        return lane;
    /* A handler that jumps out would leave the others waiting. */
    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before);
    lane = wait_for_lane();
    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
    return lane;
}

static bool acquire(void)
{
    struct lane *lane;

    if (acquiring || left_out)
        return false;
    acquiring = true;
    fence();
    lane = find_lane();
    if (lane == NULL) {
        left_out = true;
        atomic_fetch_add(&head->threads_left_out, 1);
        acquiring = false;
        return false;
    }
    lane->shared->thread = (uint32_t)system_call(SYS_gettid, 0, 0, 0, 0);
    lane->frames[0] = (struct trace_frame){.slot = UINT64_MAX};
    open_chunk(lane, atomic_load(&lane->shared->head));
    trace_event = lane->chunk + CHUNK_FIRST;
    own = lane;
    tell_thread_began();
    fence();
    trace_top = lane->frames + 1;
    lane->shared->shadow_top = (uint64_t)&trace_top;
    fence();
    acquiring = false;
    return true;
}

void lanes_thread_ends(void)
{
    struct lane *const lane = own;

    if (lane == NULL)
        return;
    /* From here on it is left out: its destructors may call traced functions. Frames that are
     * on the stack still, of a thread that is cancelled, never return. */
    left_out = true;
    own = NULL;
    lane->shared->shadow_top = 0;
    fence();
    trace_top = nothing + 1;
    fence();
    atomic_store_explicit(&lane->shared->state, TRACE_LANE_ENDED, memory_order_release);
}

char *lanes_frames(void)
{
    return own != NULL ? (char *)own->frames : NULL;
}

uint64_t lanes_depth(void)
{
    return own != NULL ? (uint64_t)(trace_top - own->frames) : 0;
}

void lanes_leave_to_parent(void)
{
    left_out = own == NULL;
}

/* ---- stacks ---- */

static bool is_on_signal_stack(uint64_t slot, uint64_t other)
{
    stack_t stack = {0};
    uint64_t begin;

    if (system_call(SYS_sigaltstack, 0, (long)&stack, 0, 0) != 0 || !(stack.ss_flags & SS_ONSTACK))
        return false;
    begin = (uint64_t)stack.ss_sp;
    return slot - begin < stack.ss_size && other - begin >= stack.ss_size;
}

/* Whether the frame on top, which lies below the slot, was left without returning. */
static bool is_unwound(uint64_t slot)
{
    const uint64_t top = trace_top[-1].slot;

    /* Most of the time it is so; a signal's own stack may lie above. */
    return slot - top < FAR || !is_on_signal_stack(slot, top);
}

static uint64_t pop_unwound(struct lane *lane, uint64_t slot)
{
    uint64_t count = 0;

    while (trace_top[-1].slot < slot && is_unwound(slot)) {
        parked_put(&lane->parked, trace_top[-1].slot, trace_top[-1].return_address);
        trace_top--;
        count++;
    }
    return count;
}

static _Thread_local uint64_t last_clock = UINT64_MAX;

/* A count that begins anew, as computrons do with each delivery, says when that was: also while it
 * stands at its beginning, since a delivery that follows none has it begin there once more. */
uint64_t lanes_clock(void)
{
    const uint64_t now = agent_clock_read();
    const bool anew = now < last_clock || now == 1;

    last_clock = now;
    if (anew && head->clock != TRACE_CLOCK_TSC)
        lane_put(control(TRACE_STAMP, agent_clock_tsc()));
    return now;
}

/* Calls ended without returning, all that are not on the stack now. */
static void tell_unwound(const struct lane *lane, uint64_t count)
{
    lane_put(control(TRACE_UNWOUND, count));
    lane_put(control(TRACE_DEPTH, (uint64_t)(trace_top - lane->frames - 1)));
}

bool lanes_slow_entry(uint64_t *slot)
{
    uint64_t count;

    if (trace_top == nothing + 1)
        return acquire();
    count = pop_unwound(own, (uint64_t)slot);
    if (trace_top[-1].slot == (uint64_t)slot && !in_trampolines(*slot)) {
        trace_top--;
        count++;
    }
    if (count > 0)
        tell_unwound(own, count);
    if (trace_top[-1].slot == (uint64_t)slot) {
        /* A tail call: the caller is over, and its caller is whom this function returns to. */
        const uint64_t function = trace_top[-1].function;

        lane_put(lanes_clock() << TRACE_TIME_SHIFT | function << 1 | 1);
        *slot = trace_top[-1].return_address;
        trace_top--;
    }
    return true;
}

/* Says what has happened, and ends the process: where to return to is known no more. */
static void give_up(void)
{
    static const char words[] = "gaspipe trace: a traced function returns on a stack that the "
                                "program has switched too often; the process ends\n";

    (void)system_call(SYS_write, 2, (long)words, sizeof words - 1, 0);
    __builtin_trap();
}

/* Takes the frames above this one off; how many. */
static uint64_t park_above(struct lane *lane, const struct trace_frame *frame)
{
    uint64_t count = 0;

    for (; trace_top - 1 > frame; count++) {
        parked_put(&lane->parked, trace_top[-1].slot, trace_top[-1].return_address);
        trace_top--;
    }
    return count;
}

/* Back on top, and off again when the trampoline goes on. As there, it is written twice. */
static void push_again(const uint64_t *slot, uint64_t address)
{
    const struct trace_frame frame = {.return_address = address, .slot = (uint64_t)slot};

    *(volatile struct trace_frame *)trace_top = frame;
    trace_top++;
    fence();
    *(volatile struct trace_frame *)(trace_top - 1) = frame;
}

void lanes_slow_exit(uint64_t *slot)
{
    struct trace_frame *frame = trace_top - 1;
    struct lane *const lane = own;
    uint64_t address;

    while (frame > lane->frames && frame->slot != (uint64_t)slot)
        frame--;
    if (frame > lane->frames) {
        tell_unwound(lane, park_above(lane, frame));
        return;
    }
    if (!parked_take(&lane->parked, (uint64_t)slot, &address))
        give_up();
    lane_put(control(TRACE_ORPHAN, 0));
    push_again(slot, address);
}
