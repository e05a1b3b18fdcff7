package judge_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
)

// Every plan that leaves pairs out says so truly, in both forms; whoever lists
// too few, too many, or sends all the same is caught.
func TestUnreachable(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	tried := 0
	for range 200 {
		d := greedy("cut", randomTree(t, rng))
		if len(d.cut) == 0 || len(d.messages) == 0 {
			continue
		}
		tried++
		out := 0
		for _, p := range d.cut {
			out += 2 * d.tree.ServersOn(p[0]) * d.tree.ServersOn(p[1])
		}
		r := judged(t, d.text(), judge.Options{Bound: true})
		expect.MustTrue(t, r.Valid && r.LeftOut == out && r.Messages+out == d.tree.Servers()*(d.tree.Servers()-1), "valid plan: %+v\n%s", r, d.text())
		unlisted(t, d, rng)
		overlisted(t, d)
		sentAnyway(t, d, rng)
	}
	expect.True(t, tried >= 100, "%d plans leave pairs out; that tests little", tried)
}

// unlisted drops a pair from the list: its messages are missing.
func unlisted(t *testing.T, d *draft, rng *rand.Rand) {
	t.Helper()
	c := d.clone()
	c.bound = ""
	i := rng.IntN(len(c.cut))
	p := c.cut[i]
	c.cut = slices.Delete(slices.Clone(c.cut), i, i+1)
	want := map[judge.Kind]int{judge.MissingMessage: 2 * d.tree.ServersOn(p[0]) * d.tree.ServersOn(p[1])}
	r := judged(t, c.text(), judge.Options{First: 1000})
	expect.MustTrue(t, maps.Equal(r.Counts, want) && len(r.Offences) == r.Total, "unlisted pair %v: %v, want %v\n%s", p, r.Counts, want, c.text())
}

// overlisted lists a pair that is reachable, with its messages: the pair is
// accused and the messages are not.
func overlisted(t *testing.T, d *draft) {
	t.Helper()
	for a := range d.tree.Leaves() {
		for b := range a {
			if d.isCut(a, b) {
				continue
			}
			c := d.clone()
			c.cut = append(slices.Clone(c.cut), [2]int{b, a})
			want := map[judge.Kind]int{judge.ReachablePair: 1}
			r := judged(t, c.text(), judge.Options{})
			if !maps.Equal(r.Counts, want) || r.Offences[0].Text != fmt.Sprintf("the file leaves out leaf%d-leaf%d, but a live path leads from one to the other", b, a) {
				t.Fatalf("overlisted pair %d, %d: %v\n%s", a, b, r.Offences, c.text())
			}
			return
		}
	}
}

// sentAnyway adds a message between leaves of a listed pair.
func sentAnyway(t *testing.T, d *draft, rng *rand.Rand) {
	t.Helper()
	c := d.clone()
	p := c.cut[rng.IntN(len(c.cut))]
	src, dst := c.tree.Position(c.tree.First(p[1])), c.tree.Position(c.tree.First(p[0]))
	c.messages = append(c.messages, [5]int{c.phases, src, dst, 0, -1})
	c.phases++
	want := map[judge.Kind]int{judge.UnreachableMessage: 1, judge.DeadLink: 1}
	r := judged(t, c.text(), judge.Options{})
	text := fmt.Sprintf("phase %d: server%d on leaf%d sends to server%d on leaf%d, but the file lists the leaves as unreachable", c.phases-1, src, p[1], dst, p[0])
	expect.MustTrue(t, maps.Equal(r.Counts, want) && r.Offences[0].Text == text, "sent anyway: %v, want %q\n%s", r.Offences, text, c.text())
}

// Pods apart: the top links of a pod are dead.
func TestUnreachablePods(t *testing.T) {
	d := greedy("cut", topologytest.Tree(t, podOptions(2, 2, 3), "pod0-spine0-top0", "pod0-spine0-top1", "pod0-spine1-top0", "pod0-spine1-top1", "leaf2-spine0", "leaf3-spine1"))
	// pod0 has leaves 0 and 1; leaf2 and leaf3 share no plane.
	expect.MustTrue(t, len(d.cut) == 2*4+1, "%v", d.cut)
	r := judged(t, d.text(), judge.Options{Bound: true})
	expect.MustTrue(t, r.Valid && r.LeftOut == 9*2*4, "%+v\n%s", r, d.text())
}

// The figures of a plan that leaves pairs out are over the messages there are.
func TestIdealOfLeftOut(t *testing.T) {
	// leaf2 is cut off, so the servers of leaf0 and leaf1 have 3 messages each.
	text := "# evbench plan 1\n# topology FT(2;2,3)\n# down leaf2-spine0,leaf2-spine1\n# unreachable leaf0-leaf2,leaf2-leaf1\n# bound 3 server\n" +
		"0 0 1 -\n0 1 0 -\n0 2 3 -\n0 3 2 -\n0 4 5 -\n0 5 4 -\n1 0 2 0\n1 1 3 1\n1 2 0 0\n1 3 1 1\n2 0 3 1\n2 1 2 0\n2 2 1 0\n2 3 0 1\n"
	r := judged(t, text, judge.Options{Bound: true})
	expect.True(t, r.Valid && r.Optimal() && r.LeftOut == 16 && r.Duration == 3 && r.PredictedEfficiency == 1, "%+v", r)
}
