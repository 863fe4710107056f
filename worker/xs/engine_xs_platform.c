/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "worker/xs/engine_xs.h"

/* Linux's usual limit, and what gaspipe gives a counted worker. */
enum { STACK_SIZE_MAX = 8 << 20 };

/*
 * What stands in place of two functions that XS calls. The Makefile links with
 * --wrap for each, so that XS itself stays as it was fetched.
 */

int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);
void __wrap_fxVReportError(void *console, char *path, int line, char *format, va_list arguments);

/*
 * The top of the main thread's stack. The kernel puts the program's path there,
 * above the environment, with eight bytes behind it. (The compiled-in meter charges strlen() by
 * the length, which is the folder's; nobody is charged for this.)
 */
static char *stack_top(void)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t end = (uintptr_t)rawmemchr(path, '\0') + 1;

    return (char *)((end + page - 1) / page * page);
}

/*
 * XS asks for the bounds of the C stack before each evaluation. For the main
 * thread glibc answers by reading /proc/self/maps, whose lines hold the paths of
 * the program and its libraries: the instructions of that reading, and the
 * layout of the heap after it, would differ from folder to folder. The kernel
 * grows the stack up to its limit; of more than STACK_SIZE_MAX no use is made,
 * so that a recursion ends at the same depth wherever the limit is not lower.
 */
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    size_t size = STACK_SIZE_MAX;
    struct rlimit limit;
    int result;

    (void)thread; /* there is one */
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size)
        size = limit.rlim_cur;
    result = pthread_attr_init(attributes);
    if (result != 0)
        return result;
    return pthread_attr_setstack(attributes, stack_top() - size, size);
}

/*
 * XS tells the line of a syntax error to its debugger only, and the SyntaxError
 * that a program sees has none. An author needs it: it is said on stderr, for
 * the supervisor to pick up.
 */
void __wrap_fxVReportError(void *console, char *path, int line, char *format, va_list arguments)
{
    char words[256];

    (void)path;
    if (engine_xs_is_quiet(console))
        return;
    vsnprintf(words, sizeof words, format, arguments);
    log_line("line %d: %s", line, words);
}

/*
 * A build with AddressSanitizer asks these for what it shall pass over: XS leaves
 * the code of a script behind when it gives up in the middle of running it
 * (limits of computrons, stack, memory). The worker ends right after.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:fxParserCode\n";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
