/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/process/launcher.h"
#include "supervisor/process/session.h"

/* A session with a script in the place of a worker. */
struct talk {
    char path[64];
    uv_loop_t loop;
    struct launch_config launcher;
    struct session *session;
};

static void open_talk(struct talk *talk, const char *script)
{
    struct error error;
    FILE *file;
    int fd;

    strcpy(talk->path, "/tmp/gaspipe-session.XXXXXX");
    fd = mkstemp(talk->path);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", script) > 0);
    assert_int_equal(fchmod(fd, 0700), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(uv_loop_init(&talk->loop), 0);
    assert_int_equal(launcher_open_xsnap(&talk->launcher, talk->path, 0, &error), 0);
    talk->session =
        session_start(&talk->launcher, &talk->loop, LAUNCHER_JAVASCRIPT, "script", -1, &error);
    assert_non_null(talk->session);
}

static void close_talk(struct talk *talk)
{
    session_end(talk->session);
    (void)uv_run(&talk->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&talk->loop), 0);
    launcher_close(&talk->launcher);
    assert_int_equal(unlink(talk->path), 0);
}

static void send_frame(struct talk *talk)
{
    const struct iovec frame = {(char *)"go", 2};
    struct error error;

    assert_int_equal(session_send(talk->session, &frame, 1, &error), 0);
}

static enum session_event wait_for(struct talk *talk, struct session_news *news)
{
    struct error error;

    assert_int_equal(session_wait(talk->session, 0, news, &error), 0);
    return news->event;
}

static void assert_frame(struct talk *talk, const char *text)
{
    struct session_news news;

    assert_int_equal(wait_for(talk, &news), SESSION_FRAME);
    assert_int_equal(news.frame.iov_len, strlen(text));
    assert_memory_equal(news.frame.iov_base, text, strlen(text));
}

static void frames_come_whole(void **state)
{
    struct talk talk;

    (void)state;
    /* At once, and then in pieces of one byte. */
    open_talk(&talk, "head -c 5 <&3; printf 2:ab, >&4; head -c 5 <&3;"
                     "for byte in 0 : ,; do printf $byte >&4; done; cat <&3");
    send_frame(&talk);
    assert_frame(&talk, "ab");
    send_frame(&talk);
    assert_frame(&talk, "");
    close_talk(&talk);
}

/* In the same read, and later. */
static void second_frame_is_bad(void **state)
{
    static const char *const scripts[] = {
        "head -c 5 <&3; printf 1:a,1:b, >&4; cat <&3",
        "printf 1:a, >&4; cat <&3",
    };
    struct talk talk;
    struct session_news news;

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        open_talk(&talk, scripts[i]);
        if (i == 0)
            send_frame(&talk);
        assert_int_equal(wait_for(&talk, &news), SESSION_BAD);
        close_talk(&talk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_whole),
        cmocka_unit_test(second_frame_is_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
