/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/array.h"
#include "base/json_text.h"
#include "supervisor/crank_parts.h"

static struct iovec text_bytes(struct vat_text text)
{
    return (struct iovec){.iov_base = (char *)text.bytes, .iov_len = text.length};
}

/* ["ok", value] or, for what is not there, ["ok", null]. */
static enum crank_result answer_value(struct crank *crank, int result, bool found,
                                      struct error *error)
{
    if (result != 0)
        return CRANK_BROKEN;
    buf_append_string(&crank->answer, "[\"ok\",");
    if (found)
        json_text_string(&crank->answer, crank->scratch.data, crank->scratch.length);
    else
        buf_append_string(&crank->answer, "null");
    buf_append_byte(&crank->answer, ']');
    if (!buf_failed(&crank->answer))
        return CRANK_OK;
    error_memory(error, "an answer");
    return CRANK_BROKEN;
}

/* A plain contract resolves one promise: the result of the message in hand. */
static enum crank_result resolve(struct crank *crank, const json_t *resolutions,
                                 struct error *error)
{
    const json_t *resolution = json_array_get(resolutions, 0);
    const char *promise = json_string_value(json_array_get(resolution, 0));
    const json_t *rejected = json_array_get(resolution, 1);
    const json_t *capdata = json_array_get(resolution, 2);

    if (json_array_size(resolutions) != 1 || !crank->wants_result || crank->result.length > 0 ||
        strcmp(promise, crank->result_promise) != 0 || json_is_true(rejected)) {
        error_set(error, ERROR_DELIVERY, "it resolved what is not its to resolve");
        return CRANK_SENSELESS;
    }
    if (crank_put_json(&crank->result, json_object_get(capdata, "body")) != 0) {
        error_memory(error, "a result");
        return CRANK_BROKEN;
    }
    return answer_value(crank, 0, false, error);
}

static enum crank_result do_syscall(struct crank *crank, const struct vat_syscall *syscall,
                                    struct error *error)
{
    struct iovec key = text_bytes(syscall->key);
    bool found = false;
    int result = 0;

    buf_clear(&crank->scratch);
    switch (syscall->kind) {
    case VAT_SYSCALL_STORE_GET:
        result = store_vat_get(crank->store, crank->vat_id, key, &crank->scratch, &found, error);
        break;
    case VAT_SYSCALL_STORE_SET:
        result = store_vat_set(crank->store, crank->vat_id, key, text_bytes(syscall->value), error);
        break;
    case VAT_SYSCALL_STORE_DELETE:
        result = store_vat_delete(crank->store, crank->vat_id, key, error);
        break;
    case VAT_SYSCALL_STORE_NEXT_KEY:
        result =
            store_vat_next_key(crank->store, crank->vat_id, key, &crank->scratch, &found, error);
        break;
    case VAT_SYSCALL_RESOLVE:
        return resolve(crank, syscall->resolutions, error);
    default:
        error_set(error, ERROR_DELIVERY, "it made a syscall that plain contracts have not");
        return CRANK_SENSELESS;
    }
    return answer_value(crank, result, found, error);
}

enum crank_result crank_request(struct crank *crank, const struct vat_request *request,
                                struct error *error)
{
    buf_clear(&crank->answer);
    if (request->kind == VAT_REQUEST_SYSCALL)
        return do_syscall(crank, &request->syscall, error);
    return answer_value(crank, 0, false, error);
}

static int note_event(struct crank *crank, bool console, struct stamp come, struct stamp answered,
                      struct error *error)
{
    struct model_event *events = array_reserve(crank->events, &crank->event_capacity,
                                               crank->event_count + 1, sizeof *events);

    if (events == NULL)
        return error_memory(error, "a request");
    crank->events = events;
    crank->events[crank->event_count++] = (struct model_event){
        .console = console,
        .arrived = come.mono,
        .answered = console ? come.mono : answered.mono,
    };
    return 0;
}

int crank_answered(struct crank *crank, const struct vat_request *request, struct stamp come,
                   struct stamp answered, struct error *error)
{
    bool console = request->kind == VAT_REQUEST_CONSOLE;
    int result = note_event(crank, console, come, answered, error);

    if (result == 0)
        result = crank_log_request(crank, request, come, answered, error);
    if (!console)
        crank->syscall_num++;
    return result;
}
