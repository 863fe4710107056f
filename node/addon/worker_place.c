/* SPDX-License-Identifier: Apache-2.0 */
#include "node/addon/worker_place.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/poll_page.h"

/* ---- the page ---- */

static pthread_once_t page_once = PTHREAD_ONCE_INIT;
static struct poll_page *page; /* NULL: there is none, and nobody polls */
static int page_fd = -1;

static void make_page(void)
{
    char path[64];
    void *memory = MAP_FAILED;
    const int fd = memfd_create("poll page", MFD_CLOEXEC);

    if (fd < 0)
        return;
    if (ftruncate(fd, sizeof *page) == 0)
        memory = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        page_fd = open(path, O_RDONLY | O_CLOEXEC);
        page = memory;
    }
    (void)close(fd);
}

int worker_place_page(void)
{
    (void)pthread_once(&page_once, make_page); /* cannot fail */
    return page_fd;
}

static void ask_to_poll(int worker, int here)
{
    atomic_store(&page->processor, here);
    atomic_store(&page->worker, worker);
}

static void ask_nobody_to_poll(void)
{
    if (page != NULL)
        atomic_store(&page->worker, 0);
}

/* ---- places ---- */

void worker_place_init(struct worker_place *place)
{
    *place = (struct worker_place){.worker = -1, .processor = -1};
}

void worker_place_follow(struct worker_place *place, int worker, bool spread)
{
    if (sched_getaffinity(worker, sizeof place->anywhere, &place->anywhere) != 0)
        return;
    place->worker = worker;
    place->spread = spread && worker_place_page() >= 0;
}

/* A worker that cannot be moved stays where it is. */
static bool move(struct worker_place *place, const cpu_set_t *set, int here, bool apart)
{
    if (sched_setaffinity(place->worker, sizeof *set, set) != 0) {
        place->worker = -1;
        return false;
    }
    place->processor = here;
    place->apart = apart;
    return true;
}

static void put_beside(struct worker_place *place, int here)
{
    cpu_set_t set;

    if (place->processor == here && !place->apart)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)here, &set);
    (void)move(place, &set, here, false);
}

/* False: there is no other processor. */
static bool put_apart(struct worker_place *place, int here)
{
    cpu_set_t set = place->anywhere;

    if (place->processor == here && place->apart)
        return true;
    CPU_CLR((size_t)here, &set);
    return CPU_COUNT(&set) > 0 && move(place, &set, here, true);
}

bool worker_place_put(struct worker_place *place)
{
    const int here = sched_getcpu();

    if (place->worker < 0 || here < 0)
        return false;
    if (place->spread && put_apart(place, here)) {
        ask_to_poll(place->worker, here);
        return true;
    }
    if (place->worker >= 0)
        put_beside(place, here);
    return false;
}

void worker_place_take_back(struct worker_place *place)
{
    const int here = sched_getcpu();

    ask_nobody_to_poll();
    if (place->worker >= 0 && here >= 0)
        put_beside(place, here);
}

void worker_place_leave(struct worker_place *place)
{
    if (place->processor >= 0)
        (void)sched_setaffinity(place->worker, sizeof place->anywhere, &place->anywhere);
    place->processor = -1;
    place->apart = false;
}
