/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_PROFILE_STREAM_H
#define GASPIPE_COUNTER_PROFILE_STREAM_H

#include <stdint.h>

/*
 * What the counter writes of each region (`profile-fd=N`, counter/qemu/code/profile.h):
 * where its instructions are, and who called them. Records follow each other, each a
 * struct profile_stream_head and what its type says, in the machine's byte order, padded to
 * eight bytes. Files, places and chains are numbered by each process and told before the first
 * region that names them.
 */
enum profile_stream_type {
    PROFILE_STREAM_PROCESS = 1, /* the process's ID is `count` */
    PROFILE_STREAM_FILE,   /* `count` bytes: the path of the next file; the first is number 1 */
    PROFILE_STREAM_PLACES, /* `count` of struct profile_stream_place: sequences of code */
    PROFILE_STREAM_CHAINS, /* the same: chains of calls, callers before those they called */
    PROFILE_STREAM_REGION, /* a struct profile_stream_region, `count` of struct
                              profile_stream_cell */
};

struct profile_stream_head {
    uint32_t type;
    uint32_t count;
};

/* Where a sequence begins; or where the last call of a chain returns to. */
struct profile_stream_place {
    uint64_t offset; /* in the file */
    uint32_t file;   /* 0: in no file; offset is an address */
    uint32_t number; /* of the sequence; of the chain, from 1 */
    uint32_t caller; /* of a chain: the number of its caller's; 0: nobody called */
    uint32_t length; /* of the sequence, in instructions; of a chain: 0 */
};

struct profile_stream_region {
    int64_t began, ended;  /* nanoseconds of CLOCK_MONOTONIC, read outside of the region */
    uint64_t instructions; /* as its stop mark was told */
};

/* A region's cells add up to its instructions. */
struct profile_stream_cell {
    uint32_t chain; /* 0: nobody called */
    uint32_t place; /* the number of a sequence */
    uint64_t instructions;
};

#endif
