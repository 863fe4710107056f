/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/emulator/aborts.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "counter/qemu/emulator/interpose.h"

/*
 * One guest thread is one host thread. This model keeps the first access from
 * taking memory, since that may happen within a signal handler.
 */
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

static int lock(pthread_mutex_t *mutex)
{
    int result = real_lock(mutex);

    locks_held += result == 0;
    return result;
}

/* What was locked before the counter watched is unlocked as well. */
static int unlock(pthread_mutex_t *mutex)
{
    int result = real_unlock(mutex);

    locks_held -= result == 0 && locks_held > 0;
    return result;
}

/* A fault that QEMU mends, such as a store to a page with code, returns. */
static void handle_fault(int signal, siginfo_t *info, void *context)
{
    in_fault_signal = true;
    fault_handler(signal, info, context);
    in_fault_signal = false;
}

/* QEMU has one handler for all signals. */
static int install(int signal, const struct sigaction *action, struct sigaction *before)
{
    struct sigaction ours;

    if (action == NULL || (signal != SIGSEGV && signal != SIGBUS) ||
        (action->sa_flags & SA_SIGINFO) == 0)
        return real_sigaction(signal, action, before);
    fault_handler = action->sa_sigaction;
    ours = *action;
    ours.sa_sigaction = handle_fault;
    return real_sigaction(signal, &ours, before);
}

bool aborts_watch(abort_function *noted)
{
    bool jumps;

    note = noted;
    jumps = interpose("siglongjmp", (void *)jump, (void **)&real_jump);
    jumps |= interpose("__longjmp_chk", (void *)checked_jump, (void **)&real_checked_jump);
    return jumps && interpose("pthread_mutex_lock", (void *)lock, (void **)&real_lock) &&
           interpose("pthread_mutex_unlock", (void *)unlock, (void **)&real_unlock) &&
           interpose("sigaction", (void *)install, (void **)&real_sigaction);
}

void aborts_syscall_ended(void)
{
    locks_held = 0;
}
