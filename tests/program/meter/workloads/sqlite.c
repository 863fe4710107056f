/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite at work in memory: rows put in, joined, changed, sorted. usage: sqlite ROUNDS */
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

static unsigned sum;

static int add_row(void *unused, int columns, char **values, char **names)
{
    (void)unused;
    (void)names;
    for (int i = 0; i < columns; i++)
        for (const char *byte = values[i]; byte && *byte; byte++)
            sum = sum * 31 + (unsigned char)*byte;
    return 0;
}

static void run(sqlite3 *database, const char *statement)
{
    char *message = NULL;

    if (sqlite3_exec(database, statement, add_row, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", statement, message);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    sqlite3 *database;

    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        return 1;
    run(database, "create table item (id integer primary key, name text, part real, kind int);"
                  "create index by_kind on item (kind, name);"
                  "create table kind (id integer primary key, name text)");
    for (int i = 0; i < rounds; i++) {
        run(database, "delete from item; delete from kind;"
                      "with recursive n(i) as (select 1 union all select i+1 from n where i < 2000)"
                      " insert into item select i, 'name ' || (i * 7919 % 3001), i / 7.0, i % 40"
                      " from n;"
                      "insert into kind select distinct kind, 'kind ' || kind from item");
        run(database, "select k.name, count(*), sum(i.part), max(i.name) from item i join kind k"
                      " on k.id = i.kind group by k.name order by 3 desc, 1");
        run(database, "update item set part = part * 2 + id where kind in (3, 5, 7);"
                      "select substr(name, 3), printf('%.6f', part) from item where name like"
                      " '%1_3%' order by name, id desc limit 100");
    }
    sqlite3_close(database);
    printf("%u\n", sum);
    return 0;
}
