package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/controller/wire"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// A measure is one number for each pair of servers that separates near from far.
type measure struct {
	value [][]int64 // symmetric; unknown if not measured
	near  int64     // the largest value within a leaf
	far   int64     // the smallest between leaves
	name  string
	say   func(int64) string
}

const unknown = -1

// leaves determines which servers share a leaf, and which are not where the file says. note names
// the method, or says that none worked.
func (s Survey) leaves() (misplaced []string, note string) {
	for _, find := range []func() (measure, []group, bool){s.byHops, s.byLatency} {
		m, groups, ok := find()
		if !ok {
			continue
		}
		misplaced = s.compare(m, groups)
		note = fmt.Sprintf("leaves are told apart by %s: %s within a leaf, %s between leaves", m.name, m.say(m.near), m.say(m.far))
		judged := lists.Sum(groups, func(g group) int { return len(g) })
		if rest := len(s.Servers) - judged; rest > 0 {
			note += fmt.Sprintf("; of %d servers too little is known", rest)
		}
		if len(misplaced) == 0 {
			note += "; they are as the file says"
		}
		return misplaced, note
	}
	return nil, "cannot tell leaves apart by hops or latency"
}

// byHops separates leaves if packets pass more routers to some servers than to others: pairs with
// the fewest are within a leaf. Two servers on one machine may be connected without any router,
// which says nothing about other pairs.
func (s Survey) byHops() (measure, []group, bool) {
	m := measure{name: "hops", say: func(v int64) string { return show.Plural(int(v), "hop", "hops") }}
	m.value = s.matrix(func(r wire.Reach) int64 { return int64(r.Hops) }, func(a, b int, v int64) bool {
		return v >= 0 && (v > 0 || !s.oneMachine(a, b))
	})
	all := s.values(m)
	i := slices.IndexFunc(all, func(v int64) bool { return v > all[0] })
	if i < 0 {
		return m, nil, false
	}
	m.near, m.far = all[0], all[i]
	groups, clean := s.group(m)
	return m, groups, clean && len(groups) > 1
}

// Latency is used if the slowest pair within a leaf and the fastest between leaves differ at least
// by this factor…
const clearRatio = 1.3

// byLatency separates leaves if round trips fall into two clusters: the gap between them is a
// factor clearRatio or more and wider than the nearer cluster, the servers near to a server are
// near to each other, and every group has at least two machines (one slow machine would look like a
// leaf of its own).
func (s Survey) byLatency() (measure, []group, bool) {
	m := measure{name: "latency", say: func(v int64) string { return time.Duration(v).Round(100 * time.Nanosecond).String() }}
	m.value = s.matrix(func(r wire.Reach) int64 { return int64(r.RTT) }, func(a, b int, v int64) bool {
		return v > 0 && !s.oneMachine(a, b)
	})
	all := s.values(m)
	gap := -1
	for i := 1; i < len(all); i++ {
		if gap < 0 || float64(all[i])*float64(all[gap-1]) > float64(all[gap])*float64(all[i-1]) {
			gap = i
		}
	}
	if gap < 0 {
		return m, nil, false
	}
	m.near, m.far = all[gap-1], all[gap]
	if float64(m.far) < clearRatio*float64(m.near) || m.far-m.near <= m.near-all[0] {
		return m, nil, false
	}
	groups, clean := s.group(m)
	alone := slices.ContainsFunc(groups, func(g group) bool {
		return !slices.ContainsFunc(g, func(v int) bool { return !s.oneMachine(g[0], v) })
	})
	return m, groups, clean && len(groups) > 1 && !alone
}

// matrix takes a number of each pair from its first address, the smaller one of both directions.
func (s Survey) matrix(of func(wire.Reach) int64, known func(a, b int, v int64) bool) [][]int64 {
	n := len(s.Servers)
	out := lists.Tabulate(n, func(a int) []int64 { return slices.Repeat([]int64{unknown}, n) })
	for a := range n {
		for b := range n {
			if a == b || len(s.Reached[a][b]) == 0 {
				continue
			}
			v := of(s.Reached[a][b][0])
			if known(a, b, v) && (out[a][b] == unknown || v < out[a][b]) {
				out[a][b], out[b][a] = v, v
			}
		}
	}
	return out
}

func (s Survey) values(m measure) []int64 {
	var all []int64
	for a, row := range m.value {
		for _, v := range row[:a] {
			if v != unknown {
				all = append(all, v)
			}
		}
	}
	slices.Sort(all)
	return all
}

func (s Survey) oneMachine(a, b int) bool {
	return s.Servers[a].Host != "" && s.Servers[a].Host == s.Servers[b].Host
}

type group []int

// group groups servers that are near to each other. It leaves out servers with missing values, and
// is clean if nearness agrees for all of a group.
func (s Survey) group(m measure) (groups []group, clean bool) {
	seen := make([]bool, len(s.Servers))
	judged := s.complete(m)
	for _, a := range judged {
		if seen[a] {
			continue
		}
		g := group{}
		for _, b := range judged {
			if b == a || s.together(m, a, b) {
				if seen[b] {
					return nil, false // near to this one, and in another group
				}
				seen[b] = true
				g = append(g, b)
			}
		}
		for i, b := range g {
			for _, c := range g[:i] {
				if !s.together(m, b, c) {
					return nil, false
				}
			}
		}
		groups = append(groups, g)
	}
	return groups, true
}

// together reports whether two servers share a leaf; those on one machine do.
func (s Survey) together(m measure, a, b int) bool {
	v := m.value[a][b]
	return v == unknown && s.oneMachine(a, b) || v != unknown && v <= m.near
}

// complete returns servers with values for all pairs: the one with the most unknown values is left
// out, until none has any.
func (s Survey) complete(m measure) []int {
	judged := make([]int, len(s.Servers))
	missing := make([]int, len(s.Servers))
	gap := func(a, b int) bool { return a != b && m.value[a][b] == unknown && !s.oneMachine(a, b) }
	for a := range judged {
		judged[a] = a
		for b := range judged {
			if gap(a, b) {
				missing[a]++
			}
		}
	}
	for {
		worst := slices.MaxFunc(judged, func(a, b int) int { return missing[a] - missing[b] })
		if missing[worst] == 0 {
			return judged
		}
		judged = slices.DeleteFunc(judged, func(a int) bool { return a == worst })
		for _, a := range judged {
			if gap(a, worst) {
				missing[a]--
			}
		}
	}
}

// nowhere is the seat of a group that is not a leaf of the file.
const nowhere = -1

// compare names the servers that are not in the group of their leaf, each with a near server and a
// far one of its leaf.
func (s Survey) compare(m measure, groups []group) []string {
	seats := s.seats(groups)
	text := make([]string, len(s.Servers))
	for i, g := range groups {
		for _, v := range g {
			if s.Servers[v].Leaf != seats[i] {
				text[v] = s.complain(m, groups, seats, i, v)
			}
		}
	}
	return slices.DeleteFunc(text, func(t string) bool { return t == "" })
}

// seats maps each group to a leaf of the file: the leaf of most of its servers. Names of leaves
// cannot be measured, so a file that exchanges all servers of two leaves passes as well.
func (s Survey) seats(groups []group) []int {
	type match struct{ group, leaf, count int }
	var all []match
	for i, g := range groups {
		count := map[int]int{}
		for _, v := range g {
			count[s.Servers[v].Leaf]++
		}
		for leaf, n := range count {
			all = append(all, match{i, leaf, n})
		}
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(b.count-a.count, a.leaf-b.leaf, a.group-b.group)
	})
	seats := slices.Repeat([]int{nowhere}, len(groups))
	taken := map[int]bool{}
	for _, c := range all {
		if seats[c.group] == nowhere && !taken[c.leaf] {
			seats[c.group], taken[c.leaf] = c.leaf, true
		}
	}
	return seats
}

// complain says where one server of a group seems to be, and why.
func (s Survey) complain(m measure, groups []group, seats []int, at, v int) string {
	file := s.Servers[v].Leaf
	text := fmt.Sprintf("%s seems to be on leaf%d, not on leaf%d as the file says", s.name(v), seats[at], file)
	if seats[at] == nowhere {
		text = fmt.Sprintf("%s seems to sit on another leaf than leaf%d, where the file puts it", s.name(v), file)
	}
	var why []string
	near := func(b int) bool { return b != v && m.value[v][b] != unknown }
	if i := slices.IndexFunc(groups[at], near); i >= 0 {
		b := groups[at][i]
		why = append(why, fmt.Sprintf("%s to %s", m.say(m.value[v][b]), s.name(b)))
	}
	if home := slices.Index(seats, file); home >= 0 && home != at {
		far := func(b int) bool { return s.Servers[b].Leaf == file && m.value[v][b] != unknown }
		if i := slices.IndexFunc(groups[home], far); i >= 0 {
			b := groups[home][i]
			why = append(why, fmt.Sprintf("%s to %s of leaf%d", m.say(m.value[v][b]), s.name(b), file))
		}
	}
	if len(why) == 0 {
		return text
	}
	return text + ": " + strings.Join(why, ", ")
}
