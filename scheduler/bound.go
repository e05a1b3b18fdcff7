package scheduler

import (
	"fmt"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/split"
	"evbench/topology"
)

// A Bound is a number of phases that every contention-free schedule needs, with the witness that
// proves it.
type Bound = split.Bound

// Kinds of Bound. On three levels Bound.At of kind pod is the number of the pod, and weights of kind
// lp are by all wires of the tree.
const (
	KindServer = split.KindServer
	KindLeaf   = split.KindLeaf
	KindPod    = split.KindPod
	KindHall   = split.KindHall
	KindLP     = split.KindLP

	KindSend    = split.KindSend
	KindReceive = split.KindReceive
	KindUp      = split.KindUp
	KindDown    = split.KindDown
)

// LowerBound returns the best proven bound on the phases of a contention-free
// schedule; the simpler witness wins a tie: server, leaf, pod or hall, lp. Of a tree
// that is not connected, for which there is no schedule, it returns what its
// servers, leaves and pods need; with DropUnreachable it bounds the phases of a
// schedule without the pairs of servers that cannot reach each other.
func LowerBound(t *topology.Tree, o Options) Bound {
	if s, b := shifted(t); s != nil {
		return b
	}
	f := fattree.New(t)
	if !o.DropUnreachable && t.Exchanges() != nil || f.Check() != nil {
		return split.Simple(f)
	}
	f.Part()
	if f.Tops > 0 && f.Topology.Divided() {
		return split.Simple(f) // the fluid of three levels has the same messages both ways
	}
	if f.Tops > 0 {
		return split.NewFluid(f).SettlePods(split.Simple(f))
	}
	_, b := split.Balance(f)
	return b
}

// OnePathBound returns a number of phases that every schedule with one path from each leaf to each
// server needs, and the leaf that proves it, or None. All n readers of a leaf then send through one
// live link to each of the r builders of other leaves, so one link carries ⌈r/links⌉·n messages. b
// bounds schedules with any paths. OnePathBound leaves out the pairs that LowerBound leaves out.
func OnePathBound(t *topology.Tree, b Bound) (phases, leaf int) {
	f := fattree.New(t)
	f.Part()
	phases, leaf = b.Phases, None
	for a, n := range f.R {
		if f.Live[a] > 0 && n*fattree.CeilDiv(f.Reach[a], f.Live[a]) > phases {
			phases, leaf = n*fattree.CeilDiv(f.Reach[a], f.Live[a]), f.Leaf[a]
		}
	}
	return phases, leaf
}

// maxShares bounds leaves²·spines where fragments have sizes.
const maxShares = 1 << 24

// BoundBytes returns the best bound proven for the sizes size(src, dst) ≥ 0 of fragments between
// ranks of a tree, at most 2⁵³ together, and a fractional split whose largest load of a link is near it: the bytes from leaf a to leaf
// b over a spine, or plane, by (a·leaves + b)·spines + spine. The bound is in byte times: the time of one byte on one link.
// Leaves that have bytes for each other and share no live path are a *topology.UnreachableError. The linear program equals that
// of FORS on a tree that has each leaf twice: one sends and one receives.
func BoundBytes(t *topology.Tree, size func(src, dst int) int64) (b Bound, shares []float64, err error) {
	leaves, spines := t.Leaves(), t.Spines()
	if leaves*leaves*spines > maxShares {
		return b, nil, fmt.Errorf("%d leaves with %d spines are more than evbench can plan for sizes (at most %d leaves²·spines)", leaves, spines, maxShares)
	}
	f := fattree.New(t)
	b, between := portsAndLeaves(f, size)
	b, w, apart := split.Bytes(f, between, b)
	if apart != nil {
		x, y := f.Leaf[apart[0]], f.Leaf[apart[1]]
		return Bound{}, nil, &topology.UnreachableError{A: min(x, y), B: max(x, y)}
	}
	shares = make([]float64, leaves*leaves*spines)
	w.Shares(b, func(from, to, spine int, bytes float64) { shares[(from*leaves+to)*spines+spine] = bytes })
	return b, shares, nil
}

// portsAndLeaves returns what the ports of servers and the live links of leaves need for bytes, and the bytes from leaf to leaf,
// by a·leaves + b.
func portsAndLeaves(f *fattree.Tree, size func(src, dst int) int64) (b Bound, between []int64) {
	leaf, ports, links := f.LeafOf(), [2][]int64{}, [2][]int64{}
	between = make([]int64, f.Leaves*f.Leaves)
	for way := range ports {
		ports[way], links[way] = make([]int64, f.Servers), make([]int64, f.Leaves)
	}
	for i, a := range leaf {
		for j, c := range leaf {
			n := size(i, j)
			if i == j || n <= 0 {
				continue
			}
			ports[0][i], ports[1][j] = ports[0][i]+n, ports[1][j]+n
			if a != c {
				links[0][a], links[1][c] = links[0][a]+n, links[1][c]+n
				between[int(a)*f.Leaves+int(c)] += n
			}
		}
	}
	raise := func(bytes int64, links int, kind string, at int) {
		if n := fattree.CeilDiv(int(bytes), max(1, links)); n > b.Phases || b.Kind == "" {
			b = Bound{Phases: n, Kind: kind, At: at}
		}
	}
	for way, kind := range [2]string{KindSend, KindReceive} {
		for i, n := range ports[way] {
			raise(n, 1, kind, i)
		}
	}
	for a, l := range f.Leaf {
		if f.Live[a] > 0 {
			raise(links[0][a], f.Live[a], KindUp, l)
			raise(links[1][a], f.Live[a], KindDown, l)
		}
	}
	return b, between
}
