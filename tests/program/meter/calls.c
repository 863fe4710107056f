#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int fib(int n)
{
    if (n < 2)
        return n;
    return fib(n - 1) + fib(n - 2);
}
static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
int main(void)
{
    int values[100];
    if (getenv("CALLS_NOTHING") || getpid() == 0)
        return 0;
    for (int i = 0; i < 100; i++)
        values[i] = (i * 7919) % 101;
    qsort(values, 100, sizeof *values, compare);
    printf("%d %d\n", fib(20), values[3]);
    return 0;
}
