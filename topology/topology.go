// Package topology describes a fat tree: its servers, leaf switches, spine switches and links, and
// which of them are dead. All are dense integer IDs.
//
// The fabric is the two-level fat tree FT(2;M0,M1) of the thesis (ch. 2): M1
// leaves with M0 server ports each and, unless stated otherwise, M0 spines,
// with one cable from each leaf to each spine. All links have unit capacity.
//
// Two levels may have p parallel cables from each leaf to each spine, PGFT(2;M0,M1;1,K;1,p). Each
// is a separate link, which may die alone. A message takes one up and one down, in any combination.
//
// With a third level, FT(3;M0,M1,M2), the tree is M2 pods of M1 leaves. Spines are then planes: a
// pod has a switch in each, with a cable to each of its leaves. A plane has M1 top switches unless
// stated otherwise, each with a cable to the plane's switch in every pod. A message between leaves
// of a pod chooses a plane, one between pods a plane and a top switch of it. A tree of two levels
// is one pod, without top switches.
//
// A server has two numbers. Its position slot + leaf·M0 is its name and does not depend on missing
// servers. Its rank 0..S-1 is its place among the servers present, in order of position; formulas,
// schedules and tables count in ranks. Only this package makes and reads names ("leaf0",
// "server17", "leaf0-spine3").
//
// A Tree has four parts, each a type of its own: its Shape, numbers of switches and servers and who
// hangs where; Wires, the numbers of links, paths, ports and their directions; Live, which links live;
// Roles, who has messages for whom. The tree adds names. Code that asks one part takes that part.
//
// The package holds no routes and reads no clock.
package topology

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evbench/internal/lists"
)

// Limits on fat trees; they bound memory.
const (
	MaxPorts    = 254 // server ports per leaf, and spines: each is one byte of an address and of a plan
	MaxLeaves   = 4096
	maxTopLinks = 1 << 20 // cables between pods and top switches
	MaxCables   = 15      // between a leaf and a spine: two numbers of them share a byte
)

// A Link is a cable between switches: between a leaf and a spine or, with Above, on three levels,
// between the switch of pod Leaf in plane Spine and top switch Top of the plane. Leaf is the lower
// end in both cases. For parallel cables, Cable is the number plus 1; otherwise it is 0.
type Link struct {
	Leaf, Spine int
	Above       bool
	Top         int
	Cable       int
}

// A SlowLink is a link that is alive at a share of the usual rate, 0 < Share < 1.
type SlowLink struct {
	Link  Link
	Share float64
}

// A SlowHost is the server of a rank whose cable has a share of the link rate, 0 < Share < 1.
type SlowHost struct {
	Rank  int
	Share float64
}

// Rates say how a network differs from one whose links all carry one message at a time, at one rate.
type Rates struct {
	Slow  []SlowLink
	Hosts []SlowHost
	// Faster: links carry several messages at once, which the tree does not show; no phases are fewer than
	// Least, 0 where that is not known. Counted: what leaves a leaf or a pod at once, the tree shows.
	Faster, Counted bool
	Least           float64
}

// String returns the name of the link, such as "leaf0-spine3", "leaf0-spine3/1" of parallel cables,
// or "pod1-spine2-top3".
func (l Link) String() string {
	if l.Above {
		return fmt.Sprintf("pod%d-spine%d-top%d", l.Leaf, l.Spine, l.Top)
	}
	return fmt.Sprintf("leaf%d-spine%d%s", l.Leaf, l.Spine, l.number())
}

// number is the end of the name of a parallel cable.
func (l Link) number() string {
	if l.Cable == 0 {
		return ""
	}
	return fmt.Sprintf("/%d", l.Cable-1)
}

// A Tree is a fat tree of two levels or three, or a view of one with dead links and with roles. It is a
// Shape, numbered by Wires, of which Live says what is dead and how all is called, and Roles. A function
// takes the least of these that answers its questions. All are immutable and safe for concurrent use.
type Tree struct {
	Live
	Roles
}

// Options describe a tree.
type Options struct {
	// Ports is M0, the server ports of a leaf, 1..MaxPorts.
	Ports int
	// Leaves is the number of leaves of all pods, 1..MaxLeaves.
	Leaves int
	// Spines is the number of spines, on three levels of planes. 0 means M0.
	Spines int
	// Fill is the number of servers on each leaf, 0..M0; they take the lowest
	// slots. nil means M0 on every leaf.
	Fill []int
	// Pods is M2, the pods of a three-level tree, which share the leaves evenly.
	// 0 means two levels.
	Pods int
	// Tops is the number of top switches in a plane of a three-level tree. 0
	// means M1, the leaves of a pod.
	Tops int
	// Cables is the number of parallel cables between a leaf and a spine of two levels. 0 means 1.
	Cables int
}

// New returns the tree of o with every link alive.
func New(o Options) (*Tree, error) {
	s, err := shapeOf(o)
	if err != nil {
		return nil, err
	}
	return &Tree{Live: Live{Wires: Wires{s}, dead: make([]bool, s.links())}, Roles: allBoth(s)}, nil
}

func shapeOf(o Options) (*Shape, error) {
	s := &Shape{ports: o.Ports, leaves: o.Leaves, spines: cmp.Or(o.Spines, o.Ports), cables: cmp.Or(o.Cables, 1), pods: 1}
	if o.Pods != 0 || o.Tops != 0 {
		if o.Pods < 1 || o.Leaves%o.Pods != 0 {
			return nil, fmt.Errorf("%d pods for %d leaves: must be at least 1 and divide them", o.Pods, o.Leaves)
		}
		s.pods, s.tops = o.Pods, cmp.Or(o.Tops, o.Leaves/o.Pods)
		if s.tops < 1 || s.tops > MaxPorts {
			return nil, fmt.Errorf("%d top switches in a plane: must be 1..%d", s.tops, MaxPorts)
		}
		if planes := max(s.spines, 1); planes > MaxPorts || s.pods > MaxLeaves || s.pods*planes*s.tops > maxTopLinks {
			return nil, fmt.Errorf("%d pods, %d planes of %d top switches: at most %d, %d, and %d cables to top switches", s.pods, planes, s.tops, MaxLeaves, MaxPorts, maxTopLinks)
		}
	}
	switch {
	case s.ports < 1 || s.ports > MaxPorts:
		return nil, fmt.Errorf("M0 = %d server ports per leaf: must be 1..%d", s.ports, MaxPorts)
	case s.leaves < 1 || s.leaves > MaxLeaves:
		return nil, fmt.Errorf("M1 = %d leaves: must be 1..%d", s.leaves, MaxLeaves)
	case s.spines < 1 || s.spines > MaxPorts:
		return nil, fmt.Errorf("%d spines: must be 1..%d", s.spines, MaxPorts)
	case s.cables < 1 || s.cables > MaxCables || s.spines*s.cables > MaxPorts:
		return nil, fmt.Errorf("%d cables between a leaf and each of %d spines: must be 1..%d, and at most %d of a leaf", s.cables, s.spines, MaxCables, MaxPorts)
	case s.cables > 1 && s.tops > 0:
		return nil, fmt.Errorf("%d cables between a leaf and a spine: trees of three levels have one", s.cables)
	}
	if s.fill = slices.Clone(o.Fill); o.Fill == nil {
		s.fill = slices.Repeat([]int{s.ports}, s.leaves)
	}
	if len(s.fill) != s.leaves {
		return nil, fmt.Errorf("fill names %d leaves, the tree has %d", len(s.fill), s.leaves)
	}
	s.first = make([]int, s.leaves+1)
	for l, n := range s.fill {
		if n < 0 || n > s.ports {
			return nil, fmt.Errorf("fill of leaf%d = %d: must be 0..%d", l, n, s.ports)
		}
		s.first[l+1] = s.first[l] + n
	}
	if s.Servers() < 2 {
		return nil, fmt.Errorf("%d servers: an all-to-all exchange needs at least 2", s.Servers())
	}
	return s, nil
}

// Without returns a view of t in which the given links are dead, too. A link that does not exist is
// an error.
func (t *Tree) Without(links ...Link) (*Tree, error) {
	v := *t
	v.dead = slices.Clone(t.dead)
	for _, l := range links {
		if !t.Has(l) {
			return nil, fmt.Errorf("no link %q; %s", l, t.choices())
		}
		v.dead[t.LinkID(l)] = true
	}
	return &v, nil
}

// WithoutAbsent is Without for links that the network never had: they are no damage, so Dead and
// Healthy leave them out.
func (t *Tree) WithoutAbsent(links ...Link) (*Tree, error) {
	v, err := t.Without(links...)
	if err != nil || len(links) == 0 {
		return t, err
	}
	v.absent = make([]bool, len(t.dead))
	copy(v.absent, t.absent)
	for _, l := range links {
		v.absent[t.LinkID(l)] = true
	}
	return v, nil
}

// Healthy returns the same tree with every link alive that it ever had.
func (t *Tree) Healthy() *Tree {
	v := *t
	v.dead = make([]bool, len(t.dead))
	copy(v.dead, t.absent)
	return &v
}

// Compare orders links by leaf and then spine, those above last, as Tree.Dead lists them.
func (l Link) Compare(o Link) int {
	if l.Above != o.Above {
		if l.Above {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(l.Leaf, o.Leaf), cmp.Compare(l.Spine, o.Spine), cmp.Compare(l.Top, o.Top), cmp.Compare(l.Cable, o.Cable))
}

// LinkNames returns our names of links in their order; it is never nil.
func LinkNames(links []Link) []string { return (&Live{}).LinkNames(links) }

// Minus returns the links that are not among others, in their order.
func Minus(links, others []Link) []Link {
	return lists.Filter(links, func(l Link) bool { return !slices.Contains(others, l) })
}

// A LinkEvent is the report of one end of a link between switches. A link is alive while both ends
// are up.
type LinkEvent struct {
	Link Link
	Leaf bool // the lower end says so, the leaf's, else the upper one, the spine's
	Up   bool
	Seen time.Time // when the event had been read
	// Reread marks a state read because events were lost: the end may have changed more than once
	// since the last event.
	Reread bool
	// Moved: the network has other tables, by whoever manages them; nothing is said of a link.
	Moved bool
}

// A CableEvent reports that a cable went down or is up again: a cable between switches, or a
// server's.
type CableEvent struct {
	Cable string    // as WireName has it
	Up    bool      // both ends are
	Seen  time.Time // when that had been read
}
