/* A channel (runtime/transport/channel.h) between two work queues, each driven by a worker of its own
 * that sleeps on its event count when it cannot go on, over several rounds and in every interleaving.
 *
 * Messages are numbered for ever. A message is shown in slot n mod SLOTS: first what is in it, then
 * its number. Rendezvous (CAPACITY 0): the receiver copies out of the sender's own memory, and the
 * sender writes that again as soon as its send is done. Buffered: the sender copies into the slot.
 * The sender's memory holds one message, as that of a plan with one copy of a slot does.
 *
 * Shown: every message arrives once, in order and whole (what was received is what was sent; poison
 * marks too), nothing is overwritten before it is read, both ends come to rest at their end, so
 * there is no deadlock and no lost wake-up; and when the engine ends in between (SHUTDOWN), both
 * workers leave.
 *
 * Planted faults: ROOM_TOO_MUCH, one message more than the slots hold; SENT_EARLY, a rendezvous
 * that is done when it is shown; NUMBER_FIRST, the number before the contents; NO_NOTIFY_SENDER and
 * NO_NOTIFY_RECEIVER, an end that does not notify; SILENT_END, a shutdown that notifies nobody.
 */
#ifndef CAPACITY
#define CAPACITY 0
#endif
#define MESSAGES 5
#if CAPACITY > 2
#define SLOTS 4                  /* the next power of two */
#elif CAPACITY == 2
#define SLOTS 2
#else
#define SLOTS 1
#endif
#if CAPACITY == 0
#define ROOM0 1
#else
#define ROOM0 CAPACITY
#endif
#ifdef ROOM_TOO_MUCH
#define ROOM (ROOM0 + 1)
#else
#define ROOM ROOM0
#endif

byte memory;                     /* the sender's: which message lies there, plus one */
byte number[SLOTS];              /* of the message in the slot, plus one */
byte contents[SLOTS];            /* buffered: the bytes; rendezvous: unused */
bool mark[SLOTS];
byte received;
bool ended;

/* Event counts, as event_count.pml shows them to work: sleeps unless there is news once it is announced. */
byte sleepers[2], epoch[2];
#define SENDER 0
#define RECEIVER 1
inline notify(who) { if :: sleepers[who] != 0 -> epoch[who]++ :: else fi }
#define SLEEP(who, news) \
  sleepers[who]++; word = epoch[who]; \
  if :: (news) :: else -> (epoch[who] != word) fi; \
  sleepers[who]--

#define Poisoned(n) ((n) == 2)
#define HasRoom(n) (received + ROOM > (n))
#define Arrived(n) (number[(n) % SLOTS] == (n) + 1)

active proctype Sender() {
  byte n, word;
  do
  :: n == MESSAGES || ended -> break
  :: else ->
     memory = n + 1;                                     /* the call before makes the value */
     do
     :: ended || HasRoom(n) -> break
     :: else -> SLEEP(SENDER, ended || HasRoom(n))
     od;
     if :: !HasRoom(n) -> break :: else fi;
#ifdef NUMBER_FIRST
     number[n % SLOTS] = n + 1;
#endif
     mark[n % SLOTS] = Poisoned(n);
#if CAPACITY > 0
     contents[n % SLOTS] = memory;
#endif
#ifndef NUMBER_FIRST
     number[n % SLOTS] = n + 1;
#endif
#ifndef NO_NOTIFY_SENDER
     notify(RECEIVER);
#endif
#if CAPACITY == 0 && !defined(SENT_EARLY)
     do
     :: ended || received > n -> break
     :: else -> SLEEP(SENDER, ended || received > n)
     od;
     if :: received <= n -> break :: else fi;
#endif
     n++
  od
}

active proctype Receiver() {
  byte n, word, got;
  do
  :: n == MESSAGES || ended -> break
  :: else ->
     do
     :: ended || Arrived(n) -> break
     :: else -> SLEEP(RECEIVER, ended || Arrived(n))
     od;
     if :: !Arrived(n) -> break :: else fi;
     assert(mark[n % SLOTS] == Poisoned(n));
#if CAPACITY == 0
     got = memory;
     assert(got == n + 1);
     assert(memory == n + 1);                            /* still, at the end of the copy */
#else
     got = contents[n % SLOTS];
     assert(got == n + 1);
     assert(contents[n % SLOTS] == n + 1);
#endif
     received = n + 1;
#ifndef NO_NOTIFY_RECEIVER
     notify(SENDER);
#endif
     n++
  od;
  assert(ended || received == MESSAGES)
}

#ifdef SHUTDOWN
active proctype Teardown() {     /* at any moment, or never: another thread, the watchdog */
end: ended = true;
#ifndef SILENT_END
  notify(SENDER);
  notify(RECEIVER)
#endif
}
#endif
