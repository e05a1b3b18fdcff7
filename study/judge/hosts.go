package judge

import (
	"fmt"
	"io"
	"strings"

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
// host that comes several times has as many slots as these add up to. Hosts that the network
// does not have, and hosts with different numbers of ranks, are errors.
func ReadHosts(r io.Reader, n *network.Network) (Hosts, error) {
	lines, err := hostLines(r)
	if err != nil {
		return Hosts{}, err
	}
	listed, err := formOf(lines)(lines)
	if err != nil {
		return Hosts{}, err
	}
	slots, order, called := map[network.Node]int{}, []network.Node(nil), []string(nil)
	names, known := newHostNames(n), map[string]bool{}
	for _, x := range listed {
		for _, name := range x.names {
			v, err := names.find(name)
			if err != nil {
				return Hosts{}, fmt.Errorf("line %d: %w", x.line, err)
			}
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
		return Hosts{}, fmt.Errorf("%d hosts: an exchange needs two", len(order))
	}
	for _, v := range order {
		if slots[v] != slots[order[0]] {
			return Hosts{}, fmt.Errorf("%s has %d ranks and %s has %d: hosts with equally many are judged",
				n.Info(order[0]).Name, slots[order[0]], n.Info(v).Name, slots[v])
		}
	}
	return Hosts{order, slots[order[0]], called}, nil
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

func (h *hostNames) find(name string) (network.Node, error) {
	switch found := h.first[name]; len(found) {
	case 0:
	case 1:
		return found[0], nil
	default:
		return 0, fmt.Errorf("host %s has %d adapters in the network: hosts with one are judged", brief(name), len(found))
	}
	v, err := h.index.Node(name)
	if err != nil {
		return 0, fmt.Errorf("host %s is not in the network", brief(name))
	}
	if !h.net.IsHost(v) {
		return 0, fmt.Errorf("%s is a switch, not a host", brief(name))
	}
	return v, nil
}
