package open

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"evbench/barrier"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/internal/lists"
	"evbench/scenario"
	"evbench/site/mpi"
	"evbench/transport"
	"evbench/transport/tcp"
	"evbench/worker"
)

// A Transport is how a process opens a transport: a Launched one by start, others by Listen.
type Transport struct {
	Missing error // why this binary lacks it
	Listen  func(Process) (Port, error)
	start   func(Place, time.Duration) (world, error)
}

// own are the transports of every program.
var own = map[string]Transport{
	transport.TCP: {Listen: listenTCP},
	transport.MPI: {Missing: mpi.Missing, start: startMPI},
}

// A Program is what the processes of a program are: its version, which all hosts of a run need, and the transports that main hands in
// beside TCP and MPI, by their names.
type Program struct {
	Version    string
	Transports map[string]Transport
}

func (p Program) transport(name string) Transport {
	if t, ok := own[name]; ok {
		return t
	}
	t, ok := p.Transports[name]
	if !ok {
		t.Missing = fmt.Errorf("this program has no transport %s", name)
	}
	return t
}

// missing says why a program lacks a transport, and how to get one that has it; nil if it has it.
func (p Program) missing(name string) error { return p.transport(name).Missing }

// A Port is the address of a worker for other workers; it opens the connections of its cases.
type Port struct {
	Data  Addresses
	More  string // further data for other workers
	Open  worker.OpenFunc
	Close func() error
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

func listenTCP(p Process) (Port, error) {
	l, err := tcp.Listen(tcp.Options{Addr: p.Data.Listen(), Token: p.Token, Log: p.Refused})
	if err != nil {
		return Port{}, err
	}
	data, err := p.Data.At(l.Addr())
	if err != nil {
		return Port{}, errors.Join(err, l.Close())
	}
	return Port{Data: data, Open: p.Sockets.Open(l), Close: l.Close}, nil
}

// extended is an endpoint that can open further paths, and supports signals.
type extended interface {
	transport.Endpoint
	barrier.Peer
	Extend(ctx context.Context, need []tcp.Path) error
	Opened(need []tcp.Path) bool
}

// Connections are those of a case over an endpoint.
func Connections(ep extended) worker.Connections {
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
	// Virtual: only the emulation knows spines. Otherwise every spine of a plan needs an address of
	// its own.
	Virtual bool
	// Buffer is the size in bytes of each send and receive buffer if servers never move in step; 0:
	// the kernel chooses.
	Buffer int
}

func (how Sockets) Open(l *tcp.Listener) worker.OpenFunc {
	return func(ctx context.Context, c wire.Configure, moved func()) (worker.Connections, error) {
		g := tcp.Group{
			ID: c.Run, Rank: c.Rank, Back: c.Back, Ports: c.Ports, Need: Needs(c), IO: c.IO, Async: c.Mode != modes.Sync, Message: c.Fragment, Moved: moved,
		}
		if c.IO == scenario.IOAuto {
			g.IO = ""
		}
		for _, p := range c.Peers {
			if len(p.Addrs) == 0 || p.Addrs[0] == "" {
				return worker.Connections{}, fmt.Errorf("server%d has not reported its address", p.Server)
			}
			g.Peers = append(g.Peers, tcp.Peer{Addrs: strings.Split(p.Addrs[0], ",")})
		}
		for _, n := range g.Need {
			if have := len(g.Peers[n.Peer].Addrs) - 1; !how.Virtual && !c.Ports && n.Spine >= have {
				return worker.Connections{}, fmt.Errorf("the plan sends to server%d through spine%d, which has no address there: "+
					"a pinned plan needs one address per server and spine (worker --data)", c.Peers[n.Peer].Server, n.Spine)
			}
		}
		if c.Mode == modes.Sync {
			partners, err := barrier.Partners(c.Barrier, c.Rank, len(c.Peers))
			if err != nil {
				return worker.Connections{}, err
			}
			g.Partners = partners
		} else {
			g.SockBuf, g.Departed = how.Buffer, c.Mode == modes.Ordered
		}
		ep, err := l.Connect(ctx, g)
		if err != nil {
			return worker.Connections{}, err
		}
		conns := Connections(ep)
		conns.IO = ep.IO()
		return conns, nil
	}
}

// Needs lists the paths that a worker sends data on, or may by another plan: those of its row, or
// one to each peer by routing tables.
func Needs(c wire.Configure) []tcp.Path {
	need := lists.Map(c.Standby, func(p wire.Path) tcp.Path { return tcp.Path{Peer: p.Peer, Spine: p.Spine} })
	if len(c.Row) > 0 {
		for _, s := range c.Row {
			if s.To != wire.Idle {
				need = append(need, tcp.Path{Peer: s.To, Spine: s.ToSpine})
			}
		}
		return need
	}
	roles := c.Roles()
	for peer := range c.Peers {
		if peer != c.Rank && roles.Reads(c.Rank) && roles.Builds(peer) {
			need = append(need, tcp.Path{Peer: peer, Spine: transport.Single})
		}
	}
	return need
}

type mpiWorld struct{ *mpi.World }

func startMPI(at Place, limit time.Duration) (world, error) {
	// Many ranks that start Open MPI under MPICH's launcher can fail in it.
	if mpi.Family == mpi.OpenMPI && at.By == "PMI_RANK" && at.Size > 1 && os.Getenv("HYDI_CONTROL_FD") != "" {
		return nil, otherLauncher(mpi.Family, at)
	}
	w, err := mpi.Start(limit)
	return mpiWorld{w}, err
}

func (w mpiWorld) open(ctx context.Context, c wire.Configure, _ func()) (worker.Connections, error) {
	g := mpi.Group{ID: c.Run, Rank: c.Rank}
	for _, p := range c.Peers {
		if len(p.Addrs) == 0 {
			return worker.Connections{}, fmt.Errorf("server%d has not reported its address", p.Server)
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
