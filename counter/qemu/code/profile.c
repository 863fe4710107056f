/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/pair_table.h"
#include "counter/profile_stream.h"
#include "counter/qemu/code/chain_tree.h"
#include "counter/qemu/guest/address_space.h"
#include "counter/qemu/tally.h"

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
        write_place(out, files, insn_sequence_of_key(cell->key)->address);
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

/* Appends the tree's counts to the file, in the format below. Reports errors on stderr. */
static void profile_text_append(const char *path, const struct chain_tree *tree,
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

/* Higher than the guest's descriptors, so that the guest gets the same numbers as without a
 * profile. */
#define STREAM_FD_LEAST 40

static int stream = -1;
static struct guest_files mapped_files;

/* The numbers that the stream's reader knows already. */
static char **known_paths;
static size_t known_files;
static uint8_t *known_sequences; /* by number */
static size_t known_capacity;
static size_t known_chains = 1;
static pid_t stream_process;

/* Duplicates and closes the descriptor. Returns false if it is not open. */
static bool profile_regions_open(int fd)
{
    stream = fcntl(fd, F_DUPFD_CLOEXEC, STREAM_FD_LEAST);
    return stream >= 0 && close(fd) == 0;
}

/* Updates the list of mapped files. If the process may not read it, the old list stays. */
static void profile_regions_mapped(void)
{
    struct guest_files found;

    guest_files_read(&found);
    if (found.count == 0)
        return;
    guest_files_free(&mapped_files);
    mapped_files = found;
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

/* Returns the file's number and writes its path the first time. Returns 0 if out of memory. */
static uint32_t stream_file(FILE *out, const char *path)
{
    char **more;

    for (size_t i = 0; i < known_files; i++)
        if (strcmp(known_paths[i], path) == 0)
            return (uint32_t)i + 1;
    more = reallocarray(known_paths, known_files + 1, sizeof *more);
    if (more == NULL)
        return 0;
    known_paths = more;
    more[known_files] = strdup(path);
    if (more[known_files] == NULL)
        return 0;
    profile_regions_put_head(out, PROFILE_STREAM_FILE, strlen(path));
    fwrite(path, 1, strlen(path), out);
    put_padding(out, strlen(path));
    return (uint32_t)++known_files;
}

/* Writes the file to `out` at once, and the place to `places`. */
static void add_stream_place(FILE *out, FILE *places, uint64_t address,
                             struct profile_stream_place place)
{
    const struct guest_file *file;

    place.offset = address;
    file = guest_files_find(&mapped_files, address, &place.offset);
    if (file != NULL)
        place.file = stream_file(out, file->path);
    fwrite(&place, sizeof place, 1, places);
}

/* ---- places and chains ---- */

/* Returns false if out of memory; the caller may then write the sequence again. */
static bool mark_known(uint32_t number)
{
    const size_t capacity = 2 * ((size_t)number + 512);
    uint8_t *larger;

    if (number >= known_capacity) {
        larger = realloc(known_sequences, capacity);
        if (larger == NULL)
            return true;
        memset(larger + known_capacity, 0, capacity - known_capacity);
        known_sequences = larger;
        known_capacity = capacity;
    }
    if (known_sequences[number] != 0)
        return false;
    known_sequences[number] = 1;
    return true;
}

static void add_sequence(FILE *out, FILE *places, const struct insn_sequence *sequence)
{
    if (mark_known(sequence->number))
        add_stream_place(out, places, sequence->address,
                         (struct profile_stream_place){
                             .number = sequence->number,
                             .length = (uint32_t)sequence->length,
                         });
}

static void stream_sequences(FILE *out, FILE *places, const struct chain_tree *tree,
                             const struct call_chain *chain)
{
    for (uint32_t at = 0; at <= chain->mask; at++)
        if (chain_tree_completed(tree, chain, &chain->cells[at]) > 0)
            add_sequence(out, places, insn_sequence_of_key(chain->cells[at].key));
}

static void stream_chains(FILE *out, FILE *places, const struct chain_tree *tree)
{
    for (; known_chains < tree->count; known_chains++)
        add_stream_place(out, places, tree->chains[known_chains]->return_address,
                         (struct profile_stream_place){
                             .number = (uint32_t)known_chains,
                             .caller = tree->chains[known_chains]->caller,
                         });
}

/* Writes the gathered places, after the files that they name. */
static void put_places(FILE *out, enum profile_stream_type type, const struct chain_tree *tree)
{
    char *text = NULL;
    size_t length = 0;
    FILE *places = open_memstream(&text, &length);

    if (places == NULL)
        return;
    if (type == PROFILE_STREAM_CHAINS)
        stream_chains(out, places, tree);
    else
        for (size_t i = 0; i < tree->visited_count; i++)
            stream_sequences(out, places, tree, tree->chains[tree->visited[i]]);
    if (fclose(places) == 0 && length > 0) {
        profile_regions_put_head(out, type, length / sizeof(struct profile_stream_place));
        fwrite(text, 1, length, out);
    }
    free(text);
}

/* ---- regions ---- */

/* Writes the chain's cells to `out`; if that is NULL, only counts them. */
static size_t put_cells(FILE *out, const struct chain_tree *tree, const struct call_chain *chain)
{
    size_t count = 0;

    for (uint32_t at = 0; at <= chain->mask; at++) {
        const struct call_cell *cell = &chain->cells[at];
        struct profile_stream_cell record = {
            .chain = chain->id,
            .instructions = chain_tree_completed(tree, chain, cell),
        };

        if (record.instructions == 0)
            continue;
        count++;
        record.place = insn_sequence_of_key(cell->key)->number;
        if (out != NULL)
            fwrite(&record, sizeof record, 1, out);
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

/* Writes the tree's counts as one region. After a write error it writes nothing more: a program
 * must not fail because the reader exited. */
static void profile_regions_write(const struct chain_tree *tree, int64_t began, int64_t ended,
                                  uint64_t instructions)
{
    const struct profile_stream_region region = {began, ended, instructions};
    char *bytes = NULL;
    size_t length = 0;
    FILE *out;

    /* A child of fork(2) must not write to its parent's stream. */
    if (stream < 0 || (stream_process != 0 && stream_process != getpid()))
        return;
    out = open_memstream(&bytes, &length);
    if (out == NULL)
        return;
    if (stream_process == 0) {
        stream_process = getpid();
        profile_regions_put_head(out, PROFILE_STREAM_PROCESS, (size_t)stream_process);
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

/* Calls beyond this many chains count for their caller's chain. */
#define CHAINS_MAX 1000000

/* A call instruction, identified by its return address. It caches its last chains, because the same
 * callers recur. */
#define SITE_CALLERS 4
struct call_site {
    uint64_t return_address;
    struct {
        struct call_chain *caller, *chain;
    } last[SITE_CALLERS]; /* at [caller's number % SITE_CALLERS]; NULL: unused */
};

struct profiled_thread {
    struct call_stack stack; /* calls; each handle is a struct call_chain */
    bool counts;             /* true if the thread's instructions count */
    int64_t began;           /* start of its region; 0: no region, or regions are not written */
};

static char profile_path[PATH_MAX]; /* "": only regions are written */
static bool is_open, writes_regions;
static bool shared;         /* true once a second thread may exist */
static bool maps_are_known; /* known to profile_text_append() */
static struct chain_tree tree;
static struct pair_table sites; /* from a return address to its struct call_site */
static struct profiled_thread threads[TALLY_THREADS_MAX];

/* Protects the tree and the sites. Taken only if there may be several threads, or while a block is
 * translated. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_profile_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_profile_lock(void)
{
    pthread_mutex_unlock(&lock);
}

static void lock_if_shared(void)
{
    if (shared)
        take_profile_lock();
}

static void unlock_if_shared(void)
{
    if (shared)
        leave_profile_lock();
}

static _Noreturn void out_of_memory(void)
{
    qemu_plugin_outs("gascount: no memory for the profile\n");
    abort();
}

/* Returns the chain of the innermost call. */
static struct call_chain *chain_of(const struct profiled_thread *thread)
{
    return thread->stack.top->chain;
}

/* Threads start in the chain of no calls. */
static void visit_first(void)
{
    chain_tree_visit(&tree, tree.chains[0]);
    for (unsigned thread = 0; thread < TALLY_THREADS_MAX; thread++)
        if (threads[thread].stack.top != NULL)
            chain_tree_visit(&tree, chain_of(&threads[thread]));
}

static void clear_tree(void)
{
    chain_tree_clear(&tree);
    visit_first();
}

/* fork(2) copied the parent's counts; the child starts at 0. */
static void profile_in_child(void)
{
    clear_tree();
    leave_profile_lock();
}

static bool open_tree(void)
{
    if (is_open)
        return true;
    if (!chain_tree_open(&tree))
        return false;
    visit_first();
    pthread_atfork(take_profile_lock, leave_profile_lock, profile_in_child);
    is_open = true;
    return true;
}

bool profile_open(const char *path)
{
    size_t size = strlen(path) + 1;

    if (size > sizeof profile_path) {
        fprintf(stderr, "gascount: the path of the profile is too long: %s\n", path);
        return false;
    }
    memcpy(profile_path, path, size);
    return open_tree();
}

bool profile_open_regions(int fd)
{
    if (!profile_regions_open(fd)) {
        fprintf(stderr, "gascount: descriptor %d is not open for profiles\n", fd);
        return false;
    }
    writes_regions = true;
    return open_tree();
}

/* ---- counting ---- */

/* A cell array in which nothing is found, so that profile_began() decides whether to count. */
static struct call_cell nothing;
struct profile_alone profile_alone = {.cells = &nothing};

static void set_alone(const struct profiled_thread *thread)
{
    if (thread != &threads[0])
        return;
    profile_alone.cells = thread->counts ? chain_of(thread)->cells : &nothing;
    profile_alone.mask = thread->counts ? chain_of(thread)->mask : 0;
}

static struct call_cell *cell_of(unsigned thread, const struct insn_sequence *sequence)
{
    struct call_cell *cell = call_chain_cell(chain_of(&threads[thread]), sequence->key);

    if (cell == NULL)
        out_of_memory();
    return cell;
}

void profile_began(unsigned thread, const struct insn_sequence *sequence)
{
    if (!threads[thread].counts)
        return;
    lock_if_shared();
    if (!chain_tree_add(&tree, chain_of(&threads[thread]), cell_of(thread, sequence),
                        (uint32_t)sequence->length))
        out_of_memory();
    set_alone(&threads[thread]); /* the chain's table may have grown */
    unlock_if_shared();
}

/* The cell exists already, so this allocates no memory and may run in a signal handler. */
void profile_aborted(unsigned thread, const struct insn_sequence *sequence)
{
    if (!threads[thread].counts)
        return;
    lock_if_shared();
    chain_tree_take_back(&tree, chain_of(&threads[thread]), cell_of(thread, sequence));
    unlock_if_shared();
}

/* ---- following calls ---- */

static void set_counts(struct profiled_thread *thread, bool counts)
{
    thread->counts = counts;
    set_alone(thread);
}

void profile_threads_come(void)
{
    shared = true;
}

void profile_thread_began(unsigned thread)
{
    if (!is_open)
        return;
    lock_if_shared();
    if (!call_stack_begin(&threads[thread].stack, tree.chains[0]))
        out_of_memory();
    chain_tree_visit(&tree, tree.chains[0]);
    unlock_if_shared();
    threads[thread].began = 0;
    set_counts(&threads[thread], !writes_regions);
}

void profile_alternate_stack(unsigned thread, uint64_t start, uint64_t size)
{
    threads[thread].stack.other_start = size > 0 ? start : 0;
    threads[thread].stack.other_end = size > 0 ? start + size : 0;
}

/* Like chain_of_call(), for a caller that is not in the site's cache. */
static struct call_chain *find_chain(const struct profiled_thread *thread, struct call_site *site,
                                     struct call_chain *caller)
{
    const uint32_t at = caller->id % SITE_CALLERS;
    struct call_chain *chain;

    if (call_stack_depth(&thread->stack) >= PROFILE_DEPTH_MAX || tree.count >= CHAINS_MAX)
        return caller;
    chain = chain_tree_find(&tree, caller, site->return_address);
    if (chain == NULL)
        out_of_memory();
    site->last[at].caller = caller;
    site->last[at].chain = chain;
    return chain;
}

/* Returns the chain that the call leads to, or the caller's chain if there are too many. */
static inline struct call_chain *chain_of_call(const struct profiled_thread *thread,
                                               struct call_site *site, struct call_chain *caller)
{
    const uint32_t at = caller->id % SITE_CALLERS;

    return __builtin_expect(site->last[at].caller == caller, 1) ? site->last[at].chain
                                                                : find_chain(thread, site, caller);
}

static inline void follow_call(struct profiled_thread *thread, uint64_t slot,
                               struct call_site *site)
{
    struct call_chain *chain;

    call_stack_leave(&thread->stack, slot);
    chain = chain_of_call(thread, site, chain_of(thread));
    chain_tree_visit(&tree, chain);
    if (!call_stack_enter(&thread->stack, slot, chain))
        out_of_memory();
}

static inline void follow_return(struct profiled_thread *thread, uint64_t slot)
{
    call_stack_leave(&thread->stack, slot);
    chain_tree_visit(&tree, chain_of(thread));
}

static void called(unsigned index, qemu_plugin_meminfo_t info, uint64_t slot, void *site)
{
    if (!qemu_plugin_mem_is_store(info))
        return; /* it loaded the call's target */
    lock_if_shared();
    follow_call(&threads[index], slot, site);
    set_alone(&threads[index]);
    unlock_if_shared();
}

static void returned(unsigned index, qemu_plugin_meminfo_t info, uint64_t slot, void *unused)
{
    (void)info, (void)unused;
    lock_if_shared();
    follow_return(&threads[index], slot);
    set_alone(&threads[index]);
    unlock_if_shared();
}

/* Like set_alone(), as short as possible, while there is one thread. */
static inline void count_alone(const struct call_chain *chain)
{
    if (!threads[0].counts)
        return;
    profile_alone.cells = chain->cells;
    profile_alone.mask = chain->mask;
}

static void called_alone(unsigned index, qemu_plugin_meminfo_t info, uint64_t slot, void *site)
{
    (void)index, (void)info;
    follow_call(&threads[0], slot, site);
    count_alone(chain_of(&threads[0]));
}

static void returned_alone(unsigned index, qemu_plugin_meminfo_t info, uint64_t slot, void *unused)
{
    (void)index, (void)info, (void)unused;
    follow_return(&threads[0], slot);
    count_alone(chain_of(&threads[0]));
}

/* NULL if out of memory. */
static struct call_site *find_site(uint64_t return_address)
{
    struct pair *pair = pair_table_find(&sites, return_address, 0);
    struct call_site *site;

    if (pair == NULL || pair->value != 0)
        return pair == NULL ? NULL : (struct call_site *)(uintptr_t)pair->value;
    site = malloc(sizeof *site);
    if (site == NULL)
        return NULL;
    *site = (struct call_site){.return_address = return_address};
    pair->value = (uintptr_t)site;
    return site;
}

static struct call_site *site_of(const struct qemu_plugin_insn *insn)
{
    const uint64_t return_address = qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn);
    struct call_site *site;

    take_profile_lock();
    site = find_site(return_address);
    leave_profile_lock();
    if (site == NULL)
        out_of_memory();
    return site;
}

/* QEMU 7.2 reports loads as stores if a plugin asks for one kind only, so this asks for both. */
static void watch_memory(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t callback,
                         struct call_site *site)
{
    qemu_plugin_register_vcpu_mem_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     site);
}

/* Returns true if the call reads its target from memory. Other calls only store their return
 * address. */
static bool loads_target(const struct opcode *call)
{
    const bool relative = call->map == OPCODE_ONE_BYTE && call->byte == 0xe8;

    return !relative && opcode_names_memory(call);
}

/* This chooses the callbacks once per translation: QEMU translates all blocks again when the second
 * thread comes. */
void profile_watch(struct qemu_plugin_insn *insn, const struct opcode *opcode)
{
    if (!is_open)
        return;
    switch (kind_of(opcode).class) {
    case KIND_CALL:
        watch_memory(insn, shared || loads_target(opcode) ? called : called_alone, site_of(insn));
        break;
    case KIND_RETURN:
        watch_memory(insn, shared ? returned : returned_alone, NULL);
        break;
    default:
        break;
    }
}

/* ---- regions ---- */

static int64_t profile_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void profile_maps_change(void)
{
    maps_are_known = false;
}

void profile_sees_files(void)
{
    if (!writes_regions || maps_are_known)
        return;
    profile_regions_mapped();
    maps_are_known = true;
}

void profile_region_starts(unsigned thread)
{
    if (!writes_regions)
        return;
    profile_sees_files();
    threads[thread].began = profile_now();
    lock_if_shared();
    clear_tree();
    unlock_if_shared();
    set_counts(&threads[thread], true);
}

void profile_region_rests(unsigned thread, bool rests)
{
    if (threads[thread].began != 0)
        set_counts(&threads[thread], !rests);
}

void profile_region_ends(unsigned thread, uint64_t instructions)
{
    if (threads[thread].began == 0)
        return;
    set_counts(&threads[thread], false);
    lock_if_shared();
    profile_regions_write(&tree, threads[thread].began, profile_now(), instructions);
    clear_tree();
    unlock_if_shared();
    threads[thread].began = 0;
}

/* ---- writing ---- */

/* Clears the counts afterwards: if an execve fails, they must not be written twice. */
static void write_all(const struct guest_files *files)
{
    take_profile_lock();
    profile_text_append(profile_path, &tree, files);
    clear_tree();
    leave_profile_lock();
}

void profile_write(void)
{
    struct guest_files files;

    if (profile_path[0] == '\0')
        return;
    guest_files_read(&files);
    write_all(&files);
    guest_files_free(&files);
}

void profile_unmaps(uint64_t start, uint64_t size)
{
    struct guest_files files;

    if (profile_path[0] == '\0')
        return;
    guest_files_read(&files);
    if (guest_files_touch(&files, start, size))
        write_all(&files);
    guest_files_free(&files);
}
