/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/present_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool present_program(char path[PATH_MAX])
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *word = NULL;
    size_t room = 0;
    ssize_t length = 0;
    int to_come = -1; /* words up to the path, once the option was seen */

    while (file != NULL && to_come != 0 && (length = getdelim(&word, &room, '\0', file)) > 0) {
        if (to_come > 0)
            to_come--;
        else if (strcmp(word, "-0") == 0)
            to_come = 2;
    }
    if (file != NULL)
        fclose(file);
    if (to_come == 0 && length <= PATH_MAX)
        memcpy(path, word, (size_t)length);
    free(word);
    return to_come == 0 && length <= PATH_MAX;
}
