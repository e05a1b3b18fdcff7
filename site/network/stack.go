package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/show"
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
}

// A story is a plane before it is divided: a switch of each pod, by index or -1, and the top switches
// that cables join these with.
type story struct {
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
	f       *finder
	pods    [][]int // leaves, by index
	leaves  int     // of the largest pod
	stories []*story
}

// stacked returns the tree of three levels as they were built.
func stacked(n *Network, rate float64) (*Places, error) {
	f := &finder{n: n, near: n.neighbours(), level: make([]int, n.Switches()), pods: newForest(n.Switches())}
	if err := f.levels(); err != nil {
		return nil, err
	}
	if !f.tall {
		return nil, errors.New("not a tree of three levels")
	}
	s := &stacker{Places: &Places{net: n, rate: rate, lanes: true, usual: 1, stack: &stack{exact: true, each: true}}, f: f}
	s.findPods()
	s.findStories()
	for _, x := range s.stories {
		s.measure(x)
	}
	for _, x := range s.stories {
		s.even(x)
	}
	if err := s.tree(); err != nil {
		return nil, err
	}
	s.Tree = s.Tree.Named(s.names(names(n)))
	return s.Places, nil
}

func (s *stacker) findPods() {
	at := map[Node]int{}
	for _, i := range s.f.of(1) {
		r := s.f.pods.root(Node(i))
		if _, ok := at[r]; !ok {
			at[r] = len(s.pods)
			s.pods = append(s.pods, nil)
		}
		s.pods[at[r]] = append(s.pods[at[r]], i)
		s.leaves = max(s.leaves, len(s.pods[at[r]]))
	}
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

// findStories finds the planes. Switches of one pod with cables to the same top switches are in planes
// of their own, in their order; one without cables to top switches takes a place that its pod lacks.
func (s *stacker) findStories() {
	joined, group := newForest(s.f.n.Switches()), map[Node]int{}
	for _, i := range s.f.of(3) {
		for _, j := range s.f.near.of(i) {
			joined.join(Node(i), Node(j))
		}
	}
	var tops [][]int
	for _, i := range s.f.of(3) {
		r := joined.root(Node(i))
		if _, ok := group[r]; !ok {
			group[r] = len(tops)
			tops = append(tops, nil)
		}
		tops[group[r]] = append(tops[group[r]], i)
	}
	var loose []int
	for _, i := range s.f.of(2) {
		if g, ok := group[joined.root(Node(i))]; ok {
			s.put(i, func(x *story) bool { return x.group == g }, story{tops: tops[g], group: g})
		} else {
			loose = append(loose, i)
		}
	}
	for _, i := range loose {
		s.put(i, func(*story) bool { return true }, story{group: -1})
	}
	for q, own := range s.pods {
		n := 0
		for _, x := range s.stories {
			if x.middle[q] >= 0 {
				n++
			}
		}
		if n < len(s.stories) {
			s.note("the pod of %s has %s above its leaves, all pods together %d planes", s.f.name(own[0]), show.Plural(n, "switch", "switches"), len(s.stories))
		}
	}
}

// put places a switch of a pod into the first fitting plane where the pod has none, or into a new one.
func (s *stacker) put(i int, fits func(*story) bool, fresh story) {
	q := s.podOf(i)
	k := slices.IndexFunc(s.stories, func(x *story) bool { return fits(x) && x.middle[q] < 0 })
	if k < 0 {
		k = len(s.stories)
		fresh.middle = slices.Repeat([]int{-1}, len(s.pods))
		s.stories = append(s.stories, &fresh)
	}
	s.stories[k].middle[q] = i
}

// measure counts the cables of a plane.
func (s *stacker) measure(x *story) {
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
				s.stack.exact = false // a part of a message more
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
func (s *stacker) even(x *story) {
	meshed := slices.ContainsFunc(s.stories, func(y *story) bool { return y != x && y.group == x.group && x.group >= 0 })
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
	for _, y := range s.stories {
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
	_, high := most(x.high, -1)
	s.stack.exact, s.stack.each = s.stack.exact && (whole || full), s.stack.each && whole && low <= 1 && high <= 1
}

// A plane is one lane of a story, with its top switches.
type plane struct {
	*story
	nr   int
	tops []rung
}

// A rung is a top switch of a story, by its place there, and which of the messages to it.
type rung struct{ at, nr int }

// divide gives the lanes of a story the messages to its top switches in turn.
func (x *story) divide() []plane {
	out, next := make([]plane, max(1, x.lanes)), 0
	for nr := range out {
		out[nr] = plane{story: x, nr: nr}
	}
	for at := range x.tops {
		lanes, _ := most(x.high, at)
		for nr := range lanes {
			to := &out[next%len(out)]
			to.tops = append(to.tops, rung{at, nr})
			next++
		}
	}
	return out
}

// tree makes the tree of the planes and joins its links with cables.
func (s *stacker) tree() (err error) {
	var planes []plane
	o := topology.Options{Pods: len(s.pods), Leaves: len(s.pods) * s.leaves, Ports: 1}
	for _, x := range s.stories {
		planes = append(planes, x.divide()...)
	}
	for _, x := range planes {
		o.Tops = max(o.Tops, len(x.tops))
	}
	o.Spines = len(planes)
	for i := range o.Leaves {
		var hosts []Node
		if v := s.place(planes, i, o); v != NoNode {
			hosts = s.net.HostsOn(v)
		}
		o.Fill, o.Ports = append(o.Fill, len(hosts)), max(o.Ports, len(hosts))
		s.Host = append(s.Host, hosts...)
	}
	if s.Tree, err = topology.New(o); err != nil {
		return err
	}
	for sw := range s.Tree.Switches() {
		s.nodes = append(s.nodes, s.place(planes, sw, o))
	}
	s.cables = make([][]Cable, s.Tree.AllLinks())
	for id := range s.cables {
		s.link(id, planes)
	}
	if len(planes) > len(s.stories) {
		s.note("a cable counts as the messages that it carries at once (%s~2 is for the second over %[1]s)", s.net.Name(s.nodes[o.Leaves]))
	}
	if s.Tree, err = s.Tree.WithoutAbsent(s.stack.absent...); err == nil {
		s.Tree, err = s.Tree.Without(s.missing(s.net)...)
	}
	return err
}

// place returns the node of a switch of the tree, by number, or NoNode.
func (s *stacker) place(planes []plane, sw int, o topology.Options) Node {
	i := -1
	switch middles := o.Pods * len(planes); {
	case sw < o.Leaves:
		if own := s.pods[sw/s.leaves]; sw%s.leaves < len(own) {
			i = own[sw%s.leaves]
		}
	case sw < o.Leaves+middles:
		sw -= o.Leaves
		i = planes[sw%len(planes)].middle[sw/len(planes)]
	default:
		sw -= o.Leaves + middles
		if x := planes[sw%len(planes)]; sw/len(planes) < len(x.tops) {
			i = x.story.tops[x.tops[sw/len(planes)].at]
		}
	}
	if i < 0 {
		return NoNode
	}
	return s.net.Switch(i)
}

// link joins a link with its cable, or notes that it never was there: a cable that other leaves, or other
// pods, have is missing.
func (s *stacker) link(id int, planes []plane) {
	l := s.Tree.LinkOf(id)
	x, low, high := planes[l.Spine], -1, -1
	nr, own, lanes, count := x.nr, bundle{}, 0, 0
	switch {
	case !l.Above:
		low, high = l.Leaf, s.Tree.Above(l.Leaf, l.Spine)
		own = x.low[l.Leaf/s.leaves][l.Leaf%s.leaves]
		lanes, count = most(x.low, -1)
	case l.Top < len(x.tops):
		to := x.tops[l.Top]
		low, high = s.Tree.Leaves()+l.Leaf*len(planes)+l.Spine, s.Tree.Leaves()
		nr, own = to.nr, x.high[l.Leaf][to.at]
		lanes, count = most(x.high, to.at)
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
func (p *Places) Exact(t *topology.Tree) bool {
	return p.stack == nil || p.stack.exact && (p.stack.each || len(t.Dead()) == 0)
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
