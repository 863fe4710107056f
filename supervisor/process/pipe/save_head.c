/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/pipe/save_head.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A snapshot is a row of atoms, each with its length, in four bytes of which the first is the
 * highest, and its name, in four letters; XS_M stands for the whole and has no more than that. The
 * heap is allocated when the sizes in CREA were read, and two numbers follow them there.
 */
enum {
    ATOM_HEAD = 8,
    LENGTH_SIZE = 4, /* of an atom's length */
    CREA_REST = 8,   /* behind the sizes */
};

static const struct {
    const char *name;
    bool whole; /* all of it belongs to the head */
} atoms[] = {{"VERS", true}, {"SIGN", true}, {"CREA", false}};

static uint32_t length_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool is_named(const unsigned char *bytes, const char *name)
{
    return memcmp(bytes + LENGTH_SIZE, name, LENGTH_SIZE) == 0;
}

/* Of what is in the first `there` of these bytes; 0: it is not all there. */
static size_t head_length(const unsigned char *bytes, size_t there)
{
    size_t at = ATOM_HEAD;

    if (there < at || !is_named(bytes, "XS_M"))
        return 0;
    for (size_t i = 0; i < sizeof atoms / sizeof *atoms; i++) {
        const size_t rest = atoms[i].whole ? 0 : CREA_REST;
        size_t length;

        if (there < at + ATOM_HEAD || !is_named(bytes + at, atoms[i].name))
            return 0;
        length = length_at(bytes + at);
        if (length < ATOM_HEAD + rest || length - rest > there - at)
            return 0;
        at += length - rest;
    }
    return at;
}

struct save_head save_head_read(int fd)
{
    struct save_head head = {0};
    struct stat status;
    const ssize_t there = pread(fd, head.bytes, sizeof head.bytes, 0);

    if (there > 0 && fstat(fd, &status) == 0) {
        head.size = (uint64_t)status.st_size;
        head.length = head_length(head.bytes, (size_t)there);
    }
    return head;
}

bool save_head_fits(const struct save_head *head, const void *bytes)
{
    const unsigned char *snapshot = bytes;

    return head->length == 0 || memcmp(snapshot + LENGTH_SIZE, head->bytes + LENGTH_SIZE,
                                       head->length - LENGTH_SIZE) == 0;
}

bool save_head_fits_file(const struct save_head *head, int fd)
{
    unsigned char bytes[SAVE_HEAD_SIZE];

    return head->length == 0 || (pread(fd, bytes, head->length, 0) == (ssize_t)head->length &&
                                 save_head_fits(head, bytes));
}
