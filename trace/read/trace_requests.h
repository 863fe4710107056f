/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_REQUESTS_H
#define GASPIPE_TRACE_READ_TRACE_REQUESTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/calls/call_tree.h"
#include "trace/memory.h"
#include "trace/read/trace_file.h"

/*
 * Finds the requests of a server in its events, by the functions that begin and end them.
 *
 * If the function that ends a request has no argument, the request is what its thread does from the
 * entry of the first function to the exit of the second. Else it arrives with the entry of the
 * first function, and any thread works on it during the call of the second that has the same
 * identifier.
 */

/* Writes an argument or a result, an integer of unknown size: negative ones of 64 bits in decimal,
 * other large ones in hexadecimal. */
enum { TRACE_VALUE_WORDS = 24 };
void trace_value_words(char words[TRACE_VALUE_WORDS], uint64_t value);

struct traced_request {
    uint32_t process, thread, function; /* the process's number of the function that is named */
    unsigned lane;
    uint64_t id;
    uint64_t arrived, begin, end; /* ticks, as in events */
};

struct request_marks {
    bool known;
    uint32_t *begins, *ends; /* owned: functions by their numbers */
    size_t begin_count, end_count;
    unsigned begin_argument, end_argument; /* from 1 on; end_argument 0: none */
};

/* The requests of one process. */
struct request_finder {
    struct request_marks marks;
    struct request_lane *lanes;       /* owned: TRACE_LANES_MAX; NULL: no events yet */
    struct request_arrival *arrivals; /* owned */
    size_t arrival_count, arrival_capacity;
    struct traced_request *requests; /* owned */
    size_t request_count, request_capacity;
};

/* The content of TRACE_BLOCK_REQUESTS, of a process with so many functions. -1 with ERROR_INPUT or
 * ERROR_SYSTEM. */
int request_finder_open(struct request_finder *finder, const json_t *content, size_t functions,
                        struct error *error);
/* All zeros may be closed. */
void request_finder_close(struct request_finder *finder);

/* Adds events of a lane in their order. -1 with ERROR_SYSTEM if out of memory. */
int request_finder_add(struct request_finder *finder, const struct trace_lane_events *events,
                       struct error *error);

/* The lane's thread has ended, and so has its request. */
void request_finder_end_lane(struct request_finder *finder, unsigned lane);

/* Finds when requests arrived, and sorts them by their beginning. */
void request_finder_settle(struct request_finder *finder);

#endif
