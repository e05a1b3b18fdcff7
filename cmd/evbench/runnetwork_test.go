package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// TestRunOfNetwork: a run in the lab of a network that is no tree, with a case without one of its cables.
// Every event is built, over cables that carry what the plan says. A machine that disturbs the run makes it
// invalid, and changes nothing of that.
func TestRunOfNetwork(t *testing.T) {
	need.Namespaces(t)
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "ring.yaml"), []byte(`
topology: HyperX(4;2)
fabric: {kind: lab, rate: 20Mbit/s}
event: {fragment: 20kB}
duration: 500ms
rounds: 1
timeout: 60s
cases:
  - {name: ranks, schedule: linear-shift, routing: sssp}
  - {name: none, mode: unsynchronised, routing: sssp}
  - {name: order, schedule: path-coloring, routing: sssp}
  - {name: cut, schedule: path-coloring, routing: sssp, failures: [s1_0-s1_1]}
`), 0o600))
	code, out, said := output(t, dir, "run", "ring.yaml", "-o", "r", "--yes")
	expect.MustTrue(t, code == exitDone || code == exitInvalid, "exit %d: %s%s", code, out, said)
	in := expect.Value(os.Open(filepath.Join(dir, "r", "links.csv")))(t)
	defer in.Close()
	rows := expect.Value(csv.NewReader(in).ReadAll())(t)
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	seen := map[string]int{}
	for _, row := range rows[1:] {
		name, link := row[column["case"]], row[column["link"]]
		bytes := expect.Value(strconv.ParseFloat(row[column["bytes"]], 64))(t)
		planned := expect.Value(strconv.ParseFloat(row[column["planned_bytes"]], 64))(t)
		seen[name]++
		if name == "cut" && strings.HasPrefix(link, "s1_0/") && strings.Contains(link, "-s1_1/") {
			expect.True(t, bytes == 0 && planned == 0, "%s: the dead cable %s carried %g bytes, %g planned", name, link, bytes, planned)
			continue
		}
		// Frames, acknowledgements and signals come on top; events under way at the ends do where nothing is in step.
		most := 1.25
		if name == "none" {
			most = 2
		}
		expect.True(t, bytes >= planned && bytes <= most*planned+50_000, "%s: %s carried %g bytes, %g planned", name, link, bytes, planned)
	}
	for _, name := range []string{"ranks", "none", "order", "cut"} {
		expect.Equal(t, seen[name], 2*(8+6), "directions of cables of %s", name)
	}
	code, out, said = output(t, dir, "report", "r", "-o", "r.html")
	expect.True(t, code == exitDone, "report: exit %d: %s%s", code, out, said)
	code, out, said = output(t, dir, "verify", "-t", "HyperX(4;2)", "-e", "sssp", filepath.Join("r", "plans", "order.txt"))
	expect.True(t, code == exitDone, "verify: exit %d: %s%s", code, out, said)
}

// TestRunOverLoaded: a network whose tables are given runs where it has them, and is refused where it has
// others.
func TestRunOverLoaded(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{
		"topo convert Dragonfly(1;2;1;3) --format ibnetdiscover -o net.txt", "routes compute -t net.txt -e sssp -o sssp.txt",
		"routes compute -t net.txt -e minmax -o minmax.txt",
	} {
		code, out, said := output(t, dir, strings.Fields(args)...)
		expect.MustTrue(t, code == exitDone, "%s: exit %d: %s%s", args, code, out, said)
	}
	scenario := func(dump string) string {
		name := dump + ".yaml"
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(`
topology: net.txt
tables: sssp.txt
fabric: {kind: hosts, routes: {kind: loaded, network: net.txt, dump: cat `+dump+`}}
event: {fragment: 100kB}
duration: 200ms
rounds: 1
timeout: 60s
cases: [{name: planned, schedule: path-coloring}]
`), 0o600))
		return name
	}
	code, out, said := output(t, dir, "run", scenario("sssp.txt"), "-o", "r", "--yes")
	expect.True(t, (code == exitDone || code == exitInvalid) && strings.Contains(out, "loaded"), "exit %d: %s%s", code, out, said)
	code, out, said = output(t, dir, "run", scenario("minmax.txt"), "-o", "other", "--yes")
	expect.True(t, code == exitUsage && strings.Contains(said, `case "control": the tables of the network lead another way from h0 to h5 (LID 6)`), "exit %d: %s%s", code, out, said)
}

// TestReorder: a cable dies in the lab of a network that is no tree. Its stand-in for a subnet manager loads other
// tables; they are read from the switches, and the plan over them is the one that is made for the network without
// the cable. No event is lost.
func TestReorder(t *testing.T) {
	need.Heavy(t)
	need.Namespaces(t)
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "dies.yaml"), []byte(`
topology: Dragonfly(1;4;1;4)
fabric: {kind: lab, rate: 20Mbit/s}
event: {fragment: 10kB}
duration: 4s
rounds: 1
control: off
timeout: 60s
cases:
  - {name: kept, schedule: path-coloring, routing: sssp, failures: [{link: s1_0/3, at: 500ms, for: 1s}]}
  - {name: anew, schedule: path-coloring, routing: sssp, failover: reorder, failures: [{link: s1_0/3, at: 500ms}], duration: 1h}
`), 0o600))
	rows, row, _ := replanned(t, dir, "dies.yaml")
	expect.MustTrue(t, len(rows) >= 3 && row["case"] == "anew" && row["down"] == "s1_0/3-s1_2/2" && row["first_new_s"] != "", "%v", rows)
	code, out, said := output(t, dir, "plan", "-t", "Dragonfly(1;4;1;4)", "--down", "s1_0/3", "-e", "sssp", "-o", "plan.txt")
	expect.MustTrue(t, code == exitDone, "plan: exit %d: %s%s", code, out, said)
	want := string(expect.Value(os.ReadFile(filepath.Join(dir, "plan.txt")))(t))
	expect.True(t, strings.Contains(want, "# hash "+row["plan_hash"]+"\n"), "the plan is %s, want that of\n%.600s", row["plan_hash"], want)
}

// replanned runs a scenario until its last case is on another plan, however long that takes, and interrupts it then. It returns
// the rows of failovers.csv, the last one by columns, and what was printed.
func replanned(t *testing.T, dir, scenario string) (rows [][]string, last map[string]string, out string) {
	t.Helper()
	p := begin(t, dir, "run", "-v", scenario, "-o", "r", "--yes")
	p.await("anew: measure")
	p.await("in_use=true")
	p.signal(syscall.SIGINT)
	code, said := p.end()
	expect.MustTrue(t, code == exitInterrupted, "exit %d: %s", code, said)
	rows = expect.Value(csv.NewReader(strings.NewReader(string(expect.Value(os.ReadFile(filepath.Join(dir, "r", "failovers.csv")))(t)))).ReadAll())(t)
	last = map[string]string{}
	for i, name := range rows[0] {
		last[name] = rows[len(rows)-1][i]
	}
	return rows, last, p.printed.String()
}

// TestReorderOnHosts: the tables of a network of hosts change while events are built, as its dump says. The order
// is planned anew: that of the other tables.
//
//gate:race
func TestReorderOnHosts(t *testing.T) {
	dir := t.TempDir()
	done := func(args string) {
		code, out, said := output(t, dir, strings.Fields(args)...)
		expect.MustTrue(t, code == exitDone, "%s: exit %d: %s%s", args, code, out, said)
	}
	done("topo convert Dragonfly(1;2;1;3) --format ibnetdiscover -o net.txt")
	for _, engine := range []string{"sssp", "minmax"} {
		done("routes compute -t net.txt -e " + engine + " -o " + engine + ".txt")
		done("plan -t net.txt --tables " + engine + ".txt -o plan-" + engine + ".txt")
	}
	// The dump shows other tables from its fourth call on: after the checks of the run and of the case.
	expect.OK(t, os.WriteFile(filepath.Join(dir, "dump"), []byte("#!/bin/sh\necho >> calls\nif [ $(wc -l < calls) -lt 4 ]; then cat sssp.txt; else cat minmax.txt; fi\n"), 0o700))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "moves.yaml"), []byte(`
topology: net.txt
tables: sssp.txt
fabric: {kind: hosts, routes: {kind: loaded, network: net.txt, dump: ./dump}}
event: {fragment: 1kB}
duration: 1h
rounds: 1
control: off
timeout: 60s
cases: [{name: anew, schedule: path-coloring, failover: reorder}]
`), 0o600))
	rows, row, out := replanned(t, dir, "moves.yaml")
	expect.MustTrue(t, len(rows) == 2 && row["down"] == "" && row["first_new_s"] != "", "%v\n%s", rows, out)
	want := string(expect.Value(os.ReadFile(filepath.Join(dir, "plan-minmax.txt")))(t))
	expect.True(t, strings.Contains(want, "# hash "+row["plan_hash"]+"\n"), "the plan is %s, want that of\n%.600s", row["plan_hash"], want)
	expect.Contains(t, out, "tables changed")
}
