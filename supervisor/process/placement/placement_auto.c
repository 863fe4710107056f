/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/placement/placement_auto.h"

#define MILLISECONDS INT64_C(1000000)

/* A window is long enough to be judged after so many frames, or so much time. */
static const int64_t WINDOW_FRAMES = 64;
static const int64_t WINDOW_TIME = 50 * MILLISECONDS;

/* What one processor's waking another takes for a frame is up to this, until it is measured
 * (docs/benchmarks.md has 25 us; an idle state that is slow to leave takes longer). */
static const double APART_FRAME_ASSUMED = 100e3;

/* Together it must be that many times worse, in as many windows, to be given up: measured
 * times jump. */
static const double WORSE = 2;
static const int BAD_WINDOWS = 2;

static const int64_t TRIAL_AFTER_FIRST = 200 * MILLISECONDS;
static const int64_t TRIAL_AFTER_MAX = 60000 * MILLISECONDS;
/* So many in a row, and being together is no trial any more. */
static const int GOOD_WINDOWS = 20;

static void change_side(struct placement_auto *state, enum placement_side side)
{
    state->side = side;
    state->waited = state->frames = 0;
    state->bad_windows = state->good_windows = 0;
}

static bool part_for_company(struct placement_auto *state, int64_t now, const char **reason)
{
    state->trial_at = now; /* as soon as there is one alone */
    if (state->side == PLACEMENT_APART)
        return false;
    *reason = "several deliveries are in flight";
    change_side(state, PLACEMENT_APART);
    return true;
}

static bool part_for_delay(struct placement_auto *state, int64_t now, const char **reason)
{
    state->trial_after = state->trial_after == 0 ? TRIAL_AFTER_FIRST : state->trial_after * 2;
    if (state->trial_after > TRIAL_AFTER_MAX)
        state->trial_after = TRIAL_AFTER_MAX;
    state->trial_at = now + state->trial_after;
    *reason = "together waiting took longer than apart";
    change_side(state, PLACEMENT_APART);
    return true;
}

/* A window together has ended. */
static bool placement_auto_judge(struct placement_auto *state, double frame, int64_t now,
                                 const char **reason)
{
    double apart = state->apart_frame > 0 ? state->apart_frame : APART_FRAME_ASSUMED;

    if (frame > WORSE * apart) {
        state->good_windows = 0;
        return ++state->bad_windows >= BAD_WINDOWS && part_for_delay(state, now, reason);
    }
    state->bad_windows = 0;
    if (++state->good_windows >= GOOD_WINDOWS)
        state->trial_after = 0;
    return false;
}

/* Adds to the window; true when it has ended, with what a frame waited in it. */
static bool end_window(struct placement_auto *state, const struct placement_observation *seen,
                       double *frame)
{
    if (state->frames == 0)
        state->window_began = seen->now;
    state->waited += seen->waited;
    state->frames += seen->frames;
    if (state->frames < WINDOW_FRAMES && seen->now - state->window_began < WINDOW_TIME)
        return false;
    *frame = (double)state->waited / (double)state->frames;
    state->waited = state->frames = 0;
    return true;
}

bool placement_auto_observe(struct placement_auto *state, const struct placement_observation *seen,
                            const char **reason)
{
    bool apart = state->side == PLACEMENT_APART;
    double frame;

    if (seen->in_flight > 1)
        return part_for_company(state, seen->now, reason);
    if (apart && seen->now >= state->trial_at) {
        *reason = state->trial_after == 0 ? "one delivery is in flight" : "another trial";
        change_side(state, PLACEMENT_TOGETHER);
        return true;
    }
    if (!end_window(state, seen, &frame))
        return false;
    if (!apart)
        return placement_auto_judge(state, frame, seen->now, reason);
    state->apart_frame = state->apart_frame > 0 ? (state->apart_frame + frame) / 2 : frame;
    return false;
}
