/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a libc as programs do: texts and numbers, memory, sorting, files, time, processes,
 * threads. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int compare(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static void sort_texts(void)
{
    char *texts[200];

    for (int i = 0; i < 200; i++) {
        texts[i] = malloc(16 + (size_t)i);
        snprintf(texts[i], 16, "%d-%x", i * 7919 % 1009, i);
    }
    qsort(texts, 200, sizeof *texts, compare);
    printf("%s %s\n", texts[0], texts[199]);
    for (int i = 0; i < 200; i++)
        free(texts[i]);
}

static void print_numbers(void)
{
    char text[100];

    for (int i = -3; i < 4; i++)
        printf("%.17g %e %10.3f %a %Lg\n", 1e10 / 7 * i, i / 3.0, pow(2.5, i), sqrt(i + 4),
               (long double)i / 9);
    snprintf(text, sizeof text, "%.12f", sin(0.5) + exp(1) + log(10) + cbrt(30) + fmod(17, 5.5));
    printf("%s %.12f %ld\n", text, strtod(text, NULL), strtol("-0x7fff", NULL, 0));
}

static void match_words(void)
{
    regex_t expression;
    regmatch_t match[2];

    if (regcomp(&expression, "([a-z]+)[0-9]{2}$", REG_EXTENDED) == 0 &&
        regexec(&expression, "some words and number42", 2, match, 0) == 0)
        printf("match at %d to %d\n", (int)match[1].rm_so, (int)match[1].rm_eo);
    regfree(&expression);
}

static void use_files(void)
{
    struct stat status = {0};
    char line[80] = "";
    FILE *file = fopen("written", "w+");

    if (!file)
        exit(9);
    for (int i = 0; i < 500; i++)
        fprintf(file, "line %d\n", i);
    rewind(file);
    while (fgets(line, sizeof line, file))
        ;
    if (fstat(fileno(file), &status) || access("missing", F_OK) == 0)
        exit(9);
    printf("%ld bytes, %s, last %s", (long)status.st_size, strerror(errno), line);
    fclose(file);
    unlink("written");
}

/* Small pieces come to lie where larger ones were: what these held must decide nothing. */
static void reuse_memory(int byte)
{
    enum { COUNT = 40, LARGE = 1000, SMALL = 165 };
    void *large[COUNT], *small[COUNT];

    for (int i = 0; i < COUNT; i++)
        large[i] = memset(malloc(LARGE), byte, LARGE);
    for (int i = 1; i < COUNT; i += 2)
        free(large[i]);
    for (int i = 0; i < COUNT; i++)
        small[i] = calloc(1, SMALL);
    for (int i = 0; i < COUNT; i++) {
        free(small[i]);
        free(i % 2 == 0 ? large[i] : NULL);
    }
}

static void print_time(void)
{
    struct tm parts;
    time_t when = 1700000000;
    char text[64];

    gmtime_r(&when, &parts);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %a", &parts);
    printf("%s\n", text);
}

static void *add_up(void *sum)
{
    for (long i = 0; i < 10000; i++)
        *(volatile long *)sum += i % 7;
    return NULL;
}

static void use_thread(void)
{
    pthread_t thread;
    long sum = 0;

    if (pthread_create(&thread, NULL, add_up, &sum) || pthread_join(thread, NULL))
        exit(9);
    printf("sum %ld\n", sum);
}

static volatile sig_atomic_t heard;

static void hear(int number)
{
    heard = number;
}

static void use_processes(void)
{
    int status = 0;
    pid_t child;

    signal(SIGUSR1, hear);
    raise(SIGUSR1);
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(7);
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(9);
    printf("child %d, signal %d, system %d\n", WEXITSTATUS(status), (int)heard,
           system("exit 3") >> 8);
}

int main(int argc, char **argv)
{
    sort_texts();
    print_numbers();
    match_words();
    print_time();
    use_thread();
    if (argc > 1 && strcmp(argv[1], "all") == 0) {
        use_files();
        use_processes();
    }
    if (argc > 2 && strcmp(argv[1], "heap") == 0)
        reuse_memory(argv[2][0] - '0');
    if (argc > 1 && strcmp(argv[1], "abort") == 0)
        abort();
    return 5;
}
