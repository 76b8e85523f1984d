/* How the ranks of an engine begin (runtime/engine/ranks.cpp), and what rank 0 learns of one that
 * dies meanwhile, in every interleaving.
 *
 * Each rank makes the objects of the region, all with the same content, then says that it has loaded
 * the plan. Rank 0 lets all begin once all have. A rank may die at any time. The thread that watches
 * it sets `gone`, and ends the engine if that has started; before, rank 0 finds it by itself.
 *
 * Shown: no object is made once somebody uses one; nobody waits for ever; and where a rank has died,
 * rank 0 either refused to load or ended the engine.
 *
 * Planted faults: EARLY, a rank that begins when it has loaded; NO_SECOND_LOOK, a rank 0 that looks
 * only before it starts whether somebody is gone; GONE_LAST, a watching thread that asks whether the
 * engine has started before it sets `gone`.
 */
#define RANKS 3                  /* the first is rank 0 */

bool loaded[RANKS], gone[RANKS];
bool dead[RANKS];
bool started, ended, refused, used;
byte over;

active [RANKS - 1] proctype Rank() {
  byte me = _pid + 1;
  assert(!used);                 /* makes the objects */
  if :: loaded[me] = true :: goto dies fi;
#ifndef EARLY
  if :: started || ended || refused :: goto dies fi;
#endif
  if :: ended || refused -> goto leaves :: else fi;
  used = true;
  if :: ended || refused :: goto dies fi;
leaves:
  over++;
  goto done;
dies:
  dead[me] = true;
  over++;
done: skip
}

active proctype RankZero() {
  byte rank = 1;
  assert(!used);                 /* makes the objects, too */
  do
  :: rank < RANKS ->
    (loaded[rank] || gone[rank]);
    if :: gone[rank] -> refused = true; goto done :: else fi;
    rank++
  :: else -> break
  od;
  started = true;
#ifndef NO_SECOND_LOOK
  rank = 1;
  do
  :: rank < RANKS ->
    if :: gone[rank] -> refused = true; goto done :: else fi;
    rank++
  :: else -> break
  od;
#endif
  /* Torn down at some time; where a rank has died, by nobody but who hears of it. */
  if
  :: atomic { !dead[1] && !dead[2] -> ended = true }
  :: ended
  fi;
done: skip
}

active [RANKS - 1] proctype Watcher() {
  byte rank = _pid - RANKS + 1;
  bool has_started;
  if
  :: dead[rank] ->
#ifdef GONE_LAST
    has_started = started;
    gone[rank] = true;
#else
    gone[rank] = true;
    has_started = started;
#endif
    if :: has_started -> ended = true :: else fi
  :: (over == RANKS - 1 && !dead[rank])
  fi
}
