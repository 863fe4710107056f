/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pipe/polling.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stamp.h"

/* Nanoseconds. From one delivery to the next SwingSet's kernel takes 1.7 ms at the median, 7 in one
 * of a hundred. */
static const int64_t LONGEST = 10000000;
/* So much later than the last look: something else had the processor, and may want it again. */
static const int64_t GAP = 50000;

const struct poll_page *polling_open(int fd, struct error *error)
{
    struct stat status;
    void *page;

    if (fstat(fd, &status) != 0 || status.st_size < (off_t)sizeof(struct poll_page)) {
        error_set(error, ERROR_USAGE, "--poll-page: descriptor %d has no page", fd);
        return NULL;
    }
    page = mmap(NULL, sizeof(struct poll_page), PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        return page;
    error_system(error, errno, "--poll-page: cannot map descriptor %d", fd);
    return NULL;
}

static bool is_to_poll(const struct poll_page *page)
{
    return atomic_load(&page->worker) == getpid() &&
           atomic_load(&page->processor) != sched_getcpu();
}

ssize_t polling_read(const struct poll_page *page, int fd, struct iovec place)
{
    const int64_t begun = stamp_now().mono;
    int64_t last = begun;

    for (;;) {
        const ssize_t length = preadv2(fd, &place, 1, -1, RWF_NOWAIT);
        int64_t now;

        if (length >= 0)
            return length;
        now = stamp_now().mono;
        if (errno != EAGAIN || !is_to_poll(page) || now - begun > LONGEST || now - last > GAP) {
            errno = EAGAIN; /* whatever else it is, a read(2) meets it, too */
            return -1;
        }
        poll_page_pause();
        last = now;
    }
}
