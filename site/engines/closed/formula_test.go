package closed

import (
	"math/rand/v2"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// product is Π_{i=1..l} w_i, with i from 1.
func product(w []int, l int) int {
	r := 1
	for _, x := range w[:l] {
		r *= x
	}
	return r
}

// steps is R'_l of equation 12, with p_i = 1 for i < 1.
func (t *tree) steps(l int) int {
	r := 1
	for i := 1; i <= l; i++ {
		r *= t.W[i-1] * t.P[i-1]
		if i > 2 {
			r /= t.P[i-3]
		}
	}
	return r
}

// u is equation 14 for level l.
func (t *tree) u(d, l int) int {
	w, p := t.W[l-2], t.P[l-2]
	return d / product(t.W, l-2) % (w * p) / w
}

// written is the port of host d at a switch, counted from 0 as the paper does:
// equations 10, 15, 17 and 18 as they are written, for l < h crossed.
func (t *tree) written(s, d int) (port int, down bool) {
	l, h := t.level(s), len(t.M)
	at, to := make([]int, h), make([]int, h)
	t.digits(s, l, at)
	for i, rest := 0, d; i < h; i++ {
		to[i] = rest % t.M[i]
		rest /= t.M[i]
	}
	p := func(l int) int {
		if l < 1 {
			return 1
		}
		return t.P[l-1]
	}
	below := true
	for i := l + 1; i <= h; i++ {
		same := at[i-1] == to[i-1]
		if i == l+1 {
			same = at[i-1]/p(l) == to[i-1]/p(l)
		}
		below = below && same
	}
	u := 0
	if p(l-1) > 1 {
		u = t.u(d, l)
	}
	if !below {
		return (d/t.steps(l)*p(l-1) + u) % (t.W[l] * t.P[l]), false
	}
	switch {
	case p(l-1) > 1:
		return to[l-1]/p(l-1)*p(l-1) + u, true
	case p(l) > 1:
		return to[l-1] + t.M[l-1]*(to[l]%p(l)), true
	}
	return to[l-1], true
}

// Every entry of a whole network is the paper's.
func TestFormulas(t *testing.T) {
	for _, q := range append([]shape{{M: []int{4, 4, 2, 4}, W: []int{1, 4, 2, 4}, P: []int{1, 1, 2, 1}}, {M: []int{5, 2, 4, 2}, W: []int{1, 3, 3, 2}, P: []int{1, 2, 1, 1}}}, sizes[:5]...) {
		n := buildQFT(t, q, 0)
		tables := expect.Value(QFT(n))(t)
		tree := newTree(network.PGFT(q), true)
		for s := range n.Switches() {
			downs := tree.M[tree.level(s)-1] * tree.P[tree.level(s)-1]
			for d := range n.Hosts() {
				want, down := tree.written(s, d)
				if !down {
					want += downs
				}
				if got := tables.Port(n.Switch(s), int(n.Info(network.Node(d)).LID)); int(got) != 1+want {
					t.Fatalf("%s: %s sends h%d through port %d, not %d", q, n.Info(n.Switch(s)).Name, d, got, 1+want)
				}
			}
		}
	}
}

// All shifts at once give what they give one by one, on good and bad routes.
func TestAllShifts(t *testing.T) {
	g := network.PGFT{M: []int{4, 2, 4}, W: []int{1, 2, 4}, P: []int{1, 2, 1}}
	n := expect.Value(g.Build(0))(t)
	worst := 0
	for seed := range uint64(10) {
		net := n
		if seed > 0 {
			net = degrade(n, rand.New(rand.NewPCG(seed, 1)), 0.1)
		}
		tables, err := Dmodc(net, Options{})
		if err != nil {
			continue
		}
		want := 0
		for by := range n.Hosts() {
			most := expect.Value(shiftLoad(tables, by, 0))(t)
			want = max(want, most)
		}
		got, err := allShifts(tables)
		expect.True(t, err == nil && got == want, "seed %d: %d paths, %v; one by one %d", seed, got, err, want)
		worst = max(worst, want)
	}
	expect.True(t, worst >= 2, "no contention anywhere: the test shows nothing")
}

func TestLostIsReported(t *testing.T) {
	n := expect.Value(network.PGFT{M: []int{2, 2}, W: []int{1, 2}, P: []int{1, 1}}.Build(0))(t)
	empty := lft.New("none", n)
	expect.True(t, expect.Err(allShifts(empty)) != nil, "all shifts of empty tables have no error")
	expect.True(t, expect.Err(shiftLoad(empty, 1, 0)) != nil, "a shift of empty tables has no error")
	w := walkAll(empty, make([]int, n.Nodes()))
	expect.True(t, w.Lost == w.Routes && w.Routes == 8, "empty tables: %s", w)
}
