/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what gasmark.h promises of the marks besides the count itself.
 *
 *     counter_marks CHECK [NUMBER]
 *
 * Prints what it finds; the test that runs it judges.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter/gasmark.h"

static volatile unsigned sink;

static void work(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        sink += i;
}

static uint64_t counted(unsigned rounds)
{
    gasmark_start();
    work(rounds);
    return gasmark_stop();
}

static void present(void)
{
    printf("present %d\n", gasmark_present());
}

/* The same region through each way of naming the descriptors. */
static void descriptors(void)
{
    static const long starts[] = {0xcafebabeL, (int)0xcafebabe, 0x0afebabeL};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        uint64_t count = 0;

        syscall(SYS_read, starts[i], &count, 1);
        syscall(SYS_read, starts[i] + 1, &count, 8);
        printf("%d\n", count > 0 && count < 100);
    }
}

static void answers(void)
{
    uint64_t first = counted(1000), again = counted(1000), more = counted(1001);

    printf("same %d\n", first == again);
    printf("more %d\n", more > first);
    gasmark_start();
    work(10);
    gasmark_pause();
    work(100000);
    gasmark_resume();
    printf("peek %d\n", gasmark_peek() < 1000);
    printf("stop after pause %d\n", gasmark_stop() < 5000);
    first = gasmark_stop();
    again = gasmark_stop();
    printf("closed %d\n", first == again);
}

static void transfers(void)
{
    char bytes[100];
    int ends[2];

    if (pipe(ends) < 0)
        abort();
    gasmark_start();
    if (write(ends[1], bytes, 70) < 0 || read(ends[0], bytes, 50) < 0 ||
        read(ends[1], bytes, 9) >= 0)
        abort();
    gasmark_stop();
    printf("written %" PRIu64 " read %" PRIu64 " syscalls %" PRIu64 "\n", gasmark_bytes_written(),
           gasmark_bytes_read(), gasmark_syscalls());
}

/* None of these may harm anyone. */
static void bad_pointers(void)
{
    static char page[4096] __attribute__((aligned(4096)));
    char small[3] = {1, 2, 3};
    void *readonly = page;

    if (mprotect(page, sizeof page, PROT_READ) < 0)
        abort();

    gasmark_start();
    gasmark_call(GASMARK_STOP, NULL, 8);
    gasmark_call(GASMARK_STOP, (void *)(uintptr_t)0x1234567890abcdefUL, 8);
    gasmark_call(GASMARK_STOP, readonly, 8);
    gasmark_call(GASMARK_LIMIT, NULL, 8);
    gasmark_call(GASMARK_HELLO, readonly, 16);
    gasmark_call(GASMARK_PEEK, small, sizeof small);
    printf("alive %d%d%d\n", small[0], small[1], small[2]);
}

/* The page of the number is unmapped between two marks. */
static void page_that_goes(void)
{
    uint64_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        abort();
    gasmark_start();
    for (int i = 0; i < 3; i++) {
        page[i] = GASMARK_NONE;
        gasmark_call(GASMARK_PEEK, page + i, 8);
    }
    printf("reported %d\n", page[0] < page[1] && page[1] < page[2] && page[2] < GASMARK_NONE);
    if (mprotect(page, 4096, PROT_READ) < 0)
        abort();
    gasmark_call(GASMARK_PEEK, page, 8);
    if (munmap(page, 4096) < 0)
        abort();
    gasmark_call(GASMARK_PEEK, page, 8);
    puts("alive");
}

static void limit_at_stop(unsigned limit)
{
    gasmark_limit(limit);
    counted(1000);
    puts("within the limit");
}

static void runaway(void)
{
    gasmark_limit(10000000);
    gasmark_start();
    for (;;)
        sink++;
}

/* The region and its limit continue in the child. */
static void runaway_child(void)
{
    int status;
    pid_t child;

    gasmark_limit(10000000);
    gasmark_start();
    child = fork();
    if (child == 0)
        for (;;)
            sink++;
    if (waitpid(child, &status, 0) != child)
        abort();
    gasmark_stop();
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void *thread_work(void *rounds)
{
    work((unsigned)(uintptr_t)rounds);
    return NULL;
}

/* While the counter looks at the limit from a thread of its own, all the time. */
static void fork_many(unsigned forks)
{
    int status;
    pid_t child;

    gasmark_limit(3000000); /* near, so that it looks often */
    gasmark_start();
    for (unsigned i = 0; i < forks; i++) {
        child = fork();
        if (child == 0)
            _exit(gasmark_stop() > 0 ? 0 : 1);
        if (waitpid(child, &status, 0) != child || status != 0)
            abort();
    }
    gasmark_stop();
    printf("%u forks\n", forks);
}

/* Instructions of four threads and of the one that waits for them. */
static void process_scope(void)
{
    pthread_t threads[4];
    uint64_t alone, counts[2];

    alone = counted(100000);
    for (int scope = GASMARK_THREAD; scope <= GASMARK_PROCESS; scope++) {
        gasmark_set_scope((enum gasmark_scope)scope);
        gasmark_start();
        for (size_t i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, thread_work, (void *)(uintptr_t)100000);
        for (size_t i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        counts[scope] = gasmark_stop();
    }
    printf("one %d all %d\n", counts[GASMARK_THREAD] < alone, counts[GASMARK_PROCESS] / alone == 4);
}

/* The most memory that the process, QEMU included, has ever had, in kB. */
static unsigned long peak_memory(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    unsigned long peak = 0;
    char line[200];

    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmHWM:", strlen("VmHWM:")) == 0)
            peak = strtoul(line + strlen("VmHWM:"), NULL, 10);
    if (status != NULL)
        fclose(status);
    return peak;
}

static void say_whether_flat(unsigned long most)
{
    unsigned long peak = peak_memory();

    printf("%s\n", peak < most ? "flat" : "grown");
    fprintf(stderr, "at most %lu kB\n", peak);
}

static void *return_at_once(void *argument)
{
    return argument;
}

static void thread_cycles(unsigned cycles)
{
    for (unsigned i = 0; i < cycles; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, return_at_once, NULL) != 0)
            abort();
        pthread_join(thread, NULL);
    }
    say_whether_flat(34000);
}

static void open_and_close(void)
{
    void *object = dlopen(getenv("COUNTER_OBJECT"), RTLD_NOW);

    if (object == NULL || dlsym(object, "counter_object_answer") == NULL)
        abort();
    dlclose(object);
}

static void dlopen_cycles(unsigned cycles)
{
    for (unsigned i = 0; i < cycles; i++)
        open_and_close();
    say_whether_flat(75000);
}

static void *open_some(void *argument)
{
    for (int i = 0; i < 3; i++)
        open_and_close();
    return argument;
}

/* Threads that start and end at the same time, with work for the dynamic linker. */
static void overlapping_cycles(unsigned cycles)
{
    for (unsigned i = 0; i < cycles; i++) {
        pthread_t threads[4];

        for (size_t t = 0; t < 4; t++)
            if (pthread_create(&threads[t], NULL, open_some, NULL) != 0)
                abort();
        for (size_t t = 0; t < 4; t++)
            pthread_join(threads[t], NULL);
    }
    say_whether_flat(57000);
}

static void map_cycles(unsigned cycles)
{
    const size_t size = (size_t)6 << 30;
    void *first = NULL;

    for (unsigned i = 0; i < cycles; i++) {
        void *space =
            /* cppcheck-suppress invalidFunctionArg */
            mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (space == MAP_FAILED || (first != NULL && space != first))
            abort();
        first = space;
        munmap(space, size);
    }
    say_whether_flat(200000);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } checks[] = {
        {"present", present},
        {"descriptors", descriptors},
        {"answers", answers},
        {"transfers", transfers},
        {"bad-pointers", bad_pointers},
        {"page-that-goes", page_that_goes},
        {"runaway", runaway},
        {"runaway-child", runaway_child},
        {"process-scope", process_scope},
    };
    static const struct {
        const char *name;
        void (*run)(unsigned number);
    } counted_checks[] = {
        {"limit", limit_at_stop},         {"forks", fork_many},
        {"map-cycles", map_cycles},       {"thread-cycles", thread_cycles},
        {"dlopen-cycles", dlopen_cycles}, {"overlapping-cycles", overlapping_cycles},
    };

    for (size_t i = 0; argc == 3 && i < sizeof counted_checks / sizeof *counted_checks; i++)
        if (strcmp(argv[1], counted_checks[i].name) == 0) {
            counted_checks[i].run((unsigned)strtoul(argv[2], NULL, 10));
            return 0;
        }
    for (size_t i = 0; argc == 2 && i < sizeof checks / sizeof *checks; i++)
        if (strcmp(argv[1], checks[i].name) == 0) {
            checks[i].run();
            return 0;
        }
    fprintf(stderr, "usage: counter_marks CHECK [NUMBER]\n");
    return 2;
}
