/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_stacks.h"

#include <elfutils/libdwfl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/*
 * The hazard: a thread that is made to call dlopen(3) runs it on top of whatever it was doing. If
 * that was within dlopen(3), malloc(3) or fork(2), their data are half changed, and a lock that the
 * thread holds itself is never released. Being in a system call proves nothing, because all of them
 * make system calls.
 *
 * So the whole stack is unwound, and the thread is used only if every frame is known to be
 * harmless:
 *
 *      innermost     the program or a library     harmless unless it is an allocator
 *                    the C library                only in a system call that waits, as below
 *      further out   the program or a library     harmless unless it is an allocator
 *                    the C library                only where it has started main() or the thread
 *      anywhere      the dynamic linker, a signal's frame, or no unwind table    not harmless
 */

enum kind {
    FRAME_CODE,      /* the program or a library */
    FRAME_LIBC,      /* the C library, or Linux's vdso */
    FRAME_START,     /* the C library's __libc_start_main */
    FRAME_WAITING,   /* a function of the C library that waits for another thread */
    FRAME_ALLOCATOR, /* a library with a malloc(3) */
    FRAME_UNSAFE,
};

enum { FRAMES_MOST = 4096 };

struct trace_stacks {
    Dwfl *dwfl;
};

/* A stack while it is unwound, from the innermost frame outwards. */
struct judged {
    Dwfl *dwfl;
    size_t frames;
    enum kind first;     /* the innermost frame's */
    size_t in_libc;      /* innermost frames of the C library */
    bool waits;          /* one of them waits for another thread */
    bool only_libraries; /* no frame of FRAME_CODE was met yet */
    bool pending_libc;   /* frames of the C library outside of FRAME_CODE, whose reason is open */
    bool libraries_unsafe, unsafe;
    uint64_t returns_to;
};

static char *debug_path;

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .debuginfo_path = &debug_path,
};

struct trace_stacks *trace_stacks_open(pid_t process)
{
    struct trace_stacks *const stacks = calloc(1, sizeof *stacks);

    if (stacks == NULL)
        return NULL;
    stacks->dwfl = dwfl_begin(&callbacks);
    if (stacks->dwfl != NULL && dwfl_linux_proc_report(stacks->dwfl, process) == 0 &&
        dwfl_report_end(stacks->dwfl, NULL, NULL) == 0 &&
        dwfl_linux_proc_attach(stacks->dwfl, process, true) == 0)
        return stacks;
    trace_stacks_close(stacks);
    return NULL;
}

void trace_stacks_close(struct trace_stacks *stacks)
{
    if (stacks != NULL && stacks->dwfl != NULL)
        dwfl_end(stacks->dwfl);
    free(stacks);
}

/* ---- one frame ---- */

uint64_t trace_exported_symbol(Elf *elf, const char *name)
{
    Elf_Scn *section = NULL;
    GElf_Shdr head;
    GElf_Sym symbol;

    while ((section = elf_nextscn(elf, section)) != NULL) {
        Elf_Data *data;

        if (gelf_getshdr(section, &head) == NULL || head.sh_type != SHT_DYNSYM ||
            (data = elf_getdata(section, NULL)) == NULL)
            continue;
        for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++) {
            const char *const own = elf_strptr(elf, head.sh_link, symbol.st_name);

            if (own != NULL && symbol.st_shndx != SHN_UNDEF && strcmp(own, name) == 0)
                return symbol.st_value;
        }
    }
    return 0;
}

/* Exported functions of the C library that wait for other threads, and hold no lock meanwhile. */
static enum kind kind_in_libc(const char *name)
{
    static const char *const waiting[] = {"pthread_cond_*wait*", "pthread_*join*",
                                          "sem_*wait*"}; /* versions follow */

    if (name == NULL)
        return FRAME_LIBC;
    if (strncmp(name, "__libc_start_main", 17) == 0)
        return FRAME_START;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        if (fnmatch(waiting[i], name, 0) == 0)
            return FRAME_WAITING;
    return FRAME_LIBC;
}

/* The same for all of a module but the C library. */
static enum kind kind_of_module(Dwfl_Module *module, const char *name)
{
    GElf_Addr bias;
    Elf *elf;

    if (fnmatch("libc.so*", name, 0) == 0 || fnmatch("libpthread*", name, 0) == 0 ||
        fnmatch("*vdso*", name, 0) == 0)
        return FRAME_LIBC;
    if (fnmatch("ld-*", name, 0) == 0 || fnmatch("ld.so*", name, 0) == 0)
        return FRAME_UNSAFE;
    elf = dwfl_module_getelf(module, &bias);
    if (elf == NULL)
        return FRAME_UNSAFE;
    return trace_exported_symbol(elf, "malloc") != 0 ? FRAME_ALLOCATOR : FRAME_CODE;
}

static enum kind kind_of_frame(Dwfl *dwfl, Dwarf_Addr address)
{
    static const enum kind kinds[] = {FRAME_CODE, FRAME_LIBC, FRAME_ALLOCATOR, FRAME_UNSAFE};
    Dwfl_Module *const module = dwfl_addrmodule(dwfl, address);
    const enum kind *known;
    const char *path;
    void **cache;

    if (module == NULL)
        return FRAME_UNSAFE;
    path = dwfl_module_info(module, &cache, NULL, NULL, NULL, NULL, NULL, NULL);
    if (path == NULL)
        return FRAME_UNSAFE;
    if (*cache == NULL) {
        const char *const slash = strrchr(path, '/');
        const enum kind kind = kind_of_module(module, slash != NULL ? slash + 1 : path);

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (kinds[i] == kind)
                *cache = (void *)&kinds[i];
    }
    known = *cache;
    return *known == FRAME_LIBC ? kind_in_libc(dwfl_module_addrname(module, address)) : *known;
}

/* ---- all frames ---- */

static void judge_code(struct judged *judged, Dwarf_Addr address)
{
    /* The C library called this: a callback, or the end of the stack after __libc_start_main. */
    judged->unsafe |= judged->pending_libc;
    if (judged->only_libraries)
        judged->returns_to = address;
    judged->only_libraries = false;
}

static void judge_libc(struct judged *judged, enum kind kind)
{
    if (judged->only_libraries) {
        judged->in_libc++;
        judged->waits |= kind == FRAME_WAITING;
    }
    judged->pending_libc = !judged->only_libraries && kind != FRAME_START;
}

static int judge_frame(Dwfl_Frame *frame, void *context)
{
    struct judged *const judged = context;
    Dwarf_Addr address;
    bool interrupted;
    enum kind kind;

    if (!dwfl_frame_pc(frame, &address, &interrupted) || judged->frames == FRAMES_MOST ||
        (judged->frames > 0 && interrupted)) {
        judged->unsafe = true;
        judged->returns_to = 0;
        return DWARF_CB_ABORT;
    }
    /* A return address may be the beginning of the next function. */
    kind = kind_of_frame(judged->dwfl, interrupted ? address : address - 1);
    if (judged->frames++ == 0)
        judged->first = kind;
    switch (kind) {
    case FRAME_CODE:
        judge_code(judged, address);
        break;
    case FRAME_LIBC:
    case FRAME_WAITING:
    case FRAME_START:
        judge_libc(judged, kind);
        break;
    default:
        if (judged->only_libraries)
            judged->libraries_unsafe = true;
        else
            judged->unsafe = true;
    }
    return DWARF_CB_OK;
}

/* System calls that wait for something outside of the process. No allocator, dynamic linker, fork
 * or start of a thread makes one while it holds a lock. */
static bool is_waiting_call(int64_t number)
{
    static const int numbers[] = {
        SYS_read,         SYS_poll,        SYS_select,          SYS_pause,
        SYS_nanosleep,    SYS_accept,      SYS_recvfrom,        SYS_recvmsg,
        SYS_wait4,        SYS_waitid,      SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
        SYS_epoll_wait,   SYS_epoll_pwait, SYS_pselect6,        SYS_ppoll,
        SYS_accept4,      SYS_recvmmsg,    SYS_clock_nanosleep, SYS_msgrcv,
        SYS_semtimedop,   SYS_semop,       SYS_flock,           SYS_epoll_pwait2,
        SYS_io_getevents,
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (number == numbers[i])
            return true;
    return false;
}

static bool is_innermost_safe(const struct judged *judged, int64_t system_call)
{
    if (judged->first == FRAME_CODE)
        return true;
    if (judged->libraries_unsafe || judged->in_libc == 0)
        return false;
    return is_waiting_call(system_call) || (system_call == SYS_futex && judged->waits);
}

bool trace_stacks_is_safe(struct trace_stacks *stacks, pid_t thread, int64_t system_call,
                          uint64_t *returns_to)
{
    struct judged judged = {.dwfl = stacks->dwfl, .only_libraries = true};
    const bool whole = dwfl_getthread_frames(stacks->dwfl, thread, judge_frame, &judged) == 0;

    *returns_to = whole && !judged.unsafe ? judged.returns_to : 0;
    return whole && !judged.unsafe && !judged.only_libraries &&
           is_innermost_safe(&judged, system_call);
}
