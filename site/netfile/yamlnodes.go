package netfile

import (
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/yamldoc"
	"evbench/site/network"
)

type builder struct {
	*document
	network.Builder
	lids map[int]string // to the field that gave it
	guid map[uint64]string
	port map[uint64]string
	rate map[network.End]float64
}

// The first GUIDs for nodes without one.
const (
	firstHost, hostStep = 0x0002c90300000000, 0x10
	firstSwitch         = 0x0002c90400000000
	firstOther          = 0x0002c90500000000
)

func (d *document) nodes(f yamldoc.Fields) *network.Network {
	b := &builder{document: d, lids: map[int]string{}, guid: map[uint64]string{}, port: map[uint64]string{}, rate: map[network.End]float64{}}
	hosts, switches := d.list(f.Get("hosts")), d.list(f.Get("switches"))
	total := len(hosts) + len(switches)
	switch {
	case d.First() != nil:
		return nil
	case len(hosts) == 0 || len(switches) == 0:
		d.Fail(yamldoc.Field{}, "no hosts or no switches; write a notation, or hosts, switches and cables")
		return nil
	case total > maxLID:
		d.Fail(yamldoc.Field{}, "%d hosts and switches, more than %d", total, maxLID)
		return nil
	}
	for i, h := range hosts {
		b.node(h, network.Info{GUID: firstHost + hostStep*uint64(i)}, true)
	}
	for i, s := range switches {
		b.node(s, network.Info{GUID: firstSwitch + uint64(i)}, false)
	}
	if d.First() != nil {
		return nil
	}
	b.others(f.Get("others"))
	b.cables(f.Get("cables"))
	if len(b.rate) == 0 {
		return b.Build()
	}
	return b.Build().WithRates(b.rate)
}

// node reads a host or a switch. Its default GUID is info's; the default GUID of a host's port is
// one more.
func (b *builder) node(at yamldoc.Field, info network.Info, host bool) {
	kind, own, needed, more := "switches", "ports", []string{"name", "ports"}, uint64(0)
	if host {
		kind, own, needed, more = "hosts", "lmc", []string{"name"}, 1
	}
	f := b.Mapping(at, []string{"name", "guid", "port_guid", "lid", own})
	for _, name := range needed {
		if !f.Given(name) {
			b.Fail(at, "%s is missing", name)
		}
	}
	b.text(f.Get("name"), func(s string) error {
		info.Name = s
		return nil
	})
	var lid, lmc, ports int
	b.document.guid(f.Get("guid"), &info.GUID)
	info.Port = info.GUID + more
	b.document.guid(f.Get("port_guid"), &info.Port)
	b.whole(f.Get("lid"), &lid, 0, maxLID)
	b.whole(f.Get("lmc"), &lmc, 0, maxLMC)
	b.whole(f.Get("ports"), &ports, 1, maxPorts)
	info.LID, info.LMC = uint16(lid), uint8(lmc)
	b.claim(at, f.Get("lid"), info, kind)
	if host {
		b.Host(info)
	} else {
		b.Switch(info, ports)
	}
}

// claim notes the GUIDs and LIDs of a node. Hosts may share a node GUID, if their
// ports differ.
func (b *builder) claim(at, atLID yamldoc.Field, i network.Info, kind string) {
	if first, ok := b.guid[i.GUID]; ok && (kind == "switches" || !strings.HasPrefix(first, kind)) {
		b.Fail(at, "has the GUID 0x%016x of %s", i.GUID, first)
	}
	b.guid[i.GUID] = at.Path
	if first, ok := b.port[i.Port]; ok {
		b.Fail(at, "has the port GUID 0x%016x of %s", i.Port, first)
	}
	b.port[i.Port] = at.Path
	if i.LID == 0 {
		return
	}
	last := int(i.LID) + 1<<i.LMC - 1
	if last > maxLID || int(i.LID)%(1<<i.LMC) != 0 {
		b.Fail(atLID, "LIDs %d..%d: must be within 1..%d, and the first a multiple of %d", i.LID, last, maxLID, 1<<i.LMC)
	}
	for lid := int(i.LID); lid <= last; lid++ {
		if first, ok := b.lids[lid]; ok {
			b.Fail(atLID, "LID %d is also that of %s", lid, first)
		}
		b.lids[lid] = at.Path
	}
}

// others reads ports that have LIDs and are no hosts.
func (b *builder) others(at yamldoc.Field) {
	x := network.Names(b.Build())
	for k, o := range b.list(at) {
		info := network.Info{GUID: firstOther + uint64(k)}
		f := b.Mapping(o, []string{"name", "guid", "port_guid", "lid", "lmc", "at", "router"})
		if !f.Given("at") {
			b.Fail(o, "at is missing")
		}
		b.text(f.Get("name"), func(s string) error {
			info.Name = s
			return nil
		})
		var lid, lmc int
		b.document.guid(f.Get("guid"), &info.GUID)
		info.Port = info.GUID
		b.document.guid(f.Get("port_guid"), &info.Port)
		b.whole(f.Get("lid"), &lid, 0, maxLID)
		b.whole(f.Get("lmc"), &lmc, 0, maxLMC)
		info.LID, info.LMC = uint16(lid), uint8(lmc)
		b.claim(o, f.Get("lid"), info, "others")
		isRouter := false
		b.text(f.Get("router"), func(s string) (err error) {
			isRouter, err = strconv.ParseBool(s)
			return err
		})
		b.text(f.Get("at"), func(s string) error {
			end, err := x.End(s)
			if err == nil {
				err = b.Other(info, end, isRouter)
			}
			return err
		})
	}
}

func (b *builder) cables(at yamldoc.Field) {
	bare := b.Build()
	x := network.Names(bare)
	for _, f := range b.list(at) {
		ends, end := b.list(f), [2]network.End{}
		if len(ends) != 2 && len(ends) != 3 {
			b.Fail(f, "%d ends; write [s1_0/5, s2_0/1], or [s1_0/5, s2_0/1, 4xHDR]", len(ends))
			continue
		}
		for i, e := range ends[:2] {
			b.text(e, func(name string) (err error) {
				end[i], err = x.End(name)
				return err
			})
		}
		if len(ends) == 3 {
			b.text(ends[2], func(s string) error {
				if b.rate[end[0]] = lastRate(s); b.rate[end[0]] == 0 {
					return fmt.Errorf("%s: write width and speed of a cable, such as 4xHDR", brief(s))
				}
				return nil
			})
		}
		if b.First() != nil {
			return
		}
		if bare.IsHost(end[0].Node) && bare.IsHost(end[1].Node) {
			b.Fail(f, "there is no switch between two hosts")
		} else if err := b.Cable(end[0], end[1]); err != nil {
			b.Fail(f, "%v", err)
		}
	}
}
