/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/speculative_delivery.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Limits of one record. */
enum { REQUESTS_MAX = 4096, BYTES_MAX = 8 * 1024 * 1024 };

static int record_memory_error(struct error *error)
{
    return error_memory(error, "a speculative delivery");
}

struct speculative_delivery *speculative_delivery_new(struct store *store,
                                                      const struct kernel_delivery *delivery)
{
    struct speculative_delivery *speculative = calloc(1, sizeof *speculative);

    if (speculative == NULL)
        return NULL;
    speculative->vd = strdup(delivery->vd);
    if (speculative->vd == NULL) {
        free(speculative);
        return NULL;
    }
    speculative->vat = delivery->vat;
    speculative->incarnation = delivery->incarnation;
    speculative->position = delivery->position;
    overlay_init(&speculative->overlay, store, delivery->vat);
    return speculative;
}

void speculative_delivery_free(struct speculative_delivery *speculative)
{
    if (speculative == NULL)
        return;
    for (size_t i = 0; i < speculative->count; i++) {
        vat_request_free(&speculative->requests[i].request);
        free(speculative->requests[i].answer);
    }
    free(speculative->requests);
    overlay_free(&speculative->overlay);
    meter_free(&speculative->meter);
    free(speculative->problem);
    free(speculative->stack);
    free(speculative->source);
    free(speculative->value);
    free(speculative->vd);
    free(speculative);
}

bool speculative_delivery_is(const struct speculative_delivery *speculative,
                             const struct kernel_delivery *delivery)
{
    return speculative->vat == delivery->vat && speculative->incarnation == delivery->incarnation &&
           speculative->position == delivery->position &&
           strcmp(speculative->vd, delivery->vd) == 0;
}

/* ---- its requests ---- */

static struct recorded_request *record_request(struct speculative_delivery *speculative,
                                               const struct vat_request *request, struct stamp come,
                                               struct error *error)
{
    struct recorded_request *requests = array_reserve(speculative->requests, &speculative->capacity,
                                                      speculative->count + 1, sizeof *requests);

    if (requests == NULL) {
        record_memory_error(error);
        return NULL;
    }
    speculative->requests = requests;
    requests += speculative->count;
    *requests = (struct recorded_request){.come = come};
    if (vat_request_keep(&requests->request, request) != 0) {
        record_memory_error(error);
        return NULL;
    }
    speculative->count++;
    speculative->bytes += vat_request_size(request);
    return requests;
}

int speculative_delivery_console(struct speculative_delivery *speculative,
                                 const struct vat_request *request, struct stamp come,
                                 struct error *error)
{
    return record_request(speculative, request, come, error) != NULL ? 0 : -1;
}

bool speculative_delivery_is_full(const struct speculative_delivery *speculative)
{
    return speculative->count >= REQUESTS_MAX || speculative->bytes >= BYTES_MAX;
}

int speculative_delivery_syscall(struct speculative_delivery *speculative,
                                 const struct vat_request *request, struct stamp come,
                                 const char **answer, struct error *error)
{
    struct recorded_request *kept = record_request(speculative, request, come, error);
    struct buf text = {0};
    bool found = false;
    int result = kept != NULL ? 0 : -1;

    *answer = NULL;
    if (result == 0 && !speculative_delivery_is_full(speculative))
        result =
            kernel_predict_syscall(&speculative->overlay, &request->syscall, &text, &found, error);
    if (result == 0 && found) {
        *answer = kept->answer = buf_string(&text) != NULL ? strdup(text.data) : NULL;
        result = kept->answer != NULL ? 0 : record_memory_error(error);
        speculative->bytes += text.length;
    }
    speculative->waits = *answer == NULL;
    buf_free(&text);
    return result;
}

void speculative_delivery_answered(struct speculative_delivery *speculative, struct stamp answered)
{
    speculative->requests[speculative->count - 1].answered = answered;
}

/* ---- its end ---- */

static int copy_record_text(char **copy, const char *text, struct error *error)
{
    *copy = text != NULL ? strdup(text) : NULL;
    return text == NULL || *copy != NULL ? 0 : record_memory_error(error);
}

int speculative_delivery_ended(struct speculative_delivery *speculative,
                               const struct warehouse_answer *answer, struct error *error)
{
    speculative->ended = true;
    speculative->come = answer->come;
    speculative->cpu_waits = answer->cpu_waits;
    if (copy_record_text(&speculative->problem, answer->problem, error) != 0 ||
        copy_record_text(&speculative->stack, answer->stack, error) != 0 ||
        copy_record_text(&speculative->source, answer->source, error) != 0 ||
        copy_record_text(&speculative->value, answer->value, error) != 0)
        return -1;
    return meter_copy(&speculative->meter, answer->meter) == 0 ? 0 : record_memory_error(error);
}

int speculative_delivery_lost(struct speculative_delivery *speculative,
                              const struct warehouse_loss *loss, struct error *error)
{
    speculative->ended = speculative->lost = true;
    speculative->come = loss->come;
    speculative->used_known = loss->used != NULL;
    if (loss->used != NULL && meter_copy(&speculative->meter, loss->used) != 0)
        return record_memory_error(error);
    return copy_record_text(&speculative->problem, loss->reason, error);
}

/* ---- run again up to a refused syscall ---- */

int refused_delivery_init(struct refused_delivery *delivery,
                          const struct speculative_delivery *record, size_t refused,
                          enum error_kind blame, const char *reason, struct error *error)
{
    *delivery = (struct refused_delivery){.blame = blame, .reason = strdup(reason)};
    if (delivery->reason == NULL)
        return record_memory_error(error);
    delivery->record = record;
    delivery->refused = refused;
    return 0;
}

void refused_delivery_free(struct refused_delivery *delivery)
{
    free(delivery->reason);
    *delivery = (struct refused_delivery){0};
}

const struct recorded_request *refused_delivery_next(struct refused_delivery *delivery,
                                                     const struct vat_request *request)
{
    const struct recorded_request *recorded;

    if (delivery->next > delivery->refused)
        return NULL;
    recorded = &delivery->record->requests[delivery->next++];
    if (!vat_request_same(&recorded->request, request))
        return NULL;
    delivery->reached = delivery->next > delivery->refused;
    return recorded;
}
