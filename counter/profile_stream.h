/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_PROFILE_STREAM_H
#define GASPIPE_COUNTER_PROFILE_STREAM_H

#include <stdint.h>

/* The counter writes this stream for each region (`profile-fd=N`, counter/qemu/code/profile.h):
 * where its instructions are and which calls led there. Each record is a struct profile_stream_head
 * and the payload of its type, in the machine's byte order, padded to eight bytes. A process
 * numbers its files, places and chains, and writes each before the first region that names it. */
enum profile_stream_type {
    PROFILE_STREAM_PROCESS = 1, /* the process's ID is `count` */
    PROFILE_STREAM_FILE,   /* `count` bytes: the path of the next file; the first is number 1 */
    PROFILE_STREAM_PLACES, /* `count` of struct profile_stream_place: sequences of code */
    PROFILE_STREAM_CHAINS, /* struct profile_stream_place as well: call chains, callers before
                            * callees */
    PROFILE_STREAM_REGION, /* a struct profile_stream_region, `count` of struct
                              profile_stream_cell */
};

struct profile_stream_head {
    uint32_t type;
    uint32_t count;
};

/* The start of a sequence, or the return address of a chain's last call. */
struct profile_stream_place {
    uint64_t offset; /* in the file */
    uint32_t file;   /* 0: in no file; offset is an address */
    uint32_t number; /* of the sequence; of the chain, from 1 */
    uint32_t caller; /* the number of the caller's chain; 0: no caller */
    uint32_t length; /* of the sequence, in instructions; of a chain: 0 */
};

struct profile_stream_region {
    int64_t began, ended;  /* nanoseconds of CLOCK_MONOTONIC, read outside of the region */
    uint64_t instructions; /* as its stop mark returned it */
};

/* A region's cells add up to its instructions. */
struct profile_stream_cell {
    uint32_t chain; /* 0: no caller */
    uint32_t place; /* the number of a sequence */
    uint64_t instructions;
};

#endif
