/* A collective (runtime/transport/collective.h) among two or three members over several rounds. A member
 * arrives: it shows what it has in the round slot n mod 2 of its member slot, then that slot's number. When all
 * have arrived it does its share, which reads what the others have shown. Large values stay where
 * they are, so a member also waits until all have left before its memory may change; small ones
 * (EAGER) are copied into the turn, and it does not.
 *
 * Shown: every member reads every other's value of the same round, whole; nothing is overwritten
 * before it is read, although an eager member may be a round ahead; nobody waits for ever.
 *
 * Planted faults: ONE_TURN, both rounds in one turn; NOT_LEFT, large values without the second
 * wait (for each of them AWAKE will do, members that never sleep); NO_NOTIFY_ARRIVED and NO_NOTIFY_LEFT, a member that does not notify.
 */
#ifndef MEMBERS
#define MEMBERS 2
#endif
#ifdef ONE_TURN
#define TURNS 1
#else
#define TURNS 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

typedef RoundSlot { byte number; byte copy }
typedef MemberSlot { RoundSlot slot[2]; byte left; byte memory }
MemberSlot member_slot[MEMBERS];
byte sleepers[MEMBERS], epoch[MEMBERS];

inline notify_others(me) {
  d_step {
    if :: me != 0 && sleepers[0] != 0 -> epoch[0]++ :: else fi;
    if :: me != 1 && sleepers[1] != 0 -> epoch[1]++ :: else fi;
    if :: MEMBERS == 3 && me != 2 && sleepers[MEMBERS - 1] != 0 -> epoch[MEMBERS - 1]++ :: else fi
  }
}
#define Is(m, n) (member_slot[m].slot[(n) % TURNS].number == (n) + 1)
#define AllArrived(n) (Is(0, n) && Is(1, n) && Is(MEMBERS - 1, n))
#define Left(n) (member_slot[0].left > (n) && member_slot[1].left > (n) && member_slot[MEMBERS - 1].left > (n))
#ifdef AWAKE
#define WAIT(news) (news)
#else
#define WAIT(news) \
  do \
  :: (news) -> break \
  :: else -> \
     sleepers[me]++; word = epoch[me]; \
     if :: (news) :: else -> (epoch[me] != word) fi; \
     sleepers[me]-- \
  od
#endif

proctype Member(byte me) {
  byte n, word, other;
  do
  :: n == ROUNDS -> break
  :: else ->
     member_slot[me].memory = n + 1;
#ifdef EAGER
     member_slot[me].slot[n % TURNS].copy = member_slot[me].memory;
#endif
     member_slot[me].slot[n % TURNS].number = n + 1;
#ifndef NO_NOTIFY_ARRIVED
     notify_others(me);
#endif
     WAIT(AllArrived(n));
     other = 0;
     do
     :: other == MEMBERS -> break
     :: else ->
#ifdef EAGER
        assert(member_slot[other].slot[n % TURNS].copy == n + 1);
#else
        assert(member_slot[other].memory == n + 1);
#endif
        other++
     od;
#ifndef EAGER
     member_slot[me].left = n + 1;
#ifndef NO_NOTIFY_LEFT
     notify_others(me);
#endif
#ifndef NOT_LEFT
     WAIT(Left(n));
#endif
#endif
     n++
  od
}

init { atomic { run Member(0); run Member(1);
#if MEMBERS == 3
  run Member(2)
#endif
} }
