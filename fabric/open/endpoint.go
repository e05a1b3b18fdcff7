package open

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"evbench/barrier"
	"evbench/controller/wire"
	"evbench/scenario"
	"evbench/transport"
	"evbench/transport/mpi"
	"evbench/transport/rdma"
	"evbench/transport/tcp"
	"evbench/worker"
)

// openers open a transport by its name: one that is Launched by start, others by listen.
var openers = map[string]struct {
	missing error // why this binary has it not
	listen  func(Process) (port, error)
	start   func(Place) (world, error)
}{
	transport.TCP:  {listen: listenTCP},
	transport.MPI:  {missing: mpi.Missing, start: startMPI},
	transport.RDMA: {missing: rdma.Missing, listen: listenRDMA},
}

// Missing says why this binary has not a transport, and how to get one that has; nil: it has.
func Missing(name string) error { return openers[name].missing }

// A port is where a worker is reached by the others, and opens the connections of its cases.
type port struct {
	data  Addresses
	more  string // that others have to know of it
	open  worker.OpenFunc
	close func() error
}

// A world is this process' place among all ranks that were started together.
type world interface {
	Rank() int
	Size() int
	Library() string
	Listen() (net.Listener, error) // for control, as Dial
	Dial(ctx context.Context, rank int) (net.Conn, error)
	Abort(code int)
	Close() error
	open(ctx context.Context, c wire.Configure, moved func()) (worker.Connections, error)
}

func listenTCP(p Process) (port, error) {
	l, err := tcp.Listen(tcp.Options{Addr: p.Data.Listen(), Token: p.Token, Log: p.Refused})
	if err != nil {
		return port{}, err
	}
	data, err := p.Data.at(l.Addr())
	if err != nil {
		return port{}, errors.Join(err, l.Close())
	}
	return port{data: data, open: p.Sockets.Open(l), close: l.Close}, nil
}

func listenRDMA(p Process) (port, error) {
	var own []string
	for _, a := range p.Data {
		ip, _, err := net.SplitHostPort(a)
		if err != nil {
			return port{}, err
		}
		own = append(own, ip)
	}
	l, err := rdma.Listen(rdma.Options{Addr: p.Data.Listen(), Data: own, Token: p.Token, Log: p.Refused})
	if err != nil {
		return port{}, fmt.Errorf("transport rdma: %w", err)
	}
	data, err := p.Data.at(l.Addr())
	if err != nil {
		return port{}, errors.Join(err, l.Close())
	}
	open := func(ctx context.Context, c wire.Configure, moved func()) (worker.Connections, error) {
		g := rdma.Group{ID: c.Run, Rank: c.Rank, Need: needs(c), Departed: c.Mode == wire.Ordered, Moved: moved}
		if c.Mode == wire.Sync {
			if g.Partners, err = barrier.Partners(c.Barrier, c.Rank, len(c.Peers)); err != nil {
				return worker.Connections{}, err
			}
		}
		if g.Peers, err = rdmaPeers(c); err != nil {
			return worker.Connections{}, err
		}
		ep, err := l.Connect(ctx, g)
		if err != nil {
			return worker.Connections{}, err
		}
		return connections(ep), nil
	}
	return port{data, " " + l.Port().String(), open, l.Close}, nil
}

// rdmaPeers reads what the others have said of themselves.
func rdmaPeers(c wire.Configure) (peers []rdma.Peer, err error) {
	for _, p := range c.Peers {
		at := ""
		if len(p.Addrs) > 0 {
			at = p.Addrs[0]
		}
		addrs, port, _ := strings.Cut(at, " ")
		setup, _, _ := strings.Cut(addrs, ",")
		x := rdma.Peer{Setup: setup}
		if x.Port, err = rdma.ParsePort(port); err != nil {
			return nil, fmt.Errorf("server%d: %w", p.Server, err)
		}
		peers = append(peers, x)
	}
	return peers, nil
}

// extended is an endpoint that can open further paths, and has signals.
type extended interface {
	transport.Endpoint
	barrier.Peer
	Extend(ctx context.Context, need []tcp.Path) error
	Opened(need []tcp.Path) bool
}

func connections(ep extended) worker.Connections {
	return worker.Connections{
		Endpoint: ep, Signals: ep,
		Extend: func(ctx context.Context, ops []transport.Op) error { return ep.Extend(ctx, sends(ops)) },
		Opened: func(ops []transport.Op) bool { return ep.Opened(sends(ops)) },
	}
}

func sends(ops []transport.Op) []tcp.Path {
	var need []tcp.Path
	for _, o := range ops {
		if o.Kind == transport.Send {
			need = append(need, tcp.Path{Peer: o.Peer, Spine: o.Path})
		}
	}
	return need
}

// Sockets says how the connections of a case are opened.
type Sockets struct {
	// Virtual: spines are known to the emulation only. Otherwise every spine
	// that a plan asks for needs an address of its own.
	Virtual bool
	// Buffer is the size in bytes of each send and receive buffer where servers
	// never move in step; 0: as the kernel likes.
	Buffer int
}

func (how Sockets) Open(l *tcp.Listener) worker.OpenFunc {
	return func(ctx context.Context, c wire.Configure, moved func()) (worker.Connections, error) {
		g := tcp.Group{
			ID: c.Run, Rank: c.Rank, Back: c.Back, Need: needs(c), IO: c.IO, Async: c.Mode != wire.Sync, Message: c.Fragment, Moved: moved,
		}
		if c.IO == scenario.IOAuto {
			g.IO = ""
		}
		for _, p := range c.Peers {
			if len(p.Addrs) == 0 || p.Addrs[0] == "" {
				return worker.Connections{}, fmt.Errorf("server%d has not said where it is reached", p.Server)
			}
			g.Peers = append(g.Peers, tcp.Peer{Addrs: strings.Split(p.Addrs[0], ",")})
		}
		for _, n := range g.Need {
			if have := len(g.Peers[n.Peer].Addrs) - 1; !how.Virtual && n.Spine >= have {
				return worker.Connections{}, fmt.Errorf("the plan sends to server%d through spine%d, which has no address there: "+
					"a pinned plan needs one address per server and spine (worker --data)", c.Peers[n.Peer].Server, n.Spine)
			}
		}
		if c.Mode == wire.Sync {
			partners, err := barrier.Partners(c.Barrier, c.Rank, len(c.Peers))
			if err != nil {
				return worker.Connections{}, err
			}
			g.Partners = partners
		} else {
			g.SockBuf, g.Departed = how.Buffer, c.Mode == wire.Ordered
		}
		ep, err := l.Connect(ctx, g)
		if err != nil {
			return worker.Connections{}, err
		}
		conns := connections(ep)
		conns.IO = ep.IO()
		return conns, nil
	}
}

// needs lists the paths that a worker sends data on, or may by another plan: those of
// its row, or one to each peer that the tables choose.
func needs(c wire.Configure) []tcp.Path {
	var need []tcp.Path
	for _, p := range c.Standby {
		need = append(need, tcp.Path{Peer: p.Peer, Spine: p.Spine})
	}
	if len(c.Row) > 0 {
		for _, s := range c.Row {
			if s.To != wire.Idle {
				need = append(need, tcp.Path{Peer: s.To, Spine: s.ToSpine})
			}
		}
		return need
	}
	for peer := range c.Peers {
		if peer != c.Rank {
			need = append(need, tcp.Path{Peer: peer, Spine: transport.Single})
		}
	}
	return need
}

type mpiWorld struct{ *mpi.World }

// startMPI has Open MPI hand over the processor when more ranks than processors are on
// this machine: ranks that spin for each other's messages are slower a hundred times.
// mpirun --oversubscribe does so, srun does not.
func startMPI(at Place) (world, error) {
	const name = "OMPI_MCA_mpi_yield_when_idle"
	if _, said := os.LookupEnv(name); !said && at.Locals > runtime.NumCPU() {
		_ = os.Setenv(name, "1") // fails for names that are none
	}
	w, err := mpi.Start()
	return mpiWorld{w}, err
}

func (w mpiWorld) open(ctx context.Context, c wire.Configure, _ func()) (worker.Connections, error) {
	g := mpi.Group{ID: c.Run, Rank: c.Rank}
	for _, p := range c.Peers {
		if len(p.Addrs) == 0 {
			return worker.Connections{}, fmt.Errorf("server%d has not said where it is reached", p.Server)
		}
		rank, err := parseMPIAddress(p.Addrs[0])
		if err != nil {
			return worker.Connections{}, fmt.Errorf("server%d: %w", p.Server, err)
		}
		g.Ranks = append(g.Ranks, rank)
	}
	ep, err := w.Open(ctx, g)
	if err != nil {
		return worker.Connections{}, err
	}
	return worker.Connections{Endpoint: ep, Signals: ep, Barrier: ep.Barrier}, nil
}

func parseMPIAddress(s string) (rank int, err error) {
	digits, ok := strings.CutPrefix(s, "mpi:")
	if rank, err = strconv.Atoi(digits); !ok || err != nil || rank < 0 {
		return 0, fmt.Errorf("%q is not the address of an MPI rank: does this worker run over another transport?", s)
	}
	return rank, nil
}
