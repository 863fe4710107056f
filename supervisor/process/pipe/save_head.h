/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PIPE_SAVE_HEAD_H
#define GASPIPE_SUPERVISOR_PROCESS_PIPE_SAVE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How a snapshot of XS begins: with its version and the sizes of the heap, up to where XS has
 * allocated that heap. It stays the same from one snapshot of a vat to the next until the heap
 * grows, so a worker can be given it, and make its heap, before the snapshot is written.
 */
enum { SAVE_HEAD_SIZE = 128 };

struct save_head {
    size_t length; /* 0: not known; another engine's snapshot begins otherwise */
    uint64_t size; /* of the whole snapshot that it is from */
    unsigned char bytes[SAVE_HEAD_SIZE];
};

/* Of the snapshot in this file, whose position stays; all zeros where there is none to read. */
struct save_head save_head_read(int fd);

/*
 * Whether a snapshot that begins with these bytes, at least head->length of them, goes on behind
 * the head. Its first four bytes, which have the length of all, are not looked at: neither does XS.
 */
bool save_head_fits(const struct save_head *head, const void *bytes);

/* The same for the snapshot in this file. */
bool save_head_fits_file(const struct save_head *head, int fd);

#endif
