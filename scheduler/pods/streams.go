package pods

import (
	"math/rand/v2"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// A pathChoice gives each leaf one way to each destination. The leaves of a pod that use the same
// plane use the same top switch, so one table entry for a destination holds their ways.
type pathChoice struct {
	f     *fattree.Tree
	on    []int32     // leaf of each rank
	way   []slots.Way // by leaf·servers + rank
	load  []int32     // of wires, numbered by wiresOf
	users []int32     // by pod, plane and rank (entry), the leaves whose ways go there
	top   []int32     // likewise, their top switch
}

func (c *pathChoice) entry(q, k, d int) int { return (q*c.f.Spines+k)*c.f.Servers + d }

// choosePaths starts with planes by the place of the destination on its leaf, and top switches by
// the place of that leaf. Each leaf and destination then chooses again, in random order, the way
// that adds least to the sum of squared loads, until nothing changes. Then the leaves of a pod that
// share a way up choose together.
func choosePaths(f *fattree.Tree, seed uint64) *pathChoice {
	c := &pathChoice{
		f: f, on: f.LeafOf(), way: make([]slots.Way, f.Leaves*f.Servers),
		load: make([]int32, 2*f.Leaves*f.Spines+2*f.Pods*f.Spines*f.Tops),
	}
	c.users = make([]int32, f.Pods*f.Spines*f.Servers)
	c.top = make([]int32, len(c.users))
	var order []int32
	for i := range c.way {
		a, d := i/f.Servers, i%f.Servers
		if b := int(c.on[d]); a != b && f.Meets(a, b) {
			order = append(order, int32(i))
			c.way[i] = c.best(a, d, slots.Way{Spine: (d - f.First[b]) % f.Spines, Top: b % f.Tops})
			c.put(a, d, c.way[i], 1)
		}
	}
	random := rand.New(rand.NewPCG(seed, 5))
	for changed, round := true, 0; changed && round < pathRounds; round++ {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		changed = false
		for _, i := range order {
			a, d := int(i)/f.Servers, int(i)%f.Servers
			c.put(a, d, c.way[i], -1)
			now := c.best(a, d, c.way[i])
			changed = changed || now != c.way[i]
			c.way[i] = now
			c.put(a, d, now, 1)
		}
		changed = c.moveTops() || changed
	}
	return c
}

// moveTops lets each pod, plane and destination choose its top switch again, and reports whether
// any changed.
func (c *pathChoice) moveTops() (changed bool) {
	for q := range c.f.Pods {
		for k := range c.f.Spines {
			for d := range c.f.Servers {
				if c.users[c.entry(q, k, d)] > 0 && c.moveTop(q, k, d) {
					changed = true
				}
			}
		}
	}
	return changed
}

func (c *pathChoice) moveTop(q, k, d int) bool {
	var users []int
	for a, p := range c.f.Pod {
		if w := c.way[a*c.f.Servers+d]; p == q && w.Spine == k && c.f.Meets(a, int(c.on[d])) {
			users = append(users, a)
		}
	}
	move := func(w slots.Way, sign int32) {
		for _, a := range users {
			c.put(a, d, w, sign)
			c.way[a*c.f.Servers+d] = w
		}
	}
	was := c.way[users[0]*c.f.Servers+d]
	move(was, -1)
	least, now := int32(-1), was
	tops := &c.f.Shared[c.f.Between(q, c.f.Pod[c.on[d]], k)]
	for t := tops.Next(0); t != none; t = tops.Next(t + 1) {
		w := slots.Way{Spine: k, Top: t}
		wires, _ := c.wiresOf(users[0], int(c.on[d]), w)
		if sum := c.load[wires[2]] + c.load[wires[3]]; least < 0 || sum < least || sum == least && w == was {
			least, now = sum, w
		}
	}
	move(now, 1)
	return now != was
}

const pathRounds = 20

func (c *pathChoice) wiresOf(a, b int, w slots.Way) (out [4]int, n int) {
	half := c.f.Leaves * c.f.Spines
	out[0], out[1] = c.f.Link(a, w.Spine), half+c.f.Link(b, w.Spine)
	if c.f.Pod[a] == c.f.Pod[b] {
		return out, 2
	}
	upper := c.f.Pods * c.f.Spines * c.f.Tops
	out[2] = 2*half + (c.f.Pod[a]*c.f.Spines+w.Spine)*c.f.Tops + w.Top
	out[3] = 2*half + upper + (c.f.Pod[b]*c.f.Spines+w.Spine)*c.f.Tops + w.Top
	return out, 4
}

func (c *pathChoice) put(a, d int, w slots.Way, sign int32) {
	wires, n := c.wiresOf(a, int(c.on[d]), w)
	for _, i := range wires[:n] {
		c.load[i] += sign * int32(c.f.N[a])
	}
	if n == 4 {
		at := c.entry(c.f.Pod[a], w.Spine, d)
		c.users[at] += sign
		c.top[at] = int32(w.Top)
	}
}

// best returns the way from leaf a to a destination on another leaf whose wires carry least. The
// present way wins ties.
func (c *pathChoice) best(a, d int, present slots.Way) slots.Way {
	b := int(c.on[d])
	if c.f.Pod[a] == c.f.Pod[b] {
		present.Top = none
	}
	least, out := int32(-1), present
	try := func(w slots.Way) {
		sum := int32(0)
		wires, n := c.wiresOf(a, b, w)
		for _, i := range wires[:n] {
			sum += c.load[i]
		}
		if least < 0 || sum < least || sum == least && w == present {
			least, out = sum, w
		}
	}
	for k := range c.f.Spines {
		if !c.f.Usable(a, b, k) {
			continue
		}
		if c.f.Pod[a] == c.f.Pod[b] {
			try(slots.Way{Spine: k, Top: none})
			continue
		}
		if at := c.entry(c.f.Pod[a], k, d); c.users[at] > 0 {
			try(slots.Way{Spine: k, Top: int(c.top[at])})
			continue
		}
		tops := &c.f.Shared[c.f.Between(c.f.Pod[a], c.f.Pod[b], k)]
		for t := tops.Next(0); t != none; t = tops.Next(t + 1) {
			try(slots.Way{Spine: k, Top: t})
		}
	}
	return out
}

func (c *pathChoice) busiest() int { return int(slices.Max(c.load)) }

// streams are the messages from each leaf to each destination, in phases by list scheduling (Graham
// 1966): each phase takes streams as long as their wires, their destination and a server of their
// leaf are free. Streams that need the resource with most left to carry go first. columns chooses
// the sending server later.
type streams struct {
	f      *fattree.Tree
	c      *pathChoice
	uses   [][]int32 // by leaf·servers + rank: the resources of a stream, its wires and its destination
	todo   []int32   // likewise: messages without a phase
	at     [][]int32 // likewise, the phases of the others
	need   []int32   // messages without a phase that each resource carries
	busy   []int32   // the phase + 1 in which a resource was taken last
	sent   []int32   // by leaf, in this phase
	order  []int32   // streams that are not done, the most urgent first
	next   []int32   // working memory of sort
	key    []int32
	start  []int32
	left   int // messages without a phase
	phases int
}

func newStreams(c *pathChoice, seed uint64) *streams {
	s := &streams{
		f: c.f, c: c, uses: make([][]int32, len(c.way)), todo: make([]int32, len(c.way)), at: make([][]int32, len(c.way)),
		need: make([]int32, len(c.load)+c.f.Servers+c.f.Leaves), sent: make([]int32, c.f.Leaves),
	}
	s.busy = make([]int32, len(s.need))
	for i := range s.todo {
		a, d := i/c.f.Servers, i%c.f.Servers
		switch b := int(c.on[d]); {
		case a == b:
			s.todo[i] = int32(c.f.N[a] - 1) // without the message to itself
		case c.f.Meets(a, b):
			s.todo[i] = int32(c.f.N[a])
		}
		if s.todo[i] > 0 {
			s.order = append(s.order, int32(i))
			s.left += int(s.todo[i])
			s.uses[i] = s.resources(i)
			s.count(i, s.todo[i])
		}
	}
	rand.New(rand.NewPCG(seed, 6)).Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	return s
}

func (s *streams) resources(i int) (out []int32) {
	a, d := i/s.f.Servers, i%s.f.Servers
	if b := int(s.c.on[d]); a != b {
		wires, n := s.c.wiresOf(a, b, s.c.way[i])
		for _, w := range wires[:n] {
			out = append(out, int32(w))
		}
	}
	return append(out, int32(len(s.c.load)+d))
}

func (s *streams) count(i int, d int32) {
	for _, x := range s.uses[i] {
		s.need[x] += d
	}
	s.need[len(s.c.load)+s.f.Servers+i/s.f.Servers] += d
}

// run makes phases until no message is left, or there are as many as most.
func (s *streams) run(most int) {
	for s.left > 0 && s.phases < most {
		s.sort()
		clear(s.sent)
		for _, i := range s.order {
			s.take(int(i))
		}
		s.phases++
		s.order = slices.DeleteFunc(s.order, func(i int32) bool { return s.todo[i] == 0 })
	}
}

// sort puts the most urgent streams first, by counting; equal ones stay as they were.
func (s *streams) sort() {
	most := slices.Max(s.need)
	s.next = append(s.next[:0], s.order...)
	s.key = s.key[:0]
	s.start = append(s.start[:0], make([]int32, most+2)...)
	for _, i := range s.next {
		s.key = append(s.key, most-s.urgency(int(i)))
		s.start[s.key[len(s.key)-1]+1]++
	}
	for u := range most + 1 {
		s.start[u+1] += s.start[u]
	}
	for j, i := range s.next {
		at := &s.start[s.key[j]]
		s.order[*at] = i
		*at++
	}
}

// urgency is the most that a resource of a stream has left to carry. The servers of the leaf share
// their part.
func (s *streams) urgency(i int) int32 {
	a := i / s.f.Servers
	most := int32(fattree.CeilDiv(int(s.need[len(s.c.load)+s.f.Servers+a]), s.f.N[a]))
	for _, x := range s.uses[i] {
		most = max(most, s.need[x])
	}
	return most
}

// take puts a message of a stream into the phase being made, if all its resources are free.
func (s *streams) take(i int) {
	a, now := i/s.f.Servers, int32(s.phases+1)
	if int(s.sent[a]) == s.f.N[a] {
		return
	}
	for _, x := range s.uses[i] {
		if s.busy[x] == now {
			return
		}
	}
	for _, x := range s.uses[i] {
		s.busy[x] = now
	}
	s.sent[a]++
	s.todo[i]--
	s.left--
	s.at[i] = append(s.at[i], now-1)
	s.count(i, -1)
}

func (s *streams) schedule(b split.Bound, o schedules.Options) *slots.Table {
	c := phases.NewColumns(s.f, s.phases, true)
	for i, phases := range s.at {
		a, d := i/s.f.Servers, i%s.f.Servers
		col := c.Column(a, d)
		if a == int(s.c.on[d]) {
			col[0] = slots.Make(s.phases, none)
			col = col[1:]
		}
		for j := range col {
			col[j] = slots.Absent
			if j < len(phases) {
				col[j] = slots.Make(int(phases[j]), none)
				if a != int(s.c.on[d]) {
					col[j] = slots.Make(int(phases[j]), s.c.way[i].Spine)
				}
			}
		}
	}
	out := c.Table(b, o)
	out.AddTops()
	out.Walk(func(src, dst int, _ *slots.Slot) {
		a, b := s.c.on[src], s.c.on[dst]
		if s.f.Pod[a] != s.f.Pod[b] {
			out.Tops[src*out.Ranks+dst] = uint8(s.c.way[int(a)*s.f.Servers+dst].Top)
		}
	})
	return out
}
