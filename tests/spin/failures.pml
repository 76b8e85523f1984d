/* How the failures of another rank reach the run that they belong to (runtime/load/failure_slot.h,
 * ExecutionState::CollectFailures), in every interleaving.
 *
 * A work queue of another rank reports up to two failures of one execution in a slot: its version is
 * odd while it is written; then it sets `any`; then the execution is done there. At rank 0 two
 * threads look: one that waits for the result (Over, then Fetch), one that retires the execution
 * (when it is done), after which the frame, and with it the slot, is another execution's, whose rank
 * fails, too. Both collect under the run's mutex, whoever finds it done last of all.
 *
 * Shown: a result is given as good only where nothing failed; what is given as failed did fail; the
 * retiring thread knows of the failure; and nobody waits for ever.
 *
 * Planted faults: CLEAR_EARLY, a slot that is cleared although the execution is not done; LATE_KEEP,
 * failures that are kept after the mutex was given up; TRUST_ANY, a wait that ends because `any` was
 * set, whatever was collected.
 */
byte version;                    /* of the slot */
bool noted;
bool any, done, next_frame;
bool fails;                      /* whether the execution does */
bool mutex, collected, failed;

#define LOCK atomic { !mutex -> mutex = true }
#define UNLOCK mutex = false

inline collect() {
  LOCK;
  if
  :: collected -> UNLOCK
  :: else ->
    finished = done;
#ifdef CLEAR_EARLY
    collected = true;
#else
    collected = finished;
#endif
    found = (noted && version % 2 == 0);
    if :: collected -> version++; noted = false; version++; any = false :: else fi;
#ifdef LATE_KEEP
    UNLOCK;
    if :: found -> failed = true :: else fi
#else
    if :: found -> failed = true :: else fi;
    UNLOCK
#endif
  fi
}

active proctype Rank() {
  byte more = 2;
  do
  :: more > 0 ->
    more--;
    fails = true;
    version++; noted = true; version++;
    any = true
  :: break
  od;
  done = true;
  next_frame;                    /* the next execution in the frame fails */
  version++; noted = true; version++;
  any = true
}

active proctype Waiter() {
  bool finished, found;
  do
  :: any && !done ->             /* Over() */
    collect();
#ifdef TRUST_ANY
    break
#else
    if :: failed -> break :: else fi
#endif
  :: done -> break
  od;
  collect();                     /* Fetch() */
  if
  :: failed -> assert(fails)
  :: else -> assert(!fails && done)
  fi
}

active proctype Retirer() {
  bool finished, found;
  done;
  collect();
  assert(failed == fails);
  next_frame = true
}
