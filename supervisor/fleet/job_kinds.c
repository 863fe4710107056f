/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/common_options.h"
#include "supervisor/fleet/fleet_job.h"
#include "supervisor/fleet/fleet_object.h"
#include "supervisor/fleet/shared_span.h"
#include "supervisor/fleet/transport.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/launcher.h"
#include "supervisor/replay/replay_result.h"
#include "supervisor/runtime/vat_runtime.h"

/* ---- fingerprints ---- */

/* The hash of a worker and all that it executes; "-": the launcher has no such worker. */
static int hash_launcher(const struct launch_config *launcher, enum launcher_program program,
                         struct counters counters, char hash[FLEET_HASH_SIZE], struct error *error)
{
    const char *const path = launcher->workers[program].path;
    struct fingerprint fingerprint = {0};
    int result;

    memcpy(hash, "-", sizeof "-");
    if (path[0] == '\0')
        return 0;
    if (!counters.qemu)
        return fingerprint_hash(path, hash, error);
    result = fingerprint_take_launcher(&fingerprint, launcher, program, error);
    memcpy(hash, fingerprint.hash, FLEET_HASH_SIZE);
    fingerprint_free(&fingerprint);
    return result;
}

/* At SwingSet's limit of computrons: a limit is an argument of the job. */
static int hash_worker(const char *worker, struct counters counters, char hash[FLEET_HASH_SIZE],
                       struct error *error)
{
    struct launch_config launcher;
    int result;

    if (worker != NULL)
        return fingerprint_hash(worker, hash, error);
    if (launcher_open(&launcher, counters, LAUNCHER_COMPUTE_LIMIT_DEFAULT, error) != 0)
        return -1;
    result = hash_launcher(&launcher, LAUNCHER_JAVASCRIPT, counters, hash, error);
    launcher_close(&launcher);
    return result;
}

/* "-": it was not built; only vats of SwingSet's need it. */
static int hash_bundle(const char *name, char hash[FLEET_HASH_SIZE], struct error *error)
{
    char path[PATH_MAX];

    if (locate(name, path, error) != 0) {
        memcpy(hash, "-", sizeof "-");
        return 0;
    }
    return fingerprint_hash(path, hash, error);
}

/*
 * The fingerprint on which a replay's outcome depends, in addition to the span: the worker's
 * program or, if counted, the counter and all that it executes, and gaspipe's runtimes. `worker` is
 * the path of another worker; NULL: gaspipe's. -1 with ERROR_INPUT or ERROR_SYSTEM.
 */
static int fleet_fingerprint(const char *worker, struct counters counters,
                             char hash[FLEET_HASH_SIZE], struct error *error)
{
    char parts[3][FLEET_HASH_SIZE];
    struct iovec pieces[4] = {[3] = plain_runtime()};

    if (hash_worker(worker, counters, parts[0], error) != 0 ||
        hash_bundle("swingset-lockdown.bundle", parts[1], error) != 0 ||
        hash_bundle("swingset-supervisor.bundle", parts[2], error) != 0)
        return -1;
    for (size_t i = 0; i < 3; i++)
        pieces[i] = (struct iovec){parts[i], strlen(parts[i])};
    return fingerprint_hash_parts(pieces, 4, hash, error);
}

/* The same for estimates: the workers for JavaScript and WebAssembly; `worker` is not used. */
static int fleet_fingerprint_estimate(const char *worker, struct counters counters,
                                      char hash[FLEET_HASH_SIZE], struct error *error)
{
    char parts[2][FLEET_HASH_SIZE];
    struct iovec pieces[3] = {[2] = plain_runtime()};
    struct launch_config launcher;
    int result;

    (void)worker;
    if (launcher_open(&launcher, counters, LAUNCHER_COMPUTE_LIMIT_DEFAULT, error) != 0)
        return -1;
    result = hash_launcher(&launcher, LAUNCHER_JAVASCRIPT, counters, parts[0], error);
    if (result == 0)
        result = hash_launcher(&launcher, LAUNCHER_WASM, counters, parts[1], error);
    launcher_close(&launcher);
    for (size_t i = 0; i < 2; i++)
        pieces[i] = (struct iovec){parts[i], strlen(parts[i])};
    return result == 0 ? fingerprint_hash_parts(pieces, 3, hash, error) : -1;
}

/* The same for reports: the program slogreport; nothing else is used. */
static int fleet_fingerprint_slogreport(const char *worker, struct counters counters,
                                        char hash[FLEET_HASH_SIZE], struct error *error)
{
    char path[PATH_MAX];

    (void)worker;
    (void)counters;
    return locate("slogreport", path, error) == 0 ? fingerprint_hash(path, hash, error) : -1;
}

/* ---- replays ---- */

/* ---- description ---- */

static bool are_bundles(const json_t *bundles)
{
    const json_t *bundle;
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        const json_t *vat = json_object_get(bundle, "vat");

        if (!job_check_hash(json_object_get(bundle, "object")) ||
            (!job_check_none(vat) && !job_check_vat_id(vat)))
            return false;
    }
    return json_is_array(bundles);
}

static bool replay_kind_is_job(const json_t *json)
{
    static const char *const allowed[] = {
        "--tolerate=",         "--strict=",   "--counter=",          "--compute-limit=",
        "--max-instructions=", "--max-cost=", "--delivery-timeout=", "--deliveries"};
    const json_t *snapshot = json_object_get(json, "snapshot"),
                 *source = json_object_get(json, "source");

    return job_check_vat_id(json_object_get(json, "vatID")) &&
           json_is_integer(json_object_get(json, "first")) &&
           json_is_integer(json_object_get(json, "end")) &&
           job_check_hash(json_object_get(json, "transcript")) &&
           (job_check_none(snapshot) || job_check_hash(snapshot)) &&
           are_bundles(json_object_get(json, "bundles")) &&
           (source == NULL || shared_span_is(source)) &&
           job_check_arguments(json_object_get(json, "arguments"), allowed,
                               sizeof allowed / sizeof *allowed);
}

static void replay_kind_describe(const struct fleet_job *job, struct buf *out)
{
    buf_printf(out, "%s, deliveries %" PRId64 " to %" PRId64, fleet_job_text(job, "vatID"),
               fleet_job_number(job, "first"), fleet_job_number(job, "end") - 1);
}

/* ---- input ---- */

/* The source and the target of a job's objects. */
struct objects {
    const struct job_place *place;
    struct fleet_transport *from;
};

static int get_job_object(const struct objects *objects, const char *hash, const char *what,
                          const char *name, struct error *error)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", objects->place->directory, name);
    return fleet_object_get(objects->from, hash, what, path, error);
}

static void name_transcript(const struct fleet_job *job, char name[NAME_MAX])
{
    snprintf(name, NAME_MAX, "transcript.%s.%" PRId64 ".%" PRId64, fleet_job_text(job, "vatID"),
             fleet_job_number(job, "first"), fleet_job_number(job, "end"));
}

static int get_bundles(const struct objects *objects, const struct fleet_job *job,
                       struct error *error)
{
    const json_t *bundles = json_object_get(job->json, "bundles"), *bundle;
    char name[NAME_MAX];
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        snprintf(name, sizeof name, "bundle-%zu", index);
        if (get_job_object(objects, json_string_value(json_object_get(bundle, "object")),
                           "a bundle", name, error) != 0)
            return -1;
    }
    return 0;
}

static int get_objects(const struct objects *objects, const struct fleet_job *job,
                       struct error *error)
{
    const char *snapshot = fleet_job_text(job, "snapshot");
    char name[NAME_MAX];

    name_transcript(job, name);
    if (get_job_object(objects, fleet_job_text(job, "transcript"), "the transcript", name, error) !=
        0)
        return -1;
    if (snapshot[0] != '\0' &&
        get_job_object(objects, snapshot, "the snapshot", snapshot, error) != 0)
        return -1;
    return get_bundles(objects, job, error);
}

/* Cuts the span out of a source in the shared directory. */
static int replay_kind_cut(const struct job_place *place, const struct fleet_job *job,
                           struct fleet_transport *objects, struct error *error)
{
    const struct shared_span span = {
        .source = json_object_get(job->json, "source"),
        .directory = place->shared,
        .vat_id = fleet_job_text(job, "vatID"),
        .first = fleet_job_number(job, "first"),
        .end = fleet_job_number(job, "end"),
        .transcript = fleet_job_text(job, "transcript"),
        .objects = objects,
    };

    return shared_span_cut(&span, error);
}

static int replay_kind_fetch(const struct job_place *place, const struct fleet_job *job,
                             struct error *error)
{
    struct objects objects = {.place = place, .from = place->transport};
    struct span_objects cut;

    if (json_object_get(job->json, "source") != NULL) {
        objects.from = span_objects_init(&cut, place->directory);
        if (replay_kind_cut(place, job, objects.from, error) != 0)
            return -1;
    }
    return get_objects(&objects, job, error);
}

/* ---- command ---- */

static int replay_kind_command(const struct job_place *place, const struct fleet_job *job,
                               char program[PATH_MAX], struct command_line *line,
                               struct error *error)
{
    const json_t *given = json_object_get(job->json, "arguments"),
                 *bundles = json_object_get(job->json, "bundles"), *item;
    char transcript[NAME_MAX];
    size_t index;

    (void)error;
    snprintf(program, PATH_MAX, "/proc/self/exe");
    command_line_add(line, "gaspipe");
    command_line_add(line, "replay");
    command_line_add(line, "--json");
    command_line_add(line, "--part=0/1");
    command_line_add(line, "--snapshots=.");
    command_line_add(line, "--sandbox=%s", common_options_sandbox_levels[place->sandbox]);
    command_line_add(line, "--placement=%s", placement_names[place->placement]);
    if (place->slot != PLACEMENT_NO_SLOT)
        command_line_add(line, "--slot=%d", place->slot);
    if (place->worker != NULL)
        command_line_add(line, "--worker=%s", place->worker);
    json_array_foreach(given, index, item)
    {
        command_line_add(line, "%s", json_string_value(item));
    }
    job_gas_add_argument(job, line);
    json_array_foreach(bundles, index, item)
    {
        const char *vat = json_string_value(json_object_get(item, "vat"));

        command_line_add(line, "--bundle=%s%sbundle-%zu", vat, vat[0] != '\0' ? "=" : "", index);
    }
    name_transcript(job, transcript);
    command_line_add(line, "%s", transcript);
    return 0;
}

/* ---- result ---- */

/* A difference is a result, too. */
static int replay_kind_judge(const struct job_place *place, const struct job_end *end,
                             struct error *error)
{
    struct replay_part part = {0};
    int result = replay_part_read(&part, end->output->data, end->output->length, true, error);

    (void)place;
    if (result == 0 && part.failed_line > 0)
        result = error_set(error, ERROR_INPUT, "%s", part.failure.text);
    else if (result == 0 && part.count == 0)
        result = error_set(error, ERROR_INPUT, "the replay printed no result");
    replay_part_free(&part);
    if (result != 0)
        error->kind = ERROR_INPUT;
    return result;
}

const struct job_kind job_kind_replay = {
    .name = "replay",
    .items = "spans",
    .unit = "deliveries",
    .member = "deliveries",
    .is_job = replay_kind_is_job,
    .fingerprint = fleet_fingerprint,
    .describe = replay_kind_describe,
    .fetch = replay_kind_fetch,
    .command = replay_kind_command,
    .judge = replay_kind_judge,
};

/* ---- jobs that run a program over files ---- */

/* Functions of struct job_kind for all kinds whose jobs run a program over files. */

/* Returns true if it has a name, files, and an array of arguments, which the kind checks. */
static bool file_jobs_are(const json_t *json)
{
    return json_is_string(json_object_get(json, "name")) &&
           job_check_files(json_object_get(json, "files")) &&
           json_is_array(json_object_get(json, "arguments"));
}

static void file_jobs_describe(const struct fleet_job *job, struct buf *out)
{
    buf_append_string(out, fleet_job_text(job, "name"));
}

/* A link to a file of the shared directory, whose hash is checked. */
static int link_shared(const struct job_place *place, const json_t *file, const char *link,
                       struct error *error)
{
    const char *below = json_string_value(json_object_get(file, "shared"));
    char path[PATH_MAX], hash[FLEET_HASH_SIZE];

    if (shared_path_find(place->shared, below, path, error) != 0)
        return -1;
    if (fingerprint_hash(path, hash, error) != 0) {
        error->kind = ERROR_INPUT;
        return -1;
    }
    if (strcmp(hash, json_string_value(json_object_get(file, "object"))) != 0)
        return error_set(error, ERROR_INPUT,
                         "%s: changed since submission; restore it or submit it again", path);
    if (symlink(path, link) != 0)
        return error_system(error, errno, "cannot make the link %s", link);
    return 0;
}

static int fetch_file(const struct job_place *place, const json_t *file, struct error *error)
{
    const char *name = json_string_value(json_object_get(file, "name"));
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", place->directory, name);
    if (json_object_get(file, "shared") != NULL)
        return link_shared(place, file, path, error);
    return fleet_object_get(place->transport, json_string_value(json_object_get(file, "object")),
                            name, path, error);
}

static int file_jobs_fetch(const struct job_place *place, const struct fleet_job *job,
                           struct error *error)
{
    const json_t *files = json_object_get(job->json, "files"), *file;
    size_t index;

    json_array_foreach(files, index, file)
    {
        if (fetch_file(place, file, error) != 0)
            return -1;
    }
    return 0;
}

/* Appends the job's arguments. */
static void file_jobs_add_arguments(const struct fleet_job *job, struct command_line *line)
{
    const json_t *arguments = json_object_get(job->json, "arguments"), *argument;
    size_t index;

    json_array_foreach(arguments, index, argument)
    {
        command_line_add(line, "%s", json_string_value(argument));
    }
    job_gas_add_argument(job, line);
}

/* Without the name of the program, which every line of words begins with. */
static int report_last_words(const struct buf *words, struct error *error)
{
    size_t end = words->length;
    const char *begin, *colon;

    while (end > 0 && words->data[end - 1] == '\n')
        end--;
    if (end == 0)
        return error_set(error, ERROR_INPUT, "the program failed without a message");
    begin = memrchr(words->data, '\n', end);
    begin = begin != NULL ? begin + 1 : words->data;
    colon = memchr(begin, ':', end - (size_t)(begin - words->data));
    if (colon != NULL && colon + 2 < words->data + end && colon[1] == ' ' &&
        memchr(begin, ' ', (size_t)(colon - begin)) == NULL)
        begin = colon + 2;
    return error_set(error, ERROR_INPUT, "%.*s", (int)(words->data + end - begin), begin);
}

/* Unless the program exited with 0: -1 with ERROR_INPUT and the last line of its words. */
static int file_jobs_check_end(const struct job_end *end, struct error *error)
{
    if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0)
        return 0;
    return report_last_words(end->words, error);
}

/* ---- estimates ---- */

/* An operation of a suite, whose costs are estimated: the files are suite.json, with this operation
 * alone, and its contracts. */

static bool estimate_kind_is_job(const json_t *json)
{
    static const char *const allowed[] = {"--counter=", "--near-protocol="};

    return file_jobs_are(json) && job_check_arguments(json_object_get(json, "arguments"), allowed,
                                                      sizeof allowed / sizeof *allowed);
}

static int estimate_kind_command(const struct job_place *place, const struct fleet_job *job,
                                 char program[PATH_MAX], struct command_line *line,
                                 struct error *error)
{
    (void)error;
    snprintf(program, PATH_MAX, "/proc/self/exe");
    command_line_add(line, "gaspipe");
    command_line_add(line, "estimate");
    command_line_add(line, "--json");
    command_line_add(line, "--sandbox=%s", common_options_sandbox_levels[place->sandbox]);
    file_jobs_add_arguments(job, line);
    command_line_add(line, ".");
    return 0;
}

static int estimate_kind_judge(const struct job_place *place, const struct job_end *end,
                               struct error *error)
{
    (void)place;
    return file_jobs_check_end(end, error);
}

const struct job_kind job_kind_estimate = {
    .name = "estimate",
    .items = "operations",
    .unit = "calls",
    .member = "calls",
    .takes_words = true,
    .is_job = estimate_kind_is_job,
    .fingerprint = fleet_fingerprint_estimate,
    .describe = file_jobs_describe,
    .fetch = file_jobs_fetch,
    .command = estimate_kind_command,
    .judge = estimate_kind_judge,
};

/* ---- reports on slogfiles ---- */

/* A slogfile that slogreport reads. `summary`: what comes of it are histograms, which `slogreport
 * merge` adds up. `rows`: tables, each of which becomes an object. */

static const char histograms_name[] = "histograms";
static const char *const tables[] = {"deliveries.csv.gz", "requests.csv.gz"};

static bool slog_kinds_is_job(const json_t *json)
{
    static const char *const allowed[] = {"--by=", "--strict"};

    return file_jobs_are(json) && json_array_size(json_object_get(json, "files")) == 1 &&
           job_check_arguments(json_object_get(json, "arguments"), allowed,
                               sizeof allowed / sizeof *allowed);
}

static int begin_job_command(const char *command, char program[PATH_MAX], struct command_line *line,
                             struct error *error)
{
    if (locate("slogreport", program, error) != 0)
        return -1;
    command_line_add(line, "slogreport");
    command_line_add(line, "%s", command);
    command_line_add(line, "--jobs=1");
    return 0;
}

static void end_command(const struct fleet_job *job, struct command_line *line)
{
    const json_t *files = json_object_get(job->json, "files");

    file_jobs_add_arguments(job, line);
    command_line_add(line, "%s",
                     json_string_value(json_object_get(json_array_get(files, 0), "name")));
}

/* ---- summary ---- */

static int summary_command(const struct job_place *place, const struct fleet_job *job,
                           char program[PATH_MAX], struct command_line *line, struct error *error)
{
    (void)place;
    if (begin_job_command("summary", program, line, error) != 0)
        return -1;
    command_line_add(line, "--histograms=%s", histograms_name);
    end_command(job, line);
    return 0;
}

/* The table that it printed is not needed. */
static int summary_judge(const struct job_place *place, const struct job_end *end,
                         struct error *error)
{
    char path[PATH_MAX];

    if (file_jobs_check_end(end, error) != 0)
        return -1;
    buf_clear(end->output);
    snprintf(path, sizeof path, "%s/%s", place->directory, histograms_name);
    return io_read_file(path, SIZE_MAX, end->output, error);
}

const struct job_kind job_kind_summary = {
    .name = "summary",
    .items = "slogfiles",
    .unit = "bytes",
    .member = "bytes",
    .takes_words = true,
    .is_job = slog_kinds_is_job,
    .fingerprint = fleet_fingerprint_slogreport,
    .describe = file_jobs_describe,
    .fetch = file_jobs_fetch,
    .command = summary_command,
    .judge = summary_judge,
};

/* ---- rows ---- */

static int rows_command(const struct job_place *place, const struct fleet_job *job,
                        char program[PATH_MAX], struct command_line *line, struct error *error)
{
    (void)place;
    if (begin_job_command("rows", program, line, error) != 0)
        return -1;
    command_line_add(line, "--out=.");
    end_command(job, line);
    return 0;
}

static int put_cost_table(const struct job_place *place, const char *name, struct buf *out,
                          struct error *error)
{
    char path[PATH_MAX], object[FLEET_HASH_SIZE];
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", place->directory, name);
    if (fleet_object_put_file(place->transport, path, object, &size, error) != 0)
        return -1;
    buf_printf(out, "{\"kind\":\"table\",\"name\":\"%s\",\"object\":\"%s\"}\n", name, object);
    return 0;
}

static int rows_judge(const struct job_place *place, const struct job_end *end, struct error *error)
{
    if (file_jobs_check_end(end, error) != 0)
        return -1;
    buf_clear(end->output);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (put_cost_table(place, tables[i], end->output, error) != 0)
            return -1;
    return 0;
}

const struct job_kind job_kind_rows = {
    .name = "rows",
    .items = "slogfiles",
    .unit = "bytes",
    .member = "bytes",
    .takes_words = true,
    .is_job = slog_kinds_is_job,
    .fingerprint = fleet_fingerprint_slogreport,
    .describe = file_jobs_describe,
    .fetch = file_jobs_fetch,
    .command = rows_command,
    .judge = rows_judge,
};

/* ---- all of them ---- */

static const struct job_kind *const kinds[] = {&job_kind_replay, &job_kind_estimate,
                                               &job_kind_summary, &job_kind_rows};

const struct job_kind *job_kind_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i]->name) == 0)
            return kinds[i];
    return NULL;
}
