/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/command.h"
#include "proto/meter.h"

/* Beyond this (the year 5138) a time is no time. */
static const double SECONDS_MAX = 1e11;

static int bad_field(struct error *error, const char *name)
{
    return error_set(error, ERROR_INPUT, "meter record: \"%s\" is missing or not what it should be",
                     name);
}

static int take_count(const json_t *object, const char *name, uint64_t *value, struct error *error)
{
    const json_t *number = json_object_get(object, name);

    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return bad_field(error, name);
    *value = (uint64_t)json_integer_value(number);
    return 0;
}

static int take_signed_count(const json_t *object, const char *name, int64_t *value,
                             struct error *error)
{
    uint64_t count = 0;

    if (take_count(object, name, &count, error) != 0)
        return -1;
    *value = (int64_t)count;
    return 0;
}

/* Real times as JSON numbers of seconds; a double holds them to the microsecond. */
static int take_real(struct meter *meter, const json_t *times, struct error *error)
{
    for (size_t i = 0; i < meter->stamp_count; i++) {
        const json_t *time = json_array_get(times, i);
        double seconds = json_number_value(time);

        if (!json_is_number(time) || !(seconds >= 0) || seconds > SECONDS_MAX)
            return bad_field(error, "timestamps");
        meter->stamps[i].real = llround(seconds * 1e6);
    }
    return 0;
}

static int take_mono(struct meter *meter, const json_t *times, struct error *error)
{
    if (times == NULL)
        return 0;
    if (!json_is_array(times) || json_array_size(times) != meter->stamp_count)
        return bad_field(error, "monotimes");
    for (size_t i = 0; i < meter->stamp_count; i++) {
        const json_t *time = json_array_get(times, i);

        if (!json_is_integer(time) || json_integer_value(time) < 0)
            return bad_field(error, "monotimes");
        meter->stamps[i].mono = json_integer_value(time);
    }
    return 0;
}

static int take_stamps(struct meter *meter, const json_t *object, struct error *error)
{
    const json_t *times = json_object_get(object, "timestamps");
    size_t count = json_array_size(times);

    if (!json_is_array(times))
        return bad_field(error, "timestamps");
    if (count == 0)
        return 0;
    meter->stamps = calloc(count, sizeof *meter->stamps);
    if (meter->stamps == NULL)
        return error_memory(error, "timestamps");
    meter->stamp_count = count;
    if (take_real(meter, times, error) != 0)
        return -1;
    return take_mono(meter, json_object_get(object, "monotimes"), error);
}

static int take_counter(struct meter *meter, const json_t *object, struct error *error)
{
    meter->counted = json_object_get(object, "instructions") != NULL;
    if (!meter->counted)
        return 0;
    if (take_count(object, "instructions", &meter->instructions, error) != 0 ||
        take_count(object, "bytesRead", &meter->bytes_read, error) != 0)
        return -1;
    return take_count(object, "bytesWritten", &meter->bytes_written, error);
}

static int take_cpu(struct meter *meter, const json_t *object, struct error *error)
{
    const json_t *cpu = json_object_get(object, "cpu");

    meter->cpu_known = cpu != NULL;
    if (!meter->cpu_known)
        return 0;
    if (take_signed_count(cpu, "user", &meter->cpu.user, error) != 0 ||
        take_signed_count(cpu, "sys", &meter->cpu.system, error) != 0 ||
        take_signed_count(cpu, "nvcsw", &meter->cpu.waits, error) != 0 ||
        take_signed_count(cpu, "nivcsw", &meter->cpu.preempt, error) != 0)
        return -1;
    return take_signed_count(cpu, "majflt", &meter->cpu.faults, error);
}

static int take_fields(struct meter *meter, const json_t *object, struct error *error)
{
    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT, "meter record: not a JSON object");
    if (take_count(object, "currentHeapCount", &meter->heap_count, error) != 0 ||
        take_count(object, "compute", &meter->compute, error) != 0 ||
        take_count(object, "allocate", &meter->allocate, error) != 0 ||
        take_stamps(meter, object, error) != 0 || take_counter(meter, object, error) != 0)
        return -1;
    return take_cpu(meter, object, error);
}

int meter_decode(struct meter *meter, const char *json, size_t length, struct error *error)
{
    json_error_t problem;
    json_t *object = json_loadb(json, length, JSON_REJECT_DUPLICATES, &problem);
    int result;

    memset(meter, 0, sizeof *meter);
    if (object == NULL)
        return error_set(error, ERROR_INPUT, "meter record: %s", problem.text);
    result = take_fields(meter, object, error);
    json_decref(object);
    if (result != 0)
        meter_free(meter);
    return result;
}

int meter_split(struct iovec frame, struct meter *meter, struct iovec *result, struct error *error)
{
    const char *bytes = frame.iov_base;
    const char *end = memchr(bytes, COMMAND_METER_END, frame.iov_len);

    if (end == NULL)
        return error_set(error, ERROR_INPUT, "a result has no meter record");
    *result = (struct iovec){
        .iov_base = (char *)end + 1,
        .iov_len = frame.iov_len - (size_t)(end + 1 - bytes),
    };
    return meter_decode(meter, bytes, (size_t)(end - bytes), error);
}

void meter_free(struct meter *meter)
{
    free(meter->stamps);
    memset(meter, 0, sizeof *meter);
}
