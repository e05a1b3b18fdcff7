//go:build rdma

#include "verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct ibv_context *evr_open(int i, char *name, size_t n) {
	int count = 0;
	struct ibv_context *c = NULL;
	struct ibv_device **all = ibv_get_device_list(&count);
	if (all == NULL || i >= count) {
		if (all != NULL || errno == ENOSYS) { // no verbs in this kernel
			errno = 0;
		}
	} else {
		strncpy(name, ibv_get_device_name(all[i]), n - 1);
		errno = ENODEV;
		c = ibv_open_device(all[i]);
	}
	if (all != NULL) {
		int e = errno;
		ibv_free_device_list(all);
		errno = e;
	}
	return c;
}

int evr_query(struct ibv_context *c, int port, struct ibv_port_attr *a) { return ibv_query_port(c, port, a); }

int evr_ports(struct ibv_context *c) {
	struct ibv_device_attr a;
	return ibv_query_device(c, &a) == 0 ? a.phys_port_cnt : 0;
}

int evr_gid(struct ibv_context *c, int port, int index, uint8_t gid[16]) {
	struct ibv_gid_entry e;
	if (ibv_query_gid_ex(c, port, index, &e, 0) != 0 || e.gid_type != IBV_GID_TYPE_ROCE_V2) {
		return 0;
	}
	memcpy(gid, e.gid.raw, sizeof e.gid.raw);
	return 1;
}

int evr_domain_open(evr_domain *d, struct ibv_context *c, int depth) {
	struct ibv_device_attr a;
	int e = ibv_query_device(c, &a);
	if (e != 0) {
		return e;
	}
	d->most = a.max_cqe / (2 * depth);
	d->room = d->most < 8 ? d->most : 8;
	if ((d->pd = ibv_alloc_pd(c)) == NULL || (d->channel = ibv_create_comp_channel(c)) == NULL ||
		(d->cq = ibv_create_cq(c, d->room * 2 * depth, NULL, d->channel, 0)) == NULL) {
		return errno;
	}
	int flags = fcntl(d->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(d->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		return errno;
	}
	return 0;
}

struct ibv_mr *evr_register(evr_domain *d, uintptr_t at, size_t n) {
	return ibv_reg_mr(d->pd, (void *)at, n, IBV_ACCESS_LOCAL_WRITE);
}

// make_room has the completion queue hold what one pair more may leave in it.
static int make_room(evr_domain *d, int depth) {
	if (d->pairs == d->room) {
		int room = 2 * d->room < d->most ? 2 * d->room : d->most;
		int e = ibv_resize_cq(d->cq, room * 2 * depth);
		if (e != 0) {
			return e;
		}
		d->room = room;
	}
	d->pairs++;
	return 0;
}

struct ibv_qp *evr_pair(evr_domain *d, int port, int depth) {
	int e = make_room(d, depth);
	if (e != 0) {
		errno = e;
		return NULL;
	}
	struct ibv_qp_init_attr a = {.send_cq = d->cq, .recv_cq = d->cq, .qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 2, .max_recv_sge = 2}};
	struct ibv_qp *q = ibv_create_qp(d->pd, &a);
	if (q == NULL) {
		return NULL;
	}
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = port};
	e = ibv_modify_qp(q, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (e != 0) {
		ibv_destroy_qp(q);
		errno = e;
		return NULL;
	}
	return q;
}

int evr_connect(struct ibv_qp *q, const struct ibv_port_attr *own, int port, const evr_way *to, uint32_t counter, int retries) {
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR, .path_mtu = own->active_mtu, .dest_qp_num = to->queue, .rq_psn = to->counter,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1, // 10 µs: who is late with a receive is so by little
		.ah_attr = {.port_num = port}};
	if (to->global) {
		a.ah_attr.is_global = 1;
		a.ah_attr.grh.hop_limit = 64;
		a.ah_attr.grh.flow_label = to->label;
		a.ah_attr.grh.sgid_index = to->sgid;
		memcpy(a.ah_attr.grh.dgid.raw, to->gid, sizeof to->gid);
	} else {
		a.ah_attr.dlid = to->lid;
		a.ah_attr.src_path_bits = to->bits; // what answers come back to
	}
	int e = ibv_modify_qp(q, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (e != 0) {
		return e;
	}
	struct ibv_qp_attr s = {.qp_state = IBV_QPS_RTS, .timeout = 17, // 0.5 s
		.retry_cnt = retries, .rnr_retry = 7, // as long as it takes
		.sq_psn = counter, .max_rd_atomic = 1};
	return ibv_modify_qp(q, &s, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int gather(const evr_work *w, struct ibv_sge s[2]) {
	int n = 0;
	if (w->head != 0) {
		s[n++] = (struct ibv_sge){w->head, w->head_n, w->head_key};
	}
	if (w->body_n > 0) {
		s[n++] = (struct ibv_sge){w->body, w->body_n, w->body_key};
	}
	return n;
}

int evr_send(struct ibv_qp *q, const evr_work *w) {
	struct ibv_sge s[2];
	struct ibv_send_wr r = {.wr_id = w->id, .sg_list = s, .num_sge = gather(w, s), .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(w->total)}, *bad;
	return ibv_post_send(q, &r, &bad);
}

int evr_receive(struct ibv_qp *q, const evr_work *w) {
	struct ibv_sge s[2];
	struct ibv_recv_wr r = {.wr_id = w->id, .sg_list = s, .num_sge = gather(w, s)}, *bad;
	return ibv_post_recv(q, &r, &bad);
}

int evr_poll(evr_domain *d, evr_done *done, int most) {
	struct ibv_wc w[32];
	int n = ibv_poll_cq(d->cq, most < 32 ? most : 32, w);
	for (int i = 0; i < n; i++) {
		done[i] = (evr_done){w[i].wr_id, w[i].byte_len, ntohl(w[i].imm_data), w[i].status};
	}
	return n;
}

int evr_event(evr_domain *d) {
	struct ibv_cq *cq;
	void *context;
	if (ibv_get_cq_event(d->channel, &cq, &context) != 0) {
		return errno;
	}
	ibv_ack_cq_events(cq, 1);
	return 0;
}

void evr_domain_close(evr_domain *d) {
	if (d->cq != NULL) {
		ibv_destroy_cq(d->cq);
	}
	if (d->channel != NULL) {
		ibv_destroy_comp_channel(d->channel);
	}
	if (d->pd != NULL) {
		ibv_dealloc_pd(d->pd);
	}
}
