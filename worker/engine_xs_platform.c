/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

/*
 * What stands in place of two functions that XS calls. The Makefile links with
 * --wrap for each, so that XS itself stays as it was fetched.
 */

int __real_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);
void __wrap_fxVReportError(void *console, char *path, int line, char *format, va_list arguments);

/*
 * XS asks for the bounds of the C stack before each evaluation. For the main
 * thread glibc answers by reading /proc/self/maps, whose length depends on the
 * paths of the program and its libraries; the instructions of that reading
 * would be counted, and so a delivery would cost more in a longer folder. The
 * bounds do not change while the worker runs: they are asked for once, at
 * start-up, and remembered.
 */
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    static void *address;
    static size_t size;
    pthread_attr_t asked;
    int result;

    if (size == 0) {
        result = __real_pthread_getattr_np(thread, &asked);
        if (result != 0)
            return result;
        result = pthread_attr_getstack(&asked, &address, &size);
        pthread_attr_destroy(&asked);
        if (result != 0)
            return result;
    }
    result = pthread_attr_init(attributes);
    if (result != 0)
        return result;
    return pthread_attr_setstack(attributes, address, size);
}

/*
 * XS tells the line of a syntax error to its debugger only, and the SyntaxError
 * that a program sees has none. An author needs it: it is said on stderr, for
 * the supervisor to pick up.
 */
void __wrap_fxVReportError(void *console, char *path, int line, char *format, va_list arguments)
{
    char words[256];

    (void)console;
    (void)path;
    vsnprintf(words, sizeof words, format, arguments);
    log_line("line %d: %s", line, words);
}
