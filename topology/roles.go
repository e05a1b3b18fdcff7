package topology

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/hostlist"
)

// roles say which servers read and which build, by rank.
type roles struct {
	reads, builds     []bool
	readers, builders []int // by leaf: how many
	allRead, allBuild int
}

// WithRoles returns a view of t in which only some servers read, that is send fragments, and only
// some build, that is receive them. A list is for example "server0-11,leaf3" or, in the names of a
// network, "node[001-024],edge3"; "" is every server.
// Each server has one role or both; a server without a role takes no part. O(S).
func (t *Tree) WithRoles(readers, builders string) (*Tree, error) {
	r := &roles{}
	var err error
	if r.reads, err = t.chosen("reader", readers); err != nil {
		return nil, err
	}
	if r.builds, err = t.chosen("builder", builders); err != nil {
		return nil, err
	}
	r.readers, r.builders = make([]int, t.leaves), make([]int, t.leaves)
	partner := false
	for rank, leaf := range t.LeafOfRanks() {
		if r.reads[rank] {
			r.readers[leaf]++
			r.allRead++
		}
		if r.builds[rank] {
			r.builders[leaf]++
			r.allBuild++
		}
		partner = partner || r.reads[rank] != r.builds[rank]
	}
	v := *t
	switch v.roles = r; {
	case r.allRead+r.allBuild == 2*t.Servers():
		v.roles = nil
	case r.allRead == 1 && r.allBuild == 1 && !partner:
		return nil, errors.New("the only reader is the only builder: there is no fragment to send")
	}
	return &v, nil
}

var roleRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(server|leaf)(\d{1,7})(?:-(\d{1,7}))?$`) })

// chosen returns the servers in a list, by rank.
func (t *Tree) chosen(role, list string) ([]bool, error) {
	in, none := make([]bool, t.Servers()), true
	items := strings.Split(list, ",")
	if strings.Contains(list, "[") {
		var err error
		if items, err = hostlist.Expand(list); err != nil {
			return nil, fmt.Errorf("%ss: %w", role, err)
		}
	}
	for _, item := range items {
		if item = strings.TrimSpace(item); item == "" && list == "" {
			item = fmt.Sprintf("leaf0-%d", t.leaves-1)
		}
		m := roleRE().FindStringSubmatch(item)
		if ranks := t.hosted(item); m == nil && len(ranks) > 0 {
			for _, rank := range ranks {
				in[rank], none = true, false
			}
			continue
		}
		if m == nil && t.names != nil && t.names.Hosts != nil {
			return nil, fmt.Errorf("%ss %q: no server is on a host of this name, and no leaf has it; write the network's names, such as %s,%s, or server0-11,leaf3",
				role, item, t.names.Hosts[0], t.names.Switches[0])
		}
		if m == nil {
			return nil, fmt.Errorf("%ss %q: write servers and leaves, such as server0-11,leaf3", role, item)
		}
		first, _ := strconv.Atoi(m[2])
		last := first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		most := t.leaves - 1
		if m[1] == "server" {
			most = t.leaves*t.ports - 1
		}
		if first > last {
			return nil, fmt.Errorf("%ss %q: the first is above the last", role, item)
		}
		if last > most {
			return nil, fmt.Errorf("%ss %q: %s has %s0..%s%d", role, item, t.Notation(), m[1], m[1], most)
		}
		for i := first; i <= last; i++ {
			from, to := i, i+1
			if m[1] == "leaf" {
				from, to = i*t.ports, i*t.ports+t.fill[i]
			}
			for position := from; position < to; position++ {
				rank, ok := t.Rank(position)
				if !ok {
					return nil, fmt.Errorf("%ss %q: there is no server%d: leaf%d has %d servers", role, item, position, position/t.ports, t.fill[position/t.ports])
				}
				in[rank], none = true, false
			}
		}
	}
	if none {
		return nil, fmt.Errorf("%ss %q: no server is on these leaves", role, list)
	}
	return in, nil
}

// hosted returns the servers for a name of the network: those on a host, with or without its domain,
// or on a leaf.
func (t *Tree) hosted(name string) (ranks []int) {
	if t.names == nil {
		return nil
	}
	for _, is := range []string{name, hostlist.Plain(name)} {
		for rank, host := range t.names.Hosts {
			if host == is || host != "" && hostlist.Plain(host) == is {
				ranks = append(ranks, rank)
			}
		}
		if ranks != nil {
			return ranks
		}
	}
	if leaf := slices.Index(t.names.Switches[:t.leaves], name); leaf >= 0 {
		for rank := t.first[leaf]; rank < t.first[leaf+1]; rank++ {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// Roles reports whether some server does not both read and build.
func (t *Tree) Roles() bool { return t.roles != nil }

// AllBoth returns an error unless every server reads and builds, for callers without roles.
func (t *Tree) AllBoth(who string) error {
	if t.roles == nil {
		return nil
	}
	return fmt.Errorf("%d of %d servers read and %d build; %s where all do both", t.roles.allRead, t.Servers(), t.roles.allBuild, who)
}

// Reads reports whether the server of a rank sends fragments.
func (t *Tree) Reads(rank int) bool { return t.roles == nil || t.roles.reads[rank] }

// Builds reports whether the server of a rank receives fragments and builds events.
func (t *Tree) Builds(rank int) bool { return t.roles == nil || t.roles.builds[rank] }

// Meets reports whether one server has a fragment for another.
func (t *Tree) Meets(src, dst int) bool { return src != dst && t.Reads(src) && t.Builds(dst) }

// Readers returns how many servers read.
func (t *Tree) Readers() int {
	if t.roles == nil {
		return t.Servers()
	}
	return t.roles.allRead
}

// Builders returns how many servers build.
func (t *Tree) Builders() int {
	if t.roles == nil {
		return t.Servers()
	}
	return t.roles.allBuild
}

// ReadersOn returns how many servers of a leaf read.
func (t *Tree) ReadersOn(leaf int) int {
	if t.roles == nil {
		return t.fill[leaf]
	}
	return t.roles.readers[leaf]
}

// BuildersOn returns how many servers of a leaf build.
func (t *Tree) BuildersOn(leaf int) int {
	if t.roles == nil {
		return t.fill[leaf]
	}
	return t.roles.builders[leaf]
}

// RoleLists returns the readers and the builders in the form of WithRoles, each range of positions
// once and rising.
func (t *Tree) RoleLists() (readers, builders string) { return t.list(t.Reads), t.list(t.Builds) }

// RoleRanks returns the ranks that read and those that build, rising; nil where every server reads and builds.
func (t *Tree) RoleRanks() (readers, builders []int) {
	if t.roles == nil {
		return nil, nil
	}
	for rank := range t.Servers() {
		if t.Reads(rank) {
			readers = append(readers, rank)
		}
		if t.Builds(rank) {
			builders = append(builders, rank)
		}
	}
	return readers, builders
}

func (t *Tree) list(in func(rank int) bool) string {
	var parts []string
	for rank := 0; rank < t.Servers(); rank++ {
		if !in(rank) {
			continue
		}
		first := t.Position(rank)
		for rank+1 < t.Servers() && in(rank+1) && t.Position(rank+1) == t.Position(rank)+1 {
			rank++
		}
		part := fmt.Sprintf("server%d", first)
		if last := t.Position(rank); last > first {
			part += fmt.Sprintf("-%d", last)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Messages returns how many fragments all servers send in an exchange.
func (t *Tree) Messages() int {
	n := t.Readers() * t.Builders()
	for rank := range t.Servers() {
		if t.Reads(rank) && t.Builds(rank) {
			n--
		}
	}
	return n
}

// MessagesBetween returns how many fragments two leaves send each other in an exchange, both ways.
func (t *Tree) MessagesBetween(a, b int) int {
	return t.ReadersOn(a)*t.BuildersOn(b) + t.ReadersOn(b)*t.BuildersOn(a)
}

// MostMessages returns the most messages that one server sends, or receives, in an exchange.
func (t *Tree) MostMessages() (most int) {
	for rank := range t.Servers() {
		both := 0
		if t.Reads(rank) && t.Builds(rank) {
			both = 1
		}
		if t.Reads(rank) {
			most = max(most, t.Builders()-both)
		}
		if t.Builds(rank) {
			most = max(most, t.Readers()-both)
		}
	}
	return most
}
