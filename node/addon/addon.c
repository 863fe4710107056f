/* SPDX-License-Identifier: Apache-2.0 */

/* The frame channel for Node: a class Channel, over Node-API. node/src/channel.js describes its
 * methods. */
#include <errno.h>
#include <fcntl.h>
#include <node_api.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/stamp.h"
#include "node/addon/frame_channel.h"

enum { HANDLES = 2 };

#define CAP_MAX       (INT64_C(1) << 40)           /* bytes */
#define SYNC_WAIT_MAX (INT64_C(3600) * 1000000000) /* nanoseconds */

struct channel {
    struct frame_channel frames;
    napi_env env;
    napi_async_context context;
    napi_ref wake; /* called once, when data can be read or written */
    uv_poll_t readable, writable;
    int handles;    /* open libuv handles */
    bool collected; /* JavaScript dropped its last reference */
    bool closed;
    int64_t sync_wait;     /* nanoseconds */
    cpu_set_t anywhere;    /* the CPUs that the worker could use before it was moved */
    int worker, processor; /* moved there; -1: not moved */
};

/* ---- arguments and failures ---- */

static napi_value throw_error(napi_env env, const char *text)
{
    (void)napi_throw_error(env, NULL, text);
    return NULL;
}

/* Returns the channel that a method was called on, and its arguments; NULL after a throw. */
static struct channel *method(napi_env env, napi_callback_info info, size_t count,
                              napi_value *arguments)
{
    napi_value self;
    void *channel;

    if (napi_get_cb_info(env, info, &count, arguments, &self, NULL) != napi_ok ||
        napi_unwrap(env, self, &channel) != napi_ok) {
        (void)throw_error(env, "not a channel");
        return NULL;
    }
    return channel;
}

/* Borrows the bytes of a Uint8Array. Returns false after a throw. */
static bool get_bytes(napi_env env, napi_value value, struct iovec *bytes)
{
    napi_typedarray_type type;

    if (napi_get_typedarray_info(env, value, &type, &bytes->iov_len, &bytes->iov_base, NULL,
                                 NULL) == napi_ok &&
        type == napi_uint8_array)
        return true;
    (void)throw_error(env, "a frame must be a Uint8Array");
    return false;
}

/* ---- lifetime ---- */

static void free_unless_used(struct channel *channel)
{
    if (channel->handles == 0 && channel->collected)
        free(channel);
}

static void handle_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;

    channel->handles--;
    free_unless_used(channel);
}

/* Call this before closing the descriptor. Otherwise libuv would later stop polling another file
 * that got the same number. */
static void leave_writable(struct channel *channel)
{
    if (!uv_is_closing((uv_handle_t *)&channel->writable))
        uv_close((uv_handle_t *)&channel->writable, handle_closed);
}

static void leave_readable(struct channel *channel)
{
    if (!uv_is_closing((uv_handle_t *)&channel->readable))
        uv_close((uv_handle_t *)&channel->readable, handle_closed);
}

static void close_channel(struct channel *channel)
{
    if (channel->closed)
        return;
    channel->closed = true;
    leave_readable(channel);
    leave_writable(channel);
    frame_channel_free(&channel->frames);
    if (channel->wake != NULL)
        (void)napi_delete_reference(channel->env, channel->wake);
    channel->wake = NULL;
    (void)napi_async_destroy(channel->env, channel->context);
}

static void at_exit(void *channel)
{
    close_channel(channel);
}

static void collect(napi_env env, void *data, void *hint)
{
    struct channel *channel = data;

    (void)hint;
    (void)napi_remove_env_cleanup_hook(env, at_exit, channel);
    close_channel(channel);
    channel->collected = true;
    free_unless_used(channel);
}

static int open_handles(struct channel *channel, uv_loop_t *loop)
{
    int result = uv_poll_init(loop, &channel->readable, channel->frames.in);

    if (result != 0)
        return result;
    channel->handles = 1;
    channel->readable.data = channel;
    result = uv_poll_init(loop, &channel->writable, channel->frames.out);
    if (result != 0) {
        uv_close((uv_handle_t *)&channel->readable, handle_closed);
        return result;
    }
    channel->handles = HANDLES;
    channel->writable.data = channel;
    return 0;
}

static struct channel *make_channel(napi_env env, int in, int out, size_t cap, int64_t sync_wait)
{
    struct channel *channel = calloc(1, sizeof *channel);
    uv_loop_t *loop;
    struct error error;

    if (channel == NULL) {
        (void)throw_error(env, "out of memory");
        return NULL;
    }
    *channel = (struct channel){.env = env, .sync_wait = sync_wait, .worker = -1, .processor = -1};
    if (napi_get_uv_event_loop(env, &loop) != napi_ok) {
        (void)throw_error(env, "Node has no event loop here");
    } else if (frame_channel_init(&channel->frames, in, out, cap, &error) != 0) {
        (void)throw_error(env, error.text);
    } else {
        int result = open_handles(channel, loop);

        if (result == 0)
            return channel;
        (void)throw_error(env, uv_strerror(result));
        frame_channel_free(&channel->frames);
        channel->collected = true; /* its handle frees it */
    }
    if (channel->handles == 0)
        free(channel);
    return NULL;
}

/* new Channel(in, out, cap, syncWait) */
static napi_value construct(napi_env env, napi_callback_info info)
{
    napi_value arguments[4], self, name;
    size_t count = 4;
    int32_t in, out;
    int64_t cap, sync_wait;
    struct channel *channel;

    if (napi_get_cb_info(env, info, &count, arguments, &self, NULL) != napi_ok || count != 4 ||
        napi_get_value_int32(env, arguments[0], &in) != napi_ok ||
        napi_get_value_int32(env, arguments[1], &out) != napi_ok ||
        napi_get_value_int64(env, arguments[2], &cap) != napi_ok ||
        napi_get_value_int64(env, arguments[3], &sync_wait) != napi_ok || cap < 0 ||
        cap > CAP_MAX || sync_wait < 0 || sync_wait > SYNC_WAIT_MAX)
        return throw_error(
            env, "new Channel(in, out, cap, syncWait) needs four numbers: cap up to 2^40 bytes, "
                 "syncWait up to an hour in nanoseconds");
    channel = make_channel(env, in, out, (size_t)cap, sync_wait);
    if (channel == NULL)
        return NULL;
    if (napi_create_string_utf8(env, "gaspipe", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_async_init(env, NULL, name, &channel->context) != napi_ok ||
        napi_add_env_cleanup_hook(env, at_exit, channel) != napi_ok ||
        napi_wrap(env, self, channel, collect, NULL, NULL) != napi_ok) {
        close_channel(channel);
        channel->collected = true;
        return throw_error(env, "cannot make a channel");
    }
    return self;
}

/* ---- where the worker runs ---- */

static void restore_cpus(struct channel *channel)
{
    if (channel->processor >= 0)
        (void)sched_setaffinity(channel->worker, sizeof channel->anywhere, &channel->anywhere);
    channel->processor = -1;
}

/* Moves the worker to this thread's CPU: waking a thread on another CPU costs many times a switch
 * on the same one. On failure the worker stays where it is. */
static void move_to_this_cpu(struct channel *channel)
{
    int here = sched_getcpu();
    cpu_set_t set;

    if (channel->worker < 0 || here < 0 || here == channel->processor)
        return;
    CPU_ZERO(&set);
    CPU_SET(here, &set);
    if (sched_setaffinity(channel->worker, sizeof set, &set) == 0)
        channel->processor = here;
    else
        channel->worker = -1;
}

/* channel.follow(pid) */
static napi_value follow(napi_env env, napi_callback_info info)
{
    napi_value arguments[1];
    struct channel *channel = method(env, info, 1, arguments);
    int32_t worker;

    if (channel == NULL || napi_get_value_int32(env, arguments[0], &worker) != napi_ok)
        return throw_error(env, "follow(pid) needs a number");
    if (sched_getaffinity(worker, sizeof channel->anywhere, &channel->anywhere) == 0)
        channel->worker = worker;
    return NULL;
}

/* ---- frames ---- */

/* channel.send(head, body) */
static napi_value send_frame(napi_env env, napi_callback_info info)
{
    napi_value arguments[2];
    struct channel *channel = method(env, info, 2, arguments);
    struct iovec parts[2];
    struct error error;

    if (channel == NULL || !get_bytes(env, arguments[0], &parts[0]) ||
        !get_bytes(env, arguments[1], &parts[1]))
        return NULL;
    if (channel->closed)
        return NULL;
    move_to_this_cpu(channel);
    if (frame_channel_send(&channel->frames, parts, 2, channel->sync_wait, &error) != 0)
        return throw_error(env, error.text);
    return NULL;
}

static napi_value make_bytes(napi_env env, struct iovec from)
{
    napi_value bytes;

    if (napi_create_buffer_copy(env, from.iov_len, from.iov_base, NULL, &bytes) != napi_ok)
        return throw_error(env, "out of memory for a frame");
    return bytes;
}

/* channel.receive() */
static napi_value receive_frame(napi_env env, napi_callback_info info)
{
    struct channel *channel = method(env, info, 0, NULL);
    napi_value none = NULL;
    struct iovec payload;
    struct error error;

    if (channel == NULL)
        return NULL;
    if (!channel->closed) {
        switch (frame_channel_receive(&channel->frames, channel->sync_wait, &payload, &error)) {
        case FRAME_CHANNEL_FRAME:
            return make_bytes(env, payload);
        case FRAME_CHANNEL_BAD:
            return throw_error(env, error.text);
        case FRAME_CHANNEL_LATER:
            restore_cpus(channel); /* it works for longer, so let it use another CPU */
            return NULL;
        case FRAME_CHANNEL_ENDED:
            break;
        }
    }
    (void)napi_get_null(env, &none);
    return none;
}

/* channel.moved(): nanoseconds of CLOCK_MONOTONIC */
static napi_value get_moved(napi_env env, napi_callback_info info)
{
    struct channel *channel = method(env, info, 0, NULL);
    napi_value time = NULL;

    if (channel != NULL)
        (void)napi_create_int64(env, channel->frames.moved, &time);
    return time;
}

/* ---- waiting through Node's loop ---- */

static void wake_up(struct channel *channel)
{
    napi_handle_scope scope;
    napi_value function, receiver;

    (void)uv_poll_stop(&channel->readable);
    if (channel->wake == NULL || napi_open_handle_scope(channel->env, &scope) != napi_ok)
        return;
    if (napi_get_reference_value(channel->env, channel->wake, &function) == napi_ok &&
        napi_get_global(channel->env, &receiver) == napi_ok) {
        (void)napi_delete_reference(channel->env, channel->wake);
        channel->wake = NULL;
        (void)napi_make_callback(channel->env, channel->context, receiver, function, 0, NULL, NULL);
    }
    (void)napi_close_handle_scope(channel->env, scope);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status; /* receive() reports a failure too */
    (void)events;
    wake_up(poll->data);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct channel *channel = poll->data;
    struct error error;

    (void)status;
    (void)events;
    (void)frame_channel_flush(&channel->frames, &error); /* a failure drops what is unsent */
    if (frame_channel_is_sent(&channel->frames))
        (void)uv_poll_stop(poll);
}

/* channel.wait(wake) */
static napi_value wait_in_loop(napi_env env, napi_callback_info info)
{
    napi_value arguments[1];
    struct channel *channel = method(env, info, 1, arguments);

    if (channel == NULL)
        return NULL;
    if (channel->closed || channel->wake != NULL)
        return throw_error(env, "the channel is closed, or waited for already");
    if (napi_create_reference(env, arguments[0], 1, &channel->wake) != napi_ok)
        return throw_error(env, "wait(wake) needs a function");
    if (uv_poll_start(&channel->readable, UV_READABLE, on_readable) != 0 ||
        (!frame_channel_is_sent(&channel->frames) &&
         uv_poll_start(&channel->writable, UV_WRITABLE, on_writable) != 0))
        return throw_error(env, "cannot wait for the worker");
    return NULL;
}

/* channel.hangUp() */
static napi_value hang_up(napi_env env, napi_callback_info info)
{
    struct channel *channel = method(env, info, 0, NULL);

    if (channel != NULL && !channel->closed) {
        leave_writable(channel);
        frame_channel_hang_up(&channel->frames);
    }
    return NULL;
}

/* channel.stopReading(): no other call but hangUp() and close() may follow */
static napi_value stop_reading(napi_env env, napi_callback_info info)
{
    struct channel *channel = method(env, info, 0, NULL);

    if (channel != NULL && !channel->closed) {
        leave_readable(channel);
        frame_channel_stop_reading(&channel->frames);
    }
    return NULL;
}

/* channel.close() */
static napi_value close_method(napi_env env, napi_callback_info info)
{
    struct channel *channel = method(env, info, 0, NULL);

    if (channel != NULL)
        close_channel(channel);
    return NULL;
}

/* ---- snapshots in memory ---- */

/* memory(): a descriptor of new memory for a program to write into; -1 if unavailable */
static napi_value memory(napi_env env, napi_callback_info info)
{
    napi_value number = NULL;

    (void)info;
    (void)napi_create_int32(env, memfd_create("snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                            &number);
    return number;
}

static void unmap_bytes(napi_env env, void *data, void *size)
{
    (void)env;
    (void)munmap(data, (size_t)(uintptr_t)size);
}

/* Private pages: the reader of the bytes may write to them. They are mapped at once, without
 * copies. */
static napi_value map_bytes(napi_env env, int fd, size_t size)
{
    napi_value bytes;
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    napi_status status;

    if (data == MAP_FAILED)
        return throw_error(env, "cannot map a snapshot");
#ifdef MADV_POPULATE_READ
    (void)madvise(data, size, MADV_POPULATE_READ); /* older systems load each page on first use */
#endif
    status =
        napi_create_external_buffer(env, size, data, unmap_bytes, (void *)(uintptr_t)size, &bytes);
    if (status == napi_ok)
        return bytes;
    if (status == napi_no_external_buffers_allowed)
        status = napi_create_buffer_copy(env, size, data, NULL, &bytes);
    (void)munmap(data, size);
    return status == napi_ok ? bytes : throw_error(env, "out of memory for a snapshot");
}

/* seal(fd): returns the bytes that were written into memory(), and makes them immutable. The
 * hazard: a worker could shorten the file, which would crash this process. Or it could change bytes
 * after the store computed their hash. */
static napi_value seal(napi_env env, napi_callback_info info)
{
    napi_value arguments[1], bytes;
    size_t count = 1;
    struct stat file;
    int32_t fd;

    if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 1 ||
        napi_get_value_int32(env, arguments[0], &fd) != napi_ok)
        return throw_error(env, "seal(fd) needs a number");
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
        fstat(fd, &file) != 0)
        return throw_error(env, strerror(errno));
    if (file.st_size > 0)
        return map_bytes(env, fd, (size_t)file.st_size);
    return napi_create_buffer(env, 0, NULL, &bytes) == napi_ok ? bytes : NULL;
}

/* ---- the module ---- */

/* pipes(): [in, theirOut, theirIn, out], closed when a program is executed */
static napi_value pipes(napi_env env, napi_callback_info info)
{
    int fds[4];
    napi_value array, number;

    (void)info;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return throw_error(env, strerror(errno));
    if (pipe2(fds + 2, O_CLOEXEC) != 0) {
        int errnum = errno;

        (void)close(fds[0]);
        (void)close(fds[1]);
        return throw_error(env, strerror(errnum));
    }
    if (napi_create_array_with_length(env, 4, &array) != napi_ok)
        return throw_error(env, "out of memory");
    for (uint32_t i = 0; i < 4; i++)
        if (napi_create_int32(env, fds[i], &number) != napi_ok ||
            napi_set_element(env, array, i, number) != napi_ok)
            return throw_error(env, "out of memory");
    return array;
}

/* clockOffset(): the time since the epoch less CLOCK_MONOTONIC, in microseconds */
static napi_value clock_offset(napi_env env, napi_callback_info info)
{
    struct stamp now = stamp_now();
    napi_value offset = NULL;

    (void)info;
    (void)napi_create_int64(env, now.real - now.mono / 1000, &offset);
    return offset;
}

static napi_value init_module(napi_env env, napi_value exports)
{
    const napi_property_descriptor methods[] = {
        {.utf8name = "follow", .method = follow},
        {.utf8name = "send", .method = send_frame},
        {.utf8name = "receive", .method = receive_frame},
        {.utf8name = "moved", .method = get_moved},
        {.utf8name = "wait", .method = wait_in_loop},
        {.utf8name = "hangUp", .method = hang_up},
        {.utf8name = "stopReading", .method = stop_reading},
        {.utf8name = "close", .method = close_method},
    };
    napi_value class, pipe_function, clock_function, memory_function, seal_function;

    if (napi_define_class(env, "Channel", NAPI_AUTO_LENGTH, construct, NULL,
                          sizeof methods / sizeof *methods, methods, &class) != napi_ok ||
        napi_create_function(env, "pipes", NAPI_AUTO_LENGTH, pipes, NULL, &pipe_function) !=
            napi_ok ||
        napi_create_function(env, "clockOffset", NAPI_AUTO_LENGTH, clock_offset, NULL,
                             &clock_function) != napi_ok ||
        napi_create_function(env, "memory", NAPI_AUTO_LENGTH, memory, NULL, &memory_function) !=
            napi_ok ||
        napi_create_function(env, "seal", NAPI_AUTO_LENGTH, seal, NULL, &seal_function) !=
            napi_ok ||
        napi_set_named_property(env, exports, "memory", memory_function) != napi_ok ||
        napi_set_named_property(env, exports, "seal", seal_function) != napi_ok ||
        napi_set_named_property(env, exports, "Channel", class) != napi_ok ||
        napi_set_named_property(env, exports, "pipes", pipe_function) != napi_ok ||
        napi_set_named_property(env, exports, "clockOffset", clock_function) != napi_ok)
        return throw_error(env, "cannot make the module");
    return exports;
}

NAPI_MODULE(NODE_GYP_MODULE_NAME, init_module)
