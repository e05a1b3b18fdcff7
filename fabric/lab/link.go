package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"evbench/topology"
)

// SetLinks takes cables between switches down, or up and then waits until both ends carry packets.
//
// Down sets down the interface at the lower end, the leaf's: its kernel deletes its routes over it.
// The spine only loses the carrier and keeps its routes, which lead nowhere. Up restores neither.
// So every failure has both kinds of end, and the installer of routes must handle both.
func (b *Lab) SetLinks(ctx context.Context, links []topology.Link, up bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var raised []cable
	for _, l := range links {
		id := b.cable(l)
		if b.down[id] == !up {
			continue
		}
		c := b.cables[id]
		if err := b.setCable(c, up); err != nil {
			return fmt.Errorf("lab: set %s: %w", l, err)
		}
		b.down[id] = !up
		if up {
			raised = append(raised, c)
		}
	}
	return b.settle(ctx, raised)
}

func (b *Lab) setCable(c cable, up bool) error {
	if up { // either end may have been set down by hand
		return errors.Join(b.raise(c.ends[1], c.ends[0]), b.raise(c.ends[0], c.ends[1]))
	}
	return b.nodes[c.ends[0].node].setUp(c.ends[0].index, false)
}

// SetDead takes exactly the given cables between switches down, and those that the tree's network never
// had, and all others up, even after changes from outside.
func (b *Lab) SetDead(ctx context.Context, dead []topology.Link) error {
	var live, down []topology.Link
	for id := range b.between() {
		if link := b.links.LinkOf(id); slices.Contains(dead, link) || b.absent(link) {
			down = append(down, link)
		} else {
			live = append(live, link)
		}
	}
	if err := b.look(); err != nil {
		return err
	}
	if err := b.SetLinks(ctx, down, false); err != nil {
		return err
	}
	return b.SetLinks(ctx, live, true)
}

func (b *Lab) absent(l topology.Link) bool { return b.tree != nil && b.tree.Absent(l) }

// Dead returns the cables between switches that are down now, for any reason but that the tree's network
// never had them.
func (b *Lab) Dead() ([]topology.Link, error) {
	if err := b.look(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []topology.Link
	for id := range b.between() {
		if link := b.links.LinkOf(id); b.down[b.cable(link)] && !b.absent(link) {
			out = append(out, link)
		}
	}
	return out, nil
}

// look registers the cables taken down or up from outside.
func (b *Lab) look() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	down := map[int]bool{}
	for n := range Node(b.switches()) {
		links, err := b.nodes[n].handle.LinkList()
		if err != nil {
			return fmt.Errorf("lab: %s: list links: %w", b.names[n], err)
		}
		for _, l := range links {
			if link, _, ok := b.linkAt(n, l.Attrs().Index); ok && l.Attrs().Flags&net.FlagUp == 0 {
				down[b.cable(link)] = true
			}
		}
	}
	b.down = down
	return nil
}

// settle waits until both ends of each cable carry packets. When a carrier comes back, the kernel
// opens the queue of that end a little later, on a thread of its own. A packet sent before that
// would be lost, and its sender would wait a second.
func (b *Lab) settle(ctx context.Context, cables []cable) error {
	waiting := map[Node]map[int]bool{}
	for _, c := range cables {
		for _, e := range c.ends {
			if waiting[e.node] == nil {
				waiting[e.node] = map[int]bool{}
			}
			waiting[e.node][e.index] = true
		}
	}
	for n, indexes := range waiting {
		if err := b.awaitRunning(ctx, n, indexes); err != nil {
			return fmt.Errorf("%s: wait for links: %w", b.names[n], err)
		}
	}
	return nil
}

func (b *Lab) awaitRunning(ctx context.Context, n Node, indexes map[int]bool) error {
	s, err := b.subscribe(ctx, n)
	if err != nil {
		return err
	}
	defer s.close()
	for all := true; ; {
		states, err := s.next(all)
		if all = err == errLost; err != nil && !all {
			return err
		}
		for _, st := range states {
			if st.running {
				delete(indexes, st.index)
			}
		}
		if len(indexes) == 0 {
			return nil
		}
	}
}

type state struct {
	index   int
	running bool // up, with carrier, and its queue open
}

type subscription struct {
	ctx    context.Context
	socket *nl.NetlinkSocket
	stop   func() bool
	closed chan struct{} // closed once the end of ctx has closed the socket
}

func (b *Lab) subscribe(ctx context.Context, n Node) (*subscription, error) {
	s, err := nl.SubscribeAt(netns.NsHandle(b.nodes[n].fd), netns.NsHandle(b.home), unix.NETLINK_ROUTE, unix.RTNLGRP_LINK)
	if err != nil {
		return nil, fmt.Errorf("subscribe to link messages: %w", err)
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		s.Close()
	})
	return &subscription{ctx, s, stop, closed}, nil
}

func (s *subscription) close() {
	if s.stop() {
		s.socket.Close()
		return
	}
	<-s.closed
}

var errLost = errors.New("link messages lost")

// next returns the states in the next message; with all set it first asks for those of every
// interface. After errLost the caller sets all.
func (s *subscription) next(all bool) ([]state, error) {
	if all {
		req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
		req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
		if err := s.socket.Send(req); err != nil {
			return nil, s.reason(err)
		}
	}
	messages, _, err := s.socket.Receive()
	if err == unix.ENOBUFS {
		return nil, errLost
	}
	if err != nil {
		return nil, s.reason(err)
	}
	var out []state
	for _, m := range messages {
		if m.Header.Type == unix.RTM_NEWLINK {
			st, err := parseState(m.Data)
			if err != nil {
				return nil, err
			}
			out = append(out, st)
		}
	}
	return out, nil
}

const operUp = 6

// parseState reads a link message. The flags alone do not show whether an interface carries
// packets: its carrier is back before its queue is open, and IFF_RUNNING and the name of the queue
// are right only once the kernel has processed it. The operational state is set together with the
// queue.
func parseState(message []byte) (state, error) {
	if len(message) < unix.SizeofIfInfomsg {
		return state{}, errors.New("short link message")
	}
	info := nl.DeserializeIfInfomsg(message)
	const carries = unix.IFF_UP | unix.IFF_LOWER_UP
	open := false
	err := Attributes(message[unix.SizeofIfInfomsg:], func(kind uint16, value []byte) error {
		if kind != unix.IFLA_OPERSTATE {
			return nil
		}
		open = len(value) > 0 && value[0] == operUp
		return errFound
	})
	if err != nil && err != errFound {
		return state{}, err
	}
	return state{int(info.Index), open && info.Flags&carries == carries}, nil
}

var errFound = errors.New("found")

// Attributes calls f with each netlink attribute: its length with this header, its type, and the
// value padded to four bytes.
func Attributes(b []byte, f func(kind uint16, value []byte) error) error {
	for len(b) >= unix.SizeofRtAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtAttr || n > len(b) {
			return fmt.Errorf("netlink: attribute of %d bytes in %d", n, len(b))
		}
		if err := f(binary.NativeEndian.Uint16(b[2:]), b[unix.SizeofRtAttr:n]); err != nil {
			return err
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// reason prefers the end of ctx to the error of the socket closed by it.
func (s *subscription) reason(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	return err
}

// Watch sends the switches' reports about the links between them, until ctx ends: first the state
// of both ends of every link, then each change. Both ends report a link that goes down, separately.
// It returns nil when ctx has ended and all its goroutines have ended.
func (b *Lab) Watch(ctx context.Context, events chan<- topology.LinkEvent) error {
	return b.follow(ctx, func(ctx context.Context, x said) error {
		link, upper, ok := b.linkAt(x.node, x.index)
		if !ok {
			return nil
		}
		if x.running {
			if err := b.knowNeighbour(x.node, link); err != nil {
				return err
			}
		}
		select {
		case events <- topology.LinkEvent{Link: link, Leaf: !upper, Up: x.running, Seen: x.seen, Reread: x.reread}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// WatchCables tells which cables are down, those of servers included, and then each change, one at
// a time, until ctx ends. It changes nothing, and returns like Watch.
func (b *Lab) WatchCables(ctx context.Context, tell func(topology.CableEvent)) error {
	var mu sync.Mutex
	down := make([][2]bool, len(b.cables))
	return b.follow(ctx, func(_ context.Context, x said) error {
		at, ok := b.at[place{x.node, x.index}]
		if !ok {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		now := &down[at.cable]
		was := *now != [2]bool{}
		now[at.end] = !x.running
		if is := *now != [2]bool{}; is != was {
			tell(topology.CableEvent{Cable: b.cableName(at.cable), Up: was, Seen: x.seen})
		}
		return nil
	})
}

// said is a report of a switch on one of its interfaces.
type said struct {
	state
	node   Node
	seen   time.Time
	reread bool
}

// follow passes on the switches' reports about their interfaces, until ctx ends: first all, then
// each change. A goroutine for each switch calls take.
func (b *Lab) follow(ctx context.Context, take func(ctx context.Context, x said) error) error {
	g, inner := errgroup.WithContext(ctx)
	for n := range Node(b.switches()) {
		g.Go(func() error {
			s, err := b.subscribe(inner, n)
			if err == nil {
				defer s.close()
				err = s.follow(func(x said) error { x.node = n; return take(inner, x) })
			}
			return fmt.Errorf("%s: %w", b.names[n], err) // there is one, if only the end of ctx
		})
	}
	if err := g.Wait(); ctx.Err() == nil {
		return fmt.Errorf("lab: watch links: %w", err)
	}
	return nil
}

func (s *subscription) follow(take func(said) error) error {
	known := tracker{running: map[int]bool{}, stale: map[int]bool{}}
	for all := true; ; {
		states, err := s.next(all)
		now := time.Now() // right after the read: the time at which the event was seen
		if all = err == errLost; all {
			known.lost()
			continue
		}
		if err != nil {
			return err
		}
		for _, st := range states {
			news, reread := known.note(st)
			if !news {
				continue
			}
			if err := take(said{state: st, seen: now, reread: reread}); err != nil {
				return err
			}
		}
	}
}

// knowNeighbour writes the neighbour entry of a link that has come up. If the interface was set
// down and up from outside, its kernel has deleted the entry, and routes over it would lead
// nowhere.
func (b *Lab) knowNeighbour(n Node, l topology.Link) error {
	e, other := b.cables[b.cable(l)].ends[0], b.cables[b.cable(l)].ends[1]
	if e.node != n {
		e, other = other, e
	}
	if err := b.nodes[n].setNeighbour(e.index, gateway(e.port), other.mac); err != nil {
		return fmt.Errorf("%s: add neighbour: %w", b.names[n], err)
	}
	return nil
}

// A tracker tells changes from repeated messages. Both maps are by interface.
type tracker struct {
	running map[int]bool
	stale   map[int]bool // may have changed unseen
}

// lost notes that messages are missing: the known states may be out of date.
func (t *tracker) lost() {
	for i := range t.running {
		t.stale[i] = true
	}
}

// note records a state and reports whether it is news: the first of its interface, a different one,
// or the first after a loss.
func (t *tracker) note(s state) (news, reread bool) {
	was, seen := t.running[s.index]
	reread = t.stale[s.index]
	t.running[s.index] = s.running
	delete(t.stale, s.index)
	return !seen || was != s.running || reread, reread
}
