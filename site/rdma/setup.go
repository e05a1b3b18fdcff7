package rdma

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"evbench/internal/lists"
	"evbench/transport"
	"evbench/transport/tcp"
)

// Options of a Listener.
type Options struct {
	// Addr is where to listen for the set-up of queue pairs, "ip:port"; port 0 takes a free one.
	Addr string
	// Data are the server's own addresses on the network, without port: first the address of the
	// tables, then one for each spine. They select the RDMA port, and on RoCE they are the paths.
	Data []string
	// Token is the shared secret of the run.
	Token string
	// Log receives one line for each connection that is refused. nil drops it.
	Log func(format string, args ...any)
}

// A Listener is a server's RDMA port; it accepts peers that set up queue pairs with it.
type Listener struct {
	*tcp.Listener
	device device
}

// Listen opens the RDMA port of the first address and starts to listen. If no port is usable the
// error says why.
func Listen(o Options) (*Listener, error) {
	d, err := openDevice(o.Data)
	if err != nil {
		return nil, err
	}
	return listen(o, d)
}

func listen(o Options, d device) (*Listener, error) {
	l, err := tcp.Listen(tcp.Options{Addr: o.Addr, Token: o.Token, Log: o.Log})
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return &Listener{l, d}, nil
}

// Port describes the port to other ranks.
func (l *Listener) Port() Port { return l.device.port() }

// Close stops listening. Close the endpoints first.
func (l *Listener) Close() error { return errors.Join(l.Listener.Close(), l.device.close()) }

// Connect opens a group's endpoint: every queue pair that this rank needs is connected when it
// returns. It serves the requests of other ranks for queue pairs from then on.
func (l *Listener) Connect(ctx context.Context, g Group) (*Endpoint, error) {
	if err := g.check(l.Port()); err != nil {
		return nil, err
	}
	d, err := l.device.domain()
	if err != nil {
		return nil, err
	}
	n := len(g.Peers)
	e := &Endpoint{port: l.device, group: g, d: d, mem: memory{d: d}, find: map[key]*conn{}, came1: make([]completion, depth),
		gone: make([]bool, n), before: l.device.resent()}
	if err := l.setup(ctx, e); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if err := e.Extend(ctx, g.Need); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Extend opens the further paths of a new plan; open paths stay open.
func (e *Endpoint) Extend(ctx context.Context, need []tcp.Path) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.group.checkNeed(need); err != nil {
		return err
	}
	if err := e.offer(need); err != nil {
		return err
	}
	return e.drive(ctx, func() bool { return e.opening == 0 })
}

// offer makes the queue pairs that are missing and tells the peers of them.
func (e *Endpoint) offer(need []tcp.Path) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(); err != nil {
		return err
	}
	wanted := lists.Map(need, func(p tcp.Path) key { return key{p.Peer, p.Spine, true} })
	for _, r := range e.group.Partners {
		if e.group.Rank < r {
			wanted = append(wanted, key{r, barrierPath, true})
		}
	}
	for _, k := range wanted {
		if e.find[k] != nil {
			continue
		}
		c := e.conn(k)
		if err := e.pair(c); err != nil {
			return err
		}
		e.opening++
		e.setup.tell(note{noteOffer, k.peer, k.path, c.q.number(), c.counter})
	}
	return nil
}

func (e *Endpoint) pair(c *conn) (err error) {
	if c.q, err = e.d.pair(); err != nil {
		return c.failed("connect", err)
	}
	c.counter = rand.Uint32() & 0xffffff
	return nil
}

// connect connects the queue pair of a conn to the peer's.
func (e *Endpoint) connect(c *conn, n note) error {
	c.way = way{port: e.group.Peers[c.peer].Port, path: max(c.path, transport.Single), queue: n.queue, counter: n.counter}
	if e.group.Ports && c.path >= 0 {
		c.way.path, c.way.udp = transport.Single, c.path
	}
	if err := c.q.connect(c.way, c.counter); err != nil {
		return c.failed("connect", fmt.Errorf("over %v: %w", c.way, err))
	}
	c.ready = true
	if c.small() {
		for range ahead {
			c.in.tasks = append(c.in.tasks, e.task())
		}
	}
	e.group.moved()
	if err := e.pump(c); err != nil {
		return err
	}
	return e.grant()
}

// ahead is how many requests or signals of a peer fit before a receive.
const ahead = 32

// Opened reports whether all these paths are open, so that Extend would do nothing. Any goroutine
// may call it at any time.
func (e *Endpoint) Opened(need []tcp.Path) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !slices.ContainsFunc(need, func(p tcp.Path) bool {
		c := e.find[key{p.Peer, p.Spine, true}]
		return c == nil || !c.ready
	})
}

// heard handles a note from a peer.
func (e *Endpoint) heard(n note) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n.kind == noteGone {
		e.gone[n.peer] = true
		return nil
	}
	c := e.conn(key{n.peer, n.path, n.kind == noteAnswer || n.kind == noteLeft})
	switch {
	case n.kind >= noteLeft && c.ready:
		for e.reap() { // completions before the note
		}
		e.leave(c, n.counter)
		return nil
	case n.path < barrierPath || c.ready || c.ours != (c.q != nil):
		return c.failed("connect", fmt.Errorf("an offer or answer for %v that is not expected", tcp.Path{Peer: n.peer, Spine: n.path}))
	case c.ours:
		e.opening--
		return e.connect(c, n)
	}
	if n.path >= 0 {
		if err := e.group.checkNeed([]tcp.Path{{Peer: n.peer, Spine: n.path}}); err != nil {
			return err
		}
	}
	if err := e.pair(c); err != nil {
		return err
	}
	if err := e.connect(c, n); err != nil {
		return err
	}
	e.setup.tell(note{noteAnswer, n.peer, n.path, c.q.number(), c.counter})
	return nil
}

// A note offers a queue pair to a peer, or answers an offer; others announce a close.
type note struct {
	kind           uint32
	peer, path     int
	queue, counter uint32
}

const (
	noteOffer uint32 = iota + 1
	noteAnswer
	noteLeft     // the peer closes; counter: messages that it has received on a queue pair of ours
	noteLeftOurs // the same, on a queue pair of the peer's
	noteGone     // the last note
)

func (n note) put(head []byte) {
	for i, v := range []uint32{n.kind, uint32(int32(n.path)), n.queue, n.counter} {
		binary.LittleEndian.PutUint32(head[4*i:], v)
	}
}

func parseNote(peer int, head []byte) note {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(head[4*i:]) }
	return note{word(0), peer, int(int32(word(1))), word(2), word(3)}
}

// A setup is the goroutine that exchanges notes about queue pairs, and about closing, with the
// peers over TCP.
type setup struct {
	e    *Endpoint
	side *tcp.Endpoint
	stop context.CancelFunc
	over sync.WaitGroup
	mu   sync.Mutex
	out  []note // to be sent
}

// setup connects to all ranks and starts to listen to them.
func (l *Listener) setup(ctx context.Context, e *Endpoint) error {
	g := tcp.Group{ID: e.group.ID, Rank: e.group.Rank, IO: tcp.Copy, Message: headSize, Moved: e.group.Moved, Ports: e.group.Ports}
	var ops []transport.Op
	for r, p := range e.group.Peers {
		g.Peers = append(g.Peers, tcp.Peer{Addrs: []string{p.Setup}})
		if r != e.group.Rank {
			g.Need = append(g.Need, tcp.Path{Peer: r, Spine: transport.Single})
			ops = append(ops, transport.Op{Kind: transport.RecvRequest, Peer: r, Path: transport.Single, Head: make([]byte, headSize)})
		}
	}
	side, err := l.Listener.Connect(ctx, g)
	if err != nil {
		return err
	}
	if err := side.Post(ops); err != nil {
		return errors.Join(err, side.Close())
	}
	e.setup = &setup{e: e, side: side}
	var until context.Context
	until, e.setup.stop = context.WithCancel(context.Background())
	e.setup.over.Go(func() {
		if err := e.setup.listen(until); err != nil {
			e.mu.Lock()
			defer e.d.interrupt()
			defer e.mu.Unlock()
			e.end(err)
		}
	})
	return nil
}

func (s *setup) tell(n note) {
	s.mu.Lock()
	s.out = append(s.out, n)
	s.mu.Unlock()
	s.side.Wake()
}

// listen exchanges notes until ctx ends, which is no error, and all notes are sent.
func (s *setup) listen(ctx context.Context) error {
	done := make([]transport.Op, depth)
	for flying := 0; ; {
		k, err := s.send()
		if err != nil {
			return err
		}
		if flying += k; flying == 0 && ctx.Err() != nil {
			return nil
		}
		until := ctx
		if flying > 0 { // short: until the kernel has taken some bytes
			until = context.Background()
		}
		n, err := s.side.Poll(until, done)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, op := range done[:n] {
			if op.Kind == transport.SendRequest {
				flying--
			} else if err := s.take(op); err != nil {
				return err
			}
		}
	}
}

// send posts the pending notes, and returns their number.
func (s *setup) send() (int, error) {
	s.mu.Lock()
	notes := s.out
	s.out = nil
	s.mu.Unlock()
	var ops []transport.Op
	for _, n := range notes {
		op := transport.Op{Kind: transport.SendRequest, Peer: n.peer, Path: transport.Single, Head: make([]byte, headSize)}
		n.put(op.Head)
		ops = append(ops, op)
	}
	return len(ops), s.side.Post(ops)
}

func (s *setup) take(op transport.Op) error {
	if err := s.e.heard(parseNote(op.Peer, op.Head)); err != nil {
		return err
	}
	s.e.d.interrupt()
	return s.side.Post([]transport.Op{op}) // receive the next note
}

func (s *setup) close() error {
	s.stop()
	s.over.Wait()
	return s.side.Close()
}
