/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgastrace.so, the part of a tracer that lives in the traced process: preloaded, with the
 * descriptor of the shared memory in GASPIPE_TRACE, or loaded by ptrace, which then calls
 * gastrace_memory() and gastrace_start(). A process whose tracer does not answer goes on untraced.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/agent/apply.h"
#include "trace/agent/bell.h"
#include "trace/agent/clock.h"
#include "trace/agent/lane.h"
#include "trace/agent/modules.h"
#include "trace/memory.h"

#define EXPORTED __attribute__((visibility("default")))

enum { ANSWER_SECONDS = 30 };

static struct trace_head *head;
static bool patched_here; /* not by ptrace */
static pthread_key_t key;

EXPORTED int gastrace_memory(void);
EXPORTED int gastrace_start(int fd);
EXPORTED void gastrace_stop(void);

static void thread_began(void)
{
    agent_clock_thread_begins();
    (void)pthread_setspecific(key, head);
}

static void thread_ends(void *unused)
{
    (void)unused;
    lanes_thread_ends();
    agent_clock_thread_ends();
}

/* ---- a child process ---- */

static _Thread_local char *copied; /* this thread's frames, while it forks */
static _Thread_local size_t copied_size;

static char *copy_privately(const char *begin, size_t size)
{
    void *const copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return copy != MAP_FAILED ? memcpy(copy, begin, size) : NULL;
}

static void put_in_place(char *copy, size_t size, char *place)
{
    if (copy != NULL)
        (void)mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place);
}

/* The parent does not wait until its child has a copy, and goes on to change what is shared. */
static void before_fork(void)
{
    const size_t used = lanes_depth() * sizeof(struct trace_frame);
    const char *const frames = lanes_frames();

    copied_size = (used + 2 * 4096) & ~(size_t)4095;
    copied = frames != NULL ? copy_privately(frames, copied_size) : NULL;
}

static void in_parent(void)
{
    if (copied != NULL)
        (void)munmap(copied, copied_size);
    copied = NULL;
}

/* It is not traced: its text is put back, and what runs still writes into memory of its own. */
static void in_child(void)
{
    char *const file = (char *)head;

    put_in_place(copied, copied_size, lanes_frames());
    copied = NULL;
    put_in_place(copy_privately(file, head->patches_at), head->patches_at, file);
    /* cppcheck-suppress leakReturnValNotUsed ; in the place of what is mapped there */
    (void)mmap(file + head->chunks_at, head->shadows_at - head->chunks_at, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    head->policy = TRACE_DROP;
    lanes_leave_to_parent();
    undo_calls(head);
    if (patched_here)
        undo_patches(head);
}

/* ---- the start ---- */

static struct trace_head *map_memory(int fd)
{
    const struct trace_head *first;
    struct stat status;
    void *all;

    if (fstat(fd, &status) != 0 || (size_t)status.st_size < sizeof *first)
        return NULL;
    first = mmap(NULL, sizeof *first, PROT_READ, MAP_SHARED, fd, 0);
    if (first == MAP_FAILED)
        return NULL;
    if (first->magic != TRACE_MAGIC || first->version != TRACE_VERSION) {
        munmap((void *)first, sizeof *first);
        return NULL;
    }
    all = mmap(NULL, first->regions_at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    munmap((void *)first, sizeof *first);
    if (all == MAP_FAILED)
        return NULL;
    return all;
}

static int64_t offset_of(const void *variable)
{
    uint64_t thread;

    __asm__("mov %%fs:0,%0" : "=r"(thread));
    return (int64_t)((uint64_t)variable - thread);
}

static uint64_t find_register_frame(void)
{
    void *function = dlsym(RTLD_DEFAULT, "__register_frame");

    if (function == NULL) {
        void *const library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL);

        function = library != NULL ? dlsym(library, "__register_frame") : NULL;
        /* cppcheck-suppress resourceLeak ; it stays loaded */
    }
    return (uint64_t)function;
}

static void describe(void)
{
    head->process = (uint32_t)getpid();
    head->mapped_at = (uint64_t)head;
    head->event_offset = offset_of(&trace_event);
    head->top_offset = offset_of(&trace_top);
    head->slow_entry = (uint64_t)trace_stub_entry;
    head->slow_exit = (uint64_t)trace_stub_exit;
    head->slow_event = (uint64_t)trace_stub_event;
    head->slow_clock = (uint64_t)trace_stub_clock;
    head->register_frames = find_register_frame();
    modules_describe(head);
}

static bool wait_for_answer(void)
{
    for (int seconds = 0; seconds < ANSWER_SECONDS;) {
        const uint32_t quiet = bell_silence(&head->bell);
        enum bell_end end;

        if (atomic_load(&head->state) != TRACE_ASKED)
            return atomic_load(&head->state) == TRACE_READY;
        end = bell_wait(&head->bell, quiet);
        if (end == BELL_ALONE)
            return false;
        seconds += end == BELL_SECOND;
    }
    return false;
}

static void register_frames(void)
{
    void (*function)(void *);

    if (head->register_frames == 0)
        return;
    memcpy(&function, &head->register_frames, sizeof function);
    for (uint32_t i = 0; i < head->module_count; i++)
        if (head->frames[i] != 0)
            function((void *)head->frames[i]);
}

/* Everything that needs memory, files or locks is done before the first function is patched. */
static int put_into_force(int fd)
{
    lanes_open(head, thread_began);
    if (pthread_key_create(&key, thread_ends) != 0 ||
        pthread_atfork(before_fork, in_parent, in_child) != 0) {
        snprintf(head->refusal, sizeof head->refusal, "out of memory");
        return -1;
    }
    if (agent_clock_open(head) != 0 || apply_regions(head, fd) != 0)
        return -1;
    register_frames();
    if (patched_here && apply_patches(head) != 0)
        return -1;
    apply_calls(head);
    return 0;
}

static int agent_start(int fd)
{
    int result;

    head = map_memory(fd);
    if (head == NULL)
        return -1;
    describe();
    atomic_store(&head->state, TRACE_ASKED);
    if (!wait_for_answer())
        return -1;
    result = put_into_force(fd);
    atomic_store(&head->state, result == 0 ? TRACE_RUNNING : TRACE_REFUSED);
    return result;
}

/* The programs that this one starts are not traced, and find the environment as it was. */
static void clean_environment(const char *own_path)
{
    const char *const preload = getenv("LD_PRELOAD");
    const size_t length = strlen(own_path);

    unsetenv("GASPIPE_TRACE");
    if (preload == NULL || strncmp(preload, own_path, length) != 0)
        return;
    if (preload[length] == ':')
        setenv("LD_PRELOAD", preload + length + 1, 1);
    else if (preload[length] == '\0')
        unsetenv("LD_PRELOAD");
}

__attribute__((constructor)) static void begin(void)
{
    const char *const told = getenv("GASPIPE_TRACE");
    Dl_info self;
    char *end;
    long fd;

    if (told == NULL)
        return;
    fd = strtol(told, &end, 10);
    if (*told == '\0' || *end != '\0' || fd < 3 || fd > 1 << 20)
        return;
    if (dladdr((void *)describe, &self) != 0)
        clean_environment(self.dli_fname);
    patched_here = true;
    (void)agent_start((int)fd);
    close((int)fd);
}

/* ---- for a tracer that comes later ---- */

/* A descriptor of a file in memory, which the tracer sizes and fills; or -1. */
int gastrace_memory(void)
{
    if (head != NULL)
        return -1; /* the threads' stacks are in the memory of before */
    return memfd_create("gastrace", MFD_CLOEXEC);
}

/* 0 when the tracer may patch functions. */
int gastrace_start(int fd)
{
    const int result = agent_start(fd);

    close(fd);
    return result;
}

void gastrace_stop(void)
{
    undo_calls(head);
}
