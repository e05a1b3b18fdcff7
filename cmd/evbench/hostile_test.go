package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/report"
	"evbench/results"
	"evbench/results/store"
	"evbench/routing"
	"evbench/scenario"
	"evbench/scheduler/judge"
	"evbench/testing/expect"
)

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
	w := &show.Writer{To: &out}
	s := results.Summary{Complete: true, Cases: []results.Case{{Name: "a" + hostile, Complete: true, Reasons: []string{strings.Repeat("x", 1<<20)}}}}
	if err := report.Table(w, s, report.Options{Colour: true}); err != nil || !strings.Contains(out.String(), "\x1b[31mWRONG\x1b[0m") || out.Len() > 2*show.Most {
		t.Errorf("%v: %d bytes, %.1000q", err, out.Len(), out.String())
	}
	f := expect.Value(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer f.Close()
	on, ok := terminal(&show.Writer{To: f})
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
	planned := slices.Sorted(slices.Values(plan.Routings(known.Engines)))
	_, err := judge.Read(strings.NewReader("# evbench plan 1\n# topology FT(2;2,2)\n# schedule x\n# routing magic\n"))
	expect.MustTrue(t, err != nil, "the judge knows a routing magic")
	_, list, _ := strings.Cut(err.Error(), "there are ")
	expect.True(t, slices.Equal(slices.Sorted(slices.Values(strings.Split(list, ", "))), planned), "the judge: %v, want %v", err, planned)
	ofTrees := lists.Filter(known.Routings(), func(name string) bool { return name != scenario.Ports }) // a run makes plans of it itself
	expect.Equal(t, slices.Sorted(slices.Values(append(ofTrees, plan.NoRouting))), planned, "scenarios")
	last := known.Routings()[len(known.Routings())-1]
	expect.True(t, last == routing.Pinned, "the last routing of scenarios is %s; texts leave it out as pinned", last)
}

// The judge reads a plan of each routing that it lists.
func TestJudgeReadsEveryRouting(t *testing.T) {
	for _, name := range plan.Routings(known.Engines) {
		_, err := judge.Read(strings.NewReader("# evbench plan 1\n# topology FT(2;2,2)\n# schedule x\n# routing " + name + "\n0 0 1 -\n"))
		expect.OK(t, err, "%s", name)
	}
}
