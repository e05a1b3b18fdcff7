package network

import (
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/topology"
)

// An outline is a tree of two levels or three in a network: its size, without servers, and the node
// of each switch, by number.
type outline struct {
	topology.Options
	nodes []Node
}

// outlined returns the tree of a network. Names that identify switches count: leaf0, spine3,
// pod1-spine2 and spine2-top3, or s1_0, s2_5 and s3_11 as in networks of notations. Otherwise
// outlined finds levels, pods and planes, and counts them in the order of the network.
func outlined(n *Network) (*outline, error) {
	if o := numbered(n); o != nil {
		return o, nil
	}
	o, err := found(n)
	if err != nil {
		return nil, err
	}
	if t, err := topology.New(o.full()); err == nil {
		if nodes := switchesNamed(n, &t.Live); nodes != nil {
			o.nodes = nodes
		}
	}
	return o, nil
}

// full has the most servers, with the same numbers of switches.
func (o *outline) full() topology.Options {
	full := o.Options
	full.Ports, full.Fill = topology.MaxPorts, nil
	return full
}

// switchesNamed returns the switches in the order of a tree, nil unless each has its name.
func switchesNamed(n *Network, t *topology.Live) (nodes []Node) {
	x := names(n)
	for sw := range t.Switches() {
		found := x.byName[t.SwitchName(sw)]
		if len(found) != 1 {
			return nil
		}
		nodes = append(nodes, found[0])
	}
	return nodes
}

// numbered is the outline of a network with switch names s1_0, s2_0 and so on, nil for others.
func numbered(n *Network) *outline {
	var count [4]int
	x, level, o := names(n), map[Node]int{}, &outline{}
	for l := 1; l < len(count); l++ {
		for ; len(x.byName[built(l, count[l])]) == 1; count[l]++ {
			v := x.byName[built(l, count[l])][0]
			level[v], o.nodes = l, append(o.nodes, v)
		}
	}
	if count[2] == 0 || len(level) != n.Switches() {
		return nil
	}
	planes := count[2]
	if count[3] > 0 {
		leaves := 1
		planes = 1
		for v, l := range level {
			switch l {
			case 1:
				planes = max(planes, beside(n, level, v, 2))
			case 2:
				leaves = max(leaves, beside(n, level, v, 1))
			}
		}
		o.Pods, o.Tops = count[1]/leaves, count[3]/planes
	}
	o.Leaves, o.Spines = count[1], planes
	if t, err := topology.New(o.full()); err != nil || t.Middles() != count[2] || t.Switches() != n.Switches() {
		return nil
	}
	return o
}

// beside returns the number of nodes of a level that a switch has cables to.
func beside(n *Network, level map[Node]int, v Node, of int) int {
	seen := map[Node]bool{}
	for _, e := range n.Ends(v) {
		if level[e.Node] == of {
			seen[e.Node] = true
		}
	}
	return len(seen)
}

// A finder finds the tree in cables. Switches are by index.
type finder struct {
	n     *Network
	near  neighbours
	level []int  // 1 leaves, 2 spines or the switches of pods, 3 top switches
	pods  forest // of leaves and the switches above
	tall  bool   // three levels
}

// newFinder returns a finder that knows the levels.
func newFinder(n *Network) (*finder, error) {
	f := &finder{n: n, near: n.neighbours(), level: make([]int, n.Switches()), pods: newForest(n.Switches())}
	return f, f.levels()
}

func found(n *Network) (*outline, error) {
	f, err := newFinder(n)
	if err != nil {
		return nil, err
	}
	o := &outline{Options: topology.Options{Leaves: len(f.of(1)), Spines: len(f.of(2))}}
	order := slices.Concat(f.of(1), f.of(2))
	switch {
	case o.Leaves == 0 || o.Spines == 0:
		return nil, fmt.Errorf("not a tree: there are no switches above those with hosts")
	case f.tall:
		if order, err = f.three(&o.Options); err != nil {
			return nil, err
		}
	}
	o.nodes = lists.Map(order, n.Switch)
	return o, nil
}

func (f *finder) name(i int) string { return f.n.Name(f.n.Switch(i)) }

func (f *finder) of(level int) []int {
	return lists.Filter(lists.Range[int](len(f.level)), func(i int) bool { return f.level[i] == level })
}

// levels finds the levels: leaves have hosts, and the switches above have cables to them. A switch
// without either leads to several pods and is a top switch, or is a leaf without hosts.
func (f *finder) levels() error {
	for i, hosts := range f.n.leafHosts(f.near) {
		if hosts > 0 {
			f.level[i] = 1
		}
	}
	for _, i := range f.of(1) {
		for _, j := range f.near.of(i) {
			if f.level[j] == 1 {
				return fmt.Errorf("not a tree: a cable joins %s and %s, which both have hosts", f.name(i), f.name(int(j)))
			}
		}
	}
	for _, i := range f.of(1) {
		for _, j := range f.near.of(i) {
			f.level[j] = 2
			f.pods.join(Node(i), Node(j))
		}
	}
	rest := f.of(0)
	for _, i := range rest {
		f.tall = f.tall || f.podsOf(i) > 1
	}
	for _, i := range rest {
		switch near := f.near.of(i); {
		case len(near) == 0 && !f.tall:
			f.level[i] = 2
		case len(near) > 0 && f.podsOf(i) == 0:
			return fmt.Errorf("not a tree of two or three levels: %s has cables to no leaf, and to no switch above leaves", f.name(i))
		case f.podsOf(i) > 1 || f.tall && len(near) == 1:
			f.level[i] = 3
		default:
			f.level[i] = 1
		}
	}
	return f.layered()
}

// podsOf returns the number of pods joined to a switch without a cable to a leaf.
func (f *finder) podsOf(i int) int {
	seen := map[Node]bool{}
	for _, j := range f.near.of(i) {
		if f.level[j] == 2 {
			seen[f.pods.root(Node(j))] = true
		}
	}
	return len(seen)
}

// layered refuses cables that do not join successive levels, and joins leaves without hosts with
// their pods.
func (f *finder) layered() error {
	what := [...]string{1: "a leaf", 2: "a spine", 3: "a top switch"}
	for i, l := range f.level {
		if f.tall && len(f.near.of(i)) == 0 {
			return fmt.Errorf("not a tree of three levels: %s has no cables to switches", f.name(i))
		}
		for _, j := range f.near.of(i) {
			if d := l - f.level[j]; d != 1 && d != -1 {
				return fmt.Errorf("not a tree of two or three levels: %s, by its other cables %s, and %s, %s, are joined", f.name(i), what[l], f.name(int(j)), what[f.level[j]])
			}
			if l == 1 {
				f.pods.join(Node(i), Node(j))
			}
		}
	}
	return nil
}

// three finds pods and planes, and returns leaves by pod, the switches of pods by pod and plane, and top switches by their place
// in a plane. All pods have equally many leaves and a switch in each plane, and all planes equally many top switches of
// their own.
func (f *finder) three(o *topology.Options) (order []int, err error) {
	s := &stacker{Places: &Places{stack: &stack{}}, f: f}
	s.findPods()
	s.findPlanes()
	if s.stack.notes != nil {
		return nil, fmt.Errorf("not a tree of three levels: %s", s.stack.notes[0])
	}
	first := s.planes[0]
	for k, x := range s.planes {
		twin := slices.IndexFunc(s.planes, func(y *plane) bool { return y.group == x.group })
		switch {
		case twin < k:
			return nil, fmt.Errorf("not a tree of three levels: %s and %s are in one pod, and cables join both with the same top switches", f.name(s.planes[twin].middle[0]), f.name(x.middle[0]))
		case len(x.tops) != len(first.tops):
			return nil, fmt.Errorf("not a tree of three levels: %s is below %d top switches and %s below %d", f.name(first.middle[0]), len(first.tops), f.name(x.middle[0]), len(x.tops))
		}
	}
	o.Pods, o.Spines, o.Tops = len(s.pods), len(s.planes), len(first.tops)
	order = slices.Concat(s.pods...)
	for q := range s.pods {
		order = append(order, lists.Map(s.planes, func(x *plane) int { return x.middle[q] })...)
	}
	for top := range first.tops {
		order = append(order, lists.Map(s.planes, func(x *plane) int { return x.tops[top] })...)
	}
	return order, nil
}
