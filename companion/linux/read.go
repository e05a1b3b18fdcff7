package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/fabric/lab"
)

type held struct {
	route companion.Route // Via is empty if every hop is dead
	alien []byte          // the kernel's text, if this package would not have written the route so
}

// dumps is the most readings of a table that changes meanwhile.
const dumps = 10

// read returns all routes of a node's main table. Sprayed routes have others in the tables of
// marks.
func (t *Target) read(n lab.Node) (out []held, err error) {
	r := newReader(t.lab.Ports(n))
	var sprayed map[netip.Prefix]sprayTable
	for range dumps {
		out, sprayed = out[:0], map[netip.Prefix]sprayTable{}
		list := lab.Message{Kind: unix.RTM_GETROUTE, Data: make([]byte, unix.SizeofRtMsg)}
		list.Data[0] = unix.AF_INET
		err = t.lab.List(n, list, func(entry []byte) error {
			h, table, err := r.route(entry)
			switch {
			case table == unix.RT_TABLE_MAIN:
				out = append(out, h)
			case 0 < table && table <= maxSpray && len(h.route.Via) == 1:
				if sprayed[h.route.Prefix] == nil {
					sprayed[h.route.Prefix] = sprayTable{}
				}
				sprayed[h.route.Prefix][table] = h.route.Via[0]
			}
			return err
		})
		if !errors.Is(err, lab.ErrInterrupted) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return out, t.markSprayed(n, out, sprayed)
}

type reader struct {
	ports []lab.Port
	port  map[uint32]companion.Port // by index of the interface
	via   []companion.Port          // 0, 1, 2, …: each a Via of one hop, shared
}

func newReader(ports []lab.Port) reader {
	r := reader{ports, make(map[uint32]companion.Port, len(ports)), make([]companion.Port, len(ports))}
	for p, i := range ports {
		r.port[uint32(i.Index)] = companion.Port(p)
		r.via[p] = companion.Port(p)
	}
	return r
}

// route reads one route, and returns its table, 0 if it is irrelevant. Hops that the kernel has
// marked dead do not count.
func (r reader) route(entry []byte) (h held, table int, err error) {
	if len(entry) < unix.SizeofRtMsg {
		return h, 0, errors.New("short route message")
	}
	table = int(entry[4])
	protocol, flags := entry[5], binary.NativeEndian.Uint32(entry[8:])
	if table > maxSpray && table != unix.RT_TABLE_MAIN || flags&unix.RTM_F_CLONED != 0 {
		return h, 0, nil
	}
	h.route.Prefix = netip.PrefixFrom(netip.IPv4Unspecified(), int(entry[1]))
	known := protocol == unix.RTPROT_STATIC
	single := hop{flags: byte(flags)}
	err = lab.Attributes(entry[unix.SizeofRtMsg:], func(kind uint16, value []byte) error {
		switch kind {
		case unix.RTA_DST:
			h.route.Prefix = netip.PrefixFrom(addressOf(value), int(entry[1]))
		case unix.RTA_PREFSRC:
			h.route.Source = addressOf(value)
		case unix.RTA_OIF:
			single.index = number(value)
		case unix.RTA_GATEWAY:
			single.gateway = addressOf(value)
		case unix.RTA_PRIORITY:
			known = known && number(value) == 0
		case unix.RTA_MULTIPATH:
			return r.hops(value, &h, &known)
		}
		return nil
	})
	if single.index != 0 {
		r.hop(single, &h, &known)
	}
	slices.Sort(h.route.Via)
	if !known {
		h.alien = slices.Clone(entry)
	}
	return h, table, err
}

type hop struct {
	index   uint32 // of the interface
	gateway netip.Addr
	flags   byte
}

// hop adds a hop to a route, or detects that this package has not written it.
func (r reader) hop(p hop, h *held, known *bool) {
	port, ok := r.port[p.index]
	switch {
	case !ok || p.gateway != r.ports[port].Gateway:
		*known = false
	case p.flags&unix.RTNH_F_DEAD != 0:
	case h.route.Via == nil:
		h.route.Via = r.via[port : port+1 : port+1]
	default:
		h.route.Via = append(h.route.Via, port)
	}
}

func (r reader) hops(b []byte, h *held, known *bool) error {
	for len(b) >= unix.SizeofRtNexthop {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtNexthop || n > len(b) {
			return errors.New("route message: next hop of a wrong length")
		}
		p := hop{index: number(b[4:8]), flags: b[2]}
		if err := lab.Attributes(b[unix.SizeofRtNexthop:n], func(kind uint16, value []byte) error {
			if kind == unix.RTA_GATEWAY {
				p.gateway = addressOf(value)
			}
			return nil
		}); err != nil {
			return err
		}
		r.hop(p, h, known)
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// addressOf returns the zero Addr for an invalid address; it equals none.
func addressOf(value []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(value)
	return a
}

func number(value []byte) uint32 {
	if len(value) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(value)
}

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
