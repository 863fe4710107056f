launcher.o: supervisor/process/launcher.c supervisor/process/launcher.h \
  base/error.h supervisor/process/confinement.h sandbox/control_group.h \
  sandbox/probe.h supervisor/process/guest.h \
  supervisor/process/placement/placement.h \
  supervisor/process/placement/placement_auto.h \
  supervisor/process/worker_process.h base/stamp.h \
  supervisor/process/pipe/save_head.h supervisor/process/zygote/zygote.h \
  proto/fork_request.h supervisor/process/child_process.h \
  supervisor/process/zygote/nursery.h base/log.h proto/netstring.h \
  base/buf.h supervisor/process/agent_environment.h \
  supervisor/process/locate.h

supervisor/process/launcher.h:

base/error.h:

supervisor/process/confinement.h:

sandbox/control_group.h:

sandbox/probe.h:

supervisor/process/guest.h:

supervisor/process/placement/placement.h:

supervisor/process/placement/placement_auto.h:

supervisor/process/worker_process.h:

base/stamp.h:

supervisor/process/pipe/save_head.h:

supervisor/process/zygote/zygote.h:

proto/fork_request.h:

supervisor/process/child_process.h:

supervisor/process/zygote/nursery.h:

base/log.h:

proto/netstring.h:

base/buf.h:

supervisor/process/agent_environment.h:

supervisor/process/locate.h:
