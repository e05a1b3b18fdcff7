package netfile

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"evbench/site/network"
)

// maxID is the longest name of a node in ibsim.
const maxID = 63

type sim struct {
	*adapters
	seen map[string]int // how often a name is used
}

// WriteSim writes a network for ibsim, without LIDs: they come from the subnet manager's own file,
// see WriteGUID2LID. It leaves out nodes without cables.
//
// The port of an adapter has the adapter's GUID plus its number there, so an adapter with one port
// gets the GUID that gives its port the right one. A node has its own name where ibsim allows it
// and no other node has it. Otherwise it has ibnetdiscover's name, with its own as a comment.
func WriteSim(w io.Writer, n *network.Network) error {
	s := sim{group(n), map[string]int{}}
	switches := shown(n)
	if err := s.distinct(switches); err != nil {
		return err
	}
	for i := range s.ports {
		s.seen[s.name(i)]++
	}
	for _, v := range switches {
		s.seen[printable(n.Info(v).Name)]++
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n", title(n))
	for _, v := range switches {
		fmt.Fprintf(out, "switchguid=0x%x\nSwitch %d %s\n", n.Info(v).GUID, len(n.Ends(v)), s.called(v))
		for p, e := range n.Ends(v) {
			if e.Node != network.NoNode {
				fmt.Fprintf(out, "[%d] %s[%d]\n", p+1, s.id(e.Node), s.portOf(e))
			} else if v := n.Behind(v, p+1); v != network.NoNode {
				fmt.Fprintf(out, "[%d] \"%s\"[%d]\n", p+1, otherID(n.Info(v)), otherPort(n.Info(v)))
			}
		}
		fmt.Fprintln(out)
	}
	for i, hosts := range s.ports {
		guid, err := s.guid(hosts)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "caguid=0x%x\nCa %d %s\n", guid, s.size(i), s.called(hosts[0]))
		for _, h := range hosts {
			e := n.Leaf(h)
			fmt.Fprintf(out, "[%d] %s[%d]\n", s.port[h], s.id(e.Node), e.Port)
		}
		fmt.Fprintln(out)
	}
	for k := range n.Others() {
		i, e := n.Info(n.Other(k)), n.Leaf(n.Other(k))
		if e.Node != network.NoNode {
			kind, port := otherKind(n, n.Other(k)), otherPort(i)
			fmt.Fprintf(out, "%sguid=0x%x\n%s %d \"%s\" # \"%s\"\n[%d] %s[%d]\n\n", strings.ToLower(kind), i.Port-uint64(port), kind, port, otherID(i), printable(i.Name), port, s.id(e.Node), e.Port)
		}
	}
	return out.Flush()
}

func (s sim) portOf(e network.End) int {
	if s.n.IsHost(e.Node) {
		return s.port[e.Node]
	}
	return int(e.Port)
}

func (s sim) guid(hosts []network.Node) (uint64, error) {
	first := s.n.Info(hosts[0])
	guid := first.Port - uint64(s.port[hosts[0]])
	for _, h := range hosts {
		if i := s.n.Info(h); i.Port != guid+uint64(s.port[h]) {
			return 0, fmt.Errorf("%s: port GUID 0x%016x: ibsim numbers the ports of an adapter one after the other, from 0x%016x",
				brief(i.Name), i.Port, first.Port)
		}
	}
	return guid, nil
}

func (s sim) nodeName(v network.Node) string {
	if s.n.IsHost(v) {
		return s.name(s.of[v])
	}
	return printable(s.n.Info(v).Name)
}

func (s sim) id(v network.Node) string {
	name := s.nodeName(v)
	if name != "" && len(name) <= maxID && s.seen[name] == 1 && !strings.ContainsAny(name, `"#@`) {
		return `"` + name + `"`
	}
	letter := "S"
	if s.n.IsHost(v) {
		letter = "H"
	}
	return fmt.Sprintf(`"%s-%016x"`, letter, s.n.Info(v).GUID)
}

// called returns the written name of a node and, if it differs, the node's own name.
func (s sim) called(v network.Node) string {
	id, name := s.id(v), s.nodeName(v)
	if id == `"`+name+`"` {
		return id
	}
	return fmt.Sprintf("%s # \"%s\"", id, name)
}
