// What verbs.go asks of libibverbs. Functions return 0 or an errno, unless they say otherwise.

#include <infiniband/verbs.h>

typedef struct {
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	int pairs, room, most; // queue pairs: there are, the completion queue has room for, it may have room for
} evr_domain;

typedef struct {
	uint64_t id;
	uint32_t n, total;
	int status;
} evr_done;

// An address of a path: of RoCE gid and its own sgid, of InfiniBand lid and its own path bits.
typedef struct {
	uint8_t gid[16];
	int global, sgid;
	uint32_t label; // flow label; 0: none
	uint16_t lid;
	uint8_t bits;
	uint32_t queue, counter; // of the peer
} evr_way;

typedef struct {
	uint64_t id;
	uintptr_t head, body; // 0: none
	uint32_t head_n, head_key, body_n, body_key, total;
} evr_work;

// evr_open opens the device of that number and copies its name. NULL with errno 0: there is none.
struct ibv_context *evr_open(int i, char *name, size_t n);
int evr_query(struct ibv_context *c, int port, struct ibv_port_attr *a);
int evr_ports(struct ibv_context *c);
// evr_gid returns whether an entry of the port's table is an address of RoCE v2.
int evr_gid(struct ibv_context *c, int port, int index, uint8_t gid[16]);

int evr_domain_open(evr_domain *d, struct ibv_context *c, int depth);
struct ibv_mr *evr_register(evr_domain *d, uintptr_t at, size_t n); // NULL: errno says why
struct ibv_qp *evr_pair(evr_domain *d, int port, int depth);	      // likewise
int evr_connect(struct ibv_qp *q, const struct ibv_port_attr *own, int port, const evr_way *to, uint32_t counter, int retries);
int evr_send(struct ibv_qp *q, const evr_work *w);
int evr_receive(struct ibv_qp *q, const evr_work *w);
int evr_poll(evr_domain *d, evr_done *done, int most); // how many, -1: it has failed
int evr_event(evr_domain *d);			       // takes one that has come
void evr_domain_close(evr_domain *d);
