package netfile

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/site/network"
)

var slurmLine = regexp.MustCompile(`(?i)^(switch|block)name\s*=`)

// A slurmSwitch is the content of a switch's line.
type slurmSwitch struct {
	line  int
	name  string
	below []string // hosts, or switches
	hosts bool
	empty bool // Nodes= or Switches= without a name
}

// ReadSlurm reads a network in Slurm's topology.conf for the plugin tree:
//
//	SwitchName=leaf0 Nodes=node[001-018]
//	SwitchName=spine0 Switches=leaf[0-17]
//
// A switch of an empty list is left out, with a note.
//
// or as "scontrol show topology" prints it, with Level=… and all nodes below a switch. A switch at
// the top above one switch alone that is no leaf is left out: nothing passes it. Each name below a
// switch is a cable, as Slurm does not state their number. Cables take the ports of a switch in
// written order, and GUIDs are made up as in ReadYAML. Names of fields ignore case, as in Slurm. The
// speed of links, unused by Slurm, is skipped. Errors name the line. After the manual of Slurm 24.05.
func ReadSlurm(r io.Reader) (*network.Network, error) {
	var list []slurmSwitch
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		first, line := i+1, strings.TrimSpace(lines[i])
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
		}
		if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) == "" {
			continue
		}
		s, err := readSlurmSwitch(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		s.line = first
		list = append(list, s)
	}
	return slurmNetwork(list)
}

func readSlurmSwitch(line string) (s slurmSwitch, err error) {
	given := map[string]string{}
	empty := false
	for _, word := range strings.Fields(line) {
		name, value, ok := strings.Cut(word, "=")
		switch name = strings.ToLower(name); {
		case name == "blockname" || name == "blocksizes":
			return s, errors.New("blocks (topology/block) say no switches: a tree (topology/tree) is read")
		case (name == "nodes" || name == "switches") && ok && value == "":
			empty = true
			continue
		case !slices.Contains([]string{"switchname", "nodes", "switches", "linkspeed", "level"}, name) || !ok || value == "":
			return s, fmt.Errorf("%s: there are SwitchName=…, Nodes=…, Switches=… and LinkSpeed=…", brief(word))
		case given[name] != "":
			return s, fmt.Errorf("%s: given twice", brief(word))
		}
		given[name] = value
	}
	if given["level"] != "" && given["switches"] != "" {
		given["nodes"] = "" // scontrol adds those of the switches below
	}
	s.name, s.hosts = given["switchname"], given["nodes"] != ""
	switch {
	case s.name == "":
		return s, errors.New("no SwitchName=…")
	case empty && given["nodes"]+given["switches"] == "":
		s.empty = true
		return s, nil
	case given["level"] != "" && given["nodes"]+given["switches"] == "":
		return s, nil // without nodes at present
	case s.hosts == (given["switches"] != ""):
		return s, fmt.Errorf("switch %s: write either Nodes=… or Switches=…", brief(s.name))
	}
	if s.below, err = hostlist.Expand(given["nodes"] + given["switches"]); err == nil {
		err = s.check()
	}
	return s, err
}

func (s *slurmSwitch) check() error {
	if len(s.below) > maxPorts {
		return fmt.Errorf("switch %s: %s below: must be 1..%d", brief(s.name), show.Plural(len(s.below), "name", "names"), maxPorts)
	}
	return nil
}

// A slurmReader numbers hosts and switches as written, and ports as their cables are.
type slurmReader struct {
	network.Builder
	list     []slurmSwitch
	line     map[string]int // of a switch or a host
	switches map[string]int // in list
	ports    []int          // of switches
	next     map[string]network.End
}

func slurmNetwork(list []slurmSwitch) (*network.Network, error) {
	list, left := withoutEmpty(list)
	list, notes := withoutTops(list)
	notes = append(left, notes...)
	b := &slurmReader{list: list, line: map[string]int{}, switches: map[string]int{}, ports: make([]int, len(list)), next: map[string]network.End{}}
	for i, s := range list {
		if first := b.line[s.name]; first > 0 {
			return nil, fmt.Errorf("line %d: %s is given twice; first on line %d", s.line, brief(s.name), first)
		}
		b.line[s.name], b.switches[s.name] = s.line, i
	}
	for i, s := range list {
		b.ports[i] += len(s.below)
		for k, name := range s.below {
			if err := b.below(s, name, slices.Contains(s.below[:k], name)); err != nil {
				return nil, fmt.Errorf("line %d: %w", s.line, err)
			}
		}
	}
	if hosts := len(b.next); hosts == 0 || hosts+len(list) > maxNodes {
		return nil, fmt.Errorf("%s and %s: there must be nodes, and %d of both at most",
			show.Plural(hosts, "node", "nodes"), show.Plural(len(list), "switch", "switches"), maxNodes)
	}
	n, err := b.network()
	if err == nil {
		n.Notes, n.Guess = notes, "Slurm does not say how many cables join two switches, or how fast they are"
	}
	return n, err
}

// withoutEmpty leaves out switches without a name below, those above them alone, too, and says so.
func withoutEmpty(list []slurmSwitch) (left []slurmSwitch, notes []string) {
	for left = slices.Clone(list); ; {
		i := slices.IndexFunc(left, func(s slurmSwitch) bool { return s.empty })
		if i < 0 {
			return left, notes
		}
		name := left[i].name
		notes = append(notes, fmt.Sprintf("switch %s has no nodes: left out", name))
		left = slices.Delete(left, i, i+1)
		for k, s := range left {
			below := lists.Filter(s.below, func(b string) bool { return s.hosts || b != name })
			left[k].below, left[k].empty = below, s.empty || len(s.below) > 0 && len(below) == 0
		}
	}
}

// withoutTops leaves out switches at the top above one switch alone that is no leaf, again and
// again, and says so.
func withoutTops(list []slurmSwitch) (left []slurmSwitch, notes []string) {
	leaf := map[string]bool{}
	for _, s := range list {
		leaf[s.name] = s.hosts
	}
	for left = slices.Clone(list); ; {
		i := slices.IndexFunc(left, func(s slurmSwitch) bool {
			above := func(o slurmSwitch) bool { return slices.Contains(o.below, s.name) }
			return !s.hosts && len(s.below) == 1 && !leaf[s.below[0]] && !slices.ContainsFunc(left, above)
		})
		if i < 0 {
			return left, notes
		}
		notes = append(notes, fmt.Sprintf("switch %s is above %s alone: left out", left[i].name, left[i].below[0]))
		left = slices.Delete(left, i, i+1)
	}
}

// below adds a host, or counts a port of the switch below.
func (b *slurmReader) below(s slurmSwitch, name string, twice bool) error {
	if !s.hosts {
		i, ok := b.switches[name]
		switch {
		case !ok:
			return fmt.Errorf("switch %s has no line of its own", brief(name))
		case name == s.name || twice:
			return fmt.Errorf("switch %s is given twice", brief(name))
		}
		b.ports[i]++
		return nil
	}
	if first := b.line[name]; first > 0 {
		return fmt.Errorf("node %s is given twice; first on line %d", brief(name), first)
	}
	b.line[name] = s.line
	i := network.Info{Name: name, GUID: firstHost + hostStep*uint64(len(b.next))}
	i.Port = i.GUID + 1
	b.next[name] = network.End{Node: b.Host(i), Port: 1}
	return nil
}

func (b *slurmReader) network() (*network.Network, error) {
	for i, s := range b.list {
		if b.ports[i] > maxPorts {
			return nil, fmt.Errorf("line %d: switch %s has %d cables: must be 1..%d", s.line, brief(s.name), b.ports[i], maxPorts)
		}
		guid := firstSwitch + uint64(i)
		b.next[s.name] = network.End{Node: b.Switch(network.Info{Name: s.name, GUID: guid, Port: guid}, b.ports[i]), Port: 1}
	}
	for _, s := range b.list {
		for _, name := range s.below {
			if err := b.Cable(b.take(s.name), b.take(name)); err != nil {
				return nil, fmt.Errorf("line %d: %w", s.line, err)
			}
		}
	}
	return b.Build(), nil
}

// take returns the first free port of a node.
func (b *slurmReader) take(name string) network.End {
	e := b.next[name]
	b.next[name] = network.End{Node: e.Node, Port: e.Port + 1}
	return e
}
