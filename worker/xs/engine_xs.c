/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/engine_xs.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <xsnap.h>

#include "base/log.h"
#include "worker/own_stack.h"
#include "worker/region.h"
#include "worker/xs/xs_index.h"
#include "worker/xs/xs_memory.h"
#include "worker/xs/xs_platform.h"
#include "worker/xs/xs_profile.h"
#include "worker/xs/xs_snapshot.h"

enum { RESULT_TEXT_SIZE = ERROR_TEXT_SIZE };

struct engine {
    xsMachine *machine;
    struct engine_options options;
    uint32_t limit;   /* of the running command; 0: none */
    uint32_t compute; /* of the last command */

    /* Input and result of the running command. */
    struct iovec input;
    const char *path;
    struct engine_result result;
    char text[RESULT_TEXT_SIZE]; /* of results that are not in the heap */
};

extern xsIntegerValue fxGetCurrentHeapCount(xsMachine *the);
extern void fxExitToHost(xsMachine *the);
extern void modInstallTextDecoder(xsMachine *the);
extern void modInstallTextEncoder(xsMachine *the);
extern void modInstallBase64(xsMachine *the);

extern void xs_textdecoder(xsMachine *the);
extern void xs_textdecoder_decode(xsMachine *the);
extern void xs_textdecoder_get_encoding(xsMachine *the);
extern void xs_textdecoder_get_ignoreBOM(xsMachine *the);
extern void xs_textdecoder_get_fatal(xsMachine *the);
extern void xs_textencoder(xsMachine *the);
extern void xs_textencoder_encode(xsMachine *the);
extern void xs_textencoder_encodeInto(xsMachine *the);
extern void xs_base64_encode(xsMachine *the);
extern void xs_base64_decode(xsMachine *the);

/* ---- globals of the start compartment ---- */

static struct engine *engine_of(xsMachine *the)
{
    return xsGetContext(the);
}

/* XS reports the line of a syntax error only to its debugger. This function replaces XS's
 * (--wrap in the Makefile) and prints it on stderr for the contract's author. */
void __wrap_fxVReportError(void *console, char *path, int line, char *format, va_list arguments);

void __wrap_fxVReportError(void *console, char *path, int line, char *format, va_list arguments)
{
    const struct engine *engine = engine_of(console);
    char words[256];

    (void)path;
    if (engine != NULL && engine->options.quiet)
        return;
    vsnprintf(words, sizeof words, format, arguments);
    log_line("line %d: %s", line, words);
}

static void xs_set_immediate(xsMachine *the)
{
    xsSetTimer(0, 0);
}

static void xs_gc(xsMachine *the)
{
    xsCollectGarbage();
}

static void xs_print(xsMachine *the)
{
    xsIntegerValue count = xsToInteger(xsArgc);

    if (engine_of(the)->options.print_compute)
        fprintf(stdout, "[%u] ", xsGetCurrentMeter(the));
    for (xsIntegerValue i = 0; i < count; i++)
        fprintf(stdout, "%s%s", i > 0 ? " " : "", xsToString(xsArg(i)));
    fputc('\n', stdout);
    fflush(stdout);
}

static void xs_issue_command(xsMachine *the)
{
    struct engine_host *host = &engine_of(the)->options.host;
    struct iovec message, answer;

    if (xsToInteger(xsArgc) < 1)
        xsTypeError("expected ArrayBuffer");
    message.iov_len = (size_t)xsGetArrayBufferLength(xsArg(0));
    message.iov_base = xsToArrayBuffer(xsArg(0));
    xs_memory_is_for(NULL);
    answer = host->request(host->context, message);
    xs_memory_is_for(the);
    if (answer.iov_base == NULL)
        fxExitToHost(the);
    xsResult = xsArrayBuffer(answer.iov_base, (xsIntegerValue)answer.iov_len);
}

static void xs_performance_now(xsMachine *the)
{
    struct timeval now;

    /* Cannot fail: the address is valid. */
    (void)gettimeofday(&now, NULL);
    xsResult = xsNumber((double)now.tv_sec * 1000.0 + (double)now.tv_usec / 1000.0);
}

static void xs_current_meter_limit(xsMachine *the)
{
    xsResult = xsInteger((xsIntegerValue)engine_of(the)->limit);
}

static void xs_reset_meter(xsMachine *the)
{
    if (xsToInteger(xsArgc) < 2)
        xsTypeError("expected newMeterLimit, newMeterIndex");
    xsResult = xsInteger((xsIntegerValue)xsGetCurrentMeter(the));
    engine_of(the)->limit = (uint32_t)xsToInteger(xsArg(0));
    xs_profile_meter_set(the, (uint32_t)xsToInteger(xsArg(1)));
    xsSetCurrentMeter(the, (xsUnsignedValue)xsToInteger(xsArg(1)));
}

static void define_function(xsMachine *the, char *name, xsCallback function, int arguments)
{
    xsResult = xsNewHostFunction(function, arguments);
    xsDefine(xsGlobal, xsID(name), xsResult, xsDontEnum);
}

/* The order determines the heap, and so snapshots. */
static void build_start_compartment(struct engine *engine)
{
    xsMachine *machine = engine->machine;

    xsBeginHost(machine);
    xsVars(1);
    define_function(the, "setImmediate", xs_set_immediate, 1);
    define_function(the, "gc", xs_gc, 1);
    define_function(the, "print", xs_print, 1);
    define_function(the, "issueCommand", xs_issue_command, 1);
    xsResult = xsNewObject();
    xsVar(0) = xsNewHostFunction(xs_performance_now, 0);
    xsDefine(xsResult, xsID("now"), xsVar(0), xsDontEnum);
    xsDefine(xsGlobal, xsID("performance"), xsResult, xsDontEnum);
    define_function(the, "currentMeterLimit", xs_current_meter_limit, 1);
    define_function(the, "resetMeter", xs_reset_meter, 1);
    modInstallTextDecoder(the);
    modInstallTextEncoder(the);
    modInstallBase64(the);
    define_function(the, "harden", fx_harden, 1);
    xsEndHost(machine);
}

/* Snapshots depend on the order: add new entries at the end only. */
static xsCallback snapshot_callbacks[XS_SNAPSHOT_CALLBACKS] = {
    xs_issue_command,
    xs_print,
    xs_set_immediate,
    xs_gc,
    xs_performance_now,
    xs_current_meter_limit,
    xs_reset_meter,
    xs_textdecoder,
    xs_textdecoder_decode,
    xs_textdecoder_get_encoding,
    xs_textdecoder_get_ignoreBOM,
    xs_textdecoder_get_fatal,
    xs_textencoder,
    xs_textencoder_encode,
    xs_textencoder_encodeInto,
    xs_base64_encode,
    xs_base64_decode,
    fx_harden,
};

/* ---- running a command, and what can stop it ---- */

static xsBooleanValue may_continue(xsMachine *the, xsUnsignedValue computrons)
{
    uint32_t limit = engine_of(the)->limit;

    xs_profile_check(the);
    return (limit == 0 || computrons <= limit) && !region_is_over_cost();
}

static void set_text(struct engine *engine, const char *words)
{
    snprintf(engine->text, sizeof engine->text, "%s", words);
    engine->result.text = (struct iovec){engine->text, strlen(engine->text)};
}

/* XS stops in the same way at its own limit, which is the same on every machine, and if the
 * system refuses memory, which is not. */
static void report_memory_refusal(struct engine *engine)
{
    if (engine->result.exit_status != WORKER_EXIT_MEMORY || !xs_memory_was_refused())
        return;
    engine->result.exit_status = WORKER_EXIT_HOST_MEMORY;
    set_text(engine, "the system gave it no memory");
}

/* XS does not free a stopped command's memory, because the process is about to end. */
static bool was_stopped;

int __lsan_is_turned_off(void);

/* LeakSanitizer calls this at the end of the process. */
int __lsan_is_turned_off(void)
{
    return was_stopped;
}

static void set_stopped(struct engine *engine)
{
    static const struct {
        int abort_status;
        enum worker_exit exit_status;
        const char *words;
    } ends[] = {
        {xsNotEnoughMemoryExit, WORKER_EXIT_MEMORY, "memory limit exceeded"},
        {xsStackOverflowExit, WORKER_EXIT_STACK, "stack limit exceeded"},
        {xsNoMoreKeysExit, WORKER_EXIT_KEYS, "no more keys"},
        {xsTooMuchComputationExit, WORKER_EXIT_COMPUTATION, "compute limit exceeded"},
        {xsUnhandledExceptionExit, WORKER_EXIT_UNKNOWN, "unhandled exception"},
    };

    was_stopped = true;
    engine->compute = xsGetCurrentMeter(engine->machine);
    engine->result.outcome = ENGINE_STOPPED;
    engine->result.exit_status = WORKER_EXIT_UNKNOWN;
    set_text(engine, "the engine gave up");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i].abort_status == engine->machine->abortStatus) {
            engine->result.exit_status = ends[i].exit_status;
            set_text(engine, ends[i].words);
        }
    }
    if (engine->result.exit_status == WORKER_EXIT_COMPUTATION && region_is_over_cost()) {
        engine->result.exit_status = WORKER_EXIT_COST;
        set_text(engine, "cost limit exceeded");
    }
    report_memory_refusal(engine);
}

/* Runs a command; returns false if XS stopped it (limits, memory, stack). XS jumps to the
 * outermost jump buffer, so exactly one is set, once per command. */
static bool guard(struct engine *engine, void (*command)(struct engine *))
{
    bool volatile finished = false;
    xsMachine *machine = engine->machine;
    xsJump jump = {
        .nextJump = machine->firstJump,
        .stack = machine->stack,
        .scope = machine->scope,
        .frame = machine->frame,
        .code = machine->code,
    };

    xs_memory_is_for(machine);
    machine->firstJump = &jump;
    if (setjmp(jump.buffer) == 0) {
        command(engine);
        finished = true;
    }
    xs_memory_is_for(NULL);
    machine->stack = jump.stack;
    machine->scope = jump.scope;
    machine->frame = jump.frame;
    machine->code = jump.code;
    machine->firstJump = jump.nextJump;
    return finished;
}

static struct engine_result run_guarded(struct engine *engine, void (*command)(struct engine *))
{
    engine->result = (struct engine_result){.outcome = ENGINE_OK};
    engine->limit = engine->options.compute_limit;
    engine->compute = 0;
    xsSetCurrentMeter(engine->machine, 0);
    xs_profile_begin(engine->machine);
    if (!guard(engine, command))
        set_stopped(engine);
    xs_profile_end(engine->machine, engine->compute);
    if (xs_depth_take_note())
        own_stack_give_back();
    engine->limit = 0;
    return engine->result;
}

/* Getting the message may run the contract's toString, so it counts towards the command's limit
 * and may throw. */
static void set_threw(struct engine *engine, xsMachine *the, const xsSlot *thrown)
{
    engine->result.outcome = ENGINE_THREW;
    xsTry
    {
        char *message = xsToString(*thrown);
        engine->result.text = (struct iovec){message, strlen(message)};
    }
    xsCatch
    {
        xsException = xsUndefined;
        set_text(engine, "an exception that cannot be printed");
    }
}

/* The result is the value, or for a command that ends later, the value's property `result` by
 * now; bytes only. */
static void set_result(struct engine *engine, xsMachine *the, const xsSlot *value, xsSlot *result)
{
    xsTry
    {
        xsIdentifier name = xsTypeOf(*value) == xsReferenceType ? xsID("result") : XS_NO_ID;

        if (name != XS_NO_ID && xsHas(*value, name))
            *result = xsGet(*value, name);
        else
            *result = *value;
        if (xsIsInstanceOf(*result, xsArrayBufferPrototype)) {
            engine->result.text.iov_len = (size_t)xsGetArrayBufferLength(*result);
            engine->result.text.iov_base = xsToArrayBuffer(*result);
        }
    }
    xsCatch
    {
        xsException = xsUndefined;
        engine->result.text = (struct iovec){0};
    }
}

/* Reads the meter here; later work, such as a getter of the result, is not metered. */
static void read_meter(struct engine *engine)
{
    engine->compute = xsGetCurrentMeter(engine->machine);
    xs_profile_meter_read(engine->machine);
}

/* Calls globalThis[function](argument), settles all promises, and takes the result. Exceptions
 * after the call's return are the program's to report. */
static void call_global(xsMachine *machine, char *function, bool as_bytes)
{
    struct engine *engine = engine_of(machine);
    xsIntegerValue length = (xsIntegerValue)engine->input.iov_len;

    xsBeginHost(machine);
    {
        bool volatile threw = false;

        xsVars(3);
        {
            xsTry
            {
                if (as_bytes)
                    xsVar(0) = xsArrayBuffer(engine->input.iov_base, length);
                else
                    xsVar(0) = xsStringBuffer(engine->input.iov_base, length);
                xsVar(1) = xsCall1(xsGlobal, xsID(function), xsVar(0));
            }
            xsCatch
            {
                threw = true;
                xsVar(1) = xsException;
                xsException = xsUndefined;
            }
        }
        fxRunLoop(machine);
        read_meter(engine);
        if (threw)
            set_threw(engine, the, &xsVar(1));
        else
            set_result(engine, the, &xsVar(1), &xsVar(2));
    }
    xsEndHost(machine);
}

static void evaluate(struct engine *engine)
{
    call_global(engine->machine, "eval", false);
}

static void call_handle_command(struct engine *engine)
{
    call_global(engine->machine, "handleCommand", true);
}

static void run_source_file(xsMachine *machine, bool as_module)
{
    struct engine *engine = engine_of(machine);

    xsBeginHost(machine);
    {
        xsVars(1);
        {
            xsTry
            {
                if (as_module)
                    xsRunModuleFile((char *)engine->path);
                else
                    xsRunProgramFile((char *)engine->path);
            }
            xsCatch
            {
                xsVar(0) = xsException;
                xsException = xsUndefined;
                set_threw(engine, the, &xsVar(0));
                /* Copy the text, because promise jobs may move the heap. */
                set_text(engine, engine->result.text.iov_base);
            }
        }
    }
    xsEndHost(machine);
    fxRunLoop(machine);
    read_meter(engine);
}

static void run_script(struct engine *engine)
{
    run_source_file(engine->machine, false);
}

static void run_module(struct engine *engine)
{
    run_source_file(engine->machine, true);
}

/* Sets the meter as for a new machine. */
static void begin_metering(struct engine *engine)
{
    const struct engine_options *options = &engine->options;
    uint32_t interval = options->compute_interval;

    if ((interval == 0 && (options->compute_limit > 0 || options->cost_limited)) ||
        options->profile)
        interval = 1;
    fxBeginMetering(engine->machine, may_continue, interval);
}

/* The result is the snapshot's size, in decimal, as with xsnap. */
static void write_xs_snapshot(struct engine *engine)
{
    char digits[24];
    struct error error;
    size_t size;

    if (xs_snapshot_write(engine->machine, snapshot_callbacks, engine->path, &size, &error) == 0) {
        snprintf(digits, sizeof digits, "%zu", size);
        set_text(engine, digits);
        return;
    }
    engine->result.outcome = ENGINE_STOPPED;
    engine->result.exit_status = WORKER_EXIT_IO;
    set_text(engine, error.text);
}

/* ---- struct engine_ops ---- */

static void xs_version(char *line, size_t size)
{
    char number[16];

    xsVersion(number, sizeof number);
    snprintf(line, size, "xsnap " XSNAP_VERSION " (XS %s)", number);
}

/* Fills engine->machine; NULL: out of memory. */
static void create_machine(struct engine *engine)
{
    uint32_t parser_kb = engine->options.parser_kb ? engine->options.parser_kb : 8192;
    /* xsnap-worker's sizes. They decide when the heap grows, and so `allocate`. */
    xsCreation creation = {
        .initialChunkSize = 32 * 1024 * 1024,
        .incrementalChunkSize = 4 * 1024 * 1024,
        .initialHeapCount = 256 * 1024,
        .incrementalHeapCount = 128 * 1024,
        .stackCount = 4096,
        .initialKeyCount = 32000,
        .incrementalKeyCount = 8000,
        .nameModulo = 1993,
        .symbolModulo = 127,
        .parserBufferSize = (xsIntegerValue)(parser_kb * 1024),
        .parserTableModulo = 1993,
    };

    engine->machine = xsCreateMachine(&creation, "xsnap", engine);
    if (engine->machine == NULL || guard(engine, build_start_compartment))
        return;
    xsDeleteMachine(engine->machine);
    xs_index_close();
    engine->machine = NULL;
}

/* Opens the heap at `place`, or a new one if that is NULL. */
static struct engine *open_at(const struct engine_options *options, const char *place,
                              struct error *error)
{
    struct engine *engine = calloc(1, sizeof *engine);

    if (engine == NULL) {
        error_memory(error, "the engine");
        return NULL;
    }
    engine->options = *options;
    if (options->profile && !xs_profile_open()) {
        error_memory(error, "the profile");
        xs_profile_close();
        free(engine);
        return NULL;
    }
    xsInitializeSharedCluster();
    error_memory(error, "the engine's heap"); /* the error unless another is set */
    if (place == NULL)
        create_machine(engine);
    else
        engine->machine = xs_snapshot_read(snapshot_callbacks, place, engine, error);
    if (engine->machine == NULL) {
        fxTerminateSharedCluster();
        xs_profile_close();
        free(engine);
        return NULL;
    }
    if (options->heap_limit > 0 && options->heap_limit < engine->machine->allocationLimit)
        engine->machine->allocationLimit = options->heap_limit;
    begin_metering(engine);
    xs_trace_clock_begin(engine->machine);
    return engine;
}

static struct engine *xs_open(const struct engine_options *options, struct error *error)
{
    return open_at(options, NULL, error);
}

static struct engine *xs_open_snapshot(const struct engine_options *options, const char *place,
                                       struct error *error)
{
    return open_at(options, place, error);
}

static void xs_close(struct engine *engine)
{
    xs_trace_clock_end();
    fxEndMetering(engine->machine);
    xsDeleteMachine(engine->machine);
    xs_index_close();
    fxTerminateSharedCluster();
    xs_profile_close();
    free(engine);
}

static struct engine_result xs_evaluate(struct engine *engine, struct iovec source)
{
    engine->input = source;
    return run_guarded(engine, evaluate);
}

static struct engine_result xs_deliver(struct engine *engine, struct iovec message)
{
    engine->input = message;
    return run_guarded(engine, call_handle_command);
}

static struct engine_result xs_run_script(struct engine *engine, const char *path)
{
    engine->path = path;
    return run_guarded(engine, run_script);
}

static struct engine_result xs_run_module(struct engine *engine, const char *path)
{
    engine->path = path;
    return run_guarded(engine, run_module);
}

static struct engine_result xs_write_snapshot(struct engine *engine, const char *place)
{
    engine->path = place;
    return run_guarded(engine, write_xs_snapshot);
}

/* Runs within the limit of a command, because the contract's toString may run. */
static void report_exception(struct engine *engine)
{
    xsBeginHost(engine->machine);
    xsTry
    {
        set_text(engine, xsToString(xsException));
    }
    xsCatch
    {
        set_text(engine, "an exception that cannot be printed");
    }
    xsException = xsUndefined;
    xsEndHost(engine->machine);
}

static const char *xs_exception_left(struct engine *engine)
{
    bool volatile left = true; /* xsBeginHost() is a setjmp() */

    xsBeginHost(engine->machine);
    left = xsTypeOf(xsException) != xsUndefinedType;
    xsEndHost(engine->machine);
    return left ? run_guarded(engine, report_exception).text.iov_base : NULL;
}

static struct engine_usage xs_usage(const struct engine *engine)
{
    return (struct engine_usage){
        .compute = engine->compute,
        .allocate = engine->machine->allocatedSpace,
        .heap_count = (uint64_t)fxGetCurrentHeapCount(engine->machine),
        .profile = xs_profile_take(),
    };
}

const struct engine_ops engine_xs = {
    .version = xs_version,
    .open = xs_open,
    .close = xs_close,
    .evaluate = xs_evaluate,
    .deliver = xs_deliver,
    .run_script = xs_run_script,
    .run_module = xs_run_module,
    .write_snapshot = xs_write_snapshot,
    .open_snapshot = xs_open_snapshot,
    .exception_left = xs_exception_left,
    .usage = xs_usage,
};
