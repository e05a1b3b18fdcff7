package judge

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"evbench/internal/show"
	"evbench/topology/network"
)

// Hosts are those of a job, in the order of their first ranks.
type Hosts struct {
	Nodes []network.Node
	Slots int // ranks on each host
	// Names are those that a list has, each once, in their order; nil where there is no list.
	Names []string
}

// AllHosts are all hosts of a network with one rank each.
func AllHosts(n *network.Network) Hosts {
	h := Hosts{Slots: 1}
	for v := range network.Node(n.Hosts()) {
		h.Nodes = append(h.Nodes, v)
	}
	return h
}

// ReadHosts reads which hosts a job has, in one of the forms of hostforms.go: a hostfile, what
// mpirun shows of its allocation and map, Slurm's variables, or what srun -l hostname prints. A
// host that comes several times has as many slots as these add up to. Names are as the network has
// them, so without their domain where it has them without. Hosts that the network does not have,
// and hosts with different numbers of ranks, are errors.
func ReadHosts(r io.Reader, n *network.Network) (Hosts, error) {
	listed, err := listedHosts(r)
	if err != nil {
		return Hosts{}, err
	}
	slots, last, order, called := map[network.Node]int{}, map[network.Node]int{}, []network.Node(nil), []string(nil)
	names, known := newHostNames(n), map[string]bool{}
	for _, x := range listed {
		for _, name := range x.names {
			v, name, err := names.find(name)
			if err != nil {
				return Hosts{}, fmt.Errorf("line %d: %w", x.line, err)
			}
			last[v] = x.line
			if slots[v] == 0 {
				order = append(order, v)
			}
			if !known[name] {
				known[name], called = true, append(called, name)
			}
			if slots[v] += x.slots; slots[v] > maxSlots {
				return Hosts{}, fmt.Errorf("line %d: more than %d ranks on %s", x.line, maxSlots, name)
			}
		}
	}
	if len(order) < 2 {
		return Hosts{}, fmt.Errorf("%s: an exchange needs two", show.Plural(len(order), "host", "hosts"))
	}
	for _, v := range order {
		if slots[v] != slots[order[0]] {
			return Hosts{}, fmt.Errorf("line %d: %w", max(last[order[0]], last[v]), unequal(n, order[0], v, slots))
		}
	}
	return Hosts{order, slots[order[0]], called}, nil
}

// unequal says that two hosts have different numbers of ranks.
func unequal(n *network.Network, a, b network.Node, slots map[network.Node]int) error {
	return fmt.Errorf("%s has %s and %s has %d: hosts with equally many are judged",
		n.Info(a).Name, show.Plural(slots[a], "rank", "ranks"), n.Info(b).Name, slots[b])
}

const maxSlots = 4096

func brief(s string) string {
	if len(s) <= 60 {
		return s
	}
	return s[:57] + "…"
}

// hostNames find hosts by name, by the first word of it (adapters call themselves "node001
// HCA-1"), or by what package network knows, such as server3.
type hostNames struct {
	net   *network.Network
	index *network.Index
	first map[string][]network.Node
}

func newHostNames(n *network.Network) *hostNames {
	h := &hostNames{n, network.Names(n), map[string][]network.Node{}}
	for v := range network.Node(n.Hosts()) {
		if word, _, more := strings.Cut(n.Info(v).Name, " "); more {
			h.first[word] = append(h.first[word], v)
		}
	}
	return h
}

// find returns the host of a name, and that name; without its domain where the network does not
// have it with it.
func (h *hostNames) find(name string) (network.Node, string, error) {
	called := name
	if _, err := netip.ParseAddr(name); err != nil && h.count(name) == 0 {
		called, _, _ = strings.Cut(name, ".")
	}
	switch n := h.count(called); {
	case n == 0:
		return 0, name, fmt.Errorf("host %s is not in the network", brief(name))
	case n > 1:
		return 0, name, fmt.Errorf("the network has %d hosts or adapters called %s: hosts with one are judged", n, brief(called))
	case len(h.first[called]) == 1:
		return h.first[called][0], called, nil
	}
	v, err := h.index.Node(called)
	if err == nil && !h.net.IsHost(v) {
		err = fmt.Errorf("%s is a switch, not a host", brief(called))
	}
	return v, called, err
}

// count returns how many nodes a name may mean.
func (h *hostNames) count(name string) int {
	if n := len(h.first[name]); n > 0 {
		return n
	}
	return h.index.Count(name)
}
