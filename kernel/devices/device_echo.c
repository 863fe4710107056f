/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device for tests. echo(x) returns x. add_values(a, b) returns the sum of two numbers,
 * bigints of 63 bits or texts. fail(why) fails. subscribe(listener) sends event(count,
 * words) to the listener at each kernel_trigger().
 */
#include <inttypes.h>
#include <string.h>

#include "kernel/devices/device.h"
#include "kernel/records/capdata.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/reference.h"

static int echo(struct kernel *kernel, struct device_call *call, struct error *error)
{
    const json_t *value = json_array_get(call->arguments, 0);
    struct error problem;

    (void)kernel;
    if (value == NULL)
        return 0;
    call->result = capdata_move(value, call->slots, call->result_slots, &problem);
    return call->result != NULL ? 0 : device_refuse(call, error, "%s", problem.text);
}

static json_t *sum_of_texts(const char *a, const char *b)
{
    json_t *sum = json_sprintf("%s%s", a, b), *escaped;

    if (sum == NULL)
        return NULL;
    escaped = capdata_string(json_string_value(sum));
    json_decref(sum);
    return escaped;
}

static json_t *sum_of_values(const json_t *a, const json_t *b)
{
    int64_t left, right, sum;

    if (json_is_integer(a) && json_is_integer(b) &&
        !__builtin_add_overflow(json_integer_value(a), json_integer_value(b), &sum))
        return json_integer(sum);
    if (json_is_number(a) && json_is_number(b))
        return json_real(json_number_value(a) + json_number_value(b));
    if (json_is_string(a) && json_is_string(b) && capdata_natural(a, &left) &&
        capdata_natural(b, &right) && !__builtin_add_overflow(left, right, &sum))
        return json_sprintf("+%" PRId64, sum);
    if (capdata_text(a) != NULL && capdata_text(b) != NULL)
        return sum_of_texts(capdata_text(a), capdata_text(b));
    return NULL;
}

static int add_values(struct kernel *kernel, struct device_call *call, struct error *error)
{
    (void)kernel;
    call->result =
        sum_of_values(json_array_get(call->arguments, 0), json_array_get(call->arguments, 1));
    return call->result != NULL ? 0 : device_refuse(call, error, "cannot add these");
}

static int device_echo_fail(struct kernel *kernel, struct device_call *call, struct error *error)
{
    const char *why = json_string_value(json_array_get(call->arguments, 0));

    (void)kernel;
    return device_refuse(call, error, "%.200s", why != NULL ? why : "asked to fail");
}

static int set_listener(struct kernel *kernel, int64_t device, const char *listener, int64_t count,
                        struct error *error)
{
    json_t *state = json_pack("{s:s?,s:I}", "listener", listener, "count", (json_int_t)count);
    int result = state != NULL ? device_set_state(kernel, device, state, error)
                               : error_memory(error, "a device's state");

    json_decref(state);
    return result;
}

static int64_t count_of(const json_t *state)
{
    return json_integer_value(json_object_get(state, "count"));
}

static int echo_subscribe(struct kernel *kernel, struct device_call *call, struct error *error)
{
    const char *listener = capdata_slot(json_array_get(call->arguments, 0), call->slots);
    json_t *state;
    int result;

    if (listener == NULL || reference_kref_kind(listener) != REFERENCE_OBJECT)
        return device_refuse(call, error, "the listener is not an object");
    if (device_get_state(kernel, call->device, &state, error) != 0)
        return -1;
    result = set_listener(kernel, call->device, listener, count_of(state), error);
    json_decref(state);
    return result;
}

static int notify_listener(struct kernel *kernel, int64_t device, const json_t *state,
                           const char *words, bool *heard, struct error *error)
{
    const char *listener = json_string_value(json_object_get(state, "listener"));
    int64_t count = count_of(state) + 1;
    json_t *arguments;

    if (set_listener(kernel, device, listener, count, error) != 0)
        return -1;
    *heard = listener != NULL;
    if (!*heard)
        return 0;
    arguments = json_pack("[I,o]", (json_int_t)count, capdata_string(words));
    return device_send(kernel, listener, "event", arguments, error);
}

int kernel_trigger(struct kernel *kernel, const char *words, bool *heard, struct error *error)
{
    int64_t device;
    json_t *state;
    int result;

    if (device_named(kernel, "echo", &device, heard, error) != 0)
        return -1;
    if (!*heard)
        return 0;
    if (device_get_state(kernel, device, &state, error) != 0)
        return -1;
    result = notify_listener(kernel, device, state, words, heard, error);
    json_decref(state);
    return crank_hash_outside(kernel, result, error);
}

int device_echo(struct kernel *kernel, struct device_call *call, struct error *error)
{
    static const struct {
        const char *name;
        device_method method;
    } methods[] = {{"echo", echo},
                   {"add", add_values},
                   {"fail", device_echo_fail},
                   {"subscribe", echo_subscribe}};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(call->method, methods[i].name) == 0)
            return methods[i].method(kernel, call, error);
    }
    return device_refuse(call, error, "no such method");
}
