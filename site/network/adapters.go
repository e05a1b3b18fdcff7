package network

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// Patterns for descriptions that name the maker of an adapter and no host, for first words that are
// no host's name, as of one that had none yet or of a device, and for the end of an adapter's port.
var (
	ofMaker  = regexp.MustCompile(`(?i)mellanox|connectx|infinihost|infiniband|omni-?path`)
	noHost   = regexp.MustCompile(`(?i)^(?:localhost(?:\.\S*)?|\(none\)|(?:mlx[45]|hfi1|qib|bnxt_re|irdma|rxe)_?\d+|hca-\d+)$`)
	portEnds = regexp.MustCompile(`:\d+$`)
)

// HostName returns the first word of the description of an adapter, or what it names alone.
func (n *Network) HostName(v Node) string {
	name, _, _ := strings.Cut(n.info[v].Name, " ")
	return name
}

// HostWords returns what gives the host in the description of an adapter, its first word; "" if it names
// none. A word names none, either, where two adapters have one description with it and a device: a host
// has each device once.
func (n *Network) HostWords() func(Node) string {
	guid, several := map[string]uint64{}, map[string]bool{}
	for v := range Node(n.hosts) {
		i := n.info[v]
		if own, again := guid[i.Name]; again && own != i.GUID && strings.Contains(i.Name, " ") {
			several[n.hostWord(v)] = true
		}
		guid[i.Name] = i.GUID
	}
	return func(v Node) string {
		if word := n.hostWord(v); !several[word] {
			return word
		}
		return ""
	}
}

// HostsNote says that some adapters do not name their hosts; "": all do.
func (n *Network) HostsNote() string {
	word, names := n.HostWords(), []string(nil)
	for v := range Node(n.hosts) {
		if word(v) == "" {
			names = append(names, n.info[v].Name)
		}
	}
	if len(names) < 2 {
		return ""
	}
	return fmt.Sprintf("%d adapters do not say which host they are in, such as %s: each is taken for a host of its own", len(names), brief(names[0]))
}

// hostWord is HostWords of one description alone.
func (n *Network) hostWord(v Node) string {
	words := strings.Fields(n.info[v].Name)
	switch {
	case len(words) == 0 || len(words) > 1 && ofMaker.MatchString(n.info[v].Name) || noHost.MatchString(words[0]):
		return ""
	case len(words) == 1:
		return portEnds.ReplaceAllString(words[0], "") // node1:2 is port 2 of an adapter called node1
	}
	return words[0]
}

// grouped sorts nodes by host, and within a host by name, and returns the host of each node.
// Adapters belong to one host if their descriptions begin with the same word, or if they are ports
// of one adapter. host is nil if no host has several. Some are left out.
func (n *Network) grouped(out []Node) (nodes []Node, host []int) {
	type key struct {
		word string
		guid uint64
		node Node
	}
	word := n.HostWords()
	all := lists.Filter(lists.Range[Node](n.hosts), func(v Node) bool { return !slices.Contains(out, v) })
	hosts := lists.Groups(all, func(v Node) key {
		k := key{word: word(v)}
		if k.guid = n.info[v].GUID; k.word != "" {
			k.guid = 0
		} else if k.guid == 0 {
			k.node = v
		}
		return k
	})
	if len(hosts) == len(all) {
		return all, nil
	}
	for at, own := range hosts {
		n.sortAdapters(own)
		nodes, host = append(nodes, own...), append(host, slices.Repeat([]int{at}, len(own))...)
	}
	return nodes, host
}

func (n *Network) sortAdapters(own []Node) {
	slices.SortStableFunc(own, func(a, b Node) int { return hostlist.Compare(n.info[a].Name, n.info[b].Name) })
}

// A jobReader collects the hosts of a job.
type jobReader struct {
	net   *Network
	names *HostNames
	hosts []jobHost
	at    map[string]int  // by name, in hosts
	of    map[Node]string // the host of an adapter
	// called are the names in the list, each once: two names may belong to one host.
	called []string
	known  map[string]bool
}

// A jobHost is a host with its adapters in the job. ranks belong to the host if the list names only
// hosts, else to each adapter.
type jobHost struct {
	name     string
	nodes    []Node
	adapters []string // as lines name them
	named    bool     // adapters by a line each
	ranks    []int
	line     int // the last
}

// add adds a host or, with an adapter, that adapter.
func (r *jobReader) add(x hostlist.Entry, name string) error {
	nodes, called, err := r.nodes(x.Adapter, name)
	if err != nil {
		return err
	}
	if !r.known[called] {
		r.known[called] = true
		r.called = append(r.called, called)
	}
	if other := r.of[nodes[0]]; other != "" && x.Adapter == "" {
		called = other
	}
	at, there := r.at[called]
	if !there {
		at = len(r.hosts)
		r.at[called], r.hosts = at, append(r.hosts, jobHost{name: called, named: x.Adapter != "", nodes: nodes, ranks: []int{0}})
	}
	h := &r.hosts[at]
	switch {
	case h.named != (x.Adapter != ""):
		return fmt.Errorf("host %s has a line of its own and lines for adapters", hostlist.Short(called))
	case there && h.named:
		h.nodes, h.ranks = append(h.nodes, nodes...), append(h.ranks, 0)
	}
	if !there || h.named {
		h.adapters = append(h.adapters, slices.Repeat([]string{x.Adapter}, len(nodes))...)
	}
	for _, v := range nodes {
		if other, taken := r.of[v]; taken && (h.named || other != called) {
			if other == called {
				return fmt.Errorf("adapter %s of host %s is named twice", r.net.info[v].Name, hostlist.Short(called))
			}
			return fmt.Errorf("%s is of host %s and of host %s", r.net.info[v].Name, hostlist.Short(other), hostlist.Short(called))
		}
		r.of[v] = called
	}
	last := len(h.ranks) - 1
	h.line = x.Line
	if h.ranks[last] += x.Slots; h.ranks[last] > hostlist.MaxSlots {
		return fmt.Errorf("more than %d ranks on %s", hostlist.MaxSlots, hostlist.Short(called))
	}
	return nil
}

// hostToo reports whether a second word in a line is another host, and no adapter of the first.
func (r *jobReader) hostToo(word string) bool {
	return word != "" && r.names.count(r.names.known(word)) == 1
}

// nodes returns the adapters of a host, or the named one, and the name of the host.
func (r *jobReader) nodes(adapter, name string) ([]Node, string, error) {
	if adapter == "" {
		return r.names.All(name)
	}
	own, called, unknown := r.names.All(name)
	if unknown == nil {
		name = called
	}
	if found := r.names.index.byName[name+" "+adapter]; len(found) == 1 && r.net.IsHost(found[0]) {
		return found, name, nil
	}
	v, err := r.names.index.Node(adapter)
	switch {
	case err == nil && r.net.IsHost(v):
	case unknown == nil:
		return nil, "", fmt.Errorf("host %s has no adapter %s in the network; it has %s", hostlist.Short(name), hostlist.Short(adapter), show.Few(r.net.adapterNames(own)))
	default:
		return nil, "", fmt.Errorf("adapter %s of host %s is not in the network", hostlist.Short(adapter), hostlist.Short(name))
	}
	if word := r.names.word(v); word != "" && word != name && (strings.Contains(r.net.info[v].Name, " ") || len(r.names.of[word]) > 1) {
		return nil, "", fmt.Errorf("adapter %s is of host %s, not of %s", hostlist.Short(adapter), word, hostlist.Short(name))
	}
	return []Node{v}, name, nil
}

func (n *Network) adapterNames(nodes []Node) (names []string) {
	return lists.Map(nodes, func(v Node) string { return strings.TrimPrefix(n.info[v].Name, n.hostWord(v)+" ") })
}

// job divides the ranks of each host over its adapters, in their order. A host listed with one rank
// has one on each.
func (r *jobReader) job() (Job, error) {
	out := Job{Names: r.called}
	var first jobHost
	one := true
	for at, h := range r.hosts {
		each := h.ranks[0]
		if n := len(h.nodes); !h.named && n > 1 && each > 1 {
			if each%n != 0 {
				return Job{}, fmt.Errorf("line %d: %s has %d ranks and %d adapters: its adapters have equally many ranks; or name those that take part, HOST ADAPTER a line",
					h.line, h.name, each, n)
			}
			each /= n
		}
		for _, ranks := range h.ranks[1:] {
			if ranks != each {
				return Job{}, fmt.Errorf("line %d: adapters of %s have %d and %d ranks: adapters with equally many are judged", h.line, h.name, each, ranks)
			}
		}
		if at == 0 {
			first, out.Slots = h, each
		}
		if each != out.Slots {
			return Job{}, fmt.Errorf("line %d: %w", max(first.line, h.line), unequal(first.name, h.name, out.Slots, each))
		}
		one = one && len(h.nodes) == 1
		out.Nodes, out.Adapters = append(out.Nodes, h.nodes...), append(out.Adapters, h.adapters...)
		out.Host = append(out.Host, slices.Repeat([]int{at}, len(h.nodes))...)
	}
	if one {
		out.Host = nil
	}
	return out, nil
}
