package network

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/hostlist"
	"evbench/internal/show"
)

// Job is the adapters of the hosts of a job, in the order of their first ranks; adapters of a host
// follow one another.
type Job struct {
	Nodes []Node
	Slots int // ranks on each adapter
	// Names are the names in a list, each once, in their order; nil without a list.
	Names []string
	// Host is the host of each node, from 0 in their order. nil: each has one adapter.
	Host []int
	// Adapters are the names of nodes as adapters in a list, "" of hosts whose adapters it does not
	// name; nil without a list.
	Adapters []string
}

// Hosts returns the number of hosts.
func (j Job) Hosts() int {
	if j.Host == nil {
		return len(j.Nodes)
	}
	return j.Host[len(j.Host)-1] + 1
}

// OneHost reports whether two places are one, or adapters of one host (Job.Host): they have no message for each
// other over the network.
func OneHost(host []int, a, b int) bool { return a == b || host != nil && host[a] == host[b] }

// Rails numbers the adapters of each host from 0, and says how many the host has that has fewest. A ring over hosts takes
// one adapter of each, all of the same number.
func (j Job) Rails() (rail []int, each int) {
	rail, each = make([]int, len(j.Nodes)), len(j.Nodes)
	for i := range rail {
		if i > 0 && OneHost(j.Host, i-1, i) {
			rail[i] = rail[i-1] + 1
		}
		if i == len(rail)-1 || !OneHost(j.Host, i, i+1) {
			each = min(each, rail[i]+1)
		}
	}
	return rail, each
}

// BetweenRails reports whether no ring over hosts has a message between two adapters.
func (j Job) BetweenRails() func(a, b int) bool {
	rail, each := j.Rails()
	return func(a, b int) bool { return rail[a] != rail[b] || rail[a] >= each }
}

// AllHosts are all hosts of a network with one rank on each adapter, without those above leaves.
func AllHosts(n *Network) Job {
	h := Job{Slots: 1}
	h.Nodes, h.Host = n.grouped(n.Above())
	return h
}

// ReadJob reads the hosts of a job, in a form that hostlist.Read knows. A host listed several times
// has the sum of these slots. Names are the network's, with or without domain. A host with several
// adapters takes part with all, which divide its ranks, or with those that lines name. Unknown
// hosts and adapters, an adapter listed twice, and adapters with different numbers of ranks, are
// errors.
func ReadJob(r io.Reader, n *Network) (Job, error) {
	job, err := ReadSome(r, n)
	if err == nil && job.Hosts() < 2 {
		return Job{}, fmt.Errorf("%s: an exchange needs two", show.Plural(job.Hosts(), "host", "hosts"))
	}
	return job, err
}

// ReadSome is ReadJob for a part of a job's hosts, which may be one.
func ReadSome(r io.Reader, n *Network) (Job, error) {
	listed, err := hostlist.Read(r)
	if err != nil {
		return Job{}, err
	}
	in := jobReader{net: n, names: NewHostNames(n), at: map[string]int{}, of: map[Node]string{}, known: map[string]bool{}}
	if len(listed) == 1 && len(listed[0].Names) == 1 && in.hostToo(listed[0].Adapter) {
		listed[0].Names, listed[0].Adapter = []string{listed[0].Names[0], listed[0].Adapter}, ""
	}
	for _, x := range listed {
		for _, name := range x.Names {
			if err := in.add(x, name); err != nil {
				return Job{}, fmt.Errorf("line %d: %w", x.Line, err)
			}
		}
	}
	if len(in.hosts) == 0 {
		return Job{}, errors.New("0 hosts: an exchange needs two")
	}
	return in.job()
}

// Unequal says that two hosts have different numbers of ranks.
func Unequal(n *Network, a, b Node, slots map[Node]int) error {
	return unequal(n.Info(a).Name, n.Info(b).Name, slots[a], slots[b])
}

func unequal(a, b string, x, y int) error {
	return fmt.Errorf("%s has %s and %s has %d: hosts with equally many are judged", a, show.Plural(x, "rank", "ranks"), b, y)
}

// HostNames finds hosts by name, by its first word (adapters have names like "node001 HCA-1"), or
// by the names of Index, such as server3.
type HostNames struct {
	net   *Network
	index *Index
	word  func(Node) string // as of HostWords
	first map[string][]Node
	of    map[string][]Node // adapters of a host
	lower map[string]string // names of hosts in lower case, "" of several
}

func NewHostNames(n *Network) *HostNames {
	h := &HostNames{n, Names(n), n.HostWords(), map[string][]Node{}, map[string][]Node{}, map[string]string{}}
	short := map[string][]Node{} // names of the network without domain
	for v := range Node(n.Hosts()) {
		if word := h.word(v); word != "" {
			h.of[word] = append(h.of[word], v)
		}
		word, _, more := strings.Cut(n.Info(v).Name, " ")
		if more {
			h.first[word] = append(h.first[word], v)
		}
		if plain := hostlist.Plain(word); plain != word && h.word(v) != "" {
			short[plain] = append(short[plain], v)
		}
	}
	for name, own := range short {
		if h.of[name] == nil && h.first[name] == nil && h.index.byName[name] == nil {
			h.of[name], h.first[name] = own, own
		}
	}
	for name := range h.of {
		low := strings.ToLower(name)
		if _, again := h.lower[low]; again {
			h.lower[low] = ""
		} else {
			h.lower[low] = name
		}
	}
	return h
}

// known returns a name as the network has it: without its domain if it lacks the full name, or without that of an
// interface (node001-ib0), and in other case if it has none of them.
func (h *HostNames) known(name string) string {
	for _, called := range []string{name, hostlist.Plain(name), ofInterface().ReplaceAllString(hostlist.Plain(name), "")} {
		if h.of[called] != nil || h.count(called) > 0 {
			return called
		}
	}
	for _, called := range []string{name, hostlist.Plain(name)} {
		if own := h.lower[strings.ToLower(called)]; own != "" {
			return own
		}
	}
	return hostlist.Plain(name)
}

// ofInterface ends the name of a host's interface in /etc/hosts.
var ofInterface = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-_.](?:ib|hsn|opa|hfi|roce|eth)\d*$`) })

// Find returns the host of a name, and that name, without its domain if the network lacks the full
// name.
func (h *HostNames) Find(name string) (Node, string, error) {
	called := h.known(name)
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

// All is Find for hosts with any number of adapters, which are in the order of their names.
func (h *HostNames) All(name string) ([]Node, string, error) {
	called := h.known(name)
	if own := h.of[called]; len(own) > 1 {
		own = slices.Clone(own)
		h.net.sortAdapters(own)
		return own, called, nil
	}
	v, called, err := h.Find(name)
	return []Node{v}, called, err
}

func (h *HostNames) count(name string) int {
	if n := len(h.first[name]); n > 0 {
		return n
	}
	return h.index.Count(name)
}

// HostsOn returns the hosts of a switch by number, if all have names like server3 or h3, else by
// port.
func (n *Network) HostsOn(s Node) (hosts []Node) {
	number, all := map[Node]int{}, true
	for _, e := range n.Ends(s) {
		if e.Node != NoNode && n.IsHost(e.Node) {
			hosts = append(hosts, e.Node)
			at, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(n.info[e.Node].Name, "server"), "h"))
			number[e.Node], all = at, all && err == nil
		}
	}
	if all {
		slices.SortStableFunc(hosts, func(a, b Node) int { return cmp.Compare(number[a], number[b]) })
	}
	return hosts
}

// Addresses takes the addresses from hosts of a list that have one, as "node001@10.0.0.1", and returns the
// list without them, and the names by address. What stands before another @ is a user.
func Addresses(list string, n *Network) (plain string, names map[string]string, err error) {
	names = map[string]string{}
	known := NewHostNames(n)
	plain = addressed.ReplaceAllStringFunc(list, func(item string) string {
		name, address, _ := strings.Cut(item, "@")
		if _, wrong := netip.ParseAddr(address); wrong != nil {
			return item
		} else if _, _, wrong := known.Find(name); wrong != nil {
			return item // a user
		}
		if other, taken := names[address]; taken && other != name {
			err = fmt.Errorf("%s is the address of %s and of %s", address, other, name)
		}
		names[address] = name
		return name
	})
	return plain, names, err
}

var addressed = regexp.MustCompile(`[^\s,@]+@[0-9A-Fa-f.:]+`)
