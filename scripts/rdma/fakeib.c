// With LD_PRELOAD a soft-RoCE port looks like one of InfiniBand with 2^LMC LIDs, so that what chooses paths by
// LIDs runs: port rx<r> has LID (r+1) << LMC, and LID + p stands for the address 10.<p>.<leaf>.<slot+1>, as the
// tables of a subnet manager would lead LID + p through spine p. FAKE_LMC, FAKE_PER (servers per leaf).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*query)(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);

static int number(const char *name) {
	const char *v = getenv(name);
	return v ? atoi(v) : 0;
}

static int fake_query(struct ibv_context *c, uint8_t port, struct ibv_port_attr *a, size_t n) {
	int e = query(c, port, a, n), rank = 0;
	sscanf(ibv_get_device_name(c->device), "rx%d", &rank);
	if (e == 0) {
		a->link_layer = IBV_LINK_LAYER_INFINIBAND;
		a->lmc = number("FAKE_LMC");
		a->lid = (rank + 1) << a->lmc;
	}
	return e;
}

struct ibv_context *ibv_open_device(struct ibv_device *d) {
	struct ibv_context *(*real)(struct ibv_device *) = dlsym(RTLD_NEXT, "ibv_open_device"), *c = real(d);
	struct verbs_context *v = c ? verbs_get_ctx(c) : NULL;
	if (v && v->query_port) {
		query = v->query_port;
		v->query_port = fake_query;
	}
	return c;
}

// index_of returns that of an address of RoCE v2 whose second byte is path, -1: there is none.
static int index_of(struct ibv_context *c, int path) {
	struct ibv_gid_entry e;
	for (int i = 0; i < 64; i++) {
		if (ibv_query_gid_ex(c, 1, i, &e, 0) == 0 && e.gid_type == IBV_GID_TYPE_ROCE_V2 && e.gid.raw[10] == 0xff && e.gid.raw[12] == 10 && e.gid.raw[13] == path) {
			return i;
		}
	}
	return -1;
}

int ibv_modify_qp(struct ibv_qp *q, struct ibv_qp_attr *a, int mask) {
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int) = dlsym(RTLD_NEXT, "ibv_modify_qp");
	if (!(mask & IBV_QP_AV) || a->ah_attr.is_global) {
		return real(q, a, mask);
	}
	struct ibv_qp_attr b = *a;
	int lmc = number("FAKE_LMC"), path = b.ah_attr.dlid & ((1 << lmc) - 1), peer = (b.ah_attr.dlid >> lmc) - 1, per = number("FAKE_PER");
	int own = index_of(q->context, b.ah_attr.src_path_bits);
	if (peer < 0 || b.ah_attr.src_path_bits >> lmc || own < 0) {
		return EINVAL; // hardware would not deliver it
	}
	uint8_t gid[16] = {[10] = 0xff, 0xff, 10, path, peer / per, peer % per + 1};
	memcpy(b.ah_attr.grh.dgid.raw, gid, sizeof gid);
	b.ah_attr.is_global = 1;
	b.ah_attr.grh.hop_limit = 16;
	b.ah_attr.grh.sgid_index = own;
	return real(q, &b, mask);
}
