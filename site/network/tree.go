package network

import (
	"fmt"
	"slices"

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
		if nodes := switchesNamed(n, t); nodes != nil {
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
func switchesNamed(n *Network, t *topology.Tree) (nodes []Node) {
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
	level []int   // 1 leaves, 2 spines or the switches of pods, 3 top switches
	pods  forest  // of leaves and the switches above
	tall  bool    // three levels
	leaf  []int   // of three levels: leaves, by pod
	place []int   // the switches of pods, by pod and plane
	tops  [][]int // by plane
}

func found(n *Network) (*outline, error) {
	f := &finder{n: n, near: n.neighbours(), level: make([]int, n.Switches()), pods: newForest(n.Switches())}
	if err := f.levels(); err != nil {
		return nil, err
	}
	o := &outline{Options: topology.Options{Leaves: len(f.of(1)), Spines: len(f.of(2))}}
	order := slices.Concat(f.of(1), f.of(2))
	switch {
	case o.Leaves == 0 || o.Spines == 0:
		return nil, fmt.Errorf("not a tree: there are no switches above those with hosts")
	case f.tall:
		if err := f.three(&o.Options); err != nil {
			return nil, err
		}
		order = slices.Concat(f.leaf, f.place, f.upper())
	}
	for _, i := range order {
		o.nodes = append(o.nodes, n.Switch(i))
	}
	return o, nil
}

func (f *finder) name(i int) string { return f.n.Name(f.n.Switch(i)) }

func (f *finder) of(level int) (out []int) {
	for i, l := range f.level {
		if l == level {
			out = append(out, i)
		}
	}
	return out
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

// three finds pods and planes. All pods have equally many leaves and a switch in each plane, and
// all planes equally many top switches.
func (f *finder) three(o *topology.Options) error {
	var roots []Node
	leaves := map[Node][]int{}
	for _, i := range f.of(1) {
		r := f.pods.root(Node(i))
		if leaves[r] == nil {
			roots = append(roots, r)
		}
		leaves[r] = append(leaves[r], i)
	}
	for _, r := range roots {
		f.leaf = append(f.leaf, leaves[r]...)
		if a, b := leaves[roots[0]], leaves[r]; len(a) != len(b) {
			return fmt.Errorf("not a tree of three levels: the pod of %s has %d leaves and that of %s has %d", f.name(a[0]), len(a), f.name(b[0]), len(b))
		}
	}
	o.Pods = len(roots)
	return f.planes(o, roots)
}

// planes finds the planes: a plane is top switches and switches of pods that cables join. A switch
// whose cables up are all dead is in the one plane that its pod lacks.
func (f *finder) planes(o *topology.Options, pods []Node) error {
	joined, number := newForest(f.n.Switches()), map[Node]int{}
	for _, i := range f.of(3) {
		for _, j := range f.near.of(i) {
			joined.join(Node(i), Node(j))
		}
	}
	for _, i := range slices.Concat(f.of(2), f.of(3)) { // those of top switches, in the order of the switches below
		if r := joined.root(Node(i)); f.level[i] == 3 || slices.ContainsFunc(f.near.of(i), func(j int32) bool { return f.level[j] == 3 }) {
			if _, ok := number[r]; !ok {
				number[r] = len(number)
			}
		}
	}
	o.Spines = len(number)
	f.tops = make([][]int, o.Spines)
	for _, i := range f.of(3) {
		k := number[joined.root(Node(i))]
		f.tops[k] = append(f.tops[k], i)
	}
	o.Tops = len(f.tops[0])
	for _, tops := range f.tops {
		if len(tops) != o.Tops {
			return fmt.Errorf("not a tree of three levels: %s is one of %d top switches of a plane and %s one of %d", f.name(f.tops[0][0]), o.Tops, f.name(tops[0]), len(tops))
		}
	}
	return f.places(pods, func(i int) int {
		if k, ok := number[joined.root(Node(i))]; ok {
			return k
		}
		return -1
	})
}

// places puts the switches of pods into their planes; those without one fill the gaps last.
func (f *finder) places(pods []Node, plane func(i int) int) error {
	f.place = slices.Repeat([]int{-1}, len(pods)*len(f.tops))
	order := f.of(2)
	slices.SortStableFunc(order, func(a, b int) int { return min(plane(b), 0) - min(plane(a), 0) })
	for _, i := range order {
		pod, k := slices.Index(pods, f.pods.root(Node(i))), plane(i)
		own := f.place[pod*len(f.tops) : (pod+1)*len(f.tops)]
		if k < 0 {
			k = slices.Index(own, -1)
		}
		switch {
		case k < 0:
			return fmt.Errorf("not a tree of three levels: %s has no cable to a top switch, and its pod has a switch in each of %d planes", f.name(i), len(f.tops))
		case own[k] >= 0:
			return fmt.Errorf("not a tree of three levels: %s and %s are in one pod, and cables join both with %s's plane", f.name(own[k]), f.name(i), f.name(f.tops[k][0]))
		}
		own[k] = i
	}
	for at, i := range f.place {
		if i < 0 {
			leaf := f.leaf[at/len(f.tops)*len(f.leaf)/len(pods)]
			return fmt.Errorf("not a tree of three levels: no switch joins the pod of %s with the plane of %s", f.name(leaf), f.name(f.tops[at%len(f.tops)][0]))
		}
	}
	return nil
}

// upper are the top switches in the order of paths.
func (f *finder) upper() (out []int) {
	for top := range f.tops[0] {
		for _, plane := range f.tops {
			out = append(out, plane[top])
		}
	}
	return out
}
