/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_JOURNAL_SLOG_H
#define GASPIPE_SUPERVISOR_JOURNAL_SLOG_H

#include "supervisor/journal.h"

/* The lines of a crank in the slog; each does nothing where none is written. */

int journal_slog_deliver(struct journal *journal, struct error *error);
int journal_slog_syscall(struct journal *journal, const struct vat_syscall *syscall,
                         const char *ksc, struct stamp come, struct error *error);
int journal_slog_syscall_result(struct journal *journal, const struct vat_syscall *syscall,
                                const struct kernel_syscall_texts *texts, struct stamp come,
                                struct stamp answered, struct error *error);
int journal_slog_console(struct journal *journal, const struct vat_console *console,
                         struct stamp come, struct error *error);
int journal_slog_result(struct journal *journal, const struct journal_end *end,
                        struct error *error);

/* The host's trouble cost the delivery, which is tried again: the tally of its tries. */
int journal_slog_trouble(struct journal *journal, const char *problem, unsigned tries,
                         struct error *error);

/* What the kernel tells: these need no delivery. */

int journal_slog_start(struct slog_writer *slog, const struct kernel_crank *crank,
                       struct stamp started, struct error *error);
int journal_slog_finish(struct slog_writer *slog, const struct kernel_crank_end *end,
                        struct stamp started, struct error *error);
int journal_slog_clist(struct slog_writer *slog, int64_t crank_num,
                       const struct kernel_clist_change *change, struct error *error);
int journal_slog_terminate(struct slog_writer *slog, const struct kernel_termination *termination,
                           struct error *error);

#endif
