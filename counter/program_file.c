/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_x86_64_program(const char *bytes, size_t length)
{
    Elf64_Ehdr header;

    if (length < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_machine == EM_X86_64 && (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

/* Takes blanks from both ends, in place. */
static char *trimmed(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
    return text;
}

/* Inserts a word before the others. It is shorter than the space. */
static void put_first(struct program_file *file, const char *word)
{
    memmove(file->word[1], file->word[0], file->words * sizeof file->word[0]);
    memcpy(file->word[0], word, strlen(word) + 1);
    file->words++;
}

/* Parses the line after "#!": the interpreter, and the rest as one argument. */
static bool parse_script_line(char *line, struct program_file *file)
{
    size_t length;
    char *argument;

    line[strcspn(line, "\n")] = '\0';
    line = trimmed(line);
    length = strcspn(line, " \t");
    if (length == 0)
        return false;
    argument = trimmed(line + length);
    if (*argument != '\0')
        put_first(file, argument);
    line[length] = '\0';
    put_first(file, line);
    return true;
}

/* Returns a descriptor of an executable file, or -errno. */
static int open_executable(const char *path)
{
    struct stat status;
    int fd;

    if (access(path, X_OK) < 0)
        return -errno;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    return -EACCES;
}

/* Like program_file_open(); at most `scripts` more scripts may follow. */
static int open_program(const char *path, struct program_file *file, int scripts)
{
    char start[PROGRAM_FILE_LINE] = {0};
    ssize_t length;
    int fd = open_executable(path);

    if (fd < 0)
        return -fd;
    length = pread(fd, start, sizeof start - 1, 0);
    if (length > 0 && is_x86_64_program(start, (size_t)length)) {
        file->fd = fd;
        return 0;
    }
    close(fd);
    if (length <= 2 || memcmp(start, "#!", 2) != 0)
        return ENOEXEC;
    if (scripts == 0)
        return ELOOP;
    return parse_script_line(start + 2, file) ? open_program(file->word[0], file, scripts - 1)
                                              : ENOEXEC;
}

int program_file_open(const char *path, struct program_file *file)
{
    *file = (struct program_file){.fd = -1};
    return open_program(path, file, PROGRAM_FILE_SCRIPTS);
}
