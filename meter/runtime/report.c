/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meter/runtime/notes.h"
#include "meter/runtime/profile.h"
#include "meter/runtime/state.h"

/* The line of GASMETER_OUT. The process writes it at its end, possibly in a signal handler, so
 * without malloc() and stdio. */

/* A longer line is cut between two members of a list. */
#define LINE_MAX_BYTES 262144

/* Space for the end of the line and one long name. */
#define LINE_RESERVE 4096

#define REGIONS_MAX 4096

static char line[LINE_MAX_BYTES];
static size_t line_length;
static off_t line_start; /* offset of the line that report_take_back() blanks */
static uint64_t regions[REGIONS_MAX];
static atomic_size_t region_count;
static atomic_int reporting; /* the ID of the process that began to report */

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

bool report_wanted(void)
{
    return is_set("GASMETER_OUT") || is_set("GASMETER_PROFILE");
}

void report_region(uint64_t units)
{
    size_t index = atomic_fetch_add(&region_count, 1);

    if (index < REGIONS_MAX)
        regions[index] = units;
}

static void report_put(const char *text)
{
    const char *end = text + strlen(text);

    if ((size_t)(end - text) >= LINE_MAX_BYTES - line_length)
        return;
    while (text < end)
        line[line_length++] = *text++;
}

static void report_put_number(uint64_t number)
{
    char digits[24];
    char *digit = digits + sizeof digits;

    *--digit = '\0';
    do
        *--digit = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    report_put(digit);
}

static void put_line_byte(unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";
    char escaped[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15], '\0'};
    char plain[] = {(char)byte, '\0'};

    report_put(byte < ' ' || byte >= 0x7f || byte == '"' || byte == '\\' ? escaped : plain);
}

static void put_string(const char *text)
{
    report_put("\"");
    for (; *text; text++)
        put_line_byte((unsigned char)*text);
    report_put("\"");
}

static void put_member(const char *text, void *first)
{
    bool *is_first = first;

    if (line_length + strlen(text) * 6 + LINE_RESERVE > LINE_MAX_BYTES)
        return;
    if (!*is_first)
        report_put(",");
    *is_first = false;
    put_string(text);
}

/* Lists each version of the table once: a program with two tables has a count of neither. */
static void put_table(const char *text, void *before)
{
    const char **last = before;

    if (*last && strcmp(*last, text) == 0)
        return;
    report_put(*last ? "+" : "");
    report_put(text);
    *last = text;
}

static void put_regions(void)
{
    size_t count = atomic_load(&region_count);

    report_put(",\"regions\":[");
    for (size_t i = 0; i < count && i < REGIONS_MAX && line_length < LINE_MAX_BYTES / 2; i++) {
        report_put(i > 0 ? "," : "");
        report_put_number(regions[i]);
    }
    report_put("],\"regionCount\":");
    report_put_number(count);
}

static void put_notes(void)
{
    const char *table = NULL;
    bool first = true;

    report_put(",\"costTable\":\"");
    notes_each('T', put_table, &table);
    report_put("\",\"unsure\":[");
    notes_each('X', put_member, &first);
    report_put("],\"uncounted\":[");
    first = true;
    notes_uncounted(put_member, &first);
    report_put("]");
}

static void make_line(uint64_t cost, const char *how, int number)
{
    report_put("{\"cost\":");
    report_put_number(cost);
    report_put(",\"ended\":\"");
    report_put(how);
    report_put(strcmp(how, "signal") == 0 ? "\",\"signal\":" : "\",\"status\":");
    report_put_number((uint64_t)(unsigned)number);
    report_put(",\"pid\":");
    report_put_number((uint64_t)getpid());
    report_put(",\"program\":");
    put_string(program_invocation_short_name);
    put_regions();
    put_notes();
    report_put("}\n");
}

static void report_line_failure(void)
{
    static const char words[] = "gasmeter: GASMETER_OUT cannot be written\n";

    (void)!write(STDERR_FILENO, words, sizeof words - 1);
}

static int open_file(int flags)
{
    const char *path = getenv("GASMETER_OUT");

    return path != NULL ? open(path, O_WRONLY | O_CLOEXEC | flags, 0666) : -1;
}

/* One write, so that lines of several processes do not mix. */
static void append_line(void)
{
    int fd = open_file(O_APPEND | O_CREAT);
    size_t written = 0;

    while (fd >= 0 && written < line_length) {
        ssize_t some = write(fd, line + written, line_length - written);

        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            break;
        written += (size_t)some;
    }
    line_start = fd >= 0 ? lseek(fd, 0, SEEK_CUR) - (off_t)written : 0;
    if (fd < 0 || written < line_length || close(fd))
        report_line_failure();
}

/* Takes the count first: the functions called here may be metered. */
void report_write(const char *how, int number)
{
    const uint64_t cost = count_of_process();
    int nobody = atomic_load(&reporting);
    int saved = errno;

    if (!report_wanted() || nobody == getpid() ||
        !atomic_compare_exchange_strong(&reporting, &nobody, getpid()))
        return;
    if (is_set("GASMETER_OUT")) {
        line_length = 0;
        make_line(cost, how, number);
        append_line();
    }
    profile_write(cost);
    errno = saved;
}

static bool is_regular_file(void)
{
    const char *path = getenv("GASMETER_OUT");
    struct stat file;

    return path != NULL && (stat(path, &file) == 0 ? S_ISREG(file.st_mode) : errno == ENOENT);
}

bool report_before_exec(void)
{
    const uint64_t cost = count_of_process();
    int nobody = atomic_load(&reporting);
    int saved = errno;

    if (!is_set("GASMETER_OUT") || !is_regular_file() || nobody == getpid() ||
        !atomic_compare_exchange_strong(&reporting, &nobody, getpid()))
        return false;
    line_length = 0;
    make_line(cost, "exec", 0);
    append_line();
    errno = saved;
    return true;
}

void report_take_back(void)
{
    int saved = errno, fd = open_file(0);

    memset(line, ' ', line_length - 1);
    if (fd < 0 || pwrite(fd, line, line_length - 1, line_start) != (ssize_t)line_length - 1 ||
        close(fd))
        report_line_failure();
    atomic_store(&reporting, 0);
    errno = saved;
}
