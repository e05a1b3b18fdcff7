package host

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/yamldoc"
	"evbench/topology"
)

// A Switch is a switch by name, with the hosts on it.
type Switch struct {
	Name  string
	Hosts []string
}

// Cabled is the placement that the cables of a network determine: each host is on its switch. The first
// word of a host's name counts, since subnet managers append the adapter.
func Cabled(switches []Switch) (*Placement, error) {
	switches = slices.Clone(switches)
	slices.SortStableFunc(switches, func(a, b Switch) int { return hostlist.Compare(a.Name, b.Name) })
	p := &Placement{leaf: map[string]int{}, short: map[string]int{}, cabled: true}
	for i, s := range switches {
		p.names = append(p.names, s.Name)
		for _, h := range s.Hosts {
			if err := p.put(strings.Fields(h)[0], i); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// IsPlacement reports whether a file is for ReadPlacement: YAML, either a list or only leaves.
// Descriptions of networks are neither.
func IsPlacement(data []byte) bool {
	_, top := yamldoc.Parse("", data, maxNodes)
	return top.Given() && (top.Group() && len(top.Content) > 0 && strings.HasPrefix(top.Content[0].Value, "leaf") || top.Elements() != nil)
}

// ReadPlacement reads the hosts of each leaf, from YAML in one of two forms:
//
//	leaf0: [node001, node002]       - node[001-002]
//	leaf1: "node[003-004]"          - [node003, node004]
//
// In the second the leaves count from 0.
func ReadPlacement(data []byte) (*Placement, error) {
	d, top := yamldoc.Parse("", data, maxNodes)
	p := &Placement{leaf: map[string]int{}, short: map[string]int{}}
	switch list := top.Elements(); {
	case !top.Given() && d.First() == nil:
		return nil, errors.New("empty; write leaves and their hosts, such as leaf0: [node001, node002]")
	case list != nil:
		for leaf, hosts := range list {
			p.addLeaf(d, leaf, hosts)
		}
	default:
		leaves := d.Mapping(top, nil)
		for _, name := range leaves.Order {
			at := leaves.Get(name)
			if leaf, ok := leafNumber(name); ok {
				p.addLeaf(d, leaf, at)
			} else {
				d.Fail(at, "is not a leaf; write leaf0, leaf1, …")
			}
		}
	}
	if err := d.First(); err != nil {
		return nil, err
	}
	return p, nil
}

func leafNumber(name string) (leaf int, ok bool) {
	number, ok := strings.CutPrefix(name, "leaf")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && strconv.Itoa(n) == number && n >= 0
}

func (p *Placement) addLeaf(d *yamldoc.Document, leaf int, at yamldoc.Field) {
	if leaf >= topology.MaxLeaves {
		d.Fail(at, "there are at most %d leaves", topology.MaxLeaves)
		return
	}
	for len(p.names) <= leaf {
		p.names = append(p.names, fmt.Sprintf("leaf%d", len(p.names)))
	}
	lists := []yamldoc.Field{at}
	switch {
	case at.Null(): // a leaf without hosts
		return
	case !at.Single():
		lists = d.List(at)
	}
	for _, l := range lists {
		d.Scalar(l, func(list string) error {
			hosts, err := Expand(list)
			if err != nil {
				return err
			}
			for _, h := range hosts {
				if err := p.put(h, leaf); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// maxNodes is the largest number of values in a placement, with aliases expanded.
const maxNodes = 1 << 18

// Limits on host lists.
const (
	maxHosts = 1 << 16
	maxName  = 253
)

// Expand returns the hosts of a list in the form of Slurm and pdsh, such as
// "node[001-326],gw[1,3-5]". A host may appear several times, or with the address of an adapter,
// node001@10.0.0.1. It refuses names that look like an option of ssh, or like several words.
func Expand(list string) ([]string, error) {
	hosts, err := hostlist.Expand(list)
	if err != nil {
		return nil, err
	}
	if len(hosts) > maxHosts {
		return nil, fmt.Errorf("host list: %d hosts; at most %d", len(hosts), maxHosts)
	}
	for _, h := range hosts {
		if err := checkHost(h); err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

func checkHost(name string) error {
	name, address, one := strings.Cut(name, "@")
	if _, err := netip.ParseAddr(address); one && (err != nil || name == "") {
		return fmt.Errorf("host %q: write HOST@ADDRESS, where ADDRESS is that of an adapter", name+"@"+address)
	}
	bad := strings.IndexFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("-._:", r)
	})
	switch {
	case bad >= 0:
		return fmt.Errorf("host %q: %q cannot be in the name of a host", name, name[bad])
	case name[0] == '-':
		return fmt.Errorf("host %q: the name of a host does not begin with -", name)
	case len(name) > maxName:
		return fmt.Errorf("host %.20s…: the name of a host is longer than %d characters", name, maxName)
	}
	return nil
}
