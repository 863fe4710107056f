/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "meter/runtime/state.h"

/* Metered code calls these instead of the functions of their names. They write the line before the
 * program is replaced, and blank it if that fails. */
int gasmeter_call_execve(const char *path, char *const arguments[], char *const environment[]);
int gasmeter_call_execv(const char *path, char *const arguments[]);
int gasmeter_call_execvp(const char *file, char *const arguments[]);
int gasmeter_call_execvpe(const char *file, char *const arguments[], char *const environment[]);
int gasmeter_call_fexecve(int fd, char *const arguments[], char *const environment[]);
int gasmeter_call_execl(const char *path, const char *argument, ...);
int gasmeter_call_execlp(const char *file, const char *argument, ...);
int gasmeter_call_execle(const char *path, const char *argument, ...);

pid_t gasmeter_call_vfork(void);

/* A child of vfork() shares its parent's memory and so its count. If it passed the budget it would
 * exit, and the parent would continue without a budget. POSIX does not guarantee sharing, so this
 * uses fork(). */
pid_t gasmeter_call_vfork(void)
{
    return fork();
}

enum call { BY_PATH, BY_NAME, BY_DESCRIPTOR };

static int replace(enum call call, const char *path, int fd, char *const arguments[],
                   char *const environment[])
{
    bool wrote = process_is_own() && report_before_exec();

    if (call == BY_PATH)
        execve(path, arguments, environment);
    else if (call == BY_NAME)
        execvpe(path, arguments, environment);
    else
        fexecve(fd, arguments, environment);
    if (wrote)
        report_take_back();
    return -1;
}

int gasmeter_call_execve(const char *path, char *const arguments[], char *const environment[])
{
    return replace(BY_PATH, path, -1, arguments, environment);
}

int gasmeter_call_execv(const char *path, char *const arguments[])
{
    return replace(BY_PATH, path, -1, arguments, environ);
}

int gasmeter_call_execvp(const char *file, char *const arguments[])
{
    return replace(BY_NAME, file, -1, arguments, environ);
}

int gasmeter_call_execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return replace(BY_NAME, file, -1, arguments, environment);
}

int gasmeter_call_fexecve(int fd, char *const arguments[], char *const environment[])
{
    return replace(BY_DESCRIPTOR, NULL, fd, arguments, environment);
}

#ifdef __GLIBC__
int gasmeter_call_execveat(int directory, const char *path, char *const arguments[],
                           char *const environment[], int flags);

int gasmeter_call_execveat(int directory, const char *path, char *const arguments[],
                           char *const environment[], int flags)
{
    bool wrote = process_is_own() && report_before_exec();

    execveat(directory, path, arguments, environment, flags);
    if (wrote)
        report_take_back();
    return -1;
}
#endif

/* ---- arguments as a list ---------------------------------------------------------- */

/* Returns the number of arguments before NULL. */
static size_t count_arguments(const char *first, va_list list)
{
    size_t count = 0;

    for (const char *argument = first; argument; argument = va_arg(list, const char *))
        count++;
    return count;
}

/* Copies the arguments and their NULL. Returns the environment, which may follow. */
static char *const *take_arguments(const char **arguments, size_t count, const char *first,
                                   va_list list, bool environment_follows)
{
    arguments[0] = first;
    for (size_t i = 1; i <= count; i++)
        arguments[i] = va_arg(list, const char *);
    return environment_follows ? va_arg(list, char *const *) : environ;
}

static int replace_list(enum call call, const char *path, const char *first, va_list list,
                        bool environment_follows)
{
    char *const *environment;
    va_list copy;
    size_t count;

    va_copy(copy, list);
    count = count_arguments(first, copy);
    va_end(copy);

    const char *arguments[count + 1];

    environment = take_arguments(arguments, count, first, list, environment_follows);
    /* exec only reads the strings; its interface is older than `const`. */
    return replace(call, path, -1, (char *const *)(uintptr_t)arguments, environment);
}

int gasmeter_call_execl(const char *path, const char *argument, ...)
{
    va_list list;
    int result;

    va_start(list, argument);
    result = replace_list(BY_PATH, path, argument, list, false);
    va_end(list);
    return result;
}

int gasmeter_call_execlp(const char *file, const char *argument, ...)
{
    va_list list;
    int result;

    va_start(list, argument);
    result = replace_list(BY_NAME, file, argument, list, false);
    va_end(list);
    return result;
}

int gasmeter_call_execle(const char *path, const char *argument, ...)
{
    va_list list;
    int result;

    va_start(list, argument);
    result = replace_list(BY_PATH, path, argument, list, true);
    va_end(list);
    return result;
}
