/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/kernel.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "supervisor/vat.h"

void kernel_fail(struct kernel *kernel, const struct error *error)
{
    if (kernel->failed)
        return;
    kernel->failed = true;
    if (kernel->crank_open)
        crank_abandon(&kernel->crank);
    kernel->crank_open = false;
    kernel->receiver = NULL;
    kernel->listener.failed(kernel->listener.context, error);
}

static void tell_delivered(struct kernel *kernel, const struct delivery_report *report)
{
    kernel->crank_open = false;
    kernel->receiver = NULL;
    kernel->listener.delivered(kernel->listener.context, report);
}

void kernel_finish_crank(struct kernel *kernel, const struct crank_end *end)
{
    struct delivery_report report;
    struct error error;

    kernel->crank_next++;
    kernel->receiver->stored.delivery_next++;
    if (crank_finish(&kernel->crank, end, &report, &error) != 0) {
        kernel_fail(kernel, &error);
        return;
    }
    tell_delivered(kernel, &report);
}

/* A delivery to a vat that has ended never becomes a crank. */
static void refuse_delivery(struct kernel *kernel)
{
    struct vat *vat = kernel->receiver;
    struct delivery_line line = {0};
    struct crank_vat of = {.id = vat->stored.id, .name = vat->name};
    struct buf words = {0};
    struct delivery_report report;
    struct error error;

    if (kernel->line != NULL) {
        line = *kernel->line;
        line.wants_result = false;
    }
    buf_printf(&words, "the vat has ended: %s", vat->reason);
    if (buf_string(&words) == NULL ||
        crank_refuse(&kernel->crank, &of, kernel->line != NULL ? &line : NULL, &report, &error) !=
            0) {
        error_memory(&error, "a delivery");
        kernel_fail(kernel, &error);
    } else {
        report.error = words.data;
        report.blame = vat->blame;
        tell_delivered(kernel, &report);
    }
    buf_free(&words);
}

void kernel_end_delivery_of(struct vat *vat)
{
    struct kernel *kernel = vat->kernel;
    struct crank_end end = {
        .returned = stamp_now(),
        .problem = vat->reason,
        .blame = vat->blame,
        .vat_ended = true,
    };
    struct error error;

    if (kernel->failed || kernel->closing)
        return;
    if (kernel->receiver == vat && kernel->crank_open)
        kernel_finish_crank(kernel, &end);
    else if (crank_log_terminate(&kernel->crank, vat->id_text, vat->reason, end.returned, &error) !=
             0)
        kernel_fail(kernel, &error);
    else if (kernel->receiver == vat)
        refuse_delivery(kernel);
}

void kernel_deliver_when_ready(struct kernel *kernel)
{
    struct vat *vat = kernel->receiver;

    if (vat == NULL || kernel->crank_open)
        return;
    if (vat->state == VAT_IDLE)
        vat_event(vat, VAT_EVENT_DELIVER);
    else if (vat->state == VAT_ENDING || vat->state == VAT_ENDED)
        refuse_delivery(kernel);
}

static void deliver_later(uv_idle_t *later)
{
    uv_idle_stop(later);
    kernel_deliver_when_ready(later->data);
}

void kernel_deliver(struct kernel *kernel, int vat, const struct delivery_line *line)
{
    kernel->receiver = kernel->vats[vat];
    kernel->line = line;
    if (kernel->receiver->state == VAT_IDLE)
        kernel_deliver_when_ready(kernel);
    else
        /* A refusal is told out of the loop: an owner who delivers again on being
         * told would otherwise make the stack grow. Cannot fail: the callback is there. */
        (void)uv_idle_start(&kernel->later, deliver_later);
}

static int check_name(const struct kernel *kernel, const char *name, struct error *error)
{
    const char *at = name;

    while (isalnum((unsigned char)*at) || *at == '_' || *at == '-' || *at == '.')
        at++;
    if (at == name || *at != '\0')
        return error_set(error, ERROR_USAGE,
                         "a vat's name is made of letters, digits, '_', '-' and '.', not '%s'",
                         name);
    if (kernel_find_vat(kernel, name) >= 0)
        return error_set(error, ERROR_USAGE, "there are two vats called '%s'", name);
    return 0;
}

/* The vat's place in the kernel, before anything of it runs. */
static int append_vat(struct kernel *kernel, struct vat *vat, struct error *error)
{
    struct vat **vats =
        array_reserve(kernel->vats, &kernel->vat_capacity, kernel->vat_count + 1, sizeof(vat));

    if (vats == NULL)
        return error_memory(error, "a vat");
    kernel->vats = vats;
    vats[kernel->vat_count++] = vat;
    /* Cannot fail in any libuv 1. */
    (void)uv_timer_init(kernel->options.loop, &vat->timer);
    vat->timer.data = vat;
    return 0;
}

int kernel_add_vat(struct kernel *kernel, const char *name, const char *path, struct error *error)
{
    struct vat *vat;

    if (check_name(kernel, name, error) != 0)
        return -1;
    vat = vat_new(kernel, name, path);
    if (vat == NULL)
        return error_memory(error, "a vat");
    if (contract_file_read(&vat->contract, path, error) != 0 ||
        vat_numbers_provide(kernel->options.store, name, &vat->stored, error) != 0 ||
        append_vat(kernel, vat, error) != 0) {
        vat_free(vat);
        return -1;
    }
    snprintf(vat->id_text, sizeof vat->id_text, "v%" PRId64, vat->stored.id);
    if (vat_log_create(vat, error) != 0)
        return -1;
    return vat_start(vat, error);
}

int kernel_find_vat(const struct kernel *kernel, const char *name)
{
    for (size_t i = 0; i < kernel->vat_count; i++)
        if (strcmp(kernel->vats[i]->name, name) == 0)
            return (int)i;
    return -1;
}

const char *kernel_vat_path(const struct kernel *kernel, int vat)
{
    return kernel->vats[vat]->path;
}

struct kernel *kernel_new(const struct kernel_options *options,
                          const struct kernel_listener *listener, struct error *error)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);

    if (kernel == NULL) {
        error_memory(error, "the kernel");
        return NULL;
    }
    kernel->options = *options;
    kernel->listener = *listener;
    if (vat_numbers_crank_next(options->store, &kernel->crank_next, error) != 0) {
        free(kernel);
        return NULL;
    }
    crank_init(&kernel->crank, options->store, options->slog);
    /* Cannot fail in any libuv 1. */
    (void)uv_idle_init(options->loop, &kernel->later);
    kernel->later.data = kernel;
    return kernel;
}

void kernel_tell_when_closed(struct kernel *kernel)
{
    if (!kernel->closing)
        return;
    for (size_t i = 0; i < kernel->vat_count; i++)
        if (kernel->vats[i]->state != VAT_ENDED)
            return;
    for (size_t i = 0; i < kernel->vat_count; i++)
        vat_close_timer(kernel->vats[i]);
    if (!uv_is_closing((uv_handle_t *)&kernel->later)) {
        uv_close((uv_handle_t *)&kernel->later, NULL);
        kernel->listener.closed(kernel->listener.context);
    }
}

void kernel_close(struct kernel *kernel)
{
    if (kernel->closing)
        return;
    kernel->closing = true;
    if (kernel->crank_open)
        crank_abandon(&kernel->crank);
    kernel->crank_open = false;
    kernel->receiver = NULL;
    uv_idle_stop(&kernel->later);
    for (size_t i = 0; i < kernel->vat_count; i++)
        vat_event(kernel->vats[i], VAT_EVENT_CLOSE);
    kernel_tell_when_closed(kernel);
}

void kernel_free(struct kernel *kernel)
{
    if (kernel == NULL)
        return;
    for (size_t i = 0; i < kernel->vat_count; i++)
        vat_free(kernel->vats[i]);
    free(kernel->vats);
    crank_free(&kernel->crank);
    free(kernel);
}
