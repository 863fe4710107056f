/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/runtime/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- counting ---- */

/* The call tree; other files only see pointers. */

struct profile_node {
    struct profile_function *function;
    struct profile_node *parent;
    _Atomic(struct profile_node *) child; /* the newest */
    struct profile_node *sibling;         /* the next older one */
    _Atomic uint64_t units;
    _Atomic uint64_t calls;
    uint32_t depth;
    bool is_written; /* it is in the current output */
};

/* Call chains beyond these count for the caller's. Memory is allocated on first use. */
#define NODES_MAX (1U << 22)

/* Deeper calls are siblings of their caller, so that recursion does not fill the tree. */
#define DEPTH_MAX 256

static struct profile_node root;
static _Atomic(struct profile_node *) nodes;
static atomic_uint node_count;
static atomic_uint_least64_t function_count;
static _Atomic(struct profile_line *) lines;
static _Thread_local struct profile_node *caller;
static atomic_bool by_regions; /* code outside of regions does not count */
static atomic_bool process_in_region;
static _Thread_local bool in_region;

/* ---- the tree --------------------------------------------------------------------- */

/* NULL if out of memory. */
static struct profile_node *all_nodes(void)
{
    struct profile_node *present = atomic_load(&nodes);
    const size_t size = NODES_MAX * sizeof *present;
    struct profile_node *made;

    if (present)
        return present;
    /* Not mmap(): it might be metered. */
    made = (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (atomic_compare_exchange_strong(&nodes, &present, made))
        return made;
    (void)syscall(SYS_munmap, made, size);
    return present;
}

static struct profile_node *find_child(struct profile_node *parent,
                                       const struct profile_function *function)
{
    for (struct profile_node *child = atomic_load(&parent->child); child; child = child->sibling)
        if (child->function == function)
            return child;
    return NULL;
}

static void number_function(struct profile_function *function)
{
    uint64_t none = 0;

    if (__atomic_load_n(&function->number, __ATOMIC_RELAXED) == 0)
        __atomic_compare_exchange_n(&function->number, &none,
                                    atomic_fetch_add(&function_count, 1) + 1, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Two threads may create the same child; readers of the profile add them up. */
static struct profile_node *add_child(struct profile_node *parent,
                                      struct profile_function *function)
{
    struct profile_node *tree = all_nodes();
    unsigned index = atomic_load(&node_count);
    struct profile_node *made;

    if (!tree)
        return parent;
    do {
        if (index >= NODES_MAX)
            return parent;
    } while (!atomic_compare_exchange_weak(&node_count, &index, index + 1));
    number_function(function);
    made = &tree[index];
    made->function = function;
    made->parent = parent;
    made->depth = parent->depth + 1;
    made->sibling = atomic_load(&parent->child);
    while (!atomic_compare_exchange_weak(&parent->child, &made->sibling, made))
        ;
    return made;
}

static bool counts(void)
{
    return !atomic_load_explicit(&by_regions, memory_order_relaxed) || in_region ||
           atomic_load_explicit(&process_in_region, memory_order_relaxed);
}

/* Without an atomic addition, which would take half of the time: only one thread adds. */
static void add_alone(_Atomic uint64_t *sum, uint64_t more)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static void add_to(_Atomic uint64_t *sum, uint64_t more)
{
    if (in_region) /* other threads do not count then */
        add_alone(sum, more);
    else if (counts())
        atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

struct profile_node *gasmeter_profile_enter(struct profile_function *function)
{
    struct profile_node *parent = caller ? caller : &root;
    struct profile_node *node;

    while (parent->depth >= DEPTH_MAX)
        parent = parent->parent;
    node = find_child(parent, function);
    if (!node)
        node = add_child(parent, function);
    add_to(&node->calls, 1);
    caller = node;
    return node;
}

static void keep_line(struct profile_line *line)
{
    struct profile_line *unkept = NULL;

    /* The last line points to itself, so that every listed line has a next one. */
    if (!__atomic_compare_exchange_n(&line->next, &unkept, line, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    unkept = atomic_load(&lines);
    do
        __atomic_store_n(&line->next, unkept ? unkept : line, __ATOMIC_RELEASE);
    while (!atomic_compare_exchange_weak(&lines, &unkept, line));
}

void gasmeter_profile_add(struct profile_node *node, struct profile_line *line, uint64_t units)
{
    if (in_region) {
        add_alone(&node->units, units);
        add_alone(&line->units, units);
    } else if (counts()) {
        atomic_fetch_add_explicit(&node->units, units, memory_order_relaxed);
        atomic_fetch_add_explicit(&line->units, units, memory_order_relaxed);
    } else {
        return;
    }
    if (!__atomic_load_n(&line->next, __ATOMIC_RELAXED))
        keep_line(line);
}

void gasmeter_profile_call(struct profile_node *node)
{
    caller = node;
}

void gasmeter_profile_return(struct profile_node *node)
{
    caller = node->parent;
}

struct profile_node *profile_caller(void)
{
    return caller;
}

void profile_set_caller(struct profile_node *before)
{
    caller = before;
}

void gasmeter_profile_forget(void)
{
    struct profile_node *const all = atomic_load(&nodes);
    const unsigned count = atomic_load(&node_count);

    for (unsigned i = 0; i < count; i++)
        all[i] = (struct profile_node){0};
    atomic_store(&node_count, 0);
    atomic_store(&function_count, 0);
    atomic_store(&root.child, NULL);
    atomic_store(&lines, NULL);
    caller = NULL;
}

/* From this call on, only code in a region counts, of this thread or of all. */
static void profile_count_regions(void)
{
    atomic_store(&by_regions, true);
}

static void profile_enter_region(bool of_process, bool entered)
{
    if (of_process)
        atomic_store(&process_in_region, entered);
    else
        in_region = entered;
}

/* ---- reading the tree ---- */

/* Returns the first of all nodes and their number. They are an array in which parents come
 * first. */
static struct profile_node *profile_nodes(unsigned *count)
{
    *count = atomic_load(&node_count);
    return atomic_load(&nodes);
}

/* Starts at 1; 0: no node. */
static unsigned profile_number_of_node(const struct profile_node *node)
{
    return node == &root ? 0 : (unsigned)(node - atomic_load(&nodes)) + 1;
}

/* Returns the first line with units; NULL if none. */
static struct profile_line *profile_first_line(void)
{
    return atomic_load(&lines);
}

static struct profile_line *profile_line_after(struct profile_line *line)
{
    return line->next == line ? NULL : line->next;
}

void profile_restart(void)
{
    struct profile_node *all = atomic_load(&nodes);

    for (unsigned i = 0; i < atomic_load(&node_count); i++) {
        atomic_store(&all[i].units, 0);
        atomic_store(&all[i].calls, 0);
    }
    for (struct profile_line *line = atomic_load(&lines); line; line = profile_line_after(line))
        line->units = 0;
}

/* ---- writing ---- */

/* A flag in a function's number: it was written. */
#define FUNCTION_WRITTEN (UINT64_C(1) << 63)

/* ---- the file --------------------------------------------------------------------- */

static struct {
    char bytes[4096];
    size_t length;
    int fd;
    bool failed;
} out;

static void put_out(void)
{
    size_t written = 0;

    while (!out.failed && written < out.length) {
        ssize_t some = write(out.fd, out.bytes + written, out.length - written);

        if (some > 0)
            written += (size_t)some;
        else if (some == 0 || errno != EINTR)
            out.failed = true;
    }
    out.length = 0;
}

static void put_profile_byte(char byte)
{
    if (out.length == sizeof out.bytes)
        put_out();
    out.bytes[out.length++] = byte;
}

static void profile_put_text(const char *text)
{
    for (; *text; text++)
        put_profile_byte(*text);
}

static void profile_put_number(uint64_t number, char end)
{
    char digits[24];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (at < sizeof digits)
        put_profile_byte(digits[at++]);
    put_profile_byte(end);
}

static void put_profile_word(const char *word, char end)
{
    for (word = word ? word : "-"; *word; word++)
        put_profile_byte(*word > ' ' && *word < 0x7f ? *word : '?');
    put_profile_byte(end);
}

/* ---- the tree --------------------------------------------------------------------- */

static uint64_t profile_number_of(const struct profile_function *function)
{
    return function->number & ~FUNCTION_WRITTEN;
}

static void put_profile_function(struct profile_function *function)
{
    if (function->number & FUNCTION_WRITTEN)
        return;
    profile_put_text("function ");
    profile_put_number(function->number, ' ');
    function->number |= FUNCTION_WRITTEN;
    profile_put_number(function->line, ' ');
    put_profile_word(function->name, ' ');
    put_profile_word(function->file, '\n');
}

/* Marks nodes with counts and their callers. Parents come first in the array. */
static void mark_nodes(struct profile_node *all, unsigned count)
{
    for (unsigned i = count; i-- > 0;) {
        if (atomic_load(&all[i].calls) > 0 || atomic_load(&all[i].units) > 0)
            all[i].is_written = true;
        if (all[i].is_written)
            all[i].parent->is_written = true;
    }
}

static void put_profile_nodes(struct profile_node *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct profile_node *node = &all[i];

        if (!node->is_written)
            continue;
        put_profile_function(node->function);
        profile_put_text("stack ");
        profile_put_number(profile_number_of_node(node), ' ');
        profile_put_number(profile_number_of_node(node->parent), ' ');
        profile_put_number(profile_number_of(node->function), ' ');
        profile_put_number(atomic_load(&node->calls), ' ');
        profile_put_number(atomic_load(&node->units), '\n');
    }
}

static void put_profile_lines(void)
{
    for (struct profile_line *line = profile_first_line(); line; line = profile_line_after(line)) {
        if (profile_number_of(line->function) == 0 || line->units == 0)
            continue;
        put_profile_function(line->function);
        profile_put_text("line ");
        profile_put_number(profile_number_of(line->function), ' ');
        profile_put_number(line->line, ' ');
        profile_put_number(line->units, ' ');
        put_profile_word(line->file, '\n');
    }
}

static void clear_written_marks(struct profile_node *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        all[i].is_written = false;
        all[i].function->number &= ~FUNCTION_WRITTEN;
    }
    for (struct profile_line *line = profile_first_line(); line; line = profile_line_after(line))
        line->function->number &= ~FUNCTION_WRITTEN;
}

static void put_tree(void)
{
    unsigned count;
    struct profile_node *const all = profile_nodes(&count);

    mark_nodes(all, count);
    put_profile_nodes(all, count);
    put_profile_lines();
    clear_written_marks(all, count);
}

/* ---- the profile of a process
 * ------------------------------------------------------------------- */

static void report_profile_failure(const char *name)
{
    static const char words[] = " cannot be written\n";

    (void)!write(STDERR_FILENO, "gasmeter: ", 10);
    (void)!write(STDERR_FILENO, name, strlen(name));
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
}

void profile_write(uint64_t cost)
{
    const char *path = getenv("GASMETER_PROFILE");

    if (!path || !*path)
        return;
    out.fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    out.failed = out.fd < 0;
    /* Processes that end at the same time write one after another. */
    if (!out.failed && flock(out.fd, LOCK_EX)) {
        /* a file that cannot be locked is written without a lock */
    }
    profile_put_text("process ");
    profile_put_number(cost, ' ');
    put_profile_word(program_invocation_short_name, '\n');
    put_tree();
    put_out();
    if (out.failed || close(out.fd))
        report_profile_failure("GASMETER_PROFILE");
}

/* ---- the profile of a region
 * --------------------------------------------------------------------- */

/* Returns the descriptor that GASMETER_REGIONS names; -1 if none. */
static int regions_fd(void)
{
    enum { NOT_LOOKED = -2 };
    static atomic_int known = NOT_LOOKED;
    int fd = atomic_load(&known);
    const char *text;
    char *end = NULL;

    if (fd != NOT_LOOKED)
        return fd;
    text = getenv("GASMETER_REGIONS");
    fd = text && *text ? (int)strtol(text, &end, 10) : -1;
    if (fd < 0 || *end)
        fd = -1;
    atomic_store(&known, fd);
    return fd;
}

static uint64_t moment(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t region_began;

void profile_region_start(bool of_process)
{
    if (regions_fd() < 0)
        return;
    region_began = moment();
    profile_count_regions();
    profile_restart();
    profile_enter_region(of_process, true);
}

void profile_region_pause(bool of_process)
{
    profile_enter_region(of_process, false);
}

void profile_region_resume(bool of_process)
{
    if (regions_fd() >= 0)
        profile_enter_region(of_process, true);
}

void profile_region_stop(bool of_process, uint64_t cost)
{
    uint64_t ended;

    profile_enter_region(of_process, false);
    if (regions_fd() < 0)
        return;
    ended = moment();
    out.fd = regions_fd();
    out.failed = false;
    profile_put_text("region ");
    profile_put_number(region_began, ' ');
    profile_put_number(ended, ' ');
    profile_put_number(cost, ' ');
    profile_put_number((uint64_t)getpid(), ' ');
    put_profile_word(program_invocation_short_name, '\n');
    put_tree();
    profile_put_text("end\n");
    put_out();
    if (out.failed)
        report_profile_failure("GASMETER_REGIONS");
}
