# SPDX-License-Identifier: Apache-2.0
# Simulates a fleet that replays a chain: spans of LENGTH=200 deliveries whose times vary as
# exp(normal(0, 0.7)), the heaviest first, each taken by whichever worker is free first. A worker is
# lost once in LOST=100 hours; its span begins again a lease of 30 s later.
# Variables: spans, deliveries, local and fleet (CPU seconds that these took), bytes (of their
# objects), chain (deliveries to simulate), workers.

function normal() {
    return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand())
}

# The worker that is free first is at the root of a heap.
function sift(at, moved,    child) {
    moved = heap[at]
    while ((child = 2 * at) <= workers) {
        if (child < workers && heap[child + 1] < heap[child])
            child++
        if (heap[child] >= moved)
            break
        heap[at] = heap[child]
        at = child
    }
    heap[at] = moved
}

BEGIN {
    LENGTH = LENGTH ? LENGTH : 200
    LOST = LOST ? LOST : 100
    BUCKETS = 400
    srand(1)
    per_delivery = local / deliveries
    overhead = (fleet - local) / spans
    if (overhead < 0)
        overhead = 0
    count = int(chain / LENGTH)
    mean = LENGTH * per_delivery / exp(0.7 * 0.7 / 2)
    for (i = 0; i < count; i++) {
        time = mean * exp(0.7 * normal())
        bucket = int(BUCKETS * time / (20 * mean))
        bucket = bucket < BUCKETS ? bucket : BUCKETS - 1
        number[bucket]++
        sum[bucket] += time
        work += time
    }
    for (i = 1; i <= workers; i++)
        heap[i] = 0
    for (bucket = BUCKETS - 1; bucket >= 0; bucket--)
        for (i = 0; i < number[bucket]; i++) {
            took = sum[bucket] / number[bucket] + overhead
            while (rand() < took / (LOST * 3600)) {
                heap[1] += rand() * took + 30
                again++
            }
            heap[1] += took
            sift(1)
        }
    for (i = 1; i <= workers; i++)
        if (heap[i] > end)
            end = heap[i]
    printf "\nsimulated: %d deliveries in %d spans on %d workers: %.2f hours; %.1f CPU days, " \
           "%.1f %% of them the fleet's own; %d spans begun again; %.1f GB of objects; busy %.1f %%\n", \
           chain, count, workers, end / 3600, (work + count * overhead) / 86400, \
           100 * count * overhead / (work + count * overhead), again, bytes / spans * count / 1e9, \
           100 * (work + count * overhead) / (end * workers)
}
