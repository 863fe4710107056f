/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgastrace.so, the part of a tracer that lives in the traced process: preloaded, with the
 * descriptor of the shared memory in GASPIPE_TRACE, or loaded by ptrace, which then calls
 * gastrace_memory() and gastrace_start(). A process whose tracer does not answer continues
 * untraced.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/agent/clock.h"
#include "trace/agent/lane.h"
#include "trace/agent/modules.h"
#include "trace/agent/wake_word.h"
#include "trace/memory.h"

/* ---- patching ---- */

/*
 * A patch replaces the first five bytes of a function by a jump to its trampoline:
 *
 *      function    jmp trampoline | rest of the body
 *      trampoline  events of entry and exit around: the five bytes, moved | jmp rest of the body
 *
 * The hazard: five bytes are not written at once, and a thread that executes them meanwhile would
 * execute a mixture, or continue in the middle of the jump. There are two ways around it:
 *
 * - A process that starts with the agent is patched by the agent's constructor, before it has a
 *   second thread.
 * - A process that runs is patched by its tracer, which stops all threads and moves those whose
 *   next instruction lies within a patch (supervisor/trace/trace_target.c).
 *
 * A patch is written only over the bytes that the program's file has there. If another tool has
 * changed them, nothing is patched.
 */

enum { PAGE = 4096, PATCH_BYTES = 5 };

static int apply_refuse(struct trace_head *head, const char *words)
{
    snprintf(head->refusal, sizeof head->refusal, "%s: %s", words, strerror(errno));
    return -1;
}

static bool map_at(uint64_t address, uint64_t size, int protection, int fd, uint64_t offset)
{
    /* cppcheck-suppress leakReturnValNotUsed ; at a fixed address */
    return mmap((void *)address, size, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) !=
           MAP_FAILED;
}

/* Maps the trampolines as code. 0, or -1 with head->refusal. */
static int apply_regions(struct trace_head *head, int fd)
{
    uint64_t offset = head->regions_at;

    for (uint32_t i = 0; i < head->module_count; i++) {
        const struct trace_module *const module = &head->modules[i];
        const uint64_t code = module->region_size / 4 * 3, data = module->region_size / 4;

        if (module->region != 0) {
            /* cppcheck-suppress leakReturnValNotUsed ; at a fixed address */
            if (!map_at(module->region, code, PROT_READ | PROT_EXEC, fd, offset) ||
                /* cppcheck-suppress leakReturnValNotUsed ; at a fixed address */
                !map_at(module->region + code, data, PROT_READ | PROT_WRITE, fd, offset + code))
                return apply_refuse(head, "cannot map memory that can be executed");
            lanes_add_region(module->region, module->region + code);
        }
        offset += module->region_size;
    }
    return 0;
}

/* ---- library calls ---- */

static struct trace_call *library_calls(struct trace_head *head)
{
    return (struct trace_call *)((char *)head + head->calls_at);
}

/* False if the slot's page cannot be made writable, as after linking with -z relro. */
static bool write_slot(const struct trace_call *call, uint64_t value)
{
    void *const page = (void *)(call->slot & ~(uint64_t)(PAGE - 1));
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((uint64_t *)call->slot, value, __ATOMIC_RELEASE);
    if (call->read_only != 0)
        (void)mprotect(page, PAGE, PROT_READ);
    return true;
}

/* Has library calls lead to trampolines, if their slots can be written. */
static void apply_calls(struct trace_head *head)
{
    struct trace_call *const calls = library_calls(head);

    for (uint32_t i = 0; i < head->call_count; i++) {
        struct trace_call *const call = &calls[i];
        const uint64_t before = *(uint64_t *)call->slot;
        uint64_t function = before;

        if (before >= call->text_begin && before < call->text_end)
            function = (uint64_t)dlsym(RTLD_DEFAULT, call->name);
        if (function == 0)
            continue;
        *(uint64_t *)call->cell = function;
        if (write_slot(call, call->trampoline))
            call->before = before;
    }
}

static void undo_calls(struct trace_head *head)
{
    struct trace_call *const calls = library_calls(head);

    for (uint32_t i = 0; i < head->call_count; i++)
        if (calls[i].before != 0 && *(uint64_t *)calls[i].slot == calls[i].trampoline)
            (void)write_slot(&calls[i], calls[i].before);
}

/* ---- functions ---- */

static struct trace_patch *patches_of(struct trace_head *head)
{
    return (struct trace_patch *)((char *)head + head->patches_at);
}

/* Consecutive pages with patches. */
struct page_range {
    uint64_t begin, end;
    uint32_t first, after; /* patches */
};

static struct page_range find_page_range(const struct trace_head *head,
                                         const struct trace_patch *patches, uint32_t first)
{
    struct page_range range = {.first = first, .after = first};

    range.begin = patches[first].address & ~(uint64_t)(PAGE - 1);
    range.end = range.begin;
    while (range.after < head->patch_count && patches[range.after].address < range.end + PAGE)
        range.end =
            (patches[range.after++].address + PATCH_BYTES + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return range;
}

static bool protect_range(const struct page_range *range, int protection)
{
    return mprotect((void *)range->begin, range->end - range->begin, protection) == 0;
}

static int write_patches(struct trace_head *head, bool undo)
{
    struct trace_patch *const patches = patches_of(head);
    struct page_range range;

    for (uint32_t i = 0; i < head->patch_count; i = range.after) {
        range = find_page_range(head, patches, i);
        if (!protect_range(&range, PROT_READ | PROT_WRITE | PROT_EXEC))
            return apply_refuse(head, "the program's text cannot be written to");
        for (uint32_t k = range.first; k < range.after; k++)
            memcpy((void *)patches[k].address, undo ? patches[k].before : patches[k].after,
                   PATCH_BYTES);
        (void)protect_range(&range, PROT_READ | PROT_EXEC);
    }
    return 0;
}

/* Writes all patches, while no other thread runs. 0, or -1 with head->refusal and no patch. */
static int apply_patches(struct trace_head *head)
{
    const struct trace_patch *const patches = patches_of(head);

    for (uint32_t i = 0; i < head->patch_count; i++) {
        if (memcmp((const void *)patches[i].address, patches[i].before, PATCH_BYTES) == 0)
            continue;
        snprintf(head->refusal, sizeof head->refusal,
                 "the program's text is not what its file has");
        return -1;
    }
    if (write_patches(head, false) == 0)
        return 0;
    (void)write_patches(head, true);
    return -1;
}

static void undo_patches(struct trace_head *head)
{
    (void)write_patches(head, true);
}

/* ---- threads ---- */

#define EXPORTED __attribute__((visibility("default")))

enum { ANSWER_SECONDS = 30 };

/* The memory of the trace; NULL: none. A later tracer reads it if this one was killed. */
EXPORTED struct trace_head *gastrace_head;
static bool patched_here; /* not by ptrace */
static pthread_key_t key;

EXPORTED int gastrace_memory(void);
EXPORTED int gastrace_start(int fd);

static void begin_thread(void)
{
    agent_clock_thread_begins();
    (void)pthread_setspecific(key, &key);
}

static void thread_ends(void *unused)
{
    (void)unused;
    agent_busy++;
    lanes_thread_ends();
    agent_clock_thread_ends();
    agent_busy--;
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

/*
 * The child shares the memory of the trace, including its shadow stack, with the parent. The
 * hazard: the parent returns from functions, and so changes that stack, before the child has copied
 * it. So the parent copies its frames before it forks, and the child moves that copy over the
 * shared ones.
 */
static void before_fork(void)
{
    const size_t used = lanes_depth() * sizeof(struct trace_frame);
    const char *const frames = lanes_frames();

    agent_busy++;
    copied_size = (used + 2 * 4096) & ~(size_t)4095;
    copied = frames != NULL ? copy_privately(frames, copied_size) : NULL;
}

static void in_parent(void)
{
    if (copied != NULL)
        (void)munmap(copied, copied_size);
    copied = NULL;
    agent_busy--;
}

/* The child is not traced. Its text is restored; trampolines that are still running in it write to
 * private memory. */
static void in_child(void)
{
    char *const file = (char *)gastrace_head;

    agent_busy--;
    if (gastrace_head == NULL)
        return;
    put_in_place(copied, copied_size, lanes_frames());
    copied = NULL;
    put_in_place(copy_privately(file, gastrace_head->patches_at), gastrace_head->patches_at, file);
    /* cppcheck-suppress leakReturnValNotUsed ; in the place of what is mapped there */
    (void)mmap(file + gastrace_head->chunks_at,
               gastrace_head->shadows_at - gastrace_head->chunks_at, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    gastrace_head->policy = TRACE_DROP;
    lanes_leave_to_parent();
    undo_calls(gastrace_head);
    /* No thread is within a patch: it is one instruction. */
    undo_patches(gastrace_head);
}

/* ---- the end ---- */

/* Addresses that the memory of a trace keeps for the next: libgcc's unwind tables name them. */
static struct {
    void *begin;
    size_t size;
} reserved;

/* Keeps the addresses. */
static void withdraw(void *begin, size_t size)
{
    /* cppcheck-suppress leakReturnValNotUsed ; in the place of what is mapped there */
    (void)mmap(begin, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
               0);
}

/* Keeps also the unwind table, which libgcc reads: it is on the first page of data. */
static void withdraw_region(const struct trace_module *module)
{
    char *const begin = (char *)module->region, *const data = begin + module->region_size / 4 * 3;

    withdraw(begin, (size_t)(data - begin));
    put_in_place(copy_privately(data, PAGE), PAGE, data);
    withdraw(data + PAGE, module->region_size / 4 - PAGE);
}

/*
 * The tracer makes each traced thread call the first of these, and then one thread the second,
 * while all others are stopped, wherever that is. So they take no lock, and leave errno as it was.
 * Afterwards no call returns to a trampoline.
 */
static void leave_thread(void)
{
    lanes_leave_thread();
    agent_clock_thread_ends();
}

static void leave_process(void)
{
    const int before = errno;

    lanes_leave();
    for (uint32_t i = 0; i < gastrace_head->module_count && i < TRACE_MODULES_MAX; i++)
        if (gastrace_head->modules[i].region != 0)
            withdraw_region(&gastrace_head->modules[i]);
    gastrace_head = NULL;
    withdraw(reserved.begin, reserved.size);
    errno = before;
}

/* ---- the start ---- */

/* NULL: the file is not a tracer's, or memory ran out. */
static struct trace_head *map_whole(int fd, size_t size)
{
    const bool fits = size <= reserved.size;
    void *const all = mmap(fits ? reserved.begin : NULL, size, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE | (fits ? MAP_FIXED : 0), fd, 0);

    if (all == MAP_FAILED)
        return NULL;
    if (!fits) {
        modules_forget();
        reserved.begin = all;
        reserved.size = size;
    }
    return all;
}

static struct trace_head *map_memory(int fd)
{
    const struct trace_head *first;
    struct trace_head *all = NULL;
    struct stat status;

    if (fstat(fd, &status) != 0 || (size_t)status.st_size < sizeof *first)
        return NULL;
    first = mmap(NULL, sizeof *first, PROT_READ, MAP_SHARED, fd, 0);
    if (first == MAP_FAILED)
        return NULL;
    if (first->magic == TRACE_MAGIC && first->version == TRACE_VERSION)
        all = map_whole(fd, first->regions_at);
    munmap((void *)first, sizeof *first);
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

static void describe_process(void)
{
    gastrace_head->process = (uint32_t)getpid();
    gastrace_head->mapped_at = (uint64_t)gastrace_head;
    gastrace_head->event_offset = offset_of(&trace_event);
    gastrace_head->top_offset = offset_of(&trace_top);
    gastrace_head->busy_offset = offset_of(&agent_busy);
    gastrace_head->leave_thread = (uint64_t)leave_thread;
    gastrace_head->leave = (uint64_t)leave_process;
    gastrace_head->slow_entry = (uint64_t)trace_stub_entry;
    gastrace_head->slow_exit = (uint64_t)trace_stub_exit;
    gastrace_head->slow_event = (uint64_t)trace_stub_event;
    gastrace_head->slow_clock = (uint64_t)trace_stub_clock;
    gastrace_head->slow_values = (uint64_t)trace_stub_values;
    gastrace_head->register_frames = find_register_frame();
    modules_describe(gastrace_head);
}

static bool wait_for_answer(void)
{
    for (int seconds = 0; seconds < ANSWER_SECONDS;) {
        const uint32_t before = wake_word_clear(&gastrace_head->wake_word);
        enum wake_end end;

        if (atomic_load(&gastrace_head->state) != TRACE_ASKED)
            return atomic_load(&gastrace_head->state) == TRACE_READY;
        end = wake_word_wait(&gastrace_head->wake_word, before);
        if (end == WAKE_ALONE)
            return false;
        seconds += end == WAKE_SECOND;
    }
    return false;
}

static void register_frames(void)
{
    void (*function)(void *);

    if (gastrace_head->register_frames == 0)
        return;
    memcpy(&function, &gastrace_head->register_frames, sizeof function);
    for (uint32_t i = 0; i < gastrace_head->module_count; i++)
        if (gastrace_head->frames[i] != 0 && modules_register(gastrace_head->modules[i].region))
            function((void *)gastrace_head->frames[i]);
}

/* Everything that needs memory, files or locks is done before the first function is patched. */
static int put_into_force(int fd)
{
    static bool prepared;

    lanes_open(gastrace_head, begin_thread);
    prepared = prepared || (pthread_key_create(&key, thread_ends) == 0 &&
                            pthread_atfork(before_fork, in_parent, in_child) == 0);
    if (!prepared) {
        snprintf(gastrace_head->refusal, sizeof gastrace_head->refusal, "out of memory");
        return -1;
    }
    if (agent_clock_open(gastrace_head) != 0 || apply_regions(gastrace_head, fd) != 0)
        return -1;
    register_frames();
    if (patched_here && apply_patches(gastrace_head) != 0)
        return -1;
    apply_calls(gastrace_head);
    return 0;
}

static int agent_start(int fd)
{
    int result;

    gastrace_head = map_memory(fd);
    if (gastrace_head == NULL)
        return -1;
    describe_process();
    atomic_store(&gastrace_head->state, TRACE_ASKED);
    result = wait_for_answer() ? put_into_force(fd) : -1;
    if (result == 0 || atomic_load(&gastrace_head->state) == TRACE_READY)
        atomic_store(&gastrace_head->state, result == 0 ? TRACE_RUNNING : TRACE_REFUSED);
    if (result != 0)
        leave_process(); /* no function is patched, and no thread is traced */
    return result;
}

/* Programs that this one starts are not traced, and get the original environment. */
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
    const char *const given = getenv("GASPIPE_TRACE");
    Dl_info self;
    char *end;
    long fd;

    if (given == NULL)
        return;
    fd = strtol(given, &end, 10);
    if (*given == '\0' || *end != '\0' || fd < 3 || fd > 1 << 20)
        return;
    if (dladdr((void *)describe_process, &self) != 0)
        clean_environment(self.dli_fname);
    patched_here = true;
    (void)agent_start((int)fd);
    close((int)fd);
}

/* ---- for a tracer that attaches ---- */

/* A descriptor of a file in memory, which the tracer sizes and fills; or -1. */
int gastrace_memory(void)
{
    return gastrace_head == NULL ? memfd_create("gastrace", MFD_CLOEXEC) : -1;
}

/* 0 when the tracer may patch functions. */
int gastrace_start(int fd)
{
    const int result = agent_start(fd);

    close(fd);
    return result;
}
