package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A Message is a request to netlink. Its data is a multiple of four bytes long.
type Message struct {
	Kind, Flags uint16
	Data        []byte
}

// batchSize bounds the requests sent at once: the kernel accepts no more than its send buffer, and
// queues an answer for every failed request.
const batchSize = 256

// Batch sends requests to the kernel of a node in as few calls as possible. The kernel executes all
// of them, in order. The errors are by message; nil means success.
func (b *Lab) Batch(n Node, messages []Message) ([]error, error) {
	var out []error
	for first := 0; first < len(messages); first += batchSize {
		part := messages[first:min(first+batchSize, len(messages))]
		errs, err := b.nodes[n].batch(part)
		if err != nil {
			return nil, fmt.Errorf("%s: netlink: %w", b.names[n], err)
		}
		for i, err := range errs {
			if err != nil && out == nil {
				out = make([]error, len(messages))
			}
			if err != nil {
				out[first+i] = err
			}
		}
	}
	return out, nil
}

// batch asks for an answer to the last message only. The kernel answers failed ones in any case,
// and all before sendto returns.
func (c *conn) batch(messages []Message) ([]error, error) {
	h := c.many
	h.Socket.Lock()
	defer h.Socket.Unlock()
	n := uint32(len(messages))
	first := atomic.AddUint32(&h.Seq, n) - n + 1
	var buf []byte
	for i, m := range messages {
		if i == len(messages)-1 {
			m.Flags |= unix.NLM_F_ACK
		}
		buf = m.append(buf, first+uint32(i))
	}
	fd := h.Socket.GetFd()
	if err := send(fd, buf); err != nil {
		return nil, err
	}
	return answers(fd, first, len(messages))
}

func send(fd int, b []byte) error {
	return unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

func (m Message) append(to []byte, seq uint32) []byte {
	to = binary.NativeEndian.AppendUint32(to, uint32(unix.SizeofNlMsghdr+len(m.Data)))
	to = binary.NativeEndian.AppendUint16(to, m.Kind)
	to = binary.NativeEndian.AppendUint16(to, m.Flags|unix.NLM_F_REQUEST)
	to = binary.NativeEndian.AppendUint32(to, seq)
	to = binary.NativeEndian.AppendUint32(to, 0) // the kernel knows the sender
	return append(to, m.Data...)
}

func answers(fd int, first uint32, n int) (out []error, err error) {
	buf := make([]byte, 8<<10)
	for done := false; !done; {
		err := receive(fd, buf, func(h reply, data []byte) {
			i := int(h.seq - first)
			if h.kind != unix.NLMSG_ERROR || i < 0 || i >= n {
				return // for an earlier call that failed midway
			}
			if err := failure(data); err != nil {
				if out == nil {
					out = make([]error, n)
				}
				out[i] = err
			}
			done = done || i == n-1
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func failure(data []byte) error {
	if len(data) < 4 {
		return errShort
	}
	if errno := -int32(binary.NativeEndian.Uint32(data)); errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// ErrInterrupted reports that a list changed while it was read.
var ErrInterrupted = errors.New("changed while it was listed")

var errShort = errors.New("short message")

// List asks the kernel of a node for a list, and calls f with each entry, which is valid until f
// returns.
func (b *Lab) List(n Node, m Message, f func(entry []byte) error) error {
	if err := b.nodes[n].list(m, f); err != nil {
		return fmt.Errorf("%s: netlink: %w", b.names[n], err)
	}
	return nil
}

func (c *conn) list(m Message, f func(entry []byte) error) error {
	h := c.many
	h.Socket.Lock()
	defer h.Socket.Unlock()
	seq, fd := atomic.AddUint32(&h.Seq, 1), h.Socket.GetFd()
	m.Flags |= unix.NLM_F_DUMP
	if err := send(fd, m.append(nil, seq)); err != nil {
		return err
	}
	var failed error // the kernel completes the list in any case
	buf := make([]byte, 32<<10)
	for done := false; !done; {
		err := receive(fd, buf, func(h reply, data []byte) {
			switch {
			case h.seq != seq:
			case h.kind == unix.NLMSG_ERROR:
				done, failed = true, failure(data)
			case h.kind == unix.NLMSG_DONE:
				done = true
			case failed == nil:
				failed = f(data)
			}
			if h.seq == seq && h.flags&unix.NLM_F_DUMP_INTR != 0 && failed == nil {
				failed = ErrInterrupted
			}
		})
		if err != nil {
			return err
		}
	}
	return failed
}

type reply struct {
	kind, flags uint16
	seq         uint32
}

func receive(fd int, buf []byte, f func(h reply, data []byte)) error {
	size, err := wait(fd, buf)
	if err != nil {
		return err
	}
	return split(buf[:size], f)
}

func split(b []byte, f func(h reply, data []byte)) error {
	for len(b) >= unix.SizeofNlMsghdr {
		n := int(binary.NativeEndian.Uint32(b))
		if n < unix.SizeofNlMsghdr || n > len(b) {
			return errShort
		}
		h := reply{binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:]), binary.NativeEndian.Uint32(b[8:])}
		f(h, b[unix.SizeofNlMsghdr:n])
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// wait reads the kernel's answer, which is nearly always there once the request has been sent.
func wait(fd int, buf []byte) (int, error) {
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != unix.EAGAIN && err != unix.EINTR {
			return n, err
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != nil && err != unix.EINTR {
			return 0, err
		}
	}
}

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
