package network

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/show"
)

// Job is the hosts of a job, in the order of their first ranks.
type Job struct {
	Nodes []Node
	Slots int // ranks on each host
	// Names are those that a list has, each once, in their order; nil where there is no list.
	Names []string
}

// AllHosts are all hosts of a network with one rank each.
func AllHosts(n *Network) Job {
	h := Job{Slots: 1}
	for v := range Node(n.Hosts()) {
		h.Nodes = append(h.Nodes, v)
	}
	return h
}

// ReadJob reads which hosts of a network a job has, in a form that hostlist.Read knows. A host
// that comes several times has as many slots as these add up to. Names are as the network has them,
// so without their domain where it has them without. Hosts that the network does not have, and
// hosts with different numbers of ranks, are errors.
func ReadJob(r io.Reader, n *Network) (Job, error) {
	listed, err := hostlist.Read(r)
	if err != nil {
		return Job{}, err
	}
	slots, last, order, called := map[Node]int{}, map[Node]int{}, []Node(nil), []string(nil)
	names, known := NewHostNames(n), map[string]bool{}
	for _, x := range listed {
		for _, name := range x.Names {
			v, name, err := names.Find(name)
			if err != nil {
				return Job{}, fmt.Errorf("line %d: %w", x.Line, err)
			}
			last[v] = x.Line
			if slots[v] == 0 {
				order = append(order, v)
			}
			if !known[name] {
				known[name], called = true, append(called, name)
			}
			if slots[v] += x.Slots; slots[v] > hostlist.MaxSlots {
				return Job{}, fmt.Errorf("line %d: more than %d ranks on %s", x.Line, hostlist.MaxSlots, name)
			}
		}
	}
	if len(order) < 2 {
		return Job{}, fmt.Errorf("%s: an exchange needs two", show.Plural(len(order), "host", "hosts"))
	}
	for _, v := range order {
		if slots[v] != slots[order[0]] {
			return Job{}, fmt.Errorf("line %d: %w", max(last[order[0]], last[v]), Unequal(n, order[0], v, slots))
		}
	}
	return Job{order, slots[order[0]], called}, nil
}

// Unequal says that two hosts have different numbers of ranks.
func Unequal(n *Network, a, b Node, slots map[Node]int) error {
	return fmt.Errorf("%s has %s and %s has %d: hosts with equally many are judged",
		n.Info(a).Name, show.Plural(slots[a], "rank", "ranks"), n.Info(b).Name, slots[b])
}

// HostNames finds hosts by name, by the first word of it (adapters call themselves "node001
// HCA-1"), or by what Index knows, such as server3.
type HostNames struct {
	net   *Network
	index *Index
	first map[string][]Node
}

func NewHostNames(n *Network) *HostNames {
	h := &HostNames{n, Names(n), map[string][]Node{}}
	for v := range Node(n.Hosts()) {
		if word, _, more := strings.Cut(n.Info(v).Name, " "); more {
			h.first[word] = append(h.first[word], v)
		}
	}
	return h
}

// Find returns the host of a name, and that name; without its domain where the network does not
// have it with it.
func (h *HostNames) Find(name string) (Node, string, error) {
	called := name
	if _, err := netip.ParseAddr(name); err != nil && h.count(name) == 0 {
		called, _, _ = strings.Cut(name, ".")
	}
	switch n := h.count(called); {
	case n == 0:
		return 0, name, fmt.Errorf("host %s is not in the network", hostlist.Short(name))
	case n > 1:
		return 0, name, fmt.Errorf("the network has %d hosts or adapters called %s: hosts with one are judged", n, hostlist.Short(called))
	case len(h.first[called]) == 1:
		return h.first[called][0], called, nil
	}
	v, err := h.index.Node(called)
	if err == nil && !h.net.IsHost(v) {
		err = fmt.Errorf("%s is a switch, not a host", hostlist.Short(called))
	}
	return v, called, err
}

func (h *HostNames) count(name string) int {
	if n := len(h.first[name]); n > 0 {
		return n
	}
	return h.index.Count(name)
}
