// Package topology describes a fat tree: which servers, leaf switches, spine switches
// and links it has, and which of them are dead. All are dense integer IDs.
//
// The fabric is the two-level fat tree FT(2;M0,M1) of the thesis (ch. 2): M1
// leaves with M0 server ports each and, unless stated otherwise, M0 spines,
// with one cable from each leaf to each spine. All links have unit capacity.
// A Tree may have a third level, FT(3;M0,M1,M2), which Pods describes.
//
// A server has two numbers. Its position slot + leaf·M0 is its name and never
// changes when other servers are missing. Its rank 0..S-1 is its place among
// the servers present, in order of position; formulas, schedules and tables
// count in ranks. Names ("leaf0", "server17", "leaf0-spine3") are made and read
// here, at the edge, and nowhere else.
//
// The package holds no routes and reads no clock.
package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Limits on what is accepted as a fat tree; they bound memory, not mathematics.
const (
	MaxPorts  = 254 // server ports per leaf, and spines: each is one byte of an address and of a plan
	MaxLeaves = 4096
)

// A Link is a cable between switches: that between a leaf and a spine or, with Above,
// that of three levels between the switch of pod Leaf in plane Spine and top switch Top
// of the plane. Leaf is the lower end either way.
type Link struct {
	Leaf, Spine int
	Above       bool
	Top         int
}

// String returns the name of the link, such as "leaf0-spine3" or "pod1-spine2-top3".
func (l Link) String() string {
	if l.Above {
		return l.topLink().String()
	}
	return fmt.Sprintf("leaf%d-spine%d", l.Leaf, l.Spine)
}

// A Tree is a fat tree of two levels or three, or a view of one with dead links. It is
// immutable and safe for concurrent use; the file levels.go says what is asked of both.
type Tree struct {
	ports  int // M0
	leaves int // M1
	spines int
	fill   []int // servers present on each leaf, in the lowest slots
	first  []int // rank of the first server of each leaf; first[leaves] = S
	dead   []bool
	nDead  int
	pods   *Pods // the third level, whose Lower has the same dead links; nil: two levels
}

// Options describe a tree.
type Options struct {
	// Ports is M0, the server ports of a leaf, 1..MaxPorts.
	Ports int
	// Leaves is M1, 1..MaxLeaves.
	Leaves int
	// Spines is the number of spines. 0 means M0.
	Spines int
	// Fill is the number of servers on each leaf, 0..M0; they take the lowest
	// slots. nil means M0 on every leaf.
	Fill []int
	// Pods is M2, the pods of a three-level tree (NewPods), which share the
	// leaves evenly. 0 means two levels.
	Pods int
	// Tops is the number of top switches in a plane of a three-level tree. 0
	// means M1, the leaves of a pod.
	Tops int
}

// New returns the two-level tree with every link alive. Make takes both.
func New(o Options) (*Tree, error) {
	if o.Pods != 0 || o.Tops != 0 {
		return nil, errors.New("a three-level tree where one of two levels is needed: FT(2;M0,M1)")
	}
	if o.Ports < 1 || o.Ports > MaxPorts {
		return nil, fmt.Errorf("M0 = %d server ports per leaf: must be 1..%d", o.Ports, MaxPorts)
	}
	if o.Leaves < 1 || o.Leaves > MaxLeaves {
		return nil, fmt.Errorf("M1 = %d leaves: must be 1..%d", o.Leaves, MaxLeaves)
	}
	if o.Spines == 0 {
		o.Spines = o.Ports
	}
	if o.Spines < 1 || o.Spines > MaxPorts {
		return nil, fmt.Errorf("%d spines: must be 1..%d", o.Spines, MaxPorts)
	}
	if o.Fill == nil {
		o.Fill = slices.Repeat([]int{o.Ports}, o.Leaves)
	}
	if len(o.Fill) != o.Leaves {
		return nil, fmt.Errorf("fill names %d leaves, the tree has %d", len(o.Fill), o.Leaves)
	}
	t := &Tree{
		ports: o.Ports, leaves: o.Leaves, spines: o.Spines,
		fill:  slices.Clone(o.Fill),
		first: make([]int, o.Leaves+1),
		dead:  make([]bool, o.Leaves*o.Spines),
	}
	for l, n := range o.Fill {
		if n < 0 || n > o.Ports {
			return nil, fmt.Errorf("fill of leaf%d = %d: must be 0..%d", l, n, o.Ports)
		}
		t.first[l+1] = t.first[l] + n
	}
	if t.Servers() < 2 {
		return nil, fmt.Errorf("%d servers: an all-to-all exchange needs at least 2", t.Servers())
	}
	return t, nil
}

// Without returns a view of t in which the given links are dead as well as
// those dead already. A link that does not exist is an error.
func (t *Tree) Without(links ...Link) (*Tree, error) {
	if t.pods != nil {
		p, err := t.pods.Without(levels(links))
		if err != nil {
			return nil, err
		}
		return p.Tree(), nil
	}
	v := *t
	v.dead = slices.Clone(t.dead)
	for _, l := range links {
		if err := t.checkLink(l); err != nil {
			return nil, err
		}
		if id := t.LinkID(l); !v.dead[id] {
			v.dead[id] = true
			v.nDead++
		}
	}
	return &v, nil
}

func (t *Tree) checkLink(l Link) error {
	if l.Above || l.Leaf < 0 || l.Leaf >= t.leaves || l.Spine < 0 || l.Spine >= t.spines {
		return fmt.Errorf("no link %q; %s", l, t.choices())
	}
	return nil
}

// choices says which leaves and spines there are, for error messages.
func (t *Tree) choices() string {
	return fmt.Sprintf("%s has leaf0..leaf%d and spine0..spine%d", t.Notation(), t.leaves-1, t.spines-1)
}

// Healthy returns the same tree with every link alive.
func (t *Tree) Healthy() *Tree {
	v := *t
	v.dead, v.nDead = make([]bool, len(t.dead)), 0
	if t.pods != nil {
		p := *t.pods
		p.lower, p.dead, p.nDead = p.lower.Healthy(), make([]bool, len(p.dead)), 0
		v.pods = &p
	}
	return &v
}

// Ports returns M0, the server ports of a leaf.
func (t *Tree) Ports() int { return t.ports }

// Leaves returns M1, the number of leaves.
func (t *Tree) Leaves() int { return t.leaves }

// Spines returns the number of spines; of three levels that of planes, each of which has
// a switch in every pod.
func (t *Tree) Spines() int { return t.spines }

// Servers returns S, the number of servers present.
func (t *Tree) Servers() int { return t.first[t.leaves] }

// On returns the number of servers present on a leaf.
func (t *Tree) On(leaf int) int { return t.fill[leaf] }

// Fill returns the number of servers on each leaf.
func (t *Tree) Fill() []int { return slices.Clone(t.fill) }

// Full reports whether every leaf has M0 servers.
func (t *Tree) Full() bool { return t.Servers() == t.ports*t.leaves }

// First returns the rank of the first server of a leaf. First(Leaves()) is S.
func (t *Tree) First(leaf int) int { return t.first[leaf] }

// Leaf returns the leaf on which the server of a rank sits. O(log M1).
func (t *Tree) Leaf(rank int) int {
	// The last leaf whose first rank is <= rank; empty leaves share a first rank.
	i, found := slices.BinarySearch(t.first, rank+1)
	if found {
		for t.first[i-1] == rank+1 {
			i--
		}
	}
	return i - 1
}

// LeafOfRanks returns the leaf of every rank, for loops over pairs.
func (t *Tree) LeafOfRanks() []int {
	leaf := make([]int, 0, t.Servers())
	for l := range t.leaves {
		for range t.fill[l] {
			leaf = append(leaf, l)
		}
	}
	return leaf
}

// Slot returns the port of its leaf at which the server of a rank sits.
func (t *Tree) Slot(rank int) int { return rank - t.first[t.Leaf(rank)] }

// Position returns the position slot + leaf·M0 of the server of a rank.
func (t *Tree) Position(rank int) int {
	l := t.Leaf(rank)
	return rank - t.first[l] + l*t.ports
}

// Rank returns the rank of the server at a position, and whether one is there.
func (t *Tree) Rank(position int) (int, bool) {
	l := position / t.ports
	if position < 0 || l >= t.leaves || position%t.ports >= t.fill[l] {
		return 0, false
	}
	return t.first[l] + position%t.ports, true
}

// LinkID returns the dense ID of a link: leaf·Spines + spine, those above behind them.
func (t *Tree) LinkID(l Link) int {
	if l.Above {
		return len(t.dead) + t.pods.topID(l.topLink())
	}
	return l.Leaf*t.spines + l.Spine
}

// Alive reports whether the link between a leaf and a spine is alive.
func (t *Tree) Alive(leaf, spine int) bool { return !t.dead[leaf*t.spines+spine] }

// AliveSpines returns the spines with a live link to the leaf, rising.
func (t *Tree) AliveSpines(leaf int) []int {
	var out []int
	for k := range t.spines {
		if t.Alive(leaf, k) {
			out = append(out, k)
		}
	}
	return out
}

// CommonSpines returns the spines with live links to both leaves, rising; of three levels
// the planes in which a live path between the two is.
func (t *Tree) CommonSpines(a, b int) []int {
	var out []int
	for k := range t.spines {
		if t.Alive(a, k) && t.Alive(b, k) && t.meet(a, b, k) {
			out = append(out, k)
		}
	}
	return out
}

// Dead returns the dead links, by LinkID.
func (t *Tree) Dead() []Link {
	out := make([]Link, 0, t.nDead)
	for id, d := range t.dead {
		if d {
			out = append(out, Link{Leaf: id / t.spines, Spine: id % t.spines})
		}
	}
	if t.pods != nil {
		for _, l := range t.pods.DeadTops() {
			out = append(out, l.link())
		}
	}
	return out
}

// An UnreachableError says that two leaves with servers share no live spine.
type UnreachableError struct{ A, B int }

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("leaf%d and leaf%d have no spine in common that is alive: their servers cannot reach each other", e.A, e.B)
}

// Connected returns an *UnreachableError for the first pair of leaves with
// servers that share no live spine, or nil; of three levels see Pods.Connected.
func (t *Tree) Connected() error {
	if t.pods != nil {
		return t.pods.Connected()
	}
	for a := range t.leaves {
		for b := a + 1; b < t.leaves; b++ {
			if t.fill[a] > 0 && t.fill[b] > 0 && !t.connected(a, b) {
				return &UnreachableError{a, b}
			}
		}
	}
	return nil
}

// Unreachable returns the pairs of leaves with servers that share no live spine,
// rising, the smaller leaf first.
func (t *Tree) Unreachable() [][2]int {
	if t.pods != nil {
		return t.pods.Unreachable()
	}
	var out [][2]int
	for a := range t.leaves {
		for b := a + 1; b < t.leaves; b++ {
			if t.fill[a] > 0 && t.fill[b] > 0 && !t.connected(a, b) {
				out = append(out, [2]int{a, b})
			}
		}
	}
	return out
}

func (t *Tree) connected(a, b int) bool {
	for k := range t.spines {
		if t.Alive(a, k) && t.Alive(b, k) {
			return true
		}
	}
	return false
}

// Compare orders links by leaf and then spine, those above last, as Tree.Dead lists them.
func (l Link) Compare(o Link) int {
	if l.Above != o.Above {
		if l.Above {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(l.Leaf, o.Leaf), cmp.Compare(l.Spine, o.Spine), cmp.Compare(l.Top, o.Top))
}

// LinkNames returns the names of links in their order; it is never nil.
func LinkNames(links []Link) []string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	return names
}

// Minus returns the links that are not among others, in their order.
func Minus(links, others []Link) []Link {
	var out []Link
	for _, l := range links {
		if !slices.Contains(others, l) {
			out = append(out, l)
		}
	}
	return out
}

// A LinkEvent is what one end of a link between switches says about it. A link is alive while
// both ends are up.
type LinkEvent struct {
	Link Link
	Leaf bool // the lower end says so, the leaf's, else the upper one, the spine's
	Up   bool
	Seen time.Time // when the event had been read
	// Reread marks a state that was read because events were lost: the end may have
	// changed more than once since the last event.
	Reread bool
}

// A CableEvent is that a cable went down or is up again: one between switches, or that of a
// server.
type CableEvent struct {
	Cable string    // as WireName has it
	Up    bool      // both ends are
	Seen  time.Time // when that had been read
}
