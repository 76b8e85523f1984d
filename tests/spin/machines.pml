/* How rounds, progress and failures go between rank 0 and a rank that shares no memory with it
 * (runtime/engine/machines), in every interleaving.
 *
 * Rank 0 submits executions, each in a frame of its own until it is retired. At the other rank one
 * thread hears of a round, frees the frame's slot where the execution before failed, and hands the
 * round to the worker; the same thread tells rank 0 of failures, then of progress. Messages between
 * two ranks keep their order.
 *
 * Shown: an execution is retired as failed exactly if it failed, and nobody waits for ever.
 *
 * Planted faults: RESEND, each failure that is still in a slot is told again; LATE, the progress that
 * is told may be later than the failures that were looked at; NO_CLEAR, a slot is never freed.
 */
#define N 5
#define FRAMES 2
mtype = { FAILURE, PROGRESS };
chan rounds = [N] of { byte, bool };  /* execution; whether the one before in its frame failed */
chan inbox = [N] of { byte };
chan told = [4] of { mtype, byte };
bool fails[N];                        /* whether the execution does */
bool noted[FRAMES];                    /* the slots of the other rank */
byte version[FRAMES];
byte done;                            /* executions, at the other rank */

active proctype RankZero() {
  byte submitted, retired, heard, frame;
  bool failed[FRAMES], flagged[FRAMES];
  do
  :: submitted < N && submitted - retired < FRAMES ->
    rounds!submitted, flagged[submitted % FRAMES];
    submitted++
  :: told?FAILURE, frame -> failed[frame] = true
  :: told?PROGRESS, heard
  :: retired < heard ->
    frame = retired % FRAMES;
    assert(failed[frame] == fails[retired]);
    flagged[frame] = failed[frame];
    failed[frame] = false;
    retired++
  :: retired == N -> break
  od
}

active proctype Worker() {
  byte e;
  do
  :: inbox?e ->
    if
    :: fails[e] = true;
      if
      :: noted[e % FRAMES]              /* keeps the first */
      :: else -> atomic { noted[e % FRAMES] = true; version[e % FRAMES]++ }
      fi
    :: skip
    fi;
    done++
  :: done == N -> break
  od
}

active proctype Poller() {
  byte e, frame, now, progress, versions[FRAMES];
  bool flag;
  do
  :: rounds?e, flag ->
#ifndef NO_CLEAR
    if
    :: flag -> atomic { noted[e % FRAMES] = false; version[e % FRAMES]++ }
    :: else
    fi;
#endif
    inbox!e
  :: done != progress ->
    now = done;
    frame = 0;
    do
    :: frame < FRAMES ->
      if
#ifdef RESEND
      :: noted[frame] ->
#else
      :: noted[frame] && version[frame] != versions[frame] ->
#endif
        versions[frame] = version[frame];
        told!FAILURE, frame
      :: else
      fi;
      frame++
    :: else -> break
    od;
#ifdef LATE
    now = done;
#endif
    told!PROGRESS, now;
    progress = now
  :: progress == N -> break
  od
}
