package scheduler

import (
	"fmt"
	"math"
	"math/bits"

	"evbench/internal/lists"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/split"
	"evbench/topology"
)

// A Bound is a number of phases that every contention-free schedule needs, with the witness that
// proves it.
type Bound = split.Bound

// Kinds of Bound. On three levels Bound.Leaf of kind pod is the number of the pod, and weights of kind
// lp are by all wires of the tree.
const (
	KindServer = split.KindServer
	KindLeaf   = split.KindLeaf
	KindPod    = split.KindPod
	KindHall   = split.KindHall
	KindLP     = split.KindLP
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

// A ByteBound is a time that every order of fragments of given sizes needs, also in parts, if no
// port or link has two at a time. It is in byte times: the time of one byte on one link.
//
//   - send, receive: the bytes that a server sends, or receives.
//   - up, down: the bytes that a leaf sends to other leaves, or receives from them, over the
//     number of its live links.
//   - lp: weights as those of Bound, with bytes in place of messages, rounded up. What enters or leaves a pod
//     over its links to top switches is such weights, too.
type ByteBound struct {
	Time int64
	Kind string // send, receive, up, down, lp
	At   int    // of send and receive the rank of the server, of up and down the leaf
	// Weights belong to kind lp, by topology.Wire.
	Weights []int64
}

// Kinds of ByteBound, besides KindLP.
const (
	KindSend    = "send"
	KindReceive = "receive"
	KindUp      = "up"
	KindDown    = "down"
)

// Shares say how many bytes of each pair of leaves a fractional split puts on each
// spine, or plane: the largest load of a link is the bound, or near it.
type Shares struct {
	leaves, spines int
	x              []float64
}

// Of returns the bytes from leaf a to leaf b, by spine.
func (s *Shares) Of(a, b int) []float64 {
	i := (a*s.leaves + b) * s.spines
	return s.x[i : i+s.spines : i+s.spines]
}

// MaxShares bounds leaves²·spines where fragments have sizes.
const MaxShares = 1 << 24

// BoundBytes returns the best bound proven for the sizes size(src, dst) ≥ 0 of fragments between
// ranks of a tree, at most 2⁵³ together, and a split near it. Leaves that have bytes for each other
// and share no live path are a *topology.UnreachableError. The linear program equals that of FORS
// on a tree that has each leaf twice: one sends and one receives.
func BoundBytes(t *topology.Tree, size func(src, dst int) int64) (ByteBound, *Shares, error) {
	leaves, spines := t.Leaves(), t.Spines()
	if leaves*leaves*spines > MaxShares {
		return ByteBound{}, nil, fmt.Errorf("%d leaves with %d spines are more than evbench can plan for sizes (at most %d leaves²·spines)", leaves, spines, MaxShares)
	}
	c := &byteCase{tree: t, between: make([]int64, leaves*leaves)}
	c.ports(size)
	if err := c.connect(); err != nil {
		return ByteBound{}, nil, err
	}
	c.uplinks()
	w := c.split()
	return c.best, c.shares(w), nil
}

type byteCase struct {
	tree    *topology.Tree
	between []int64 // bytes from leaf to leaf, by a·leaves + b; 0 where a = b
	best    ByteBound
	double  *fattree.Tree // leaf a sends as number a, receives as number leaves + a; pods likewise
	amount  []int64       // bytes of the pairs of double
}

func (c *byteCase) raise(b ByteBound) {
	if b.Time > c.best.Time || c.best.Kind == "" {
		c.best = b
	}
}

func (c *byteCase) ports(size func(src, dst int) int64) {
	s, leaf, leaves := c.tree.Servers(), c.tree.LeafOfRanks(), c.tree.Leaves()
	send, receive := make([]int64, s), make([]int64, s)
	for i := range s {
		for j := range s {
			if n := size(i, j); i != j && n > 0 {
				send[i] += n
				receive[j] += n
				if leaf[i] != leaf[j] {
					c.between[leaf[i]*leaves+leaf[j]] += n
				}
			}
		}
	}
	for i := range s {
		c.raise(ByteBound{Time: send[i], Kind: KindSend, At: i})
	}
	for i := range s {
		c.raise(ByteBound{Time: receive[i], Kind: KindReceive, At: i})
	}
}

func (c *byteCase) connect() error {
	t, leaves := c.tree, c.tree.Leaves()
	c.double = fattree.Doubled(t)
	for a := range leaves {
		for b := range leaves {
			if c.between[a*leaves+b] == 0 {
				continue
			}
			if !c.double.Pair(a, leaves+b) {
				return &topology.UnreachableError{A: min(a, b), B: max(a, b)}
			}
			c.amount = append(c.amount, c.between[a*leaves+b])
		}
	}
	return nil
}

func (c *byteCase) uplinks() {
	t, leaves := c.tree, c.tree.Leaves()
	ups, downs := make([]int64, t.Pods()), make([]int64, t.Pods())
	for a := range leaves {
		var out, in int64
		for b := range leaves {
			out += c.between[a*leaves+b]
			in += c.between[b*leaves+a]
			if t.AcrossPods(a, b) {
				ups[t.Pod(a)] += c.between[a*leaves+b]
				downs[t.Pod(b)] += c.between[a*leaves+b]
			}
		}
		live := int64(0)
		for k := range t.Spines() {
			live += int64(t.LiveCables(a, k))
		}
		if live > 0 {
			c.raise(ByteBound{Time: (out + live - 1) / live, Kind: KindUp, At: a})
			c.raise(ByteBound{Time: (in + live - 1) / live, Kind: KindDown, At: a})
		}
	}
	for q := range ups {
		c.pod(q, 0, ups[q])
		c.pod(q, 1, downs[q])
	}
}

// pod raises the bound to what the bytes of a pod need upwards (0) or downwards (1).
func (c *byteCase) pod(q int, down topology.Wire, bytes int64) {
	if bytes == 0 {
		return
	}
	b, live := ByteBound{Kind: KindLP, Weights: make([]int64, c.tree.AllWires())}, int64(0)
	for i := range c.tree.Spines() * c.tree.Tops() {
		if k, top := i/c.tree.Tops(), i%c.tree.Tops(); c.tree.TopAlive(q, k, top) {
			b.Weights[c.tree.TopUp(q, k, top)+down] = 1
			live++
		}
	}
	b.Time = (bytes + live - 1) / live
	c.raise(b)
}

// byteUnits is the bound so far in units of the fluid. The fluid's slope and tolerance suit
// messages.
const byteUnits = 1000

// split pushes a fractional split below the bound. Where it proves the bound too low, it raises the
// bound, as settle does.
func (c *byteCase) split() *split.Fluid {
	scale := byteUnits / float64(max(1, c.best.Time))
	amount := lists.Map(c.amount, func(n int64) float64 { return float64(n) * scale })
	w := split.NewFluidOf(c.double, split.Scales(c.double), amount)
	w.Ceiling = float64(c.best.Time) * scale
	for i := 1; i <= 3*split.Sweeps && len(amount) > 0 && w.Excess() > split.Tolerance; i++ {
		if i == split.Sweeps {
			w.Slope = split.Gentle
		}
		w.Sweep()
		if i%8 != 0 {
			continue
		}
		for _, y := range w.Weights() {
			if time := c.dual(y); time > c.best.Time {
				c.best = ByteBound{Time: time, Kind: KindLP, Weights: c.byWire(y)}
			}
		}
		w.Ceiling = float64(c.best.Time) * scale
	}
	return w
}

// dual returns the bound that weights on the doubled links prove, rounded up.
func (c *byteCase) dual(y []int64) int64 {
	f := c.double
	var hi, lo, sum uint64
	for l, v := range y {
		if l < len(f.Cables) {
			v *= int64(f.Cables[l])
		}
		sum += uint64(v)
	}
	if sum == 0 {
		return 0
	}
	over := split.Over(f, y[len(f.Alive):])
	for i, p := range f.Pairs {
		least, way := int64(math.MaxInt64), over[f.Between(f.Pod[p.A], f.Pod[p.B], 0):]
		for _, k := range p.Spines {
			least = min(least, y[f.Link(p.A, int(k))]+y[f.Link(p.B, int(k))]+way[k])
		}
		h, l := bits.Mul64(uint64(least), uint64(c.amount[i]))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry
	}
	lo, carry := bits.Add64(lo, sum-1, 0)
	time, _ := bits.Div64(hi+carry, lo, sum) // below 2⁶⁴: least is at most the sum
	return int64(time)
}

func (c *byteCase) byWire(y []int64) []int64 {
	t, links := c.tree, c.tree.Leaves()*c.tree.Spines()
	out := make([]int64, t.AllWires())
	for id := range t.LowerLinks() {
		if l := t.LinkOf(id); t.LinkAlive(l) {
			i := l.Leaf*t.Spines() + l.Spine
			out[2*id], out[2*id+1] = y[i], y[links+i]
		}
	}
	above := y[2*links:]
	for i := range len(above) / 2 {
		q, k, top := i/t.Tops()/t.Spines(), i/t.Tops()%t.Spines(), i%t.Tops()
		out[t.TopUp(q, k, top)], out[t.TopDown(q, k, top)] = above[i], above[len(above)/2+i]
	}
	return out
}

func (c *byteCase) shares(w *split.Fluid) *Shares {
	leaves := c.tree.Leaves()
	s := &Shares{leaves, c.tree.Spines(), make([]float64, leaves*leaves*c.tree.Spines())}
	scale, i := float64(max(1, c.best.Time))/max(1, w.Ceiling), 0
	for _, p := range w.F.Pairs {
		to := s.Of(p.A, p.B-leaves)
		for _, k := range p.Spines {
			to[k] = w.X[i] * scale
			i++
		}
	}
	return s
}
