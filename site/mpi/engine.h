//go:build mpi

// The part of this package that talks to MPI. Nothing here blocks, but for
// evb_drive, which returns when it is told to look up, and evb_join_step, in
// which all ranks of a group meet. One thread at a time may be in here.

#ifndef EVB_ENGINE_H
#define EVB_ENGINE_H

#include <stdint.h>
#include <mpi.h>

// Of which MPI the library is; those of one family load the same binary.
#if defined(OPEN_MPI)
#define EVB_FAMILY "Open MPI"
#elif defined(MPICH_VERSION)
#define EVB_FAMILY "MPICH"
#else
#define EVB_FAMILY "another MPI"
#endif

#define EVB_HEAD 40
#define EVB_PARTINGS 3
#define EVB_RING 8           // receives of control frames that wait
#define EVB_FRAME (32 << 10) // the largest control frame

// Kinds of stream between two ranks of a group; the first four are those of
// package transport.
enum { EVB_SEND, EVB_RECV, EVB_ASK, EVB_ASKED, EVB_SIGNAL, EVB_AWAIT, EVB_KINDS };

// Tags of a group, next to each other.
enum { EVB_TAG_HEAD, EVB_TAG_BODY, EVB_TAG_ASK, EVB_TAG_SIGNAL, EVB_TAG_BYE, EVB_TAG_HERE, EVB_TAG_GO, EVB_TAGS = 8 };

// Why evb_drive returns.
enum { EVB_DONE, EVB_FAILED, EVB_LOOK, EVB_YIELD, EVB_CONTROL, EVB_TURN };

// For how long endpoints work before others have a turn: Endpoint.work says why.
#define EVB_TURN_MS 8

// What a rank that closes says: how many data and requests it took from the
// one that it tells, and how many barriers it has entered.
enum { EVB_BYE_DATA, EVB_BYE_ASKS, EVB_BYE_BARRIERS, EVB_BYE };

// What failed.
enum { EVB_OK, EVB_MPI, EVB_SIZE, EVB_GONE };

// How a join is done.
enum { EVB_OLD = 1, EVB_NEW };

// An operation from its start to its end. Head is in here, for the caller's may move.
typedef struct evb_slot {
	unsigned char head[EVB_HEAD];
	void *body;
	int size; // of body
	int n;    // bytes of body that came
	int peer; // rank in the group
	int kind;
	int index;  // the caller's
	int waited; // counted in evb_ep.missing until it is done
	int left;   // of req
	MPI_Request req[2];
	uint64_t seq; // place in its stream
	struct evb_slot *next;
} evb_slot;

typedef struct {
	evb_slot *first, *last;
	uint64_t begun, done;
} evb_stream;

// Whose request stands at a place of evb_ep.reqs. No stream: bye or barrier.
typedef struct {
	evb_stream *stream;
	int part;
} evb_owner;

typedef struct {
	int kind; // EVB_OK or what failed
	int code; // of MPI
	int peer; // rank in the group, or -1
	int op;   // kind of stream
} evb_error;

// The process' place in the world.
typedef struct {
	MPI_Comm data, control;
	int rank, size;
	int ids;            // groups with tags of their own
	int32_t wanted;     // others who want to come in here
	int64_t turned;     // when others had a turn
	int turn;           // they are to have one
	MPI_Request ring[EVB_RING];
	unsigned char *frames;
	int head; // of the ring
	unsigned char *frame; // the one that has come, or NULL
	int from, bytes;      // its sender and length
	struct evb_out *outs;
	MPI_Request *parting; // with each rank, once leaving has begun
	int parted;           // how often
	MPI_Request leaving;
} evb_world;

// An endpoint.
typedef struct {
	evb_world *w;
	int rank, n, tag;
	int *world; // ranks of the group in the world
	int32_t *look;  // not 0: somebody wants the caller of evb_drive to look up
	MPI_Comm enter; // a barrier on it is to be entered
	uint64_t entered;
	int inside;
	int missing;
	int64_t since; // when there was nothing to do for the first time, or 0
	evb_error err;
	evb_stream *streams; // [peer * EVB_KINDS + kind]
	evb_slot *done, *last; // posted and done
	evb_slot *spare;       // done, and nobody waits for it

	int active; // requests of the operations that are first in their stream
	MPI_Request *reqs;
	evb_owner *owner;
	int *at;
	MPI_Status *status;

	unsigned char *gone; // by rank: has said that it has closed
	int left;            // ranks that have not
	uint64_t word[EVB_BYE];     // the bye that comes next
	uint64_t (*last_words)[EVB_BYE]; // of ranks that have closed
	uint64_t (*words)[EVB_BYE];      // of byes that go out
	MPI_Request *byes;
	MPI_Request bye;
	struct evb_left *lefts;
} evb_ep;

void evb_keep_handler(void);
void evb_restore_handler(void);
int evb_threads(void);
int evb_meet(int rank, int size, int ms, char *heard, int *all);
evb_world *evb_world_open(int rank, int size, int *rc);
void evb_text(int code, char *text, int size);
int evb_pump(evb_world *w);
int evb_next(evb_world *w);
int evb_say(evb_world *w, int rank, void *head, int hn, void *body, int bn);
int evb_leave(evb_world *w, int *gone);
void evb_world_close(evb_world *w);
void evb_abort(int code);

evb_ep *evb_open(evb_world *w, uint32_t id, int rank, int n, int *world, int32_t *look);
evb_slot *evb_slots(int n);
evb_slot *evb_slot_at(evb_slot *s, int i);
void *evb_alloc(uint64_t n);
void evb_free(void *p);
int evb_post(evb_ep *e, evb_slot *chain);
int evb_drive(evb_ep *e, evb_slot *start, int posted);
void evb_close(evb_ep *e);
int evb_reap(evb_ep *e);

// How ranks agree on a communicator of theirs.
typedef struct {
	evb_world *w;
	int rank, n, tag;
	int *world;
	MPI_Request *reqs;
	uint64_t *words;
	uint64_t state;
	int going;
} evb_join;

evb_join *evb_join_open(evb_world *w, uint32_t id, int rank, int n, int *world, uint64_t state);
int evb_join_step(evb_join *j, int *done, MPI_Comm *c);
void evb_join_close(evb_join *j);

#endif
