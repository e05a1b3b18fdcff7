package linux

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/fabric/lab"
)

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
	set := make([]lab.Message, len(e.Set))
	for i, r := range e.Set {
		set[i] = lab.Message{Kind: unix.RTM_NEWROUTE, Flags: unix.NLM_F_CREATE | unix.NLM_F_REPLACE, Data: append(setMessage(r, ports), congestion(r, t.lab.Congestion())...)}
	}
	changed, err = t.batch(id, set, func(i int) string { return "set route to " + e.Set[i].Prefix.String() })
	if err != nil {
		return changed, err
	}
	del := make([]lab.Message, len(e.Delete))
	for i, p := range e.Delete {
		del[i] = lab.Message{Kind: unix.RTM_DELROUTE, Data: routeHeader(p, unix.RT_SCOPE_NOWHERE, unix.RTN_UNSPEC, 0)}
	}
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
