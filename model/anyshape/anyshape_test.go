package anyshape_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/bench"
	"evbench/model/anyshape"
	"evbench/model/order"
	"evbench/model/simulate"
	"evbench/plan"
	"evbench/scenario"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/testing/expect"
	"evbench/topology"
)

func prepare(t *testing.T, text string) (*scenario.Scenario, []bench.Planned) {
	t.Helper()
	s := expect.Value(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader(text)))(t)
	return s, expect.Value(bench.Prepare(s))(t)
}

const cases = `
control: off
fabric: {kind: lab, rate: 100Mbit/s}
cases:
  - {name: ranks, schedule: linear-shift, routing: %[1]s}
  - {name: none, mode: unsynchronised, routing: %[1]s}
  - {name: order, schedule: path-coloring, routing: %[1]s}
`

// What plan, predictions and simulation count of a case is what package order counts, which has its own
// sums.
func TestCosts(t *testing.T) {
	for _, tt := range []struct{ network, engine string }{
		{"Dragonfly(1;4;2;9)", "sssp"}, {"HyperX(3,3;2)", "opensm-minhop"}, {"Jellyfish(12;4;2;1)", "dfsssp"}, {"Jellyfish(9;4;1;7)", "minmax"},
		{"FT(4;2,2,2,2)", "opensm-minhop"},
	} {
		name := tt.network
		s, planned := prepare(t, "topology: "+name+fmt.Sprintf(cases, tt.engine))
		n := s.Network.(*anyshape.Network)
		p := expect.Value(order.Make(name, anyshape.LFT(planned[2].Plan), lft.Job{Nodes: n.Nodes}, 0))(t)
		ideal := float64(len(n.Nodes) - 1)
		for i, want := range []float64{p.Time(p.LinearShift()), p.Bound.Time, p.Time(p.Schedule)} {
			got := planned[i].Prediction.Efficiency
			expect.True(t, math.Abs(got-ideal/want) < 1e-9, "%s %s, case %s: predicted %.6f, and the order takes %.6g for %g messages", name, tt.engine, planned[i].Name, got, want, ideal)
		}
		for _, x := range planned {
			expect.OK(t, x.Plan.Judge())
			loads, static := x.Plan.Loads(plan.Equal)
			expect.True(t, static, "static")
			sum := 0.0
			names := map[[2]string]bool{}
			for w, load := range loads {
				link, direction := x.Plan.WireName(w)
				expect.True(t, !names[[2]string{link, direction}], "%s: two wires are %s, %s", name, link, direction)
				names[[2]string{link, direction}] = true
				sum += load
			}
			hops := 0.0
			for src, dst := range x.Plan.Tree.Pairs {
				hops += float64(len(x.Plan.Over.Way(nil, src, dst)))
			}
			expect.Equal(t, sum, hops, "messages times wires")
		}
		jobs := expect.Value(simulate.Cases(s, planned, ""))(t)
		expect.True(t, len(jobs) >= 3, "%s: %d jobs", name, len(jobs))
	}
}

// A lab counts the same cables under the same names.
func TestCables(t *testing.T) {
	s, planned := prepare(t, "topology: Dragonfly(2;4;1;5)"+fmt.Sprintf(cases, "sssp"))
	known := map[string]bool{}
	for _, name := range s.Network.(*anyshape.Network).LabCables() {
		expect.True(t, !known[name], "two cables are %s", name)
		known[name] = true
	}
	for w := range planned[0].Plan.Over.Wires() {
		link, _ := planned[0].Plan.WireName(w)
		expect.True(t, known[link], "%s is no cable of the lab", link)
	}
}

// TestTimed: without a policy messages keep their order over the tables that the manager makes anew, and share
// links; with reorder they get the order that a case has from whose start the cable is dead.
func TestTimed(t *testing.T) {
	var n *anyshape.Network // of the last
	at := func(failures, failover string, links ...topology.Link) *plan.Plan {
		s, planned := prepare(t, "topology: Dragonfly(1;4;1;4)\ncontrol: off\nfabric: {kind: lab, rate: 100Mbit/s}\ncases: [{schedule: path-coloring, routing: sssp, duration: 4s"+failover+failures+"}]\n")
		tree := expect.Value(planned[0].Plan.Tree.Without(links...))(t)
		n = s.Network.(*anyshape.Network)
		return expect.Value(planned[0].PlanFor(s, tree))(t)
	}
	timed := ", failures: [{link: s1_0/3, at: 1s}]"
	_, planned := prepare(t, "topology: Dragonfly(1;4;1;4)\ncontrol: off\ncases: [{schedule: path-coloring, routing: sssp"+timed+"}]\n")
	link := planned[0].Timed[0].Links
	kept, dead := at(timed, "", link...), at(", failures: [s1_0/3]", "")
	anew := at(timed, ", failover: reorder", link...)
	expect.Equal(t, anew.Hash(), dead.Hash(), "plans without the cable")
	expect.OK(t, kept.Judge())
	for src, dst := range kept.Tree.Pairs {
		before, _ := planned[0].Plan.Schedule.At(src, dst)
		after, _ := kept.Schedule.At(src, dst)
		expect.MustTrue(t, before == after, "%d to %d: phase %d, then %d", src, dst, before, after)
	}
	again, was, err := n.Again(anew, anyshape.LFT(anew), anew.Tree)
	expect.True(t, err == nil && was && again.Hash() == anew.Hash(), "the order was not kept: %v", err)
	// Servers that nothing joins are predicted to build nothing meanwhile.
	_, apart := prepare(t, "topology: HyperX(2;3)\ncontrol: off\nduration: 4s\nfabric: {kind: lab, rate: 100Mbit/s}\ncases: [{schedule: path-coloring, routing: sssp, failover: reorder, failures: [{link: s1_0-s1_1, at: 1s}]}]\n")
	expect.True(t, math.Abs(apart[0].Prediction.Efficiency-5.0/9/4) < 1e-9, "five messages in nine phases, for a quarter of the time: %g", apart[0].Prediction.Efficiency)
	cut := expect.Value(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader("topology: HyperX(2;3)\nfabric: {kind: lab, rate: 100Mbit/s}\ncases: [{schedule: path-coloring, routing: sssp, failures: [{link: s1_0-s1_1, at: 1s}]}]\n")))(t)
	expect.Error(t, expect.Err(bench.Prepare(cut)), "at 1s: no message is taken from h0 to h3 ")
	slow, fast := kept.Cost(plan.Equal, 1).Synchronised(), anew.Cost(plan.Equal, 1).Synchronised()
	expect.True(t, slow < fast, "the old order over new tables has the efficiency %g, the new one %g", slow, fast)
}

func TestDeadCables(t *testing.T) {
	text := func(dead string) string {
		return "topology: Dragonfly(1;4;2;9)\ncontrol: off\nfabric: {kind: lab, rate: 100Mbit/s}\ncases: [{schedule: path-coloring, routing: sssp" + dead + "}]\n"
	}
	_, whole := prepare(t, text(""))
	link, _ := whole[0].Plan.WireName(2 * 36) // the first between switches
	a, _, _ := strings.Cut(link, "-")
	_, cut := prepare(t, text(", failures: ["+a+"]"))
	loads, _ := cut[0].Plan.Loads(plan.Equal)
	for w := range loads {
		if name, _ := cut[0].Plan.WireName(w); name == link {
			t.Errorf("%g messages pass the dead cable %s", loads[w], link)
		}
	}
	expect.True(t, cut[0].Plan.Hash() != whole[0].Plan.Hash(), "the plans are one")
	expect.Equal(t, fmt.Sprint(cut[0].FailureTexts(&cut[0].Plan.Tree.Live)), "["+a+"]", "dead cables")

	// Random cables exclude the dead ones, and depend on the seed alone.
	_, drawn := prepare(t, text(", failures: ["+a+", {random: {count: 3, seed: 7}}]"))
	_, again := prepare(t, text(", failure_seed: 7, failures: ["+a+", {random: {count: 3}}]"))
	dead := drawn[0].FailureTexts(&drawn[0].Plan.Tree.Live)
	expect.True(t, len(dead) == 4 && dead[0] == a && len(slices.Compact(slices.Sorted(slices.Values(dead)))) == 4, "dead cables %v", dead)
	expect.Equal(t, fmt.Sprint(again[0].FailureTexts(&again[0].Plan.Tree.Live)), fmt.Sprint(dead), "dead cables of the same seed")
}

// The tables of a file, and a tree whose tables are given.
//
//gate:race
func TestLoaded(t *testing.T) {
	dir := t.TempDir()
	net := filepath.Join(dir, "tree.txt")
	s := expect.Value(netfile.Read("FT(2;4,4)", 0))(t)
	var text strings.Builder
	expect.OK(t, netfile.WriteIB(&text, s.Net))
	expect.OK(t, os.WriteFile(net, []byte(text.String()), 0o600))
	text.Reset()
	n := expect.Value(anyshape.Open(net, "", "", true))(t)
	x := expect.Value(n.Plan(scenario.Case{Routing: "ftree", Schedule: "linear-shift"}, expect.Value(topology.New(topology.Options{Ports: 16, Leaves: 1, Spines: 1}))(t)))(t)
	expect.OK(t, anyshape.LFT(x).WriteDump(&text))
	tables := filepath.Join(dir, "tables.txt")
	expect.OK(t, os.WriteFile(tables, []byte(text.String()), 0o600))
	file := filepath.Join(dir, "s.yaml")
	expect.OK(t, os.WriteFile(file, []byte("topology: "+net+"\ntables: "+tables+"\ncases: [{schedule: path-coloring}]\n"), 0o600))
	loaded := expect.Value(scenario.ReadFile(file, scenario.Files{Tree: netfile.Tree, Networks: anyshape.Networks()}))(t)
	got := expect.Value(bench.Prepare(loaded))(t)
	expect.Equal(t, got[len(got)-1].Routing, scenario.Loaded, "routing")
	expect.Equal(t, got[len(got)-1].Plan.Phases(), 15, "phases") // 16 servers of a whole tree with its ftree tables
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"cases: [{schedule: fors}]", "cases[0].schedule: a network that is no tree has linear-shift, path-coloring, best and none"},
		{"cases: [{schedule: best, objective: paths}]", "cases[0].objective: only the schedule fors has an objective"},
		{"cases: [{schedule: best, mode: unsynchronised}]", "cases[0].schedule: unsynchronised cases use only the paths of a schedule"},
		{"cases: [{mode: ordered, routing: sssp}]", "cases[0].mode: ordered cases need a tree"},
		{"cases: [{routing: pinned}]", "cases[0].routing: there are loaded, opensm-minhop, "},
		{"cases: [{routing: loaded}]", "tables of the network are not given; write tables: FILE"},
		{"cases: [{failures: [x]}]", "no node, port or cable \"x\""},
		{"cases: [{failures: [{random: {count: 91}}]}]", "cases[0].failures[0].random.count: "},
		{"cases: [{failures: [{random: {count: 90}}]}]", "cases[0].failures[0]: 90 random dead cables: of 90 between switches"},
		{"cases: [{failures: [{random: {}}]}]", "cases[0].failures[0].random: count is missing: how many links"},
		{"cases: [{failures: [h0]}]", "h0: h0-s1_0 is the cable of a server, without which it sends nothing"},
		{"cases: [{schedule: path-coloring, failover: fors, failures: [{link: s1_0/3, at: 1s}]}]", "those of path-coloring do not"},
		{"cases: [{schedule: path-coloring, failover: minhop, failures: [{link: s1_0/3, at: 1s}]}]", "cases[0].failover: the tables of a network that is no tree are not evbench's to change; take reorder"},
		{"cases: [{schedule: linear-shift, failover: reorder, failures: [{link: s1_0/3, at: 1s}]}]", "cases[0].schedule: policy reorder plans the order anew; take path-coloring"},
		{"duration: 2s\ncases: [{schedule: path-coloring, failures: [{link: s1_0/3, at: 3s}]}]", "cases[0].failures[0]: begins at 3s, but the case ends at 2s"},
		{"cases: [{schedule: path-coloring, failures: [{link: s1_0/99, at: 1s}]}]", "cases[0].failures[0].link: "},
		{"fabric: hosts\ncases: [{schedule: path-coloring, failures: [{link: s1_0/3, at: 1s}]}]", "cases[0].failures: evbench takes no cable of a network down that is no tree"},
		{"fabric: hosts\ncases: [{schedule: path-coloring, failover: reorder}]", "cases[0].failover: the tables of the network are not read again; write fabric.routes: {kind: loaded, dump: COMMAND}"},
		{"fabric: emulate\ncases: [{routing: sssp}]", "fabric: the fabric emulate models trees"},
		{"fabric: {kind: lab, lossless: true}\ncases: [{routing: sssp}]", "fabric.lossless is simulated for trees"},
		{"fill: [1]\ncases: [{routing: sssp}]", "leave fill, spines and cables out"},
		{"tables: x\ncases: [{routing: sssp}]", "tables: only a scenario in a file names others"},
	} {
		expect.Error(t, expect.Err(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader("topology: Dragonfly(1;4;2;9)\n"+tt.text+"\n"))), tt.want)
	}
	text := expect.Err(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader("topology: Dragonfly(1;4)\ncases: [{schedule: path-coloring}]\n"))).Error()
	expect.True(t, strings.Count(text, "\n") == 0, "one slip makes several errors: %s", text)
	for topology, want := range map[string]string{
		"FT(2;4": "topology", "Dragonfly(1;4)": "Dragonfly", "Dragonfly(0;4;2;9)": "Dragonfly", "nothing": "topology",
	} {
		expect.Error(t, expect.Err(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader("topology: "+topology+"\ncases: [{schedule: linear-shift}]\n"))), want)
	}
	expect.Error(t, expect.Err(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader("topology: FT(2;4,4)\ncases: [{schedule: path-coloring}]\n"))),
		"path-coloring is an order over given tables; write tables: FILE, or take fors")
	expect.Error(t, expect.Err(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader("topology: FT(2;4,4)\ncases: [{schedule: linear-shift, routing: minmax}]\n"))),
		"minmax is for networks that are no trees")
	expect.Error(t, expect.Err(scenario.Files{Networks: anyshape.Networks()}.Read("test.yaml", strings.NewReader("topology: FT(2;4,4)\ncases: [{schedule: linear-shift, failover: reorder}]\n"))),
		"reorder is for networks that are no trees, or with tables, and for routing ports; on a tree take fors")
}
