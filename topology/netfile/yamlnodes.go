package netfile

import (
	"errors"
	"fmt"
	"strings"

	"evbench/topology/network"
)

type builder struct {
	network.Builder
	info []network.Info
	lids map[int]string // to the field that gave it
	guid map[uint64]string
	port map[uint64]string
}

// nodes builds what hosts, switches and cables say.
func nodes(f map[string]field) (*network.Network, error) {
	b := &builder{lids: map[int]string{}, guid: map[uint64]string{}, port: map[uint64]string{}}
	hosts, err := f["hosts"].list()
	if err != nil {
		return nil, err
	}
	switches, err := f["switches"].list()
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 || len(switches) == 0 {
		return nil, errors.New("no hosts or no switches; write a notation, or hosts, switches and cables")
	}
	if total := len(hosts) + len(switches); total > maxLID {
		return nil, fmt.Errorf("%d hosts and switches, more than %d", total, maxLID)
	}
	for i, h := range hosts {
		if err := b.host(i, h); err != nil {
			return nil, err
		}
	}
	for i, s := range switches {
		if err := b.aSwitch(i, s); err != nil {
			return nil, err
		}
	}
	bare := b.Build()
	return b.cables(f["cables"], bare)
}

func (b *builder) host(i int, at field) error {
	f, err := at.mapping("name", "guid", "port_guid", "lid", "lmc")
	if err != nil {
		return err
	}
	info, err := b.common(at, f, 0x0002c90300000000+0x10*uint64(i), 1)
	if err != nil {
		return err
	}
	lmc, err := f["lmc"].number(0, 0, maxLMC)
	if err != nil {
		return err
	}
	info.LMC = uint8(lmc)
	if err := b.claim(at, f, info, "hosts"); err != nil {
		return err
	}
	b.info = append(b.info, info)
	b.Host(info)
	return nil
}

func (b *builder) aSwitch(i int, at field) error {
	f, err := at.mapping("name", "guid", "port_guid", "lid", "ports")
	if err != nil {
		return err
	}
	info, err := b.common(at, f, 0x0002c90400000000+uint64(i), 0)
	if err != nil {
		return err
	}
	if !f["ports"].given() {
		return at.errorf("ports is missing: the number of ports, 1..%d", maxPorts)
	}
	ports, err := f["ports"].number(0, 1, maxPorts)
	if err != nil {
		return err
	}
	if err := b.claim(at, f, info, "switches"); err != nil {
		return err
	}
	b.info = append(b.info, info)
	b.Switch(info, ports)
	return nil
}

// common reads what hosts and switches share; the GUID of the port is by default
// so much more than that of the node.
func (b *builder) common(at field, f map[string]field, guid, more uint64) (network.Info, error) {
	var out network.Info
	if !f["name"].given() {
		return out, at.errorf("name is missing")
	}
	var err error
	if out.Name, err = f["name"].text(); err != nil {
		return out, err
	}
	if out.GUID, err = f["guid"].guid(guid); err != nil {
		return out, err
	}
	if out.Port, err = f["port_guid"].guid(out.GUID + more); err != nil {
		return out, err
	}
	lid, err := f["lid"].number(0, 0, maxLID)
	out.LID = uint16(lid)
	return out, err
}

// claim notes the GUIDs and LIDs of a node. Hosts may share a node GUID, if their
// ports differ.
func (b *builder) claim(at field, f map[string]field, i network.Info, kind string) error {
	if first, ok := b.guid[i.GUID]; ok && (kind == "switches" || !strings.HasPrefix(first, kind)) {
		return at.errorf("has the GUID 0x%016x of %s", i.GUID, first)
	}
	b.guid[i.GUID] = at.path
	if first, ok := b.port[i.Port]; ok {
		return at.errorf("has the port GUID 0x%016x of %s", i.Port, first)
	}
	b.port[i.Port] = at.path
	if i.LID == 0 {
		return nil
	}
	last := int(i.LID) + 1<<i.LMC - 1
	if last > maxLID || int(i.LID)%(1<<i.LMC) != 0 {
		return f["lid"].errorf("LIDs %d..%d: must be within 1..%d, and the first a multiple of %d", i.LID, last, maxLID, 1<<i.LMC)
	}
	for lid := int(i.LID); lid <= last; lid++ {
		if first, ok := b.lids[lid]; ok {
			return f["lid"].errorf("LID %d is also that of %s", lid, first)
		}
		b.lids[lid] = at.path
	}
	return nil
}

func (b *builder) cables(at field, bare *network.Network) (*network.Network, error) {
	list, err := at.list()
	if err != nil {
		return nil, err
	}
	x := network.Names(bare)
	var out network.Builder
	for v := range network.Node(bare.Nodes()) {
		if bare.IsHost(v) {
			out.Host(b.info[v])
		} else {
			out.Switch(b.info[v], len(bare.Ends(v)))
		}
	}
	for _, f := range list {
		ends, err := f.list()
		if err != nil {
			return nil, err
		}
		if len(ends) != 2 {
			return nil, f.errorf("%d ends; write [s1_0/5, s2_0/1]", len(ends))
		}
		var end [2]network.End
		for i, e := range ends {
			name, err := e.text()
			if err != nil {
				return nil, err
			}
			if end[i], err = x.End(name); err != nil {
				return nil, e.errorf("%w", err)
			}
		}
		if bare.IsHost(end[0].Node) && bare.IsHost(end[1].Node) {
			return nil, f.errorf("there is no switch between two hosts")
		}
		if err := out.Cable(end[0], end[1]); err != nil {
			return nil, f.errorf("%w", err)
		}
	}
	return out.Build(), nil
}
