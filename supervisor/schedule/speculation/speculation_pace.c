/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/speculation/speculation_pace.h"

#define MICROSECONDS INT64_C(1000)

enum {
    WINDOW = 16,         /* deliveries that are judged together */
    DISTANCE_FIRST = 64, /* deliveries one at a time before the first trial, */
    DISTANCE_SHORT = 2048,
    DISTANCE_TIMES = 8,
    DISTANCE_MAX = 65536,
    PASSING = 2, /* deliveries at a change of pace, besides those that are under way */
};

/* Deliveries that compute this long are worth overlapping, whatever the rest costs. */
static const int64_t LONG = 2000 * MICROSECONDS;

/* Those that compute less than the frames and records of one ahead cost hardly ever are. */
static const int64_t SHORT = 150 * MICROSECONDS;

/* What takes longer besides computing is something else: a snapshot, a wait for input. */
static const int64_t STRANGE = 5000 * MICROSECONDS;

/* Looking ahead has to be that much faster. */
static const double WORTHWHILE = 0.97;

static void open_window(struct speculation_pace *pace)
{
    pace->count = 0;
    pace->wall = pace->processor = 0;
    pace->compute = 0;
}

static void change_pace(struct speculation_pace *pace, bool alone, uint64_t jobs)
{
    pace->alone = alone;
    pace->since = 0;
    pace->passing = PASSING + (unsigned)jobs;
    open_window(pace);
}

/* What a window took says what one delivery takes, and one computron of it. */
static void learn_alone(struct speculation_pace *pace)
{
    const bool has_computrons = pace->compute > 0 && pace->processor < pace->wall;
    const int64_t besides = has_computrons ? pace->wall - pace->processor : pace->wall;
    const double each = (double)besides / pace->count;
    const double computron = has_computrons ? (double)pace->processor / pace->compute : 0;
    const bool first = pace->each == 0;

    pace->each = first ? each : (pace->each + each) / 2;
    pace->computron = first ? computron : (pace->computron + computron) / 2;
}

static bool is_long(const struct speculation_pace *pace)
{
    return pace->processor / pace->count >= LONG;
}

static void lengthen_distance(struct speculation_pace *pace)
{
    const bool is_short = pace->processor / pace->count < SHORT;

    pace->distance = pace->distance == 0 ? DISTANCE_FIRST : pace->distance * DISTANCE_TIMES;
    if (is_short && pace->distance < DISTANCE_SHORT)
        pace->distance = DISTANCE_SHORT;
    if (pace->distance > DISTANCE_MAX)
        pace->distance = DISTANCE_MAX;
}

static bool judge_ahead(struct speculation_pace *pace, uint64_t jobs)
{
    const double alone = pace->count * pace->each + pace->compute * pace->computron;

    if (is_long(pace) || (pace->each > 0 && (double)pace->wall <= WORTHWHILE * alone)) {
        pace->distance = 0;
        open_window(pace);
        return false;
    }
    lengthen_distance(pace);
    pace->left = pace->distance;
    change_pace(pace, true, jobs);
    return true;
}

static bool judge_alone(struct speculation_pace *pace, uint64_t jobs)
{
    const bool has_become_long = is_long(pace);

    learn_alone(pace);
    open_window(pace);
    if (has_become_long)
        change_pace(pace, false, jobs);
    return has_become_long;
}

/* Adds a delivery to the window. Whether the window is full. */
static bool add_to_window(struct speculation_pace *pace, const struct speculation_turn *turn)
{
    const int64_t wall = turn->now - pace->now;
    const bool counts = pace->now != 0 && pace->passing == 0 && wall - turn->processor <= STRANGE &&
                        !(pace->alone && turn->ahead);

    pace->now = turn->now;
    if (pace->passing > 0)
        pace->passing--;
    if (!counts)
        return false;
    pace->wall += wall;
    pace->processor += turn->processor;
    pace->compute += (double)turn->compute;
    return ++pace->count == WINDOW;
}

void speculation_pace_observe(struct speculation_pace *pace, const struct speculation_turn *turn)
{
    if (turn->ahead)
        pace->since = 0;
    else if (pace->since < WINDOW)
        pace->since++;
    if (add_to_window(pace, turn) &&
        (pace->alone ? judge_alone(pace, turn->jobs) : judge_ahead(pace, turn->jobs)))
        return;
    if (pace->alone && --pace->left == 0)
        change_pace(pace, false, turn->jobs);
}

bool speculation_pace_overlaps(const struct speculation_pace *pace)
{
    return !pace->alone && pace->since < WINDOW;
}
