/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/lane.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "trace/agent/clock.h"
#include "trace/agent/saved_frames.h"
#include "trace/agent/system_call.h"
#include "trace/agent/wake_word.h"

/*
 * The shadow stack. While a traced function runs, its return address lies here; the program's stack
 * has the trampoline's instead:
 *
 *      program's stack              shadow stack
 *      slot: trampoline             return address | slot | function
 *      slot: trampoline             return address | slot | function   <- trace_top
 *
 * A thread that loses a return address cannot return. The hazards:
 *
 * - A signal handler interrupts any instruction, calls traced functions, and may jump out. So the
 *   place for an event is taken by one instruction; longer work blocks signals.
 * - longjmp(3) and exceptions leave frames without returning. A later call or exit notices frames
 *   below its own slot, takes them off, and reports them as unwound.
 * - A program that switches stacks (coroutines) seems to unwind but comes back. Unwound frames are
 *   therefore saved by their slot, and found again when the program returns there.
 * - A traced function may be inside malloc(3) or hold any lock. So nothing here calls the C
 * library, takes a lock, or changes errno or a vector register.
 */

/* ---- lanes ---- */

enum {
    LANES_MAX = 256,
    WAITS_MAX = 5, /* seconds without a heartbeat of the tracer */
    CHUNK_WORDS = TRACE_CHUNK_SIZE / 8,
    CHUNK_FIRST = TRACE_CHUNK_HEAD / 8,
    RESTATED_MAX = 400,
    JUMP_SIZE = 5,
    FAR = 64 * 1024, /* bytes of stack that are rarely unwound at once */
};

/* A thread's lane, as the agent has it. */
struct lane {
    struct trace_lane *shared;
    struct trace_frame *frames; /* frames[0] stands for the stack's bottom */
    uint64_t *chunks;
    uint64_t *chunk;   /* that is being filled */
    uint64_t lost;     /* events, so far */
    uint64_t restated; /* words in the chunk that are no events */
    bool was_used;     /* by a thread of this trace */
    struct saved_frames saved;
};

/*
 * NULL: the thread has no lane. The hazard: while the agent is loaded, other threads start new
 * ones, whose copy of these variables the dynamic linker may miss. So zero is their first value,
 * which new memory has anyway.
 */
_Thread_local struct trace_frame *trace_top;
_Thread_local uint64_t *trace_event;
static _Thread_local struct lane *own;
static _Thread_local bool acquiring;
static _Thread_local uint32_t left_out; /* the number of the trace that leaves the thread out */
_Thread_local int agent_busy;

static uint32_t trace_count = 1; /* the number of this trace */
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
        lanes[i].was_used = false;
        lanes[i].shared = &shared[i];
        lanes[i].frames = (struct trace_frame *)(file + base->shadows_at + i * base->shadow_size);
        lanes[i].chunks = (uint64_t *)(file + base->chunks_at +
                                       (uint64_t)i * base->chunks_per_lane * TRACE_CHUNK_SIZE);
        shared[i].shadow = (uint64_t)(lanes[i].frames + 1);
    }
}

/* ---- chunks ---- */

/* Against reordering by the compiler. The CPU's is not visible to handlers on the same thread. */
static void fence(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

static bool has_space(const uint64_t *at)
{
    return ((uintptr_t)at & (TRACE_CHUNK_SIZE - TRACE_CHUNK_HEAD)) != 0;
}

static uint64_t *take_place(void)
{
    uint64_t *at = (uint64_t *)sizeof *at;

    /* One instruction, so that a handler takes another place, before or after. */
    __asm__ volatile("xadd %0,%1" : "+r"(at), "+m"(trace_event) : : "memory", "cc");
    return at;
}

static void lane_put(uint64_t event)
{
    uint64_t *const at = take_place();

    if (has_space(at))
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

/* Returns true for an argument, which precedes the entry of its function. */
static bool is_argument(uint64_t event)
{
    return lane_number_of(event) == TRACE_VALUE_OF &&
           (event >> TRACE_TIME_SHIFT >> TRACE_VALUE_WHICH_SHIFT & 15) != 0;
}

static bool is_lane_full(const struct lane *lane, uint64_t published)
{
    return published + 1 - atomic_load_explicit(&lane->shared->tail, memory_order_acquire) >=
           atomic_load(&head->chunks_open);
}

/*
 * Waits until the tracer has emptied a chunk. False: it has ended, as the wake word says, or is
 * stopped, and its heartbeat has not changed for WAITS_MAX seconds. Then no thread waits again.
 */
static bool wait_for_space(struct lane *lane, uint64_t published)
{
    _Atomic uint32_t *const word = &lane->shared->wake_word;
    uint32_t heartbeat = atomic_load(&head->heartbeat);
    int waits = 0;

    while (head->policy == TRACE_WAIT) {
        const uint32_t before = wake_word_clear(word);
        enum wake_end end;

        if (!is_lane_full(lane, published))
            return true;
        end = wake_word_wait(word, before);
        waits = heartbeat != atomic_load(&head->heartbeat) ? 0 : waits + (end == WAKE_SECOND);
        heartbeat = atomic_load(&head->heartbeat);
        if (end == WAKE_ALONE || waits >= WAITS_MAX)
            head->policy = TRACE_DROP;
    }
    return !is_lane_full(lane, published); /* the tracer may have emptied it before it ended */
}

static void open_chunk(struct lane *lane, uint64_t number)
{
    lane->restated = 0;
    lane->chunk = lane->chunks + number % head->chunks_per_lane * CHUNK_WORDS;
    *(volatile uint64_t *)lane->chunk = number;
}

/* Drops the chunk's events, and writes the stack into it, from which the reader can continue.
 * Returns where the next event goes. */
static uint64_t *restart_chunk(struct lane *lane, uint64_t event)
{
    volatile uint64_t *at = lane->chunk + CHUNK_FIRST;
    /* A function that is being entered has its frame already. */
    const bool entry =
        (event & 1) == 0 && (lane_number_of(event) < TRACE_CONTROL || is_argument(event));
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

/* ---- without a tracer ---- */

/* Stores eight aligned bytes at once, so that no thread executes half of a jump. */
static void switch_off(uint64_t trampoline)
{
    const int32_t distance = (int32_t)(head->trampoline_length - JUMP_SIZE);
    uint64_t *const place = (uint64_t *)trampoline;
    union {
        uint64_t word;
        uint8_t bytes[8];
    } first = {.word = *place};

    first.bytes[0] = 0xe9;
    for (int i = 0; i < 4; i++)
        first.bytes[i + 1] = (uint8_t)((uint32_t)distance >> 8 * i);
    __atomic_store_n(place, first.word, __ATOMIC_RELEASE);
}

static bool protect_regions(int protection)
{
    bool good = true;

    for (size_t i = 0; i < region_count; i++)
        good &= system_call(SYS_mprotect, (long)regions[i].begin,
                            (long)(regions[i].end - regions[i].begin), protection, 0) == 0;
    return good;
}

/* The target of a patch's jump. */
static uint64_t trampoline_of(const struct trace_patch *patch)
{
    uint32_t distance = 0;

    for (int i = 0; i < 4; i++)
        distance |= (uint32_t)patch->after[i + 1] << 8 * i;
    return patch->address + JUMP_SIZE + (uint64_t)(int64_t)(int32_t)distance;
}

/*
 * After the tracer was killed. The text cannot be restored, because other threads execute it. But a
 * jump at the beginning of each trampoline skips its events, so that a call costs two jumps. Not
 * under a seccomp filter, which could kill the process for mprotect(2).
 */
static void stop_tracing(void)
{
    static _Atomic uint32_t stopped; /* the trace */
    const struct trace_patch *const patches =
        (const struct trace_patch *)((const char *)head + head->patches_at);

    if (atomic_exchange(&stopped, trace_count) == trace_count ||
        system_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0) != 0 ||
        !protect_regions(PROT_READ | PROT_WRITE | PROT_EXEC))
        return;
    for (uint32_t i = 0; i < head->patch_count; i++)
        if (in_trampolines(trampoline_of(&patches[i])))
            switch_off(trampoline_of(&patches[i]));
    (void)protect_regions(PROT_READ | PROT_EXEC);
}

static uint64_t *drop_chunk(struct lane *lane, uint64_t event)
{
    lane->lost += CHUNK_WORDS - CHUNK_FIRST - lane->restated;
    atomic_fetch_add_explicit(&lane->shared->lost_chunks, 1, memory_order_relaxed);
    atomic_store_explicit(&lane->shared->lost_events, lane->lost, memory_order_relaxed);
    return restart_chunk(lane, event);
}

static uint64_t *next_chunk(struct lane *lane, uint64_t event)
{
    const uint64_t published = atomic_load_explicit(&lane->shared->head, memory_order_relaxed);

    if ((atomic_load(&lane->shared->wake_word) & TRACE_WAKE_TRACER) == 0)
        stop_tracing();
    if (is_lane_full(lane, published) &&
        (head->policy != TRACE_WAIT || !wait_for_space(lane, published)))
        return drop_chunk(lane, event);
    atomic_store_explicit(&lane->shared->head, published + 1, memory_order_release);
    open_chunk(lane, published + 1);
    return lane->chunk + CHUNK_FIRST;
}

/* Returns true if the next place is in the lane's chunk. A handler may have begun a new chunk after
 * the event found this one full. */
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

/* Blocks signals: a handler could jump out, and leave the work half done. */
void lanes_slow_event(uint64_t event)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    struct lane *const lane = own;

    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before);
    if (!is_in_chunk(lane))
        trace_event = next_chunk(lane, event);
    /* A stack that was just restated no longer has the unwound frames. */
    if (lane->restated == 0 || lane_number_of(event) != TRACE_UNWOUND)
        put_in_chunk(event);
    fence();
    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
}

/* ---- threads ---- */

/* The callback may change vector registers, which hold the traced function's arguments. */
static void call_thread_began(void)
{
    char buffer[512 + 16];
    char *const saved = (char *)(((uintptr_t)buffer + 15) & ~(uintptr_t)15);

    __asm__ volatile("fxsave64 (%0)" : : "r"(saved) : "memory");
    agent_busy++;
    on_thread_began();
    agent_busy--;
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

/* Linux wakes one thread when the tracer ends, so one waits at the head's wake word, and the others
 * wait for their turn. */
static struct lane *wait_for_lane(void)
{
    struct lane *lane = NULL;
    bool some_ended;

    turn_take();
    for (int waits = 0; waits < WAITS_MAX;) {
        const uint32_t before = wake_word_clear(&head->wake_word);
        enum wake_end end;

        lane = find_free_lane(&some_ended);
        if (lane != NULL || !some_ended || head->policy != TRACE_WAIT)
            break;
        end = wake_word_wait(&head->wake_word, before);
        waits = end == WAKE_ALONE ? WAITS_MAX : waits + (end == WAKE_SECOND);
    }
    turn_leave();
    return lane;
}

/* Waits for a lane of an ended thread, which the tracer frees, if threads wait for the tracer. */
static struct lane *find_lane(void)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    bool some_ended;
    struct lane *lane = find_free_lane(&some_ended);

    if (lane != NULL || !some_ended || head->policy != TRACE_WAIT)
        return lane;
    /* If a handler jumped out, the other threads would wait forever. */
    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before);
    lane = wait_for_lane();
    (void)system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
    return lane;
}

static bool acquire(void)
{
    struct lane *lane;

    if (acquiring || left_out == trace_count || head == NULL)
        return false;
    acquiring = true;
    fence();
    lane = find_lane();
    if (lane == NULL) {
        left_out = trace_count;
        atomic_fetch_add(&head->threads_left_out, 1);
        acquiring = false;
        return false;
    }
    lane->shared->thread = (uint32_t)system_call(SYS_gettid, 0, 0, 0, 0);
    lane->was_used = true;
    lane->frames[0] = (struct trace_frame){.slot = UINT64_MAX};
    open_chunk(lane, atomic_load(&lane->shared->head));
    trace_event = lane->chunk + CHUNK_FIRST;
    own = lane;
    call_thread_began();
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
    /* Its destructors may call traced functions, which are no longer traced. The frames of a
     * cancelled thread never return. */
    left_out = trace_count;
    own = NULL;
    lane->shared->shadow_top = 0;
    fence();
    trace_top = NULL;
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
    if (own == NULL)
        left_out = trace_count;
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

/* Returns true if the frame on top, which lies below the slot, was left without returning. */
static bool is_unwound(uint64_t slot)
{
    const uint64_t top = trace_top[-1].slot;

    /* Mostly true. But a signal's own stack may lie above the interrupted one. */
    return slot - top < FAR || !is_on_signal_stack(slot, top);
}

static uint64_t pop_unwound(struct lane *lane, uint64_t slot)
{
    uint64_t count = 0;

    while (trace_top[-1].slot < slot && is_unwound(slot)) {
        saved_frames_put(&lane->saved, trace_top[-1].slot, trace_top[-1].return_address);
        trace_top--;
        count++;
    }
    return count;
}

static _Thread_local uint64_t last_clock; /* 0: none yet */

/* If a count starts again, as computrons do with each delivery, an event says when. Also if it is
 * at its start still: a delivery that used none restarts it there. */
uint64_t lanes_clock(void)
{
    const uint64_t now = agent_clock_read();
    const bool restarted = now < last_clock || now == 1 || last_clock == 0;

    last_clock = now;
    if (restarted && head->clock != TRACE_CLOCK_TSC)
        lane_put(control(TRACE_STAMP, agent_clock_tsc()));
    return now;
}

static void put_value(uint64_t value, uint64_t which, uint64_t function)
{
    lane_put(control(TRACE_VALUE, value));
    lane_put(control(TRACE_VALUE_OF, function << TRACE_VALUE_FUNCTION_SHIFT |
                                         which << TRACE_VALUE_WHICH_SHIFT | value >> 48));
}

uint64_t lanes_values(const uint64_t *saved)
{
    /* By the order in which the stub and the trampoline have pushed the registers. */
    enum { R9 = 3, R8, RDI, RSI, RETURN = 10, RCX, RDX, RAX };
    static const uint8_t registers[TRACE_ARGUMENTS_MAX] = {RDI, RSI, RDX, RCX, R8, R9};
    /* The operand of the trampoline's third instruction after the call: the event, without time. */
    const uint8_t *const operand = (const uint8_t *)saved[RETURN] + 12;
    const uint32_t call = operand[0] | (uint32_t)operand[1] << 8;

    if ((call & 1) != 0)
        put_value(saved[RAX], 0, call >> 1);
    for (uint32_t i = 0; (call & 1) == 0 && i < head->argument_count && i < TRACE_ARGUMENTS_MAX;
         i++)
        put_value(saved[registers[i]], i + 1, call >> 1);
    return lanes_clock();
}

/* Reports that all calls that are not on the stack now ended without returning. */
static void put_unwound(const struct lane *lane, uint64_t count)
{
    lane_put(control(TRACE_UNWOUND, count));
    lane_put(control(TRACE_DEPTH, (uint64_t)(trace_top - lane->frames - 1)));
}

bool lanes_slow_entry(uint64_t *slot)
{
    uint64_t count;

    if (trace_top == NULL)
        return acquire();
    count = pop_unwound(own, (uint64_t)slot);
    if (trace_top[-1].slot == (uint64_t)slot && !in_trampolines(*slot)) {
        trace_top--;
        count++;
    }
    if (count > 0)
        put_unwound(own, count);
    if (trace_top[-1].slot == (uint64_t)slot) {
        /* A tail call: the function on top has ended, and this one returns to its caller. */
        const uint64_t function = trace_top[-1].function;

        lane_put(lanes_clock() << TRACE_TIME_SHIFT | function << 1 | 1);
        *slot = trace_top[-1].return_address;
        trace_top--;
    }
    return true;
}

/* Ends the process with a message: the return address is lost. */
static void end_process(void)
{
    static const char words[] = "gaspipe trace: a traced function returns on a stack that the "
                                "program has switched too often; the process ends\n";

    (void)system_call(SYS_write, 2, (long)words, sizeof words - 1, 0);
    __builtin_trap();
}

/* Takes the frames above this one off, and returns how many. */
static uint64_t save_above(struct lane *lane, const struct trace_frame *frame)
{
    uint64_t count = 0;

    for (; trace_top - 1 > frame; count++) {
        saved_frames_put(&lane->saved, trace_top[-1].slot, trace_top[-1].return_address);
        trace_top--;
    }
    return count;
}

/* Pushes a saved frame, which the trampoline takes off again. Written twice, as in the template. */
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
        put_unwound(lane, save_above(lane, frame));
        return;
    }
    if (!saved_frames_take(&lane->saved, (uint64_t)slot, &address))
        end_process();
    lane_put(control(TRACE_ORPHAN, 0));
    push_again(slot, address);
}

/* ---- the end of a trace ---- */

/* Returns true if the word can be read: Linux copies it before it looks at the rest. */
static bool is_readable(uint64_t address)
{
    return system_call(SYS_rt_sigprocmask, ~0L, (long)address, 0, sizeof(uint64_t)) != -EFAULT;
}

/*
 * The slot may be that of a call that was left without returning, and hold anything by now. It is
 * written only if it has a trampoline's address, which no program has of its own.
 */
static void give_back(uint64_t slot, uint64_t return_address)
{
    uint64_t *const place = (uint64_t *)slot;

    if (slot % sizeof *place == 0 && is_readable(slot) && in_trampolines(*place))
        *place = return_address;
}

/* The newest call of a slot is the one that is in progress. */
void lanes_leave_thread(void)
{
    struct lane *const lane = own;

    if (lane == NULL)
        return;
    for (const struct trace_frame *frame = trace_top - 1; frame > lane->frames; frame--)
        give_back(frame->slot, frame->return_address);
    saved_frames_empty(&lane->saved, give_back);
    lane->shared->shadow_top = 0;
    own = NULL;
    acquiring = false;
    trace_top = NULL;
    trace_event = NULL;
    last_clock = 0;
}

void lanes_leave(void)
{
    /* Whole pages of it become zeros without memory, which fork(2) would copy. */
    const uint64_t begin = ((uint64_t)lanes + 4095) & ~UINT64_C(4095);
    const uint64_t end = (uint64_t)(lanes + LANES_MAX) & ~UINT64_C(4095);

    for (uint32_t i = 0; head != NULL && i < head->lanes && i < LANES_MAX; i++)
        if (lanes[i].was_used)
            saved_frames_empty(&lanes[i].saved, give_back);
    (void)system_call(SYS_madvise, (long)begin, (long)(end - begin), MADV_DONTNEED, 0);
    region_count = 0;
    trace_count++;
    head = NULL;
}

/* ---- stubs ---- */

/*
 * Trampolines call these with the slot of the return address in rdx, or with an event in rax. They
 * change no register, because gcc's IPA-RA relies on that even for registers that a call may
 * change. trace_stub_entry sets the zero flag if the call is not traced. trace_stub_clock returns
 * the clock in edx:eax, as rdtsc does, and trace_stub_values, too. Unwinders never pass these
 * frames.
 */
__asm__(".text\n"
        ".macro SAVE_REGISTERS\n"
        "push %rax; push %rcx; push %rdx; push %rsi; push %rdi\n"
        "push %r8; push %r9; push %r10; push %r11; push %rbp\n"
        "mov %rsp,%rbp\n"
        "and $-16,%rsp\n"
        "cld\n"
        ".endm\n"
        ".macro RESTORE_REGISTERS\n"
        "mov %rbp,%rsp\n"
        "pop %rbp; pop %r11; pop %r10; pop %r9; pop %r8\n"
        "pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\n"
        "ret\n"
        ".endm\n"
        ".globl trace_stub_entry, trace_stub_exit, trace_stub_event, trace_stub_clock\n"
        ".hidden trace_stub_entry, trace_stub_exit, trace_stub_event, trace_stub_clock\n"
        ".globl trace_stub_values\n"
        ".hidden trace_stub_values\n"
        ".type trace_stub_values, @function\n"
        ".type trace_stub_entry, @function\n"
        ".type trace_stub_exit, @function\n"
        ".type trace_stub_event, @function\n"
        ".type trace_stub_clock, @function\n"
        "trace_stub_entry:\n"
        "SAVE_REGISTERS\n"
        "mov %rdx,%rdi\n"
        "call lanes_slow_entry\n"
        "test %al,%al\n"
        "RESTORE_REGISTERS\n"
        "trace_stub_exit:\n"
        "SAVE_REGISTERS\n"
        "mov %rdx,%rdi\n"
        "call lanes_slow_exit\n"
        "RESTORE_REGISTERS\n"
        "trace_stub_event:\n"
        "SAVE_REGISTERS\n"
        "mov %rax,%rdi\n"
        "call lanes_slow_event\n"
        "RESTORE_REGISTERS\n"
        "trace_stub_clock:\n"
        "SAVE_REGISTERS\n"
        "call lanes_clock\n"
        "1: mov %rbp,%rsp\n"
        "mov %eax,%ecx\n"
        "mov %rcx,72(%rsp)\n" /* where rax and rdx were saved */
        "shr $32,%rax\n"
        "mov %rax,56(%rsp)\n"
        "RESTORE_REGISTERS\n"
        "trace_stub_values:\n"
        "SAVE_REGISTERS\n"
        "mov %rbp,%rdi\n"
        "call lanes_values\n"
        "jmp 1b\n");
