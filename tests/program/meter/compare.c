/* SPDX-License-Identifier: Apache-2.0 */
/* strcmp and strncmp of texts in front of a page that cannot be read, at all distances from it.
 * With an argument: of two equal texts of that many bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, SIZE = 2 * PAGE, LONGEST = 300 };

static unsigned next(unsigned below)
{
    static unsigned state = 1;

    state = state * 1103515245 + 12345;
    return (state >> 8) % below;
}

/* A text that ends up to 20 bytes in front of the end, with one byte that may be another. */
static char *place(char *pages)
{
    const unsigned length = next(LONGEST);
    char *text = pages + SIZE - 1 - length - next(21);

    memset(text, 'a', length);
    text[length] = '\0';
    if (length > 0 && next(2))
        text[next(length)] = next(2) ? 'b' : (char)200;
    return text;
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static char *map_pages(void)
{
    char *pages =
        mmap(NULL, SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED || mprotect(pages + SIZE, PAGE, PROT_NONE) != 0)
        exit(1);
    return pages;
}

static char *equal_text(size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL)
        exit(1);
    memset(text, 'x', size);
    text[size] = '\0';
    return text;
}

int main(int count, char **arguments)
{
    char *pages[] = {map_pages(), map_pages()};
    unsigned long sum = 0;

    if (count > 1) {
        const size_t size = strtoul(arguments[1], NULL, 10);

        return strcmp(equal_text(size), equal_text(size));
    }
    for (int i = 0; i < 20000; i++) {
        const char *one = place(pages[0]), *other = place(pages[1]);

        sum = sum * 31 + (unsigned)(sign(strcmp(one, other)) + 1);
        sum = sum * 31 + (unsigned)(sign(strncmp(one, other, next(LONGEST + 20))) + 1);
    }
    printf("%lu\n", sum);
}
