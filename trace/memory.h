/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_MEMORY_H
#define GASPIPE_TRACE_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The memory that the agent in a traced process shares with the tracer: a memfd that both have. The
 * tracer makes it and sets all sizes and offsets in the head. It checks all that it reads back,
 * because the process could have changed anything.
 *
 *   head | lanes | patches | calls | chunks | shadow stacks | regions
 *
 * A lane is what one thread writes: a ring of chunks of events, and its shadow stack of return
 * addresses. A region is the executable part of a module's trampolines.
 *
 * There is no lock, because either side may be killed or stopped at any moment, and a traced
 * function may hold any lock of the program. Each comment below says who writes a member.
 */

#define TRACE_MAGIC UINT64_C(0x6563617274736167) /* "gastrace" */

enum {
    TRACE_VERSION = 9,
    TRACE_CHUNK_SIZE = 4096,
    TRACE_CHUNK_HEAD = 16, /* bytes before the first event */
    TRACE_CHUNK_EVENTS = (TRACE_CHUNK_SIZE - TRACE_CHUNK_HEAD) / 8,
    TRACE_MODULES_MAX = 64,
    TRACE_PATH_SIZE = 512,
    TRACE_LIBRARIES_SIZE = 512,
    TRACE_NAME_SIZE = 104,
};

/*
 * An event: the clock's lowest 48 bits, 15 bits of a function's number, and one that says
 * whether it was left. 0 is no event. Numbers from TRACE_CONTROL on are no functions; in their
 * events an argument stands in place of the time.
 */
enum trace_number {
    TRACE_CONTROL = 0x7ff0,
    TRACE_UNWOUND = 0x7ff0,  /* the innermost ARGUMENT calls ended without returning */
    TRACE_ORPHAN = 0x7ff1,   /* the next event leaves a function that is not on the stack */
    TRACE_LOST = 0x7ff2,     /* of this lane ARGUMENT events are lost so far, the last ones just
                              * before this; the stack is restated: */
    TRACE_OPEN = 0x7ff3,     /* the function ARGUMENT is on the stack, outermost first */
    TRACE_DEEP = 0x7ff4,     /* below what is restated there are ARGUMENT calls more */
    TRACE_STAMP = 0x7ff5,    /* another clock than the time stamp counter starts again; ARGUMENT is
                              * the time stamp counter */
    TRACE_DEPTH = 0x7ff6,    /* after TRACE_UNWOUND: ARGUMENT calls are on the stack. Of what has
                              * ended, a call may be one whose entry has no event, or whose exit has
                              * one: a signal's handler came in between and jumped out */
    TRACE_VALUE = 0x7ff7,    /* ARGUMENT is the lower part of an integer argument or result */
    TRACE_VALUE_OF = 0x7ff8, /* just after that, and before the entry or exit of its function:
                              * ARGUMENT is the upper 16 bits, the argument's number from 1 on (0:
                              * the result) in 4 bits, and the function's number */
    TRACE_FUNCTIONS_MAX = TRACE_CONTROL - 1, /* numbers of functions: 1 to this */
};

enum {
    TRACE_TIME_SHIFT = 16,
    TRACE_VALUE_WHICH_SHIFT = 16, /* in a TRACE_VALUE_OF's argument */
    TRACE_VALUE_FUNCTION_SHIFT = 20,
    TRACE_ARGUMENTS_MAX = 6, /* as many as registers hold */
};
#define TRACE_TIME_MASK ((UINT64_C(1) << 48) - 1)

/* When a thread's ring is full, it: */
enum trace_policy {
    TRACE_WAIT, /* waits for the tracer */
    TRACE_DROP, /* overwrites its newest chunk, and counts the lost events */
};

/* The time stamp counter, or what counts time on another machine. */
static inline uint64_t trace_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

/* The clock of events. */
enum trace_clock_kind {
    TRACE_CLOCK_TSC,        /* the time stamp counter */
    TRACE_CLOCK_COMPUTRONS, /* the program's own count, to which its gastrace_computrons points */
    TRACE_CLOCK_CYCLES,     /* this and what follows: perf_event_open(2), in user mode, by thread */
    TRACE_CLOCK_INSTRUCTIONS,
    TRACE_CLOCK_CACHE_MISSES,
    TRACE_CLOCK_TLB_MISSES,
    TRACE_CLOCK_PAGE_FAULTS, /* by a system call for each event */
    TRACE_CLOCKS,
};

/*
 * A wake word is where a thread of the process waits for the tracer: a futex that holds the id of
 * the tracer's thread, whether the tracer has set it, and a bit that is always set.
 *
 * The hazard is a lost wake-up: the thread finds the ring full, the tracer empties it and sees
 * no waiting thread, and then the thread falls asleep. So the two act in opposite orders:
 *
 *      thread                                  tracer
 *      1. clears TRACE_WAKE_SET                1. stores the tail (or a state)
 *      2. loads the tail; full: waits          2. sets TRACE_WAKE_SET; if it was clear, wakes
 *         while the word is as after 1
 *
 * Step 1 of the thread and step 2 of the tracer are both atomic read-modify-writes of the word, so
 * one precedes the other. If the tracer's is first, the thread's reads from it and sees the new
 * tail. If the thread's is first, the tracer finds the bit clear, and wakes the thread or changes
 * the word before it waits. A plain load in the tracer's step 2 could overtake its own store.
 *
 * When the tracer's thread ends, in whatever way, Linux does so too, and clears the id
 * (set_robust_list(2), which also defines the bits). It wakes one thread, so at most one waits.
 */
enum trace_wake_word {
    TRACE_WAKE_TRACER = 0x3fffffff, /* the id; 0: the tracer has ended */
    TRACE_WAKE_SET = 0x40000000,
};
#define TRACE_WAKE_ALWAYS UINT32_C(0x80000000)

/* Says which side acts next. The agent waits for the tracer at the head's wake word. */
enum trace_state {
    TRACE_MADE,    /* the agent describes its process */
    TRACE_ASKED,   /* the tracer fills regions, patches and calls */
    TRACE_READY,   /* the agent maps the trampolines and writes the patches */
    TRACE_RUNNING, /* threads write events */
    TRACE_REFUSED, /* the process is not traced; `refusal` says why */
};

/* A file of the process's code. */
struct trace_module {
    uint64_t base;              /* what is added to addresses in the file */
    uint64_t region;            /* address of its region; 0: none could be reserved */
    uint64_t region_size;       /* bytes, whole pages; the last quarter is for data */
    char path[TRACE_PATH_SIZE]; /* "" for the program itself */
};

/* Five bytes of text to replace, if they are as in `before`. */
struct trace_patch {
    uint64_t address;
    uint8_t before[8], after[8];
};

/* A library call: its slot of the global offset table is set to a trampoline. */
struct trace_call {
    uint64_t slot, trampoline;
    uint64_t cell;                 /* where the trampoline finds the function; the agent fills it */
    uint64_t before;               /* what the slot held; the agent fills it. 0: left alone */
    uint64_t text_begin, text_end; /* a slot that leads in here is not bound yet */
    uint64_t read_only;            /* whether the slot is, once bound */
    char name[TRACE_NAME_SIZE];
};

enum trace_lane_state { TRACE_LANE_FREE, TRACE_LANE_USED, TRACE_LANE_ENDED };

/*
 * A ring with one writer, the thread, and one reader, the tracer:
 *
 *               tail                  head
 *                |                     |
 *        empty   | published chunks    | the chunk being filled |   empty
 *                  the reader's          the thread's
 *
 * The thread fills a chunk with plain stores and publishes it by storing head + 1 (release); the
 * reader loads head (acquire), so it sees the chunk's events. The reader fills the chunk with zeros
 * and then stores tail + 1 (release); the thread loads tail (acquire) before it begins a chunk
 * there, so it never finds an old event, nor has a new one erased.
 *
 * The last chunk of a thread is never published. Storing TRACE_LANE_ENDED (release) hands it to the
 * reader, which loads the state (acquire), takes the chunk, and stores TRACE_LANE_FREE (release).
 * The next thread takes the lane by compare and exchange, and finds the chunk empty.
 */
struct trace_lane {
    /* The thread's. Unwinders in the process read the first two (trace/patch/unwind.c). */
    uint64_t shadow;        /* address of its lowest frame; set before the lane is used */
    uint64_t shadow_top;    /* address of the word that holds its end; 0: the lane is not used */
    _Atomic uint32_t state; /* enum trace_lane_state: as above */
    uint32_t thread;        /* its id; set before its first chunk is published */
    _Atomic uint64_t lost_events, lost_chunks; /* relaxed: only figures */
    _Alignas(64) _Atomic uint64_t head;        /* chunks published */
    /* The reader's, but the thread clears TRACE_WAKE_SET. */
    _Alignas(64) _Atomic uint64_t tail;     /* chunks that the reader has taken, and emptied */
    _Alignas(8) _Atomic uint32_t wake_word; /* set when the tail has moved */
};

struct trace_frame {
    uint64_t return_address;
    uint64_t slot; /* where on the stack it stood */
    uint64_t function;
};

/* The hand-over of plain fields: one side writes them before it stores `state`, and the other reads
 * them after it loaded that value. Nothing changes once the state is TRACE_RUNNING. */
struct trace_head {
    uint64_t magic;
    uint32_t version;
    /* enum trace_policy. Either side may set TRACE_DROP, the agent once the tracer has ended. */
    _Atomic uint32_t policy;
    uint32_t clock; /* enum trace_clock_kind */
    uint32_t lanes, chunks_per_lane;
    uint64_t lanes_at, patches_at, calls_at, chunks_at, shadows_at, regions_at; /* in the file */
    uint64_t shadow_size; /* bytes for each lane */
    uint64_t regions_size;
    char libraries[TRACE_LIBRARIES_SIZE];   /* patterns with blanks between, of files' names */
    _Atomic uint32_t heartbeat;             /* the tracer's: counted up at each of its steps */
    _Alignas(8) _Atomic uint32_t wake_word; /* set for the state, and when a lane becomes free */
    _Atomic uint32_t state;                 /* enum trace_state */
    /* The chunks of a lane that can be filled before its thread waits, at most chunks_per_lane. The
     * tracer lowers it to make threads wait soon. */
    _Atomic uint32_t chunks_open;

    /* from the agent */
    uint32_t process;
    uint32_t module_count;
    uint64_t mapped_at;               /* address of this in the process */
    int64_t event_offset, top_offset; /* of the thread's variables, from %fs:0 */
    int64_t busy_offset;          /* likewise: not 0 while it calls the C library for the agent */
    uint64_t leave_thread, leave; /* addresses of the agent's functions that end the trace */
    uint64_t slow_entry, slow_exit, slow_event, slow_clock,
        slow_values;                   /* addresses of its stubs */
    uint64_t register_frames;          /* the address of __register_frame(), or 0 */
    _Atomic uint64_t threads_left_out; /* because no lane was free */
    char refusal[256];
    struct trace_module modules[TRACE_MODULES_MAX];

    /* from the tracer */
    uint32_t patch_count, call_count;
    uint32_t trampoline_length; /* of each, without the body; 0: none yet */
    uint32_t argument_count;    /* arguments that are recorded of each function chosen for it */
    uint64_t computrons_at;     /* address of gastrace_computrons, or 0 */
    uint64_t frames[TRACE_MODULES_MAX]; /* address of each region's unwind table */
};

#endif
