package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/internal/expect"
	"evbench/internal/printable"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/report"
	"evbench/results"
	"evbench/results/store"
	"evbench/routing"
	"evbench/scenario"
)

// Sizes and files from outside are bounded before they take memory; the error names
// the flag, or the file, and the bound.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "placed.yaml", "topology: FT(2;2,2)\nfabric: {kind: hosts}\n"+
		"launch: {kind: ssh, hosts: \"n[0-3]\", placement: list}\ncases: [{name: a, schedule: fors}]\n")
	write(t, dir, "long.yaml", "topology: FT(2;8,8)\nfabric: {kind: emulate, rate: 100Gbit/s}\nevent: {fragment: 64B}\ninterval: 10ms\nduration: 24h\n"+
		"rounds: 1000\ncontrol: off\ncases: [{name: a, schedule: fors}]\n")
	write(t, dir, "list", "# text\n")
	if err := os.Truncate("list", 1<<30); err != nil { // takes no room
		t.Fatal(err)
	}
	tree := []string{"-t", "FT(2;2,2)"}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"table", "slowdown", "-t", "FT(2;254,254)"}, "64516 servers"},
		{[]string{"table", "phases", "-t", "FT(2;254,254)"}, "64516 servers"},
		{[]string{"table", "lmc", "-t", "FT(2;254,254)"}, "64516 servers"},
		{[]string{"plan", "-t", "FT(2;254,254)"}, "64516 servers"},
		{[]string{"whatif", "-t", "FT(2;254,254)", "--sample", "1"}, "64516 servers"},
		{append(tree, "routes", "check", "-e", "ftree", "--permutations", "1000000000000"), "--permutations 1000000000000: must be 0..1000000"},
		{append(tree, "routes", "check", "-e", "ftree", "--bisections", "1000000000000"), "--bisections 1000000000000: must be 0..1000000"},
		{append(tree, "routes", "jobs", "1x2", "--placement", "random", "--draws", "1000000000000"), "--draws 1000000000000: must be 1..1000000"},
		{append(tree, "whatif", "--sample", "1000000000000"), "--sample 1000000000000: at most 1000000 sets"},
		{[]string{"validate", "placed.yaml"}, "placement: list: more than "},
		{[]string{"worker", "--token-file", "list", "--controller", "unix:x", "--id", "0"}, "--token-file: list: more than 4096 bytes"},
		{append(tree, "topo", "show", "--roots", "list"), "--roots: list: more than "},
		{append(tree, "routes", "jobs", "/dev/null", "--last", "list"), "--last: list: more than "},
		{[]string{"sim", "long.yaml"}, "takes up to "},
	} {
		args := tt.args
		if args[0] == "-t" {
			args = slices.Concat(args[2:], args[:2])
		}
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"evbench"}, args...), &out, &said)
		if code != exitUsage || out.Len() > 0 || !strings.Contains(said.String(), tt.want) {
			t.Errorf("%v: exit %d, printed %d bytes, said %q; want %q", args, code, out.Len(), said.String(), tt.want)
		}
	}
}

// A command that prints for ever is ended, and named with what it may print.
func TestCommandsAreBounded(t *testing.T) {
	for want, args := range map[string][]string{
		"yes prints more than 67108864 bytes": {"--queue", "true", "--discover", "yes"},
		"sh prints more than 67108864 bytes":  {"--queue", "sh -c yes", "-t", "FT(2;4,8)"},
	} {
		code, out, said := call(t, append([]string{"routes", "jobs"}, args...)...)
		expect.True(t, code == exitUsage && out == "" && strings.Contains(said, want),
			"%v: exit %d, printed %q, said %q; want %q", args, code, out, said, want)
	}
}

// A tree with several cables between a leaf and a spine is planned as what it is, or refused by those
// that do not know such trees; networks have as many as they like.
func TestParallelCables(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const leaf, top = "PGFT(2;4,4;1,4;1,2)", "PGFT(3;2,2,2;1,2,2;1,1,2)"
	const of = "fabric: {kind: %s, rate: 1Gbit/s}\nduration: 100ms\ncases: [{name: a, %s}]\n"
	write(t, dir, "two.yaml", "topology: FT(2;4,4)\ncables: 2\n"+fmt.Sprintf(of, "emulate", "schedule: fors, failures: [leaf0-spine1/0]"))
	write(t, dir, "hosts.yaml", "topology: "+leaf+"\n"+fmt.Sprintf(of, "hosts", "schedule: fors"))
	write(t, dir, "ordered.yaml", "topology: "+leaf+"\n"+fmt.Sprintf(of, "lab", "mode: ordered"))
	write(t, dir, "pods.yaml", "topology: FT(3;2,2,2)\ncables: 2\n"+fmt.Sprintf(of, "lab", "schedule: fors"))
	write(t, dir, "log.txt", "")
	write(t, dir, "sizes.csv", "0,1,5\n")
	const why = leaf + " has 2 cables between a leaf and a spine; "
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"plan", "-t", leaf, "--sizes", "sizes.csv"}, why + "fragments with sizes are planned on trees with one"},
		{[]string{"plan", "-t", leaf, "-s", "fors-closed"}, "needs one cable from a leaf to a spine; " + leaf + " has 2: use fors"},
		{[]string{"plan", "-t", leaf, "--down", "leaf0-spine1/2"}, "--down: no cable \"leaf0-spine1/2\"; " + leaf + " has leaf0..leaf3 and spine0..spine3, and cables /0../1 between each two"},
		{[]string{"plan", "-t", "FT(2;4,4)", "--down", "leaf0-spine1/0"}, "--down: no cable \"leaf0-spine1/0\""},
		{[]string{"plan", "-t", top}, "p3 = 2: plans do not know two cables between a middle switch and a top switch"},
		{[]string{"table", "phases", "-t", leaf}, why + "phases takes trees with one"},
		{[]string{"table", "spraying", "-t", leaf}, why + "spraying takes trees with one"},
		{[]string{"failures", "replay", "-t", leaf, "log"}, why + "replay takes trees with one"},
		{[]string{"run", "hosts.yaml"}, why + "runs on plain hosts know trees with one; take fabric lab or emulate, or evbench sim"},
		{[]string{"validate", "ordered.yaml"}, "cases[0].mode: " + why + "ordered cases are planned on trees with one; take another mode"},
		{[]string{"validate", "pods.yaml"}, "topology: 2 cables between a leaf and a spine: trees of three levels have one"},
		{[]string{"sim", "--log", "log.txt", "two.yaml"}, "topology: " + why[:len("PGFT(2;4,4;1,4;1,2)")] + " has 2 cables between a leaf and a spine; logs are replayed on trees with one"},
	} {
		code, out, said := call(t, tt.args...)
		expect.True(t, code == exitUsage && out == "" && strings.Contains(said, tt.want),
			"%v: exit %d, printed %q, said %q; want %q", tt.args, code, out, said, tt.want)
	}
	for _, args := range [][]string{
		{"plan", "-t", leaf, "--down", "leaf0-spine1/1", "-o", "plan.txt"},
		{"verify", "--bound", "plan.txt"},
		{"diff", "plan.txt", "plan.txt"},
		{"whatif", "-t", leaf, "-k", "1", "--sample", "3"},
		{"validate", "two.yaml"},
		{"sim", "two.yaml", "-o", "sim"},
		{"routes", "install", "plan.txt", "--target", "iproute", "--dir", "ip"},
		{"routes", "install", "plan.txt", "--target", "opensm", "--dir", "opensm"},
		{"topo", "convert", leaf, "--format", "ibnetdiscover", "-o", "net.txt"},
		{"plan", "-t", "net.txt", "--down", "s1_0-s2_1/1", "-o", "found.txt"},
		{"verify", "-t", "net.txt", "--down", "s1_0/8", "found.txt"},
		{"topo", "show", "-t", leaf, "--down", "leaf0-spine1"},
		{"routes", "compute", "-t", leaf, "-e", "opensm-minhop", "-o", "tables.txt"},
		{"routes", "check", "-t", top, "--down", "pod1-spine0-top1", "-e", "opensm-minhop"},
		{"judge", "-t", leaf, "-e", "opensm-minhop", "--result", "40%"},
	} {
		if code, out, said := call(t, args...); code != exitDone {
			t.Errorf("%v: exit %d: %s%s", args, code, out, said)
		}
	}
}

// What is empty in a list, and a size that is none, are named as they were written.
func TestWrongFlagsAreNamed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "token", "secret\n")
	write(t, dir, "clocks.yaml", "topology: FT(2;2,2)\nfabric: {kind: emulate, workers: processes}\ncases: [{schedule: fors}]\n")
	worker := "worker --controller unix:c --token-file token --id 0 --data 127.0.0.1:0 "
	for args, want := range map[string]string{
		"plan -t FT(2;2,2) --down ,":              `--down ",": name 1 is empty; write names with a comma between two`,
		"plan -t FT(2;2,2) --down leaf0-spine1,":  `--down "leaf0-spine1,": name 2 is empty`,
		"plan -t FT(3;2,2,2) --down ,":            `--down ",": name 1 is empty`,
		"topo show -t FT(2;2,2) --down ,":         `--down ",": name 1 is empty`,
		"diff a b --fail-on phases,,paths":        `--fail-on "phases,,paths": name 2 is empty`,
		"whatif -t FT(2;2,2) -s ,":                `--schedule ",": name 1 is empty`,
		"whatif -t FT(2;2,2) -s fors -r pinned,":  `--routing "pinned,": name 2 is empty`,
		worker + "--socket-buffer -5":             "--socket-buffer -5: must be 0..1073741824",
		worker + "--socket-buffer 10000000000000": "--socket-buffer 10000000000000: must be",
		worker + "--wait -5s":                     "--wait -5s: must be 0 or more",
		"validate clocks.yaml":                    "clocks.yaml:2: fabric.workers: links of the fabric emulate are clocks in one process",
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"evbench"}, strings.Fields(args)...), &out, &said)
		if code != exitUsage || out.Len() > 0 || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit %d, printed %q, said %q; want %q", args, code, out.String(), said.String(), want)
		}
	}
}

// hostile moves the cursor, sets colours and the title, hides what comes before it and turns
// the direction of writing.
const hostile = "\x1b[2J\x1b]0;owned\x07\r\u009b\x7f\u202e"

// hostileResults is a run that was never measured, with such texts wherever there are any.
func hostileResults(t *testing.T, name string) string {
	t.Helper()
	m := madeup{
		repeats: 6, cases: []string{"a" + hostile, "b\nevbench: all is well"}, rate: 90e6, spread: 0.005, size: 500_000, plan: hostile,
		rng: rand.New(rand.NewPCG(1, 1)),
	}
	run := m.run()
	run.Summary.Name, run.Summary.Answer = hostile, &results.Answer{Answer: answer.Answer{Sentence: hostile}}
	for i := range run.Summary.Cases {
		c := &run.Summary.Cases[i]
		c.Schedule, c.Routing, c.Mode, c.Verdict = hostile, hostile, hostile, hostile
		c.Warnings, c.Failures = []string{hostile}, []string{hostile}
		c.Failovers = []results.Failover{{ID: 1, Down: []string{strings.ReplaceAll(hostile, "\r", "")}, Source: hostile, Reason: hostile}}
		c.LinkEvents = []results.LinkEvent{{Link: hostile}}
	}
	run.Summary.Cases[0].Warnings[0] += strings.Repeat("x\x1b", 1<<17)
	run.Manifest = results.Manifest{
		Name: name + hostile, Scenario: "name: x" + hostile, Fabric: results.Fabric{Kind: hostile, MTU: len(name)}, Transport: hostile, Host: hostile,
		Hosts: []results.Host{{Host: hostile, CPU: hostile}}, Versions: map[string]string{hostile: hostile}, Warnings: []string{hostile},
		Complete: true,
	}
	dir := filepath.Join(t.TempDir(), name)
	expect.Must(t, store.Save(dir, run))
	return dir
}

// hidden returns what a terminal obeys, and does not show.
func hidden(text []byte) map[rune]bool {
	found := map[rune]bool{}
	for _, r := range string(text) {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			found[r] = true
		}
	}
	return found
}

// Whatever texts results have, nothing is printed that a terminal obeys, nor endlessly.
func TestHostileResults(t *testing.T) {
	base, next := hostileResults(t, "base"), hostileResults(t, "next-one")
	page := filepath.Join(t.TempDir(), "report.html")
	for _, args := range [][]string{
		{"report", base, next, "-o", page},
		{"compare", "--force", base, next},
		{"compare", "--force", "--format", "csv", base, next},
		{"compare", "--force", "--json", base, next},
		{"compare", "--force", "--fail-if", "events_per_s < -3%", base, next},
		{"plot", "efficiency", base},
		{"plot", "throughput", "--case", hostile, base},
		{"sim", hostile},
		{hostile + "\x9b31m"},
		{"sim", strings.Repeat("x", 1<<20)},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"evbench"}, args...), &out, &said)
		expect.False(t, code == exitUsage && slices.Contains(args, base) && !slices.Contains(args, "--case") || code == exitFailed,
			"%q: ended with %d: %.500q", args, code, said.String())
		for _, text := range [][]byte{out.Bytes(), said.Bytes()} {
			if found := hidden(text); len(found) > 0 {
				t.Errorf("%q printed %q", args, slices.Sorted(maps.Keys(found)))
			}
			expect.True(t, len(text) <= 1<<17, "%q printed %d bytes", args, len(text))
		}
	}
	text := expect.Value(os.ReadFile(page))(t)
	if found := hidden(text); len(found) > 0 || len(text) > 1<<19 {
		t.Errorf("the page has %d bytes, and %q", len(text), slices.Sorted(maps.Keys(found)))
	}
}

// Our own colours come through, and a terminal is known as one.
func TestColoursComeThrough(t *testing.T) {
	var out bytes.Buffer
	w := &printable.Writer{To: &out, Pass: report.Colours()}
	s := results.Summary{Complete: true, Cases: []results.Case{{Name: "a" + hostile, Complete: true, Reasons: []string{strings.Repeat("x", 1<<20)}}}}
	if err := report.Table(w, s, report.Options{Colour: true}); err != nil || !strings.Contains(out.String(), "\x1b[31mWRONG\x1b[0m") || out.Len() > 2*printable.Most {
		t.Errorf("%v: %d bytes, %.1000q", err, out.Len(), out.String())
	}
	f := expect.Value(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer f.Close()
	on, ok := terminal(&printable.Writer{To: f})
	expect.True(t, ok && on == f, "a terminal is not known as one")
	t.Setenv("OMPI_COMM_WORLD_RANK", "0")
	_, ok = terminal(f)
	expect.False(t, ok, "a rank of mpirun takes the terminal between them for that of the user")
}

// A table keeps one line for each case, whatever cases are called.
func TestHostileNamesKeepTheirLine(t *testing.T) {
	base := hostileResults(t, "base")
	var out, said bytes.Buffer
	run(t.Context(), []string{"evbench", "compare", "--force", base, base}, &out, &said)
	for line := range strings.Lines(out.String()) {
		expect.True(t, !strings.HasPrefix(line, "evbench:"), "a name has become a line of its own:\n%s", out.String())
	}
}

// The planner, the judge and the scenarios each have a list of routings of their
// own, and accept the same. A scenario needs routes, so it knows no "none".
func TestRoutingsAgree(t *testing.T) {
	planned := slices.Sorted(slices.Values(plan.Routings()))
	_, err := verify.Read(strings.NewReader("# evbench plan 1\n# topology FT(2;2,2)\n# schedule x\n# routing magic\n"))
	expect.MustTrue(t, err != nil, "the judge knows a routing magic")
	_, list, _ := strings.Cut(err.Error(), "there are ")
	expect.True(t, slices.Equal(slices.Sorted(slices.Values(strings.Split(list, ", "))), planned), "the judge: %v, want %v", err, planned)
	expect.Equal(t, slices.Sorted(slices.Values(append(scenario.Routings(), plan.NoRouting))), planned, "scenarios")
	last := scenario.Routings()[len(scenario.Routings())-1]
	expect.True(t, last == routing.Pinned, "the last routing of scenarios is %s; texts leave it out as pinned", last)
}

// The judge reads a plan of each routing that it lists.
func TestJudgeReadsEveryRouting(t *testing.T) {
	for _, name := range plan.Routings() {
		_, err := verify.Read(strings.NewReader("# evbench plan 1\n# topology FT(2;2,2)\n# schedule x\n# routing " + name + "\n0 0 1 -\n"))
		expect.OK(t, err, "%s", name)
	}
}
