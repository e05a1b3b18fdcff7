package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"evbench/internal/hostlist"
	"evbench/topology"
	"evbench/topology/network"
)

// Cabled reads the placement off the cables of a network: each host is on the
// switch it is plugged into. The first word of a host's name counts, since
// subnet managers put the adapter behind it.
func Cabled(n *network.Network) (*Placement, error) {
	hosts := map[network.Node][]string{} // by switch
	var switches []network.Node
	for h := range network.Node(n.Hosts()) {
		leaf := n.Leaf(h).Node
		words := strings.Fields(n.Info(h).Name)
		if leaf == network.NoNode || len(words) == 0 {
			continue
		}
		if hosts[leaf] == nil {
			switches = append(switches, leaf)
		}
		hosts[leaf] = append(hosts[leaf], words[0])
	}
	slices.SortStableFunc(switches, func(a, b network.Node) int {
		return hostlist.Compare(n.Info(a).Name, n.Info(b).Name)
	})
	p := &Placement{leaf: map[string]int{}, short: map[string]int{}, cabled: true}
	for i, s := range switches {
		p.names = append(p.names, n.Info(s).Name)
		for _, h := range hosts[s] {
			if err := p.put(h, i); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// IsPlacement reports whether a file is for ReadPlacement: YAML, either a list or
// leaves only. Descriptions of networks are neither.
func IsPlacement(data []byte) bool {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return false
	}
	top := doc.Content[0]
	if top.Kind == yaml.MappingNode && len(top.Content) > 0 {
		return strings.HasPrefix(top.Content[0].Value, "leaf")
	}
	return top.Kind == yaml.SequenceNode
}

// ReadPlacement reads which hosts each leaf has, from YAML in one of two forms:
//
//	leaf0: [node001, node002]       - node[001-002]
//	leaf1: "node[003-004]"          - [node003, node004]
//
// In the second the leaves count from 0.
func ReadPlacement(data []byte) (*Placement, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("empty; write leaves and their hosts, such as leaf0: [node001, node002]")
	}
	p := &Placement{leaf: map[string]int{}, short: map[string]int{}}
	var err error
	switch top := doc.Content[0]; top.Kind {
	case yaml.SequenceNode:
		err = p.addList(top.Content)
	case yaml.MappingNode:
		err = p.addMapping(top.Content)
	default:
		err = fmt.Errorf("line %d: write leaves and their hosts, such as leaf0: [node001, node002]", top.Line)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Placement) addList(items []*yaml.Node) error {
	for leaf, hosts := range items {
		if err := p.addLeaf(leaf, hosts); err != nil {
			return err
		}
	}
	return nil
}

// addMapping takes keys and values in turn.
func (p *Placement) addMapping(pairs []*yaml.Node) error {
	seen := map[int]bool{}
	for i := 0; i < len(pairs); i += 2 {
		leaf, err := leafNumber(pairs[i])
		if err != nil {
			return err
		}
		if seen[leaf] {
			return fmt.Errorf("line %d: leaf%d is there twice", pairs[i].Line, leaf)
		}
		seen[leaf] = true
		if err := p.addLeaf(leaf, pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func leafNumber(at *yaml.Node) (int, error) {
	number, ok := strings.CutPrefix(at.Value, "leaf")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || strconv.Itoa(n) != number {
		return 0, fmt.Errorf("line %d: %q is not a leaf; write leaf0, leaf1, …", at.Line, at.Value)
	}
	if n >= topology.MaxLeaves {
		return 0, fmt.Errorf("line %d: leaf%d: there are at most %d leaves", at.Line, n, topology.MaxLeaves)
	}
	return n, nil
}

// addLeaf places the hosts of one leaf: a host list, or a sequence of them.
func (p *Placement) addLeaf(leaf int, at *yaml.Node) error {
	if leaf >= topology.MaxLeaves {
		return fmt.Errorf("line %d: more than %d leaves", at.Line, topology.MaxLeaves)
	}
	for len(p.names) <= leaf {
		p.names = append(p.names, fmt.Sprintf("leaf%d", len(p.names)))
	}
	lists := at.Content
	switch {
	case at.Kind == yaml.ScalarNode && at.Tag == "!!null":
		return nil // a leaf without hosts
	case at.Kind == yaml.ScalarNode:
		lists = []*yaml.Node{at}
	case at.Kind != yaml.SequenceNode:
		return fmt.Errorf("line %d: leaf%d: write hosts, such as [node001, node002]", at.Line, leaf)
	}
	for _, l := range lists {
		if l.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: leaf%d: write hosts, such as [node001, node002]", l.Line, leaf)
		}
		hosts, err := Expand(l.Value)
		if err != nil {
			return fmt.Errorf("line %d: leaf%d: %w", l.Line, leaf, err)
		}
		for _, h := range hosts {
			if err := p.put(h, leaf); err != nil {
				return fmt.Errorf("line %d: %w", l.Line, err)
			}
		}
	}
	return nil
}

// Limits on host lists.
const (
	maxHosts = 1 << 16
	maxName  = 253
)

// Expand returns the hosts of a list as Slurm and pdsh write it, such as
// "node[001-326],gw[1,3-5]". A host may be there several times. What could be
// taken for an option of ssh, or for more than one word, is no host.
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
