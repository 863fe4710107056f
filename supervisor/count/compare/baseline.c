/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compare/baseline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/output/output_file.h"

enum { VERSION = 1, FILE_SIZE_MAX = 1 << 20 };

int baseline_save(const char *path, const char *const *arguments, const struct count_total *total,
                  const char *fingerprint, struct error *error)
{
    struct buf out = {0}, command = {0};
    int result;

    for (const char *const *word = arguments; *word != NULL; word++)
        buf_printf(&command, "%s%s", word == arguments ? "" : " ", *word);
    buf_printf(&out, "{\"kind\":\"count-baseline\",\"version\":%d,\"command\":", VERSION);
    json_text_string(&out, command.data, command.length);
    buf_printf(&out,
               ",\"instructions\":%" PRIu64 ",\"syscalls\":%" PRIu64 ",\"bytesRead\":%" PRIu64
               ",\"bytesWritten\":%" PRIu64 ",\"fingerprint\":\"%s\"}\n",
               total->instructions, total->syscalls, total->bytes_read, total->bytes_written,
               fingerprint);
    result = buf_failed(&out) || buf_failed(&command)
                 ? error_memory(error, "the baseline")
                 : output_file_write_whole(path, "the baseline", &out, error);
    buf_free(&command);
    buf_free(&out);
    return result;
}

static int baseline_take(struct baseline *baseline, const json_t *object, const char *path,
                         struct error *error)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *fingerprint = json_string_value(json_object_get(object, "fingerprint"));
    const json_t *instructions = json_object_get(object, "instructions");

    if (kind == NULL || strcmp(kind, "count-baseline") != 0)
        return error_set(error, ERROR_INPUT, "%s: not a file of gaspipe count --save", path);
    if (json_integer_value(json_object_get(object, "version")) != VERSION)
        return error_set(error, ERROR_INPUT, "%s: this gaspipe reads baselines of version %d", path,
                         VERSION);
    if (!json_is_integer(instructions) || json_integer_value(instructions) < 0)
        return error_set(error, ERROR_INPUT, "%s: \"instructions\" must be a number", path);
    baseline->instructions = (uint64_t)json_integer_value(instructions);
    snprintf(baseline->fingerprint, sizeof baseline->fingerprint, "%s",
             fingerprint != NULL ? fingerprint : "");
    return 0;
}

int baseline_read(struct baseline *baseline, const char *path, struct error *error)
{
    struct buf text = {0};
    json_error_t problem;
    json_t *object = NULL;
    int result = io_read_file(path, FILE_SIZE_MAX, &text, error);

    if (result == 0) {
        object = json_value_read(text.data, text.length, 0, &problem);
        result = object != NULL
                     ? baseline_take(baseline, object, path, error)
                     : error_set(error, ERROR_INPUT, "%s:%d: %s", path, problem.line, problem.text);
    }
    json_decref(object);
    buf_free(&text);
    return result;
}

void baseline_compare(const struct baseline *baseline, const struct count_total *total,
                      const char *fingerprint, double allow, bool json, struct buf *out,
                      bool *exceeds)
{
    const double before = (double)baseline->instructions;
    const double change = (double)total->instructions - before;
    const double percent = before > 0 ? 100 * change / before : change > 0 ? 100 : 0;
    const bool same_files = strcmp(baseline->fingerprint, fingerprint) == 0;

    *exceeds = change > before * allow / 100;
    if (json) {
        buf_printf(out,
                   "{\"kind\":\"baseline\",\"instructions\":%" PRIu64
                   ",\"percent\":%.6f,\"allowed\":%g,\"exceeds\":%s,\"sameFingerprint\":%s}\n",
                   baseline->instructions, percent, allow, *exceeds ? "true" : "false",
                   same_files ? "true" : "false");
        return;
    }
    buf_printf(out, "baseline %" PRIu64 " instructions, now %+.4f %% (allowed: %g %%)%s\n",
               baseline->instructions, percent, allow, *exceeds ? ": TOO MANY" : "");
    if (!same_files)
        buf_append_string(out, "the program, its libraries or the counter are not those of the "
                               "baseline\n");
}
