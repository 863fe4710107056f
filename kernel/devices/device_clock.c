/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock, in the protocol of SwingSet's timer device
 * (npm @agoric/swingset-vat, src/devices/timer/device-timer.js), so that its timer
 * vat can use it. Times are bigints from 0 up to 2^63 - 1; what is beyond fails.
 * setWakeup(time, handler) has wake(time) sent to the handler when the clock
 * is set to that time or later.
 */
#include <inttypes.h>
#include <string.h>

#include "kernel/devices/device.h"
#include "kernel/records/capdata.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/reference.h"

/*
 * The state: {"lastPolled":T,"deadlines":[{"time":T,"handlers":[{"handler":kref,
 * "index":repeater},...]},...] in the order of time,"repeaters":[{"startTime":T,
 * "interval":T} or null,...]}.
 */
static json_t *new_state(void)
{
    return json_pack("{s:i,s:[],s:[]}", "lastPolled", 0, "deadlines", "repeaters");
}

static bool is_time(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool are_handlers(const json_t *handlers)
{
    const json_t *entry;
    enum reference_kind kind;
    size_t i;

    json_array_foreach(handlers, i, entry)
    {
        const json_t *index = json_object_get(entry, "index");

        if (!reference_read_kref(&kind, json_string_value(json_object_get(entry, "handler"))) ||
            kind != REFERENCE_OBJECT || (index != NULL && !is_time(index)))
            return false;
    }
    return json_is_array(handlers);
}

static bool is_clock_state(const json_t *state)
{
    const json_t *deadlines = json_object_get(state, "deadlines"), *event;
    size_t i;

    json_array_foreach(deadlines, i, event)
    {
        if (!is_time(json_object_get(event, "time")) ||
            !are_handlers(json_object_get(event, "handlers")))
            return false;
    }
    return is_time(json_object_get(state, "lastPolled")) && json_is_array(deadlines) &&
           json_is_array(json_object_get(state, "repeaters"));
}

static int get_state(struct kernel *kernel, int64_t device, json_t **state, struct error *error)
{
    if (device_get_state(kernel, device, state, error) != 0)
        return -1;
    if (*state == NULL)
        *state = new_state();
    if (*state == NULL)
        return error_memory(error, "the clock");
    if (is_clock_state(*state))
        return 0;
    json_decref(*state);
    return error_set(error, ERROR_SYSTEM, "the store is damaged: the clock's deviceState");
}

static int64_t device_clock_number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static json_t *time_value(int64_t time)
{
    return json_sprintf("+%" PRId64, time);
}

/* Finds the event at that time, or inserts one. */
static json_t *event_at(json_t *deadlines, int64_t time)
{
    json_t *event;
    size_t i;

    for (i = 0; i < json_array_size(deadlines); i++) {
        event = json_array_get(deadlines, i);
        if (device_clock_number_of(event, "time") == time)
            return event;
        if (device_clock_number_of(event, "time") > time)
            break;
    }
    event = json_pack("{s:I,s:[]}", "time", (json_int_t)time, "handlers");
    return json_array_insert_new(deadlines, i, event) == 0 ? event : NULL;
}

/* `index` of a repeater; -1: the handler is called once. */
static int add_handler(json_t *state, int64_t time, const char *handler, int64_t index,
                       struct error *error)
{
    json_t *event = event_at(json_object_get(state, "deadlines"), time);
    json_t *entry = json_pack("{s:s}", "handler", handler);

    if (index >= 0)
        json_object_set_new(entry, "index", json_integer(index));
    if (json_array_append_new(json_object_get(event, "handlers"), entry) != 0)
        return error_memory(error, "the clock");
    return 0;
}

/* Returns the first startTime + N * interval after `after`. */
static bool next_time(const json_t *repeater, int64_t after, int64_t *time)
{
    int64_t start = device_clock_number_of(repeater, "startTime"),
            interval = device_clock_number_of(repeater, "interval");

    return interval > 0 && !__builtin_sub_overflow(interval, (after - start) % interval, time) &&
           !__builtin_add_overflow(*time, after, time);
}

/* ---- methods ---- */

static const char *handler_at(const struct device_call *call, size_t index)
{
    const char *kref = capdata_slot(json_array_get(call->arguments, index), call->slots);

    return kref != NULL && reference_kref_kind(kref) == REFERENCE_OBJECT ? kref : NULL;
}

static bool time_at(const struct device_call *call, size_t index, int64_t *time)
{
    const json_t *value = json_array_get(call->arguments, index);

    return value != NULL && capdata_natural(value, time);
}

static int set_wakeup(struct kernel *kernel, struct device_call *call, json_t *state,
                      struct error *error)
{
    const char *handler = handler_at(call, 1);
    int64_t time;

    (void)kernel;
    if (!time_at(call, 0, &time) || handler == NULL)
        return device_refuse(call, error, "setWakeup needs a time and an object");
    call->result = time_value(time);
    return add_handler(state, time, handler, -1, error);
}

/* Removes the handler from the event, and appends its times to `times`. */
static int remove_from(json_t *event, const char *handler, json_t *times, struct error *error)
{
    json_t *handlers = json_object_get(event, "handlers");

    for (size_t i = json_array_size(handlers); i > 0; i--) {
        const json_t *entry = json_array_get(handlers, i - 1);

        if (strcmp(json_string_value(json_object_get(entry, "handler")), handler) != 0)
            continue;
        json_array_remove(handlers, i - 1);
        if (json_array_append_new(times, time_value(device_clock_number_of(event, "time"))) != 0)
            return error_memory(error, "the clock");
    }
    return 0;
}

static int remove_wakeup(struct kernel *kernel, struct device_call *call, json_t *state,
                         struct error *error)
{
    json_t *deadlines = json_object_get(state, "deadlines");
    const char *handler = handler_at(call, 0);

    (void)kernel;
    if (handler == NULL)
        return device_refuse(call, error, "removeWakeup needs an object");
    call->result = json_array();
    for (size_t i = 0; i < json_array_size(deadlines);) {
        json_t *event = json_array_get(deadlines, i);

        if (remove_from(event, handler, call->result, error) != 0)
            return -1;
        if (json_array_size(json_object_get(event, "handlers")) == 0)
            json_array_remove(deadlines, i);
        else
            i++;
    }
    return 0;
}

static int get_last_polled(struct kernel *kernel, struct device_call *call, json_t *state,
                           struct error *error)
{
    (void)kernel;
    call->result = time_value(device_clock_number_of(state, "lastPolled"));
    return call->result != NULL ? 0 : error_memory(error, "the clock");
}

static int make_repeater(struct kernel *kernel, struct device_call *call, json_t *state,
                         struct error *error)
{
    json_t *repeaters = json_object_get(state, "repeaters");
    int64_t start, interval;

    (void)kernel;
    if (!time_at(call, 0, &start) || !time_at(call, 1, &interval) || interval == 0)
        return device_refuse(call, error, "makeRepeater needs two times, the second not 0");
    call->result = json_integer((json_int_t)json_array_size(repeaters));
    if (json_array_append_new(repeaters, json_pack("{s:I,s:I}", "startTime", (json_int_t)start,
                                                   "interval", (json_int_t)interval)) != 0)
        return error_memory(error, "the clock");
    return 0;
}

/* Finds the repeater that the first argument names; NULL if it was deleted or never existed. */
static json_t *repeater_at(const struct device_call *call, const json_t *state, int64_t *index)
{
    const json_t *value = json_array_get(call->arguments, 0);
    json_t *repeater;

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return NULL;
    *index = json_integer_value(value);
    repeater = json_array_get(json_object_get(state, "repeaters"), (size_t)*index);
    return json_is_object(repeater) ? repeater : NULL;
}

static int delete_repeater(struct kernel *kernel, struct device_call *call, json_t *state,
                           struct error *error)
{
    int64_t index;

    (void)kernel;
    if (repeater_at(call, state, &index) == NULL)
        return device_refuse(call, error, "deleteRepeater needs the number of a repeater");
    json_array_set_new(json_object_get(state, "repeaters"), (size_t)index, json_null());
    call->result = json_integer(index);
    return call->result != NULL ? 0 : error_memory(error, "the clock");
}

static int schedule(struct kernel *kernel, struct device_call *call, json_t *state,
                    struct error *error)
{
    const char *handler = handler_at(call, 1);
    int64_t index, time;
    json_t *repeater = repeater_at(call, state, &index);

    (void)kernel;
    if (repeater == NULL || handler == NULL ||
        !next_time(repeater, device_clock_number_of(state, "lastPolled"), &time))
        return device_refuse(call, error, "schedule needs the number of a repeater and an object");
    call->result = time_value(time);
    return add_handler(state, time, handler, index, error);
}

static int call_method(struct kernel *kernel, struct device_call *call, json_t *state,
                       struct error *error)
{
    static const struct {
        const char *name;
        int (*method)(struct kernel *, struct device_call *, json_t *, struct error *);
    } methods[] = {
        {"setWakeup", set_wakeup},           {"removeWakeup", remove_wakeup},
        {"getLastPolled", get_last_polled},  {"makeRepeater", make_repeater},
        {"deleteRepeater", delete_repeater}, {"schedule", schedule},
    };

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(call->method, methods[i].name) == 0)
            return methods[i].method(kernel, call, state, error);
    }
    return device_refuse(call, error, "no such method");
}

int device_clock(struct kernel *kernel, struct device_call *call, struct error *error)
{
    bool reads = strcmp(call->method, "getLastPolled") == 0;
    json_t *state;
    int result;

    if (get_state(kernel, call->device, &state, error) != 0)
        return -1;
    result = call_method(kernel, call, state, error);
    if (result == 0 && call->problem.length == 0 && !reads)
        result = device_set_state(kernel, call->device, state, error);
    json_decref(state);
    return result;
}

/* ---- advancing the time ---- */

static int wake(struct kernel *kernel, json_t *state, const json_t *event, const json_t *entry,
                struct error *error)
{
    const char *handler = json_string_value(json_object_get(entry, "handler"));
    const json_t *index = json_object_get(entry, "index");
    json_t *arguments = json_pack("[o]", time_value(device_clock_number_of(event, "time")));
    int64_t next;

    if (device_send(kernel, handler, "wake", arguments, error) != 0)
        return -1;
    if (index == NULL)
        return 0;
    const json_t *repeater =
        json_array_get(json_object_get(state, "repeaters"), (size_t)json_integer_value(index));

    if (!json_is_object(repeater) ||
        !next_time(repeater, device_clock_number_of(state, "lastPolled"), &next))
        return 0;
    return add_handler(state, next, handler, json_integer_value(index), error);
}

/* Removes the due events before it wakes their handlers, because a handler may add events. */
static json_t *take_due(json_t *deadlines, int64_t now)
{
    json_t *due = json_array();

    while (json_array_size(deadlines) > 0 &&
           device_clock_number_of(json_array_get(deadlines, 0), "time") <= now) {
        if (json_array_append(due, json_array_get(deadlines, 0)) != 0)
            break;
        json_array_remove(deadlines, 0);
    }
    return due;
}

static int wake_due(struct kernel *kernel, json_t *state, int64_t now, bool *woken,
                    struct error *error)
{
    json_t *due = take_due(json_object_get(state, "deadlines"), now);
    const json_t *event, *entry;
    int result = due != NULL ? 0 : error_memory(error, "the clock");
    size_t i, j;

    json_array_foreach(due, i, event)
    {
        json_array_foreach(json_object_get(event, "handlers"), j, entry)
        {
            *woken = true;
            if (result == 0)
                result = wake(kernel, state, event, entry, error);
        }
    }
    json_decref(due);
    return result;
}

static int set_time(struct kernel *kernel, int64_t device, json_t *state, int64_t now, bool *woken,
                    struct error *error)
{
    if (now < device_clock_number_of(state, "lastPolled"))
        return error_set(error, ERROR_INPUT,
                         "the clock cannot go back from %" PRId64 " to %" PRId64,
                         device_clock_number_of(state, "lastPolled"), now);
    json_object_set_new(state, "lastPolled", json_integer(now));
    if (wake_due(kernel, state, now, woken, error) != 0)
        return -1;
    return device_set_state(kernel, device, state, error);
}

int kernel_set_clock(struct kernel *kernel, int64_t now, bool *woken, struct error *error)
{
    char kdid[KERNEL_REF_SIZE];
    int64_t device;
    json_t *state;
    int result;

    *woken = false;
    if (now < 0)
        return error_set(error, ERROR_INPUT, "the clock has no time before 0");
    if (device_root(kernel, "clock", &device, kdid, error) != 0 ||
        get_state(kernel, device, &state, error) != 0)
        return -1;
    result = set_time(kernel, device, state, now, woken, error);
    json_decref(state);
    return crank_hash_outside(kernel, result, error);
}
