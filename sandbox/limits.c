/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

static const struct {
    int resource;
    const char *name;
    rlim_t most;
} limits[] = {
    {RLIMIT_CORE, "core files", 0},
    {RLIMIT_NOFILE, "descriptors", 64}, /* a worker has six, QEMU some ten more */
    {RLIMIT_FSIZE, "file sizes", (rlim_t)4 << 30},
    /* XS's heap has 2 GiB at most, and for a moment twice that while it grows; what else a worker
     * reserves, with QEMU, is less than 2. RLIMIT_DATA would not hold: memory that is mapped in the
     * place of a reservation passes it. */
    {RLIMIT_AS, "addresses", (rlim_t)16 << 30},
    {RLIMIT_MEMLOCK, "locked memory", 0},
    {RLIMIT_MSGQUEUE, "message queues", 0},
};

int sandbox_limit_resources(struct error *error)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;

        if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0)
            return error_system(error, errno, "cannot read the limit of %s", limits[i].name);
        if (limit.rlim_max > limits[i].most)
            limit.rlim_max = limits[i].most;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0)
            return error_system(error, errno, "cannot limit %s", limits[i].name);
    }
    return 0;
}
