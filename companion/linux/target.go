// Package linux installs the routes of plans in Linux kernels: those of a lab (package fabric/lab)
// through netlink, as the companion's Target there, and those of other switches as files for "ip
// -batch" (Batch), which others copy there. It decides no route.
package linux

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/failover"
	"evbench/internal/lists"
	"evbench/internal/parallel"
)

// A Target is a lab as the companion sees it. The companion owns everything in the main table of a
// node, and the tables 1 to maxSpray.
type Target struct {
	lab     *lab.Lab
	sprayed sync.Map // companion.Node: nodes that have, or have had, marks
}

// NewTarget returns the target for a lab. It needs no close.
func NewTarget(l *lab.Lab) *Target { return &Target{lab: l} }

// Apply implements companion.Target. It serves nodes in parallel, and reads the routes of a node
// first to write only the differences.
func (t *Target) Apply(ctx context.Context, want companion.Routes) (changed int, err error) {
	counts := make([]int, len(want))
	err = t.each(ctx, len(want), func(i int) (err error) {
		counts[i], err = t.apply(want[i])
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
		held, err := t.read(lab.Node(nodes[i]))
		if err != nil {
			return err
		}
		out[i] = companion.Table{Node: nodes[i], Routes: live(held)}
		return nil
	})
	return out, err
}

// Watch implements companion.Target.
func (t *Target) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	return t.lab.Watch(ctx, events)
}

// each calls f for 0..n-1 on as many goroutines as there are cores, until ctx ends.
func (t *Target) each(ctx context.Context, n int, f func(i int) error) error {
	return parallel.Try(0, n, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(i)
	})
}

// apply makes a node hold exactly the given routes, and returns how many it has written or deleted.
func (t *Target) apply(want companion.Table) (changed int, err error) {
	id := lab.Node(want.Node)
	have, err := t.read(id)
	if err != nil {
		return 0, err
	}
	var aliens []lab.Message
	present := make(map[netip.Prefix]companion.Route, len(have))
	for _, h := range have {
		if h.alien == nil {
			present[h.route.Prefix] = h.route
		} else {
			aliens = append(aliens, lab.Message{Kind: unix.RTM_DELROUTE, Data: h.alien})
		}
	}
	e := companion.Edit{Node: want.Node}
	for _, r := range want.Routes {
		if !present[r.Prefix].Equal(r) {
			e.Set = append(e.Set, r)
		}
		delete(present, r.Prefix)
	}
	for p := range present {
		e.Delete = append(e.Delete, p)
	}
	changed, err = t.edit(e)
	if err != nil {
		return changed, err
	}
	n, err := t.batch(id, aliens, func(int) string { return "delete a route of others" })
	return changed + n, err
}

// Write implements companion.Target. All routes of a node go to its kernel in one call.
func (t *Target) Write(ctx context.Context, edits []companion.Edit) (changed int, err error) {
	var errs []error
	for _, e := range edits {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		n, err := t.edit(e)
		changed += n
		errs = append(errs, err)
	}
	return changed, errors.Join(errs...)
}

func (t *Target) edit(e companion.Edit) (changed int, err error) {
	id := lab.Node(e.Node)
	ports := t.lab.Ports(id)
	set := lists.Map(e.Set, func(r companion.Route) lab.Message {
		return lab.Message{Kind: unix.RTM_NEWROUTE, Flags: unix.NLM_F_CREATE | unix.NLM_F_REPLACE, Data: append(setMessage(r, ports), congestion(r, t.lab.Congestion())...)}
	})
	changed, err = t.batch(id, set, func(i int) string { return "set route to " + e.Set[i].Prefix.String() })
	if err != nil {
		return changed, err
	}
	del := lists.Map(e.Delete, func(p netip.Prefix) lab.Message {
		return lab.Message{Kind: unix.RTM_DELROUTE, Data: routeHeader(p, unix.RT_SCOPE_NOWHERE, unix.RTN_UNSPEC, 0)}
	})
	n, err := t.batch(id, del, func(i int) string { return "delete route to " + e.Delete[i].String() })
	if err != nil {
		return changed + n, err
	}
	return changed + n, t.spray(e)
}

// batch returns how many requests have succeeded, and the first other error. The kernel deletes
// routes too, when an interface goes down, and a mark may have its rule already.
func (t *Target) batch(n lab.Node, messages []lab.Message, what func(i int) string) (done int, err error) {
	if len(messages) == 0 {
		return 0, nil
	}
	failed, err := t.lab.Batch(n, messages)
	if err != nil {
		return 0, err
	}
	done = len(messages)
	for i, e := range failed {
		if e == nil {
			continue
		}
		done--
		kind := messages[i].Kind
		if err == nil && !(kind == unix.RTM_DELROUTE && errors.Is(e, unix.ESRCH)) && !(kind == unix.RTM_NEWRULE && errors.Is(e, unix.EEXIST)) {
			err = fmt.Errorf("%s: %s: %w", t.lab.Name(n), what(i), e)
		}
	}
	return done, err
}

// setMessage is the body of the request that adds a route or replaces the one to its prefix.
func setMessage(r companion.Route, ports []lab.Port) []byte {
	var flags uint32
	if len(r.Via) == 1 {
		flags = unix.RTNH_F_ONLINK
	}
	m := routeHeader(r.Prefix, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST, flags)
	if r.Source.IsValid() {
		m = attribute(m, unix.RTA_PREFSRC, r.Source.AsSlice())
	}
	if len(r.Via) == 1 {
		p := ports[r.Via[0]]
		m = attribute(m, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(p.Index)))
		return attribute(m, unix.RTA_GATEWAY, p.Gateway.AsSlice())
	}
	var hops []byte
	for _, via := range r.Via {
		hops = append(hops, nextHop(ports[via])...)
	}
	return attribute(m, unix.RTA_MULTIPATH, hops)
}

// congestion is the attribute of a server's route for congestion control; "": none.
func congestion(r companion.Route, name string) []byte {
	if name == "" || !r.Source.IsValid() {
		return nil
	}
	return attribute(nil, unix.RTA_METRICS, attribute(nil, unix.RTAX_CC_ALGO, append([]byte(name), make([]byte, 4-len(name)%4)...)))
}

func nextHop(p lab.Port) []byte {
	gateway := attribute(nil, unix.RTA_GATEWAY, p.Gateway.AsSlice())
	hop := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtNexthop+len(gateway)))
	hop = append(hop, unix.RTNH_F_ONLINK, 0)
	hop = binary.NativeEndian.AppendUint32(hop, uint32(p.Index))
	return append(hop, gateway...)
}

func routeHeader(p netip.Prefix, scope, kind byte, flags uint32) []byte {
	m := []byte{unix.AF_INET, byte(p.Bits()), 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, scope, kind}
	m = binary.NativeEndian.AppendUint32(m, flags)
	if p.Bits() == 0 {
		return m
	}
	return attribute(m, unix.RTA_DST, p.Addr().AsSlice())
}

// attribute appends a netlink attribute. The values here are multiples of four bytes: no padding.
func attribute(to []byte, kind uint16, value []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(unix.SizeofRtAttr+len(value)))
	to = binary.NativeEndian.AppendUint16(to, kind)
	return append(to, value...)
}
