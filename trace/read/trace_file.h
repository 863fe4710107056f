/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_FILE_H
#define GASPIPE_TRACE_READ_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output/output_file.h"
#include "trace/calls/call_tree.h"
#include "trace/memory.h"
#include "trace/patch/patch_plan.h"

/* The CPU's time stamp counter and CLOCK_MONOTONIC at the same time. CPUs of the last fifteen years
 * count at a constant rate (CPUID 8000_0007H, invariant TSC). */
struct trace_moment {
    uint64_t ticks;
    int64_t mono; /* nanoseconds */
};

struct trace_moment trace_moment_now(void);

/* Two moments of one machine, from which the rate is computed; the further apart the better. */
struct trace_clock {
    struct trace_moment first, last;
    enum trace_clock_kind
        kind; /* of events; others than the time stamp counter are not converted */
};

/* By kind, NULL at the end: "tsc", "computrons", ... */
extern const char *const trace_clock_names[];

/* NULL: the time stamp counter. False: no clock has that name. */
bool trace_clock_take(enum trace_clock_kind *kind, const char *name);

/* Ticks in nanoseconds; the count itself for another clock. */
double trace_clock_duration(const struct trace_clock *clock, uint64_t ticks);

/* Convert between ticks and CLOCK_MONOTONIC. */
uint64_t trace_clock_ticks(const struct trace_clock *clock, int64_t mono);
int64_t trace_clock_mono(const struct trace_clock *clock, uint64_t ticks);

/* Compresses events (docs/trace-format.md). Programs mostly repeat themselves: an event that
 * follows the same events as earlier in the block needs no function's number. */

enum {
    EVENT_CODE_CONTEXTS = 1 << 14,
};

/* The state of writer and reader within a block. All zeros: its beginning. */
struct event_code {
    uint64_t time;                          /* of the last call */
    uint32_t context;                       /* the events before, as a number */
    uint16_t expected[EVENT_CODE_CONTEXTS]; /* the call that came last after these */
};

/* Appends events (trace/memory.h) to the block. Its speed matters: the program waits for its
 * reader. */
void event_code_write(struct event_code *code, struct buf *out, const uint64_t *events,
                      size_t count);

/* Appends to *events, an array of malloc() that grows. 0; -1 for invalid code; -2 if out of memory.
 */
int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count);

/* Files of traces; docs/trace-format.md describes them. */

#define TRACE_FILE_MAGIC "gastrace"

enum {
    TRACE_FILE_VERSION = 4,      /* the only one that is written and read */
    TRACE_FILE_HEAD = 16,        /* bytes: magic, version, 0 */
    TRACE_BLOCK_HEAD = 20,       /* bytes: five numbers of 32 bits, as in struct trace_block */
    TRACE_BLOCK_MOST = 16 << 20, /* bytes of a block's content */
};

enum trace_block_kind {
    TRACE_BLOCK_PROCESS = 1,    /* JSON: pid, name, modules */
    TRACE_BLOCK_FUNCTIONS,      /* JSON: [[name, module, address], ...], numbers from 1 on */
    TRACE_BLOCK_LANE_ENDED = 4, /* its number */
    TRACE_BLOCK_CLOCK,          /* JSON: ticks, mono, clock */
    TRACE_BLOCK_DELIVERY,       /* JSON: vatID, vat, crankNum, deliveryNum, method, begin, end */
    TRACE_BLOCK_LEFT_OUT,       /* JSON: at, functions */
    TRACE_BLOCK_EVENTS,         /* of one lane; trace_file_read_events() */
    TRACE_BLOCK_REQUESTS,       /* JSON: begin, beginArgument, end, endArgument */
};

struct trace_block {
    uint32_t kind, process, stored, length; /* length: of the content; stored: in the file */
    uint32_t sum;                           /* CRC-32 of what is stored */
};

/* ---- writing ---- */

struct trace_file {
    enum trace_clock_kind clock; /* of the events */
    struct output_file file;
    struct buf gathered;        /* blocks that are not written yet */
    struct buf packed;          /* a compressed block */
    struct event_block *blocks; /* of lanes, not complete yet; owned */
    size_t block_count, block_capacity;
    void *packer; /* of zstd, kept because it is slow to create */
};

/* Creates or truncates the file, which can be read while it grows. 0, or -1 with ERROR_SYSTEM. */
int trace_file_open(struct trace_file *file, const char *path, enum trace_clock_kind clock,
                    struct error *error);

/* These add to the blocks that are not written yet. -1 with ERROR_SYSTEM if out of memory. */
int trace_file_process(struct trace_file *file, uint32_t process, uint32_t pid, const char *name,
                       const struct patch_plan *plan, struct error *error);
/* As a trace_sink has them (trace/ring/trace_ring.h). */
int trace_file_events(struct trace_file *file, uint32_t process, unsigned lane, uint32_t thread,
                      const uint64_t *events, size_t count, struct error *error);
int trace_file_lane_ended(struct trace_file *file, uint32_t process, unsigned lane,
                          struct error *error);
int trace_file_clock(struct trace_file *file, struct trace_moment moment, struct error *error);

/* A delivery, when its worker had it: nanoseconds of CLOCK_MONOTONIC. Texts are borrowed. */
struct trace_delivery {
    const char *vat_id, *vat, *method;
    int64_t crank_num, delivery_num, begin, end;
};
int trace_file_delivery(struct trace_file *file, const struct trace_delivery *delivery,
                        struct error *error);

/* Which functions begin and end requests (trace/read/trace_requests.h): patterns of their names,
 * and the number of the argument with the identifier; end_argument 0: it has none. */
struct trace_request_marks {
    const char *begin, *end; /* NULL: no requests */
    uint32_t begin_argument, end_argument;
};
int trace_file_requests(struct trace_file *file, uint32_t process, const struct patch_plan *plan,
                        const struct trace_request_marks *marks, struct error *error);

/* These functions, by their numbers, are no longer traced. */
int trace_file_left_out(struct trace_file *file, uint32_t process, const uint32_t *functions,
                        size_t count, int64_t at, struct error *error);

/* Writes what was gathered. */
int trace_file_flush(struct trace_file *file, struct error *error);
/* Flushes and closes; one that is all zeros may be closed. */
int trace_file_close(struct trace_file *file, struct error *error);
/* Frees all after a failure. Does nothing for a closed file. */
void trace_file_drop(struct trace_file *file);

/* ---- reading ---- */

/* Called for each block; the content is borrowed. 0, or -1 to end. */
typedef int trace_block_visit(void *context, const struct trace_block *block,
                              const uint8_t *content, struct error *error);

/* Visits all whole blocks. *torn: the file ends in a partial block, because its writer was killed.
 * -1 with ERROR_INPUT for a file that is not a trace, or is damaged elsewhere. */
int trace_file_read(const char *path, trace_block_visit *visit, void *context, bool *torn,
                    struct error *error);

/* Events of a thread in their order, as trace/memory.h has them. */
struct trace_lane_events {
    unsigned lane; /* less than TRACE_LANES_MAX */
    uint32_t thread;
    uint64_t *events; /* to be freed */
    size_t count;
};

/* The content of TRACE_BLOCK_EVENTS. -1 with ERROR_INPUT or ERROR_SYSTEM. */
int trace_file_read_events(const struct trace_block *block, const uint8_t *content,
                           struct trace_lane_events *events, struct error *error);

/* The content of TRACE_BLOCK_LANE_ENDED. False: it names no lane. */
bool trace_file_read_lane(const struct trace_block *block, const uint8_t *content, unsigned *lane);

#endif
