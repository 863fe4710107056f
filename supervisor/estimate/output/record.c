/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/output/record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/lines.h"

enum { RECORD_VERSION = 1, RECORD_FILE_MAX = 256 << 20 };

void estimate_record_name(struct buf *name, const struct cost *cost)
{
    buf_append_string(name, cost->operation);
    if (cost->unit != NULL)
        buf_printf(name, " per %s", cost->unit);
}

static void write_cost(struct buf *out, const struct cost *cost)
{
    struct buf name = {0};

    estimate_record_name(&name, cost);
    json_text_string(out, name.data, name.length);
    buf_printf(out, ":%.6f", cost->amounts[cost_main_measure(cost)]);
    if (buf_failed(&name))
        out->failed = true;
    buf_free(&name);
}

void estimate_record_write(struct buf *out, const struct estimate *estimate)
{
    buf_printf(out, "{\"kind\":\"estimate\",\"version\":%d,\"suite\":", RECORD_VERSION);
    json_text_string(out, estimate->suite, strlen(estimate->suite));
    buf_append_string(out, ",\"label\":");
    if (estimate->label[0] != '\0')
        json_text_string(out, estimate->label, strlen(estimate->label));
    else
        buf_printf(out, "\"%.12s\"", estimate->fingerprint);
    buf_printf(out, ",\"fingerprint\":\"%s\",\"costs\":{", estimate->fingerprint);
    for (size_t i = 0; i < estimate->costs.count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        write_cost(out, &estimate->costs.items[i]);
    }
    buf_append_string(out, "}}\n");
}

/* ---- reading ---- */

static const char *record_check(const json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));

    if (kind == NULL || strcmp(kind, "estimate") != 0)
        return "not a file of gaspipe estimate --save or --history";
    if (json_integer_value(json_object_get(record, "version")) != RECORD_VERSION)
        return "this gaspipe reads costs of version 1";
    if (!json_is_string(json_object_get(record, "suite")) ||
        !json_is_string(json_object_get(record, "label")) ||
        !json_is_string(json_object_get(record, "fingerprint")) ||
        !json_is_object(json_object_get(record, "costs")))
        return "suite, label, fingerprint or costs are missing";
    return NULL;
}

/* A line into the array, if it is of the suite. */
static int read_line(json_t *records, const char *suite, const char *line, size_t length,
                     const char **fault)
{
    json_error_t problem;
    json_t *record = json_value_read(line, length, JSON_REJECT_DUPLICATES, &problem);

    *fault = record != NULL ? record_check(record) : "not JSON";
    if (*fault == NULL && strcmp(json_string_value(json_object_get(record, "suite")), suite) == 0)
        return json_array_append_new(records, record);
    json_decref(record);
    return *fault == NULL ? 0 : -1;
}

static int read_records(json_t *records, const char *suite, const char *path,
                        const struct buf *text, struct error *error)
{
    size_t place = 0, length, number = 0;
    const char *line;

    while (lines_next(text, &place, &line, &length)) {
        const char *fault = NULL;

        number++;
        if (length > 0 && read_line(records, suite, line, length, &fault) != 0)
            return fault != NULL ? error_set(error, ERROR_INPUT, "%s:%zu: %s", path, number, fault)
                                 : error_memory(error, "a history");
    }
    return 0;
}

json_t *estimate_record_read(const char *path, const char *suite, struct error *error)
{
    struct buf text = {0};
    json_t *records = json_array();
    int result = records != NULL ? io_read_file(path, RECORD_FILE_MAX, &text, error)
                                 : error_memory(error, "a history");

    if (result == 0)
        result = read_records(records, suite, path, &text, error);
    buf_free(&text);
    if (result == 0)
        return records;
    json_decref(records);
    return NULL;
}

int estimate_record_append(const char *path, const struct estimate *estimate, struct error *error)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    struct buf line = {0};
    int result = 0;

    estimate_record_write(&line, estimate);
    if (fd < 0)
        result = error_system(error, errno, "cannot open the history %s", path);
    else if (buf_failed(&line))
        result = error_memory(error, "the history");
    else if (io_write_all(fd, line.data, line.length) != 0)
        result = error_system(error, errno, "cannot write the history %s", path);
    if (fd >= 0 && close(fd) != 0 && result == 0)
        result = error_system(error, errno, "cannot write the history %s", path);
    buf_free(&line);
    return result;
}
