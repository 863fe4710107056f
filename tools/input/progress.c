/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

enum { INTERVAL_SECONDS = 2, SECOND = 1000 * 1000 * 1000 };

static int64_t now(void)
{
    struct timespec time = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

void progress_begin(struct progress *progress, bool wanted)
{
    progress->wanted = wanted && isatty(STDERR_FILENO);
    progress->next = now() + (int64_t)INTERVAL_SECONDS * SECOND;
}

void progress_show(struct progress *progress, const char *path, uint64_t position, uint64_t size,
                   uint64_t lines)
{
    if (!progress->wanted || now() < progress->next)
        return;
    progress->next = now() + (int64_t)INTERVAL_SECONDS * SECOND;
    if (size > 0)
        log_line("%s: %" PRIu64 " %% read, %" PRIu64 " lines so far", path,
                 position >= size ? 100 : position * 100 / size, lines);
    else
        log_line("%s: %" PRIu64 " MB read, %" PRIu64 " lines so far", path, position / 1000000,
                 lines);
}
