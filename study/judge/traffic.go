package judge

import (
	"errors"
	"fmt"
	"slices"

	"evbench/site/network"
)

// aligned is the most bytes by which alltoallv_perf shortens a message.
const aligned = 15

// A traffic holds what the servers of an exchange send each other: a message each or bytes, none
// within a host. Servers are adapters, by their places in the job.
type traffic struct {
	host          []int   // of each server; nil: each is a host of its own
	reads, builds []bool  // nil: every server does both
	bytes         []int64 // by src·servers + dst; nil: a message each
	servers       int

	sent, received []int64
	most           int64 // that one server sends, or receives
}

// newTraffic sums what servers send and receive.
func newTraffic(x traffic) (traffic, error) {
	x.sent, x.received = make([]int64, x.servers), make([]int64, x.servers)
	if x.plain() {
		each := []int64{int64(x.servers - 1)}
		x.sent, x.most = slices.Repeat(each, x.servers), each[0]
		x.received = x.sent
		return x, nil
	}
	for i := range x.servers {
		for j := range x.servers {
			n := x.size(i, j)
			x.sent[i] += n
			x.received[j] += n
		}
	}
	for i := range x.servers {
		x.most = max(x.most, x.sent[i], x.received[i])
	}
	if x.most == 0 {
		return x, errors.New("no server has a message for a server of another host")
	}
	return x, nil
}

// plain reports whether every server has a message for every other one.
func (x *traffic) plain() bool { return x.host == nil && x.reads == nil && x.bytes == nil }

// size returns the amount that one server sends another over the network.
func (x *traffic) size(src, dst int) int64 {
	switch {
	case network.OneHost(x.host, src, dst):
		return 0
	case x.bytes != nil:
		return x.bytes[src*x.servers+dst]
	case x.reads != nil && !(x.reads[src] && x.builds[dst]):
		return 0
	}
	return 1
}

// amounts names the unit of the traffic.
func (x *traffic) amounts(n int64) string {
	if x.bytes != nil {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d messages", n)
}

// who returns the plural noun for the servers of a leaf.
func (x *traffic) who(sending bool) string {
	switch {
	case x.reads != nil && sending:
		return "readers"
	case x.reads != nil:
		return "builders"
	case x.host != nil:
		return "adapters"
	}
	return "hosts"
}

// sides are the sending and the receiving servers.
func (x *traffic) sides() (from, to []int) {
	for i := range x.servers {
		if x.reads == nil || x.reads[i] {
			from = append(from, i)
		}
		if x.reads == nil || x.builds[i] {
			to = append(to, i)
		}
	}
	return from, to
}

// phases is the number of phases of the linear shift; if all send to all, without self messages.
func (x *traffic) phases() int {
	if x.reads == nil {
		return x.servers - 1
	}
	from, to := x.sides()
	return max(len(from), len(to))
}
