package uneven

import (
	"math/rand/v2"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

const (
	gatherWork  = 12_000_000 // messages looked at, each time that two phases may exchange some
	gatherMost  = 40_000     // times
	gatherRanks = 1024
	liftWork    = 1 << 20   // messages of all lifts
	liftRanks   = 2048      // 1.3 GB
	tables      = 4         // searches for a table
	tableWork   = 3_000_000 // messages looked at in each
	tableLifts  = 50
)

// Gather returns a schedule that takes less time than a pinned one, with the same messages: slow messages share
// phases. It returns s itself if it finds none. No schedule has fewer phases than least. Unless keep is set,
// messages may change their paths.
//
// Messages that share a wire are in different phases. So of two phases those that are joined by shared wires,
// directly or through others, exchange their phases together or stay, as in a Kempe chain. The phase with the
// fewest messages as slow as it is gives them to phases that take as long anyway. Between, messages of a phase
// exchange their paths.
func Gather(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, least int, keep bool) *scheduler.Schedule {
	best := Time(s, t, r)
	bound, choices, _ := InPhases(t, r.Hosts, least, true)
	if s.Phases < 2 || best <= bound+1e-9 {
		return s
	}
	out, from := s, []*scheduler.Schedule{s}
	keep = keep || len(r.Slow) > 0
	free := !keep && (r.Faster || len(r.Hosts) > 0)
	ranks := gatherRanks
	if free { // lifts find more in less time
		ranks /= 2
	}
	try := func(x *scheduler.Schedule) bool {
		if x == nil || Time(x, t, r) >= best-1e-9 {
			return false
		}
		best, out = Time(x, t, r), x
		return true
	}
	for i := range uint64(max(2, min(20, liftWork/s.Ranks/s.Ranks))) {
		if free && s.Ranks <= liftRanks && best > bound+1e-9 {
			try(lifted(s, t, r, i, nil))
		}
	}
	if out != s {
		from = append(from, out)
	}
	for _, s := range from {
		for _, n := range slices.Compact([]int{s.Phases, max(s.Phases, choices[0].phases)}) {
			if s.Ranks > ranks || best <= bound+1e-9 {
				return out
			}
			g := newGathering(s, t, r, n)
			g.keep = keep
			for work, steps := 0, 0; work < gatherWork && steps < gatherMost && g.sum() > bound+1e-9; steps++ {
				work += g.step()
			}
			try(g.schedule(s))
		}
	}
	for i := 0; free && i < tables; i++ {
		choices = slices.DeleteFunc(choices, func(c choice) bool { return c.time >= best-1e-9 })
		if len(choices) == 0 {
			break
		}
		at := min(i, 1) * len(choices) / 2
		if !try(tabled(s, t, r, choices[at], uint64(i))) {
			choices = choices[at+1:]
		}
	}
	return out
}

func (g *gathering) schedule(s *scheduler.Schedule) *scheduler.Schedule {
	return made(s, g.t, len(g.in), g.messages())
}

func (g *gathering) messages() []scheduler.Message {
	for p, in := range g.in {
		for _, i := range in {
			g.all[i].Phase = p
		}
	}
	return slices.Clone(g.all)
}

// made returns a schedule of messages in so many phases, of which those without one are left out.
func made(s *scheduler.Schedule, t *topology.Tree, phases int, all []scheduler.Message) *scheduler.Schedule {
	number := make([]int, phases)
	for _, m := range all {
		number[m.Phase] = 1
	}
	next := 0
	for p, used := range number {
		number[p] = next
		next += used
	}
	for i := range all {
		all[i].Phase = number[all[i].Phase]
	}
	out := scheduler.FromMessages(s.Name, t, true, slices.Values(all))
	out.Moved = s.Moved
	return out
}

type gathering struct {
	all    []scheduler.Message
	t      *topology.Tree
	keep   bool            // paths
	loose  bool            // hosts do not count
	wires  []topology.Wire // of one message
	leaf   []int           // by rank
	held   []topology.Wire // that somebody crosses, by hold
	time   []float64       // of a message
	in     [][]int32       // messages of a phase
	long   []float64       // what a phase takes, 0 of an empty one
	top    []int           // messages that take as long as their phase
	at     []int32         // who of the first phase crosses a wire; 0: nobody, else its place and 1
	random *rand.Rand
}

func newGathering(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, phases int) *gathering {
	g := &gathering{t: t, leaf: t.LeafOfRanks(), in: make([][]int32, phases), long: make([]float64, phases), top: make([]int, phases), random: rand.New(rand.NewPCG(1, 2))}
	g.all = slices.Collect(s.All())
	x := newRates(t, r)
	for i, m := range g.all {
		g.time = append(g.time, x.time(m))
		g.in[m.Phase] = append(g.in[m.Phase], int32(i))
	}
	g.at = make([]int32, 2*(t.AllLinks()+t.Servers()))
	for p := range g.in {
		g.measure(p)
	}
	return g
}

// path returns the wires of a message, until it is called again.
func (g *gathering) path(i int32) []topology.Wire {
	m := &g.all[i]
	a, b := g.leaf[m.Src], g.leaf[m.Dst]
	if g.wires = g.wires[:0]; !g.loose {
		g.wires = append(g.wires, g.t.FromServer(m.Src))
	}
	if a != b {
		g.wires = g.t.Between(g.wires, a, b, g.t.PathOf(m.Spine, m.Top))
	}
	if !g.loose {
		g.wires = append(g.wires, g.t.ToServer(m.Dst))
	}
	return g.wires
}

func (g *gathering) measure(p int) {
	g.long[p], g.top[p] = 0, 0
	for _, i := range g.in[p] {
		switch x := g.time[i]; {
		case x > g.long[p]:
			g.long[p], g.top[p] = x, 1
		case x == g.long[p]:
			g.top[p]++
		}
	}
}

func (g *gathering) sum() (sum float64) {
	for _, x := range g.long {
		sum += x
	}
	return sum
}

// step lets two phases exchange messages, and returns how many they have. Mostly the first is the one that is
// the easiest to make faster, else any.
func (g *gathering) step() int {
	a, any := g.random.IntN(len(g.in)), g.random.IntN(4) == 0
	from := g.random.IntN(len(g.in))
	for i := range g.in {
		p := (from + i) % len(g.in)
		if !any && g.long[p] > 1 && (g.long[a] <= 1 || g.top[p] < g.top[a]) {
			a = p
		}
	}
	b := g.random.IntN(len(g.in))
	for i := 0; i < len(g.in) && (b == a || !any && g.long[b] < g.long[a]); i++ {
		b = (b + 1) % len(g.in)
	}
	if a == b {
		return 1
	}
	g.reroute(a)
	g.reroute(b)
	both, n, root := g.joined(a, b)
	gain, stay := make([]int, len(both)), make([]bool, len(both)) // by root
	for i, m := range both {
		switch k := root(int32(i)); {
		case i >= n && g.time[m] > g.long[a], i < n && g.time[m] > g.long[b]:
			stay[k] = true
		case g.time[m] < g.long[a] && (!any || g.time[m] == 1):
		case i < n:
			gain[k]++
		default:
			gain[k]--
		}
	}
	var in [2][]int32
	for i, m := range both {
		side, k := 0, root(int32(i))
		if i >= n {
			side = 1
		}
		if !stay[k] && (gain[k] > 0 && !any || gain[k] == 0 && k%2 == 0) {
			side = 1 - side
		}
		in[side] = append(in[side], m)
	}
	g.in[a], g.in[b] = in[0], in[1]
	g.measure(a)
	g.measure(b)
	return len(both)
}

// joined returns the messages of two phases, those of the first phase in front, their number n, and root. Messages
// that share wires, directly or through others, have the same root, an index of both.
func (g *gathering) joined(a, b int) (both []int32, n int, root func(int32) int32) {
	both = slices.Concat(g.in[a], g.in[b])
	n = len(g.in[a])
	parent := make([]int32, len(both))
	root = func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, m := range both {
		parent[i] = int32(i)
		for _, w := range g.path(m) {
			if i < n {
				g.at[w] = int32(i) + 1
			} else if g.at[w] > 0 {
				parent[root(int32(i))] = root(g.at[w] - 1)
			}
		}
	}
	for _, m := range both[:n] {
		for _, w := range g.path(m) {
			g.at[w] = 0
		}
	}
	return both, n, root
}

// reroute gives a message of a phase another path, and those that hold its wires the path that it had, and so on;
// it changes nothing where that ends in a shared wire or on a dead link.
func (g *gathering) reroute(p int) {
	if g.keep || len(g.in[p]) == 0 {
		return
	}
	first := g.in[p][g.random.IntN(len(g.in[p]))]
	m := g.all[first]
	if m.Spine == scheduler.None {
		return
	}
	live := g.t.LivePaths(g.leaf[m.Src], g.leaf[m.Dst])
	old, path := g.t.PathOf(m.Spine, m.Top), live[g.random.IntN(len(live))]
	g.hold(p)
	was, ok := map[int32]scheduler.Message{}, true
	for queue := []int32{first}; ok && len(queue) > 0; queue = queue[1:] {
		m := &g.all[queue[0]]
		a, b, to := g.leaf[m.Src], g.leaf[m.Dst], old
		if queue[0] == first || g.t.PathOf(m.Spine, m.Top) == old {
			to = path
		}
		if _, twice := was[queue[0]]; twice {
			continue
		}
		if ok = g.t.PathAlive(a, b, to); !ok {
			break
		}
		was[queue[0]] = *m
		m.Spine, m.Top = g.t.Through(a, b, to)
		for _, w := range g.path(queue[0]) {
			if h := g.at[w] - 1; h >= 0 && h != queue[0] {
				queue = append(queue, h)
			}
		}
	}
	g.release()
	if ok = ok && g.hold(p); !ok {
		for i, m := range was {
			g.all[i] = m
		}
	}
	g.release()
}

func (g *gathering) release() {
	for _, w := range g.held {
		g.at[w] = 0
	}
	g.held = g.held[:0]
}

// hold notes who holds which wire in a phase, and reports whether none is shared.
func (g *gathering) hold(p int) bool {
	for _, i := range g.in[p] {
		for _, w := range g.path(i) {
			if g.at[w] > 0 {
				return false
			}
			g.at[w], g.held = i+1, append(g.held, w)
		}
	}
	return true
}
