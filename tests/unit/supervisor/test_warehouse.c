/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warehouse with real pipes and processes: its workers are this program itself, which
 * speaks a worker's protocol and misbehaves as its vat's name says.
 */
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "proto/command.h"
#include "proto/netstring.h"
#include "supervisor/vats/vat_state.h"
#include "supervisor/vats/warehouse.h"

/* ---- the worker ---- */

enum { FROM_WAREHOUSE = 3, TO_WAREHOUSE = 4, GONE_STATUS = 7 };

#define METER     "{\"currentHeapCount\":1,\"compute\":1,\"allocate\":1,\"timestamps\":[1,2]}\1"
#define STOPPED   "67:x{\"currentHeapCount\":1,\"compute\":5,\"allocate\":1,\"timestamps\":[1,2]},"
#define RESULT_OK "." METER "[\"ok\",null]"

static void worker_write(const char *bytes)
{
    if (io_write_all(TO_WAREHOUSE, bytes, strlen(bytes)) != 0)
        _exit(0);
}

static void worker_send(const char *frame)
{
    char head[32];

    snprintf(head, sizeof head, "%zu:", strlen(frame));
    worker_write(head);
    worker_write(frame);
    worker_write(",");
}

/* Faults of a worker. */
static const struct fault {
    const char *name;
    const char *bytes; /* as they go into the pipe; NULL: none */
    int status;        /* it exits with it; 0: it does not */
    int signal_number; /* it raises it; 0: none */
} faults[] = {
    {"garbage", "no frame", 0, 0},
    {"nothing", "0:,", 0, 0},
    {"unknown", "1:z,", 0, 0},
    {"failed", "5:!what,", 0, 0},
    {"half", "100:.", GONE_STATUS, 0},
    {"two", "1:.,1:.,", 0, 0},
    {"nonsense", "4:.yes,", 0, 0},
    {"senseless", "3:?yo,", 0, 0},
    {"exit", NULL, GONE_STATUS, 0},
    {"kill", NULL, 0, SIGKILL},
    {"limit", NULL, WORKER_EXIT_COMPUTATION, 0},
    {"stopped", STOPPED, WORKER_EXIT_COMPUTATION, 0},
};
enum { FAULTS = sizeof faults / sizeof *faults };

static void worker_do_wrong(const char *name)
{
    for (size_t i = 0; i < FAULTS; i++) {
        if (strcmp(name, faults[i].name) != 0)
            continue;
        if (faults[i].bytes != NULL)
            worker_write(faults[i].bytes);
        if (faults[i].status != 0)
            _exit(faults[i].status);
        if (faults[i].signal_number != 0)
            raise(faults[i].signal_number);
    }
}

/* "WHERE-FAULT", or another name of a vat that does nothing wrong. */
static bool worker_is_faulty(const char *vat, const char *where)
{
    const size_t length = strlen(where);

    if (strncmp(vat, where, length) != 0 || vat[length] != '-')
        return false;
    worker_do_wrong(vat + length + 1);
    return true;
}

enum { LARGE_SNAPSHOT = 5 << 20 }; /* bytes: of several pipes */

static void worker_save_large(void)
{
    char *snapshot = calloc(1, LARGE_SNAPSHOT), frame[256];

    if (snapshot == NULL || io_write_all(WORKER_SAVE_FD, snapshot, LARGE_SNAPSHOT) != 0)
        _exit(2);
    free(snapshot);
    snprintf(frame, sizeof frame, "." METER "%d", LARGE_SNAPSHOT);
    worker_send(frame);
}

static void worker_save(const char *vat)
{
    if (strcmp(vat, "large") == 0) {
        worker_save_large();
        return;
    }
    if (io_write_all(WORKER_SAVE_FD, "a heap", 6) != 0)
        _exit(2);
    worker_send("." METER "6");
}

/* Returns true if it was started from the runtime's snapshot or worker_save_large()'s. */
static bool worker_has_its_heap(void)
{
    size_t length = 0;
    char bytes[4096];
    ssize_t more;

    while ((more = read(WORKER_SNAPSHOT_FD, bytes, sizeof bytes)) > 0)
        length += (size_t)more;
    return more == 0 && (length == 6 || length == LARGE_SNAPSHOT);
}

/* One frame. A vat's name decides where it goes wrong. */
static void worker_obey(const char *vat, const char *frame)
{
    const bool delivery = strncmp(frame, "?[\"deliver\"", 11) == 0;

    switch (frame[0]) {
    case COMMAND_EVALUATE:
        worker_send("." METER);
        break;
    case COMMAND_READY:
        if (strcmp(vat, "large") == 0 && !worker_has_its_heap())
            _exit(2);
        if (!worker_is_faulty(vat, "start"))
            worker_send(".");
        break;
    case COMMAND_SNAPSHOT:
        if (strcmp(vat, "lie") == 0)
            worker_send("." METER "6");
        else if (!worker_is_faulty(vat, "save"))
            worker_save(vat);
        break;
    case COMMAND_ANSWER:
        worker_send(RESULT_OK);
        break;
    default:
        if (!delivery && !worker_is_faulty(vat, "load"))
            worker_send("." METER "[\"dispatchReady\"]");
        else if (delivery && strstr(frame, "recorded") != NULL && worker_is_faulty(vat, "replay"))
            ;
        else if (delivery && strstr(frame, "ask") != NULL)
            worker_send("?[\"syscall\",[\"vatstoreGet\",\"key\"]]");
        else if (delivery && !worker_is_faulty(vat, "deliver"))
            worker_send(RESULT_OK);
    }
}

static const char *worker_vat; /* for the signal */

static void on_nudge(int number)
{
    (void)number;
    (void)worker_is_faulty(worker_vat, "idle");
}

/* In poll(), because ThreadSanitizer runs no signal handler during a read(). */
static ssize_t worker_read(char *bytes, size_t size)
{
    struct pollfd ready = {.fd = FROM_WAREHOUSE, .events = POLLIN};

    while (poll(&ready, 1, -1) < 0)
        ;
    return read(FROM_WAREHOUSE, bytes, size);
}

/* `title` ends with the vat's name. */
static int be_worker(const char *title)
{
    const char *vat = worker_vat = strrchr(title, ':') + 1;
    const struct sigaction nudge = {.sa_handler = on_nudge, .sa_flags = SA_RESTART};
    struct netstring_decoder decoder;
    char bytes[4096], *text;
    struct iovec frame;
    struct error error;
    ssize_t length;

    if (sigaction(SIGUSR1, &nudge, NULL) != 0)
        return 1;
    netstring_decoder_init(&decoder, NETSTRING_CAP_DEFAULT);
    while ((length = worker_read(bytes, sizeof bytes)) > 0) {
        size_t done = 0, used;

        while (done < (size_t)length) {
            if (netstring_decode(&decoder, bytes + done, (size_t)length - done, &used, &frame,
                                 &error) == NETSTRING_FRAME) {
                text = strndup(frame.iov_base, frame.iov_len);
                worker_obey(vat, text);
                free(text);
            }
            done += used;
        }
    }
    (void)worker_is_faulty(vat, "leave");
    while (strcmp(vat, "stays") == 0)
        (void)pause();
    netstring_decoder_free(&decoder);
    return 0;
}

/* ---- the warehouse and its reports ---- */

struct hall {
    char directory[64];
    uv_loop_t loop;
    struct launch_config launcher;
    struct store *store;
    struct warehouse *warehouse;
    char reported[1024]; /* a word for each event, with the vat */
    enum vat_loss kind;
    int used; /* computrons, of the last loss; 0: not known */
    char reason[1024];
    bool save_when_ready, closed;
};

/* Ends the wait: a frame is also read before the loop waits. */
static void report(struct hall *hall, const char *what, int64_t vat)
{
    const size_t length = strlen(hall->reported);

    snprintf(hall->reported + length, sizeof hall->reported - length, "%s%s%" PRId64,
             length > 0 ? " " : "", what, vat);
    uv_stop(&hall->loop);
}

static void answer_syscall(struct hall *hall, const struct warehouse_event *event)
{
    static char answer[] = "[\"ok\",null]";

    assert_int_equal(event->request->kind, VAT_REQUEST_SYSCALL);
    warehouse_reply(hall->warehouse, event->vat, (struct iovec){answer, sizeof answer - 1});
}

static void note_loss(struct hall *hall, const struct warehouse_loss *loss)
{
    hall->kind = loss->kind;
    hall->used = loss->used != NULL ? (int)loss->used->compute : 0;
    snprintf(hall->reason, sizeof hall->reason, "%s", loss->reason);
}

static void take_event(void *context, const struct warehouse_event *event)
{
    static const char *const names[] = {
        [WAREHOUSE_EVENT_READY] = "ready",       [WAREHOUSE_EVENT_SENT] = "sent",
        [WAREHOUSE_EVENT_CONSOLE] = "said",      [WAREHOUSE_EVENT_SYSCALL] = "asked",
        [WAREHOUSE_EVENT_ANSWERED] = "answered", [WAREHOUSE_EVENT_LOST] = "lost",
        [WAREHOUSE_EVENT_SAVED] = "saved",       [WAREHOUSE_EVENT_FAILED] = "failed",
    };
    struct hall *hall = context;

    if (event->kind == WAREHOUSE_EVENT_CLOSED) {
        hall->closed = true;
        return;
    }
    report(hall, names[event->kind], event->vat);
    if (event->kind == WAREHOUSE_EVENT_READY && hall->save_when_ready) {
        hall->save_when_ready = false;
        warehouse_save(hall->warehouse, event->vat);
    } else if (event->kind == WAREHOUSE_EVENT_SENT) {
        assert_true(event->at.mono > 0);
    } else if (event->kind == WAREHOUSE_EVENT_SYSCALL) {
        answer_syscall(hall, event);
    } else if (event->kind == WAREHOUSE_EVENT_ANSWERED) {
        assert_null(event->answer->problem);
        assert_int_equal(event->answer->meter->compute, 1);
    } else if (event->kind == WAREHOUSE_EVENT_LOST) {
        note_loss(hall, event->loss);
    } else if (event->kind == WAREHOUSE_EVENT_FAILED) {
        snprintf(hall->reason, sizeof hall->reason, "%s", event->error->text);
    }
}

static void open_hall(struct hall *hall, uint64_t max_workers)
{
    const struct warehouse_listener listener = {
        .context = hall,
        .event = take_event,
    };
    const struct warehouse_options options = {
        .loop = &hall->loop,
        .launcher = &hall->launcher,
        .store = hall->store,
        .timeout_ms = 60000,
        .max_workers = max_workers,
    };
    struct error error;

    hall->reported[0] = hall->reason[0] = '\0';
    hall->closed = false;
    hall->warehouse = warehouse_new(&options, &listener, &error);
    assert_non_null(hall->warehouse);
}

static void set_up(struct hall *hall, uint64_t max_workers)
{
    static char bundle[] = "{\"moduleFormat\":\"gaspipePlain\",\"source\":\"\"}";
    struct error error;

    *hall = (struct hall){.directory = "/tmp/test_warehouse.XXXXXX"};
    assert_non_null(mkdtemp(hall->directory));
    assert_int_equal(uv_loop_init(&hall->loop), 0);
    assert_int_equal(launcher_open_xsnap(&hall->launcher, "/proc/self/exe", 0, &error), 0);
    hall->store = store_open(hall->directory, &error);
    assert_non_null(hall->store);
    assert_int_equal(store_transaction_begin(hall->store, &error), 0);
    assert_int_equal(
        store_bundle_put(hall->store, "b", (struct iovec){bundle, sizeof bundle - 1}, &error), 0);
    open_hall(hall, max_workers);
}

static void close_hall(struct hall *hall)
{
    warehouse_close(hall->warehouse);
    while (!hall->closed)
        (void)uv_run(&hall->loop, UV_RUN_ONCE);
    (void)uv_run(&hall->loop, UV_RUN_DEFAULT);
    warehouse_free(hall->warehouse);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void tear_down(struct hall *hall)
{
    close_hall(hall);
    launcher_close(&hall->launcher);
    store_close(hall->store);
    assert_int_equal(uv_loop_close(&hall->loop), 0);
    assert_int_equal(nftw(hall->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void add_vat(struct hall *hall, int64_t id, const char *name)
{
    const struct warehouse_vat vat = {.id = id, .name = name, .bundle_id = "b"};
    struct error error;

    assert_int_equal(warehouse_set_vat(hall->warehouse, &vat, &error), 0);
}

/* Adds an earlier delivery to the vat, answered without a syscall. */
static void add_past(struct hall *hall, int64_t id)
{
    static char item[] = "{\"d\":[\"message\",\"recorded\"],\"sc\":[],\"r\":{\"status\":\"ok\","
                         "\"metering\":{\"computrons\":1}}}";
    struct error error;

    assert_int_equal(
        store_transcript_add(hall->store, id, 0, 0, (struct iovec){item, sizeof item - 1}, &error),
        0);
}

/* Runs the loop until the listener has received exactly this. */
static void expect(struct hall *hall, const char *reported)
{
    while (strlen(hall->reported) < strlen(reported))
        (void)uv_run(&hall->loop, UV_RUN_ONCE);
    assert_string_equal(hall->reported, reported);
    hall->reported[0] = '\0';
}

/* ---- the tests ---- */

static void vat_is_started_delivered_to_and_evicted(void **state)
{
    struct hall hall;

    (void)state;
    set_up(&hall, 0);
    add_vat(&hall, 1, "one");
    assert_false(warehouse_waits(hall.warehouse, 1));
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "ready1");
    assert_true(warehouse_waits(hall.warehouse, 1));
    warehouse_deliver(hall.warehouse, 1, "[\"message\"]");
    expect(&hall, "sent1 answered1");
    warehouse_deliver(hall.warehouse, 1, "[\"message\",\"ask\"]");
    expect(&hall, "sent1 asked1 answered1");
    warehouse_evict(hall.warehouse, 1);
    assert_false(warehouse_waits(hall.warehouse, 1));
    warehouse_deliver(hall.warehouse, 1, "[\"message\"]");
    expect(&hall, "sent1 answered1");
    warehouse_remove(hall.warehouse, 1);
    assert_int_equal(uv_run(&hall.loop, UV_RUN_DEFAULT), 0);
    assert_false(warehouse_knows(hall.warehouse, 1));
    tear_down(&hall);
}

static void its_past_is_delivered_again_and_a_snapshot_ends_that(void **state)
{
    struct hall hall;

    (void)state;
    set_up(&hall, 0);
    add_past(&hall, 1);
    add_vat(&hall, 1, "replay-exit");
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "lost1"); /* it exits when it meets the past */
    warehouse_remove(hall.warehouse, 1);
    assert_int_equal(uv_run(&hall.loop, UV_RUN_DEFAULT), 0);
    add_vat(&hall, 1, "one");
    assert_int_equal(warehouse_saved_at(hall.warehouse, 1), -1);
    hall.save_when_ready = true;
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "ready1 saved1 ready1");
    assert_int_equal(warehouse_saved_at(hall.warehouse, 1), 1);
    warehouse_remove(hall.warehouse, 1);
    assert_int_equal(uv_run(&hall.loop, UV_RUN_DEFAULT), 0);
    add_vat(&hall, 1, "replay-exit");
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "ready1"); /* it starts after its past */
    tear_down(&hall);
}

/* How many processes this one has started and not reaped; -1 where that cannot be seen. */
static int count_children(void)
{
    char path[64];
    int count = 0, byte;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    if (file == NULL)
        return -1;
    while ((byte = fgetc(file)) != EOF)
        count += byte == ' '; /* after each */
    (void)fclose(file);
    return count;
}

/* The longest file in memory of this process that is for a snapshot. */
static off_t largest_memory(void)
{
    off_t largest = 0;

    for (int fd = 0; fd < 256; fd++) {
        char path[64], name[64] = "";
        struct stat status;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, name, sizeof name - 1) > 0 &&
            strncmp(name, "/memfd:gaspipe-snapshot", 23) == 0 && stat(path, &status) == 0 &&
            status.st_size > largest)
            largest = status.st_size;
    }
    return largest;
}

/* A thread compresses such a file, and closes it. */
static bool large_memory_is_freed(void)
{
    const struct timespec turn = {.tv_nsec = 1000000};

    for (int i = 0; i < 10000; i++) {
        if (largest_memory() < LARGE_SNAPSHOT)
            return true;
        (void)nanosleep(&turn, NULL);
    }
    return false;
}

static void after_a_snapshot_another_worker_starts_when_the_last_one_has_ended(void **state)
{
    struct hall hall;
    int children;

    (void)state;
    set_up(&hall, 0);
    add_past(&hall, 1);
    add_vat(&hall, 1, "large");
    hall.save_when_ready = true;
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "ready1 saved1 ready1");
    children = count_children();
    assert_true(children == 1 || children == -1);
    warehouse_deliver(hall.warehouse, 1, "[\"message\"]");
    expect(&hall, "sent1 answered1");
    assert_true(large_memory_is_freed());
    tear_down(&hall);
}

static void on_each_handle(uv_handle_t *handle, void *argument)
{
    uint64_t *longest = argument;

    if (uv_handle_get_type(handle) == UV_TIMER && uv_is_active(handle) &&
        uv_timer_get_due_in((uv_timer_t *)handle) > *longest)
        *longest = uv_timer_get_due_in((uv_timer_t *)handle);
}

/* In milliseconds, of the loop's timers. */
static uint64_t longest_timer(struct hall *hall)
{
    uint64_t longest = 0;

    uv_walk(&hall->loop, on_each_handle, &longest);
    return longest;
}

static void workers_that_take_long_to_end_can_be_hurried(void **state)
{
    struct hall hall;

    (void)state;
    set_up(&hall, 0);
    add_vat(&hall, 1, "stays");
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "ready1");
    uv_update_time(&hall.loop);
    warehouse_close(hall.warehouse);
    assert_in_range(longest_timer(&hall), 1001, 2000);
    warehouse_shorten_timeout(hall.warehouse);
    assert_in_range(longest_timer(&hall), 1, 500);
    tear_down(&hall);
}

static void longest_idle_worker_is_evicted(void **state)
{
    struct hall hall;

    (void)state;
    set_up(&hall, 2);
    for (int64_t id = 1; id <= 3; id++)
        add_vat(&hall, id, "one");
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "ready1");
    warehouse_start(hall.warehouse, 2);
    expect(&hall, "ready2");
    warehouse_deliver(hall.warehouse, 1, "[\"message\"]");
    expect(&hall, "sent1 answered1");
    warehouse_start(hall.warehouse, 3);
    assert_false(warehouse_waits(hall.warehouse, 2));
    assert_true(warehouse_waits(hall.warehouse, 1));
    expect(&hall, "ready3");
    warehouse_start(hall.warehouse, 2);
    assert_false(warehouse_waits(hall.warehouse, 1));
    expect(&hall, "ready2");
    tear_down(&hall);
}

static void a_warehouse_closes_while_the_first_snapshot_is_made(void **state)
{
    struct hall hall;

    (void)state;
    set_up(&hall, 0);
    add_vat(&hall, 1, "one");
    warehouse_start(hall.warehouse, 1);
    tear_down(&hall);
    assert_string_equal(hall.reported, "");
}

static void a_snapshot_that_was_not_written_is_a_loss(void **state)
{
    struct hall hall;

    (void)state;
    set_up(&hall, 0);
    add_past(&hall, 1);
    add_vat(&hall, 1, "lie");
    hall.save_when_ready = true;
    warehouse_start(hall.warehouse, 1);
    expect(&hall, "ready1 lost1");
    assert_int_not_equal(hall.kind, VAT_LOSS_ENDS_VAT);
    assert_non_null(strstr(hall.reason, "wrote none"));
    assert_int_equal(warehouse_saved_at(hall.warehouse, 1), -1);
    tear_down(&hall);
}

/* The states in which a worker can fail, and how its vat reaches them. */
static const struct place {
    const char *name;
    enum vat_state state;
    bool past, saves, delivers;
} places[] = {
    {"start", VAT_STARTING, false, false, false},
    {"load", VAT_LOADING, false, false, false},
    {"replay", VAT_CATCHING_UP, true, false, false},
    {"deliver", VAT_DELIVERING, false, false, true},
    {"save", VAT_SNAPSHOTTING, false, true, false},
};

/* Returns the kind of error that the fault counts as in that state. */
static enum error_kind blame_of(const struct fault *fault, enum vat_state state)
{
    if (fault->status == WORKER_EXIT_COMPUTATION)
        return ERROR_DELIVERY;
    if (strcmp(fault->name, "senseless") == 0) {
        if (state == VAT_DELIVERING || state == VAT_LOADING)
            return ERROR_DELIVERY;
        return state == VAT_CATCHING_UP ? ERROR_INPUT : ERROR_SYSTEM;
    }
    return ERROR_SYSTEM;
}

/* A frame `.yes` is no answer but where none is looked at. */
static bool is_harmless(const struct fault *fault, enum vat_state state)
{
    return state == VAT_STARTING && strcmp(fault->name, "nonsense") == 0;
}

static void go_wrong(struct hall *hall, int64_t id, const struct place *place,
                     const struct fault *fault)
{
    const struct vat_reason reason = {.blame = blame_of(fault, place->state)};
    const enum vat_loss loss = vat_loss(place->state, &reason, place->past);
    char name[32], reported[64] = "";

    snprintf(name, sizeof name, "%s-%s", place->name, fault->name);
    if (place->past)
        add_past(hall, id);
    add_vat(hall, id, name);
    hall->save_when_ready = place->saves;
    if (place->delivers)
        warehouse_deliver(hall->warehouse, id, "[\"message\"]");
    else
        warehouse_start(hall->warehouse, id);
    snprintf(reported, sizeof reported, "%s%s",
             place->saves      ? "ready# "
             : place->delivers ? "sent# "
                               : "",
             is_harmless(fault, place->state) ? "ready#" : "lost#");
    for (char *at; (at = strchr(reported, '#')) != NULL;)
        *at = (char)('0' + id);
    expect(hall, reported);
    if (!is_harmless(fault, place->state)) {
        print_message("%s: %s\n", name, hall->reason);
        assert_int_equal(hall->kind == VAT_LOSS_HOPELESS, loss == VAT_LOSS_HOPELESS);
        assert_int_equal(hall->kind == VAT_LOSS_ENDS_VAT, loss == VAT_LOSS_ENDS_VAT);
        assert_int_equal(hall->used,
                         place->delivers && strcmp(fault->name, "stopped") == 0 ? 5 : 0);
    }
    assert_true(is_harmless(fault, place->state) || hall->reason[0] != '\0');
}

/* The table of states, through the real callbacks: no state in which a wrong worker is waited
 * for, or whose loss has no owner. */
static void whatever_a_worker_does_wrong_wherever_is_a_loss(void **state)
{
    struct hall hall;

    (void)state;
    set_up(&hall, 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (size_t j = 0; j < FAULTS; j++) {
            struct error error;

            go_wrong(&hall, 1, &places[i], &faults[j]);
            close_hall(&hall);
            assert_int_equal(store_transcript_delete_all(hall.store, 1, &error), 0);
            open_hall(&hall, 0);
        }
    }
    tear_down(&hall);
}

/* The only process that this one has started and not reaped; 0 where that cannot be seen. */
static pid_t only_child(void)
{
    char path[64], text[64] = "";
    FILE *file;
    char *end;
    pid_t child;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    assert_non_null(fgets(text, sizeof text, file));
    (void)fclose(file);
    child = (pid_t)strtol(text, &end, 10);
    assert_string_equal(end, " ");
    return child;
}

/* No delivery was in progress: no report is made, and the vat restarts when it is wanted. */
static void whatever_an_idle_worker_does_its_vat_comes_back(void **state)
{
    struct hall hall;
    char name[32];

    (void)state;
    set_up(&hall, 0);
    for (size_t i = 0; i < FAULTS; i++) {
        snprintf(name, sizeof name, "idle-%s", faults[i].name);
        add_vat(&hall, 1, name);
        warehouse_start(hall.warehouse, 1);
        expect(&hall, "ready1");
        if (only_child() == 0)
            skip();
        assert_int_equal(kill(only_child(), SIGUSR1), 0);
        while (warehouse_waits(hall.warehouse, 1))
            (void)uv_run(&hall.loop, UV_RUN_ONCE);
        assert_string_equal(hall.reported, "");
        warehouse_deliver(hall.warehouse, 1, "[\"message\"]");
        expect(&hall, "sent1 answered1");
        close_hall(&hall);
        open_hall(&hall, 0);
    }
    tear_down(&hall);
}

/* Whatever a worker does after the request to leave, it is gone after a while. */
static void whatever_a_leaving_worker_does_it_is_gone(void **state)
{
    struct hall hall;
    char name[32];

    (void)state;
    set_up(&hall, 0);
    for (size_t i = 0; i < FAULTS; i++) {
        snprintf(name, sizeof name, "leave-%s", faults[i].name);
        add_vat(&hall, 1, name);
        warehouse_start(hall.warehouse, 1);
        expect(&hall, "ready1");
        warehouse_remove(hall.warehouse, 1);
        assert_int_equal(uv_run(&hall.loop, UV_RUN_DEFAULT), 0);
        assert_false(warehouse_knows(hall.warehouse, 1));
        assert_string_equal(hall.reported, "");
    }
    tear_down(&hall);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vat_is_started_delivered_to_and_evicted),
        cmocka_unit_test(after_a_snapshot_another_worker_starts_when_the_last_one_has_ended),
        cmocka_unit_test(its_past_is_delivered_again_and_a_snapshot_ends_that),
        cmocka_unit_test(workers_that_take_long_to_end_can_be_hurried),
        cmocka_unit_test(longest_idle_worker_is_evicted),
        cmocka_unit_test(a_warehouse_closes_while_the_first_snapshot_is_made),
        cmocka_unit_test(a_snapshot_that_was_not_written_is_a_loss),
        cmocka_unit_test(whatever_a_worker_does_wrong_wherever_is_a_loss),
        cmocka_unit_test(whatever_an_idle_worker_does_its_vat_comes_back),
        cmocka_unit_test(whatever_a_leaving_worker_does_it_is_gone),
    };

    if (strcmp(argv[0], "gaspipe-worker") == 0)
        return be_worker(argv[argc - 1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
