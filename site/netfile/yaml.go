package netfile

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/internal/yamldoc"
	"evbench/site/network"
)

const (
	maxBytes = 256 << 20
	minNodes = 10_000 // that a short text may have, aliases followed
)

// ReadYAML reads a network, which is either a notation,
//
//	notation: FT(2;4,8)
//	lmc: 2
//	down: [leaf0-spine0, s2_3]
//
// or all its nodes and cables:
//
//	hosts:
//	  - {name: h0, guid: 0x0002c90300000000, port_guid: 0x0002c90300000001, lid: 4, lmc: 2}
//	switches:
//	  - {name: s1_0, guid: 0x0002c90401000000, ports: 8, lid: 132}
//	others:
//	  - {name: Aggregation Node, port_guid: 0x0002c90500000000, lid: 140, at: s1_0/8}
//	cables:
//	  - [h0, s1_0/1, 4xHDR]
//	down: []
//
// A host must have a name, a switch a name and a number of ports. Others, which may be missing, have
// LIDs and are no hosts: aggregation nodes and (router: true) routers, each at a port of a switch. Missing GUIDs are numbered from
// 0x0002c90300000000 for hosts, 16 apart, and from 0x0002c90400000000 for switches. The port of a
// host has the GUID after the host's, a switch's own port the switch's. Without LIDs, lmc at the
// top numbers them. Cables name nodes by name, or by GUID where a name occurs twice. Dead parts are
// written as for Network.Degrade. Width and speed of a cable may be left out. Errors name the line and the field.
func ReadYAML(r io.Reader) (*network.Network, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxBytes)
	}
	doc, root := yamldoc.Parse("", data, max(minNodes, len(data)))
	d := &document{doc}
	if err := d.First(); err != nil {
		return nil, err
	}
	if !root.Given() {
		return nil, errors.New("empty; write a notation, or hosts, switches and cables")
	}
	n := d.network(root)
	if err := d.First(); err != nil {
		return nil, err
	}
	return n, nil
}

// A document collects errors. A network returned beside errors has no meaning.
type document struct{ *yamldoc.Document }

func (d *document) network(root yamldoc.Field) (n *network.Network) {
	f := d.Mapping(root, []string{"notation", "lmc", "hosts", "switches", "others", "cables", "down"})
	lmc := 0
	d.whole(f.Get("lmc"), &lmc, 0, maxLMC)
	switch {
	case d.First() != nil:
		return nil
	case f.Given("notation"):
		n = d.notation(f, lmc)
	default:
		n = d.nodes(f)
		if n != nil && f.Given("lmc") {
			n = d.numbered(f.Get("lmc"), n, lmc)
		}
	}
	if n == nil || d.First() != nil {
		return nil
	}
	return d.down(f.Get("down"), n)
}

func (d *document) notation(f yamldoc.Fields, lmc int) (n *network.Network) {
	for _, name := range []string{"hosts", "switches", "others", "cables"} {
		if f.Given(name) {
			d.Fail(f.Get(name), "notation already states this; write one or the other")
		}
	}
	d.text(f.Get("notation"), func(s string) (err error) {
		n, err = network.Parse(s, lmc)
		return err
	})
	return n
}

func (d *document) numbered(at yamldoc.Field, n *network.Network, lmc int) *network.Network {
	if n.MaxLID() > 0 {
		d.Fail(at, "nodes have LIDs; write one or the other")
		return n
	}
	out, err := n.Numbered(lmc)
	if err != nil {
		d.Fail(at, "%v", err)
	}
	return out
}

func (d *document) down(at yamldoc.Field, n *network.Network) *network.Network {
	names := d.list(at)
	if len(names) == 0 {
		return n
	}
	x := network.Names(n)
	var dead []network.Cable
	for _, f := range names {
		d.text(f, func(name string) error {
			c, err := x.Down(name)
			dead = append(dead, c...)
			return err
		})
	}
	return n.Without(dead, nil)
}

func (d *document) list(at yamldoc.Field) []yamldoc.Field {
	if at.Given() && at.Null() {
		return nil
	}
	return d.List(at)
}

// text reads a text without control characters, if there is one.
func (d *document) text(at yamldoc.Field, set func(string) error) {
	d.Scalar(at, func(s string) error {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
			return fmt.Errorf("%s: no control characters", brief(s))
		}
		return set(s)
	})
}

func (d *document) whole(at yamldoc.Field, to *int, low, high int) {
	d.text(at, func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%s: write a whole number %d..%d", brief(s), low, high)
		}
		*to = n
		return nil
	})
}

func (d *document) guid(at yamldoc.Field, to *uint64) {
	d.text(at, func(s string) error {
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil || n == 0 {
			return fmt.Errorf("%s: write a GUID as 0x0002c90300000001", brief(s))
		}
		*to = n
		return nil
	})
}
