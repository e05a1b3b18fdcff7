//go:build rdma

package rdma

/*
#cgo CFLAGS: -O2 -Wall
#cgo LDFLAGS: -libverbs
#include "verbs.h"
#include <errno.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Missing says why this binary has no verbs; nil if it has them.
var Missing error

// A verbsPort is an open port of a device.
type verbsPort struct {
	context *C.struct_ibv_context
	is      candidate
	attr    C.struct_ibv_port_attr
}

func (p *verbsPort) port() Port { return p.is.port }

func (p *verbsPort) close() error {
	return failure("close "+p.is.device, C.ibv_close_device(p.context))
}

func (p *verbsPort) resent() uint64 {
	return resent(fmt.Sprintf("/sys/class/infiniband/%s/ports/%d", p.is.device, p.is.number))
}

func failure(what string, e C.int) error {
	if e == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", what, syscall.Errno(e))
}

// openDevice opens the port with a server's addresses.
func openDevice(data []string) (device, error) {
	all, err := candidates()
	if err != nil {
		return nil, err
	}
	is, err := choose(data, all, ipoibPort)
	if err != nil {
		return nil, err
	}
	p := &verbsPort{is: is}
	err = eachDevice(func(name string, context *C.struct_ibv_context) (keep bool, err error) {
		if name != is.device {
			return false, nil
		}
		p.context = context
		return true, failure("port "+is.String(), C.evr_query(context, C.int(is.number), &p.attr))
	})
	switch {
	case err != nil:
		return nil, err
	case p.context == nil:
		return nil, fmt.Errorf("RDMA device %s has gone", is.device)
	case int(p.attr.max_msg_sz) < partMost+headSize:
		return nil, errors.Join(fmt.Errorf("RDMA port %v takes messages of at most %d bytes, %d are needed", is, p.attr.max_msg_sz, partMost+headSize), p.close())
	}
	return p, nil
}

// ipoibPort names the InfiniBand port of the interface with an address.
func ipoibPort(a netip.Addr) string {
	interfaces, _ := net.Interfaces() // without them the port stays unknown
	for _, i := range interfaces {
		addrs, _ := i.Addrs()
		for _, x := range addrs {
			if p, err := netip.ParsePrefix(x.String()); err == nil && p.Addr().Unmap() == a {
				return portOf("/sys/class/net/" + i.Name)
			}
		}
	}
	return ""
}

// eachDevice opens one device after the other, until f keeps one.
func eachDevice(f func(name string, context *C.struct_ibv_context) (keep bool, err error)) error {
	const most = 64
	room := (*C.char)(C.calloc(most, 1))
	defer C.free(unsafe.Pointer(room))
	for i := 0; ; i++ {
		context, err := C.evr_open(C.int(i), room, most)
		name := C.GoString(room)
		switch {
		case context == nil && err == nil:
			return nil
		case context == nil:
			return fmt.Errorf("RDMA device %s: %w", name, err)
		}
		keep, err := f(name, context)
		if !keep || err != nil {
			err = errors.Join(err, failure("close "+name, C.ibv_close_device(context)))
		}
		if keep || err != nil {
			return err
		}
	}
}

// candidates are the ports of this machine.
func candidates() (all []candidate, err error) {
	err = eachDevice(func(name string, context *C.struct_ibv_context) (bool, error) {
		for i := range int(C.evr_ports(context)) {
			var a C.struct_ibv_port_attr
			if e := C.evr_query(context, C.int(1+i), &a); e != 0 {
				return false, failure("port of "+name, e)
			}
			c := candidate{device: name, number: 1 + i, ethernet: a.link_layer == C.IBV_LINK_LAYER_ETHERNET, active: a.state == C.IBV_PORT_ACTIVE,
				port: Port{MTU: 128 << a.active_mtu}, gids: map[netip.Addr]int{}}
			if !c.ethernet {
				c.port.LID, c.port.LMC = int(a.lid), int(a.lmc)
			}
			for k := range int(a.gid_tbl_len) {
				var gid [16]byte
				if C.evr_gid(context, C.int(c.number), C.int(k), (*C.uint8_t)(&gid[0])) != 0 {
					c.gids[netip.AddrFrom16(gid).Unmap()] = k
				}
			}
			all = append(all, c)
		}
		return false, nil
	})
	return all, err
}

// A verbsDomain waits for completions in Go's poller: no thread waits in C.
type verbsDomain struct {
	port    *verbsPort
	d       C.evr_domain
	file    *os.File // the completion channel
	raw     syscall.RawConn
	events  func(fd uintptr) bool // made once
	done    [32]C.evr_done
	queues  []*C.struct_ibv_qp
	regions []*C.struct_ibv_mr
	mapped  [][]byte
}

func (p *verbsPort) domain() (domain, error) {
	d := &verbsDomain{port: p}
	err := failure("RDMA port "+p.is.String(), C.evr_domain_open(&d.d, p.context, depth))
	if err == nil {
		err = d.poller()
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *verbsDomain) poller() (err error) {
	fd, err := unix.FcntlInt(uintptr(d.d.channel.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("completion channel: %w", err)
	}
	d.file = os.NewFile(uintptr(fd), "completion channel")
	d.events = func(uintptr) bool { return C.evr_event(&d.d) != C.EAGAIN }
	d.raw, err = d.file.SyscallConn()
	return err
}

// populated is the unit of populating memory: it may take seconds for each gigabyte.
const populated = 16 << 20

func (d *verbsDomain) alloc(n int, moved func()) (region, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return region{}, fmt.Errorf("%d bytes of memory: %w", n, err)
	}
	d.mapped = append(d.mapped, mem)
	for part := range slices.Chunk(mem, populated) {
		_ = unix.Madvise(part, unix.MADV_POPULATE_WRITE) // else registering populates it
		if moved != nil {
			moved()
		}
	}
	mr, err := C.evr_register(&d.d, C.uintptr_t(address(mem)), C.size_t(n))
	if mr == nil {
		var limit unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit)
		return region{}, lockFailed(n, limit.Cur, err)
	}
	d.regions = append(d.regions, mr)
	return region{mem, uint32(mr.lkey)}, nil
}

func (d *verbsDomain) poll(done []completion) (int, error) {
	n := int(C.evr_poll(&d.d, &d.done[0], C.int(min(len(done), len(d.done)))))
	if n < 0 {
		return 0, errors.New("the completion queue of the RDMA device has failed")
	}
	for i, c := range d.done[:n] {
		done[i] = completion{id: uint64(c.id), n: int(c.n), total: uint32(c.total)}
		if c.status != C.IBV_WC_SUCCESS {
			done[i].status = statusOf(c.status)
			done[i].why = C.GoString(C.ibv_wc_status_str(C.enum_ibv_wc_status(c.status)))
		}
	}
	return n, nil
}

func statusOf(s C.int) status {
	switch s {
	case C.IBV_WC_LOC_LEN_ERR, C.IBV_WC_LOC_QP_OP_ERR: // the latter from soft-RoCE
		return tooLong
	case C.IBV_WC_REM_INV_REQ_ERR:
		return refused
	case C.IBV_WC_RETRY_EXC_ERR:
		return noAnswer
	case C.IBV_WC_WR_FLUSH_ERR:
		return flushed
	}
	return otherwise
}

func (d *verbsDomain) arm() error {
	return failure("completion queue", C.ibv_req_notify_cq(d.d.cq, 0))
}

func (d *verbsDomain) sleep() error {
	err := d.raw.Read(d.events)
	if errors.Is(err, os.ErrDeadlineExceeded) { // interrupted
		return d.file.SetReadDeadline(time.Time{})
	}
	return err
}

func (d *verbsDomain) interrupt() {
	_ = d.file.SetReadDeadline(time.Unix(1, 0)) // it may be closed
}

func (d *verbsDomain) close() error {
	if d.file != nil {
		_ = d.file.Close()
	}
	for _, q := range d.queues {
		C.ibv_destroy_qp(q)
	}
	for _, r := range d.regions {
		C.ibv_dereg_mr(r)
	}
	C.evr_domain_close(&d.d)
	for _, m := range d.mapped {
		_ = unix.Munmap(m)
	}
	return nil
}

type verbsQueue struct {
	d *verbsDomain
	q *C.struct_ibv_qp
	w C.evr_work // of the current call
}

func (d *verbsDomain) pair() (queue, error) {
	if d.d.pairs == d.d.most {
		return nil, fmt.Errorf("RDMA port %v: the longest completion queue of the device is for %d queue pairs, and this server needs more: a plan with fewer paths needs fewer", d.port.is, d.d.most)
	}
	q, err := C.evr_pair(&d.d, C.int(d.port.is.number), depth)
	if q == nil {
		return nil, fmt.Errorf("queue pair %d of this endpoint on RDMA port %v: %w", 1+len(d.queues), d.port.is, err)
	}
	d.queues = append(d.queues, q)
	return &verbsQueue{d: d, q: q}, nil
}

func (q *verbsQueue) number() uint32 { return uint32(q.q.qp_num) }

func (q *verbsQueue) connect(to way, counter uint32) error {
	own, k := &q.d.port.is, to.offset()
	c := C.evr_way{queue: C.uint32_t(to.queue), counter: C.uint32_t(to.counter)}
	if to.port.roce() {
		for i, b := range to.port.Addrs[k].As16() {
			c.gid[i] = C.uint8_t(b)
		}
		c.global, c.sgid, c.label = 1, C.int(own.gids[own.port.Addrs[k]]), C.uint32_t(to.label())
		if to.udp > 0 && softRoCE("/sys/class/infiniband/"+own.device) {
			return fmt.Errorf("%s is soft-RoCE, which hashes its source port from the number of the queue pair, whatever the flow label: a plan of ports needs an adapter, or transport tcp", own.device)
		}
	} else {
		c.lid, c.bits = C.uint16_t(to.port.LID+k), C.uint8_t(k)
	}
	return failure("connect the queue pair", C.evr_connect(q.q, &q.d.port.attr, C.int(own.number), &c, C.uint32_t(counter), retries))
}

func (q *verbsQueue) work(w work) *C.evr_work {
	q.w = C.evr_work{id: C.uint64_t(w.id), total: C.uint32_t(w.total)}
	if len(w.head.b) > 0 {
		q.w.head, q.w.head_n, q.w.head_key = C.uintptr_t(address(w.head.b)), C.uint32_t(len(w.head.b)), C.uint32_t(w.head.key)
	}
	if len(w.body.b) > 0 {
		q.w.body, q.w.body_n, q.w.body_key = C.uintptr_t(address(w.body.b)), C.uint32_t(len(w.body.b)), C.uint32_t(w.body.key)
	}
	return &q.w
}

func (q *verbsQueue) send(w work) error { return failure("post a send", C.evr_send(q.q, q.work(w))) }

func (q *verbsQueue) receive(w work) error {
	return failure("post a receive", C.evr_receive(q.q, q.work(w)))
}
