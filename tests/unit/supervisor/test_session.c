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

/* A session with a script in the place of a worker, which may be sent answers ahead. */
struct talk {
    char path[64];
    uv_loop_t loop;
    struct launcher launcher;
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
    assert_int_equal(launcher_open_foreign(&talk->launcher, talk->path, 0, &error), 0);
    talk->launcher.ahead = true;
    talk->session = session_start(&talk->launcher, &talk->loop, "script", -1, &error);
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

static void send_ahead(struct talk *talk, size_t answers)
{
    const struct iovec frame = {(char *)"go", 2};
    struct error error;

    assert_int_equal(session_send_ahead(talk->session, &frame, 1, answers, &error), 0);
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

static void frames_whose_answers_went_ahead_come_one_by_one(void **state)
{
    struct talk talk;

    (void)state;
    /* All at once, and then in pieces of one byte. */
    open_talk(&talk, "head -c 5 <&3; printf 1:a,2:bb,0:, >&4; head -c 5 <&3;"
                     "for byte in 1 : c , 1 : d ,; do printf $byte >&4; done; cat <&3");
    send_ahead(&talk, 2);
    assert_frame(&talk, "a");
    assert_frame(&talk, "bb");
    assert_frame(&talk, "");
    send_ahead(&talk, 1);
    assert_frame(&talk, "c");
    assert_frame(&talk, "d");
    close_talk(&talk);
}

static void one_frame_more_is_bad(void **state)
{
    struct talk talk;
    struct session_news news;

    (void)state;
    open_talk(&talk, "head -c 5 <&3; printf 1:a,1:b,1:c, >&4; cat <&3");
    send_ahead(&talk, 1);
    assert_int_equal(wait_for(&talk, &news), SESSION_BAD);
    assert_string_equal(news.stderr_text, "it sent a second frame where one is right");
    close_talk(&talk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_whose_answers_went_ahead_come_one_by_one),
        cmocka_unit_test(one_frame_more_is_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
