package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evbench/internal/programs"
	"evbench/testing/expect"
)

// evbench is the binary that soaks run.
var evbench string

func TestMain(m *testing.M) { os.Exit(withBinary(m)) }

func withBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "soak-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	evbench = filepath.Join(dir, "evbench")
	args := []string{"build", "-C", "../..", "-o", evbench}
	if raced() {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "./cmd/evbench")...).CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

// raced reports whether the race detector watches this test, and then evbench, too.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// soaked runs soak in a directory for temporary files of its own, which has to be empty
// afterwards but for the log.
func soaked(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"--evbench", evbench, "--log", filepath.Join(dir, "log")}, args...), &out, &errs)
	entries := expect.Value(os.ReadDir(dir))(t)
	for _, e := range entries {
		expect.Equal(t, e.Name(), "log", "left behind")
	}
	return code, out.String(), errs.String()
}

// sound runs a soak and returns what it printed, which must tell of no anomaly but those
// that a machine without time for it may cause.
func sound(t *testing.T, args ...string) document {
	t.Helper()
	code, stdout, stderr := soaked(t, append(args, "--json")...)
	var d document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v: %s\n%s", err, stdout, stderr)
	}
	wrong := code != programs.ExitDone && (code != programs.ExitFailed || d.Anomalies == 0)
	for _, r := range d.Rounds {
		for _, f := range r.Findings {
			wrong = wrong || f.Anomaly() && !f.Slow
		}
	}
	expect.True(t, !wrong, "ended with %d:\n%s\n%s", code, stderr, stdout)
	return d
}

// A short soak: the long round, and others while there is time. With seed 2 links flap so fast
// under fors that new plans are begun before the last has been computed.
func TestSoak(t *testing.T) {
	for _, tt := range []struct {
		policy string
		args   []string
	}{
		{"fors+hold", []string{"--seed", "7"}},
		{"fors", []string{"--seed", "2", "--round", "1"}},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			d := sound(t, append(tt.args, "--minutes", "0.2")...)
			expect.MustTrue(t, len(d.Rounds) != 0 && d.Rounds[0].Kind == Long && d.Rounds[0].Policy == tt.policy, "rounds: %+v", d.Rounds)
			r := d.Rounds[0]
			expect.True(t, r.LinkEvents >= 50 && r.Built != 0 && r.Last != nil && r.Last.Descriptors != 0 && r.Last.Namespaces != 0,
				"the long round: %+v", r)
		})
	}
}

// One round of each kind that strikes a process, a connection, a link or the control port.
func TestStrikes(t *testing.T) {
	for _, kind := range []Kind{KillWorker, KillController, Cut, Severed, Strangers} {
		t.Run(string(kind), func(t *testing.T) {
			round := Plan{Seed: 7}.Next(1, func(k Kind) bool { return k == kind })
			d := sound(t, "--seed", "7", "--round", strconv.Itoa(round))
			expect.True(t, len(d.Rounds) == 1 && d.LinkEvents == 0, "%+v", d)
		})
	}
}

// Who interrupts a soak in the middle of a round leaves nothing behind.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, stop := context.WithCancel(t.Context())
	var begun sync.WaitGroup
	defer begun.Wait()
	begun.Go(func() {
		defer stop()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range tick.C { // until there are results, which is when all workers have joined
			if found, _ := filepath.Glob(filepath.Join(dir, "soak-*", resultsDir)); len(found) > 0 || t.Context().Err() != nil {
				return
			}
		}
	})
	var errs bytes.Buffer
	code := run(ctx, []string{"--evbench", evbench, "--log", filepath.Join(dir, "log"), "--seed", "7", "--minutes", "0.2"}, &bytes.Buffer{}, &errs)
	expect.True(t, code == programs.ExitInterrupted, "ended with %d:\n%s", code, errs.String())
	entries, err := os.ReadDir(dir)
	expect.True(t, err == nil && len(entries) == 1, "left behind: %v, %v", entries, err)
	left := running(dir)
	expect.True(t, len(left) == 0, "still there: %v", left)
}

// running lists the processes that work in a directory.
func running(dir string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, name := range all {
		if to, _ := os.Readlink(name); strings.HasPrefix(to, dir) {
			pids = append(pids, name)
		}
	}
	return pids
}

func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--minutes 0", "--minutes 0: must be 0.1 to 10080"},
		{"--round -1", "rounds count from 1"},
		{"--show", "of which --round?"},
		{"more", `unexpected argument "more"`},
		{"--seed x", "invalid value"},
		{"--only nothing", "matches none of"},
		{"--evbench /nowhere", "make build makes it"},
	} {
		code, _, said := soaked(t, strings.Fields(tt.args)...)
		expect.True(t, code == programs.ExitUsage && strings.Contains(said, tt.want), "%s: ended with %d: %s", tt.args, code, said)
	}
}

// --show prints what a round plays.
func TestShow(t *testing.T) {
	code, out, said := soaked(t, "--seed", "7", "--round", "1", "--show")
	expect.True(t, code == programs.ExitDone && out == (Plan{Seed: 7, Length: 600e9}).Round(1).YAML(), "ended with %d: %s%s", code, out, said)
}

// What is not explained leads to exit code 1, and to the command that repeats the round.
func TestTableOfAnomalies(t *testing.T) {
	o := &options{seed: 7, minutes: 3}
	x := outcome{Round: 12, Kind: Links, Seed: 7, LinkEvents: 100, Findings: []Finding{
		{What: "2 events lost"}, {What: "busy", Why: "2 busy loops beside"},
	}}
	x.Repeat = o.repeat(x.Round)
	var out strings.Builder
	expect.Must(t, show(&out, o, []outcome{x}))
	for _, want := range []string{"1 ANOMALIES", "round 12: ANOMALY: 2 events lost", "bin/soak --minutes 3 --seed 7 --round 12", "100 link events, 1 anomalies"} {
		expect.Contains(t, out.String(), want)
	}
}

// The commands of docs/evidence/results.md are understood.
func TestDocumentedCommands(t *testing.T) {
	doc := expect.Value(os.ReadFile("../../docs/evidence/results.md"))(t)
	found := 0
	for line := range strings.Lines(string(doc)) {
		if !strings.HasPrefix(line, "bin/soak ") {
			continue
		}
		found++
		command, _, _ := strings.Cut(line, "#")
		args := strings.Fields(strings.ReplaceAll(command, "'", ""))[1:]
		expect.OK(t, expect.Err(parse(append(args, "--evbench", evbench), t.Output())), "%s", line)
	}
	expect.True(t, found != 0, "no commands")
}
