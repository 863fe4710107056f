/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/service.h"

/* A receiver at an abstract address, as containers have it. */
static int bind_receiver(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    char name[64];
    const int length = snprintf(name, sizeof name, "@gaspipe-service-%ld", (long)getpid());

    memcpy(address.sun_path + 1, name + 1, (size_t)length - 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static void assert_received(int fd, const char *expected)
{
    char text[64] = "";

    if (expected == NULL) {
        assert_int_equal(recv(fd, text, sizeof text, 0), -1);
        return;
    }
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), (ssize_t)strlen(expected));
    assert_string_equal(text, expected);
}

static void test_service(void **state)
{
    const int fd = bind_receiver();
    char own[24];

    (void)state;
    snprintf(own, sizeof own, "%ld", (long)getpid());
    assert_int_equal(setenv("WATCHDOG_PID", own, 1), 0);
    assert_int_equal(setenv("WATCHDOG_USEC", "60000000", 1), 0);
    service_ready();
    assert_received(fd, "READY=1");
    assert_int_equal(service_watchdog_ms(), 20000);
    service_alive();
    assert_received(fd, "WATCHDOG=1");
    /* The next one is not due. */
    service_alive();
    assert_received(fd, NULL);
    /* None of these is an address. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(setenv("NOTIFY_SOCKET", (const char *[]){"", "@", "relative"}[i], 1), 0);
        service_ready();
        assert_received(fd, NULL);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_service)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
