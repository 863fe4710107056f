test_scheduler.o: tests/unit/supervisor/test_scheduler.c \
  tests/unit/supervisor/scheduler_harness.h base/log.h kernel/kernel.h \
  base/buf.h base/error.h proto/vat_message.h store/store.h \
  supervisor/schedule/scheduler.h slog/write/writer.h base/stamp.h \
  supervisor/process/launcher.h supervisor/process/confinement.h \
  sandbox/control_group.h sandbox/probe.h supervisor/process/guest.h \
  supervisor/process/placement/placement.h \
  supervisor/process/placement/placement_auto.h \
  supervisor/process/worker_process.h \
  supervisor/process/pipe/save_head.h supervisor/process/zygote/zygote.h \
  proto/fork_request.h supervisor/process/child_process.h \
  supervisor/process/zygote/nursery.h \
  supervisor/schedule/log/delivery_report.h proto/meter.h \
  slog/model/model.h gas/gas_model.h slog/model/entries.h \
  slog/read/names.h slog/read/record.h base/json/scan.h \
  slog/model/phases.h supervisor/process/worker_exit.h \
  supervisor/schedule/snapshot_policy.h \
  supervisor/schedule/speculation/speculation.h \
  supervisor/schedule/delivery_route.h supervisor/vats/warehouse.h \
  tests/unit/supervisor/fake_warehouse.h

tests/unit/supervisor/scheduler_harness.h:

base/log.h:

kernel/kernel.h:

base/buf.h:

base/error.h:

proto/vat_message.h:

store/store.h:

supervisor/schedule/scheduler.h:

slog/write/writer.h:

base/stamp.h:

supervisor/process/launcher.h:

supervisor/process/confinement.h:

sandbox/control_group.h:

sandbox/probe.h:

supervisor/process/guest.h:

supervisor/process/placement/placement.h:

supervisor/process/placement/placement_auto.h:

supervisor/process/worker_process.h:

supervisor/process/pipe/save_head.h:

supervisor/process/zygote/zygote.h:

proto/fork_request.h:

supervisor/process/child_process.h:

supervisor/process/zygote/nursery.h:

supervisor/schedule/log/delivery_report.h:

proto/meter.h:

slog/model/model.h:

gas/gas_model.h:

slog/model/entries.h:

slog/read/names.h:

slog/read/record.h:

base/json/scan.h:

slog/model/phases.h:

supervisor/process/worker_exit.h:

supervisor/schedule/snapshot_policy.h:

supervisor/schedule/speculation/speculation.h:

supervisor/schedule/delivery_route.h:

supervisor/vats/warehouse.h:

tests/unit/supervisor/fake_warehouse.h:
