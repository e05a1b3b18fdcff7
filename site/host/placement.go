package host

import (
	"fmt"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/topology"
)

// A Server is one server of a run with its host.
type Server struct {
	Rank int
	Host string
	Nth  int // of the servers on this host, from 0
	// Address is the address of its adapter, for data; "": the host has one adapter, or the launch
	// chooses.
	Address string
}

// adapter splits the name of an adapter, HOST@ADDRESS, or of a host.
func adapter(name string) (host, address string) {
	host, address, _ = strings.Cut(name, "@")
	return host, address
}

// Name is the name of the server in a list.
func (s Server) Name() string {
	if s.Address == "" {
		return s.Host
	}
	return s.Host + "@" + s.Address
}

// A Placement says on which leaf each host is.
type Placement struct {
	leaf  map[string]int // by host
	short map[string]int // by the part before the first dot; two leaves: ambiguous
	names []string       // of the leaves, for messages
	// cabled: the leaves are those of a network, in order of their names, and the scenario may use
	// only some. Otherwise they are the scenario's.
	cabled bool
}

// Place puts hosts on the servers of a tree. A host named n times is n servers, and each of its
// adapters, HOST@ADDRESS, is one. Without a placement (nil) hosts fill the tree in order of the
// positions; with one, each leaf takes its hosts in order of the list.
func Place(t *topology.Shape, hosts []string, p *Placement) ([]Server, error) {
	if len(hosts) != t.Servers() {
		return nil, fmt.Errorf("hosts: %s for %s of %s", show.Plural(len(hosts), "name", "names"), servers(t.Servers()), t.Notation())
	}
	byRank := hosts
	if p != nil {
		var err error
		if byRank, err = p.order(t, hosts); err != nil {
			return nil, err
		}
	}
	nth, seen := map[string]int{}, map[string]int{} // servers of a host, and of a name
	out := make([]Server, len(byRank))
	for rank, name := range byRank {
		host, address := adapter(name)
		switch {
		case address != "" && seen[name] > 0:
			return nil, fmt.Errorf("hosts: adapter %s is named twice", name)
		case (address != "") == (seen[host] > 0) && nth[host] > 0:
			return nil, fmt.Errorf("hosts: %s is named with and without the address of an adapter", host)
		}
		out[rank] = Server{Rank: rank, Host: host, Nth: nth[host], Address: address}
		nth[host]++
		seen[name]++
	}
	return out, nil
}

type Host struct {
	Host    string
	Servers int
}

// Counted lists the hosts of servers, each once, in order of their first server.
func Counted(servers []Server) []Host {
	byHost := lists.Groups(servers, func(s Server) string { return s.Host })
	return lists.Map(byHost, func(own []Server) Host { return Host{own[0].Host, len(own)} })
}

func servers(n int) string { return show.Plural(n, "server", "servers") }

func (p *Placement) order(t *topology.Shape, hosts []string) ([]string, error) {
	on, err := p.byLeaf(hosts)
	if err != nil {
		return nil, err
	}
	leaves, err := p.leavesOf(t, on)
	if err != nil {
		return nil, err
	}
	var wrong []string
	byRank := make([]string, 0, len(hosts))
	for leaf, i := range leaves {
		var have []string
		if i >= 0 {
			have = on[i]
		}
		if len(have) != t.ServersOn(leaf) {
			wrong = append(wrong, p.mismatch(leaf, i, have, t.ServersOn(leaf)))
		}
		byRank = append(byRank, have...)
	}
	if wrong != nil {
		return nil, fmt.Errorf("placement does not fit %s: %s", t.Notation(), strings.Join(wrong, "; "))
	}
	return byRank, nil
}

func (p *Placement) mismatch(leaf, i int, have []string, want int) string {
	name := fmt.Sprintf("leaf%d", leaf)
	if p.cabled && i >= 0 {
		name += " (" + p.names[i] + ")"
	}
	text := fmt.Sprintf("%s has %s for %s", name, show.Plural(len(have), "host", "hosts"), servers(want))
	if len(have) > 0 {
		text += ": " + hostlist.Compress(have)
	}
	return text
}

func (p *Placement) byLeaf(hosts []string) ([][]string, error) {
	on := make([][]string, len(p.names))
	var strangers []string
	for _, h := range hosts {
		leaf, ok := p.find(h)
		if !ok {
			strangers = append(strangers, h)
			continue
		}
		on[leaf] = append(on[leaf], h)
	}
	if strangers != nil {
		return nil, fmt.Errorf("placement does not name %s", hostlist.Compress(strangers))
	}
	return on, nil
}

// ambiguous is the leaf of a short name with hosts on several leaves.
const ambiguous = -1

// find looks a host up by its whole name. A name with a domain also finds the name without, and
// vice versa.
func (p *Placement) find(host string) (leaf int, ok bool) {
	if leaf, ok = p.leaf[host]; ok {
		return leaf, true
	}
	host, _ = adapter(host)
	if leaf, ok = p.leaf[host]; ok {
		return leaf, true
	}
	if short := shortName(host); short != host {
		leaf, ok = p.leaf[short]
		return leaf, ok
	}
	leaf, ok = p.short[host]
	return leaf, ok && leaf != ambiguous
}

// shortName returns a name without its domain; an address is unchanged.
func shortName(host string) string {
	if host == "" || host[0] >= '0' && host[0] <= '9' || strings.Contains(host, "@") {
		return host
	}
	short, _, _ := strings.Cut(host, ".")
	return short
}

// put places a host. A host with two adapters may have both on one leaf, not on two.
func (p *Placement) put(host string, leaf int) error {
	if other, ok := p.leaf[host]; ok && other != leaf {
		return fmt.Errorf("placement: %s is on %s and on %s", host, p.names[other], p.names[leaf])
	}
	p.leaf[host] = leaf
	short := shortName(host)
	if other, ok := p.short[short]; ok && other != leaf {
		leaf = ambiguous
	}
	p.short[short] = leaf
	return nil
}

// leavesOf returns for each leaf of the tree the leaf of the placement, -1 for none.
func (p *Placement) leavesOf(t *topology.Shape, on [][]string) ([]int, error) {
	leaves := lists.Range[int](t.Leaves())
	if len(p.names) == t.Leaves() {
		return leaves, nil
	}
	if !p.cabled {
		for i := t.Leaves(); i < len(on); i++ {
			if len(on[i]) > 0 {
				return nil, fmt.Errorf("placement: %s is on leaf%d; %s has leaf0..leaf%d", hostlist.Compress(on[i]), i, t.Notation(), t.Leaves()-1)
			}
		}
		for i := len(on); i < t.Leaves(); i++ {
			leaves[i] = -1
		}
		return leaves, nil
	}
	return p.usedLeaves(t, on)
}

// usedLeaves assigns the leaf switches with hosts, in order, to the leaves of the tree with
// servers.
func (p *Placement) usedLeaves(t *topology.Shape, on [][]string) ([]int, error) {
	var used []int
	var names []string
	for i, hosts := range on {
		if len(hosts) > 0 {
			used = append(used, i)
			names = append(names, p.names[i])
		}
	}
	leaves := make([]int, t.Leaves())
	next, want := 0, 0
	for leaf := range leaves {
		leaves[leaf] = -1
		if t.ServersOn(leaf) == 0 {
			continue
		}
		if want++; next < len(used) {
			leaves[leaf] = used[next]
			next++
		}
	}
	if want != len(used) {
		return nil, fmt.Errorf("placement: the hosts are on %s (%s); %s has servers on %d",
			show.Plural(len(used), "leaf switch", "leaf switches"), hostlist.Compress(names), t.Notation(), want)
	}
	return leaves, nil
}
