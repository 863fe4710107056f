/* SPDX-License-Identifier: Apache-2.0 */
/* In systemd's place: binds the socket $1 and prints each datagram as a line. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char line[256];
    ssize_t length;

    if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path)
        return 2;
    strcpy(address.sun_path, argv[1]);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        perror("notify_receiver");
        return 4;
    }
    while ((length = recv(fd, line, sizeof line, 0)) >= 0) {
        printf("%.*s\n", (int)length, line);
        fflush(stdout);
    }
    return 4;
}
