/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATCH_BYTES = 5 };

/* Whether the thread waits in this system call; *first gets the call's first argument. Linux
 * says "running", or the call's number and its arguments (proc(5)). */
static bool is_waiting(int threads, const char *thread, long call, uint64_t *first)
{
    char path[300], words[64];
    ssize_t length;
    char *end;
    int file;

    snprintf(path, sizeof path, "%s/syscall", thread);
    file = openat(threads, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    length = read(file, words, sizeof words - 1);
    close(file);
    words[length > 0 ? length : 0] = '\0';
    if (strtol(words, &end, 10) != call || end == words)
        return false;
    *first = strtoull(end, NULL, 16);
    return true;
}

/* How many threads it has; 0 when not all of them wait in this system call. */
static size_t count_waiting(pid_t process, long call, uint64_t *first)
{
    const struct dirent *entry;
    size_t count = 0;
    char path[64];
    DIR *threads;

    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    threads = opendir(path);
    if (threads == NULL)
        return 0;
    /* cppcheck-suppress readdirCalled ; nobody else reads this folder */
    while ((entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (!is_waiting(dirfd(threads), entry->d_name, call, first)) {
            count = 0;
            break;
        }
    }
    closedir(threads);
    return count;
}

bool trace_text_is_idle(pid_t process)
{
    uint64_t unused;

    return count_waiting(process, SYS_read, &unused) > 0;
}

bool trace_text_waits_at(pid_t process, uint64_t address)
{
    uint64_t first;

    return count_waiting(process, SYS_futex, &first) == 1 && first == address;
}

int trace_text_open(pid_t process)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)process);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool trace_text_put(int text, const struct trace_patch *patch, bool patched)
{
    const uint8_t *const from = patched ? patch->before : patch->after;
    const uint8_t *const to = patched ? patch->after : patch->before;
    uint8_t bytes[PATCH_BYTES];

    if (pread(text, bytes, sizeof bytes, (off_t)patch->address) != PATCH_BYTES)
        return false;
    if (memcmp(bytes, to, sizeof bytes) == 0)
        return true;
    return memcmp(bytes, from, sizeof bytes) == 0 &&
           pwrite(text, to, PATCH_BYTES, (off_t)patch->address) == PATCH_BYTES;
}
