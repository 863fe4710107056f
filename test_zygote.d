test_zygote.o: tests/unit/worker/test_zygote.c proto/fork_request.h \
  worker/pipe/zygote.h

proto/fork_request.h:

worker/pipe/zygote.h:
