/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATCH_BYTES = 5 };

/* The kernel says "running", or the number of the system call (proc(5)). */
static bool is_waiting(int threads, const char *thread)
{
    char path[300], words[32];
    ssize_t length;
    int file;

    snprintf(path, sizeof path, "%s/syscall", thread);
    file = openat(threads, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    length = read(file, words, sizeof words);
    close(file);
    return length > 0 && words[0] >= '0' && words[0] <= '9';
}

bool trace_text_is_idle(pid_t process)
{
    const struct dirent *entry;
    char path[64];
    DIR *threads;
    bool idle = false;

    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    threads = opendir(path);
    if (threads == NULL)
        return false;
    /* cppcheck-suppress readdirCalled ; nobody else reads this folder */
    while ((entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        idle = is_waiting(dirfd(threads), entry->d_name);
        if (!idle)
            break;
    }
    closedir(threads);
    return idle;
}

int trace_text_open(pid_t process)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)process);
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Only where the jump still stands. */
bool trace_text_restore(int text, const struct trace_patch *patch)
{
    uint8_t bytes[PATCH_BYTES];

    return pread(text, bytes, sizeof bytes, (off_t)patch->address) == PATCH_BYTES &&
           memcmp(bytes, patch->after, sizeof bytes) == 0 &&
           pwrite(text, patch->before, PATCH_BYTES, (off_t)patch->address) == PATCH_BYTES;
}
