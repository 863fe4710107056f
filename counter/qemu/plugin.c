/* SPDX-License-Identifier: Apache-2.0 */
/* libgascount.so counts the instructions of a program under QEMU's user mode. Load it with `-plugin
 * libgascount.so`; gasmark.h has the program's side. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter/gasmark.h"
#include "counter/kind.h"
#include "counter/qemu/code/insn.h"
#include "counter/qemu/code/profile.h"
#include "counter/qemu/emulator/host.h"
#include "counter/qemu/emulator/interpose.h"
#include "counter/qemu/emulator/qemu_plugin_api.h"
#include "counter/qemu/guest/address_space.h"
#include "counter/qemu/guest/follow.h"
#include "counter/qemu/marks.h"
#include "counter/qemu/reporter.h"
#include "counter/qemu/tally.h"
#include "sandbox/contract_filter.h"
#include "sandbox/guest_syscalls.h"

/* How to count the blocks that are translated next. */
struct blocks_manner {
    enum gasmark_precision precision;
    bool repeat_once; /* a repeated string instruction counts once, not per iteration */
    bool kinds;       /* count the kinds of the instructions */
    bool shared;      /* other processes or threads see the memory: atomic operations are
                       * TALLY_ATOMIC */
};

#define GUEST_PAGE_SIZE 4096

/* A sequence under construction. */
struct open_sequence {
    struct qemu_plugin_insn *first; /* NULL: empty */
    struct insn_sequence sequence;
};

static void extend_sequence(struct open_sequence *open, struct qemu_plugin_insn *insn,
                            const struct opcode *opcode, bool with_kinds)
{
    if (open->first == NULL) {
        open->first = insn;
        open->sequence.address = qemu_plugin_insn_vaddr(insn);
    }
    open->sequence.length++;
    if (with_kinds)
        insn_sequence_add_kind(&open->sequence, kind_of(opcode));
}

static void close_sequence(struct open_sequence *open, enum tally_manner manner)
{
    if (open->first != NULL)
        tally_count_before(open->first, &open->sequence, manner);
    *open = (struct open_sequence){0};
}

/* QEMU 7.2 ends a block before an instruction that crosses into the next page. It has already shown
 * that instruction to plugins as the block's last, cut at the page's end, and later discards the
 * callbacks registered for it. So such an instruction gets a sequence of its own. */
static bool may_be_taken_back(const struct qemu_plugin_tb *tb, size_t i)
{
    uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
    uint64_t page_offset = address & (GUEST_PAGE_SIZE - 1);

    return i > 0 && i + 1 == qemu_plugin_tb_n_insns(tb) &&
           page_offset + INSTRUCTION_BYTES_MAX > GUEST_PAGE_SIZE;
}

static struct opcode read_opcode(const struct qemu_plugin_insn *insn)
{
    uint8_t bytes[INSTRUCTION_BYTES_MAX];

    return opcode_of(bytes, host_instruction_bytes(insn, bytes, sizeof bytes));
}

static enum tally_manner manner_of(const struct instruction *instruction,
                                   struct blocks_manner manner)
{
    if (instruction->repeats && manner.repeat_once)
        return TALLY_REPEATED;
    if (instruction->raises)
        return TALLY_RAISING;
    return instruction->atomic && manner.shared ? TALLY_ATOMIC : TALLY_PLAIN;
}

/*
 * Splits a block into sequences and registers their counting, while QEMU
 * translates it. A sequence is counted when its first instruction begins, so an
 * abort in its middle would count too much.
 *
 *   precision     block:   mov  load  add  store  jmp
 *   block                  [---------- 5 ----------]   one sequence
 *   instruction            [---- 2 ---][--- 2 ---][1]  ends at each instruction
 *                                                      that can fault
 *
 * With instruction precision, at most the last instruction of a sequence does
 * not complete, and the counter subtracts it (tally_note_abort()).
 */
static void blocks_count(struct qemu_plugin_tb *tb, struct blocks_manner manner)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct open_sequence open = {0};

    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        struct opcode opcode = read_opcode(insn);
        struct instruction instruction = instruction_of(&opcode);
        enum tally_manner special = manner_of(&instruction, manner);

        if (special != TALLY_PLAIN || may_be_taken_back(tb, i))
            close_sequence(&open, TALLY_PLAIN);
        extend_sequence(&open, insn, &opcode, manner.kinds);
        profile_watch(insn, &opcode);
        if (special != TALLY_PLAIN ||
            (instruction.may_fault && manner.precision == GASMARK_INSTRUCTION))
            close_sequence(&open, special);
    }
    close_sequence(&open, TALLY_PLAIN);
}

/* ---- options ---- */

/* The options after the plugin's name: `-plugin libgascount.so,NAME=VALUE,...`. */
struct options {
    enum gasmark_precision precision; /* precision=block|instruction */
    bool precision_is_forced;         /* not with precision=auto, the default */
    bool repeat_once;                 /* rep=once */
    bool repeat_each;                 /* rep=iterations, the default if QEMU shows iterations */
    bool pin_random;                  /* random=pinned: getrandom(2) gives the same bytes */
    bool kinds;                       /* kinds=on: instructions by kind, too */
    bool follow;                      /* follow=exec: also programs that the guest executes */
    uint64_t limit;                   /* limit=N instructions for the whole program; 0: none */
    const char *profile;              /* profile=PATH, likewise borrowed */
    uint64_t profile_fd;              /* profile-fd=N: profile each region to that descriptor; 0:
                                       * no */
    const char *report;               /* report=PATH, borrowed from the arguments; or NULL */
};

static void force_precision(struct options *options, enum gasmark_precision precision)
{
    options->precision = precision;
    options->precision_is_forced = true;
}

static void set_repeat(struct options *options, bool once)
{
    options->repeat_once = once;
    options->repeat_each = !once;
}

static bool parse_number(uint64_t *number, const char *digits)
{
    char *end;

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *number = strtoull(digits, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool parse_one(struct options *options, const char *argument)
{
    if (strcmp(argument, "precision=block") == 0)
        force_precision(options, GASMARK_BLOCK);
    else if (strcmp(argument, "precision=instruction") == 0)
        force_precision(options, GASMARK_INSTRUCTION);
    else if (strcmp(argument, "precision=auto") == 0)
        options->precision_is_forced = false;
    else if (strcmp(argument, "rep=once") == 0)
        set_repeat(options, true);
    else if (strcmp(argument, "rep=iterations") == 0)
        set_repeat(options, false);
    else if (strcmp(argument, "random=pinned") == 0)
        options->pin_random = true;
    else if (strcmp(argument, "kinds=on") == 0)
        options->kinds = true;
    else if (strcmp(argument, "follow=exec") == 0)
        options->follow = true;
    else if (strncmp(argument, "profile=", 8) == 0)
        options->profile = argument + 8;
    else if (strncmp(argument, "report=", 7) == 0)
        options->report = argument + 7;
    else if (strncmp(argument, "profile-fd=", 11) == 0)
        return parse_number(&options->profile_fd, argument + 11) && options->profile_fd <= INT_MAX;
    else
        return strncmp(argument, "limit=", 6) == 0 && parse_number(&options->limit, argument + 6);
    return true;
}

/* Returns false for an unknown option; reports it on stderr. */
static bool options_parse(struct options *options, int count, char **arguments)
{
    *options = (struct options){0};
    for (int i = 0; i < count; i++) {
        if (!parse_one(options, arguments[i])) {
            fprintf(stderr,
                    "gascount: '%s' is not an option; there are precision=auto|block|instruction, "
                    "rep=once|iterations, limit=N, random=pinned, kinds=on, "
                    "follow=exec, profile=PATH, profile-fd=N, report=PATH\n",
                    arguments[i]);
            return false;
        }
    }
    return true;
}

/* ---- precision ---- */

static bool is_fault_signal(uint64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP;
}

/* Linux's struct sigaction begins with the handler; SIG_DFL is 0, SIG_IGN 1. */
static bool installs_handler(uint64_t action)
{
    uint64_t handler = 0;

    return action != 0 && guest_memory_read(action, &handler, sizeof handler) && handler > 1;
}

static bool is_writable_code(uint64_t protection)
{
    return (protection & PROT_WRITE) != 0 && (protection & PROT_EXEC) != 0;
}

static bool is_writable_code_header(const Elf64_Phdr *header)
{
    return (header->p_type == PT_LOAD || header->p_type == PT_GNU_STACK) &&
           (header->p_flags & PF_W) != 0 && (header->p_flags & PF_X) != 0;
}

static bool has_writable_code(int file)
{
    Elf64_Ehdr elf;
    Elf64_Phdr header;

    if (pread(file, &elf, sizeof elf, 0) != sizeof elf || elf.e_phentsize != sizeof header)
        return true;
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        if (pread(file, &header, sizeof header, (off_t)(elf.e_phoff + i * sizeof header)) !=
            sizeof header)
            return true;
        if (is_writable_code_header(&header))
            return true;
    }
    return false;
}

/* Returns true if a store can change the block that it is in: the program's ELF file asks for a
 * segment or a stack that is both writable and executable. Also true if the file cannot be read. */
static bool precision_is_needed_by(const char *program)
{
    int file = open(program, O_RDONLY | O_CLOEXEC);
    bool needed = file < 0 || has_writable_code(file);

    if (file >= 0)
        close(file);
    return needed;
}

/* Returns true if after this system call the guest can continue past an instruction that did not
 * complete. Either it installs a handler for a fault. Or it makes memory writable and executable,
 * so that a store can change the block that it is in. */
static bool precision_is_needed(int64_t number, uint64_t a1, uint64_t a2, uint64_t a3)
{
    switch (number) {
    case GUEST_RT_SIGACTION:
        return is_fault_signal(a1) && installs_handler(a2);
    case GUEST_MMAP:
    case GUEST_MPROTECT:
    case GUEST_PKEY_MPROTECT:
        return is_writable_code(a3);
    default:
        return false;
    }
}

/* ---- the plugin ---- */

static struct options options;
static struct blocks_manner manner;
static bool guest_runs;

/* Discard all translated code beyond this many blocks of about 500 bytes. QEMU alone keeps up to
 * 128 MB, including code of libraries that were closed. */
#define BLOCKS_MAX 100000
static unsigned blocks;

static void register_thread(qemu_plugin_id_t id, unsigned thread)
{
    (void)id;
    if (!tally_thread_began(thread)) {
        fprintf(stderr, "gascount: more than %d threads at once\n", TALLY_THREADS_MAX);
        exit(EXIT_FAILURE);
    }
    if (!guest_runs)
        tally_set_thread(thread); /* QEMU reports later threads from the thread that creates them */
    marks_thread_began(thread);
    profile_thread_began(thread);
    ended_threads_began(thread);
}

static void set_precision(enum gasmark_precision precision)
{
    manner.precision = precision;
    marks_set_precision(precision);
    reporter_precision(precision);
}

/* Needs the loaded program, so it runs when the guest executes its first block. */
static void guest_begins(void)
{
    char path[PATH_MAX];

    guest_runs = true;
    address_space_guest_runs();
    reporter_loaded_objects();
    if (!options.precision_is_forced && (!host_program(path) || precision_is_needed_by(path)))
        set_precision(GASMARK_INSTRUCTION);
}

static void block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    if (!guest_runs)
        guest_begins();
    guest_memory_learn(qemu_plugin_tb_get_insn(tb, 0));
    blocks_count(tb, manner);
    __atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
}

static void register_callbacks(qemu_plugin_id_t id);

/* QEMU has discarded all blocks and translates them again, now with the new settings. */
static void was_reset(qemu_plugin_id_t id)
{
    __atomic_store_n(&blocks, 0, __ATOMIC_RELAXED);
    register_callbacks(id);
}

static void become_precise(qemu_plugin_id_t id)
{
    set_precision(GASMARK_INSTRUCTION);
    qemu_plugin_reset(id, was_reset);
}

/* Linux's stack_t: address, flags, size. */
static void note_alternate_stack(unsigned thread, uint64_t address)
{
    stack_t stack = {0};

    if (address != 0 && guest_memory_read(address, &stack, sizeof stack))
        profile_alternate_stack(thread, (uintptr_t)stack.ss_sp,
                                stack.ss_flags & SS_DISABLE ? 0 : stack.ss_size);
}

/* Reports the system calls that the profile needs. */
static void profile_syscall(unsigned thread, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3)
{
    bool kills = number == GUEST_KILL || number == GUEST_TKILL
                     ? a2 == SIGKILL
                     : number == GUEST_TGKILL && a3 == SIGKILL;

    if (number == GUEST_EXIT_GROUP || kills)
        profile_write();
    if (number == GUEST_MUNMAP)
        profile_unmaps(a1, a2);
    if (number == GUEST_MMAP && (a3 & PROT_EXEC) != 0)
        profile_maps_change();
    if (number == GUEST_SIGALTSTACK)
        note_alternate_stack(thread, a1);
}

static void threads_come(void)
{
    manner.shared = true;
    tally_threads_come();
    profile_threads_come();
    guest_memory_is_shared();
}

/* Returns true for frequent system calls that do not change mappings. */
static bool leaves_mappings(int64_t number)
{
    switch (number) {
    case GUEST_READ:
    case GUEST_WRITE:
    case GUEST_READV:
    case GUEST_WRITEV:
    case GUEST_CLOCK_GETTIME:
    case GUEST_GETTIMEOFDAY:
    case GUEST_GETRUSAGE:
        return true;
    default:
        return false;
    }
}

/* Work that must precede QEMU's own handling of the system call. */
static void before_syscall(unsigned thread, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                           uint64_t a4, uint64_t a5)
{
    if (number == GUEST_MMAP && (a3 & PROT_EXEC) != 0 && (a4 & MAP_ANONYMOUS) == 0)
        reporter_object((int)a5);
    if ((number == GUEST_MMAP && (a4 & MAP_SHARED) != 0) || number == GUEST_SHMAT)
        manner.shared = true;
    if (options.pin_random)
        randomness_asked(number, a1, a2);
    if (number == GUEST_EXIT_GROUP || number == GUEST_EXIT || number == GUEST_EXECVE)
        marks_check_program();
    sandbox_check_process_call(number);
    if (number == GUEST_CLONE && (a1 & CLONE_THREAD) != 0)
        threads_come();
    if (number == GUEST_EXIT)
        ended_threads_exits(thread);
    if (number == GUEST_EXECVE && options.follow)
        follow_execve(a1, a2, a3);
}

static void syscall_entered(qemu_plugin_id_t id, unsigned thread, int64_t number, uint64_t a1,
                            uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                            uint64_t a7, uint64_t a8)
{
    (void)a6, (void)a7, (void)a8;
    tally_set_thread(thread);
    if (!leaves_mappings(number))
        guest_memory_may_change();
    if (!marks_handle(thread, number, a1, a2, a3)) {
        tally_add_syscall(thread);
        reporter_syscall(number);
        if (options.report != NULL)
            marks_note_call(thread, number);
    }
    reporter_add(tally_flush(thread));
    if (options.profile != NULL || options.profile_fd > 0)
        profile_syscall(thread, number, a1, a2, a3);
    before_syscall(thread, number, a1, a2, a3, a4, a5);
    if (manner.precision == GASMARK_BLOCK && !options.precision_is_forced &&
        precision_is_needed(number, a1, a2, a3))
        become_precise(id);
    else if (__atomic_load_n(&blocks, __ATOMIC_RELAXED) > BLOCKS_MAX)
        qemu_plugin_reset(id, was_reset);
}

static void syscall_returned(qemu_plugin_id_t id, unsigned thread, int64_t number, int64_t result)
{
    enum syscall_direction direction = syscall_direction(number);

    (void)id;
    aborts_syscall_ended();
    if (options.pin_random)
        randomness_given(result);
    if (result > 0 && direction != SYSCALL_CARRIES_NOTHING)
        tally_add_bytes(thread, direction & SYSCALL_READS ? (uint64_t)result : 0,
                        direction & SYSCALL_WRITES ? (uint64_t)result : 0);
    reporter_add(tally_flush(thread));
}

typedef int kill_function(pid_t, int);
static kill_function *real_kill;

/* With this, QEMU itself ends by the signal that ends the guest. */
static int end_by_signal(pid_t pid, int signal)
{
    if (pid == getpid()) {
        reporter_add(tally_flush_own());
        profile_write();
    }
    return real_kill(pid, signal);
}

static void register_callbacks(qemu_plugin_id_t id)
{
    qemu_plugin_register_vcpu_init_cb(id, register_thread);
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_vcpu_syscall_cb(id, syscall_entered);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, syscall_returned);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc,
                        char **argv)
{
    if (info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
        fprintf(stderr, "gascount: counts only under qemu-x86_64, not %s\n", info->target_name);
        return -1;
    }
    if (!options_parse(&options, argc, argv))
        return -1;
    if (!host_learn(info)) {
        fprintf(stderr, "gascount: cannot count in this build of QEMU\n");
        return -1;
    }
    if (options.repeat_each && !host_shows_iterations()) {
        fprintf(stderr, "gascount: this QEMU does not show iterations; use rep=once\n");
        return -1;
    }
    tally_begin();
    marks_begin();
    if (!aborts_watch(tally_note_abort)) {
        fprintf(stderr, "gascount: cannot see faults in this build of QEMU\n");
        return -1;
    }
    if (!address_space_manage(host_has_scoreboards()))
        fprintf(stderr, "gascount: memory of this build of QEMU will grow with each mapping\n");
    if (!ended_threads_reclaim())
        fprintf(stderr, "gascount: memory of this build of QEMU will grow with each thread\n");
    if (options.report != NULL && !reporter_open(options.report))
        return -1;
    if (options.profile != NULL && !profile_open(options.profile))
        return -1;
    tally_use_words(reporter_words());
    if (options.kinds)
        tally_use_kind_words(reporter_kind_words());
    if (options.profile_fd > 0 && !profile_open_regions((int)options.profile_fd))
        return -1;
    if (options.profile != NULL || options.profile_fd > 0)
        tally_feed_profile();
    if (!interpose("kill", (void *)end_by_signal, (void **)&real_kill))
        fprintf(stderr,
                "gascount: where a signal ends a process, its last instructions are lost\n");
    manner = (struct blocks_manner){
        .repeat_once = options.repeat_once || !host_shows_iterations(),
        .kinds = options.kinds,
    };
    set_precision(options.precision);
    if (options.limit > 0)
        marks_limit_program(options.limit);
    register_callbacks(id);
    return 0;
}
