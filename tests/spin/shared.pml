/* A slot, its two semaphores and the wake-ups of two processes that share memory, either of which may
 * die at any instruction (runtime/base/sync, runtime/engine/ranks.cpp), in every interleaving.
 *
 * The first process fills the slot and signals; the other one waits, reads it and signals back, after
 * which the slot may be filled again. Who waits looks, announces itself in `sleepers`, passes a
 * barrier that the threads of all processes pass with it, looks again and sleeps on a futex. Stores go
 * through store buffers, in order; a later load may be served first. What a process has stored when
 * it dies is still seen, and its announcement stays for ever. A third process, rank 0, finds the death,
 * sets `ended`, and notifies both event counts.
 *
 * Shown: what is read is what was signalled, whole, even of a process that has died since; and no
 * survivor sleeps for ever.
 *
 * Planted faults: PRIVATE_BARRIER, one that only the threads of the waiter's process pass; SILENT_END,
 * an end that notifies nobody; BLIND, a wait that does not look at `ended`; SIGNAL_FIRST, a signal
 * before the slot is filled; NO_WAIT_BACK, a slot that is filled before it was read.
 */
#define ROUNDS 3
#define FIRST 0
#define SECOND 1
#define RANK_ZERO 2
#define SLOT 0
#define SEMAPHORE 1
#define ENDED 2

byte slot;
byte signalled[2];               /* the semaphores, by who signals */
bool ended;
byte sleepers[2], epoch[2];
bool dead[2];
chan buffer[3] = [4] of { byte, byte };  /* stores that others do not see yet: word, value */
byte word, value;                /* of the store that becomes seen */

inline see(p) {
  buffer[p] ? word, value;
  if
  :: word == SLOT -> slot = value
  :: word == SEMAPHORE -> signalled[p] = value
  :: word == ENDED -> ended = true
  fi;
  word = 0; value = 0
}
inline drain(p) { do :: nempty(buffer[p]) -> see(p) :: empty(buffer[p]) -> break od }

active proctype Processor() {    /* may empty a buffer at any time, also of a process that is dead */
end:
  do
  :: d_step { nempty(buffer[FIRST]) -> see(FIRST) }
  :: d_step { nempty(buffer[SECOND]) -> see(SECOND) }
  :: d_step { nempty(buffer[RANK_ZERO]) -> see(RANK_ZERO) }
  od
}

inline notify(p, whom) {
  if
  :: sleepers[whom] != 0 -> d_step { drain(p); epoch[whom]++ }
  :: sleepers[whom] == 0
  fi
}

#ifdef BLIND
#define Over(until) (until)
#else
#define Over(until) ((until) || ended)
#endif

inline await(me, until) {
  do
  :: Over(until) -> break
  :: true ->
     sleepers[me]++;
#ifndef PRIVATE_BARRIER
     d_step { drain(FIRST); drain(SECOND); drain(RANK_ZERO) };
#endif
     asleep = epoch[me];
     there = Over(until);
     if
     :: there
     :: !there -> epoch[me] != asleep
     fi;
     sleepers[me]--
  od
}

active proctype First() {
  byte round, asleep;
  bool there;
  {
    do
    :: round == ROUNDS || ended -> break
    :: else ->
#ifndef NO_WAIT_BACK
       await(FIRST, signalled[SECOND] == round);
       if :: signalled[SECOND] != round -> break :: else fi;
#endif
       round++;
#ifdef SIGNAL_FIRST
       buffer[FIRST] ! SEMAPHORE, round;
       buffer[FIRST] ! SLOT, round;
#else
       buffer[FIRST] ! SLOT, round;
       buffer[FIRST] ! SEMAPHORE, round;
#endif
       notify(FIRST, SECOND)
    od
  } unless { dead[FIRST] }
}

active proctype Second() {
  byte round, asleep;
  bool there;
  {
    do
    :: round == ROUNDS -> break
    :: else ->
       await(SECOND, signalled[FIRST] > round);
       if :: signalled[FIRST] <= round -> break :: else fi;
       round++;
       assert(slot == round);
       buffer[SECOND] ! SEMAPHORE, round;
       notify(SECOND, FIRST)
    od
  } unless { dead[SECOND] }
}

active proctype Death() { if :: dead[FIRST] = true :: dead[SECOND] = true :: true fi }

active proctype RankZero() {
end:
  dead[FIRST] || dead[SECOND];
  buffer[RANK_ZERO] ! ENDED, true;
#ifndef SILENT_END
  notify(RANK_ZERO, FIRST);
  notify(RANK_ZERO, SECOND)
#endif
}
