/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "slog/model/causes.h"
#include "slog/model/describe.h"
#include "slog/model/pending_delivery.h"
#include "slog/model/spans.h"
#include "slog/read/names.h"

enum {
    /*
     * Nanoseconds by which a line's two clocks may differ, as they are read one after the other. A
     * step of NTP is 128 ms or more.
     */
    CLOCK_STEP = 10 * 1000 * 1000,
    SLOG_VERSION = 1, /* of slog-start lines */
};

struct vat {
    struct pending_delivery *pending; /* owned; NULL: none */
    char *name;                       /* owned; NULL if not known */
    int64_t clist_entries;            /* as of a delivery */
};

struct model {
    struct model_sink sink;
    bool labels, words, client_stamps;
    const struct gas_model *gas; /* NULL: none */
    const char *file;            /* as model_begin_file() */
    struct names vat_ids, kinds, sessions;
    struct model_totals totals; /* without phases, which model->phases counts */
    struct phases phases;
    struct causes causes;
    struct vat *vats; /* by number in vat_ids */
    size_t vat_count, vat_capacity;
    struct pending_delivery *spare; /* one to reuse */
    size_t pending_count;

    bool any_line;           /* false until the first line */
    bool at_work;            /* the kernel process has run a delivery */
    uint32_t session;        /* of gaspipe; NAMES_NONE: another kernel */
    int64_t mono_base;       /* of that session */
    struct moment last_line; /* mono is the line's monotime */
    struct moment last_return;
    bool changed_since_return;
    int64_t block_height;
    uint64_t run;      /* as of a delivery */
    int64_t line_time; /* of the current line */

    /* Reused for each delivery. */
    struct outcome outcome;
    struct spans spans;
    struct model_event *events;
    size_t event_capacity;
    struct buf problem;
};

static const struct moment no_moment = {MODEL_NONE, MODEL_NONE};

struct model *model_new(const struct model_sink *sink, bool labels, struct error *error)
{
    struct model *model = calloc(1, sizeof *model);

    if (model == NULL) {
        error_memory(error, "reading slogfiles");
        return NULL;
    }
    model->sink = *sink;
    model->phases.sink = &model->sink;
    model->labels = labels;
    model->session = NAMES_NONE;
    model->mono_base = MODEL_NONE;
    model->last_line = model->last_return = no_moment;
    model->block_height = MODEL_NONE;
    model->run = 1;
    return model;
}

void model_free(struct model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->vat_count; i++) {
        pending_free(model->vats[i].pending);
        free(model->vats[i].name);
    }
    free(model->vats);
    pending_free(model->spare);
    names_free(&model->vat_ids);
    names_free(&model->kinds);
    names_free(&model->sessions);
    model_totals_free(&model->totals);
    links_free(&model->causes.links);
    outcome_free(&model->outcome);
    spans_free(&model->spans);
    free(model->events);
    buf_free(&model->problem);
    free(model);
}

void model_set_words(struct model *model)
{
    model->words = true;
}

void model_set_client_stamps(struct model *model)
{
    model->client_stamps = true;
}

void model_set_gas(struct model *model, const struct gas_model *gas)
{
    model->gas = gas;
}

void model_begin_file(struct model *model, const char *file)
{
    model->file = file;
}

/* Absent members get the current line's value. */
static void give_note(struct model *model, struct model_note note)
{
    if (note.file == NULL)
        note.file = model->file;
    if (note.vat_id == NULL) {
        note.vat_id = "";
        note.delivery_num = MODEL_NONE;
    }
    if (note.text == NULL)
        note.text = "";
    note.time = note.kind == MODEL_NOTE_TOO_BIG ? MODEL_NONE : model->line_time;
    totals_add_note(&model->totals, &note);
    if (model->sink.note != NULL)
        model->sink.note(model->sink.context, &note);
}

/* ---- vats and their pending deliveries ---- */

static int reserve_vats(struct model *model, struct error *error)
{
    struct vat *vats;

    if (model->vat_count == model->vat_ids.count)
        return 0;
    vats = array_reserve(model->vats, &model->vat_capacity, model->vat_ids.count, sizeof *vats);

    if (vats == NULL)
        return error_memory(error, "vats");
    model->vats = vats;
    while (model->vat_count < model->vat_ids.count)
        model->vats[model->vat_count++] = (struct vat){0};
    return 0;
}

/* Finds the number of the line's vat; NAMES_NONE if it has none. */
static int model_find_vat(struct model *model, const struct record *record, uint32_t *vat,
                          struct error *error)
{
    *vat = NAMES_NONE;
    if (record->vat_id.at == NULL)
        return 0;
    *vat = describe_intern(&model->vat_ids, record->vat_id);
    if (*vat == NAMES_NONE)
        return error_memory(error, "vats");
    return reserve_vats(model, error);
}

/* Keeps the memory of one pending delivery for the next. */
static void end_pending(struct model *model, uint32_t vat)
{
    struct pending_delivery *pending = model->vats[vat].pending;

    model->vats[vat].pending = NULL;
    model->pending_count--;
    if (model->spare == NULL)
        model->spare = pending;
    else
        pending_free(pending);
}

static void abandon_pending(struct model *model, uint32_t vat)
{
    struct pending_delivery *pending = model->vats[vat].pending;

    give_note(model, (struct model_note){.kind = MODEL_NOTE_UNENDED,
                                         .file = pending->file,
                                         .line = pending->line,
                                         .vat_id = names_text(&model->vat_ids, vat),
                                         .delivery_num = pending->delivery_num});
    end_pending(model, vat);
}

static void abandon_all(struct model *model)
{
    for (uint32_t vat = 0; vat < model->vat_count && model->pending_count > 0; vat++) {
        if (model->vats[vat].pending != NULL)
            abandon_pending(model, vat);
    }
}

void model_finish(struct model *model)
{
    abandon_all(model);
    phases_end(&model->phases, model->last_line.real, model->last_line.mono);
}

/* The pending delivery that a line belongs to; NULL if absent. */
static struct pending_delivery *pending_of(struct model *model, const struct record *record,
                                           uint32_t vat)
{
    struct pending_delivery *pending = vat == NAMES_NONE ? NULL : model->vats[vat].pending;

    return pending != NULL && pending->delivery_num == record->delivery_num ? pending : NULL;
}

/* ---- clocks and kernels ---- */

static struct moment moment_of_line(const struct model *model, const struct record *record)
{
    struct moment moment = {record->time, MODEL_NONE};

    if (model->mono_base != MODEL_NONE && record->monotime != RECORD_NONE &&
        __builtin_add_overflow(model->mono_base, record->monotime, &moment.mono))
        moment.mono = MODEL_NONE;
    return moment;
}

static void model_begin_kernel(struct model *model, uint64_t line)
{
    model_finish(model);
    if (model->any_line) {
        model->run++;
        give_note(model, (struct model_note){.kind = MODEL_NOTE_KERNEL, .line = line});
    }
    model->at_work = false;
    causes_block(&model->causes);
    model->block_height = MODEL_NONE;
    model->last_line = model->last_return = no_moment;
    model->changed_since_return = false;
    model->session = NAMES_NONE;
    model->mono_base = MODEL_NONE;
}

/* The parts of a split slogfile begin with the same session. */
static int begin_session(struct model *model, const struct record *record, uint64_t line,
                         struct error *error)
{
    uint32_t session = NAMES_NONE - 1;

    if (record->version != SLOG_VERSION)
        return error_set(error, ERROR_INPUT,
                         "slog-start of version %lld; this slogreport reads version %d",
                         (long long)record->version, SLOG_VERSION);
    if (record->session.at != NULL) {
        session = describe_intern(&model->sessions, record->session);
        if (session == NAMES_NONE)
            return error_memory(error, "sessions");
        if (session == model->session)
            return 0;
    }
    model_begin_kernel(model, line);
    model->session = session;
    if (record->mono_base != RECORD_NONE && record->mono_base >= 0)
        model->mono_base = record->mono_base;
    return 0;
}

/*
 * SwingSet logs nothing when its process begins, but its monotime restarts. In gaspipe's sessions
 * a line may have an earlier stamp than the line above it.
 */
static bool is_new_kernel(const struct model *model, const struct record *record)
{
    bool fell = record->monotime != RECORD_NONE && model->last_line.mono != MODEL_NONE &&
                record->monotime < model->last_line.mono;

    if (model->session != NAMES_NONE)
        return fell && record->type == RECORD_KERNEL_START;
    return fell || (record->type == RECORD_KERNEL_START && model->at_work);
}

static void clock_was_set(struct model *model, uint64_t line, int64_t step)
{
    give_note(model, (struct model_note){.kind = MODEL_NOTE_CLOCK, .line = line, .amount = step});
    model->changed_since_return = true;
    for (uint32_t vat = 0; vat < model->vat_count; vat++) {
        if (model->vats[vat].pending != NULL)
            model->vats[vat].pending->changed = true;
    }
}

static void watch_clock(struct model *model, const struct record *record, uint64_t line)
{
    int64_t real, mono, step;

    if (record->monotime == RECORD_NONE || model->last_line.mono == MODEL_NONE)
        return;
    if (__builtin_sub_overflow(record->time, model->last_line.real, &real) ||
        __builtin_sub_overflow(record->monotime, model->last_line.mono, &mono) ||
        __builtin_sub_overflow(real, mono, &step))
        return;
    if (step > CLOCK_STEP || step < -CLOCK_STEP)
        clock_was_set(model, line, step);
}

/* ---- deliveries ---- */

/* The kernel's time since the previous delivery; MODEL_NONE while another is pending. */
static int64_t between_of(const struct model *model, struct moment sent)
{
    struct moment last = model->last_return;

    if (last.real == MODEL_NONE || model->changed_since_return || model->pending_count > 0)
        return MODEL_NONE;
    if (sent.mono != MODEL_NONE && last.mono != MODEL_NONE)
        return sent.mono >= last.mono ? sent.mono - last.mono : MODEL_NONE;
    return sent.real >= last.real ? sent.real - last.real : MODEL_NONE;
}

static int model_begin_delivery(struct model *model, const struct record *record, uint64_t line,
                                uint32_t vat, struct error *error)
{
    struct pending_delivery *pending;

    if (vat == NAMES_NONE)
        return 0;
    if (model->vats[vat].pending != NULL)
        abandon_pending(model, vat);
    pending = model->spare != NULL ? model->spare : pending_new(error);
    if (pending == NULL)
        return -1;
    model->spare = NULL;
    pending_reset(pending);
    pending->vat = vat;
    pending->file = model->file;
    pending->line = line;
    pending->crank_num = record->crank_num;
    pending->delivery_num = record->delivery_num;
    pending->block_height = model->block_height;
    pending->replay = record->replay;
    pending->wordy = model->words;
    pending->sent = moment_of_line(model, record);
    pending->between = between_of(model, pending->sent);
    model->vats[vat].pending = pending;
    model->pending_count++;
    if (pending_describe(pending, record, error) != 0)
        return -1;
    return model->labels && !record->replay ? pending_add_causes(pending, record, error) : 0;
}

static int add_syscall(struct model *model, const struct record *record, uint32_t vat,
                       struct error *error)
{
    struct pending_delivery *pending = pending_of(model, record, vat);
    struct scan_span kind = record->syscall;
    uint32_t number;

    if (pending == NULL)
        return 0;
    if (record->type == RECORD_CONSOLE)
        kind = (struct scan_span){"console", strlen("console")};
    else if (kind.at == NULL)
        kind = describe_kind(record->vsc.at != NULL ? record->vsc : record->ksc);
    number = describe_intern(&model->kinds, kind.at != NULL ? kind : (struct scan_span){"?", 1});
    if (number == NAMES_NONE)
        return error_memory(error, "kinds of syscall");
    return pending_add_request(pending, record, moment_of_line(model, record), number,
                               model->labels, error);
}

static void answer_syscall(struct model *model, const struct record *record, uint32_t vat)
{
    struct pending_delivery *pending = pending_of(model, record, vat);

    if (pending != NULL)
        pending_answer(pending, record, moment_of_line(model, record));
}

static int reserve_events(struct model *model, size_t count, struct error *error)
{
    struct model_event *events =
        array_reserve(model->events, &model->event_capacity, count, sizeof *events);

    if (events == NULL)
        return error_memory(error, "a delivery's syscalls");
    model->events = events;
    return 0;
}

/* The times of a delivery that has both its lines. */
static int fill_times(struct model *model, const struct pending_delivery *pending,
                      struct moment returned, struct model_delivery *delivery, struct error *error)
{
    bool precise = pending_is_precise(pending, &model->outcome, returned);
    const struct stamps *stamps = precise ? &model->outcome.monotimes : &model->outcome.timestamps;
    struct moments moments = {.sent = precise ? pending->sent.mono : pending->sent.real,
                              .returned = precise ? returned.mono : returned.real,
                              .stamps = stamps->at,
                              .stamp_count = stamps->count,
                              .event_count = pending->request_count,
                              .replay = pending->replay,
                              .capped = model->outcome.monotimes.count == 0,
                              .changed_before_end = pending->changed,
                              .steady = precise};

    if (reserve_events(model, pending->request_count, error) != 0)
        return -1;
    pending_make_events(pending, precise, &model->kinds, model->events);
    moments.frame_sent = moments.sent;
    moments.frame_returned = moments.returned;
    moments.events = model->events;
    delivery->precise = precise;
    delivery->start = pending->sent.real;
    delivery->sent = moments.sent;
    delivery->between = pending->between;
    delivery->stamp_count = stamps->count;
    delivery->syscalls = pending->request_count - pending->consoles;
    delivery->consoles = pending->consoles;
    delivery->events = model->events;
    delivery->event_count = pending->request_count;
    return spans_build_by(&model->spans, &model->outcome, model->events, &moments,
                          model->client_stamps, delivery, error);
}

/* Fills what the deliver-result line says. */
static int fill_result(struct model *model, const struct record *record, uint32_t vat,
                       struct model_delivery *delivery, struct error *error)
{
    const struct outcome *outcome = &model->outcome;

    if (outcome_read(record->dr, &model->outcome, error) != 0)
        return -1;
    buf_clear(&model->problem);
    describe_string(outcome->problem, &model->problem);
    delivery->problem = buf_string(&model->problem);
    if (delivery->problem == NULL)
        return error_memory(error, "a delivery's error");
    delivery->vat_id = model_vat(model, vat, &delivery->vat_name);
    delivery->crank_num = record->crank_num;
    delivery->delivery_num = record->delivery_num;
    delivery->replay = record->replay;
    outcome_fill(outcome, delivery);
    delivery->clist_entries = model->vats[vat].clist_entries;
    return 0;
}

static int give_delivery(struct model *model, const struct model_delivery *delivery,
                         struct error *error)
{
    model->totals.deliveries++;
    return model->sink.delivery != NULL ? model->sink.delivery(model->sink.context, delivery, error)
                                        : 0;
}

/* A delivery without a deliver line, as where a file was cut. */
static int give_unstarted(struct model *model, const struct record *record,
                          struct model_delivery *delivery, struct error *error)
{
    struct buf kind = {0};
    int result;

    give_note(model, (struct model_note){.kind = MODEL_NOTE_UNSTARTED,
                                         .line = delivery->line,
                                         .vat_id = delivery->vat_id,
                                         .delivery_num = record->delivery_num});
    describe_string(record->dispatch, &kind);
    delivery->kind = delivery->description = buf_string(&kind);
    delivery->method = "";
    delivery->arguments = "";
    delivery->coverage = MODEL_BARE;
    if (delivery->kind == NULL)
        result = error_memory(error, "a delivery's description");
    else
        result = give_delivery(model, delivery, error);
    buf_free(&kind);
    return result;
}

static void fill_gas(const struct model *model, struct model_delivery *delivery)
{
    const struct outcome *outcome = &model->outcome;
    const struct gas_usage usage = {.computrons = outcome->compute,
                                    .instructions = outcome->instructions,
                                    .bytes_read = outcome->bytes_read,
                                    .bytes_written = outcome->bytes_written,
                                    .syscalls = (double)delivery->syscalls,
                                    .block_cost = outcome->block_cost};

    if (model->gas != NULL)
        delivery->gas = gas_model_price_delivery(model->gas, &usage);
}

/* A failed delivery is rolled back, with its sends and resolves. */
static int model_find_causes(struct model *model, const struct pending_delivery *pending,
                             struct model_delivery *delivery, struct error *error)
{
    causes_find(&model->causes, delivery, moment_steady(pending->sent));
    for (size_t i = 0; i < delivery->event_count; i++) {
        if (delivery->status == MODEL_OK && !delivery->replay &&
            causes_note(&model->causes, delivery, &delivery->events[i],
                        moment_steady(pending->requests[i].arrived), error) != 0)
            return -1;
    }
    return 0;
}

static int end_delivery(struct model *model, const struct record *record, uint64_t line,
                        uint32_t vat, struct error *error)
{
    struct pending_delivery *pending = pending_of(model, record, vat);
    struct moment returned = moment_of_line(model, record);
    struct model_delivery delivery = {.file = model->file,
                                      .line = line,
                                      .start = MODEL_NONE,
                                      .total = MODEL_NONE,
                                      .pipe = MODEL_NONE,
                                      .worker = MODEL_NONE,
                                      .kernel = MODEL_NONE,
                                      .unattributed = MODEL_NONE,
                                      .between = MODEL_NONE,
                                      .queued = MODEL_NONE,
                                      .cpu_wait = MODEL_NONE,
                                      .worker_cpu_wait = MODEL_NONE,
                                      .run = model->run,
                                      .block_height = model->block_height};
    int result;

    if (vat == NAMES_NONE)
        return 0;
    if (fill_result(model, record, vat, &delivery, error) != 0)
        return -1;
    model->last_return = returned;
    model->changed_since_return = false;
    if (pending == NULL)
        return give_unstarted(model, record, &delivery, error);
    if (buf_failed(&pending->words))
        return error_memory(error, "a delivery's words");
    pending_fill_words(pending, &delivery);
    result = fill_times(model, pending, returned, &delivery, error);
    pending_fill_cpu_waits(record, &delivery);
    fill_gas(model, &delivery);
    if (result == 0 && model->labels)
        result = model_find_causes(model, pending, &delivery, error);
    if (result == 0)
        result = give_delivery(model, &delivery, error);
    end_pending(model, vat);
    return result;
}

/* After a restart a vat may be created again without its name: the old one stays. */
static int model_name_vat(struct model *model, const struct record *record, uint32_t vat,
                          struct error *error)
{
    struct buf name = {0};

    if (vat == NAMES_NONE || record->name.at == NULL)
        return 0;
    describe_string(record->name, &name);
    if (buf_string(&name) == NULL)
        return error_memory(error, "a vat's name");
    free(model->vats[vat].name);
    model->vats[vat].name = name.data;
    return 0;
}

/* ---- lines ---- */

static int feed_vat_line(struct model *model, const struct record *record, uint64_t line,
                         struct error *error)
{
    uint32_t vat;

    if (model_find_vat(model, record, &vat, error) != 0)
        return -1;
    switch (record->type) {
    case RECORD_DELIVER:
        return model_begin_delivery(model, record, line, vat, error);
    case RECORD_SYSCALL:
    case RECORD_CONSOLE:
        return add_syscall(model, record, vat, error);
    case RECORD_SYSCALL_RESULT:
        answer_syscall(model, record, vat);
        return 0;
    case RECORD_DELIVER_RESULT:
        return end_delivery(model, record, line, vat, error);
    case RECORD_CREATE_VAT:
        return model_name_vat(model, record, vat, error);
    default:
        if (record->type == RECORD_CLIST && vat != NAMES_NONE)
            model->vats[vat].clist_entries += scan_is(record->mode, "drop") ? -1 : 1;
        return 0;
    }
}

static void give_frame(struct model *model, const struct record *record, enum model_frame_kind kind,
                       bool begins, const char *vat_id)
{
    struct model_frame frame = {.kind = kind,
                                .begins = begins,
                                .number = kind == MODEL_FRAME_BLOCK   ? record->block_height
                                          : kind == MODEL_FRAME_CRANK ? record->crank_num
                                                                      : MODEL_NONE,
                                .vat_id = vat_id,
                                .time = record->time,
                                .monotime = record->monotime};

    if (model->sink.frame != NULL)
        model->sink.frame(model->sink.context, &frame);
}

static int feed_replay_line(struct model *model, const struct record *record, struct error *error)
{
    bool begins = record->type == RECORD_START_REPLAY;
    uint32_t vat;

    if (model_find_vat(model, record, &vat, error) != 0)
        return -1;
    if (vat != NAMES_NONE)
        give_frame(model, record, MODEL_FRAME_REPLAY, begins, names_text(&model->vat_ids, vat));
    return 0;
}

/* A member as text; if it is no string, its JSON. */
static void append_member(const struct record *record, const char *name, struct buf *text)
{
    struct scan_span value = record_member(record, name), string = scan_string(value);

    describe_string(string.at != NULL ? string : value, text);
    buf_append_byte(text, '\0');
}

static int give_inbound(struct model *model, const struct record *record, struct error *error)
{
    struct buf words = {0};
    struct model_inbound inbound = {
        .block_height = model->block_height, .time = record->time, .run = model->run};
    size_t prefix = strlen("cosmic-swingset-"), number, source;

    describe_string(record->type_name, &words);
    buf_append_byte(&words, '\0');
    number = words.length;
    append_member(record, "inboundNum", &words);
    source = words.length;
    append_member(record, record_member(record, "source").at != NULL ? "source" : "sender", &words);
    if (buf_failed(&words))
        return error_memory(error, "what came from outside");
    inbound.chain = causes_inbound(&model->causes);
    inbound.type = words.data + prefix;
    inbound.number = words.data + number;
    inbound.source = words.data + source;
    if (model->sink.inbound != NULL)
        model->sink.inbound(model->sink.context, &inbound);
    buf_free(&words);
    return 0;
}

static int feed_by_type(struct model *model, const struct record *record, uint64_t line,
                        struct error *error)
{
    switch (record->type) {
    case RECORD_BEGIN_BLOCK:
        model->block_height = record->block_height;
        causes_block(&model->causes);
        give_frame(model, record, MODEL_FRAME_BLOCK, true, "");
        return 0;
    case RECORD_END_BLOCK:
    case RECORD_AFTER_COMMIT:
        give_frame(model, record, MODEL_FRAME_BLOCK, false, "");
        return 0;
    case RECORD_CRANK_START:
    case RECORD_CRANK_FINISH:
        give_frame(model, record, MODEL_FRAME_CRANK, record->type == RECORD_CRANK_START, "");
        return 0;
    case RECORD_INBOUND:
        return give_inbound(model, record, error);
    case RECORD_START_REPLAY:
    case RECORD_FINISH_REPLAY:
        return feed_replay_line(model, record, error);
    case RECORD_DELIVER:
        model->at_work = true;
        return feed_vat_line(model, record, line, error);
    case RECORD_CREATE_VAT:
    case RECORD_CLIST:
    case RECORD_SYSCALL:
    case RECORD_SYSCALL_RESULT:
    case RECORD_CONSOLE:
    case RECORD_DELIVER_RESULT:
        return feed_vat_line(model, record, line, error);
    default:
        return 0;
    }
}

/* ---- totals, phases ---- */

const char *model_vat(const struct model *model, size_t number, const char **name)
{
    if (number >= model->vat_count)
        return NULL;
    *name = model->vats[number].name != NULL ? model->vats[number].name : "";
    return names_text(&model->vat_ids, (uint32_t)number);
}

struct model_totals model_take_totals(struct model *model)
{
    struct model_totals taken = model->totals;

    memcpy(taken.phases, model->phases.own, sizeof taken.phases);
    model->totals = (struct model_totals){0};
    return taken;
}

static int feed_phases(struct model *model, const struct record *record, struct error *error)
{
    uint32_t vat;

    if (!phases_want(&model->phases, record->type))
        return 0;
    if (model_find_vat(model, record, &vat, error) != 0)
        return -1;
    phases_line(&model->phases, record, vat != NAMES_NONE ? names_text(&model->vat_ids, vat) : "",
                model->last_line.real, model->last_line.mono);
    return 0;
}

/* Such a record has no time and replaces a line that is not known. */
static int note_too_big(struct model *model, const struct record *record, uint64_t line,
                        struct error *error)
{
    struct model_note note = {.kind = MODEL_NOTE_TOO_BIG, .line = line};
    struct buf text = {0};

    describe_string(scan_string(record_member(record, "snippet")), &text);
    note.text = buf_string(&text);
    if (note.text == NULL)
        return error_memory(error, "a note");
    give_note(model, note);
    buf_free(&text);
    return 0;
}

int model_feed(struct model *model, const struct record *record, uint64_t line, struct error *error)
{
    if (entries_add(&model->totals.entries, record) != 0)
        return error_memory(error, "types of entries");
    if (record->type == RECORD_TOO_BIG)
        return note_too_big(model, record, line, error);
    model->line_time = record->time;
    if (record->type == RECORD_SLOG_START) {
        if (begin_session(model, record, line, error) != 0)
            return -1;
    } else if (is_new_kernel(model, record)) {
        model_begin_kernel(model, line);
    }
    watch_clock(model, record, line);
    if (feed_phases(model, record, error) != 0)
        return -1;
    model->any_line = true;
    model->last_line = (struct moment){record->time, record->monotime};
    return feed_by_type(model, record, line, error);
}
