package scheduler_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/topology"
)

// uniformTree returns a tree with f spines touched by failures, chosen by the
// seed: one leaf loses them all, the others some.
func uniformTree(t testing.TB, o topology.Options, f int, seed uint64) *topology.Tree {
	t.Helper()
	tr := tree(t, o)
	rng := rand.New(rand.NewPCG(seed, 7))
	worst := rng.IntN(tr.Leaves())
	var down []topology.Link
	for _, k := range rng.Perm(tr.Spines())[:f] {
		for l := range tr.Leaves() {
			if l == worst || rng.IntN(2) == 0 {
				down = append(down, topology.Link{Leaf: l, Spine: k})
			}
		}
	}
	return tree(t, o, down...)
}

// A printed is what Algorithms 4, 5 and 6 give, line by line.
type printed struct {
	messages  [][]scheduler.Message // by phase
	offence   int                   // phase of the first, or -1
	conflicts int                   // messages second on a directed link
}

// print does what the listings say, server by server, and looks at the result.
func print(m0, m1, f int, live []int) printed {
	p := m0 * m1
	w := m0 - f
	ceil := func(a, b int) int { return int(math.Ceil(float64(a) / float64(b))) }
	var theta []int
	var sends []map[int]bool
	for a := range m0 {
		theta = append(theta, int(math.Floor(float64((a-1)*w)/float64(m0)))+1)
		set := map[int]bool{}
		for i := range p - m0 {
			set[ceil((i+theta[a])*m0, w)-a] = true
		}
		sends = append(sends, set)
	}
	cycle := max(m0, m1-1)
	for cycle%m0 != 0 || cycle%(m1-1) != 0 {
		cycle++
	}
	out := printed{offence: -1}
	n := make([]int, p)
	for phase := range ceil((p-m0)*m0, w) {
		var list []scheduler.Message
		for s := range p {
			alpha, gamma := s%m0, s/m0*m0
			if !sends[alpha][phase] || n[s] >= p-m0 {
				continue
			}
			i, offset := n[s]+theta[alpha], n[s]/cycle
			shift := i%(m1-1)*m0 + (i+offset)%m0
			n[s]++
			list = append(list, scheduler.Message{Phase: phase, Src: s, Dst: (gamma + m0 + shift) % p, Spine: live[len(list)%len(live)], Top: scheduler.None})
		}
		out.messages = append(out.messages, list)
		out.look(list, m0, m1, w)
	}
	return out
}

// look counts what is wrong with a phase.
func (o *printed) look(list []scheduler.Message, m0, m1, w int) {
	server, pair, link := map[int]int{}, map[[2]int]int{}, map[[3]int]int{}
	for _, m := range list {
		a, b := m.Src/m0, m.Dst/m0
		server[m.Src]++
		server[m0*m1+m.Dst]++
		pair[[2]int{a, b}]++
		for _, l := range [][3]int{{0, a, m.Spine}, {1, b, m.Spine}} {
			if link[l]++; link[l] > 1 {
				o.conflicts++
			}
		}
		twice := server[m.Src] > 1 || server[m0*m1+m.Dst] > 1
		if often := pair[[2]int{a, b}]; (twice || (often-1)*(m1-1) >= w) && o.offence < 0 {
			o.offence = m.Phase
		}
	}
}

// TestPublished compares with the listings on all trees with M0, M1 <= 8 and all
// uniform reductions.
func TestPublished(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for m0 := 1; m0 <= 8; m0++ {
		for m1 := 2; m1 <= 8; m1++ {
			for f := range m0 {
				tr := uniformTree(t, topology.Options{Ports: m0, Leaves: m1}, f, uint64(f))
				live := slices.DeleteFunc(tr.AliveSpines(0), func(k int) bool {
					return slices.ContainsFunc(tr.Dead(), func(l topology.Link) bool { return l.Spine == k })
				})
				seen[comparePublished(t, tr, print(m0, m1, f, live))]++
			}
		}
	}
	for kind, n := range map[string]int{"right": 225, "offence": 12, "conflict": 15} {
		expect.Equal(t, seen[kind], n, "%s: cases", kind)
	}
}

// comparePublished returns which kind of result there was.
func comparePublished(t *testing.T, tr *topology.Tree, want printed) string {
	t.Helper()
	s, err := scheduler.Published(tr)
	if want.offence < 0 && want.conflicts == 0 {
		expect.Must(t, err)
		passes(t, tr, s)
		for _, list := range want.messages {
			for _, m := range list {
				phase, spine := s.At(m.Src, m.Dst)
				expect.MustTrue(t, phase == m.Phase && spine == m.Spine, "%+v: is in phase %d through %d", m, phase, spine)
			}
		}
		f := tr.Ports() - len(tr.AliveSpines(worst(&tr.Live)))
		phases := len(want.messages)
		if tr.Notation() == "FT(2;4,5)" && f == 1 {
			phases++ // no phase has room for slot 1 to slot 0
		}
		expect.False(t, f > tr.Ports()/tr.Leaves() && s.Phases != phases,
			"%s, f=%d: %d phases, want %d", tr.Notation(), f, s.Phases, phases)
		return "right"
	}
	invalid, ok := errors.AsType[*scheduler.InvalidError](err)
	expect.MustTrue(t, ok && invalid.Schedule == schedules.FORSPublished, "%s, down %v: %v, want an InvalidError", tr.Notation(), tr.DownNames(), err)
	if want.offence >= 0 {
		expect.True(t, strings.HasPrefix(invalid.Offence, fmt.Sprintf("phase %d: ", want.offence)) && strings.Contains(invalid.Shape, "g = gcd"),
			"%v, want phase %d", err, want.offence)
		return "offence"
	}
	expect.True(t, strings.HasSuffix(invalid.Offence, fmt.Sprintf("in all %d messages are second on their link", want.conflicts)),
		"%v, want %d conflicts", err, want.conflicts)
	return "conflict"
}

// worst returns the leaf with fewest live links.
func worst(tr *topology.Live) int {
	leaf := 0
	for l := range tr.Leaves() {
		if len(tr.AliveSpines(l)) < len(tr.AliveSpines(leaf)) {
			leaf = l
		}
	}
	return leaf
}

// TestPublishedSweep counts where the published schedule is wrong, of all trees
// with M0 and M1 in 2..24 and all reductions. Where it is right and within
// what the thesis claims, f > ⌊M0/M1⌋, messages within a leaf add no phase; this
// is looked at up to 12.
func TestPublishedSweep(t *testing.T) {
	t.Parallel()
	var coprime, narrow, wide, conflict, routed, claimed [2]int // cases, wrong
	shapes(t, expect.Samples(24, 8), func(tr *topology.Tree, m0, m1, f int) {
		claim := f > m0/m1 && max(m0, m1) <= 12
		wrong, n, added := scheduler.Judged(tr, claim)
		count(&coprime, gcd(m0, m1-1) == 1, wrong)
		count(&narrow, gcd(m0, m1-1) > 1 && m0-f < m1, wrong)
		count(&wide, gcd(m0, m1-1) > 1 && m0-f >= m1, wrong)
		count(&conflict, !wrong && n > 0, true)
		count(&routed, !wrong && n == 0, false)
		odd := m0 == 4 && m1 == 5 && f == 1
		count(&claimed, claim && !wrong && n == 0, (added > 0) != odd)
	})
	got := [][2]int{coprime, narrow, wide, conflict, routed, claimed}
	want := [][2]int{{4253, 0}, {1781, 561}, {843, 539}, {1181, 1181}, {4596, 0}, {497, 0}}
	if !expect.All() {
		want = [][2]int{{161, 0}, {61, 6}, {23, 6}, {15, 15}, {218, 0}, {138, 0}}
	}
	expect.Equal(t, got, want, "cases and wrong ones with g=1, with w<=q, with w>q, right but with conflicts, right, and claimed")
}

// shapes calls f for all full trees with M0 and M1 in 2..most and all uniform
// reductions.
func shapes(t testing.TB, most int, f func(tr *topology.Tree, m0, m1, f int)) {
	for m0 := 2; m0 <= most; m0++ {
		for m1 := 2; m1 <= most; m1++ {
			var down []topology.Link
			for lost := range m0 {
				f(tree(t, topology.Options{Ports: m0, Leaves: m1}, down...), m0, m1, lost)
				down = append(down, column(m0-1-lost, 0, m1-1)...)
			}
		}
	}
}

func count(n *[2]int, here, wrong bool) {
	if here {
		n[0]++
		if wrong {
			n[1]++
		}
	}
}

func gcd(a, b int) int {
	if b == 0 {
		return a
	}
	return gcd(b, a%b)
}

func TestPublishedErrors(t *testing.T) {
	for _, tt := range []struct {
		m0, m1, f  int
		shape, why string
	}{
		{5, 6, 1, "g = gcd(M0,M1-1) = 5 > 1 and w = 4 <= q = 5",
			"phase 18: server19 receives from server4 and from server7"},
		{20, 18, 1, "w = 19 does not divide the M0²(M1-1) = 6800 messages of a leaf, the last phase has 17",
			"phase 357: leaf17-spine0 down carries server0 to server359 and server113 to server351; in all 59 messages are second on their link"},
		{20, 18, 2, "w = 18 does not divide the M0²(M1-1) = 6800 messages of a leaf, the last phase has 14",
			"phase 377: leaf5-spine3 down carries server6 to server104 and server81 to server100; in all 54 messages are second on their link"},
	} {
		tr := reduced(t, topology.Options{Ports: tt.m0, Leaves: tt.m1}, tt.f)
		_, _, err := scheduler.ByName(schedules.FORSPublished, tr, scheduler.Options{})
		want := fmt.Sprintf("schedule fors-published is wrong as published for %s, f=%d: %s: %s", tr.Notation(), tt.f, tt.shape, tt.why)
		expect.True(t, err != nil && err.Error() == want, "%v\nwant %s", err, want)
	}
}

// TestPublishedDoesNotApply is about trees for which the thesis promises nothing.
func TestPublishedDoesNotApply(t *testing.T) {
	for _, tt := range []struct {
		name string
		tree *topology.Tree
		want string
	}{
		{"a server missing", tree(t, topology.Options{Ports: 3, Leaves: 2, Fill: []int{3, 2}}),
			"needs a server on every port; here are 5 of 6: use fors"},
		{"two spines touched, one link lost", tree(t, topology.Options{Ports: 4, Leaves: 4}, diagonal(0, 1)...),
			"needs a uniform reduction; 2 spines have no dead link, but every leaf has 3 alive: use fors"},
		{"more spines", tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 5}),
			"needs as many spines as servers on a leaf; here are 5 and 4: use fors-closed"},
		{"fewer spines", tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 3}),
			"needs as many spines as servers on a leaf; here are 3 and 4: use fors-closed"},
		{"one leaf", tree(t, topology.Options{Ports: 4, Leaves: 1}), "needs at least two leaves: use fors-closed"},
		{"a leaf cut off", tree(t, topology.Options{Ports: 1, Leaves: 2}, diagonal(0)...),
			"leaf0 and leaf1 have no spine in common that is alive: their servers cannot reach each other"},
	} {
		_, err := scheduler.Published(tt.tree)
		if want := "schedule fors-published: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", tt.name, err, want)
		}
	}
}
