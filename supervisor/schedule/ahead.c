/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* What one delivery may have kept before it waits for its turn. */
enum { REQUESTS_MAX = 4096, BYTES_MAX = 8 * 1024 * 1024 };

static int no_memory(struct error *error)
{
    return error_memory(error, "a delivery before its turn");
}

struct ahead *ahead_new(struct store *store, const struct kernel_delivery *delivery)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);

    if (ahead == NULL)
        return NULL;
    ahead->vd = strdup(delivery->vd);
    if (ahead->vd == NULL) {
        free(ahead);
        return NULL;
    }
    ahead->vat = delivery->vat;
    ahead->incarnation = delivery->incarnation;
    ahead->position = delivery->position;
    overlay_init(&ahead->overlay, store, delivery->vat);
    return ahead;
}

void ahead_free(struct ahead *ahead)
{
    if (ahead == NULL)
        return;
    for (size_t i = 0; i < ahead->count; i++) {
        vat_request_free(&ahead->requests[i].request);
        free(ahead->requests[i].answer);
    }
    free(ahead->requests);
    overlay_free(&ahead->overlay);
    meter_free(&ahead->meter);
    free(ahead->problem);
    free(ahead->value);
    free(ahead->vd);
    free(ahead);
}

bool ahead_is(const struct ahead *ahead, const struct kernel_delivery *delivery)
{
    return ahead->vat == delivery->vat && ahead->incarnation == delivery->incarnation &&
           ahead->position == delivery->position && strcmp(ahead->vd, delivery->vd) == 0;
}

/* ---- what it says and asks ---- */

static struct ahead_request *keep(struct ahead *ahead, const struct vat_request *request,
                                  struct stamp come, struct error *error)
{
    struct ahead_request *requests =
        array_reserve(ahead->requests, &ahead->capacity, ahead->count + 1, sizeof *requests);

    if (requests == NULL) {
        no_memory(error);
        return NULL;
    }
    ahead->requests = requests;
    requests += ahead->count++;
    *requests = (struct ahead_request){.request = vat_request_keep(request), .come = come};
    ahead->bytes += json_dumpb(request->message, NULL, 0, JSON_COMPACT);
    return requests;
}

int ahead_said(struct ahead *ahead, const struct vat_request *request, struct stamp come,
               struct error *error)
{
    return keep(ahead, request, come, error) != NULL ? 0 : -1;
}

bool ahead_is_full(const struct ahead *ahead)
{
    return ahead->count >= REQUESTS_MAX || ahead->bytes >= BYTES_MAX;
}

int ahead_asked(struct ahead *ahead, const struct vat_request *request, struct stamp come,
                const char **answer, struct error *error)
{
    struct ahead_request *kept = keep(ahead, request, come, error);
    struct buf text = {0};
    bool found = false;
    int result = kept != NULL ? 0 : -1;

    *answer = NULL;
    if (result == 0 && !ahead_is_full(ahead))
        result = kernel_predict_syscall(&ahead->overlay, &request->syscall, &text, &found, error);
    if (result == 0 && found) {
        *answer = kept->answer = buf_string(&text) != NULL ? strdup(text.data) : NULL;
        result = kept->answer != NULL ? 0 : no_memory(error);
        ahead->bytes += text.length;
    }
    ahead->waits = *answer == NULL;
    buf_free(&text);
    return result;
}

void ahead_answered(struct ahead *ahead, struct stamp answered)
{
    ahead->requests[ahead->count - 1].answered = answered;
}

/* ---- how it ends ---- */

static int copy_text(char **copy, const char *text, struct error *error)
{
    *copy = text != NULL ? strdup(text) : NULL;
    return text == NULL || *copy != NULL ? 0 : no_memory(error);
}

int ahead_ended(struct ahead *ahead, const struct warehouse_answer *answer, struct error *error)
{
    ahead->ended = true;
    ahead->come = answer->come;
    if (copy_text(&ahead->problem, answer->problem, error) != 0 ||
        copy_text(&ahead->value, answer->value, error) != 0)
        return -1;
    return meter_copy(&ahead->meter, answer->meter) == 0 ? 0 : no_memory(error);
}

int ahead_lost(struct ahead *ahead, const struct warehouse_loss *loss, struct error *error)
{
    ahead->ended = ahead->lost = true;
    ahead->come = loss->come;
    ahead->blame = loss->blame;
    return copy_text(&ahead->problem, loss->reason, error);
}
