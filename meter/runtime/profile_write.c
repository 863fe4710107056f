/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "meter/runtime/profile.h"
#include "meter/runtime/profile_tree.h"

/* In a function's number: it has been written. */
#define FUNCTION_TOLD (UINT64_C(1) << 63)

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

/* ---- the tree --------------------------------------------------------------------- */

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

/* What was counted, and who called it. Nodes come behind their parents in memory. */
static void mark_nodes(struct profile_node *all, unsigned count)
{
    for (unsigned i = count; i-- > 0;) {
        if (atomic_load(&all[i].calls) > 0 || atomic_load(&all[i].units) > 0)
            all[i].told = true;
        if (all[i].told)
            all[i].parent->told = true;
    }
}

static void put_nodes(struct profile_node *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct profile_node *node = &all[i];

        if (!node->told)
            continue;
        put_function(node->function);
        profile_put_text("stack ");
        profile_put_number(profile_number_of_node(node), ' ');
        profile_put_number(profile_number_of_node(node->parent), ' ');
        profile_put_number(profile_number_of(node->function), ' ');
        profile_put_number(atomic_load(&node->calls), ' ');
        profile_put_number(atomic_load(&node->units), '\n');
    }
}

static void put_lines(void)
{
    for (struct profile_line *line = profile_first_line(); line; line = profile_line_behind(line)) {
        if (profile_number_of(line->function) == 0 || line->units == 0)
            continue;
        put_function(line->function);
        profile_put_text("line ");
        profile_put_number(profile_number_of(line->function), ' ');
        profile_put_number(line->line, ' ');
        profile_put_number(line->units, ' ');
        put_word(line->file, '\n');
    }
}

static void forget_told(struct profile_node *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        all[i].told = false;
        all[i].function->number &= ~FUNCTION_TOLD;
    }
    for (struct profile_line *line = profile_first_line(); line; line = profile_line_behind(line))
        line->function->number &= ~FUNCTION_TOLD;
}

static void put_tree(void)
{
    unsigned count;
    struct profile_node *const all = profile_nodes(&count);

    mark_nodes(all, count);
    put_nodes(all, count);
    put_lines();
    forget_told(all, count);
}

/* ---- of a process ------------------------------------------------------------------- */

static void tell_failure(const char *name)
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
    /* Processes that end at the same time write one after the other. */
    if (!out.failed && flock(out.fd, LOCK_EX)) {
        /* A file that cannot be locked is written all the same. */
    }
    profile_put_text("process ");
    profile_put_number(cost, ' ');
    put_word(program_invocation_short_name, '\n');
    put_tree();
    put_out();
    if (out.failed || close(out.fd))
        tell_failure("GASMETER_PROFILE");
}

/* ---- of a region --------------------------------------------------------------------- */

/* The descriptor that GASMETER_REGIONS names; -1: none. */
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
    put_word(program_invocation_short_name, '\n');
    put_tree();
    profile_put_text("end\n");
    put_out();
    if (out.failed)
        tell_failure("GASMETER_REGIONS");
}
