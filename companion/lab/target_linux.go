// Package lab puts routes into the kernels of an embedded lab, through netlink:
// it is the companion's Target for package evbench/lab. It decides nothing.
package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/lab"
)

// A Target is a lab as the companion sees it. Everything in the main table of a
// node is taken to be the companion's.
type Target struct{ lab *lab.Lab }

// New returns the target for a lab. It holds nothing that would have to be
// closed.
func New(l *lab.Lab) *Target { return &Target{l} }

// Apply implements companion.Target. Nodes are served in parallel; of each the
// routes are read first and only what differs is written.
func (t *Target) Apply(ctx context.Context, want companion.Routes) (changed int, err error) {
	counts := make([]int, len(want))
	err = t.each(ctx, len(want), func(i int) (err error) {
		counts[i], err = t.node(want[i].Node).apply(want[i].Routes)
		return err
	})
	for _, n := range counts {
		changed += n
	}
	return changed, err
}

// Read implements companion.Target.
func (t *Target) Read(ctx context.Context, nodes []companion.Node) (companion.Routes, error) {
	out := make(companion.Routes, len(nodes))
	err := t.each(ctx, len(nodes), func(i int) error {
		held, err := t.node(nodes[i]).read()
		if err != nil {
			return err
		}
		out[i] = companion.Table{Node: nodes[i], Routes: live(held)}
		return nil
	})
	return out, err
}

// Watch implements companion.Target.
func (t *Target) Watch(ctx context.Context, events chan<- companion.LinkEvent) error {
	g, inner := errgroup.WithContext(ctx)
	seen := make(chan lab.LinkEvent)
	g.Go(func() error {
		defer close(seen)
		return t.lab.Watch(inner, seen)
	})
	g.Go(func() error {
		for e := range seen {
			select {
			case events <- companion.LinkEvent(e):
			case <-inner.Done():
				return nil
			}
		}
		return nil
	})
	return g.Wait()
}

// each calls f for 0..n-1 on as many goroutines as there are cores.
func (t *Target) each(ctx context.Context, n int, f func(i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(i)
		})
	}
	return g.Wait()
}

// A node is one kernel routing table.
type node struct {
	name   string
	ports  []lab.Port
	handle *netlink.Handle
}

func (t *Target) node(n companion.Node) node {
	id := lab.Node(n)
	return node{t.lab.Name(id), t.lab.Ports(id), t.lab.Netlink(id)}
}

// A held route is one that the kernel has.
type held struct {
	route companion.Route // Via is empty where every hop is dead
	alien *netlink.Route  // set where this package would not have written it so
}

// apply makes the node hold exactly the given routes, and returns how many had
// to be written or deleted.
func (n node) apply(want []companion.Route) (changed int, err error) {
	have, err := n.read()
	if err != nil {
		return 0, err
	}
	present := make(map[netip.Prefix]companion.Route, len(have))
	for _, h := range have {
		if h.alien == nil {
			present[h.route.Prefix] = h.route
		}
	}
	wanted := make(map[netip.Prefix]bool, len(want))
	for _, r := range want {
		wanted[r.Prefix] = true
		if present[r.Prefix].Equal(r) {
			continue
		}
		if err := n.handle.RouteReplace(n.kernel(r)); err != nil {
			return changed, fmt.Errorf("%s: set route to %s: %w", n.name, r.Prefix, err)
		}
		changed++
	}
	for _, h := range have {
		if h.alien == nil && wanted[h.route.Prefix] {
			continue
		}
		if err := n.remove(h); err != nil {
			return changed, fmt.Errorf("%s: delete route to %s: %w", n.name, h.route.Prefix, err)
		}
		changed++
	}
	return changed, nil
}

// remove deletes a route. The kernel does so too, when an interface goes down.
func (n node) remove(h held) error {
	k := h.alien
	if k == nil {
		k = &netlink.Route{Dst: ipNet(h.route.Prefix), Protocol: unix.RTPROT_STATIC, Scope: unix.RT_SCOPE_NOWHERE}
	}
	if err := n.handle.RouteDel(k); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// kernel returns the route as the kernel is to have it.
func (n node) kernel(r companion.Route) *netlink.Route {
	k := &netlink.Route{Dst: ipNet(r.Prefix), Protocol: unix.RTPROT_STATIC}
	if r.Source.IsValid() {
		k.Src = r.Source.AsSlice()
	}
	if len(r.Via) == 1 {
		p := n.ports[r.Via[0]]
		k.LinkIndex, k.Gw, k.Flags = p.Index, p.Gateway.AsSlice(), unix.RTNH_F_ONLINK
		return k
	}
	for _, via := range r.Via {
		p := n.ports[via]
		k.MultiPath = append(k.MultiPath, &netlink.NexthopInfo{LinkIndex: p.Index, Gw: p.Gateway.AsSlice(), Flags: unix.RTNH_F_ONLINK})
	}
	return k
}

// dumps is how often a table is read again when it changes meanwhile.
const dumps = 10

// read returns all routes of the main table. It asks without a filter by
// interface: that has returned nothing for routes whose gateway only "onlink"
// makes reachable.
func (n node) read() (out []held, err error) {
	port := make(map[int]companion.Port, len(n.ports))
	for p, i := range n.ports {
		port[i.Index] = companion.Port(p)
	}
	for range dumps {
		out = out[:0]
		// Route by route: the library's are too large to be kept as a list.
		err = n.handle.RouteListFilteredIter(unix.AF_INET, &netlink.Route{}, 0, func(k netlink.Route) bool {
			out = append(out, n.interpret(&k, port))
			return true
		})
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: list routes: %w", n.name, err)
	}
	return out, nil
}

// interpret reads a route of the kernel. Hops that the kernel has marked dead
// do not count.
func (n node) interpret(k *netlink.Route, port map[int]companion.Port) held {
	var h held
	alien := k.Protocol != unix.RTPROT_STATIC || k.Priority != 0
	bits, _ := k.Dst.Mask.Size()
	address, _ := netip.AddrFromSlice(k.Dst.IP.To4())
	h.route.Prefix = netip.PrefixFrom(address, bits)
	if a, ok := netip.AddrFromSlice(k.Src.To4()); ok {
		h.route.Source = a
	}
	hop := func(index int, gateway net.IP, flags int) {
		p, known := port[index]
		if a, _ := netip.AddrFromSlice(gateway.To4()); !known || a != n.ports[p].Gateway {
			alien = true
		} else if flags&unix.RTNH_F_DEAD == 0 {
			h.route.Via = append(h.route.Via, p)
		}
	}
	if len(k.MultiPath) == 0 {
		hop(k.LinkIndex, k.Gw, k.Flags)
	}
	for _, m := range k.MultiPath {
		hop(m.LinkIndex, m.Gw, m.Flags)
	}
	slices.Sort(h.route.Via)
	if alien {
		h.alien = new(*k)
	}
	return h
}

// live returns what the routes mean, sorted by prefix.
func live(have []held) []companion.Route {
	out := make([]companion.Route, 0, len(have))
	for _, h := range have {
		if len(h.route.Via) > 0 || h.alien != nil {
			out = append(out, h.route)
		}
	}
	slices.SortFunc(out, companion.CompareRoutes)
	return out
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}
