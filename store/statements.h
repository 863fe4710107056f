/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_STATEMENTS_H
#define GASPIPE_STORE_STATEMENTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

struct store;

/* Fills the error with the store's file and SQLite's last failure. Returns -1. */
int store_error(struct store *store, struct error *error);

/* As error_set(), with the store's file before the caller's words. */
int store_error_set(const struct store *store, struct error *error, enum error_kind kind,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#define store_error(...)     error_minus_one((store_error)(__VA_ARGS__))
#define store_error_set(...) error_minus_one((store_error_set)(__VA_ARGS__))

struct store;

/*
 * The SQL statements of the store, prepared once. To use one:
 *
 *     statement_bind_integer(store, STATEMENT_X, 1, vat);
 *     statement_bind_blob(store, STATEMENT_X, 2, key);
 *     if (statement_step(store, STATEMENT_X, &row, error) != 0)
 *         ...
 *     if (row)
 *         *number = statement_integer(store, STATEMENT_X, 0);
 *     statement_done(store, STATEMENT_X);
 *
 * If a value cannot be bound (out of memory), the next step fails. Bound values are borrowed until
 * statement_done(), which makes the statement ready for its next use, also after a failed step.
 */
enum statement {
    STATEMENT_BEGIN,
    STATEMENT_BEGIN_READER,
    STATEMENT_COMMIT,
    STATEMENT_SAVEPOINT,
    STATEMENT_UNDO,
    STATEMENT_RELEASE,
    STATEMENT_KEY_GET,
    STATEMENT_KEY_LOOK,
    STATEMENT_KEY_SET,
    STATEMENT_KEY_DELETE,
    STATEMENT_KEY_FROM,
    STATEMENT_KEY_BEHIND,
    STATEMENT_VAT_GET,
    STATEMENT_VAT_LOOK,
    STATEMENT_VAT_SET,
    STATEMENT_VAT_DELETE,
    STATEMENT_VAT_NEXT_KEY,
    STATEMENT_VAT_LOOK_ALL,
    STATEMENT_VAT_DELETE_ALL,
    STATEMENT_TRANSCRIPT_ADD,
    STATEMENT_TRANSCRIPT_GET,
    STATEMENT_TRANSCRIPT_LOOK,
    STATEMENT_TRANSCRIPT_FIRST,
    STATEMENT_TRANSCRIPT_LAST,
    STATEMENT_TRANSCRIPT_LOOK_ALL,
    STATEMENT_TRANSCRIPT_DELETE_ALL,
    STATEMENT_CONTENT_PUT,
    STATEMENT_CONTENT_GET,
    STATEMENT_CONTENT_LOOK,
    STATEMENT_CONTENT_SIZES,
    STATEMENT_CONTENT_UNUSED,
    STATEMENT_CONTENT_SWEEP,
    STATEMENT_SNAPSHOT_PUT,
    STATEMENT_SNAPSHOT_GET,
    STATEMENT_SNAPSHOT_LOOK,
    STATEMENT_SNAPSHOT_DELETE,
    STATEMENT_SNAPSHOT_OLD,
    STATEMENT_SNAPSHOT_SWEEP,
    STATEMENT_NAMED_PUT,
    STATEMENT_NAMED_GET,
    STATEMENT_NAMED_LOOK,
    STATEMENT_BUNDLE_PUT,
    STATEMENT_BUNDLE_GET,
    STATEMENT_BUNDLE_LOOK,
    STATEMENT_VAT_SUM,
    STATEMENT_SUM_GET,
    STATEMENT_SUM_ALL,
    STATEMENT_SUM_SET,
    STATEMENT_SUM_DELETE,
    STATEMENTS,
};

int statements_prepare(struct store *store, struct error *error);
void statements_finalize(struct store *store);

/*
 * The thread that uses the store owns SQLite's database, unless it has lent it to a thread that
 * writes a commit. The hazard: without SQLite's locks, only one of them may call SQLite. So the
 * owner lends; the other thread takes and returns, around all its calls. The functions below wait
 * in the owner's thread until the database is returned; other users of it call statements_wait().
 */
void statements_lend(struct store *store);
void statements_take(const struct store *store);
void statements_return(struct store *store);
void statements_wait(struct store *store);

/* Waits as well. -1: the other thread could not write the last commit. */
int statements_check_commit(struct store *store, struct error *error);

/*
 * Begins SQLite's transaction, unless it has begun. The first statement does so, because many
 * transactions only change keys in the cache. The functions below call this themselves.
 */
int statements_begin(struct store *store, struct error *error);

/* For SQL that is rarely needed: begins as above; the caller steps and finalizes the statement. */
int statements_prepare_one(struct store *store, const char *text, sqlite3_stmt **statement,
                           struct error *error);

/* Executes SQL that gives no rows. */
int statements_execute(struct store *store, const char *text, struct error *error);

/* Executes SQL that gives one row of `count` integers. */
int statements_query(struct store *store, const char *text, int64_t *numbers, int count,
                     struct error *error);

/* Parameters count from 1. */
void statement_bind_integer(struct store *store, enum statement which, int index, int64_t number);
void statement_bind_blob(struct store *store, enum statement which, int index, struct iovec bytes);
void statement_bind_text(struct store *store, enum statement which, int index, struct iovec text);

/* Steps to the next row; *row: there is one. */
int statement_step(struct store *store, enum statement which, bool *row, struct error *error);

/* A column of the row, from 0. The bytes are SQLite's, and valid until the next step. */
int64_t statement_integer(struct store *store, enum statement which, int column);
struct iovec statement_bytes(struct store *store, enum statement which, int column);

void statement_done(struct store *store, enum statement which);

/* Step and done, for a statement that gives no row. */
int statement_run(struct store *store, enum statement which, struct error *error);

#endif
