package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/evidence/tool"
	"evbench/internal/answer"
	"evbench/internal/programs"
	"evbench/results"
	"evbench/testing/expect"
)

// fakeAs has the test binary be the program that is run, and says what it does.
const fakeAs = "NOISE_TEST_FAKE"

// TestMain lets the test binary be what is run.
func TestMain(m *testing.M) {
	if how := os.Getenv(fakeAs); how != "" {
		os.Exit(fake(how, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fake is evbench run: it writes results at once ("good", "unresolved"), refuses ("usage"),
// is killed ("crash"), waits until it has been continued three times ("continued"), or calls the
// socket that follows "call:" and waits until it is told to end.
func fake(how string, args []string) int {
	call, calls := strings.CutPrefix(how, "call:")
	switch {
	case how == "usage":
		fmt.Fprintln(os.Stderr, "evbench: no such option:", args)
		return programs.ExitUsage
	case args[0] == "compare":
		return fakeCompare(how, args[len(args)-1])
	case how == "crash":
		fmt.Fprintln(os.Stderr, "first words\nlast words")
		return programs.ExitFailed
	case how == "continued":
		c := make(chan os.Signal, 16)
		signal.Notify(c, syscall.SIGCONT)
		for range 3 {
			<-c
		}
	case calls:
		return hang(call)
	}
	if err := write(args[slices.Index(args, "-o")+1], how == "unresolved"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return programs.ExitFailed
	}
	if how == "unresolved" {
		return 4
	}
	return programs.ExitDone
}

// fakeCompare finds the dead link of a new run, or says the contrary where it is "wrong".
func fakeCompare(how, run string) int {
	scenario, err := os.ReadFile(run + ".yaml")
	verdict := answer.Good
	if bytes.Contains(scenario, []byte("leaf0-spine0")) != (how == "wrong") {
		verdict = answer.Bad
	}
	if err != nil {
		return programs.ExitFailed
	}
	fmt.Printf("{\"answer\": {\"verdict\": %q, \"sentence\": \"said\"}}\n", verdict)
	return programs.ExitDone
}

func hang(socket string) int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	if c, err := net.Dial("unix", socket); err == nil {
		fmt.Fprintf(c, "%d %s\n", os.Getpid(), os.Getenv("TMPDIR"))
		c.Close()
	}
	<-told
	return programs.ExitInterrupted
}

// write writes a summary whose figures are those that are predicted.
func write(dir string, open bool) error {
	s := results.Summary{Complete: true, Answer: &results.Answer{Cases: []string{"linear shift", "FORS"}}}
	for i, predicted := range []float64{1, 0.577, 0.9375} {
		c := results.Case{
			Name: []string{"healthy", "linear shift", "FORS"}[i], Mode: "synchronised", Control: i == 0, Assessment: results.Assessment{Compared: i > 0, Verdict: results.Resolved, Rounds: 6, Rejected: i,
				Estimate: &results.Estimate{Of: results.OfRatio, Interval: results.NewInterval(slices.Repeat([]float64{predicted}, 6))}},
			Valid: true,
			Rates: results.Rates{PredictedRatio: predicted, RatioToControl: predicted}}
		if open {
			c.Verdict = results.Unresolved
		}
		s.Cases = append(s.Cases, c)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "summary.json"))
	if err != nil {
		return err
	}
	return errors.Join(s.Write(f), f.Close())
}

// disturbed runs noise with a fake in a directory for temporary files of its own, which
// has to be empty afterwards.
func disturbed(t *testing.T, ctx context.Context, how string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self := expect.Value(os.Executable())(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv(fakeAs, how)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"--evbench", self, "--scenario", self}, args...), &out, &errs)
	left, err := os.ReadDir(dir)
	expect.True(t, err == nil && len(left) == 0, "left behind: %v, %v", left, err)
	return code, out.String(), errs.String()
}

func TestAllConditions(t *testing.T) {
	code, stdout, stderr := disturbed(t, t.Context(), "good", "--runs", "2", "--json")
	var d document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != programs.ExitDone {
		t.Fatalf("ended with %d, %v: %s\n%s", code, err, stdout, stderr)
	}
	var order []string
	for _, r := range d.Runs {
		order = append(order, fmt.Sprint(r.Condition, r.Number))
	}
	want := strings.Fields("idle1 loops1 freeze1 both1 idle2 loops2 freeze2 both2")
	expect.True(t, slices.Equal(order, want), "runs %v, want %v", order, want)
	expect.True(t, d.Schema == schema && d.Passed && d.All.Answered == 8 && d.All.Held == 16 && d.All.Rejected == 24 && len(d.Rows) == 4, "%+v", d)
	n := strings.Count(stderr, "\n")
	expect.True(t, n == 8, "%d lines of progress, want a line a run:\n%s", n, stderr)
}

func TestNotAnswered(t *testing.T) {
	for _, tt := range []struct {
		how  string
		code int
		want string
	}{
		{"unresolved", programs.ExitFailed, "FAILED: idle, run 1: exit code 4: unresolved: linear shift, FORS"},
		{"crash", programs.ExitFailed, "FAILED: idle, run 1: no results, exit code 1: last words"},
		{"usage", programs.ExitUsage, "run: evbench: no such option: [run --quiet -o"},
	} {
		code, stdout, stderr := disturbed(t, t.Context(), tt.how, "--runs", "1", "--conditions", "idle")
		expect.True(t, code == tt.code && strings.Contains(stdout+stderr, tt.want),
			"%s: ended with %d, want %d and %q:\n%s%s", tt.how, code, tt.code, tt.want, stdout, stderr)
	}
}

func TestPairs(t *testing.T) {
	for how, want := range map[string]string{"good": "loops: 0 of 2 pairs called worse|found in 2 of 2 pairs", "wrong": "loops: 2 of 2 pairs called worse|found in 0 of 2 pairs"} {
		code, stdout, stderr := disturbed(t, t.Context(), how, "--pairs", "2")
		worse, found, _ := strings.Cut(want, "|")
		expect.True(t, (code == programs.ExitDone) == (how == "good") && strings.Contains(stdout, worse) && strings.Contains(stdout, found) && strings.Count(stderr, "\n") == 4,
			"%s: ended with %d\n%s%s", how, code, stdout, stderr)
	}
	code, stdout, _ := disturbed(t, t.Context(), "good", "--pairs", "1", "--json")
	expect.True(t, code == programs.ExitDone && strings.Contains(stdout, `"passed":true`) && strings.Contains(stdout, `"lossy":true,"question":"","verdict":"BAD","sentence":"said"`), "%d %s", code, stdout)
	code, _, stderr := disturbed(t, t.Context(), "crash", "--pairs", "1")
	expect.True(t, code == programs.ExitFailed && strings.Contains(stderr, "evbench run ended with 1: last words"), "%d %s", code, stderr)
}

// The program that is run is stopped and goes on, again and again, until it has ended.
func TestFrozenRun(t *testing.T) {
	code, stdout, stderr := disturbed(t, t.Context(), "continued", "--runs", "1", "--conditions", "freeze", "--json")
	var d document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != programs.ExitDone {
		t.Fatalf("ended with %d, %v: %s\n%s", code, err, stdout, stderr)
	}
	r := d.Runs[0]
	expect.True(t, r.Stops >= 3 && r.StoppedSec > 0 && r.StoppedSec < r.Seconds, "%+v", r.Outcome)
}

// The kernel confirms every stop and every continuation. In the end nothing is stopped,
// though the freezer is told to end while the group is.
func TestFreezer(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	g := expect.Value(start(tool.BusyLoop(t.Context(), t.TempDir())))(t)
	defer g.end()
	var seen []syscall.Signal
	f := freezer{rng: rand.New(rand.NewPCG(1, 0)), signal: func(s syscall.Signal) error {
		seen = append(seen, s)
		if err := g.signal(s); err != nil {
			return err
		}
		if s == syscall.SIGSTOP && len(seen) == 5 {
			end()
		}
		return changed(g.cmd.Process.Pid, map[syscall.Signal]int{syscall.SIGSTOP: unix.WSTOPPED, syscall.SIGCONT: unix.WCONTINUED}[s])
	}}
	f.run(ctx)
	want := slices.Repeat([]syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT}, 3)
	expect.True(t, slices.Equal(seen, want) && f.stops == 3 && f.stopped > 0, "signals %v, want %v; %d stops, %s", seen, want, f.stops, f.stopped)
}

// changed waits until the kernel says that a child has changed its state.
func changed(pid, state int) error {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, state, nil); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Who interrupts it ends what it has started and nothing else, while all of it runs.
func TestInterrupted(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l := expect.Value(net.Listen("unix", socket))(t)
	defer l.Close()
	other, err := start(tool.BusyLoop(t.Context(), t.TempDir()))
	expect.Must(t, err)
	defer other.end()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var pid int
	var dir string
	called := make(chan error, 1)
	go func() {
		defer stop()
		c, err := l.Accept()
		if err == nil {
			_, err = fmt.Fscan(c, &pid, &dir)
			c.Close()
		}
		called <- err
	}()
	code, stdout, stderr := disturbed(t, ctx, "call:"+socket, "--runs", "1", "--conditions", "both")
	expect.Must(t, <-called)
	expect.True(t, code == programs.ExitInterrupted && stdout == "" && strings.HasSuffix(stderr, "noise: interrupted\n"),
		"ended with %d: %s%s", code, stdout, stderr)
	expect.Is(t, syscall.Kill(-pid, 0), syscall.ESRCH)
	var info unix.Siginfo // stays zero while the process runs
	err = unix.Waitid(unix.P_PID, other.cmd.Process.Pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	expect.True(t, err == nil && info.Signo == 0, "another loop has ended or is stopped: signal %d, code %d, %v", info.Signo, info.Code, err)
	other.end()
	expect.Is(t, expect.Err(unix.Wait4(-1, nil, unix.WNOHANG, nil)), unix.ECHILD)
}

func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--runs 0", "--runs 0: must be 1 to 1000"},
		{"--conditions idle,busy", `--conditions: no condition "busy"; there are ["idle" "loops" "freeze" "both"]`},
		{"--scenario /nowhere", "--scenario: stat /nowhere"},
		{"--evbench /nowhere", "make build makes it"},
		{"--pairs -1", "--pairs -1: must be 0 to 1000"},
		{"more", `unexpected argument "more"`},
		{"--runs x", "invalid value"},
	} {
		code, _, said := disturbed(t, t.Context(), "good", strings.Fields(tt.args)...)
		expect.True(t, code == programs.ExitUsage && strings.Contains(said, tt.want), "%s: ended with %d: %s", tt.args, code, said)
	}
}

// The commands of docs/evidence/results.md are understood, as the Makefile hands them on.
func TestDocumentedCommands(t *testing.T) {
	t.Chdir("../..")
	doc := expect.Value(os.ReadFile("docs/evidence/results.md"))(t)
	self := expect.Value(os.Executable())(t)
	all := regexp.MustCompile(`(?m)^make .*NOISE=('[^']*'|\S*)`).FindAllStringSubmatch(string(doc), -1)
	expect.True(t, len(all) != 0, "no commands")
	for _, m := range all {
		args := strings.Fields(strings.ReplaceAll(strings.Trim(m[1], "'"), "SCENARIO", "scenarios/quickstart.yaml"))
		if _, err := parse(append([]string{"--evbench", self}, args...), t.Output()); err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
	}
}
