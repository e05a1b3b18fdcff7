package lab

import (
	"fmt"
	"sync/atomic"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Filter sends requests to the packet filter of a node (nf_tables) as one transaction: the kernel
// executes all of them, or none and returns the reason.
func (b *Lab) Filter(n Node, messages []Message) error {
	return b.filter(n, func(c *conn) error { return c.transact(messages) })
}

// ListFilter asks the packet filter of a node for a list, like List.
func (b *Lab) ListFilter(n Node, m Message, f func(entry []byte) error) error {
	return b.filter(n, func(c *conn) error { return c.list(m, f) })
}

// filter makes a request on the node's socket. The first request opens it, and it stays open: few
// nodes have a filter, and closing a socket after a change takes the kernel tens of milliseconds (a
// grace period).
func (b *Lab) filter(n Node, f func(*conn) error) error {
	c, err := b.filterConn(n)
	if err == nil {
		err = f(c)
	}
	if err != nil {
		return fmt.Errorf("%s: packet filter: %w", b.names[n], err)
	}
	return nil
}

func (b *Lab) filterConn(n Node) (*conn, error) {
	b.filterMu.Lock()
	defer b.filterMu.Unlock()
	if c := b.filters[n]; c != nil {
		return c, nil
	}
	err := b.In(n, func() error {
		s, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_NETFILTER)
		if err == nil {
			b.filters[n] = &conn{many: &nl.SocketHandle{Socket: s}}
		}
		return err
	})
	return b.filters[n], err
}

// transact puts requests between the marks of a transaction. The kernel has answered when sendto
// returns: an error of the whole transaction to the first mark, else one to each failed request,
// and here to the last.
func (c *conn) transact(messages []Message) error {
	c.many.Socket.Lock()
	defer c.many.Socket.Unlock()
	tables := []byte{unix.AF_UNSPEC, 0, 0, unix.NFNL_SUBSYS_NFTABLES}
	first := atomic.AddUint32(&c.many.Seq, uint32(len(messages)+2)) - uint32(len(messages)) - 1
	buf := Message{Kind: unix.NFNL_MSG_BATCH_BEGIN, Data: tables}.append(nil, first)
	for i, m := range messages {
		if i == len(messages)-1 {
			m.Flags |= unix.NLM_F_ACK
		}
		buf = m.append(buf, first+1+uint32(i))
	}
	last := first + uint32(len(messages))
	buf = Message{Kind: unix.NFNL_MSG_BATCH_END, Data: tables}.append(buf, last+1)
	fd := c.many.Socket.GetFd()
	if err := send(fd, buf); err != nil {
		return err
	}
	var failed error
	done := false
	answer := make([]byte, 32<<10)
	for !done && failed == nil {
		n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
		if err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
		if err := split(answer[:n], func(h reply, data []byte) {
			if h.kind == unix.NLMSG_ERROR && failed == nil {
				failed = failure(data)
			}
			done = done || h.seq == last
		}); err != nil {
			return err
		}
	}
	return failed
}
