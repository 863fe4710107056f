/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/emulator/host.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter/qemu/emulator/interpose.h"
#include "counter/qemu/guest/follow.h"

/* QEMU checks this version after loading the plugin and rejects an unknown one. */
int qemu_plugin_version = 1;

/* qemu_plugin_insn_data() returns a pointer to the bytes in versions 1 and 2, and copies the bytes
 * from version 3 on. */
typedef const void *point_function(const struct qemu_plugin_insn *insn);
typedef size_t copy_function(const struct qemu_plugin_insn *insn, void *to, size_t capacity);
static point_function *point_to_bytes;
static copy_function *copy_bytes;

static struct qemu_plugin_u64 added;

__attribute__((constructor)) static void choose_version(void)
{
    if (qemu_plugin_scoreboard_new != NULL)
        qemu_plugin_version = 2;
}

bool host_learn(const struct qemu_plugin_info *info)
{
    void *bytes_function = dlsym(RTLD_DEFAULT, "qemu_plugin_insn_data");

    if (bytes_function == NULL)
        return false;
    if (info->version.cur >= 3)
        copy_bytes = (copy_function *)bytes_function;
    else
        point_to_bytes = (point_function *)bytes_function;
    if (!host_has_scoreboards())
        return true;
    added.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    return added.score != NULL;
}

bool host_has_scoreboards(void)
{
    return qemu_plugin_scoreboard_new != NULL;
}

bool host_shows_iterations(void)
{
    return !host_has_scoreboards();
}

bool host_program(char path[PATH_MAX])
{
    char *qemu_path = qemu_plugin_path_to_binary != NULL ? qemu_plugin_path_to_binary() : NULL;
    bool known = qemu_path != NULL ? snprintf(path, PATH_MAX, "%s", qemu_path) < PATH_MAX
                                   : present_program(path);

    free(qemu_path);
    return known;
}

size_t host_instruction_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes, size_t capacity)
{
    size_t size = qemu_plugin_insn_size(insn);

    if (size > capacity)
        size = capacity;
    if (copy_bytes != NULL)
        return copy_bytes(insn, bytes, size);
    memcpy(bytes, point_to_bytes(insn), size);
    return size;
}

void host_add_before(struct qemu_plugin_insn *insn, uint64_t number)
{
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, added,
                                                        number);
}

uint64_t host_added(unsigned thread)
{
    return qemu_plugin_u64_get(added, thread);
}

/* ---- instructions that were aborted ---- */

/* One guest thread is one host thread. With this TLS model the first access allocates no memory,
 * which matters in a signal handler. */
#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))

OF_THREAD bool in_fault_signal;
OF_THREAD unsigned locks_held;

typedef void jump_function(sigjmp_buf, int);
typedef int lock_function(pthread_mutex_t *);
typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
typedef void signal_function(int, siginfo_t *, void *);

static jump_function *real_jump, *real_checked_jump;
static lock_function *real_lock, *real_unlock;
static sigaction_function *real_sigaction;
static signal_function *fault_handler;
static abort_function *note;

static void note_jump(void)
{
    bool by_signal = in_fault_signal;

    in_fault_signal = false;
    if (locks_held == 0)
        note(by_signal ? ABORT_BY_MEMORY : ABORT_BY_RAISING);
}

static void jump(sigjmp_buf where, int value)
{
    note_jump();
    real_jump(where, value);
}

static void checked_jump(sigjmp_buf where, int value)
{
    note_jump();
    real_checked_jump(where, value);
}

static int count_lock(pthread_mutex_t *mutex)
{
    int result = real_lock(mutex);

    locks_held += result == 0;
    return result;
}

/* QEMU may unlock a mutex that it locked before aborts_watch(). */
static int count_unlock(pthread_mutex_t *mutex)
{
    int result = real_unlock(mutex);

    locks_held -= result == 0 && locks_held > 0;
    return result;
}

/* If QEMU repairs the fault, such as a store to a page with code, the handler returns. */
static void handle_fault(int signal, siginfo_t *info, void *context)
{
    in_fault_signal = true;
    fault_handler(signal, info, context);
    in_fault_signal = false;
}

/* QEMU installs one handler for all signals. */
static int install(int signal, const struct sigaction *action, struct sigaction *before)
{
    struct sigaction watched;

    if (action == NULL || (signal != SIGSEGV && signal != SIGBUS) ||
        (action->sa_flags & SA_SIGINFO) == 0)
        return real_sigaction(signal, action, before);
    fault_handler = action->sa_sigaction;
    watched = *action;
    watched.sa_sigaction = handle_fault;
    return real_sigaction(signal, &watched, before);
}

bool aborts_watch(abort_function *noted)
{
    bool jumps;

    note = noted;
    jumps = interpose("siglongjmp", (void *)jump, (void **)&real_jump);
    jumps |= interpose("__longjmp_chk", (void *)checked_jump, (void **)&real_checked_jump);
    return jumps && interpose("pthread_mutex_lock", (void *)count_lock, (void **)&real_lock) &&
           interpose("pthread_mutex_unlock", (void *)count_unlock, (void **)&real_unlock) &&
           interpose("sigaction", (void *)install, (void **)&real_sigaction);
}

void aborts_syscall_ended(void)
{
    locks_held = 0;
}
