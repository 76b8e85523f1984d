/* An event count (runtime/base/sync/event_count.h): a waiter announces itself, looks for news once more and sleeps on
 * a futex; a notifier stores its news and then reads whether anybody sleeps. Two notifiers, one waiter
 * that waits for both pieces of news, one after the other, as a worker does round after round.
 *
 * Stores of notifiers go through store buffers, as the processor's do: a later load may be served
 * before an earlier store is seen. The waiter's membarrier empties every notifier's buffer. Shown: no
 * end state but the one in which the waiter has had all news, so no wake-up is lost.
 *
 * Planted faults: NO_FENCE, the waiter announces itself without the barrier; LOOK_FIRST, it looks
 * for news before it announces itself; STALE_EPOCH, it reads the futex's word after it looked.
 */
#define NOTIFIERS 2

bool buffered[NOTIFIERS];          /* the store of the news, not yet seen by others */
bool news[NOTIFIERS];
byte sleepers, epoch;
byte heard;

inline drain(r) { if :: buffered[r] -> buffered[r] = false; news[r] = true :: else fi }

proctype Buffers() {             /* the processor may empty a buffer at any time */
end:
  do
  :: atomic { buffered[0] -> drain(0) }
  :: atomic { buffered[1] -> drain(1) }
  od
}

proctype Ringer(byte r) {
  buffered[r] = true;            /* store the news, release */
  if
  :: sleepers != 0 ->            /* load relaxed: may well come before the store is seen */
     d_step { drain(r); epoch++ } /* a locked instruction empties the buffer: and the futex's wake */
  :: sleepers == 0
  fi
}

#define News() (news[heard])

proctype Waiter() {
  byte word;
  bool there;
  do
  :: heard == NOTIFIERS -> break
  :: heard < NOTIFIERS ->
     if
     :: News() -> heard++        /* while it spins */
     :: true ->
#ifdef LOOK_FIRST
        there = News();
        sleepers++;
        word = epoch;
#else
        sleepers++;
#ifndef NO_FENCE
        d_step { drain(0); drain(1) }    /* membarrier */
#endif
#ifdef STALE_EPOCH
        there = News();
        word = epoch;
#else
        word = epoch;
        there = News();
#endif
#endif
        if
        :: there
        :: !there -> epoch != word        /* futex: sleeps while the word is as it was */
        fi;
        sleepers--
     fi
  od
}

init { atomic { run Buffers(); run Ringer(0); run Ringer(1); run Waiter() } }
