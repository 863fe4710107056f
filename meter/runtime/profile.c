/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/runtime/profile.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "meter/runtime/profile_tree.h"

/* Chains beyond these are added to the caller's. Memory is taken as they come. */
#define NODES_MAX (1U << 22)

/* Calls deeper than this stand beside their caller, so that recursion does not use up the tree. */
#define DEPTH_MAX 256

static struct profile_node root;
static _Atomic(struct profile_node *) nodes;
static atomic_uint node_count;
static atomic_uint_least64_t function_count;
static _Atomic(struct profile_line *) lines;
static _Thread_local struct profile_node *caller;
static atomic_bool by_regions; /* nothing counts outside of them */
static atomic_bool process_in_region;
static _Thread_local bool in_region;

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

static bool counts(void)
{
    return !atomic_load_explicit(&by_regions, memory_order_relaxed) || in_region ||
           atomic_load_explicit(&process_in_region, memory_order_relaxed);
}

/* Without a lock, which would take half of the time: for what one thread alone adds to. */
static void add_alone(_Atomic uint64_t *sum, uint64_t more)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static void add_to(_Atomic uint64_t *sum, uint64_t more)
{
    if (in_region) /* then nobody else counts */
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

void profile_count_regions(void)
{
    atomic_store(&by_regions, true);
}

void profile_enter_region(bool of_process, bool entered)
{
    if (of_process)
        atomic_store(&process_in_region, entered);
    else
        in_region = entered;
}

/* ---- for who writes it ---- */

struct profile_node *profile_nodes(unsigned *count)
{
    *count = atomic_load(&node_count);
    return atomic_load(&nodes);
}

unsigned profile_number_of_node(const struct profile_node *node)
{
    return node == &root ? 0 : (unsigned)(node - atomic_load(&nodes)) + 1;
}

struct profile_line *profile_first_line(void)
{
    return atomic_load(&lines);
}

struct profile_line *profile_line_behind(struct profile_line *line)
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
    for (struct profile_line *line = atomic_load(&lines); line; line = profile_line_behind(line))
        line->units = 0;
}
