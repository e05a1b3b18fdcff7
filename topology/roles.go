package topology

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/hostlist"
)

// Roles say which servers read and which build, by rank, and so who has a message for whom.
type Roles struct {
	s                 *Shape
	reads, builds     []bool // nil: every server does both
	readers, builders []int  // by leaf: how many
	allRead, allBuild int
}

func allBoth(s *Shape) Roles {
	return Roles{s: s, readers: s.fill, builders: s.fill, allRead: s.Servers(), allBuild: s.Servers()}
}

// WithRoles returns a view of t in which only some servers read, that is send fragments, and only
// some build, that is receive them. A list is for example "server0-11,leaf3" or, in the names of a
// network, "node[001-024],edge3"; "" is every server.
// Each server has one role or both; a server without a role takes no part. O(S).
func (t *Tree) WithRoles(readers, builders string) (*Tree, error) {
	r := Roles{s: t.Shape}
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
	switch v.Roles = r; {
	case r.allRead+r.allBuild == 2*t.Servers():
		v.Roles = allBoth(t.Shape)
	case r.allRead == 1 && r.allBuild == 1 && !partner:
		return nil, errors.New("the only reader is the only builder: there is no fragment to send")
	}
	return &v, nil
}

var roleRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(server|leaf|h)(\d{1,7})(?:-(\d{1,7}))?$`) })

// spanRE are hosts as networks of notations call them, which number them as servers.
var spanRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bh(\d+)-(\d+)\b`) })

// roleItems are the parts of a list, with ranges in brackets written out.
func roleItems(list string) ([]string, error) {
	list = spanRE().ReplaceAllString(list, "h[$1-$2]")
	if strings.Contains(list, "[") {
		return hostlist.Expand(list)
	}
	return strings.Split(list, ","), nil
}

// chosen returns the servers in a list, by rank.
func (t *Tree) chosen(role, list string) ([]bool, error) {
	in := make([]bool, t.Servers())
	items, err := roleItems(list)
	if err != nil {
		return nil, fmt.Errorf("%ss: %w", role, err)
	}
	for _, item := range items {
		if item = strings.TrimSpace(item); item == "" && list == "" {
			item = fmt.Sprintf("leaf0-%d", t.leaves-1)
		}
		m := roleRE().FindStringSubmatch(item)
		if m != nil && m[1] == "h" && t.names != nil {
			m = nil
		}
		if ranks := t.hosted(item); m == nil && len(ranks) > 0 {
			for _, rank := range ranks {
				in[rank] = true
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
		if err := t.take(in, role, item, m); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(in, true) {
		return nil, fmt.Errorf("%ss %q: no server is on these leaves", role, list)
	}
	return in, nil
}

// take marks the servers of an item, of which m are the parts: server or leaf, the first and, if there are several, the last.
func (t *Tree) take(in []bool, role, item string, m []string) error {
	kind, most := "server", t.leaves*t.ports-1
	if m[1] == "leaf" {
		kind, most = "leaf", t.leaves-1
	}
	first, _ := strconv.Atoi(m[2])
	last := first
	if m[3] != "" {
		last, _ = strconv.Atoi(m[3])
	}
	if first > last {
		return fmt.Errorf("%ss %q: the first is above the last", role, item)
	}
	if last > most {
		return fmt.Errorf("%ss %q: %s has %s0..%s%d", role, item, t.Notation(), kind, kind, most)
	}
	for i := first; i <= last; i++ {
		from, to := i, i+1
		if kind == "leaf" {
			from, to = i*t.ports, i*t.ports+t.fill[i]
		}
		for position := from; position < to; position++ {
			rank, ok := t.Rank(position)
			if !ok {
				return fmt.Errorf("%ss %q: there is no server%d: leaf%d has %d servers", role, item, position, position/t.ports, t.fill[position/t.ports])
			}
			in[rank] = true
		}
	}
	return nil
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

// Divided reports whether some server does not both read and build.
func (r *Roles) Divided() bool { return r.reads != nil }

// AllBoth returns an error unless every server reads and builds, for callers without roles.
func (r *Roles) AllBoth(who string) error {
	if !r.Divided() {
		return nil
	}
	return fmt.Errorf("%d of %d servers read and %d build; %s where all do both", r.allRead, r.s.Servers(), r.allBuild, who)
}

// Reads reports whether the server of a rank sends fragments.
func (r *Roles) Reads(rank int) bool { return r.reads == nil || r.reads[rank] }

// Builds reports whether the server of a rank receives fragments and builds events.
func (r *Roles) Builds(rank int) bool { return r.reads == nil || r.builds[rank] }

// Meets reports whether one server has a fragment for another.
func (r *Roles) Meets(src, dst int) bool { return src != dst && r.Reads(src) && r.Builds(dst) }

// Readers returns how many servers read.
func (r *Roles) Readers() int { return r.allRead }

// Builders returns how many servers build.
func (r *Roles) Builders() int { return r.allBuild }

// ReadersOn returns how many servers of a leaf read.
func (r *Roles) ReadersOn(leaf int) int { return r.readers[leaf] }

// BuildersOn returns how many servers of a leaf build.
func (r *Roles) BuildersOn(leaf int) int { return r.builders[leaf] }

// RoleLists returns the readers and the builders in the form of WithRoles, each range of positions
// once and rising.
func (r *Roles) RoleLists() (readers, builders string) { return r.list(r.Reads), r.list(r.Builds) }

// RoleRanks returns how many servers there are, and the ranks that read and those that build, rising; nil where every server
// does both.
func (r *Roles) RoleRanks() (servers int, readers, builders []int) {
	for rank := range r.reads { // none where every server does both
		if r.reads[rank] {
			readers = append(readers, rank)
		}
		if r.builds[rank] {
			builders = append(builders, rank)
		}
	}
	return r.s.Servers(), readers, builders
}

func (r *Roles) list(in func(rank int) bool) string {
	var parts []string
	for rank := 0; rank < r.s.Servers(); rank++ {
		if !in(rank) {
			continue
		}
		first := r.s.Position(rank)
		for rank+1 < r.s.Servers() && in(rank+1) && r.s.Position(rank+1) == r.s.Position(rank)+1 {
			rank++
		}
		part := fmt.Sprintf("server%d", first)
		if last := r.s.Position(rank); last > first {
			part += fmt.Sprintf("-%d", last)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Pairs yields who sends to whom in an exchange, in order of the senders.
func (r *Roles) Pairs(yield func(src, dst int) bool) {
	for src := range r.s.Servers() {
		for dst := range r.To(src) {
			if !yield(src, dst) {
				return
			}
		}
	}
}

// To yields to whom a server sends in an exchange.
func (r *Roles) To(src int) iter.Seq[int] {
	return func(yield func(dst int) bool) {
		for dst := 0; r.Reads(src) && dst < r.s.Servers(); dst++ {
			if src != dst && r.Builds(dst) && !yield(dst) {
				return
			}
		}
	}
}

// Messages returns how many fragments all servers send in an exchange.
func (r *Roles) Messages() int {
	n := r.Readers() * r.Builders()
	for rank := range r.s.Servers() {
		if r.Reads(rank) && r.Builds(rank) {
			n--
		}
	}
	return n
}

// MessagesBetween returns how many fragments two leaves send each other in an exchange, both ways.
func (r *Roles) MessagesBetween(a, b int) int { return r.MessagesTo(a, b) + r.MessagesTo(b, a) }

// MessagesTo returns how many fragments leaf a sends leaf b in an exchange.
func (r *Roles) MessagesTo(a, b int) int { return r.readers[a] * r.builders[b] }

// Crossing returns how many fragments a leaf sends to all others in an exchange, and receives from them.
func (r *Roles) Crossing(leaf int) (out, in int) {
	return r.readers[leaf] * (r.allBuild - r.builders[leaf]), r.builders[leaf] * (r.allRead - r.readers[leaf])
}

// MostMessages returns the most messages that one server sends, or receives, in an exchange.
func (r *Roles) MostMessages() (most int) {
	for rank := range r.s.Servers() {
		most = max(most, r.Load(rank))
	}
	return most
}

// Load returns how many messages of an exchange the server of a rank sends or receives, whichever is
// more.
func (r *Roles) Load(rank int) int {
	own := 0
	if r.Reads(rank) && r.Builds(rank) {
		own = 1
	}
	most := 0
	if r.Reads(rank) {
		most = r.Builders() - own
	}
	if r.Builds(rank) {
		most = max(most, r.Readers()-own)
	}
	return most
}
