/* The memory of a slot with several copies (runtime/base/sync/semaphore.h and rule 6 of docs/plan.md):
 * execution e has copy e mod COPIES, nobody takes a copy at run time, the waits are the ownership.
 * A lane writes the slot and signals; another one, which works LAG rounds behind, waits, reads it
 * and signals back; the first one waits for that of COPIES - LAG rounds before. Each is driven by a
 * worker that sleeps on its event count. An event counts the rounds in which it was signalled; a wait of
 * lag d passes in round r when the count has reached r - d + 1.
 *
 * Shown: every execution reads what was written for it, whole, and both lanes come to their end.
 *
 * Planted faults: NO_WAIT_BACK, the writer does not wait; LATE, it waits for one round too early;
 * CYCLE, for one round too late when no copy is spare; NO_LISTENER, an event that notifies nobody.
 */
#ifndef COPIES
#define COPIES 2
#endif
#ifndef LAG
#define LAG 0
#endif
#define ROUNDS (COPIES + LAG + 3)
#if defined(LATE)
#define BACK (COPIES - LAG + 1)
#elif defined(CYCLE)
#define BACK 0
#else
#define BACK (COPIES - LAG)
#endif

byte slot[COPIES];
byte made, used;                 /* events */
byte sleepers[2], epoch[2];
#define WRITER 0
#define READER 1
inline signal(event, round, listener) {
  event = round + 1;
#ifndef NO_LISTENER
  if :: sleepers[listener] != 0 -> epoch[listener]++ :: else fi
#endif
}
#define Passed(event, round, lag) ((round) < (lag) || event + (lag) >= (round) + 1)
#define WAIT(who, event, round, lag) \
  do \
  :: Passed(event, round, lag) -> break \
  :: else -> \
     sleepers[who]++; word = epoch[who]; \
     if :: Passed(event, round, lag) :: else -> (epoch[who] != word) fi; \
     sleepers[who]-- \
  od

active proctype Writer() {
  byte r, word;
  do
  :: r == ROUNDS -> break
  :: else ->
#ifndef NO_WAIT_BACK
     WAIT(WRITER, used, r, BACK);
#endif
     slot[r % COPIES] = 0;                    /* half written */
     slot[r % COPIES] = r + 1;
     signal(made, r, READER);
     r++
  od
}

active proctype Reader() {
  byte r, word;
  do
  :: r == ROUNDS -> break
  :: else ->
     WAIT(READER, made, r, LAG);
     if
     :: r < LAG                               /* an execution that nobody submitted */
     :: else ->
        assert(slot[(r - LAG) % COPIES] == r - LAG + 1);
        assert(slot[(r - LAG) % COPIES] == r - LAG + 1)   /* still, when it has read all */
     fi;
     signal(used, r, WRITER);
     r++
  od
}
