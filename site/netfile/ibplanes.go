package netfile

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"evbench/internal/lists"
)

// planeName is the name of one of the chips of a switch: of those of XDR each is in a plane of its own.
var planeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)/U(\d+)$`) })

// joinPlanes takes planes of XDR for one network whose cables have the rates of all: a switch has a chip in each
// plane, an adapter a port, and a message goes over all. Chips that cables join are no planes.
func (p *reader) joinPlanes() error {
	planes := map[string][]*node{} // switches by the number of their chip
	for _, n := range p.nodes {
		if n.kind != aSwitch {
			continue
		}
		m := planeName().FindStringSubmatch(n.name)
		if m == nil {
			return nil
		}
		planes[m[2]] = append(planes[m[2]], n)
	}
	names := slices.Sorted(maps.Keys(planes))
	if len(names) < 2 || !p.partsAre(planes) {
		return nil
	}
	keep := map[string]bool{}
	first := p.cablesOf(planes[names[0]], keep)
	for _, name := range names[1:] {
		if !slices.Equal(p.cablesOf(planes[name], map[string]bool{}), first) {
			return fmt.Errorf("planes of XDR: chips U%s to U%s of the switches are networks of their own, and the cables of U%s and U%s differ: give one plane alone",
				names[0], names[len(names)-1], names[0], name)
		}
	}
	p.nodes = lists.Filter(p.nodes, func(n *node) bool { return keep[n.id] })
	rate := 0.0
	for _, n := range p.nodes {
		for i := range n.links {
			rate = max(rate, n.links[i].rate)
			n.links[i].rate *= float64(len(names))
		}
	}
	p.left = append(p.left, fmt.Sprintf("%d planes of XDR are taken for one network, each cable for %d of %g Gbit/s", len(names), len(names), rate/1e9))
	return nil
}

// partsAre reports whether no cable joins switches of different planes, also over an adapter.
func (p *reader) partsAre(planes map[string][]*node) bool {
	part, plane := p.parts(), map[string]string{}
	for name, own := range planes {
		for _, n := range own {
			if at, ok := plane[part(n.id)]; ok && at != name {
				return false
			}
			plane[part(n.id)] = name
		}
	}
	return true
}

// cablesOf describes the cables of a plane without what is its own, and keeps its nodes.
func (p *reader) cablesOf(plane []*node, keep map[string]bool) (out []string) {
	base := func(n *node) string {
		if m := planeName().FindStringSubmatch(n.name); m != nil {
			return m[1]
		}
		return n.name
	}
	for _, n := range plane {
		keep[n.id] = true
		for _, l := range n.links {
			if far := p.byID[l.peer]; far != nil {
				keep[far.id] = true
				port := l.peerPort
				if far.kind != aSwitch { // of an adapter it may be the number of the plane
					port = 0
				}
				out = append(out, fmt.Sprintf("%s %d %s %d %g", base(n), l.port, base(far), port, l.rate))
			}
		}
	}
	slices.Sort(out)
	return out
}

// parts returns what nodes that cables join have in common.
func (p *reader) parts() func(id string) string {
	up := map[string]string{}
	root := func(id string) string {
		for up[id] != "" {
			id = up[id]
		}
		return id
	}
	for _, n := range p.nodes {
		for _, l := range n.links {
			if a, b := root(n.id), root(l.peer); a != b {
				up[max(a, b)] = min(a, b)
			}
		}
	}
	return root
}

// subnets says that nodes with equal LIDs are in different subnets: each alone is right.
func (p *reader) subnets(hosts []host, switches []*node, err error) error {
	part := p.parts()
	parts := map[string]bool{}
	for _, n := range switches {
		parts[part(n.id)] = true
	}
	for at := range parts {
		own := lists.Filter(hosts, func(h host) bool { return part(h.of.id) == at })
		if checkLIDs(own, lists.Filter(switches, func(n *node) bool { return part(n.id) == at })) != nil {
			return err
		}
	}
	if len(parts) < 2 {
		return err
	}
	text, _, _ := strings.Cut(err.Error(), " as the node")
	return errors.New(strings.TrimSuffix(text, ",") + " twice: these are two subnets, which no cable joins; give the file of each, -t A,B")
}
