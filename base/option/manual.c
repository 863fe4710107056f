/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/manual.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Relative to the program's directory, in a build tree, an installation or a package. */
static const struct {
    const char *directory, *ending;
} places[] = {
    {"../docs/man/", ".1"},
    {"../../docs/man/", ".1"},
    {"../share/man/man1/", ".1"},
    {"../share/man/man1/", ".1.gz"},
};

static int program_directory(char *directory, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", directory, size - 1);
    char *slash;

    if (length < 0)
        return -1;
    directory[length] = '\0';
    slash = strrchr(directory, '/');
    if (slash == NULL)
        return -1;
    slash[1] = '\0';
    return 0;
}

/* Finds the path of the page; *path is "" if absent. */
static void find_page(char *path, size_t size, const char *page)
{
    char directory[PATH_MAX];

    *path = '\0';
    if (program_directory(directory, sizeof directory) != 0)
        return;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, size, "%s%s%s%s", directory, places[i].directory, page, places[i].ending);
        if (access(path, R_OK) == 0)
            return;
    }
    *path = '\0';
}

int manual_open(const char *program, const char *command, struct error *error)
{
    char page[64], path[PATH_MAX + 128];

    snprintf(page, sizeof page, "%s%s%s", program, command == NULL ? "" : "-",
             command == NULL ? "" : command);
    find_page(path, sizeof path, page);
    signal(SIGPIPE, SIG_DFL); /* which the pager needs and main() ignores */
    signal(SIGXFSZ, SIG_DFL);
    execlp("man", "man", *path == '\0' ? page : path, (char *)NULL);
    return error_system(error, errno, "cannot run man to show %s(1)", page);
}
