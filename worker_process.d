worker_process.o: supervisor/process/worker_process.c \
  supervisor/process/worker_process.h base/error.h base/stamp.h \
  supervisor/process/pipe/save_head.h supervisor/process/zygote/zygote.h \
  proto/fork_request.h supervisor/process/child_process.h \
  sandbox/control_group.h supervisor/process/guest.h \
  supervisor/process/pipe/save_relay.h \
  supervisor/process/pipe/worker_frames.h proto/netstring.h base/buf.h \
  supervisor/process/pipe/worker_stderr.h

supervisor/process/worker_process.h:

base/error.h:

base/stamp.h:

supervisor/process/pipe/save_head.h:

supervisor/process/zygote/zygote.h:

proto/fork_request.h:

supervisor/process/child_process.h:

sandbox/control_group.h:

supervisor/process/guest.h:

supervisor/process/pipe/save_relay.h:

supervisor/process/pipe/worker_frames.h:

proto/netstring.h:

base/buf.h:

supervisor/process/pipe/worker_stderr.h:
