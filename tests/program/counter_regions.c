/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions of all shapes, for counting them in two ways.
 *
 *     counter_regions list       the names
 *     counter_regions NAME       runs that region, prints its count
 *
 * Each does the same wherever it runs: nothing in a region depends on the time,
 * the CPU or an address.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <zlib.h>

#include "counter/gasmark.h"

static volatile unsigned long sink;
static unsigned char bytes_a[20000], bytes_b[20000];
static char page[3 * 4096] __attribute__((aligned(4096)));
static sigjmp_buf back;

static void empty(void)
{
}

static void loop(void)
{
    for (unsigned i = 0; i < 1000; i++)
        sink += i;
}

static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void calls(void)
{
    sink = fibonacci(12);
}

static int add(int a, int b)
{
    return a + b;
}

static int subtract(int a, int b)
{
    return a - b;
}

static void indirect_calls(void)
{
    int (*volatile functions[])(int, int) = {add, subtract};

    for (int i = 0; i < 100; i++)
        sink = (unsigned long)functions[i % 2](i, 3);
}

static void switches(void)
{
    for (unsigned i = 0; i < 500; i++) {
        switch (i * 7 % 11) {
        case 0:
            sink += 1;
            break;
        case 3:
            sink ^= i;
            break;
        case 5:
            sink -= 2;
            break;
        case 7:
            sink *= 3;
            break;
        default:
            sink = i;
        }
    }
}

static void floating_point(void)
{
    double x = 0.5;

    for (int i = 0; i < 200; i++)
        x = sqrt(x * 1.7 + i) / 3.1;
    sink = (unsigned long)(x * 1000);
}

static void x87(void)
{
    volatile long double x = 1.0L;

    for (int i = 1; i < 100; i++)
        x = x * 1.01L + 1.0L / (long double)i;
    sink = (unsigned long)x;
}

static void atomics(void)
{
    static unsigned long word;

    for (unsigned i = 0; i < 100; i++) {
        unsigned long expected = i;

        __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
        __atomic_compare_exchange_n(&word, &expected, i, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        __atomic_exchange_n(&word, i, __ATOMIC_SEQ_CST);
    }
}

/* Across two lines of the cache, where QEMU stops all other threads for each. */
static void torn_atomics(void)
{
    static char line[128] __attribute__((aligned(64)));

    for (unsigned i = 0; i < 20; i++) {
        unsigned long word = i;

        __asm__ volatile("nop\n lock addq $1, (%1)\n nop\n lock btsq $3, 1(%1)\n"
                         "lock xaddq %0, (%1)\n xchgq %0, 2(%1)\n nop\n"
                         "lock cmpxchgq %0, 3(%1)\n nop"
                         : "+r"(word)
                         : "r"(line + 60)
                         : "rax", "cc", "memory");
    }
}

static void share_memory(void)
{
    static void *shared;

    shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
}

static void pauses(void)
{
    for (int i = 0; i < 50; i++)
        __builtin_ia32_pause();
}

static void repeated_move(void)
{
    for (size_t n = 0; n < 40; n++) {
        void *to = bytes_a;
        const void *from = bytes_b;
        size_t count = n;

        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        count = n;
        to = bytes_a;
        __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(n) : "memory");
    }
}

static void repeated_compare(void)
{
    for (size_t n = 0; n < 40; n++) {
        const void *a = bytes_a, *b = bytes_b;
        size_t count = n;

        bytes_a[20] = 1;
        bytes_b[20] = 2;
        __asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(count) : : "memory", "cc");
        count = n;
        a = bytes_a;
        __asm__ volatile("repne scasb" : "+D"(a), "+c"(count) : "a"(1) : "memory", "cc");
    }
}

static void syscalls(void)
{
    char byte;
    struct iovec pieces[2] = {{&byte, 1}, {&byte, 0}};
    int ends[2];

    if (pipe(ends) < 0)
        abort();
    for (int i = 0; i < 20; i++) {
        sink += (unsigned long)syscall(SYS_getppid);
        sink += (unsigned long)write(ends[1], "x", 1);
        sink += (unsigned long)readv(ends[0], pieces, 2);
        sink += (unsigned long)fcntl(ends[0], F_GETFD);
    }
    close(ends[0]);
    close(ends[1]);
}

static void paused(void)
{
    for (int i = 0; i < 3; i++)
        loop();
}

static void on_signal(int signal)
{
    sink += (unsigned long)signal;
}

static void signals(void)
{
    for (int i = 0; i < 5; i++)
        raise(SIGUSR1);
}

static void jump_back(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void jumps(void)
{
    for (volatile int i = 0; i < 20; i++)
        if (sigsetjmp(back, 0) == 0)
            siglongjmp(back, 1);
}

static void jumps_from_handler(void)
{
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR2);
}

/* The handler makes the page accessible, and the access is done again. */
static void open_page(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    mprotect((char *)((uintptr_t)info->si_addr & ~4095UL), 4096, PROT_READ | PROT_WRITE);
}

static void resumed_faults(void)
{
    volatile char *at = page;

    for (int i = 0; i < 3; i++) {
        mprotect(page + 4096, 4096, PROT_NONE);
        sink += 3;
        at[4096 + i] = 1;
        sink += (unsigned long)at[4096 + i] * 5;
        mprotect(page + 4096, 4096, PROT_READ);
        at[4096] += 1;
    }
}

static void repeated_fault(void)
{
    void *to = page + 4090;
    size_t count = 30;

    mprotect(page + 4096, 4096, PROT_NONE);
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
}

static void abandoned_faults(void)
{
    volatile int *volatile nowhere = (volatile int *)(void *)page;

    for (volatile int i = 0; i < 5; i++) {
        mprotect(page, 4096, PROT_NONE);
        if (sigsetjmp(back, 1) == 0) {
            sink += 1;
            *nowhere = 1;
            sink += 2;
        }
    }
}

static void divisions(void)
{
    volatile unsigned zero = (unsigned)getppid() >> 31;

    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(back, 1) == 0)
            sink = 17 / zero;
}

static void illegal(void)
{
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(back, 1) == 0)
            __asm__ volatile("ud2");
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile(".byte 0xf0, 0x01, 0xc8; nop"); /* lock add %ecx,%eax */
}

static void breakpoints(void)
{
    for (int i = 0; i < 5; i++)
        __asm__ volatile("nop; int3; nop");
}

static void wild_calls(void)
{
    for (volatile int i = 0; i < 5; i++) {
        void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)16;

        if (sigsetjmp(back, 1) == 0)
            nowhere();
    }
}

/* mov $N, %eax; ret */
static void write_code(unsigned char *code, unsigned char number)
{
    static const unsigned char start[] = {0xb8, 0, 0, 0, 0, 0xc3};

    memcpy(code, start, sizeof start);
    code[1] = number;
}

/* A page apart from all others, writable and executable. */
static unsigned char *map_code(void)
{
    static unsigned char code[4096] __attribute__((aligned(4096)));

    if (mprotect(code, sizeof code, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        abort();
    return code;
}

static void fresh_code(void)
{
    for (unsigned char i = 0; i < 5; i++) {
        int fd = memfd_create("code", 0);
        unsigned char code[6];
        void *mapped;

        write_code(code, i);
        if (fd < 0 || write(fd, code, sizeof code) != sizeof code)
            abort();
        mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        close(fd);
        if (mapped == MAP_FAILED)
            abort();
        sink += (unsigned long)((int (*)(void))(uintptr_t)mapped)();
        munmap(mapped, 4096);
    }
}

static void rewritten_code(void)
{
    unsigned char *code = map_code();

    for (unsigned char i = 0; i < 20; i++) {
        write_code(code, i);
        sink += (unsigned long)((int (*)(void))(uintptr_t)code)();
    }
}

static void self_modifying(void)
{
    /* lea 2f(%rip), %rax; nop; movb $5, 1(%rax); nop; nop; 2: mov $1, %eax; ret */
    static const unsigned char text[] = {0x48, 0x8d, 0x05, 7,    0,    0, 0, 0x90, 0xc6, 0x40,
                                         1,    5,    0x90, 0x90, 0xb8, 1, 0, 0,    0,    0xc3};
    unsigned char *code = map_code();

    memcpy(code, text, sizeof text);
    for (int i = 0; i < 5; i++) {
        sink += (unsigned long)((int (*)(void))(uintptr_t)code)();
        code[15] = 1;
    }
}

/*
 * By its full path, since which directories are searched depends on the CPU;
 * and copied, since where the environment lies depends on who set it up.
 */
static char object_path[4096];

static void prepare_object(void)
{
    const char *path = getenv("COUNTER_OBJECT");

    if (path == NULL || strlen(path) >= sizeof object_path)
        abort();
    memcpy(object_path, path, strlen(path) + 1);
}

static void loaded_object(void)
{
    void *object = dlopen(object_path, RTLD_NOW | RTLD_LOCAL);
    unsigned long (*answer)(unsigned long);

    if (object == NULL)
        abort();
    *(void **)&answer = dlsym(object, "counter_object_answer");
    sink = answer(40);
    dlclose(object);
}

static void copies(void)
{
    for (size_t n = 0; n < 300; n++)
        memcpy(bytes_a + n % 7, bytes_b + n % 5, n);
    memcpy(bytes_a, bytes_b, sizeof bytes_a);
    memset(bytes_a, 3, sizeof bytes_a);
    sink = (unsigned long)memcmp(bytes_a, bytes_b, sizeof bytes_a);
}

static void strings(void)
{
    char text[300];

    for (size_t n = 0; n < 60; n++) {
        memset(text, 'a', n);
        text[n] = '\0';
        sink += strlen(text) + (unsigned long)(strchr(text, 'b') == NULL) +
                (unsigned long)strcmp(text, "aaaaaaaaaaaa");
    }
}

static void allocation(void)
{
    void *taken[100];

    for (int round = 0; round < 1; round++) {
        for (size_t i = 0; i < 100; i++)
            taken[i] = malloc(1 + i * 13);
        for (size_t i = 0; i < 100; i += 2)
            free(taken[i]);
        for (size_t i = 1; i < 100; i += 2)
            free(taken[i]);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

static void sorting(void)
{
    static unsigned numbers[100];
    unsigned next = 1;

    for (size_t i = 0; i < 100; i++)
        numbers[i] = next = next * 1103515245 + 12345;
    qsort(numbers, 100, sizeof *numbers, compare_numbers);
    sink = numbers[50];
}

static unsigned long compressed_size;

static void compress_some(void)
{
    compressed_size = sizeof bytes_b;
    for (size_t i = 0; i < 500; i++)
        bytes_a[i] = (unsigned char)(i * i >> 7);
    if (compress2(bytes_b, &compressed_size, bytes_a, 500, 6) != Z_OK)
        abort();
}

static void decompression(void)
{
    unsigned long size = sizeof bytes_a;

    if (uncompress(bytes_a, &size, bytes_b, compressed_size) != Z_OK)
        abort();
    sink = size;
}

static void hashing(void)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length;

    if (EVP_Digest(bytes_b, 500, digest, &length, EVP_sha256(), NULL) != 1)
        abort();
    sink = digest[0];
}

static void printing(void)
{
    char text[400];

    for (int i = 0; i < 3; i++)
        sink += (unsigned long)snprintf(text, sizeof text, "%d %.17g %a %e %s", i, i / 7.0,
                                        i * 1e300, i * 1e-300, "text");
}

static void expressions(void)
{
    regex_t expression;

    if (regcomp(&expression, "(a|b)*c[0-9]", REG_EXTENDED) != 0)
        abort();
    sink = (unsigned long)regexec(&expression, "zababc1", 0, NULL, 0);
    regfree(&expression);
}

static void forks(void)
{
    int status;
    pid_t child = (pid_t)syscall(SYS_fork);

    if (child == 0)
        syscall(SYS_exit_group, 0);
    while (waitpid(child, &status, 0) < 0)
        ;
}

static pthread_barrier_t meeting;
static volatile bool spin = true;

static void *spinner(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&meeting);
    while (spin)
        sink++;
    return NULL;
}

static void beside_threads(void)
{
    volatile unsigned own = 0;

    for (unsigned i = 0; i < 1000; i++)
        own += i;
    (void)own;
}

static uint64_t thread_count;

static void *counted_thread(void *unused)
{
    (void)unused;
    gasmark_start();
    beside_threads();
    thread_count = gasmark_stop();
    return NULL;
}

static void prepare_threads(void)
{
    pthread_t thread;

    pthread_barrier_init(&meeting, NULL, 4);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, spinner, NULL) != 0)
            abort();
    pthread_barrier_wait(&meeting);
}

static void prepare_handlers(void)
{
    static const int jumping[] = {SIGUSR2, SIGSEGV, SIGFPE, SIGILL};
    /* A blocked SIGTRAP would be taken from the program while it is single-stepped. */
    struct sigaction open_trap = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};

    signal(SIGUSR1, on_signal);
    sigaction(SIGTRAP, &open_trap, NULL);
    for (size_t i = 0; i < sizeof jumping / sizeof *jumping; i++)
        signal(jumping[i], jump_back);
}

static void prepare_open_page(void)
{
    struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, &action, NULL);
}

/* The first use of these has effects that last. */
static void prepare_libraries(void)
{
    allocation();
    compress_some();
    decompression();
    hashing();
    printing();
    expressions();
}

static const struct {
    const char *name;
    void (*run)(void);
    void (*prepare)(void);
} regions[] = {
    {"empty", empty, NULL},
    {"loop", loop, NULL},
    {"calls", calls, NULL},
    {"indirect-calls", indirect_calls, NULL},
    {"switches", switches, NULL},
    {"floating-point", floating_point, NULL},
    {"x87", x87, NULL},
    {"atomics", atomics, NULL},
    {"atomics-torn", torn_atomics, NULL},
    {"atomics-torn-shared", torn_atomics, share_memory},
    {"pauses", pauses, NULL},
    {"rep-move", repeated_move, NULL},
    {"rep-compare", repeated_compare, NULL},
    {"syscalls", syscalls, NULL},
    {"long-loop", paused, NULL},
    {"signals", signals, prepare_handlers},
    {"jumps", jumps, NULL},
    {"jumps-from-handler", jumps_from_handler, prepare_handlers},
    {"faults-resumed", resumed_faults, prepare_open_page},
    {"rep-fault", repeated_fault, prepare_open_page},
    {"faults-abandoned", abandoned_faults, prepare_handlers},
    {"divisions-by-zero", divisions, prepare_handlers},
    {"illegal-instructions", illegal, prepare_handlers},
    {"breakpoints", breakpoints, prepare_handlers},
    {"wild-calls", wild_calls, prepare_handlers},
    {"fresh-code", fresh_code, NULL},
    {"rewritten-code", rewritten_code, NULL},
    {"self-modifying", self_modifying, NULL},
    {"dlopen", loaded_object, prepare_object},
    {"memcpy", copies, NULL},
    {"strings", strings, NULL},
    {"malloc", allocation, prepare_libraries},
    {"qsort", sorting, prepare_libraries},
    {"zlib", decompression, prepare_libraries},
    {"sha256", hashing, prepare_libraries},
    {"printf", printing, prepare_libraries},
    {"regex", expressions, prepare_libraries},
    {"fork", forks, NULL},
    {"beside-threads", beside_threads, prepare_threads},
    {"atomics-torn-threads", torn_atomics, prepare_threads},
};

#define REGIONS (sizeof regions / sizeof *regions)

static void print_count(uint64_t count)
{
    if (count == GASMARK_NONE)
        puts("no counter");
    else
        printf("%" PRIu64 "\n", count);
}

static size_t chosen;
static uint64_t region_count;

static void run_chosen(void)
{
    if (regions[chosen].prepare != NULL)
        regions[chosen].prepare();
    gasmark_start();
    regions[chosen].run();
    region_count = gasmark_stop();
}

/* On a stack of its own, since where the kernel and QEMU put it differs. */
static int run_region(size_t i)
{
    static char stack[1 << 20] __attribute__((aligned(4096)));
    ucontext_t here, there;

    chosen = i;
    /* cppcheck-suppress getcontextCalled */
    if (getcontext(&there) < 0)
        return EXIT_FAILURE;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    /* cppcheck-suppress makecontextCalled */
    makecontext(&there, run_chosen, 0);
    /* cppcheck-suppress swapcontextCalled */
    if (swapcontext(&here, &there) < 0)
        return EXIT_FAILURE;
    print_count(region_count);
    spin = false;
    return 0;
}

static int run_in_thread(void)
{
    pthread_t thread;

    prepare_threads();
    if (pthread_create(&thread, NULL, counted_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return EXIT_FAILURE;
    print_count(thread_count);
    spin = false;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < REGIONS; i++)
            puts(regions[i].name);
        puts("in-thread");
        return 0;
    }
    for (size_t i = 0; argc == 2 && i < REGIONS; i++)
        if (strcmp(argv[1], regions[i].name) == 0)
            return run_region(i);
    if (argc == 2 && strcmp(argv[1], "in-thread") == 0)
        return run_in_thread();
    fprintf(stderr, "usage: counter_regions list|NAME\n");
    return 2;
}
