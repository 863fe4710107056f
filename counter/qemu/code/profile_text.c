/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/profile_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void write_place(FILE *out, const struct guest_files *files, uint64_t address)
{
    uint64_t offset = 0;
    const struct guest_file *file = guest_files_find(files, address, &offset);

    fprintf(out, "%" PRIu64 " %s\n", offset, file != NULL ? file->path : "-");
}

static void write_chains(FILE *out, const struct chain_tree *tree, const struct guest_files *files)
{
    for (size_t id = 1; id < tree->count; id++) {
        fprintf(out, "call %zu %" PRIu32 " ", id, tree->chains[id]->caller);
        write_place(out, files, tree->chains[id]->return_address);
    }
}

static void write_cells(FILE *out, const struct chain_tree *tree, const struct call_chain *chain,
                        const struct guest_files *files)
{
    for (uint32_t at = 0; at <= chain->mask; at++) {
        const struct call_cell *cell = &chain->cells[at];
        const uint64_t completed = chain_tree_completed(tree, chain, cell);

        if (completed == 0)
            continue;
        fprintf(out, "count %" PRIu64 " %" PRIu32 " ", completed, chain->id);
        write_place(out, files, stretch_of_key(cell->key)->address);
    }
}

/* Others may append to the same file at the same time. */
static bool append_to_file(const char *path, const char *text, size_t length)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    ssize_t written = 0;

    if (fd < 0)
        return false;
    while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
        ;
    for (size_t at = 0; at < length && written >= 0; at += (size_t)written) {
        written = write(fd, text + at, length - at);
        if (written < 0 && errno == EINTR)
            written = 0;
    }
    return close(fd) == 0 && written >= 0;
}

void profile_text_append(const char *path, const struct chain_tree *tree,
                         const struct guest_files *files)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool written = false;

    if (out != NULL) {
        fprintf(out, "process %d\n", (int)getpid());
        write_chains(out, tree, files);
        for (size_t i = 0; i < tree->visited_count; i++)
            write_cells(out, tree, tree->chains[tree->visited[i]], files);
        written = fclose(out) == 0 && append_to_file(path, text, length);
    }
    if (!written)
        fprintf(stderr, "gascount: cannot write %s: %s\n", path, strerror(errno));
    free(text);
}
