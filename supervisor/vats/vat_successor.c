/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "supervisor/vats/vat_actions.h"

/* Two workers of one vat at a time are one more than where their number is limited. */
static bool may_have_two(const struct vat *vat)
{
    return vat->owner->options->max_workers == 0;
}

static const struct launcher *launcher_of(const struct vat *vat)
{
    return vat->owner->options->launcher;
}

/* Its two processors' worth of work is no delivery's: it takes no time of one. */
static void set_aside(const struct vat *vat, const struct worker_process *process)
{
    if (launcher_of(vat)->placement != NULL)
        placement_set_aside(launcher_of(vat)->placement, process);
}

bool vat_may_succeed(const struct vat *vat)
{
    return may_have_two(vat) && launcher_of(vat)->trace == NULL;
}

/* A program that records or profiles what it does would begin that for a worker that does nothing,
 * if the run ends before the snapshot is due; one of others' may look at a snapshot's length. */
bool vat_may_be_early(const struct vat *vat)
{
    return vat_may_succeed(vat) && !launcher_of(vat)->foreign &&
           launcher_of(vat)->native_profile == NULL;
}

void vat_open_succession(const struct vat *vat, int ends[2])
{
    const struct save_head *head = &vat->head;

    if (!vat_may_succeed(vat) || pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return;
    }
    /* The pipe is new and takes it, and its reader is there. */
    if (head->length == 0 || write(ends[1], head->bytes, head->length) == (ssize_t)head->length)
        return;
    close(ends[0]);
    close(ends[1]);
    ends[0] = ends[1] = -1;
}

void vat_start_successor(struct vat *vat, int snapshot_fd)
{
    const struct worker_listener listener = successor_listener(&vat->successor);
    struct retirement *retirement;
    struct worker_process *process = NULL;
    struct error ignored; /* it is met again when the worker is started in its turn */

    successor_drop(&vat->successor);
    retirement = retirement_new(&vat->owner->retired, vat_name(vat));
    if (retirement != NULL)
        process = vat_launch(vat, snapshot_fd, NULL, &listener, &ignored);
    close(snapshot_fd);
    if (process == NULL) {
        retirement_free(retirement);
        return;
    }
    successor_set(&vat->successor, process, retirement);
    set_aside(vat, process);
}

bool vat_take_successor(struct vat *vat, const struct worker_listener *listener)
{
    vat->process = successor_take(&vat->successor, listener);
    if (vat->process == NULL)
        return false;
    if (launcher_of(vat)->placement != NULL)
        placement_bring_back(launcher_of(vat)->placement, vat->process);
    return true;
}

bool vat_go_on(struct vat *vat)
{
    const struct worker_listener listener = successor_listener(&vat->successor);
    const bool may = vat->goes_on && !vat->outdated;
    struct retirement *retirement =
        may ? retirement_new(&vat->owner->retired, vat_name(vat)) : NULL;

    if (retirement == NULL)
        return false;
    vat_show_last_words(vat);
    successor_drop(&vat->successor);
    worker_process_listen(vat->process, &listener);
    successor_set(&vat->successor, vat->process, retirement);
    vat->process = NULL;
    return true;
}

bool vat_retire(struct vat *vat)
{
    struct retirement *retirement =
        may_have_two(vat) ? retirement_new(&vat->owner->retired, vat_name(vat)) : NULL;

    if (retirement == NULL)
        return false;
    vat_show_last_words(vat);
    if (launcher_of(vat)->placement != NULL)
        placement_send_away(launcher_of(vat)->placement, vat->process);
    retirement_begin(retirement, vat->process, false);
    vat->process = NULL;
    return true;
}
