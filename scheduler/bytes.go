package scheduler

import (
	"fmt"
	"math"
	"math/bits"

	"evbench/topology"
)

// A ByteBound is a time below which no order sends fragments of given sizes, also in parts,
// without two on a port or a link at a time, in byte times: what one byte takes on one link.
//
//   - send, receive: the bytes that a server sends, or receives.
//   - up, down: the bytes that a leaf sends to other leaves, or receives from them, over the
//     number of its live links.
//   - lp: weights as those of Bound, with bytes in place of messages, rounded up.
type ByteBound struct {
	Time int64
	Kind string // send, receive, up, down, lp
	At   int    // of send and receive the rank of the server, of up and down the leaf
	// Weights are those of lp, by topology.Wire of the leaf-spine cables.
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
// spine: the largest load of a link is the bound, or near it.
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
// ranks of a two-level tree, at most 2⁵³ together, and a split near it. Leaves that have bytes for
// each other share a live spine, else it is a *topology.UnreachableError. The linear program is
// that of FORS on a fabric in which a leaf is two, one that sends and one that receives.
func BoundBytes(t *topology.Tree, size func(src, dst int) int64) (ByteBound, *Shares, error) {
	leaves, spines := t.Leaves(), t.Spines()
	if leaves*leaves*spines > MaxShares {
		return ByteBound{}, nil, fmt.Errorf("%d leaves with %d spines are more than can be planned for sizes (at most %d leaves²·spines)", leaves, spines, MaxShares)
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

// A byteCase is the bound in the making.
type byteCase struct {
	tree    *topology.Tree
	between []int64 // bytes from leaf to leaf, by a·leaves + b; 0 where a = b
	best    ByteBound
	double  *fabric // leaf a sends as number a, receives as number leaves + a
	amount  []int64 // bytes of the pairs of double
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
	c.double = &fabric{tree: t, spines: t.Spines(), leaves: 2 * leaves}
	for l := range leaves {
		for k := range t.Spines() {
			c.double.alive = append(c.double.alive, t.Alive(l, k))
		}
	}
	c.double.alive = append(c.double.alive, c.double.alive...)
	for a := range leaves {
		for b := range leaves {
			if c.between[a*leaves+b] == 0 {
				continue
			}
			start := len(c.double.common)
			for k := range t.Spines() {
				if t.Alive(a, k) && t.Alive(b, k) {
					c.double.common = append(c.double.common, int32(k))
				}
			}
			end := len(c.double.common)
			if start == end {
				return &topology.UnreachableError{A: min(a, b), B: max(a, b)}
			}
			c.double.pairs = append(c.double.pairs, pair{a, leaves + b, c.double.common[start:end:end]})
			c.amount = append(c.amount, c.between[a*leaves+b])
		}
	}
	return nil
}

func (c *byteCase) uplinks() {
	leaves := c.tree.Leaves()
	for a := range leaves {
		var out, in int64
		for b := range leaves {
			out += c.between[a*leaves+b]
			in += c.between[b*leaves+a]
		}
		if live := int64(len(c.tree.AliveSpines(a))); live > 0 {
			c.raise(ByteBound{Time: (out + live - 1) / live, Kind: KindUp, At: a})
			c.raise(ByteBound{Time: (in + live - 1) / live, Kind: KindDown, At: a})
		}
	}
}

// byteUnits is the bound so far in the units of the fluid, whose slope and tolerance
// are made for messages.
const byteUnits = 1000

// split pushes a fractional split below the bound, or proves the bound too low, which
// raises it, as settle does.
func (c *byteCase) split() *fluid {
	scale := byteUnits / float64(max(1, c.best.Time))
	amount := make([]float64, len(c.amount))
	for i, n := range c.amount {
		amount[i] = float64(n) * scale
	}
	w := newFluidOf(c.double, c.double.scales(), amount)
	w.ceiling = float64(c.best.Time) * scale
	for i := 1; i <= 3*sweeps && len(amount) > 0 && w.excess() > tolerance; i++ {
		if i == sweeps {
			w.slope = gentle
		}
		w.sweep()
		if i%8 != 0 {
			continue
		}
		for _, y := range w.weights() {
			if time := c.dual(y); time > c.best.Time {
				c.best = ByteBound{Time: time, Kind: KindLP, Weights: c.byWire(y)}
			}
		}
		w.ceiling = float64(c.best.Time) * scale
	}
	return w
}

// dual returns what weights on the doubled links prove, rounded up.
func (c *byteCase) dual(y []int64) int64 {
	f := c.double
	var hi, lo, sum uint64
	for _, v := range y {
		sum += uint64(v)
	}
	if sum == 0 {
		return 0
	}
	for i, p := range f.pairs {
		least := int64(math.MaxInt64)
		for _, k := range p.spines {
			least = min(least, y[f.link(p.a, int(k))]+y[f.link(p.b, int(k))])
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
	links := c.tree.Leaves() * c.tree.Spines()
	out := make([]int64, 2*links)
	for i := range links {
		out[2*i], out[2*i+1] = y[i], y[links+i]
	}
	return out
}

func (c *byteCase) shares(w *fluid) *Shares {
	leaves := c.tree.Leaves()
	s := &Shares{leaves, c.tree.Spines(), make([]float64, leaves*leaves*c.tree.Spines())}
	scale, i := float64(max(1, c.best.Time))/max(1, w.ceiling), 0
	for _, p := range w.pairs {
		to := s.Of(p.a, p.b-leaves)
		for _, k := range p.spines {
			to[k] = w.x[i] * scale
			i++
		}
	}
	return s
}
