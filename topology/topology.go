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
// The package holds no routes and reads no clock.
package topology

import (
	"cmp"
	"fmt"
	"slices"
	"time"
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
	// Faster: links carry several messages at once, which the tree does not show.
	Faster bool
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

// A Tree is a fat tree of two levels or three, or a view of one with dead links. It is immutable
// and safe for concurrent use.
type Tree struct {
	ports  int // M0
	leaves int
	spines int
	pods   int    // 1 on two levels
	tops   int    // 0 on two levels
	cables int    // between a leaf and a spine
	fill   []int  // servers present on each leaf, in the lowest slots
	first  []int  // rank of the first server of each leaf; first[leaves] = S
	dead   []bool // by LinkID
	absent []bool // by LinkID: dead, as it never was there; nil: none
	names  *Names // nil: there are none but ours
	roles  *roles // nil: every server reads and builds

	renamed bool // names has others than ours for switches
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
	t := &Tree{ports: o.Ports, leaves: o.Leaves, spines: cmp.Or(o.Spines, o.Ports), cables: cmp.Or(o.Cables, 1), pods: 1}
	if o.Pods != 0 || o.Tops != 0 {
		if o.Pods < 1 || o.Leaves%o.Pods != 0 {
			return nil, fmt.Errorf("%d pods for %d leaves: must be at least 1 and divide them", o.Pods, o.Leaves)
		}
		t.pods, t.tops = o.Pods, cmp.Or(o.Tops, o.Leaves/o.Pods)
		if t.tops < 1 || t.tops > MaxPorts {
			return nil, fmt.Errorf("%d top switches in a plane: must be 1..%d", t.tops, MaxPorts)
		}
		if planes := max(t.spines, 1); planes > MaxPorts || t.pods > MaxLeaves || t.pods*planes*t.tops > maxTopLinks {
			return nil, fmt.Errorf("%d pods, %d planes of %d top switches: at most %d, %d, and %d cables to top switches", t.pods, planes, t.tops, MaxLeaves, MaxPorts, maxTopLinks)
		}
	}
	switch {
	case t.ports < 1 || t.ports > MaxPorts:
		return nil, fmt.Errorf("M0 = %d server ports per leaf: must be 1..%d", t.ports, MaxPorts)
	case t.leaves < 1 || t.leaves > MaxLeaves:
		return nil, fmt.Errorf("M1 = %d leaves: must be 1..%d", t.leaves, MaxLeaves)
	case t.spines < 1 || t.spines > MaxPorts:
		return nil, fmt.Errorf("%d spines: must be 1..%d", t.spines, MaxPorts)
	case t.cables < 1 || t.cables > MaxCables || t.spines*t.cables > MaxPorts:
		return nil, fmt.Errorf("%d cables between a leaf and each of %d spines: must be 1..%d, and at most %d of a leaf", t.cables, t.spines, MaxCables, MaxPorts)
	case t.cables > 1 && t.tops > 0:
		return nil, fmt.Errorf("%d cables between a leaf and a spine: trees of three levels have one", t.cables)
	}
	if t.fill = slices.Clone(o.Fill); o.Fill == nil {
		t.fill = slices.Repeat([]int{t.ports}, t.leaves)
	}
	if len(t.fill) != t.leaves {
		return nil, fmt.Errorf("fill names %d leaves, the tree has %d", len(t.fill), t.leaves)
	}
	t.first, t.dead = make([]int, t.leaves+1), make([]bool, (t.leaves*t.cables+t.pods*t.tops)*t.spines)
	for l, n := range t.fill {
		if n < 0 || n > t.ports {
			return nil, fmt.Errorf("fill of leaf%d = %d: must be 0..%d", l, n, t.ports)
		}
		t.first[l+1] = t.first[l] + n
	}
	if t.Servers() < 2 {
		return nil, fmt.Errorf("%d servers: an all-to-all exchange needs at least 2", t.Servers())
	}
	return t, nil
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

func (t *Tree) choices() string {
	if t.tops > 0 {
		return fmt.Sprintf("%s has leaf0..leaf%d, pod0..pod%d, spine0..spine%d and top0..top%d of each spine",
			t.Notation(), t.leaves-1, t.pods-1, t.spines-1, t.tops-1)
	}
	text := fmt.Sprintf("%s has leaf0..leaf%d and spine0..spine%d", t.Notation(), t.leaves-1, t.spines-1)
	if t.cables > 1 {
		text += fmt.Sprintf(", and cables /0../%d between each two", t.cables-1)
	}
	return text
}

// Healthy returns the same tree with every link alive that it ever had.
func (t *Tree) Healthy() *Tree {
	v := *t
	v.dead = make([]bool, len(t.dead))
	copy(v.dead, t.absent)
	return &v
}

// Options returns the Options with which New makes the same tree, with every link alive.
func (t *Tree) Options() Options {
	o := Options{Ports: t.ports, Leaves: t.leaves, Spines: t.spines, Fill: t.Fill(), Tops: t.tops}
	if t.tops > 0 {
		o.Pods = t.pods
	}
	if t.cables > 1 {
		o.Cables = t.cables
	}
	return o
}

// Ports returns M0, the server ports of a leaf.
func (t *Tree) Ports() int { return t.ports }

// Levels returns the number of levels of switches, 2 or 3.
func (t *Tree) Levels() int {
	if t.tops > 0 {
		return 3
	}
	return 2
}

// Pods returns the number of pods; 1 on two levels.
func (t *Tree) Pods() int { return t.pods }

// PodLeaves returns the number of leaves of a pod. Pod q has the leaves from q·PodLeaves() on.
func (t *Tree) PodLeaves() int { return t.leaves / t.pods }

func (t *Tree) Pod(leaf int) int { return leaf / (t.leaves / t.pods) }

// Tops returns the number of top switches in a plane; 0 on two levels.
func (t *Tree) Tops() int { return t.tops }

func (t *Tree) Leaves() int { return t.leaves }

// Spines returns the number of spines or, on three levels, of planes, each with a switch in every
// pod.
func (t *Tree) Spines() int { return t.spines }

// Cables returns the number of parallel cables between a leaf and a spine; 1 on three levels.
func (t *Tree) Cables() int { return t.cables }

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

// LinkID returns the dense ID of a link: leaf·Spines + spine, by cable where they are parallel,
// then links above, by pod, spine and top.
func (t *Tree) LinkID(l Link) int {
	if l.Above {
		return t.leaves*t.spines + (l.Leaf*t.spines+l.Spine)*t.tops + l.Top
	}
	return (l.Leaf*t.spines+l.Spine)*t.cables + max(l.Cable-1, 0)
}

// LowerLinks returns the number of cables between leaves and spines, the first by LinkID.
func (t *Tree) LowerLinks() int { return t.leaves * t.spines * t.cables }

// Cable returns the link of a cable, 0..Cables()-1, between a leaf and a spine.
func (t *Tree) Cable(leaf, spine, cable int) Link {
	if t.cables == 1 {
		return Link{Leaf: leaf, Spine: spine}
	}
	return Link{Leaf: leaf, Spine: spine, Cable: cable + 1}
}

// LinkOf is the inverse of LinkID.
func (t *Tree) LinkOf(id int) Link {
	above := id - t.LowerLinks()
	if above < 0 {
		k := id / t.cables
		return t.Cable(k/t.spines, k%t.spines, id%t.cables)
	}
	k := above / t.tops
	return Link{Leaf: k / t.spines, Spine: k % t.spines, Above: true, Top: above % t.tops}
}

// AllLinks returns the number of cables between switches.
func (t *Tree) AllLinks() int { return len(t.dead) }

// Has reports whether the tree has a link.
func (t *Tree) Has(l Link) bool {
	lower, top, first, last := t.leaves, l.Top == 0, 0, 0
	if l.Above {
		lower, top = t.pods, l.Top >= 0 && l.Top < t.tops
	} else if t.cables > 1 {
		first, last = 1, t.cables
	}
	return top && l.Cable >= first && l.Cable <= last && l.Leaf >= 0 && l.Leaf < lower && l.Spine >= 0 && l.Spine < t.spines
}

func (t *Tree) LinkAlive(l Link) bool { return !t.dead[t.LinkID(l)] }

// Alive reports whether a cable between a leaf and a spine is alive.
func (t *Tree) Alive(leaf, spine int) bool {
	if t.cables == 1 {
		return !t.dead[leaf*t.spines+spine]
	}
	return t.Live(leaf, spine) > 0
}

// Live returns how many cables between a leaf and a spine are alive.
func (t *Tree) Live(leaf, spine int) int {
	live := 0
	for _, dead := range t.dead[(leaf*t.spines+spine)*t.cables:][:t.cables] {
		if !dead {
			live++
		}
	}
	return live
}

// CableAlive reports whether a cable between a leaf and a spine, 0..Cables()-1, is alive.
func (t *Tree) CableAlive(leaf, spine, cable int) bool {
	return !t.dead[(leaf*t.spines+spine)*t.cables+cable]
}

// TopAlive reports whether the link between a pod's switch in a plane and a top switch of
// the plane is alive.
func (t *Tree) TopAlive(pod, spine, top int) bool {
	return !t.dead[t.leaves*t.spines+(pod*t.spines+spine)*t.tops+top]
}

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

// CommonSpines returns the spines with live links to both leaves, rising; on three levels the
// planes with a live path between the two.
func (t *Tree) CommonSpines(a, b int) []int {
	var out []int
	for k := range t.spines {
		if t.Alive(a, k) && t.Alive(b, k) && t.meet(a, b, k) {
			out = append(out, k)
		}
	}
	return out
}

// meet reports whether plane k joins the pods of two leaves: some top switch is alive from both.
func (t *Tree) meet(a, b, k int) bool {
	q, r := t.Pod(a), t.Pod(b)
	for top := range t.tops {
		if q != r && t.TopAlive(q, k, top) && t.TopAlive(r, k, top) {
			return true
		}
	}
	return q == r
}

// Load returns how many messages of an exchange the server of a rank sends or receives, whichever is
// more.
func (t *Tree) Load(rank int) int {
	own := 0
	if t.Reads(rank) && t.Builds(rank) {
		own = 1
	}
	most := 0
	if t.Reads(rank) {
		most = t.Builders() - own
	}
	if t.Builds(rank) {
		most = max(most, t.Readers()-own)
	}
	return most
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
func LinkNames(links []Link) []string { return (&Tree{}).LinkNames(links) }

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
}

// A CableEvent reports that a cable went down or is up again: a cable between switches, or a
// server's.
type CableEvent struct {
	Cable string    // as WireName has it
	Up    bool      // both ends are
	Seen  time.Time // when that had been read
}
