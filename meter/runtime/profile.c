/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/runtime/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Chains beyond these are added to the caller's. Memory is taken as they come. */
#define NODES_MAX (1U << 22)

/* Calls deeper than this stand beside their caller, so that recursion does not use up the tree. */
#define DEPTH_MAX 256

/* In a function's number: it has been written. */
#define FUNCTION_TOLD (UINT64_C(1) << 63)

struct profile_node {
    struct profile_function *function;
    struct profile_node *parent;
    _Atomic(struct profile_node *) child; /* the last one made */
    struct profile_node *sibling;         /* the one made before this */
    atomic_uint_least64_t units;
    atomic_uint_least64_t calls;
    uint64_t depth;
};

static struct profile_node root;
static _Atomic(struct profile_node *) nodes;
static atomic_uint node_count;
static atomic_uint_least64_t function_count;
static _Atomic(struct profile_line *) lines;
static _Thread_local struct profile_node *caller;

/* ---- the tree --------------------------------------------------------------------- */

/* NULL: there is no memory for it. */
static struct profile_node *all_nodes(void)
{
    struct profile_node *present = atomic_load(&nodes);
    const size_t size = NODES_MAX * sizeof *present;
    struct profile_node *made;

    if (present)
        return present;
    /* mmap() might be metered. */
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

/* Two threads may make the same one; whoever reads the profile adds them up. */
static struct profile_node *add_child(struct profile_node *parent,
                                      struct profile_function *function)
{
    struct profile_node *room = all_nodes();
    unsigned index = atomic_load(&node_count);
    struct profile_node *made;

    if (!room)
        return parent;
    do {
        if (index >= NODES_MAX)
            return parent;
    } while (!atomic_compare_exchange_weak(&node_count, &index, index + 1));
    number_function(function);
    made = &room[index];
    made->function = function;
    made->parent = parent;
    made->depth = parent->depth + 1;
    made->sibling = atomic_load(&parent->child);
    while (!atomic_compare_exchange_weak(&parent->child, &made->sibling, made))
        ;
    return made;
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
    atomic_fetch_add_explicit(&node->calls, 1, memory_order_relaxed);
    caller = node;
    return node;
}

static void keep_line(struct profile_line *line)
{
    struct profile_line *unkept = NULL;

    /* The end of the list points to itself, so that a kept line has a next one. */
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
    atomic_fetch_add_explicit(&node->units, units, memory_order_relaxed);
    __atomic_fetch_add(&line->units, units, __ATOMIC_RELAXED);
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

static struct profile_line *line_behind(struct profile_line *line)
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
    for (struct profile_line *line = atomic_load(&lines); line; line = line_behind(line))
        line->units = 0;
}

/* ---- writing it ---------------------------------------------------------------------- */

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

static void put_byte(char byte)
{
    if (out.length == sizeof out.bytes)
        put_out();
    out.bytes[out.length++] = byte;
}

static void profile_put_text(const char *text)
{
    for (; *text; text++)
        put_byte(*text);
}

static void profile_put_number(uint64_t number, char end)
{
    char digits[24];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (at < sizeof digits)
        put_byte(digits[at++]);
    put_byte(end);
}

static void put_word(const char *word, char end)
{
    for (word = word ? word : "-"; *word; word++)
        put_byte(*word > ' ' && *word < 0x7f ? *word : '?');
    put_byte(end);
}

static uint64_t profile_number_of(const struct profile_function *function)
{
    return function->number & ~FUNCTION_TOLD;
}

static void put_function(struct profile_function *function)
{
    if (function->number & FUNCTION_TOLD)
        return;
    profile_put_text("function ");
    profile_put_number(function->number, ' ');
    function->number |= FUNCTION_TOLD;
    profile_put_number(function->line, ' ');
    put_word(function->name, ' ');
    put_word(function->file, '\n');
}

/* Nodes come behind their parents in memory, and behind those that first called a function. */
static void put_nodes(void)
{
    const struct profile_node *all = atomic_load(&nodes);
    for (unsigned i = 0; i < atomic_load(&node_count); i++) {
        const struct profile_node *node = &all[i];

        put_function(node->function);
        profile_put_text("stack ");
        profile_put_number(i + 1, ' ');
        profile_put_number(node->parent == &root ? 0 : (uint64_t)(node->parent - all) + 1, ' ');
        profile_put_number(profile_number_of(node->function), ' ');
        profile_put_number(atomic_load(&node->calls), ' ');
        profile_put_number(atomic_load(&node->units), '\n');
    }
}

static void put_lines(void)
{
    for (struct profile_line *line = atomic_load(&lines); line; line = line_behind(line)) {
        if (profile_number_of(line->function) == 0 || line->units == 0)
            continue;
        profile_put_text("line ");
        profile_put_number(profile_number_of(line->function), ' ');
        profile_put_number(line->line, ' ');
        profile_put_number(line->units, ' ');
        put_word(line->file, '\n');
    }
}

void profile_write(uint64_t cost)
{
    const char *path = getenv("GASMETER_PROFILE");

    if (!path || !*path)
        return;
    out.fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    out.failed = out.fd < 0;
    /* Processes that end at the same time write one after the other. */
    if (!out.failed && flock(out.fd, LOCK_EX)) {
        /* A file that cannot be locked is written all the same. */
    }
    profile_put_text("process ");
    profile_put_number(cost, ' ');
    put_word(program_invocation_short_name, '\n');
    put_nodes();
    put_lines();
    put_out();
    if (out.failed || close(out.fd)) {
        static const char words[] = "gasmeter: GASMETER_PROFILE cannot be written\n";

        (void)!write(STDERR_FILENO, words, sizeof words - 1);
    }
}
