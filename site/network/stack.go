package network

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/scheduler"
	"evbench/topology"
)

// A stack is what three levels have beyond a simple tree: cables that carry several messages at once or
// lie beside each other, pods of unequal size, top switches that cables join with every switch of a pod.
// Its tree has a plane for each message that a leaf may send to a switch above at once, and a top switch
// for each that such a switch may send to one of its own. So several planes, or top switches, are one
// switch of the network. A plan for that tree fits the network.
type stack struct {
	absent []topology.Link // what smaller pods and slower cables lack
	notes  []string        // how it was built
	exact  bool            // no plan for the network is shorter than the bound of the tree, without dead links
	each   bool            // and with them
	parts  bool            // some cables carry a part of a message more than the tree counts
	why    string          // what is in the way where that is not so, "": cables carry different numbers of messages
}

// A plane is a switch of each pod, by index or -1, and the top switches
// that cables join these with.
type plane struct {
	middle []int
	tops   []int
	group  int        // planes with the same top switches have one number
	low    [][]bundle // cables to leaves, by pod and leaf
	high   [][]bundle // cables to top switches, by pod and top switch
	lanes  int        // the most of low
}

// A bundle is the cables from one switch to another, a cable as often as it carries messages at once.
type bundle struct {
	lanes []Cable
	count int // of cables
}

// A stacker finds a stack.
type stacker struct {
	*Places
	f      *finder
	pods   [][]int // leaves, by index
	leaves int     // of the largest pod
	planes []*plane
	join   []int // by joint; nil: none
}

// stacked returns the tree of three levels as they were built.
func stacked(n *Network, rate float64) (*Places, error) {
	f, err := newFinder(n)
	if err != nil {
		return nil, err
	}
	if !f.tall {
		return nil, errors.New("not a tree of three levels")
	}
	s := &stacker{Places: &Places{net: n, rate: rate, lanes: true, usual: 1, stack: &stack{exact: true, each: true}}, f: f}
	s.findPods()
	s.findPlanes()
	for _, x := range s.planes {
		s.measure(x)
	}
	for _, x := range s.planes {
		s.even(x)
	}
	p, err := s.best()
	if err != nil {
		return nil, err
	}
	p.Tree = p.Tree.Named(p.names(names(n)))
	return p, nil
}

// best returns the tree with the least bound, where leaves differ in lanes: then it matters which lane gets
// which top switches.
func (s *stacker) best() (best *Places, err error) {
	divisions, least := []division{inTurn}, 0
	for _, x := range s.planes {
		if w := s.wants(x, whole); w[0] > w[len(w)-1] {
			divisions = []division{share, whole, inTurn}
		}
	}
	if len(s.f.of(1)) > maxLeaves {
		divisions = divisions[:1]
	}
	for _, d := range divisions {
		try, own := s.another()
		if err := try.tree(d); err != nil {
			return nil, err
		}
		if len(divisions) == 1 {
			return s.rejoined(own), nil
		}
		if bound := scheduler.LowerBound(own.Tree, scheduler.Options{}).Phases; best == nil || bound < least {
			best, least = own, bound
		}
	}
	return s.rejoined(best), nil
}

// another is a copy that makes another tree.
func (s *stacker) another() (*stacker, *Places) {
	try, own, stack := *s, *s.Places, *s.stack
	stack.notes = slices.Clip(stack.notes)
	own.stack, try.Places = &stack, &own
	return &try, &own
}

// rejoined returns a tree with a lower bound, if a search finds one: where leaves differ in
// lanes it matters which of its lanes a leaf has, and which plane a top switch belongs to.
func (s *stacker) rejoined(p *Places) *Places {
	bound, random := scheduler.LowerBound(p.Tree, scheduler.Options{}), rand.New(rand.NewPCG(1, 1))
	if s.stack.exact || p.Tree.Servers() > maxJoined || bound.Kind != scheduler.KindLP || p.Tree.Connected() != nil {
		return p
	}
	kept, best := make([]int, 3*len(s.planes)*joints*joints), p
	for range joinings {
		try, own := s.another()
		try.join = slices.Clone(kept)
		for range 1 + random.IntN(3) {
			try.join[random.IntN(len(kept))]++
		}
		if try.tree(inTurn) != nil || own.Tree.Connected() != nil {
			continue
		}
		if b := scheduler.LowerBound(own.Tree, scheduler.Options{}); b.Phases <= bound.Phases {
			if kept = try.join; b.Phases < bound.Phases {
				bound, best = b, own
			}
		}
	}
	return best
}

// Limits of a search for joints: servers, trees, and indices of each kind.
const (
	maxJoined = 64
	joinings  = 300
	joints    = 4
)

// joint returns an offset: of the first lane of a leaf (kind 0) or of a switch above a leaf (1), or of the plane of a
// top switch (2). a and b say which.
func (s *stacker) joint(x *plane, kind, a, b int) int {
	if s.join == nil {
		return 0
	}
	return s.join[((slices.Index(s.planes, x)*3+kind)*joints+a%joints)*joints+b%joints]
}

// maxLeaves is the most leaves with which several trees are tried.
const maxLeaves = 256

// A division says how top switches are given to the lanes of a plane: by the messages of two leaves, as if all
// took this plane, or their share of its lanes, or in turn.
type division int

const (
	inTurn division = iota
	whole
	share
)

func (s *stacker) findPods() {
	s.pods = lists.Groups(s.f.of(1), func(i int) Node { return s.f.pods.root(Node(i)) })
	s.leaves = lists.MaxOf(s.pods, func(own []int) int { return len(own) })
	for _, own := range s.pods {
		if len(own) < s.leaves {
			s.note("the pod of %s has %s, the largest %d", s.f.name(own[0]), show.Plural(len(own), "leaf", "leaves"), s.leaves)
		}
	}
}

func (s *stacker) note(format string, args ...any) {
	s.stack.notes = append(s.stack.notes, fmt.Sprintf(format, args...))
}

func (s *stacker) podOf(i int) int {
	r := s.f.pods.root(Node(i))
	return slices.IndexFunc(s.pods, func(own []int) bool { return s.f.pods.root(Node(own[0])) == r })
}

// findPlanes finds the planes. Switches of one pod with cables to the same top switches are in planes
// of their own, in their order; one without cables to top switches takes a place that its pod lacks.
func (s *stacker) findPlanes() {
	joined := newForest(s.f.n.Switches())
	for _, i := range s.f.of(3) {
		for _, j := range s.f.near.of(i) {
			joined.join(Node(i), Node(j))
		}
	}
	tops := lists.Groups(s.f.of(3), func(i int) Node { return joined.root(Node(i)) })
	var loose []int
	for _, i := range s.f.of(2) {
		root := joined.root(Node(i))
		if g := slices.IndexFunc(tops, func(top []int) bool { return joined.root(Node(top[0])) == root }); g >= 0 {
			s.put(i, func(x *plane) bool { return x.group == g }, plane{tops: tops[g], group: g})
		} else {
			loose = append(loose, i)
		}
	}
	for _, i := range loose {
		s.put(i, func(*plane) bool { return true }, plane{group: -1})
	}
	for q, own := range s.pods {
		n := lists.CountIf(s.planes, func(x *plane) bool { return x.middle[q] >= 0 })
		if n < len(s.planes) {
			s.note("the pod of %s has %s above its leaves, all pods together %d planes", s.f.name(own[0]), show.Plural(n, "switch", "switches"), len(s.planes))
		}
	}
}

// put places a switch of a pod into the first fitting plane where the pod has none, or into a new one.
func (s *stacker) put(i int, fits func(*plane) bool, fresh plane) {
	q := s.podOf(i)
	k := slices.IndexFunc(s.planes, func(x *plane) bool { return fits(x) && x.middle[q] < 0 })
	if k < 0 {
		k = len(s.planes)
		fresh.middle = slices.Repeat([]int{-1}, len(s.pods))
		s.planes = append(s.planes, &fresh)
	}
	s.planes[k].middle[q] = i
}

// measure counts the cables of a plane.
func (s *stacker) measure(x *plane) {
	for q, own := range s.pods {
		low, high := make([]bundle, s.leaves), make([]bundle, len(x.tops))
		for i, leaf := range own {
			low[i] = s.between(leaf, x.middle[q])
			x.lanes = max(x.lanes, len(low[i].lanes))
		}
		for i, top := range x.tops {
			high[i] = s.between(x.middle[q], top)
		}
		x.low, x.high = append(x.low, low), append(x.high, high)
	}
}

func (s *stacker) between(low, high int) (out bundle) {
	if low < 0 || high < 0 {
		return out
	}
	n := s.f.n
	a, b := n.Switch(low), n.Switch(high)
	for i, e := range n.Ends(a) {
		if at := (End{a, uint8(i + 1)}); e.Node == b {
			lanes := s.at(n, at)
			if n.Rate(at) > s.rate*(float64(lanes)+0.02) && s.rate > 0 {
				s.stack.exact, s.stack.parts, s.stack.why = false, true, "some of whose cables carry a part of a message more"
			}
			out.lanes, out.count = append(out.lanes, slices.Repeat([]Cable{{at, e}}, lanes)...), out.count+1
		}
	}
	return out
}

// most returns the most lanes and the most cables of bundles, those with an index in all rows or, -1,
// all.
func most(rows [][]bundle, at int) (lanes, count int) {
	for _, row := range rows {
		for i, b := range row {
			if at < 0 || i == at {
				lanes, count = max(lanes, len(b.lanes)), max(count, b.count)
			}
		}
	}
	return lanes, count
}

// even notes whether planes of a lane each carry what an undivided plane does: leaves have all lanes or
// none, and so have switches of pods to each top switch, and each plane has as many. Otherwise all cables
// must be there, as they must where top switches join several planes, which are then alike.
func (s *stacker) even(x *plane) {
	meshed := slices.ContainsFunc(s.planes, func(y *plane) bool { return y != x && y.group == x.group && x.group >= 0 })
	full, whole, all := true, !meshed, 0
	for t := range x.tops {
		lanes, _ := most(x.high, t)
		all += lanes
		whole = whole && lanes%max(1, x.lanes) == 0
		for q := range s.pods {
			n := len(x.high[q][t].lanes)
			full = full && (n == lanes || x.middle[q] < 0 && !meshed)
			whole = whole && (n == lanes || n == 0)
		}
	}
	for _, y := range s.planes {
		full = full && (y.lanes == x.lanes || y.group != x.group || x.group < 0)
	}
	for q, own := range s.pods {
		for i := range own {
			n := len(x.low[q][i].lanes)
			whole, full = whole && (n == x.lanes || n == 0), full && (n == x.lanes || n == 0 && !meshed)
		}
	}
	full = full && all%max(1, x.lanes) == 0
	_, low := most(x.low, -1)
	lanes, high := most(x.high, -1)
	if meshed && x.lanes <= 1 && lanes <= 1 {
		s.stack.why = "in which planes with the same top switches differ in shape"
	}
	s.stack.exact, s.stack.each = s.stack.exact && (whole || full), s.stack.each && whole && low <= 1 && high <= 1
}

// A layer is one lane of a plane, with its top switches: a plane of the tree.
type layer struct {
	*plane
	nr   int
	tops []rung
}

// A rung is a top switch of a plane, by its place there, and which of the messages to it.
type rung struct{ at, nr int }

// divide gives the lanes of a plane the messages to its top switches, each to the lane with the most messages
// between pods for those that it has: in turn where leaves are alike. Those that only one pod can send go
// last.
func (s *stacker) divide(x *plane, d division) []layer {
	out, wants := make([]layer, max(1, x.lanes)), s.wants(x, d)
	for nr := range out {
		out[nr] = layer{plane: x, nr: nr}
	}
	var last []rung
	for at := range x.tops {
		lanes, _ := most(x.high, at)
		for nr := range lanes {
			if s.having(x, rung{at, nr}) == 1 {
				last = append(last, rung{at, nr})
				continue
			}
			to := 0
			for i := range out {
				if wants[i]*float64(len(out[to].tops)+1) > wants[to]*float64(len(out[i].tops)+1)*(1+1e-9) {
					to = i
				}
			}
			to = (to + s.joint(x, 2, at, nr)) % len(out)
			out[to].tops = append(out[to].tops, rung{at, nr})
		}
	}
	for _, r := range last {
		to := 0
		for i := range out {
			if len(out[i].tops) < len(out[to].tops) {
				to = i
			}
		}
		out[to].tops = append(out[to].tops, r)
	}
	return out
}

// having returns how many pods have a rung.
func (s *stacker) having(x *plane, r rung) (n int) {
	for q := range s.pods {
		if r.nr < len(x.high[q][r.at].lanes) {
			n++
		}
	}
	return n
}

// wants returns how many messages between pods each lane of a plane has, at least one. Two leaves take the
// lanes that both have; those of leaves with few lanes go first, and others where the fewest are.
func (s *stacker) wants(x *plane, d division) []float64 {
	out := slices.Repeat([]float64{1}, max(1, x.lanes))
	if d == inTurn {
		return out
	}
	by := make([]float64, len(out)+1) // messages by lanes
	for q := range s.pods {
		for r := range q {
			for i, a := range s.pods[q] {
				for j, b := range s.pods[r] {
					both := func(x *plane) int { return min(len(x.low[q][i].lanes), len(x.low[r][j].lanes)) }
					n, all := both(x), 0
					for _, y := range s.planes {
						if d == share || x == y {
							all += both(y)
						}
					}
					by[n] += float64(s.net.HostCount(s.net.Switch(a))*s.net.HostCount(s.net.Switch(b))*n) / float64(max(1, all))
				}
			}
		}
	}
	for m := 1; m < len(by); m++ {
		fill(out[:m], by[m])
	}
	return out
}

// fill pours an amount onto the lowest levels, which fall from the first to the last.
func fill(levels []float64, amount float64) {
	for i := len(levels) - 1; i >= 0; i-- {
		n := float64(len(levels) - i)
		if i > 0 && (levels[i-1]-levels[i])*n < amount {
			amount -= (levels[i-1] - levels[i]) * n
			for j := i; j < len(levels); j++ {
				levels[j] = levels[i-1]
			}
			continue
		}
		for j := i; j < len(levels); j++ {
			levels[j] += amount / n
		}
		return
	}
}

// tree makes the tree of the planes and joins its links with cables.
func (s *stacker) tree(d division) (err error) {
	var layers []layer
	o := topology.Options{Pods: len(s.pods), Leaves: len(s.pods) * s.leaves, Ports: 1}
	for _, x := range s.planes {
		layers = append(layers, s.divide(x, d)...)
	}
	for _, x := range layers {
		o.Tops = max(o.Tops, len(x.tops))
	}
	o.Spines = len(layers)
	for i := range o.Leaves {
		var hosts []Node
		if v := s.place(layers, i, o); v != NoNode {
			hosts = s.net.HostsOn(v)
		}
		o.Fill, o.Ports = append(o.Fill, len(hosts)), max(o.Ports, len(hosts))
		s.Host = append(s.Host, hosts...)
	}
	if s.Tree, err = topology.New(o); err != nil {
		return err
	}
	s.nodes = lists.Tabulate(s.Tree.Switches(), func(sw int) Node { return s.place(layers, sw, o) })
	s.cables = make([][]Cable, s.Tree.AllLinks())
	for id := range s.cables {
		s.link(id, layers)
	}
	if len(layers) > len(s.planes) {
		s.note("a cable counts as the messages that it carries at once (%s~2 is for the second over %[1]s)", s.net.Name(s.nodes[o.Leaves]))
	}
	if s.Tree, err = s.Tree.WithoutAbsent(s.stack.absent...); err == nil {
		s.Tree, err = s.Tree.Without(s.missing(s.net)...)
	}
	return err
}

// place returns the node of a switch of the tree, by number, or NoNode.
func (s *stacker) place(layers []layer, sw int, o topology.Options) Node {
	i := -1
	switch middles := o.Pods * len(layers); {
	case sw < o.Leaves:
		if own := s.pods[sw/s.leaves]; sw%s.leaves < len(own) {
			i = own[sw%s.leaves]
		}
	case sw < o.Leaves+middles:
		sw -= o.Leaves
		i = layers[sw%len(layers)].middle[sw/len(layers)]
	default:
		sw -= o.Leaves + middles
		if x := layers[sw%len(layers)]; sw/len(layers) < len(x.tops) {
			i = x.plane.tops[x.tops[sw/len(layers)].at]
		}
	}
	if i < 0 {
		return NoNode
	}
	return s.net.Switch(i)
}

// link joins a link with its cable, or notes that it never was there: a cable that other leaves, or other
// pods, have is missing.
func (s *stacker) link(id int, layers []layer) {
	l := s.Tree.LinkOf(id)
	x, low, high := layers[l.Spine], -1, -1
	nr, own, lanes, count := x.nr, bundle{}, 0, 0
	switch {
	case !l.Above:
		low, high = l.Leaf, s.Tree.Above(l.Leaf, l.Spine)
		own = x.low[l.Leaf/s.leaves][l.Leaf%s.leaves]
		lanes, count = most(x.low, -1)
		nr = (nr + s.joint(x.plane, 0, l.Leaf/s.leaves, l.Leaf%s.leaves)) % max(1, lanes)
	case l.Top < len(x.tops):
		to := x.tops[l.Top]
		low, high = s.Tree.Leaves()+l.Leaf*len(layers)+l.Spine, s.Tree.Leaves()
		nr, own = to.nr, x.high[l.Leaf][to.at]
		lanes, count = most(x.high, to.at)
		nr = (nr + s.joint(x.plane, 1, l.Leaf, to.at)) % max(1, lanes)
	}
	switch {
	case nr < len(own.lanes):
		s.cables[id] = []Cable{own.lanes[nr]}
	case low < 0 || s.nodes[low] == NoNode || s.nodes[high] == NoNode || lanes > 0 && own.count == count:
		s.stack.absent = append(s.stack.absent, l)
	}
}

// Exact reports whether no plan for the network is shorter than the bound of a tree with the same links or
// fewer: not where some cables carry more messages at once than the tree has links for them.
func (p *Places) Exact(t *topology.Live) bool {
	return p.stack == nil || p.stack.exact && (p.stack.each || len(t.Dead()) == 0)
}

// Inexact says what of a tree that is not Exact is in the way.
func (p *Places) Inexact() string {
	return cmp.Or(p.stack.why, "whose cables carry different numbers of messages at once")
}

// twins notes which links are one cable, and which switches are one of the network.
func (p *Places) twins(out *topology.Names) {
	by, first := map[Cable][]topology.Link{}, map[Node]int{}
	for id, own := range p.cables {
		for _, c := range own {
			by[c] = append(by[c], p.Tree.LinkOf(id))
		}
	}
	out.Cables = make([][]topology.Link, len(p.cables))
	for id, own := range p.cables {
		if len(own) > 0 && len(by[own[0]]) > 1 {
			out.Cables[id] = by[own[0]]
		}
	}
	for sw, v := range p.nodes {
		if _, ok := first[v]; !ok || v == NoNode {
			first[v] = sw
		}
		out.Switch = append(out.Switch, first[v])
	}
}

// built says how three levels were built, "" where they are a simple tree.
func (s *stack) built() string {
	if s == nil || len(s.notes) == 0 {
		return ""
	}
	return "taken as built: " + strings.Join(s.notes, "; ")
}
