test_nursery.o: tests/unit/supervisor/test_nursery.c \
  supervisor/process/zygote/nursery.h supervisor/process/zygote/zygote.h \
  base/error.h proto/fork_request.h supervisor/process/child_process.h

supervisor/process/zygote/nursery.h:

supervisor/process/zygote/zygote.h:

base/error.h:

proto/fork_request.h:

supervisor/process/child_process.h:
