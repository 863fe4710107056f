/* SPDX-License-Identifier: Apache-2.0 */
#include "gas/gas_model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json/json_value.h"
#include "gas/gas_model_json.h"

static const char *const names[] = {"instruction", "byteRead",  "byteWritten",
                                    "syscall",     "blockCost", "computron"};

#define NAMES (sizeof names / sizeof *names)

static double *weight_of(struct gas_model *model, size_t name)
{
    double *const weights[NAMES] = {&model->instruction, &model->byte_read,  &model->byte_written,
                                    &model->syscall,     &model->block_cost, &model->computron};

    return weights[name];
}

static int gas_model_take_member(struct gas_model *model, const char *path, const char *name,
                                 const json_t *value, struct error *error)
{
    if (strcmp(name, "name") == 0 || strcmp(name, "source") == 0)
        return 0;
    for (size_t i = 0; i < NAMES; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        if (!json_is_number(value) || !(json_number_value(value) >= 0))
            return error_set(error, ERROR_INPUT, "%s: \"%s\" must be a number of zero or more",
                             path, name);
        *weight_of(model, i) = json_number_value(value);
        return 0;
    }
    return error_set(error, ERROR_INPUT,
                     "%s: \"%s\" is not a weight; there are instruction, byteRead, byteWritten, "
                     "syscall, blockCost and computron",
                     path, name);
}

/* The caller's; NULL with the error. */
static json_t *read_json(const char *path, struct error *error)
{
    enum { MODEL_SIZE_MAX = 1 << 20 };
    struct buf text = {0};
    json_error_t fault;
    json_t *json = NULL;

    if (io_read_file(path, MODEL_SIZE_MAX, &text, error) == 0) {
        json = json_value_read(text.data, text.length, JSON_REJECT_DUPLICATES, &fault);
        if (json == NULL)
            error_set(error, ERROR_INPUT, "%s:%d: %s", path, fault.line, fault.text);
    }
    buf_free(&text);
    return json;
}

int gas_model_take(struct gas_model *model, const json_t *object, const char *path,
                   struct error *error)
{
    const char *name;
    json_t *value;

    *model = (struct gas_model){0};
    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT, "%s: a gas model is a JSON object", path);
    json_object_foreach((json_t *)object, name, value)
    {
        if (gas_model_take_member(model, path, name, value, error) != 0)
            return -1;
    }
    return 0;
}

int gas_model_read(struct gas_model *model, const char *path, struct error *error)
{
    json_t *object = read_json(path, error);
    int result = object != NULL ? gas_model_take(model, object, path, error) : -1;

    json_decref(object);
    return result;
}

double gas_model_price(const struct gas_model *model, uint64_t instructions, uint64_t bytes_read,
                       uint64_t bytes_written, uint64_t syscalls)
{
    return ceil(model->instruction * (double)instructions + model->byte_read * (double)bytes_read +
                model->byte_written * (double)bytes_written + model->syscall * (double)syscalls);
}

double gas_model_price_cost(const struct gas_model *model, uint64_t units)
{
    return ceil(model->block_cost * (double)units);
}

/* An amount that costs nothing may be unknown (NAN). */
static double part_of(double weight, double amount)
{
    return weight > 0 ? weight * amount : 0;
}

double gas_model_weigh(const struct gas_model *model, const struct gas_usage *usage)
{
    return part_of(model->computron, usage->computrons) +
           part_of(model->instruction, usage->instructions) +
           part_of(model->byte_read, usage->bytes_read) +
           part_of(model->byte_written, usage->bytes_written) +
           part_of(model->syscall, usage->syscalls) + part_of(model->block_cost, usage->block_cost);
}

double gas_model_price_delivery(const struct gas_model *model, const struct gas_usage *usage)
{
    return ceil(gas_model_weigh(model, usage));
}
