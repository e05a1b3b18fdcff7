package engines_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"evbench/routing"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A contest is one engine on one network, ours against OpenSM's.
type contest struct {
	ours, theirs string
	args         []string // of OpenSM
}

var contests = []contest{
	{"ftree,opensm-minhop", "ftree", nil},
	{"opensm-minhop", "minhop", nil},
	{"updn", "updn", nil},
	{"dnup", "dnup", nil},
	{"sssp", "sssp", nil},
	{"dfsssp", "dfsssp", []string{"-Q"}},
	{"dmodc", "file", nil}, // OpenSM loads what we have computed
}

// only are engines that OpenSM does not have.
var only = []string{"dmodc", "qft", "minhop", "spread"}

// A trial is a network in one state.
type trial struct {
	topology, state string
	net             *network.Network
	roots           []network.Node
	shown           bool // in the table of slowdowns
}

// states are what may have failed: names of cables and switches by topology, and
// cables drawn at random.
var states = []struct {
	name   string
	down   [2][]string // with two levels, with three
	random int
}{
	{name: "healthy"},
	{name: "1 link", down: [2][]string{{"s1_0-s2_0"}, {"s1_0-s2_0"}}},
	{name: "3 links", down: [2][]string{{"s1_0-s2_0", "s1_5-s2_1", "s1_3-s2_2"}, {"s1_0-s2_0", "s1_5/6", "s2_3/5"}}},
	{name: "2 spines", down: [2][]string{{"s2_0", "s2_1"}, {"s3_0", "s3_1"}}},
	{name: "10 random", random: 10},
}

var refereed = []struct {
	text  string
	quick []string // states that the gate tries
	shown bool
}{
	{"FT(2;4,8)", []string{"healthy", "1 link", "3 links", "2 spines", "10 random"}, false},
	{"FT(2;20,18)", []string{"3 links"}, true},
	{"PGFT(3;4,4,4;1,4,4;1,1,1)", []string{"1 link", "10 random"}, true},
	{"PGFT(3;4,4,4;1,2,2;1,2,2)", []string{"2 spines"}, false},
}

// trials returns all networks, or those that there is time for.
func trials(t *testing.T) (list []trial) {
	t.Helper()
	all := os.Getenv("REFEREE") == "all"
	for i, g := range refereed {
		if !expect.All() && i > 0 {
			continue
		}
		whole := parseNetwork(t, g.text, 0)
		roots := expect.Value(network.DetectRoots(whole))(t)
		levels := 0
		if strings.Contains(g.text, "(3;") {
			levels = 1
		}
		for _, s := range states {
			if !all && !slices.Contains(g.quick[:min(len(g.quick), expect.Samples(5, 2))], s.name) {
				continue
			}
			n := parseNetwork(t, g.text, 0, s.down[levels]...)
			if s.random > 0 {
				cables, err := n.Random(s.random, 22) // up and down does not join all on two of the trees
				expect.Must(t, err)
				n = n.Without(cables, nil)
			}
			list = append(list, trial{g.text, s.name, n, roots, g.shown})
		}
	}
	return list
}

// A verdict is what came of a contest.
type verdict struct {
	entries, different int
	engine             string // OpenSM's that did it
	lost               int64  // pairs of hosts without a route
	free               bool   // of deadlock
	slowdown, ofTheirs float64
}

// TestReferee compares our tables with those of OpenSM entry by entry. With -v it
// prints what it has compared, and what a linear shift takes over both;
// REFEREE=all takes every topology in every state.
func TestReferee(t *testing.T) {
	ibtest.Need(t)
	list := trials(t)
	verdicts := make([]map[string]verdict, len(list))
	t.Run("network", func(t *testing.T) {
		for i, x := range list {
			verdicts[i] = map[string]verdict{}
			var mu sync.Mutex
			for _, c := range contests {
				t.Run(x.topology+" "+x.state+" "+c.ours, func(t *testing.T) {
					t.Parallel()
					v := compete(t, x, c)
					mu.Lock()
					verdicts[i][c.theirs] = v
					mu.Unlock()
				})
			}
		}
	})
	if testing.Verbose() && !t.Failed() {
		printVerdicts(list, verdicts)
		printSlowdowns(list, verdicts)
	}
}

func compete(t *testing.T, x trial, c contest) verdict {
	t.Helper()
	got := expect.Value(engines.Compute(c.ours, x.net, engines.Options{Roots: x.roots, Partial: true}))(t)
	args := c.args
	if c.theirs == "file" {
		args = []string{"-U", written(t, got)}
	}
	r := expect.Value(ibtest.Route(t.Context(), x.net, c.theirs, x.roots, args...))(t)
	used := got.Engine
	expect.False(t, c.theirs != "file" && strings.TrimPrefix(used, "opensm-") != r.Engine, "%s became %s, OpenSM used %s", c.ours, used, r.Engine)
	v := verdict{engine: r.Engine, lost: lft.Check(got, lft.Options{}).Unreachable, free: lft.Deadlock(got).Free()}
	for s := range x.net.Switches() {
		if x.net.Isolated(x.net.Switch(s)) {
			continue // OpenSM does not see it
		}
		for lid := 1; lid < r.Tables.LIDs; lid++ {
			if v.entries++; got.Row(s)[lid] != r.Tables.Row(s)[lid] {
				v.different++
			}
		}
	}
	expect.True(t, v.different <= 0, "%d of %d entries differ", v.different, v.entries)
	v.slowdown, v.ofTheirs = shift(got), shift(r.Tables)
	return v
}

func shift(tables *lft.Tables) float64 {
	return lft.Congest(tables, lft.Shifts(tables.Net.Hosts())).Slowdown
}

// written puts tables into a file.
func written(t *testing.T, tables *lft.Tables) string {
	t.Helper()
	var text bytes.Buffer
	expect.Must(t, tables.WriteDump(&text))
	name := filepath.Join(t.TempDir(), "lft")
	expect.Must(t, os.WriteFile(name, text.Bytes(), 0o644))
	return name
}

// printVerdicts shows entries that differ, of all compared.
func printVerdicts(list []trial, verdicts []map[string]verdict) {
	fmt.Println("# entries that differ from OpenSM's, of all compared; the switches that OpenSM reaches, all LIDs")
	for _, g := range refereed {
		printRows(g.text, list, contests, func(c contest) string {
			if c.theirs == "file" {
				return "file (tables of dmodc)"
			}
			return c.ours
		}, func(i int, c contest) string {
			v := verdicts[i][c.theirs]
			text := fmt.Sprintf("%d of %d%s", v.different, v.entries, cutOff(v.lost))
			if v.engine != c.theirs {
				text += ", both " + v.engine
			}
			if !v.free {
				text += ", can deadlock"
			}
			return text
		})
	}
}

// printRows writes a table of one topology: a row for each x, a column for each
// state.
func printRows[X any](topology string, list []trial, rows []X, name func(X) string, cell func(int, X) string) {
	head, line := "| "+topology, "|---"
	var columns []int
	for i, x := range list {
		if x.topology == topology {
			head, line = head+" | "+x.state, line+"|---"
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 {
		return
	}
	fmt.Println(head + " |\n" + line + "|")
	for _, x := range rows {
		row := "| " + name(x)
		for _, i := range columns {
			row += " | " + cell(i, x)
		}
		fmt.Println(row + " |")
	}
}

// printSlowdowns shows how many times longer a linear shift takes than without
// sharing of cables: ours / OpenSM's.
func printSlowdowns(list []trial, verdicts []map[string]verdict) {
	fmt.Println("# slowdown of the linear shift, ours / OpenSM's; pairs cut off send nothing")
	for _, g := range refereed {
		if !g.shown {
			continue
		}
		rows := slices.Clone(contests[:len(contests)-1]) // file says nothing new
		for _, name := range only {
			rows = append(rows, contest{ours: name})
		}
		printRows(g.text, list, rows, func(c contest) string { return c.ours }, func(i int, c contest) string {
			if c.theirs == "" {
				return alone(c.ours, list[i])
			}
			v := verdicts[i][c.theirs]
			return fmt.Sprintf("%.3f / %.3f%s", v.slowdown, v.ofTheirs, cutOff(v.lost))
		})
	}
}

// alone is the slowdown of an engine that OpenSM does not have.
func alone(name string, x trial) string {
	tables, err := engines.Compute(name, x.net, engines.Options{Roots: x.roots, Partial: true})
	if err != nil {
		return "–"
	}
	r := lft.Check(tables, lft.Options{})
	return fmt.Sprintf("%.3f%s", shift(tables), cutOff(r.Unreachable))
}

func cutOff(pairs int64) string {
	if pairs == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d cut off)", pairs)
}

// TestFtreeIsOpenSMs holds the tables of ftree against those of OpenSM itself on
// trees with several dead links at a leaf, with other numbers of spines, and with
// servers missing.
func TestFtreeIsOpenSMs(t *testing.T) {
	ibtest.Need(t)
	for _, tree := range []*topology.Tree{
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine2", "leaf0-spine3"),
		topologytest.Tree(t, topology.Options{Ports: 5, Leaves: 3}, "leaf0-spine2", "leaf0-spine3", "leaf0-spine4", "spine1"),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 5}),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 3}, "leaf2-spine1"),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 5, Fill: []int{3, 3, 3, 2, 2}}),
	} {
		n := expect.Value(engines.FromTree(&tree.Live, 0))(t)
		var roots []network.Node
		for k := range tree.Spines() {
			roots = append(roots, n.Switch(tree.Leaves()+k))
		}
		r := expect.Value(ibtest.Route(t.Context(), n, "ftree", roots))(t)
		want := expect.Value(engines.ToTables(tree, r.Tables))(t)
		got := expect.Value(engines.ForTree(routing.Ftree, tree, engines.Options{}))(t)
		equal(t, want, got)
		expect.True(t, want.Engine == got.Engine, "%s: OpenSM used %s, here it is %s", tree.Notation(), want.Engine, got.Engine)
	}
}
