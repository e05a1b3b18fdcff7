package netfile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"evbench/topology/network"
)

const maxBytes = 256 << 20

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
//	cables:
//	  - [h0, s1_0/1]
//	down: []
//
// Of a host only the name must be there, of a switch the name and the number of
// ports. GUIDs that are not there are numbered from 0x0002c90300000000 for hosts,
// 16 apart, and from 0x0002c90400000000 for switches; the port of a host has the
// GUID after the host's, a switch's own port the switch's. Where no LIDs are
// given, lmc at the top has them numbered. Cables name nodes by name, or by GUID
// where a name occurs twice. What is down is written as for Network.Degrade. Errors name the line and the field.
func ReadYAML(r io.Reader) (*network.Network, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxBytes)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("empty; write a notation, or hosts, switches and cables")
	}
	return document(field{doc.Content[0], ""})
}

func document(top field) (*network.Network, error) {
	f, err := top.mapping("notation", "lmc", "hosts", "switches", "cables", "down")
	if err != nil {
		return nil, err
	}
	lmc, err := f["lmc"].number(0, 0, maxLMC)
	if err != nil {
		return nil, err
	}
	var n *network.Network
	if at := f["notation"]; at.given() {
		n, err = notation(f, lmc)
	} else if n, err = nodes(f); err == nil && f["lmc"].given() {
		n, err = number(f["lmc"], n, lmc)
	}
	if err != nil {
		return nil, err
	}
	return down(f["down"], n)
}

func notation(f map[string]field, lmc int) (*network.Network, error) {
	for _, name := range []string{"hosts", "switches", "cables"} {
		if f[name].given() {
			return nil, f[name].errorf("notation says it all; write one or the other")
		}
	}
	s, err := f["notation"].text()
	if err != nil {
		return nil, err
	}
	n, err := network.Parse(s, lmc)
	if err != nil {
		return nil, f["notation"].errorf("%w", err)
	}
	return n, nil
}

func number(at field, n *network.Network, lmc int) (*network.Network, error) {
	if n.MaxLID() > 0 {
		return nil, at.errorf("nodes have LIDs; write one or the other")
	}
	out, err := n.Numbered(lmc)
	if err != nil {
		return nil, at.errorf("%w", err)
	}
	return out, nil
}

func down(at field, n *network.Network) (*network.Network, error) {
	names, err := at.list()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return n, nil
	}
	x := network.Names(n)
	var dead []network.Cable
	for _, f := range names {
		name, err := f.text()
		if err != nil {
			return nil, err
		}
		c, err := x.Down(name)
		if err != nil {
			return nil, f.errorf("%w", err)
		}
		dead = append(dead, c...)
	}
	return n.Without(dead, nil), nil
}
