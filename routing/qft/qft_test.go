package qft

import (
	"testing"

	"evbench/routing/dmod/routetest"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// build cables a QFT word for word by equations 6 to 8; node numbers, LIDs and
// GUIDs are those of the PGFT of the same numbers.
func build(t testing.TB, q Shape, lmc int) *network.Network {
	t.Helper()
	h := len(q.M)
	plain, err := network.PGFT(q).Build(lmc)
	if err != nil {
		t.Fatal(err)
	}
	var b network.Builder
	for v := range network.Node(plain.Nodes()) {
		if plain.IsHost(v) {
			b.Host(plain.Info(v))
		} else {
			b.Switch(plain.Info(v), len(plain.Ends(v)))
		}
	}
	tree := newTree(q, true, plain)
	for v := range network.Node(plain.Hosts()) {
		cable(t, &b, network.End{Node: v, Port: 1}, plain.Leaf(v))
	}
	low, high := make([]int, h), make([]int, h)
	for s := range tree.first[h-1] {
		l := tree.level(s) + 1 // of the upper switch S, as in the paper
		tree.digits(s, l-1, low)
		p, w, m := q.P[l-1], q.W[l-1], q.M[l-1]
		for g := range w * p {
			copy(high, low)
			high[l-1] = g % w
			second := l // index of digit l+1, or l-1 at the top
			if l == h {
				second = l - 2
			}
			f := low[l-1]
			if p > 1 {
				high[second] = low[second]/p*p + g/w
				f += m * (low[second] % p)
			}
			up := plain.Switch(tree.number(high, l))
			downs := q.M[l-2] * q.P[l-2]
			cable(t, &b, network.End{Node: plain.Switch(s), Port: uint8(1 + downs + g)}, network.End{Node: up, Port: uint8(1 + f)})
		}
	}
	return b.Build()
}

func cable(t testing.TB, b *network.Builder, x, y network.End) {
	t.Helper()
	if err := b.Cable(x, y); err != nil {
		t.Fatal(err)
	}
}

// number is the inverse of digits.
func (t *tree) number(digits []int, level int) int {
	i := 0
	for k := len(digits) - 1; k >= 0; k-- {
		radix := t.M[k]
		if k < level {
			radix = t.W[k]
		}
		i = i*radix + digits[k]
	}
	return t.first[level-1] + i
}

// sizes are 20 of 3 and 4 levels, with as many cables up as down below the top.
var sizes = []Shape{
	{[]int{4, 2, 4}, []int{1, 2, 4}, []int{1, 2, 1}},               // 32
	{[]int{4, 2, 8}, []int{1, 2, 4}, []int{1, 2, 1}},               // 64
	{[]int{6, 3, 4}, []int{1, 3, 6}, []int{1, 2, 1}},               // 72
	{[]int{6, 2, 6}, []int{1, 2, 6}, []int{1, 3, 1}},               // 72
	{[]int{8, 4, 4}, []int{1, 4, 8}, []int{1, 2, 1}},               // 128
	{[]int{8, 2, 8}, []int{1, 2, 8}, []int{1, 4, 1}},               // 128
	{[]int{9, 3, 9}, []int{1, 3, 9}, []int{1, 3, 1}},               // 243
	{[]int{12, 4, 6}, []int{1, 4, 12}, []int{1, 3, 1}},             // 288
	{[]int{12, 6, 12}, []int{1, 6, 12}, []int{1, 2, 1}},            // 864
	{[]int{18, 3, 18}, []int{1, 3, 18}, []int{1, 6, 1}},            // 972
	{[]int{18, 9, 28}, []int{1, 9, 18}, []int{1, 2, 1}},            // 4,536
	{[]int{18, 9, 36}, []int{1, 9, 18}, []int{1, 2, 1}},            // 5,832
	{[]int{4, 2, 4, 2}, []int{1, 2, 4, 4}, []int{1, 2, 1, 1}},      // 64
	{[]int{4, 2, 4, 8}, []int{1, 2, 4, 4}, []int{1, 2, 1, 1}},      // 256
	{[]int{6, 3, 6, 4}, []int{1, 3, 6, 6}, []int{1, 2, 1, 1}},      // 432
	{[]int{6, 2, 6, 6}, []int{1, 2, 6, 6}, []int{1, 3, 1, 1}},      // 432
	{[]int{8, 2, 8, 6}, []int{1, 2, 8, 8}, []int{1, 4, 1, 1}},      // 768
	{[]int{12, 4, 12, 4}, []int{1, 4, 12, 12}, []int{1, 3, 1, 1}},  // 2,304
	{[]int{18, 3, 18, 6}, []int{1, 3, 18, 18}, []int{1, 6, 1, 1}},  // 5,832
	{[]int{18, 3, 18, 12}, []int{1, 3, 18, 18}, []int{1, 6, 1, 1}}, // 11,664
}

func (q Shape) String() string { return "QFT" + network.PGFT(q).String()[4:] }

// free checks that no cable has two paths of a shift permutation.
func free(t *testing.T, tables *lft.Tables) {
	t.Helper()
	if most, err := routetest.MostOfShifts(tables); err != nil || most != 1 {
		t.Errorf("%d paths on a cable, %v", most, err)
	}
}

func TestNoContention(t *testing.T) {
	for _, q := range sizes {
		t.Run(q.String(), func(t *testing.T) {
			tables, err := QFT(q, build(t, q, 0))
			if err != nil {
				t.Fatal(err)
			}
			free(t, tables)
		})
	}
}

// Levels other than the second may be crossed too, and the top.
func TestNoContentionElsewhere(t *testing.T) {
	for _, q := range []Shape{
		{[]int{4, 4, 4}, []int{1, 4, 2}, []int{1, 1, 2}},
		{[]int{6, 6, 4}, []int{1, 6, 2}, []int{1, 1, 3}},
		{[]int{4, 4, 2, 4}, []int{1, 4, 2, 4}, []int{1, 1, 2, 1}},
		{[]int{6, 6, 2, 6}, []int{1, 6, 2, 6}, []int{1, 1, 3, 1}},
		{[]int{3, 3, 4, 4}, []int{1, 3, 3, 4}, []int{1, 1, 1, 1}},
		{[]int{4, 4, 4, 3}, []int{1, 4, 4, 2}, []int{1, 1, 1, 2}},
	} {
		t.Run(q.String(), func(t *testing.T) {
			tables, err := QFT(q, build(t, q, 0))
			if err != nil {
				t.Fatal(err)
			}
			free(t, tables)
		})
	}
}
