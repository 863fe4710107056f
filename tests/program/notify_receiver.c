/* SPDX-License-Identifier: Apache-2.0 */
/* In systemd's place: binds the socket $1 and prints each datagram as a line. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char line[256];
    ssize_t length;

    if (argc != 2 || fd < 0)
        return 2;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        perror("notify_receiver");
    while ((length = recv(fd, line, sizeof line, 0)) >= 0) {
        printf("%.*s\n", (int)length, line);
        fflush(stdout);
    }
    close(fd);
    return 4;
}
