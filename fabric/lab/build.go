package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"evbench/internal/unit"
)

// A Lab is a fat tree of namespaces. Several goroutines may use its methods, except Close.
type Lab struct {
	*layout
	home  int // the namespace of all other threads
	rate  unit.Rate
	mpi   bool
	hash  Hash
	nodes []namespace

	mu       sync.Mutex   // serialises link changes; guards down and commands
	down     map[int]bool // by cable
	commands []*exec.Cmd

	filterMu sync.Mutex
	filters  map[Node]*conn // of nodes whose packet filter has been used
}

type namespace struct {
	fd int // keeps the namespace alive
	*conn
}

// Start builds a lab and returns when every live link carries packets. On an error, even the end of
// ctx midway, nothing is left.
func Start(ctx context.Context, o Options) (*Lab, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	home, err := openNamespace()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	b := &Lab{layout: newLayout(o), home: home, rate: o.Rate, mpi: o.MPI, hash: o.Hash, down: map[int]bool{}, filters: map[Node]*conn{}}
	return b.start(ctx)
}

func (b *Lab) start(ctx context.Context) (*Lab, error) {
	if err := b.build(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: %w", err), b.Close())
	}
	return b, nil
}

func (b *Lab) build(ctx context.Context) error {
	if err := b.addNodes(ctx); err != nil {
		return err
	}
	if err := b.addCables(ctx); err != nil {
		return err
	}
	if err := b.addAddresses(ctx); err != nil {
		return err
	}
	if b.tree == nil {
		return nil
	}
	return b.SetDead(ctx, b.tree.Dead())
}

// addNodes creates the namespaces, on as many threads as there are cores: the kernel's set-up of
// each takes most of the time.
func (b *Lab) addNodes(ctx context.Context) error {
	b.nodes = make([]namespace, len(b.names))
	for n := range b.nodes {
		b.nodes[n].fd = -1
	}
	g, inner := errgroup.WithContext(ctx)
	threads := runtime.GOMAXPROCS(0)
	for first := range threads {
		g.Go(func() error {
			return onThread(b.home, func() error {
				for n := first; n < len(b.nodes); n += threads {
					if err := ctx.Err(); err != nil || inner.Err() != nil {
						return err
					}
					if err := b.addNode(Node(n)); err != nil {
						return fmt.Errorf("%s: %w", b.names[n], err)
					}
				}
				return nil
			})
		})
	}
	return g.Wait()
}

// addNode moves the calling thread into a new namespace and makes it a node. Each resource is
// recorded at once, so that Close finds it.
func (b *Lab) addNode(n Node) (err error) {
	if err := unshare(); err != nil {
		return err
	}
	ns := &b.nodes[n]
	if ns.fd, err = openNamespace(); err != nil {
		return err
	}
	if ns.conn, err = dial(); err != nil {
		return err
	}
	settings := append(slices.Clone(serverSysctls), rtoMin(b.servers(), b.rate))
	if int(n) < b.switches() {
		settings = append(slices.Clone(switchSysctls), b.hash.settings(n)...)
	}
	if err := set(everySysctls); err != nil {
		return err
	}
	if err := set(settings); err != nil {
		return err
	}
	// Without lo the kernel refuses a gateway that is reachable only by "onlink".
	if err := ns.setUp(loopback, true); err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	return nil
}

const loopback = 1

func (b *Lab) addCables(ctx context.Context) error {
	for _, c := range b.cables {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.addCable(c); err != nil {
			return fmt.Errorf("cable %s-%s: %w", c.ends[1].name, c.ends[0].name, err)
		}
	}
	return b.settle(ctx, b.cables)
}

func (b *Lab) addCable(c cable) error {
	near, far, shape := c.ends[0], c.ends[1], b.shape
	shape.rate = uint64(float64(shape.rate) * c.times)
	if err := b.nodes[near.node].addCable(c, b.nodes[far.node].fd, b.mtu, shape); err != nil {
		return fmt.Errorf("add veth pair: %w", err)
	}
	for side, e := range c.ends {
		if b.shape.rate > 0 {
			if err := b.nodes[e.node].addBucket(e.index, shape); err != nil {
				return fmt.Errorf("add tbf: %w", err)
			}
			if int(e.node) >= b.switches() {
				if err := b.nodes[e.node].addPriorities(e.index); err != nil {
					return fmt.Errorf("add pfifo_fast: %w", err)
				}
			}
		}
		if err := b.raise(e, c.ends[1-side]); err != nil {
			return err
		}
	}
	return nil
}

// raise sets one end of a cable up. It writes the neighbour entry first: the kernel deleted it when
// the interface went down, and a route may use the interface as soon as it is up.
func (b *Lab) raise(e, other end) error {
	ns := &b.nodes[e.node]
	if err := ns.setNeighbour(e.index, gateway(e.port), other.mac); err != nil {
		return fmt.Errorf("add neighbour: %w", err)
	}
	if err := ns.setUp(e.index, true); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	return nil
}

// addCableAddresses gives each end of a link between switches the address by which its switch answers probes.
func (b *Lab) addCableAddresses() error {
	if b.links == nil {
		return nil
	}
	for _, c := range b.cables {
		for _, e := range c.ends {
			l, upper, ok := b.linkAt(e.node, e.index)
			if !ok {
				continue
			}
			if err := b.nodes[e.node].addAddress(e.index, Addresses{b.links}.Cable(l, upper)); err != nil {
				return fmt.Errorf("%s: add the address of %s: %w", b.names[e.node], b.links.LinkName(l), err)
			}
		}
	}
	return nil
}

// addAddresses gives each server its address on every path. The address for single-path routes is
// first: it is the default source.
func (b *Lab) addAddresses(ctx context.Context) error {
	if err := b.addCableAddresses(); err != nil {
		return err
	}
	for r := range b.servers() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := b.server(r)
		for path := -1; path < b.paths; path++ {
			on := otherIndex
			if b.mpi && path >= 0 {
				on = loopback
			}
			if err := b.nodes[n].addAddress(on, b.Addr(r, path)); err != nil {
				return fmt.Errorf("%s: add address %s: %w", b.names[n], b.Addr(r, path), err)
			}
		}
	}
	return nil
}

// Close kills the commands that still run, and removes the lab. The kernel removes interfaces,
// routes and packets with the namespaces, once sockets opened inside are closed too.
func (b *Lab) Close() error {
	for _, c := range b.commands {
		c.Process.Kill() // an error means that it has ended already
	}
	for _, c := range b.filters {
		c.many.Close()
	}
	var errs []error
	for n, ns := range b.nodes {
		if ns.conn != nil {
			ns.conn.close()
		}
		if ns.fd >= 0 {
			if err := unix.Close(ns.fd); err != nil {
				errs = append(errs, fmt.Errorf("lab: close %s: %w", b.names[n], err))
			}
		}
	}
	b.nodes, b.commands, b.filters = nil, nil, nil
	if b.home >= 0 {
		errs = append(errs, unix.Close(b.home))
		b.home = -1
	}
	return errors.Join(errs...)
}

// Descriptor returns the file descriptor of a node's namespace, so that another process of the user
// can enter it through /proc/PID/fd.
func (b *Lab) Descriptor(n Node) int { return b.nodes[n].fd }

// Congestion is the congestion control that routes of servers must set; "": programs set it.
func (b *Lab) Congestion() string {
	if b.mpi {
		return "cubic"
	}
	return ""
}

// Do runs f inside the server of a rank.
func (b *Lab) Do(rank int, f func() error) error { return b.In(b.server(rank), f) }

// In runs f inside a node, on a thread of its own. A socket that f opens stays there forever and
// any goroutine may use it. Goroutines started by f are not inside.
func (b *Lab) In(n Node, f func() error) error { return enter(b.home, b.nodes[n].fd, f) }

// StartCommand starts cmd as a process inside a node; the caller waits for it. It dies with this
// process, and Close kills it if it still runs then.
func (b *Lab) StartCommand(n Node, cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &unix.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	if err := b.In(n, cmd.Start); err != nil {
		return fmt.Errorf("%s: start %s: %w", b.names[n], cmd.Path, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commands = append(b.commands, cmd)
	return nil
}
