/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process for tracers to attach to, which does at full speed what makes attaching hard, and
 * checks what it computes. usage: attached PLUGIN KIND... | attached PLUGIN alone KIND
 *
 *   plugins   loads and unloads the shared library PLUGIN, which has a function plugged()
 *   threads   starts and joins short-lived threads
 *   memory    allocates and frees
 *   signals   gets signals while it works
 *   forks     starts children
 *   waits     waits for input only
 *
 * The first kind is the main thread's, each other has a thread of its own, and another thread reads
 * stdin; `alone` there is only the main thread. It prints `ready`, for each line on stdin the
 * rounds so far, and at the end of stdin `N wrong`.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

enum { FIB_OF = 12, FIB = 144, BLOCKS = 64 };

static const char *plugin;
static atomic_bool over;
static atomic_ulong rounds, wrong;
static volatile sig_atomic_t caught;
static void (*alone)(void);

KEPT static int a_fib(int n)
{
    return n < 2 ? n : a_fib(n - 1) + a_fib(n - 2);
}

KEPT static void a_check(bool right)
{
    if (!right)
        atomic_fetch_add(&wrong, 1);
}

KEPT static void a_plugins(void)
{
    void *const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    int (*plugged)(int) = NULL;

    if (library != NULL)
        *(void **)&plugged = dlsym(library, "plugged");
    a_check(plugged != NULL && plugged(20) == 41 && dlclose(library) == 0);
}

KEPT static void *a_short_thread(void *result)
{
    *(int *)result = a_fib(FIB_OF);
    return result;
}

KEPT static void a_threads(void)
{
    pthread_t threads[4];
    int results[4] = {0}, begun = 0;

    while (begun < 4 && pthread_create(&threads[begun], NULL, a_short_thread, &results[begun]) == 0)
        begun++;
    a_check(begun == 4);
    for (int i = 0; i < begun; i++)
        a_check(pthread_join(threads[i], NULL) == 0 && results[i] == FIB);
}

KEPT static void a_memory(void)
{
    unsigned char *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        const size_t size = (size_t)32 << i % 14;

        blocks[i] = malloc(size);
        if (blocks[i] != NULL)
            memset(blocks[i], i, size);
    }
    for (int i = 0; i < BLOCKS; i++) {
        a_check(blocks[i] != NULL && blocks[i][(32 << i % 14) - 1] == i);
        free(blocks[i]);
    }
}

static void a_handler(int number)
{
    (void)number;
    caught = caught + (a_fib(FIB_OF) == FIB);
}

KEPT static void a_signals(void)
{
    const sig_atomic_t before = caught;

    a_check(raise(SIGUSR1) == 0 && caught == before + 1 && a_fib(FIB_OF) == FIB);
}

KEPT static void a_forks(void)
{
    const pid_t child = fork();
    int status;

    if (child == 0)
        _exit(a_fib(FIB_OF) == FIB ? 0 : 1);
    a_check(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

KEPT static void a_waits(void)
{
    char c;

    if (read(0, &c, 1) <= 0)
        atomic_store(&over, true);
}

static void answer_line(void)
{
    char line[16];

    if (fgets(line, sizeof line, stdin) == NULL) {
        atomic_store(&over, true);
        return;
    }
    printf("%lu\n", atomic_load(&rounds));
    fflush(stdout);
}

static void *a_answer(void *unused)
{
    (void)unused;
    while (!atomic_load(&over))
        answer_line();
    return NULL;
}

KEPT static void a_alone(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};

    alone();
    if (poll(&input, 1, 0) > 0)
        answer_line();
}

static const struct kind {
    const char *name;
    void (*round)(void);
} kinds[] = {{"plugins", a_plugins}, {"threads", a_threads}, {"memory", a_memory},
             {"signals", a_signals}, {"forks", a_forks},     {"waits", a_waits},
             {"alone", a_alone}};

KEPT static void *a_work(void *of)
{
    const struct kind *const kind = of;

    while (!atomic_load(&over)) {
        kind->round();
        a_check(a_fib(FIB_OF) == FIB);
        atomic_fetch_add(&rounds, 1);
    }
    return NULL;
}

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    fprintf(stderr, "attached: no kind %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    enum { MOST = 16 };
    pthread_t threads[MOST], answering;
    int begun = 0;

    if (argc < 3 || argc > MOST || (strcmp(argv[2], "alone") == 0 && argc != 4))
        return 2;
    plugin = argv[1];
    (void)signal(SIGUSR1, a_handler);
    puts("ready");
    fflush(stdout);
    if (strcmp(argv[2], "alone") == 0) {
        alone = find_kind(argv[3])->round;
        argc = 3;
    }
    for (int i = 3; i < argc; i++)
        if (pthread_create(&threads[begun], NULL, a_work, (void *)find_kind(argv[i])) == 0)
            begun++;
    if (alone == NULL && strcmp(argv[2], "waits") != 0 &&
        pthread_create(&answering, NULL, a_answer, NULL) != 0)
        return 1;
    (void)a_work((void *)find_kind(argv[2]));
    while (begun > 0)
        (void)pthread_join(threads[--begun], NULL);
    printf("%lu wrong\n", atomic_load(&wrong));
    return atomic_load(&wrong) != 0;
}
