/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "worker/xs/engine_xs.h"

/* Stands in place of a function that XS calls: the Makefile links with --wrap. */
void __wrap_fxVReportError(void *console, char *path, int line, char *format, va_list arguments);

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
