/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_GUEST_FILES_H
#define GASPIPE_COUNTER_QEMU_GUEST_GUEST_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which files the process has mapped, as /proc/self/maps says. All zeros: none. */
struct guest_file {
    uint64_t start, end; /* addresses of the host */
    uint64_t offset;     /* in the file */
    char *path;          /* owned */
};

struct guest_files {
    struct guest_file *file; /* in order of addresses */
    size_t count;
};

/* Reads them; without memory there are fewer. */
void guest_files_read(struct guest_files *files);

/* What is mapped at an address of the guest, or NULL. *offset: of that byte in the file. */
const struct guest_file *guest_files_find(const struct guest_files *files, uint64_t guest_address,
                                          uint64_t *offset);

/* Whether a file is mapped anywhere in the range, of addresses of the guest. */
bool guest_files_touch(const struct guest_files *files, uint64_t start, uint64_t size);

void guest_files_free(struct guest_files *files);

#endif
