/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/reporter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter/qemu/guest/address_space.h"

void region_start(struct region *region, struct tally now, uint64_t limit)
{
    *region = (struct region){.state = REGION_RUNNING, .entered = now, .limit = limit};
}

static void region_leave(struct region *region, struct tally now)
{
    region->kept = tally_sum(region->kept, tally_difference(now, region->entered));
}

void region_stop(struct region *region, struct tally now)
{
    if (region->state == REGION_RUNNING)
        region_leave(region, now);
    region->state = REGION_CLOSED;
}

void region_pause(struct region *region, struct tally now)
{
    if (region->state != REGION_RUNNING)
        return;
    region_leave(region, now);
    region->state = REGION_PAUSED;
}

void region_resume(struct region *region, struct tally now)
{
    if (region->state != REGION_PAUSED)
        return;
    region->entered = now;
    region->state = REGION_RUNNING;
}

void region_note_call(struct region *region, int64_t number)
{
    if (region->state == REGION_RUNNING)
        region->calls[report_call(number)]++;
}

struct tally region_tally(const struct region *region, struct tally now)
{
    if (region->state != REGION_RUNNING)
        return region->kept;
    return tally_sum(region->kept, tally_difference(now, region->entered));
}

bool region_over_limit(const struct region *region, struct tally now)
{
    return region->limit > 0 && region_tally(region, now).instructions > region->limit;
}

static char report_path[PATH_MAX];
static struct report *report;
static struct report_process *record;
static char program_name[REPORT_NAME_SIZE];

/* The record if there is no report file or too many processes. */
static union {
    struct report_process process;
    char page[REPORT_PAGE];
} private_record __attribute__((aligned(REPORT_PAGE)));

#define ADD(field, number) __atomic_fetch_add(&(field), number, __ATOMIC_RELAXED)

/* Maps the record with that index, replacing the previous mapping. */
static bool map_record(int fd, uint32_t index)
{
    off_t offset = (off_t)(REPORT_HEAD_SIZE + (size_t)index * REPORT_PAGE);
    int flags = record == NULL ? MAP_SHARED : MAP_SHARED | MAP_FIXED;
    void *mapped = mmap(record, REPORT_PAGE, PROT_READ | PROT_WRITE, flags, fd, offset);

    if (mapped == MAP_FAILED)
        return false;
    record = mapped;
    return true;
}

/* Reads the program's argv[0], which follows "-0" in QEMU's own command line. */
static void read_program_name(void)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *word = NULL;
    size_t capacity = 0;
    bool found = false;

    while (file != NULL && getdelim(&word, &capacity, '\0', file) > 0) {
        const char *slash = strrchr(word, '/');

        if (found) {
            snprintf(program_name, sizeof program_name, "%s", slash != NULL ? slash + 1 : word);
            break;
        }
        found = strcmp(word, "-0") == 0;
    }
    free(word);
    if (file != NULL)
        fclose(file);
}

static void fill_record(void)
{
    memcpy(record->program, program_name, sizeof record->program);
    record->pid = getpid();
    record->parent = getppid();
}

static uint64_t completed(const struct report_process *process)
{
    return report_instructions(process) + process->inherited;
}

/* The child's translated code adds to the same addresses, so this maps another record there. Its
 * numbers start from the parent's, because open regions are differences of them. */
static void reporter_in_child(void)
{
    static struct report_process before;
    int fd = open(report_path, O_RDWR | O_CLOEXEC);
    uint32_t index = ADD(report->processes, 1);

    before = *record;
    if (fd < 0 || index >= REPORT_PROCESSES_MAX || !map_record(fd, index)) {
        /* On failure, a private page keeps the child's counts out of the parent's record. */
        void *page = mmap(record, REPORT_PAGE, PROT_READ | PROT_WRITE,
                          /* cppcheck-suppress invalidFunctionArg */
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

        if (page == MAP_FAILED)
            abort();
        ADD(report->processes, REPORT_PROCESSES_MAX);
    }
    if (fd >= 0)
        close(fd);
    memcpy(record->words, before.words, sizeof record->words);
    memcpy(record->kind_words, before.kind_words, sizeof record->kind_words);
    memcpy(record->kinds, before.kinds, sizeof record->kinds);
    record->begun = before.begun;
    record->faults = before.faults;
    record->precision = before.precision;
    record->inherited = completed(record);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        record->kinds_inherited[kind] = record->kind_words[kind] + record->kinds[kind];
    fill_record();
}

bool reporter_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint32_t index;

    if (fd < 0 || strlen(path) >= sizeof report_path)
        goto failed;
    memcpy(report_path, path, strlen(path) + 1);
    report = mmap(NULL, REPORT_HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (report == MAP_FAILED)
        goto failed;
    if (report->version != REPORT_VERSION) {
        errno = EPROTO;
        goto failed;
    }
    index = ADD(report->processes, 1);
    if (index < REPORT_PROCESSES_MAX && !map_record(fd, index))
        goto failed;
    if (record == NULL)
        record = &private_record.process;
    close(fd);
    read_program_name();
    fill_record();
    pthread_atfork(NULL, NULL, reporter_in_child);
    return true;
failed:
    fprintf(stderr, "gascount: cannot report to %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    report = NULL;
    return false;
}

uint64_t *reporter_words(void)
{
    return record != NULL ? record->words : private_record.process.words;
}

uint64_t *reporter_kind_words(void)
{
    return record != NULL ? record->kind_words : private_record.process.kind_words;
}

void reporter_add(struct tally done)
{
    if (report == NULL)
        return;
    ADD(record->begun, done.instructions + done.faults);
    ADD(record->faults, done.faults);
    ADD(record->bytes_read, done.bytes_read);
    ADD(record->bytes_written, done.bytes_written);
    ADD(record->syscalls, done.syscalls);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (done.kinds[kind] != 0)
            ADD(record->kinds[kind], done.kinds[kind]);
}

void reporter_syscall(int64_t number)
{
    if (report != NULL)
        ADD(record->by_number[report_call(number)], 1);
}

void reporter_region(unsigned thread, struct tally tally, const uint64_t *calls)
{
    uint32_t index;

    if (report == NULL)
        return;
    index = ADD(report->regions, 1);
    if (index >= REPORT_REGIONS_MAX)
        return;
    report->region[index] = (struct report_region){
        .pid = getpid(),
        .thread = thread,
        .instructions = tally.instructions,
        .faults = tally.faults,
        .bytes_read = tally.bytes_read,
        .bytes_written = tally.bytes_written,
        .syscalls = tally.syscalls,
    };
    memcpy(report->region[index].kinds, tally.kinds, sizeof tally.kinds);
    memcpy(report->region[index].by_number, calls, sizeof report->region[index].by_number);
}

void reporter_precision(enum gasmark_precision precision)
{
    if (report != NULL)
        record->precision = precision;
}

void reporter_over_limit(void)
{
    if (report != NULL)
        record->over_limit = 1;
}

static void add_object(const char *path)
{
    uint32_t size = (uint32_t)strlen(path) + 1;
    uint32_t at = ADD(report->objects, size);

    if (at + size <= REPORT_OBJECTS_SIZE)
        memcpy(report->object + at, path, size);
}

void reporter_object(int fd)
{
    char link[64], path[PATH_MAX];
    ssize_t length;

    if (report == NULL)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    add_object(path);
}

void reporter_loaded_objects(void)
{
    FILE *maps = report != NULL ? fopen("/proc/self/maps", "re") : NULL;
    char line[PATH_MAX + 100], last[PATH_MAX] = "";

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start = strtoul(line, NULL, 16);
        char *path = strchr(line, '/');

        if (path == NULL || start >= GUEST_MEMORY_END)
            continue;
        path[strcspn(path, "\n")] = '\0';
        if (strcmp(path, last) != 0)
            add_object(path);
        snprintf(last, sizeof last, "%s", path);
    }
    if (maps != NULL)
        fclose(maps);
}
