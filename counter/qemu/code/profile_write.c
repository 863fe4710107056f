/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/profile_write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "counter/profile_stream.h"
#include "counter/qemu/guest/address_space.h"

/* ---- the profile of a program, as text ---- */

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

/* Above what the guest is given, so that its own descriptors have the numbers that they have
 * without a profile. */
#define STREAM_FD_LEAST 40

static int stream = -1;
static struct guest_files files;

/* What the reader was told before. */
static char **told_paths;
static size_t told_files;
static uint8_t *told_stretches; /* by number */
static size_t told_room;
static size_t told_chains = 1;
static pid_t told_process;

bool profile_regions_open(int fd)
{
    stream = fcntl(fd, F_DUPFD_CLOEXEC, STREAM_FD_LEAST);
    return stream >= 0 && close(fd) == 0;
}

void profile_regions_mapped(void)
{
    struct guest_files found;

    guest_files_read(&found);
    if (found.count == 0)
        return;
    guest_files_free(&files);
    files = found;
}

/* ---- records ---- */

static void put_padding(FILE *out, size_t length)
{
    static const char zeros[8];

    fwrite(zeros, 1, (8 - length % 8) % 8, out);
}

static void profile_regions_put_head(FILE *out, enum profile_stream_type type, size_t count)
{
    const struct profile_stream_head head = {(uint32_t)type, (uint32_t)count};

    fwrite(&head, sizeof head, 1, out);
}

/* The file's number; 0 without memory. */
static uint32_t tell_file(FILE *out, const char *path)
{
    char **more;

    for (size_t i = 0; i < told_files; i++)
        if (strcmp(told_paths[i], path) == 0)
            return (uint32_t)i + 1;
    more = reallocarray(told_paths, told_files + 1, sizeof *more);
    if (more == NULL)
        return 0;
    told_paths = more;
    more[told_files] = strdup(path);
    if (more[told_files] == NULL)
        return 0;
    profile_regions_put_head(out, PROFILE_STREAM_FILE, strlen(path));
    fwrite(path, 1, strlen(path), out);
    put_padding(out, strlen(path));
    return (uint32_t)++told_files;
}

/* Files go out at once, places are gathered. */
static void tell_place(FILE *out, FILE *places, uint64_t address, struct profile_stream_place place)
{
    const struct guest_file *file;

    place.offset = address;
    file = guest_files_find(&files, address, &place.offset);
    if (file != NULL)
        place.file = tell_file(out, file->path);
    fwrite(&place, sizeof place, 1, places);
}

/* ---- places and chains ---- */

/* False without memory: it may be told again. */
static bool mark_told(uint32_t number)
{
    const size_t room = 2 * ((size_t)number + 512);
    uint8_t *larger;

    if (number >= told_room) {
        larger = realloc(told_stretches, room);
        if (larger == NULL)
            return true;
        memset(larger + told_room, 0, room - told_room);
        told_stretches = larger;
        told_room = room;
    }
    if (told_stretches[number] != 0)
        return false;
    told_stretches[number] = 1;
    return true;
}

static void tell_stretch(FILE *out, FILE *places, const struct stretch *stretch)
{
    if (mark_told(stretch->number))
        tell_place(out, places, stretch->address,
                   (struct profile_stream_place){
                       .number = stretch->number,
                       .length = (uint32_t)stretch->length,
                   });
}

static void tell_stretches(FILE *out, FILE *places, const struct chain_tree *tree,
                           const struct call_chain *chain)
{
    for (uint32_t at = 0; at <= chain->mask; at++)
        if (chain_tree_completed(tree, chain, &chain->cells[at]) > 0)
            tell_stretch(out, places, stretch_of_key(chain->cells[at].key));
}

static void tell_chains(FILE *out, FILE *places, const struct chain_tree *tree)
{
    for (; told_chains < tree->count; told_chains++)
        tell_place(out, places, tree->chains[told_chains]->return_address,
                   (struct profile_stream_place){
                       .number = (uint32_t)told_chains,
                       .caller = tree->chains[told_chains]->caller,
                   });
}

/* What `tell` gathers, behind the files that it names. */
static void put_places(FILE *out, enum profile_stream_type type, const struct chain_tree *tree)
{
    char *text = NULL;
    size_t length = 0;
    FILE *places = open_memstream(&text, &length);

    if (places == NULL)
        return;
    if (type == PROFILE_STREAM_CHAINS)
        tell_chains(out, places, tree);
    else
        for (size_t i = 0; i < tree->visited_count; i++)
            tell_stretches(out, places, tree, tree->chains[tree->visited[i]]);
    if (fclose(places) == 0 && length > 0) {
        profile_regions_put_head(out, type, length / sizeof(struct profile_stream_place));
        fwrite(text, 1, length, out);
    }
    free(text);
}

/* ---- regions ---- */

/* Adds the chain's cells to `out`; NULL: only counts them. */
static size_t put_cells(FILE *out, const struct chain_tree *tree, const struct call_chain *chain)
{
    size_t count = 0;

    for (uint32_t at = 0; at <= chain->mask; at++) {
        const struct call_cell *cell = &chain->cells[at];
        struct profile_stream_cell told = {
            .chain = chain->id,
            .instructions = chain_tree_completed(tree, chain, cell),
        };

        if (told.instructions == 0)
            continue;
        count++;
        told.place = stretch_of_key(cell->key)->number;
        if (out != NULL)
            fwrite(&told, sizeof told, 1, out);
    }
    return count;
}

static void put_region(FILE *out, const struct chain_tree *tree,
                       const struct profile_stream_region *region)
{
    size_t count = 0;

    for (size_t i = 0; i < tree->visited_count; i++)
        count += put_cells(NULL, tree, tree->chains[tree->visited[i]]);
    profile_regions_put_head(out, PROFILE_STREAM_REGION, count);
    fwrite(region, sizeof *region, 1, out);
    for (size_t i = 0; i < tree->visited_count; i++)
        (void)put_cells(out, tree, tree->chains[tree->visited[i]]);
}

static bool write_stream(const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        const ssize_t written = write(stream, bytes + at, length - at);

        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? (size_t)written : 0;
    }
    return true;
}

void profile_regions_write(const struct chain_tree *tree, int64_t began, int64_t ended,
                           uint64_t instructions)
{
    const struct profile_stream_region region = {began, ended, instructions};
    char *bytes = NULL;
    size_t length = 0;
    FILE *out;

    /* A child of fork(2) has no stream of its own. */
    if (stream < 0 || (told_process != 0 && told_process != getpid()))
        return;
    out = open_memstream(&bytes, &length);
    if (out == NULL)
        return;
    if (told_process == 0) {
        told_process = getpid();
        profile_regions_put_head(out, PROFILE_STREAM_PROCESS, (size_t)told_process);
    }
    put_places(out, PROFILE_STREAM_PLACES, tree);
    put_places(out, PROFILE_STREAM_CHAINS, tree);
    put_region(out, tree, &region);
    if (fclose(out) != 0 || !write_stream(bytes, length)) {
        fprintf(stderr, "gascount: cannot write the profile of a region: %s\n", strerror(errno));
        stream = -1;
    }
    free(bytes);
}
