package judge_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func TestThreeLevelsByHand(t *testing.T) {
	text := expect.Value(os.ReadFile("testdata/three-levels.plan"))(t)
	r := judged(t, string(text), judge.Options{Bound: true})
	expect.False(t, !r.Valid || !r.Optimal() || r.Phases != 7 || r.Messages != 56 || r.Duration != 7 || r.PredictedEfficiency != 1 || r.Paths == nil || r.Paths.Most != 2,
		"%+v", r)
	f := read(t, string(text))
	expect.True(t, f.Tree.Notation() == "FT(3;2,2,2)" && f.Messages[4+8] == (judge.Message{Phase: 1, Src: 4, Dst: 6, Spine: 0, Top: judge.NoTop}),
		"%+v", f.Messages[12])
}

func read(t testing.TB, text string) *judge.File {
	t.Helper()
	f, err := judge.Read(strings.NewReader(text))
	expect.MustTrue(t, err == nil, "%v\n%s", err, text)
	return f
}

// podDamages are those that only a tree of three levels can have. crossing picks
// a message between pods.
var podDamages = []damage{
	{name: "missing top", shapes: 18, apply: crossing(func(d *draft, i int) { d.messages[i][4] = -1 }), want: kinds(judge.MissingTop)},
	{name: "top out of range", shapes: 18, apply: crossing(func(d *draft, i int) { d.messages[i][4] = d.tree.Tops() }), want: kinds(judge.NoSuchTop)},
	{name: "needless top", shapes: 12, apply: needlessTop, want: kinds(judge.NeedlessTop)},
	{name: "top link used and dead", shapes: 18, apply: crossing(killTop), want: kinds(judge.DeadLink), also: kinds(judge.WeakBound)},
	{name: "moved onto a used top", shapes: 12, apply: ontoUsedTop, want: kinds(judge.Contention)},
	{name: "no path between pods", shapes: 18, apply: crossing(func(d *draft, i int) { d.messages[i][3], d.messages[i][4] = -1, -1 }), want: kinds(judge.MissingSpine)},
	{name: "two tops in one table entry", shapes: 12, apply: topEntry, opt: judge.Options{AllowContention: true}, want: kinds(judge.Inconsistent)},
	{name: "bound by a pod, inflated", shapes: 18, apply: func(d *draft) bool { d.bound = fmt.Sprintf("%d pod1", 9*d.phases); return true },
		opt: judge.Options{Bound: true}, want: kinds(judge.WrongBound, judge.BelowBound)},
	{name: "bound by a pod that is not there", shapes: 18, apply: func(d *draft) bool { d.bound = strings.Fields(d.bound)[0] + " pod9"; return true },
		opt: judge.Options{Bound: true}, want: kinds(judge.WrongBound)},
}

func crossing(spoil func(d *draft, i int)) func(d *draft) bool {
	return func(d *draft) bool {
		i, ok := d.pick(func(i int) bool { return d.messages[i][4] >= 0 })
		if ok {
			spoil(d, i)
		}
		return ok
	}
}

func killTop(d *draft, i int) {
	m := d.messages[i]
	p, err := d.tree.Without(topology.Link{Leaf: d.tree.Pod(d.leaf(m[2])), Spine: m[3], Above: true, Top: m[4]})
	if err != nil {
		panic(err)
	}
	d.tree = p
}

func needlessTop(d *draft) bool {
	i, ok := d.pick(func(i int) bool { return d.messages[i][3] >= 0 && d.messages[i][4] < 0 })
	if ok {
		d.messages[i][4] = 0
	}
	return ok
}

func ontoUsedTop(d *draft) bool {
	for i, m := range d.messages {
		for _, n := range d.messages {
			pod := d.tree.Pod(d.leaf(m[1]))
			if m[4] >= 0 && n[4] >= 0 && m[0] == n[0] && m[3] == n[3] && m[4] != n[4] && pod == d.tree.Pod(d.leaf(n[1])) &&
				d.tree.TopAlive(pod, m[3], n[4]) && d.tree.TopAlive(d.tree.Pod(d.leaf(m[2])), m[3], n[4]) {
				d.messages[i][4] = n[4]
				return true
			}
		}
	}
	return false
}

// topEntry routes everything by tables (the plane and the top switch follow from
// the destination), and then one message another way.
func topEntry(d *draft) bool {
	if d.kind != "healthy" || d.tree.Tops() < 2 {
		return false
	}
	d.routing = "ftree"
	for i, m := range d.messages {
		if m[3] >= 0 {
			d.messages[i][3] = m[2] % d.tree.Spines()
		}
		if m[4] >= 0 {
			d.messages[i][4] = m[2] / d.tree.Ports() % d.tree.Tops()
		}
	}
	// Two messages of a pod to one server: from two leaves, or two servers of one.
	for i, m := range d.messages {
		for _, n := range d.messages[:i] {
			if m[4] >= 0 && n[4] >= 0 && m[2] == n[2] && d.tree.Pod(d.leaf(m[1])) == d.tree.Pod(d.leaf(n[1])) {
				d.messages[i][4] = (m[4] + 1) % d.tree.Tops()
				return true
			}
		}
	}
	return false
}

// Every plan for three levels is valid, each damage is caught and nothing else
// is, and was tried on the shapes that can have it.
func TestThreeLevelDamage(t *testing.T) {
	tried := map[string]int{}
	all := slices.Concat(podDamages, damages)
	for m0 := 1; m0 <= 3; m0++ {
		for m1 := 1; m1 <= 3; m1++ {
			for m2 := 2; m2 <= 3; m2++ {
				plans := podDrafts(t, m0, m1, m2)
				for _, d := range plans {
					r := judged(t, d.text(), judge.Options{Bound: true})
					if len(d.cut) == 0 && (!r.Valid || !r.ContentionChecked || r.Duration != float64(d.phases) || r.Bound.Gap != float64(d.phases)-r.Bound.Value || !r.Bound.Proven) {
						t.Fatalf("%s %s: valid plan of %d phases: %+v\n%s", d.tree.Notation(), d.kind, d.phases, r, d.text())
					}
				}
				for i, dm := range all {
					name := dm.name
					if i < len(podDamages) {
						name = "pods: " + name
					}
					if dm.tryPods(t, plans) {
						tried[name]++
					}
				}
			}
		}
	}
	for _, dm := range podDamages {
		expect.Equal(t, tried["pods: "+dm.name], dm.shapes, "%s: tried on: shapes", dm.name)
	}
	for _, dm := range damages {
		if tried[dm.name] < 10 && !slices.Contains(twoLevelsOnly, dm.name) {
			t.Errorf("%s: tried on %d shapes of three levels", dm.name, tried[dm.name])
		}
	}
}

// These change the tree of a draft in ways that keep it a tree of two levels, or
// take a plan of a kind that the drafts of three levels do not have.
var twoLevelsOnly = []string{"used link declared dead", "fill states one server fewer", "hash of another dead set",
	"two spines in one table entry", "swapped destinations", "dead link used", "bound without proof", "moved onto a used spine"}

func (dm damage) tryPods(t *testing.T, plans []*draft) (tried bool) {
	t.Helper()
	if slices.Contains(twoLevelsOnly, dm.name) {
		return false
	}
	also := slices.Concat(dm.also, kinds(judge.MissingTop, judge.NeedlessTop, judge.DeadLink, judge.NeedlessSpine, judge.MissingSpine))
	for _, valid := range plans {
		d := valid.clone()
		if !dm.apply(d) {
			continue
		}
		tried = true
		dm.found(t, d, also)
	}
	return tried
}

// The sentences name what a reader has to look for.
func TestThreeLevelSentences(t *testing.T) {
	header := "# evbench plan 1\n# topology FT(3;2,2,2)\n# down pod1-spine1-top0,leaf3-spine0\n"
	for _, tt := range []struct {
		body string
		kind judge.Kind
		want string
	}{
		{"0 0 4 1", judge.MissingTop, "phase 0: server0 in pod0 sends to server4 in pod1 through spine1 and no top switch"},
		{"0 0 4 1.2", judge.NoSuchTop, "phase 0: server0 sends to server4 through top2 of spine1; there are top0..top1"},
		{"0 0 4 2.0", judge.NoSuchSpine, "phase 0: server0 sends to server4 through spine2; there are spine0..spine1"},
		{"0 0 2 1.0", judge.NeedlessTop, "phase 0: server0 to server2 names top0, but both sit in pod0"},
		{"0 0 4 1.0", judge.DeadLink, "phase 0: server0 sends to server4 over pod1-spine1-top0, which is dead"},
		{"0 4 0 1.0", judge.DeadLink, "phase 0: server4 sends to server0 over pod1-spine1-top0, which is dead"},
		{"0 0 6 0.0", judge.DeadLink, "phase 0: server0 sends to server6 over leaf3-spine0, which is dead"},
		{"0 0 4 0.1\n0 2 6 0.1", judge.Contention, "phase 0: pod0-spine0-top1 (up) carries server0 to server4 and server2 to server6"},
		{"0 17 0 -", judge.UnknownServer, "phase 0: no server17: FT(3;2,2,2) has server0..server7"},
	} {
		r := judged(t, header+tt.body+"\n", judge.Options{First: 1000})
		i := slices.IndexFunc(r.Offences, func(o judge.Offence) bool { return o.Kind == tt.kind })
		expect.True(t, i >= 0 && r.Offences[i].Text == tt.want, "%s: offences %+v, want %q", tt.body, r.Offences, tt.want)
	}
}

// Planes and top switches of another number than M0 and M1 come by notation.
func TestThreeLevelNotation(t *testing.T) {
	f := read(t, "# evbench plan 1\n# topology PGFT(3;2,2,2;1,3,1;1,1,1)\n# down pod0-spine2-top0\n0 0 4 1.0\n")
	expect.True(t, f.Tree.Tops() == 1 && f.Tree.Spines() == 3 && !f.Tree.TopAlive(0, 2, 0) && f.Messages[0].Top == 0, "%+v", f)
	f = read(t, "# evbench plan 1\n# topology PGFT(2;4,8;1,6;1,1)\n# spines 6\n")
	expect.True(t, f.Tree.Levels() != 3 && f.Tree.Spines() == 6 && f.Tree.Notation() == "FT(2;4,8)", "%+v", f.Tree)
}

// podOptions are FT(3;m0,m1,m2).
func podOptions(m0, m1, m2 int) topology.Options {
	return topology.Options{Ports: m0, Leaves: m1 * m2, Pods: m2}
}

// podDrafts returns valid three-level plans of one shape: healthy, partly filled
// with a plane and a top switch more, and with dead links at both levels.
func podDrafts(t testing.TB, m0, m1, m2 int) []*draft {
	o := podOptions(m0, m1, m2)
	out := []*draft{greedy("healthy", topologytest.Tree(t, o))}
	late := out[0].clone()
	late.kind, late.messages[0][0] = "late", late.phases
	if len(late.messages) > 2 {
		out = append(out, late.state())
	}
	wide := o
	wide.Spines, wide.Tops = m0+1, m1+1
	if wide.Fill = slices.Repeat([]int{m0}, m1*m2); m0*m1*m2 > 2 {
		wide.Fill[m1*m2-1]--
	}
	out = append(out, greedy("partial", topologytest.Tree(t, wide)))
	return append(out, greedy("dead", topologytest.Tree(t, wide, "leaf0-spine0", "pod1-spine1-top0")))
}

// randomTree returns a tree with so many dead links that pairs of leaves may be
// apart.
func randomTree(t testing.TB, rng *rand.Rand) *topology.Tree {
	o := topology.Options{Ports: 1 + rng.IntN(3), Leaves: 3 + rng.IntN(3), Spines: 1 + rng.IntN(3)}
	var dead []topology.Link
	for l := range o.Leaves {
		for k := range o.Spines {
			if rng.IntN(3) == 0 {
				dead = append(dead, topology.Link{Leaf: l, Spine: k})
			}
		}
	}
	return topologytest.Without(t, o, dead...)
}
