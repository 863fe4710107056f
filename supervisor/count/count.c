/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "counter/gasmark.h"
#include "counter/report.h"
#include "gas/gas_model.h"
#include "sandbox/syscall_name.h"
#include "supervisor/commands.h"
#include "supervisor/count/compare/compare.h"
#include "supervisor/count/compiled/count_compiled.h"
#include "supervisor/count/count_options.h"
#include "supervisor/count/count_outputs.h"
#include "supervisor/count/count_run.h"
#include "supervisor/count/count_text.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/profile/counter_profile.h"

/* The result of `gaspipe count`. */
struct count_findings {
    const char *const *arguments; /* of the user, ends with NULL */
    const struct count_run *runs;
    size_t run_count;            /* at least 1 */
    bool kinds;                  /* instructions were counted by kind, too */
    const struct gas_model *gas; /* NULL: no prices */
    const struct fingerprint *fingerprint;
};

/* A system call by its name; "others": all that have none, together. */
struct count_call {
    const char *name;
    uint64_t times; /* that it was made, above 0 */
};

#define OTHERS (REPORT_SYSCALLS - 1)

static bool has_call_name(size_t place)
{
    return place < OTHERS && guest_syscall_name(place) != NULL;
}

static struct count_call others(const uint64_t calls[REPORT_SYSCALLS])
{
    struct count_call all = {"others", 0};

    for (size_t place = 0; place < REPORT_SYSCALLS; place++)
        if (!has_call_name(place))
            all.times += calls[place];
    return all;
}

/* The next system call that was made, by number, "others" last. `calls` are by report_call();
 * *place is 0 at first. False after the last. */
static bool count_calls_next(const uint64_t calls[REPORT_SYSCALLS], size_t *place,
                             struct count_call *call)
{
    while (*place < OTHERS && (calls[*place] == 0 || !has_call_name(*place)))
        ++*place;
    if (*place > OTHERS)
        return false;
    *call = *place < OTHERS ? (struct count_call){guest_syscall_name(*place), calls[*place]}
                            : others(calls);
    ++*place;
    return call->times > 0;
}

/* Processes in the table; JSON lists all. */
#define PROCESSES_SHOWN 20

/* System calls whose answer depends on more than the program, and on what. */
static const struct {
    const char *name;
    const char *what;
} varying_calls[] = {
    {"clock_gettime", "the time"},
    {"gettimeofday", "the time"},
    {"time", "the time"},
    {"times", "the time"},
    {"getpid", "its process id"},
    {"getppid", "its parent's process id"},
    {"gettid", "its thread id"},
    {"getrusage", "its resource usage"},
    {"sysinfo", "the free memory"},
    {"sched_getaffinity", "the number of CPUs"},
    {"futex", "other threads"},
    {"getrandom", "random numbers"},
    {"getdents64", "directories"},
    {"getdents", "directories"},
    {"newfstatat", "the state of files"},
    {"statx", "the state of files"},
    {"stat", "the state of files"},
    {"lstat", "the state of files"},
    {"fstat", "the state of files"},
    {"lseek", "positions in files"},
};

#define VARYING_CALLS (sizeof varying_calls / sizeof *varying_calls)

/* Returns true if all runs have the same counts. */
static bool count_findings_agree(const struct count_findings *findings)
{
    for (size_t i = 1; i < findings->run_count; i++)
        if (!count_run_agrees(&findings->runs[0], &findings->runs[i]))
            return false;
    return true;
}

static double price_count(const struct count_findings *findings, const struct count_total *total)
{
    return gas_model_price(findings->gas, total->instructions, total->bytes_read,
                           total->bytes_written, total->syscalls);
}

/* Processes that still run may write into the record, so the name may lack its '\0'. */
static void process_name(const struct report_process *process, char name[REPORT_NAME_SIZE])
{
    memcpy(name, process->program, REPORT_NAME_SIZE);
    name[REPORT_NAME_SIZE - 1] = '\0';
}

/* ---- for people ---- */

static void put_total(struct buf *out, const struct count_findings *findings,
                      const struct count_run *run)
{
    const struct count_total *total = &run->total;

    count_text_number(out, total->instructions,
                      total->exact ? "instructions"
                                   : "instructions, about (use --precision instruction)");
    count_text_number(out, total->syscalls, "system calls");
    count_text_number(out, total->bytes_read, "bytes read");
    count_text_number(out, total->bytes_written, "bytes written");
    if (total->processes > 1)
        count_text_number(out, total->processes, "programs");
    if (total->faults > 0)
        count_text_number(out, total->faults, "faults");
    if (findings->gas != NULL)
        buf_printf(out, "%22.0f  gas\n", price_count(findings, total));
    if (!total->complete)
        buf_append_string(out, "not complete: there were too many processes to keep a record of\n");
}

static void put_kind(struct buf *out, uint64_t number, uint64_t all, const char *what)
{
    double share = all > 0 ? 100.0 * (double)number / (double)all : 0;
    char text[64];

    snprintf(text, sizeof text, "%6.2f %%  %s", share, what);
    count_text_number(out, number, text);
}

/* Each list adds up to the instructions. */
static void put_kinds(struct buf *out, const struct count_total *total)
{
    static const char *const memory[KIND_MEMORIES] = {
        [KIND_NO_MEMORY] = "do not access memory",
        [KIND_LOAD] = "load",
        [KIND_STORE] = "store",
        [KIND_LOAD_AND_STORE] = "load and store",
    };

    buf_append_byte(out, '\n');
    for (int class = 0; class < (int)KIND_CLASSES; class ++)
        if (total->kinds[class] > 0)
            put_kind(out, total->kinds[class], total->instructions, kind_class_names[class]);
    buf_append_byte(out, '\n');
    for (int i = 0; i < (int)KIND_MEMORIES; i++)
        put_kind(out, total->kinds[KIND_CLASSES + i], total->instructions, memory[i]);
}

static void put_calls(struct buf *out, const uint64_t calls[REPORT_SYSCALLS])
{
    struct count_call call;
    size_t place = 0;

    buf_append_byte(out, '\n');
    while (count_calls_next(calls, &place, &call))
        count_text_number(out, call.times, call.name);
}

/* "read 3, write 1", in the columns of a region. */
static void put_region_calls(struct buf *out, const struct report_region *region)
{
    const char *separator = "                        ";
    struct count_call call;
    size_t place = 0;

    while (count_calls_next(region->by_number, &place, &call)) {
        buf_printf(out, "%s%s %llu", separator, call.name, (unsigned long long)call.times);
        separator = ", ";
    }
    if (*separator == ',')
        buf_append_byte(out, '\n');
}

static void put_counted_regions(struct buf *out, const struct count_run *run, bool kinds)
{
    size_t count = count_run_regions(run);

    if (count == 0)
        return;
    buf_printf(out, "\n%22s  %14s %14s %12s\n", "instructions", "bytes read", "bytes written",
               "system calls");
    for (size_t i = 0; i < count && i < COUNT_REGIONS_SHOWN; i++) {
        const struct report_region *region = &run->report->region[i];

        buf_printf(out, "%22llu  %14llu %14llu %12llu  region %zu\n",
                   (unsigned long long)region->instructions, (unsigned long long)region->bytes_read,
                   (unsigned long long)region->bytes_written, (unsigned long long)region->syscalls,
                   i + 1);
        if (kinds)
            put_region_calls(out, region);
    }
    count_text_more_regions(out, (size_t)run->report->regions);
}

/* The instructions of each process, in the order of their starts. */
static void put_process_table(struct buf *out, const struct count_run *run)
{
    if (run->total.processes < 2)
        return;
    buf_printf(out, "\n%22s  %14s %14s %12s\n", "instructions", "bytes read", "bytes written",
               "system calls");
    for (size_t i = 0; i < run->total.processes && i < PROCESSES_SHOWN; i++) {
        const struct report_process *process = count_run_process(run, i);
        char name[REPORT_NAME_SIZE];

        process_name(process, name);
        buf_printf(out, "%22llu  %14llu %14llu %12llu  %s, process %d\n",
                   (unsigned long long)report_instructions(process),
                   (unsigned long long)process->bytes_read,
                   (unsigned long long)process->bytes_written,
                   (unsigned long long)process->syscalls, name, (int)process->pid);
    }
    if (run->total.processes > PROCESSES_SHOWN)
        buf_printf(out, "%22s  and %zu more, see --json\n", "...",
                   (size_t)run->total.processes - PROCESSES_SHOWN);
}

static void find_counted_extremes(const struct count_findings *findings, size_t *least,
                                  size_t *most)
{
    *least = *most = 0;
    for (size_t i = 1; i < findings->run_count; i++) {
        uint64_t instructions = findings->runs[i].total.instructions;

        if (instructions < findings->runs[*least].total.instructions)
            *least = i;
        if (instructions > findings->runs[*most].total.instructions)
            *most = i;
    }
}

/* Lists the system calls that one run made more often. */
static void put_differing_calls(struct buf *out, const struct count_run *a,
                                const struct count_run *b)
{
    const char *separator = "system calls that differ in number: ";

    for (size_t number = 0; number < REPORT_SYSCALLS; number++) {
        uint64_t in_a = a->total.calls[number], in_b = b->total.calls[number];
        const char *name = guest_syscall_name(number);

        if (in_a == in_b)
            continue;
        buf_printf(out, "%s%s (%llu, %llu)", separator, name != NULL ? name : "others",
                   (unsigned long long)in_a, (unsigned long long)in_b);
        separator = ", ";
    }
    buf_append_string(out,
                      *separator == ',' ? "\n" : "each system call was made as often in both\n");
}

static bool has_made_call(const struct count_run *run, const char *name)
{
    for (size_t place = 0; place < OTHERS; place++)
        if (run->total.calls[place] > 0 && has_call_name(place) &&
            strcmp(guest_syscall_name(place), name) == 0)
            return true;
    return false;
}

/* Lists what the program asked for that can make its count vary. */
static void put_varying_calls(struct buf *out, const struct count_run *run)
{
    const char *separator = "it looks at: ", *before = "";

    for (size_t i = 0; i < VARYING_CALLS; i++) {
        if (strcmp(before, varying_calls[i].what) == 0 ||
            !has_made_call(run, varying_calls[i].name))
            continue;
        before = varying_calls[i].what;
        buf_printf(out, "%s%s", separator, before);
        separator = ", ";
    }
    if (*separator == ',')
        buf_append_byte(out, '\n');
}

static void put_counted_agreement(struct buf *out, const struct count_findings *findings)
{
    size_t least, most;

    if (findings->run_count == 1)
        return;
    if (count_findings_agree(findings)) {
        buf_printf(out, "\nthe same in all %zu runs\n", findings->run_count);
        return;
    }
    find_counted_extremes(findings, &least, &most);
    buf_printf(out, "\nNOT the same in all %zu runs: %llu to %llu instructions\n",
               findings->run_count, (unsigned long long)findings->runs[least].total.instructions,
               (unsigned long long)findings->runs[most].total.instructions);
    put_differing_calls(out, &findings->runs[least], &findings->runs[most]);
    put_varying_calls(out, &findings->runs[most]);
}

/* A table like perf stat's, and words on what differs between the runs. */
static void count_print_table(struct buf *out, const struct count_findings *findings)
{
    const struct count_run *first = &findings->runs[0];

    count_text_heading(out, findings->arguments, first->status,
                       first->total.over_limit ? "instruction" : NULL);
    put_total(out, findings, first);
    if (findings->kinds) {
        put_kinds(out, &first->total);
        put_calls(out, first->total.calls);
    }
    put_process_table(out, first);
    put_counted_regions(out, first, findings->kinds);
    put_counted_agreement(out, findings);
    buf_printf(out, "\nfingerprint %.16s\n", findings->fingerprint->hash);
}

/* ---- for programs ---- */

/* ,"name":number */
static void put_count_member(struct buf *out, const char *name, uint64_t number)
{
    buf_printf(out, ",\"%s\":%llu", name, (unsigned long long)number);
}

/* ,"NAME":{"move":1,...}: all that there are, so that readers find them. */
static void put_named(struct buf *out, const char *name, const char *const *names, int count,
                      const uint64_t *numbers)
{
    buf_printf(out, ",\"%s\":{", name);
    for (int i = 0; i < count; i++)
        buf_printf(out, "%s\"%s\":%llu", i > 0 ? "," : "", names[i],
                   (unsigned long long)numbers[i]);
    buf_append_byte(out, '}');
}

static void put_json_kinds(struct buf *out, const uint64_t kinds[KIND_COUNT])
{
    put_named(out, "kinds", kind_class_names, KIND_CLASSES, kinds);
    put_named(out, "memory", kind_memory_names, KIND_MEMORIES, kinds + KIND_CLASSES);
}

/* ,"calls":{"read":1,...}: those that were made. */
static void put_json_calls(struct buf *out, const uint64_t calls[REPORT_SYSCALLS])
{
    const char *separator = "";
    struct count_call call;
    size_t place = 0;

    buf_append_string(out, ",\"calls\":{");
    while (count_calls_next(calls, &place, &call)) {
        buf_printf(out, "%s\"%s\":%llu", separator, call.name, (unsigned long long)call.times);
        separator = ",";
    }
    buf_append_byte(out, '}');
}

static void put_json_regions(struct buf *out, const struct count_run *run, bool kinds)
{
    size_t count = count_run_regions(run);

    buf_append_string(out, ",\"regions\":[");
    for (size_t i = 0; i < count; i++) {
        const struct report_region *region = &run->report->region[i];

        buf_printf(out, "%s{\"pid\":%d,\"thread\":%u", i > 0 ? "," : "", (int)region->pid,
                   region->thread);
        put_count_member(out, "instructions", region->instructions);
        put_count_member(out, "faults", region->faults);
        put_count_member(out, "syscalls", region->syscalls);
        put_count_member(out, "bytesRead", region->bytes_read);
        put_count_member(out, "bytesWritten", region->bytes_written);
        put_json_calls(out, region->by_number);
        if (kinds)
            put_json_kinds(out, region->kinds);
        buf_append_byte(out, '}');
    }
    buf_printf(out, "],\"regionsLost\":%zu", (size_t)run->report->regions - count);
}

static void put_processes(struct buf *out, const struct count_run *run)
{
    buf_append_string(out, ",\"processes\":[");
    for (size_t i = 0; i < run->total.processes; i++) {
        const struct report_process *process = count_run_process(run, i);
        char name[REPORT_NAME_SIZE];

        buf_printf(out, "%s{\"pid\":%d,\"parent\":%d", i > 0 ? "," : "", (int)process->pid,
                   (int)process->parent);
        put_count_member(out, "instructions", report_instructions(process));
        put_count_member(out, "syscalls", process->syscalls);
        put_count_member(out, "bytesRead", process->bytes_read);
        put_count_member(out, "bytesWritten", process->bytes_written);
        process_name(process, name);
        buf_append_string(out, ",\"program\":");
        count_text_string(out, name);
        buf_printf(out, ",\"precision\":\"%s\"}",
                   process->precision == GASMARK_INSTRUCTION ? "instruction" : "block");
    }
    buf_append_byte(out, ']');
}

static void put_counted_run(struct buf *out, const struct count_findings *findings, size_t index)
{
    const struct count_run *run = &findings->runs[index];
    const struct count_total *total = &run->total;

    count_text_run(out, index, run->status);
    put_count_member(out, "instructions", total->instructions);
    put_count_member(out, "syscalls", total->syscalls);
    put_count_member(out, "bytesRead", total->bytes_read);
    put_count_member(out, "bytesWritten", total->bytes_written);
    put_count_member(out, "faults", total->faults);
    if (findings->gas != NULL)
        buf_printf(out, ",\"gas\":%.0f", price_count(findings, total));
    buf_printf(out, ",\"exact\":%s,\"complete\":%s,\"overLimit\":%s",
               total->exact ? "true" : "false", total->complete ? "true" : "false",
               total->over_limit ? "true" : "false");
    if (findings->kinds)
        put_json_kinds(out, total->kinds);
    put_json_calls(out, total->calls);
    put_json_regions(out, run, findings->kinds);
    put_processes(out, run);
    buf_append_string(out, "}\n");
}

static void put_fingerprint(struct buf *out, const struct fingerprint *fingerprint)
{
    buf_printf(out, ",\"fingerprint\":{\"hash\":\"%s\",\"files\":{", fingerprint->hash);
    for (size_t i = 0; i < fingerprint->count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        count_text_string(out, fingerprint->files[i].path);
        buf_append_byte(out, ':');
        if (fingerprint->files[i].hash[0] != '\0')
            count_text_string(out, fingerprint->files[i].hash);
        else
            buf_append_string(out, "null");
    }
    buf_append_string(out, "}}");
}

/* One object for each run, {"kind":"run",...}, then {"kind":"summary",...}. */
static void count_print_json(struct buf *out, const struct count_findings *findings)
{
    size_t least, most;

    for (size_t i = 0; i < findings->run_count; i++)
        put_counted_run(out, findings, i);
    find_counted_extremes(findings, &least, &most);
    count_text_summary(out, findings->arguments, findings->run_count,
                       count_findings_agree(findings));
    put_count_member(out, "least", findings->runs[least].total.instructions);
    put_count_member(out, "most", findings->runs[most].total.instructions);
    put_fingerprint(out, findings->fingerprint);
    buf_append_string(out, "}\n");
}

/* All that a whole command holds. */
struct count {
    struct count_options options;
    struct guest_tools tools;
    struct gas_model gas;
    struct fingerprint fingerprint;
    int profile_fd; /* what the counter says of places, in memory; -1 when not asked for */
    struct count_run *runs;
    size_t run_count;
    struct baseline baseline; /* of --against */
    bool exceeds;             /* the count does, by more than is allowed */
};

/* The exit status for a count that exceeds its baseline. */
enum { OVER_BASELINE = 6 };

static void show_count_progress(const struct count *count)
{
    if (count->options.repeat > 1 && isatty(STDERR_FILENO))
        fprintf(stderr, "run %zu of %" PRIu64 "\n", count->run_count + 1, count->options.repeat);
}

static int run_all_counted(struct count *count, struct error *error)
{
    const struct count_program program = {
        .arguments = count->options.arguments,
        .environment = count->options.environment,
        .directory = count->options.directory,
        .plugin_options =
            count->options.plugin.length > 0 ? buf_string(&count->options.plugin) : "",
        .profile_fd = count->profile_fd,
    };

    count->runs = calloc(count->options.repeat, sizeof *count->runs);
    if (count->runs == NULL || program.plugin_options == NULL)
        return error_memory(error, "the runs");
    for (; count->run_count < count->options.repeat; count->run_count++) {
        show_count_progress(count);
        if (count_run(&count->runs[count->run_count], &count->tools, &program, error) != 0)
            return -1;
    }
    return fingerprint_take(&count->fingerprint, &count->tools, program.plugin_options,
                            count->runs[0].report, error);
}

static int print_count(struct count *count, struct error *error)
{
    const struct count_findings findings = {
        .arguments = count->options.arguments,
        .runs = count->runs,
        .run_count = count->run_count,
        .kinds = count->options.kinds,
        .gas = count->options.gas != NULL ? &count->gas : NULL,
        .fingerprint = &count->fingerprint,
    };
    struct buf out = {0};
    int result;

    (count->options.json ? count_print_json : count_print_table)(&out, &findings);
    if (count->options.against != NULL)
        baseline_compare(&count->baseline, &count->runs[0].total, count->fingerprint.hash,
                         count->options.allow, count->options.json, &out, &count->exceeds);
    result = buf_failed(&out) ? error_memory(error, "the result")
                              : count_outputs_write(&count->options, &out, error);
    buf_free(&out);
    if (result != 0)
        return -1;
    if (!count_findings_agree(&findings))
        return error_set(error, ERROR_DELIVERY, "the counts of %zu runs differ", count->run_count);
    return 0;
}

static int write_profiles(const struct count *count, struct error *error)
{
    struct profile profile;
    char path[64];
    int result;

    if (count->profile_fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", count->profile_fd);
    result = counter_profile_read(&profile, path, error);
    if (result == 0)
        result = count_outputs_write_profile(&count->options, &profile, error);
    profile_close(&profile);
    return result;
}

static int open_counted_profile(struct count *count, struct error *error)
{
    count->profile_fd = memfd_create("gaspipe-profile", MFD_CLOEXEC);
    if (count->profile_fd < 0)
        return error_system(error, errno, "cannot make the memory for the profile");
    return 0;
}

/* The first run that did not succeed is a failure of the whole. */
static int check_counted_ends(const struct count *count, struct error *error)
{
    struct buf words = {0};

    for (size_t i = 0; i < count->run_count; i++) {
        const struct count_run *run = &count->runs[i];

        if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0 && !run->total.over_limit)
            continue;
        count_text_end(&words, run->status, run->total.over_limit ? "instruction" : NULL);
        error_set(error, ERROR_DELIVERY, "%s: %s", count->options.arguments[0],
                  buf_string(&words) != NULL ? buf_string(&words) : "failed");
        buf_free(&words);
        return -1;
    }
    return 0;
}

static int count_and_report(struct count *count, struct error *error)
{
    const struct count_options *options = &count->options;

    if (count_outputs_check(options, error) != 0 ||
        (options->against != NULL && baseline_read(&count->baseline, options->against, error) != 0))
        return -1;
    if (count->options.gas != NULL && gas_model_read(&count->gas, count->options.gas, error) != 0)
        return -1;
    if (count->options.counter == COUNT_COMPILED)
        return count_compiled(&count->options, count->options.gas != NULL ? &count->gas : NULL,
                              error);
    if (guest_find_tools(&count->tools, error) != 0 || guest_pin_layout(&count->tools, error) != 0)
        return -1;
    if (options->versus.count > 0 || options->timed > 0)
        return compare_commands(options, &count->tools, error);
    if (count_outputs_want_profile(&count->options) && open_counted_profile(count, error) != 0)
        return -1;
    if (run_all_counted(count, error) != 0)
        return -1;
    if (write_profiles(count, error) != 0)
        return -1;
    if (print_count(count, error) != 0 || check_counted_ends(count, error) != 0)
        return -1;
    if (options->save == NULL || count->exceeds)
        return 0;
    return baseline_save(options->save, options->arguments, &count->runs[0].total,
                         count->fingerprint.hash, error);
}

static void count_free(struct count *count)
{
    for (size_t i = 0; i < count->run_count; i++)
        count_run_free(&count->runs[i]);
    free(count->runs);
    if (count->profile_fd >= 0)
        close(count->profile_fd);
    fingerprint_free(&count->fingerprint);
    count_options_free(&count->options);
}

int count_command(int argc, char **argv)
{
    struct count count = {.profile_fd = -1};
    struct error error = {0};
    enum option_result parsed = count_options_parse(&count.options, argc, argv, &error);
    int status = 0;

    if (parsed != OPTION_TAKEN) {
        status = option_end(&count_options_table, parsed, &error);
    } else if (count_and_report(&count, &error) != 0) {
        log_line("%s", error.text);
        status = (int)error.kind;
    } else if (count.exceeds && baseline_has_other_output(&count.baseline)) {
        log_line("cannot compare with %s, of another kind of stdout: redirect it as at --save",
                 count.options.against);
        status = ERROR_INPUT;
    } else if (count.exceeds) {
        log_line("more instructions than %s allows", count.options.against);
        status = OVER_BASELINE;
    }
    count_free(&count);
    return status;
}
