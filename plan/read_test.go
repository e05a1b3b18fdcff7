package plan_test

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/scheduler"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
	"evbench/view/plans"
)

func restored(t testing.TB, file []byte) *plan.Plan {
	t.Helper()
	p, err := plan.Read(bytes.NewReader(file), engines.Trees())
	expect.MustTrue(t, err == nil, "%v\n%s", err, file)
	return p
}

// write returns both forms of a plan.
func write(t testing.TB, p *plan.Plan) (text, doc []byte) {
	t.Helper()
	var a, b bytes.Buffer
	expect.Must(t, errors.Join(p.WriteText(&a), plans.WriteJSON(&b, p)))
	return a.Bytes(), b.Bytes()
}

// same compares what both forms carry.
func same(t testing.TB, want, got *plan.Plan) {
	t.Helper()
	type head struct {
		topology, down, schedule, routing, hash, proof string
		fill, subset                                   []int
		spines, phases, bound, messages                int
		unreachable                                    [][2]int
		paths                                          topology.Paths
		cost                                           plan.Cost
	}
	of := func(p *plan.Plan) head {
		return head{
			p.Tree.Notation(), strings.Join(p.Tree.DownNames(), ","), p.ScheduleName(), p.Routing, p.Hash(), p.Proof(),
			p.Tree.Fill(), p.Bound.Subset, p.Tree.Spines(), p.Phases(), p.Bound.Phases, p.Messages(), p.Unreachable,
			p.Paths, p.Cost(plan.Equal, 3),
		}
	}
	a, b := of(want), of(got)
	expect.MustTrue(t, reflect.DeepEqual(a, b), "want %+v\ngot  %+v", a, b)
	for m := range want.Schedule.All() {
		phase, _ := got.Schedule.At(m.Src, m.Dst)
		is, was := got.Path(m.Src, m.Dst), want.Path(m.Src, m.Dst)
		expect.MustTrue(t, got.Schedule.Meets(m.Src, m.Dst) && phase == m.Phase && is == was, "%+v comes back in phase %d over path %d, not %d", m, phase, is, was)
	}
}

// Bounds of all kinds come back.
func TestReadBounds(t *testing.T) {
	one, witness := topologytest.Tree(t, ft44, "leaf0-spine0"), topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 3}, "leaf0-spine0", "leaf1-spine1", "leaf2-spine1")
	for _, tt := range []struct {
		tree *topology.Tree
		want scheduler.Bound
	}{
		{witness, scheduler.Bound{Phases: 18, Kind: scheduler.KindHall, At: 0, Subset: []int{1, 2}}},
		{topologytest.Tree(t, ft44), scheduler.Bound{Phases: 15, Kind: scheduler.KindServer}},
		{one, scheduler.Bound{Phases: 16, Kind: scheduler.KindLeaf, At: 0}},
		{one, scheduler.Bound{Phases: 16, Kind: scheduler.KindLP}},
		{one, scheduler.Bound{}},
	} {
		p := *build(t, tt.tree, "fors", "")
		p.Bound = tt.want
		text, _ := write(t, &p)
		expect.Equal(t, restored(t, text).Bound, tt.want, "bound")
	}
}

// A plan with pairs left out says so, and comes back so.
func TestReadUnreachable(t *testing.T) {
	tr := topologytest.Tree(t, ft44, "leaf0-spine0", "leaf0-spine1", "leaf3-spine2", "leaf3-spine3")
	for _, engine := range []string{"none", "minhop", "ecmp"} {
		p := expect.Value(plan.Build(tr, plan.Options{Engines: engines.Trees(), Schedule: "linear-shift", Routing: engine, DropUnreachable: true}))(t)
		text, doc := write(t, p)
		expect.True(t, bytes.Contains(text, []byte("\n# unreachable leaf0-leaf3\n")) && bytes.Contains(doc, []byte(`"unreachable":["leaf0-leaf3"]`)),
			"%s: the files do not name leaf0 and leaf3", engine)
		expect.False(t, p.Messages() != 240-32 || bytes.Contains(text, []byte("\n0 0 12 ")), "%s: %d messages", engine, p.Messages())
		same(t, p, restored(t, text))
		quiet := bytes.Replace(text, []byte("# unreachable leaf0-leaf3\n"), nil, 1)
		if _, err := plan.Read(bytes.NewReader(quiet), engines.Trees()); err == nil || !strings.Contains(err.Error(), "server0 never sends to server12: not a complete plan") {
			t.Errorf("%s, without the line: error %v", engine, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}, "leaf0-spine0")
	pinned, _ := write(t, build(t, tr, "fors", ""))
	routed, _ := write(t, build(t, tr, "linear-shift", "minhop"))
	whole, _ := write(t, build(t, topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), "linear-shift", "ftree"))
	unsigned := regexp.MustCompile("(?m)^# hash.*\n").ReplaceAll(swapped(whole), nil)
	first := func(file []byte) string { // the first message
		for _, l := range strings.Split(string(file), "\n") {
			if l != "" && l[0] != '#' {
				return l
			}
		}
		t.Fatal("no message")
		return ""
	}
	for _, tt := range []struct {
		name     string
		file     []byte
		old, new string
		want     string
	}{
		{"empty", nil, "", "", "empty"},
		{"blank", []byte(" \n\n"), "", "", "empty"},
		{"hello", []byte("hello\n"), "", "", "line 1: not a plan file"},
		{"version 5", pinned, "evbench plan 4", "evbench plan 5", `line 1: plan version "5"; versions 1 to 4 are read`},
		{"topology", pinned, "FT(2;2,2)", "FT(2;2", "line 2: topology"},
		{"no topology", pinned, "# topology FT(2;2,2)\n", "", "no topology"},
		{"fill", pinned, "# fill 2,2", "# fill 2,3", "line 3: fill of leaf1"},
		{"absent server", pinned, "# fill 2,2", "# fill 2,1", "no server3: it would sit in slot 1 of leaf1"},
		{"down", pinned, "leaf0-spine0", "leaf9-spine0", `line 4: no link "leaf9-spine0"`},
		{"spines", pinned, "# down", "# spines 0\n# down", "line 4: 0 spines"},
		{"other dead links", pinned, "# down leaf0-spine0", "# down leaf0-spine1", "server1 sends to server2 over leaf0-spine1, which is dead"},
		{"cut apart", pinned, "# down leaf0-spine0", "# down leaf0-spine0,leaf0-spine1", "over leaf0-spine1, which is dead"},
		{"falsely unreachable", pinned, "# schedule", "# unreachable leaf0-leaf1\n# schedule", "leaves out leaf0-leaf1, but a live path leads"},
		{"no schedule", pinned, "# schedule fors\n", "", "no schedule"},
		{"routing", pinned, "# routing pinned", "# routing magic", `line 6: no routing "magic"`},
		{"routing ecmp with spines", routed, "# routing minhop", "# routing ecmp", "routing ecmp leaves the spine open"},
		{"other tables", routed, "\n0 1 2 1\n", "\n0 1 2 0\n", "over leaf0-spine0, which is dead"},
		{"another engine's tables", unsigned, "", "", "over spine 1; routing ftree gives 0: not a complete plan"},
		{"open and cut apart", []byte("# evbench plan 1\n# topology FT(2;1,2)\n# down spine0\n# schedule x\n# routing none\n0 0 1 -\n0 1 0 -\n"), "", "",
			"unreachable: none stated; the dead links leave leaf0-leaf1 without a path"},
		{"schedule", pinned, "# schedule fors", "# schedule f\x01rs", "is not a name"},
		{"phases", pinned, "# phases 4", "# phases 5", "the file states 5 phases; 4 hold a message"},
		{"bound", pinned, "# bound 4 leaf0", "# bound 4", "bound"},
		{"bound of no leaf", pinned, "# bound 4 leaf0", "# bound 4 leaf2", "bound 4 leaf2: no leaf2"},
		{"bound of a pod", pinned, "# bound 4 leaf0", "# bound 4 pod0", `line 8: no witness "pod0"`},
		{"bound of magic", pinned, "# bound 4 leaf0", "# bound 4 magic", `line 8: no witness "magic"`},
		{"bound of 0", pinned, "# bound 4 leaf0", "# bound 0 leaf0", "a bound of 0 phases"},
		{"hall without a set", pinned, "# bound 4 leaf0", "# bound 4 hall0", "bound 4 hall0: it names no set of leaves"},
		{"hall of no leaf", pinned, "# bound 4 leaf0", "# bound 4 hall0 leaf1,leaf2", "its set has leaf2; there are leaf0..leaf1"},
		{"hash", pinned, "# hash sha256:", "# hash sha256:0", "its canonical text has sha256:"},
		{"key", pinned, "# hash", "# crash", `line 9: unknown header "crash"`},
		{"key twice", pinned, "# phases 4", "# phases 4\n# phases 4", "a second time, after line 7"},
		{"key without value", pinned, "# phases 4", "# phases", `"phases" has no value`},
		{"late header", pinned, first(pinned), first(pinned) + "\n# phases 4", "header lines come before"},
		{"message lost", pinned, first(pinned) + "\n", "", "not a complete plan; evbench verify lists all"},
		{"message twice", pinned, first(pinned), first(pinned) + "\n" + first(pinned), "server1 sends to server2 again"},
		{"short message", pinned, first(pinned), "0 0", "no dst; a row is"},
		{"long message", pinned, first(pinned), first(pinned) + " 7", "more than 4 columns"},
		{"top switch", pinned, first(pinned), "0 0 3 1.0", "line 10: \"0 0 3 1.0\": spine is not a number"},
		{"large phase", pinned, first(pinned), "99999999999 0 1 -", "phase is larger than"},
		{"negative spine", pinned, first(pinned), "0 0 1 -1", "spine is not a number"},
	} {
		expect.False(t, tt.old != "" && !bytes.Contains(tt.file, []byte(tt.old)), "%s: nothing to change in\n%s", tt.name, tt.file)
		file := strings.Replace(string(tt.file), tt.old, tt.new, 1)
		expect.Error(t, expect.Err(plan.Read(strings.NewReader(file), engines.Trees())), tt.want)
	}
	bare := regexp.MustCompile(`(?m)^(\d+ \d+ \d+) 1$`).ReplaceAllString(string(pinned), "$1 -")
	expect.Error(t, expect.Err(plan.Read(strings.NewReader(bare), engines.Trees())), "sends to server2 on leaf1 through no spine")
}

// swapped exchanges the spines of a file with two.
func swapped(file []byte) []byte {
	return regexp.MustCompile(`(?m)^(\d+ \d+ \d+) ([01])$`).ReplaceAllFunc(file, func(line []byte) []byte {
		line = bytes.Clone(line)
		line[len(line)-1] ^= 1
		return line
	})
}

// What a stranger may write is read: blanks, comments, own keys, no hash, no
// bound, messages in any order.
func TestReadByHand(t *testing.T) {
	const file = `
## by hand
# evbench plan 1
# x-author someone
# topology FT(2;1,3)
# schedule by-hand
# routing none

1 0 2 -
1 1   0 -
0 0 1 -
	0 1 2 -
0 2 0 -
1 2 1 -
`
	p := restored(t, []byte(file))
	expect.False(t, p.ScheduleName() != "by-hand" || p.Phases() != 2 || p.Bound.Phases != 0 || p.Tree.Spines() != 1,
		"%s of %d phases, bound %d", p.ScheduleName(), p.Phases(), p.Bound.Phases)
	text, _ := write(t, p)
	same(t, p, restored(t, text))
}

// Whatever is accepted survives being written and read again.
func FuzzRead(f *testing.F) {
	tr := topologytest.Tree(f, topology.Options{Ports: 2, Leaves: 2}, "leaf0-spine0")
	for _, kind := range [][2]string{{"fors", "pinned"}, {"linear-shift", "minhop"}, {"linear-shift", "none"}} {
		p := expect.Value(plan.Build(tr, plan.Options{Engines: engines.Trees(), Schedule: kind[0], Routing: kind[1]}))(f)
		text, _ := write(f, p)
		f.Add(text)
	}
	text, _ := write(f, threeLevels(f))
	f.Add(text)
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := plan.Read(bytes.NewReader(file), engines.Trees())
		if err != nil {
			return
		}
		text, _ := write(t, p)
		same(t, p, restored(t, text))
	})
}
