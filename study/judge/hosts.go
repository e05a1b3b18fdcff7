package judge

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/topology/network"
)

// Hosts are those of a job, in the order of their first ranks.
type Hosts struct {
	Nodes []network.Node
	Slots int // ranks on each host
}

// AllHosts are all hosts of a network with one rank each.
func AllHosts(n *network.Network) Hosts {
	h := Hosts{Slots: 1}
	for v := range network.Node(n.Hosts()) {
		h.Nodes = append(h.Nodes, v)
	}
	return h
}

// maxLine bounds a line of a list of hosts.
const maxLine = 16 << 20

// ReadHosts reads which hosts a job has: lines of a hostfile of Open MPI ("name slots=4",
// "name"), of MPICH and Intel MPI ("name:4"), or host list expressions of Slurm
// ("node[001-016]"), each with comments after #. A host on several lines has as many slots
// as these add up to. Hosts that the network does not have, and hosts with different numbers
// of ranks, are errors.
func ReadHosts(r io.Reader, n *network.Network) (Hosts, error) {
	slots, order := map[network.Node]int{}, []network.Node(nil)
	names := newHostNames(n)
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	line := 0
	for scan.Scan() {
		line++
		text, _, _ := strings.Cut(scan.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		list, count, err := parseHosts(text)
		if err != nil {
			return Hosts{}, fmt.Errorf("line %d: %w", line, err)
		}
		for _, name := range list {
			v, err := names.find(name)
			if err != nil {
				return Hosts{}, fmt.Errorf("line %d: %w", line, err)
			}
			if slots[v] == 0 {
				order = append(order, v)
			}
			if slots[v] += count; slots[v] > maxSlots {
				return Hosts{}, fmt.Errorf("line %d: more than %d ranks on %s", line, maxSlots, name)
			}
		}
	}
	if err := scan.Err(); err != nil {
		return Hosts{}, fmt.Errorf("line %d: %w", line+1, err)
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
	return Hosts{order, slots[order[0]]}, nil
}

const maxSlots = 4096

// parseHosts reads a line: names, and how many slots each has.
func parseHosts(text string) (names []string, slots int, err error) {
	f := strings.Fields(text)
	expr, slots := f[0], 1
	if i := strings.LastIndexByte(expr, ':'); i >= 0 {
		if slots, err = parseSlots(expr[i+1:]); err != nil {
			return nil, 0, err
		}
		expr = expr[:i]
	}
	for _, word := range f[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "slots":
			if slots, err = parseSlots(value); err != nil {
				return nil, 0, err
			}
		case "max_slots", "max-slots":
		default:
			return nil, 0, fmt.Errorf("%q after a host: there is slots=N", brief(word))
		}
	}
	names, err = hostlist.Expand(expr)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%q names no host", brief(text))
	}
	return names, slots, err
}

func parseSlots(s string) (int, error) {
	k, err := strconv.Atoi(s)
	if err != nil || k < 1 || k > maxSlots {
		return 0, fmt.Errorf("slots %q: must be 1..%d", brief(s), maxSlots)
	}
	return k, nil
}

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
