/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_RECORDING_H
#define GASPIPE_PROTO_RECORDING_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stamp.h"

/*
 * A recorded session: all frames of one worker, as docs/recording-format.md has it. Each
 * record is a netstring; the first is the head, each other one a frame.
 */

enum { RECORDING_VERSION = 1 };

enum recording_direction {
    RECORDING_DOWN = '>', /* to the worker */
    RECORDING_UP = '<',
};

/* How the worker was started; what it takes to start another like it. */
struct recording_head {
    uint32_t compute_limit; /* as its options -l, -i and -s; 0: not given */
    uint32_t compute_interval;
    uint32_t parser_kb;
    bool from_snapshot; /* -r */
};

struct recorded_frame {
    enum recording_direction direction;
    struct stamp stamp; /* when its last byte had come, or before its first went */
    struct iovec bytes; /* borrowed from the record */
};

/* Appends a head record's payload. */
void recording_put_head(struct buf *buf, const struct recording_head *head);

/* What stands before a frame's bytes in its record: how many bytes of `at` it took. */
enum { RECORDING_PREFIX_SIZE = 64 };
size_t recording_put_prefix(char at[RECORDING_PREFIX_SIZE], enum recording_direction direction,
                            struct stamp stamp);

/* 0, or -1 with ERROR_INPUT when the payload is none or of another version. */
int recording_take_head(struct recording_head *head, struct iovec payload, struct error *error);
int recording_take_frame(struct recorded_frame *frame, struct iovec payload, struct error *error);

/* The path of the snapshot that belongs to a recording's: .snapshot for .frames. */
void recording_snapshot_path(char *path, size_t size, const char *recording);

/* Whether a file that begins so may be one. */
bool recording_begins(const char *bytes, size_t length);

#endif
