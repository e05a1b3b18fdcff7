package uneven

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"evbench/internal/coloring"
	"evbench/scheduler"
	"evbench/topology"
)

// A lift gives the messages of a schedule to hosts anew, with the phases and paths that two leaves have for each
// other. First each slow host chooses its messages, as far as possible in phases that are slow already: a bipartite
// matching of phases and leaves. What is left goes to the other hosts by edge colourings, as in FORS (König). Messages
// within a leaf need no links, and move to any phase.
type lift struct {
	t      *topology.Tree
	leaf   []int
	phases int
	slots  []slot
	at     [2][][]int // slots by leaf, on the sending side and on the receiving one
	open   [2][][]int // how many of a leaf have no host, by phase; the last is for messages of hosts to themselves
	rest   [2][]int   // hosts of a leaf that have not chosen
	chosen [2][]bool  // hosts that have, by rank
	long   []float64  // what a phase takes, with the messages chosen
	random *rand.Rand
}

// A slot is a message of two leaves. Its hosts are ranks, or none where they are not known yet.
type slot struct {
	scheduler.Message
	leaf, host [2]int // which send, and receive
}

const none = -1

// lifted returns a schedule with other hosts, or nil where none is found: where hosts have different roles, some have no
// path to each other, or a leaf has more messages in a phase than hosts.
func lifted(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, seed uint64, kind []int) *scheduler.Schedule {
	n := t.Servers()
	if t.Divided() || t.Connected() != nil {
		return nil
	}
	l := &lift{t: t, leaf: t.LeafOfRanks(), phases: s.Phases, slots: make([]slot, 0, n*n), long: slices.Repeat([]float64{1}, s.Phases), random: rand.New(rand.NewPCG(seed, 4))}
	for side := range l.at {
		l.at[side], l.open[side], l.chosen[side] = make([][]int, t.Leaves()), make([][]int, t.Leaves()), make([]bool, n)
		for a := range t.Leaves() {
			l.open[side][a], l.rest[side] = make([]int, s.Phases+1), append(l.rest[side], t.On(a))
		}
	}
	x := newRates(t, topology.Rates{Slow: r.Slow})
	for m := range s.All() {
		if a, b := l.leaf[m.Src], l.leaf[m.Dst]; a != b {
			l.add(slot{m, [2]int{a, b}, [2]int{none, none}})
			l.long[m.Phase] = max(l.long[m.Phase], x.time(m))
		}
	}
	for side, own := range l.open {
		for a, n := range own {
			if slices.Max(n) > l.rest[side][a] {
				return nil
			}
		}
	}
	hosts := slices.Clone(r.Hosts)
	l.random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	slices.SortStableFunc(hosts, func(a, b topology.SlowHost) int { return cmp.Compare(a.Share, b.Share) })
	for p := range min(len(kind), s.Phases) {
		if kind[p] == isSlow && len(hosts) > 0 {
			l.long[p] = max(l.long[p], 1/hosts[0].Share)
		}
	}
	for _, h := range hosts {
		if !l.choose(h.Rank, 1, 1/h.Share) || !l.choose(h.Rank, 0, 1/h.Share) {
			return nil
		}
	}
	for a := range t.Leaves() {
		if !l.within(a) {
			return nil
		}
	}
	for _, side := range [2]int{1, 0} {
		for a := range t.Leaves() {
			l.color(a, side, seed)
		}
	}
	own := make([]scheduler.Message, 0, n*n)
	for _, x := range l.slots {
		if x.Phase < s.Phases {
			x.Src, x.Dst = x.host[0], x.host[1]
			own = append(own, x.Message)
		}
	}
	return made(s, t, s.Phases, own)
}

// add adds a slot, of which at least one side is open.
func (l *lift) add(x slot) {
	for side, a := range x.leaf {
		if x.host[side] == none {
			l.at[side][a] = append(l.at[side][a], len(l.slots))
			l.open[side][a][x.Phase]++
		}
	}
	l.slots = append(l.slots, x)
}

// inner adds a message within a leaf.
func (l *lift) inner(leaf, phase int, host [2]int) {
	l.add(slot{scheduler.Message{Phase: phase, Spine: scheduler.None, Top: scheduler.None}, [2]int{leaf, leaf}, host})
}

// A column is what a host exchanges with the hosts of a leaf that have not chosen, or with one that has.
type column struct {
	need  int
	edges []edge
}

// An edge is a phase and the slot that a column may have there, or none for a new one within the leaf.
type edge struct{ phase, slot int }

// choose gives a host its messages on a side, 0 to send and 1 to receive, each of which takes some time. It reports
// whether there is a way.
func (l *lift) choose(rank, side int, time float64) bool {
	m := &matching{column: slices.Repeat([]int{none}, l.phases), slot: make([]int, l.phases), random: l.random}
	home, other, number := l.leaf[rank], 1-side, map[[2]int]int{}
	find := func(leaf, host, need int) *column {
		i, ok := number[[2]int{leaf, host}]
		if !ok {
			i, number[[2]int{leaf, host}], m.columns = len(m.columns), len(m.columns), append(m.columns, column{need: need})
		}
		return &m.columns[i]
	}
	for _, i := range l.at[side][home] {
		x := &l.slots[i]
		if g := x.host[other]; x.host[side] == none && g != rank {
			need := 1
			if g == none {
				need = l.rest[other][x.leaf[other]]
			}
			c := find(x.leaf[other], g, need)
			c.edges = append(c.edges, edge{x.Phase, i})
		}
	}
	within := l.rest[other][home]
	if !l.chosen[other][rank] {
		within--
	}
	c := find(home, none, within)
	var must []int
	for p := range l.phases {
		if l.open[side][home][p] == l.rest[side][home] {
			must = append(must, p)
		} else if within > 0 && l.open[other][home][p] < l.rest[other][home] {
			c.edges = append(c.edges, edge{p, none})
		}
	}
	if !m.run(must, func(p int) bool { return l.long[p] >= time }) {
		return false
	}
	l.rest[side][home]--
	l.chosen[side][rank] = true
	for p, c := range m.column {
		if c == none {
			continue
		}
		l.long[p] = max(l.long[p], time)
		if i := m.slot[p]; i != none {
			l.slots[i].host[side] = rank
			l.open[side][home][p]--
			continue
		}
		host := [2]int{none, none}
		host[side] = rank
		l.inner(home, p, host)
	}
	return true
}

// within gives phases to the messages of the other hosts of a leaf to each other, and the last to those to themselves.
func (l *lift) within(leaf int) bool {
	m := l.rest[0][leaf]
	left := m * (m - 1)
	for p := range l.phases {
		for ; left > 0 && max(l.open[0][leaf][p], l.open[1][leaf][p]) < m; left-- {
			l.inner(leaf, p, [2]int{none, none})
		}
	}
	for range m {
		l.inner(leaf, l.phases, [2]int{none, none})
	}
	return left == 0
}

// color gives the slots of a leaf on a side that have no host to the hosts that have not chosen, one of a phase to
// each. Rows are the slots with another host, or as many with the same leaf.
func (l *lift) color(leaf, side int, seed uint64) {
	var hosts []int
	for rank := l.t.First(leaf); rank < l.t.First(leaf+1); rank++ {
		if !l.chosen[side][rank] {
			hosts = append(hosts, rank)
		}
	}
	rows, order, right := make([][]int, l.t.Servers()+l.t.Leaves()), []int{}, []int32{}
	for _, i := range l.at[side][leaf] {
		if x := &l.slots[i]; x.host[side] == none {
			at := x.host[1-side]
			if at == none {
				at = l.t.Servers() + x.leaf[1-side]
			}
			rows[at] = append(rows[at], i)
		}
	}
	for _, row := range rows {
		order = append(order, row...)
	}
	for _, i := range order {
		right = append(right, int32(l.slots[i].Phase))
	}
	colors := coloring.Rows(len(hosts), right, l.phases+1, coloring.Options{Seed: seed})
	for j, i := range order { // in the last phase senders are their own receivers
		if side == 0 && l.slots[i].Phase == l.phases {
			hosts[colors[j]] = l.slots[i].host[1]
		}
	}
	for j, i := range order {
		l.slots[i].host[side] = hosts[colors[j]]
	}
}

// A matching gives columns as many phases as they need, and no phase to two.
type matching struct {
	columns []column
	column  []int // of each phase, or none
	slot    []int // likewise
	random  *rand.Rand
}

// run finds one with all phases that must be in it, and otherwise with as few as possible that are not free: a phase
// that has a column keeps one. It reports whether there is one.
func (m *matching) run(must []int, free func(phase int) bool) bool {
	for i := range m.columns {
		own := m.columns[i].edges
		m.random.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	}
	first := make([]bool, len(m.column))
	for _, p := range must {
		first[p] = true
	}
	for _, allowed := range []func(int) bool{func(p int) bool { return first[p] }, free, func(int) bool { return true }} {
		for c := range m.columns {
			for m.columns[c].need > 0 && m.augment(c, allowed) {
			}
		}
	}
	return !slices.ContainsFunc(must, func(p int) bool { return m.column[p] == none }) &&
		!slices.ContainsFunc(m.columns, func(c column) bool { return c.need > 0 })
}

// augment gives a column one phase more, which has none yet and is allowed: by a shortest alternating path.
func (m *matching) augment(c int, allowed func(phase int) bool) bool {
	type step struct{ column, slot int }
	via, enter := make([]step, len(m.column)), slices.Repeat([]int{none}, len(m.columns))
	seen := make([]bool, len(m.column))
	for queue := []int{c}; len(queue) > 0; queue = queue[1:] {
		for _, e := range m.columns[queue[0]].edges {
			p := e.phase
			if seen[p] {
				continue
			}
			seen[p], via[p] = true, step{queue[0], e.slot}
			if d := m.column[p]; d != none {
				if d != c && enter[d] == none {
					enter[d], queue = p, append(queue, d)
				}
				continue
			}
			if !allowed(p) {
				continue
			}
			for {
				x := via[p]
				m.column[p], m.slot[p] = x.column, x.slot
				if x.column == c {
					m.columns[c].need--
					return true
				}
				p = enter[x.column]
			}
		}
	}
	return false
}
