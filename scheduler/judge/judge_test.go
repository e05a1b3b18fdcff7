package judge_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// second is a judge that is as simple as possible: it looks everything up in
// maps of strings. It judges messages, not claims.
func second(d *draft, o judge.Options) (counts map[judge.Kind]int, duration int) {
	counts = map[judge.Kind]int{}
	met, load, table, phases := map[string]bool{}, map[int]map[string]int{}, map[string]int{}, map[int]bool{}
	last := -1
	on := func(phase int, wire string) bool {
		if load[phase] == nil {
			load[phase] = map[string]int{}
		}
		load[phase][wire]++
		return load[phase][wire] > 1
	}
	count := func(k judge.Kind, is bool) bool {
		if is {
			counts[k]++
		}
		return is
	}
	ms := slices.Clone(d.messages)
	slices.SortFunc(ms, func(a, b [5]int) int { return slices.Compare(a[:], b[:]) })
	for _, m := range ms {
		p, src, dst, k := m[0], m[1], m[2], m[3]
		phases[p], last = true, max(last, p)
		_, isSrc := d.tree.Rank(src)
		_, isDst := d.tree.Rank(dst)
		if count(judge.UnknownServer, !isSrc) != count(judge.UnknownServer, !isDst) || !isSrc || count(judge.SelfMessage, src == dst) {
			continue
		}
		pair := fmt.Sprint(src, "-", dst)
		count(judge.RepeatedMessage, met[pair])
		met[pair] = true
		count(judge.SendsTwice, on(p, fmt.Sprint("from", src)))
		count(judge.ReceivesTwice, on(p, fmt.Sprint("to", dst)))
		a, b := d.leaf(src), d.leaf(dst)
		count(judge.UnreachableMessage, d.isCut(a, b))
		if a == b || d.routing == "none" || d.routing == "ecmp" {
			count(judge.NeedlessSpine, k != -1 || m[4] != -1)
			continue
		}
		if count(judge.MissingSpine, k == -1) || count(judge.NoSuchSpine, k >= d.tree.Spines()) {
			continue
		}
		count(judge.DeadLink, !d.tree.Alive(a, k) || !d.tree.Alive(b, k))
		up, down := on(p, fmt.Sprint("up", a, "-", k)), on(p, fmt.Sprint("down", b, "-", k))
		count(judge.Contention, up && !o.AllowContention)
		count(judge.Contention, down && !o.AllowContention)
		if d.routing != "pinned" {
			entry := fmt.Sprint(a, "-", dst)
			if _, ok := table[entry]; !ok {
				table[entry] = k
			}
			count(judge.Inconsistent, table[entry] != k)
		}
		if d.tree.Levels() == 2 {
			continue
		}
		pa, pb, top := d.tree.Pod(a), d.tree.Pod(b), m[4]
		if pa == pb {
			count(judge.NeedlessTop, top != -1)
			continue
		}
		if count(judge.MissingTop, top == -1) || count(judge.NoSuchTop, top >= d.tree.Tops()) {
			continue
		}
		count(judge.DeadLink, !d.tree.TopAlive(pa, k, top) || !d.tree.TopAlive(pb, k, top))
		up, down = on(p, fmt.Sprint("top up", pa, "-", k, "-", top)), on(p, fmt.Sprint("top down", pb, "-", k, "-", top))
		count(judge.Contention, up && !o.AllowContention)
		count(judge.Contention, down && !o.AllowContention)
		if d.routing != "pinned" {
			entry := fmt.Sprint("pod", pa, "-", k, "-", dst)
			if _, ok := table[entry]; !ok {
				table[entry] = top
			}
			count(judge.Inconsistent, table[entry] != top)
		}
	}
	for p := range last {
		count(judge.PhaseGap, !phases[p])
	}
	for src := range d.tree.Servers() {
		for dst := range d.tree.Servers() {
			a, b := d.tree.Position(src), d.tree.Position(dst)
			count(judge.MissingMessage, src != dst && !met[fmt.Sprint(a, "-", b)] && !d.isCut(d.leaf(a), d.leaf(b)))
		}
	}
	for _, wires := range load {
		duration += slices.Max(slices.Collect(maps.Values(wires)))
	}
	return counts, duration
}

// Many random changes to a plan are counted as the second judge counts them.
func TestAgainstSecondJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range 800 {
		var plans []*draft
		switch i % 4 {
		case 0:
			plans = podDrafts(t, 1+rng.IntN(3), 1+rng.IntN(3), 2)
		case 1:
			plans = []*draft{greedy("cut", randomTree(t, rng))}
		default:
			plans = drafts(t, 1+rng.IntN(4), 2+rng.IntN(3))
		}
		d := plans[rng.IntN(len(plans))].clone()
		if len(d.messages) == 0 {
			continue
		}
		d.hash, d.phases, d.bound = "none", 0, ""
		d.routing = []string{"pinned", "minhop", "spread", "ecmp", "none"}[rng.IntN(5)]
		scramble(d, rng)
		o := judge.Options{AllowContention: rng.IntN(2) == 0, First: 1 + rng.IntN(30)}
		counts, duration := second(d, o)
		r := judged(t, d.text(), o)
		if d.routing == "ecmp" || d.routing == "none" {
			duration = 0
		}
		expect.MustTrue(t, maps.Equal(counts, r.Counts) && r.Duration == float64(duration),
			"counts %v, duration %g; second judge %v, %d\n%s", r.Counts, r.Duration, counts, duration, d.text())
		total := 0
		for _, n := range counts {
			total += n
		}
		expect.MustTrue(t, r.Total == total && r.Valid == (total == 0) && len(r.Offences) == min(total, o.First),
			"total %d of %d, valid %v, %d of at most %d kept", r.Total, total, r.Valid, len(r.Offences), o.First)
	}
}

func scramble(d *draft, rng *rand.Rand) {
	size := [5]int{d.messages[len(d.messages)-1][0] + 3, d.tree.Ports()*d.tree.Leaves() + 1, d.tree.Ports()*d.tree.Leaves() + 1, d.tree.Spines() + 2, 0}
	columns := 4
	if d.tree.Levels() == 3 {
		size[4], columns = d.tree.Tops()+2, 5
	}
	for range rng.IntN(8) {
		m := d.messages[rng.IntN(len(d.messages))]
		switch i := rng.IntN(len(d.messages)); rng.IntN(4) {
		case 0:
			d.messages = append(d.messages, m)
		case 1:
			if len(d.messages) > 1 {
				d.messages = slices.Delete(d.messages, i, i+1)
			}
		default:
			c := rng.IntN(columns)
			d.messages[i][c] = rng.IntN(size[c])
			if c >= 3 {
				d.messages[i][c]--
			}
			if d.messages[i][3] < 0 { // no file names a top switch without a plane
				d.messages[i][4] = -1
			}
		}
	}
}

// The sentences name what a reader has to look for.
func TestSentences(t *testing.T) {
	header := "# evbench plan 1\n# topology FT(2;2,3)\n# fill 2,2,1\n# down leaf2-spine1\n"
	for _, tt := range []struct {
		name, header, body string
		opt                judge.Options
		kind               judge.Kind
		want               string
	}{
		{"unknown server", "", "0 0 5 0", judge.Options{}, judge.UnknownServer, "phase 0: no server5: it would sit in slot 1 of leaf2, where the fill puts 1 servers"},
		{"beyond the tree", "", "3 17 0 0", judge.Options{}, judge.UnknownServer, "phase 3: no server17: FT(2;2,3) has server0..server5"},
		{"self", "", "0 1 1 -", judge.Options{}, judge.SelfMessage, "phase 0: server1 sends to itself"},
		{"repeated", "", "0 1 2 1\n4 1 2 1", judge.Options{}, judge.RepeatedMessage, "phase 4: server1 sends to server2 again, after phase 0"},
		{"sends twice", "", "0 1 0 -\n0 1 2 1", judge.Options{}, judge.SendsTwice, "phase 0: server1 sends to server0 and to server2"},
		{"receives twice", "", "0 0 2 0\n0 3 2 -", judge.Options{}, judge.ReceivesTwice, "phase 0: server2 receives from server0 and from server3"},
		{"no such spine", "", "0 0 2 2", judge.Options{}, judge.NoSuchSpine, "phase 0: server0 sends to server2 through spine2; there are spine0..spine1"},
		{"dead at the destination", "", "0 0 4 1", judge.Options{}, judge.DeadLink, "phase 0: server0 sends to server4 over leaf2-spine1, which is dead"},
		{"dead at the source", "", "0 4 0 1", judge.Options{}, judge.DeadLink, "phase 0: server4 sends to server0 over leaf2-spine1, which is dead"},
		{"contention up", "", "0 0 2 0\n0 1 4 0", judge.Options{}, judge.Contention, "phase 0: leaf0-spine0 (up) carries server0 to server2 and server1 to server4"},
		{"contention down", "", "0 0 2 0\n0 4 3 0", judge.Options{}, judge.Contention, "phase 0: leaf1-spine0 (down) carries server0 to server2 and server4 to server3"},
		{"needless spine", "", "0 0 1 1", judge.Options{}, judge.NeedlessSpine, "phase 0: server0 to server1 names spine1, but both sit on leaf0"},
		{"spine under ecmp", "# routing ecmp\n", "0 0 2 1", judge.Options{}, judge.NeedlessSpine, "phase 0: server0 to server2 names spine1, but routing ecmp leaves the spine open"},
		{"missing spine", "", "0 0 2 -", judge.Options{}, judge.MissingSpine, "phase 0: server0 on leaf0 sends to server2 on leaf1 through no spine"},
		{"two table entries", "# routing minhop\n", "0 0 2 0\n1 1 2 1", judge.Options{}, judge.Inconsistent, "phase 1: leaf0 sends to server2 through spine1, elsewhere through spine0; routing minhop has one path"},
		{"gap", "", "0 0 1 -\n2 1 0 -", judge.Options{}, judge.PhaseGap, "phase 1 holds no message"},
		{"missing message", "", "0 0 1 -", judge.Options{}, judge.MissingMessage, "server0 never sends to server2"},
		{"phases", "# phases 7\n", "0 0 1 -", judge.Options{}, judge.WrongPhaseCount, "the file states 7 phases; 1 hold a message"},
		{"hash", "# hash sha256:12\n", "0 0 1 -", judge.Options{}, judge.WrongHash, "the file states hash sha256:12; its canonical text has sha256:"},
		{"below bound", "# bound 9 server\n", "0 0 1 -", judge.Options{}, judge.BelowBound, "the plan has 1 phases, fewer than its stated lower bound of 9"},
		{"weak server bound", "# bound 3 server\n", "0 0 1 -", judge.Options{}, judge.WeakBound, "the file states a lower bound of 3 phases; server alone needs 4"},
		{"weak leaf bound", "# down leaf1-spine0\n", "0 0 1 -", judge.Options{}, judge.WeakBound, "the file states a lower bound of 4 phases; leaf1 alone needs 6"},
		{"wrong leaf bound", "# bound 5 leaf2\n", "0 0 1 -", judge.Options{Bound: true}, judge.WrongBound, "the file states bound 5 by leaf2, which proves 4"},
	} {
		tt.opt.First = 1 << 20
		h := header
		if strings.Contains(tt.header, "# down") {
			h = "# evbench plan 1\n# topology FT(2;2,3)\n# fill 2,2,1\n# bound 4 server\n"
		}
		r := judged(t, h+tt.header+tt.body+"\n", tt.opt)
		i := slices.IndexFunc(r.Offences, func(o judge.Offence) bool { return o.Kind == tt.kind })
		expect.True(t, i >= 0 && strings.HasPrefix(r.Offences[i].Text, tt.want), "%s: offences %+v, want %q", tt.name, r.Offences, tt.want)
	}
}

// A schedule without spines is judged for coverage only, and says so.
func TestNotes(t *testing.T) {
	d := shift(t, 2, 3)
	for i := range d.messages {
		d.messages[i][3] = -1
	}
	for _, tt := range []struct {
		routing string
		opt     judge.Options
		want    string
	}{
		{"none", judge.Options{}, "contention not checked: with routing none the file does not say which spine a message takes"},
		{"ecmp", judge.Options{AllowContention: true}, "contention not checked: with routing ecmp the file does not say which spine a message takes"},
	} {
		d.routing = tt.routing
		r := judged(t, d.text(), tt.opt)
		expect.True(t, r.Valid && !r.ContentionChecked && r.Duration == 0 && slices.Equal(r.Notes, []string{tt.want}),
			"%s: %+v, want a valid plan with note %q", tt.routing, r, tt.want)
	}
}

// Linear shift over two table paths of FT(2;2,2) with leaf0-spine0 dead: all
// that leaves leaf0 or comes to it shares spine1.
func TestDurationWithContention(t *testing.T) {
	d := shift(t, 2, 2)
	d.tree = topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2}, topology.Link{})
	d.routing, d.bound = "minhop", "4 leaf0"
	for i, m := range d.messages {
		if m[3] >= 0 {
			d.messages[i][3] = 1
		}
	}
	// Phases +1, +2, +3 put 1, 2 and 1 messages on the busiest wire.
	r := judged(t, d.text(), judge.Options{AllowContention: true, Bound: true})
	expect.True(t, r.Valid && !r.ContentionChecked && r.Phases == 3 && r.Duration == 4 && r.PredictedEfficiency == 0.75, "allowed: %+v", r)
	// Both leaves' up and down wires of phase +2.
	r = judged(t, d.text(), judge.Options{})
	expect.True(t, !r.Valid && r.ContentionChecked && r.Counts[judge.Contention] == 4 && r.Duration == 4, "not allowed: %+v", r)
}
