package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"evbench/builder/modes"
	"evbench/evidence/tool"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/programs"
	"evbench/results"
)

// A runner runs the scenario in a directory of its own.
type runner struct {
	*options
	dir string
	rng *rand.Rand
}

// play runs the scenario once under a condition. It always removes all traces of the run.
func (m *runner) play(ctx context.Context, c Condition, number int) (r Run, err error) {
	dir, err := os.MkdirTemp(m.dir, "run-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := Outcome{Condition: c, Number: number}
	out := filepath.Join(dir, "out")
	if err := m.perform(ctx, &o, dir, append(append([]string{"-o", out}, m.further...), m.scenario)); err != nil {
		return r, err
	}
	sum, err := readSummary(out)
	if err != nil {
		o.Said = err.Error()
	}
	return NewRun(o, sum), nil
}

// loops is how many busy loops run beside, if a condition has them.
const loops = 4

// perform runs evbench run with these arguments under the condition of the outcome, and records the
// result.
func (m *runner) perform(ctx context.Context, o *Outcome, dir string, args []string) error {
	for i := 0; o.Condition.Loops() && i < loops; i++ {
		g, err := start(tool.BusyLoop(ctx, dir))
		if err != nil {
			return err
		}
		defer g.end()
	}
	began := time.Now()
	g, err := start(programs.Command(ctx, dir, m.evbench, append([]string{"run", "--quiet"}, args...)...))
	if err != nil {
		return err
	}
	freezing, thaw := context.WithCancel(ctx)
	var beside sync.WaitGroup
	if o.Condition.Freezes() {
		beside.Go(func() {
			f := freezer{rng: m.rng, signal: g.signal}
			f.run(freezing)
			o.Stops, o.StoppedSec = f.stops, f.stopped.Seconds()
		})
	}
	g.wait()
	o.Seconds = time.Since(began).Seconds()
	thaw()
	beside.Wait()
	o.ExitCode = g.end()
	o.Said = lastLine(g.said.String())
	if o.ExitCode == programs.ExitUsage {
		return proc.Usagef("%s run: %s", filepath.Base(m.evbench), o.Said)
	}
	return nil
}

// readSummary reads the summary of a run, nil if there is none.
func readSummary(dir string) (*results.Summary, error) {
	f, err := os.Open(filepath.Join(dir, "summary.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	sum, err := results.ReadSummary(f)
	if err != nil {
		return nil, fmt.Errorf("summary.json: %w", err)
	}
	return &sum, nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}

// A group is a program started as the leader of a process group of its own.
type group struct {
	cmd  *exec.Cmd
	said proc.Tail // the end of its standard error
}

// start starts a programs.Command; the caller must call end.
func start(cmd *exec.Cmd) (*group, error) {
	g := &group{cmd: cmd}
	g.cmd.Stderr = &g.said
	return g, g.cmd.Start()
}

// signal sends a signal to all processes of the group. Do not call it after end, when the number
// may belong to another group.
func (g *group) signal(s syscall.Signal) error { return syscall.Kill(-g.cmd.Process.Pid, s) }

// wait waits until the leader has ended. Its number stays in use.
func (g *group) wait() {
	for errors.Is(unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// end kills the rest of the group and returns the exit code of its leader: -1 for a signal.
func (g *group) end() int {
	g.signal(syscall.SIGKILL) // an error means that nothing is left
	g.cmd.Wait()              // ProcessState has the result
	return g.cmd.ProcessState.ExitCode()
}

const (
	// pauseBelow is the longest time between two stops of a freezer, drawn anew each time.
	pauseBelow = 40 * time.Millisecond
	// frozen is how long it stops the program: a third of the time in the mean.
	frozen = 10 * time.Millisecond
)

// A freezer stops and continues a process group, at random moments.
type freezer struct {
	rng     *rand.Rand
	signal  func(syscall.Signal) error
	stops   int
	stopped time.Duration
}

// run does so until ctx ends. It never leaves the group stopped.
func (f *freezer) run(ctx context.Context) {
	for proc.Pause(ctx, time.Duration(f.rng.Int64N(int64(pauseBelow)))) {
		if f.signal(syscall.SIGSTOP) != nil {
			return // the group has ended
		}
		began := time.Now()
		proc.Pause(ctx, frozen)
		f.signal(syscall.SIGCONT)
		f.stops++
		f.stopped += time.Since(began)
	}
}

// A Condition is the disturbance of a run.
type Condition string

// The conditions. A busy loop keeps a processor busy; a freezer stops the program at random.
const (
	Idle   Condition = "idle"
	Loops  Condition = "loops"
	Freeze Condition = "freeze"
	Both   Condition = "both"
)

func Conditions() []Condition { return []Condition{Idle, Loops, Freeze, Both} }

// Loops reports whether busy loops run.
func (c Condition) Loops() bool { return c == Loops || c == Both }

// Freezes reports whether a freezer runs.
func (c Condition) Freezes() bool { return c == Freeze || c == Both }

type Outcome struct {
	Condition  Condition `json:"condition"`
	Number     int       `json:"run"` // within its condition, from 1
	ExitCode   int       `json:"exit_code"`
	Seconds    float64   `json:"seconds"`
	Stops      int       `json:"stops"` // by the freezer
	StoppedSec float64   `json:"stopped_s"`
	Said       string    `json:"-"` // its last output
}

// A Run is an outcome with its results.
type Run struct {
	Outcome
	Answered bool           `json:"answered"`
	Reasons  []string       `json:"reasons"` // why it is not answered
	Answer   string         `json:"answer,omitempty"`
	Cases    []results.Case `json:"cases"`
}

// NewRun judges a run. sum is its summary, nil if it wrote none.
func NewRun(o Outcome, sum *results.Summary) Run {
	r := Run{Outcome: o, Reasons: []string{}, Cases: []results.Case{}}
	if sum == nil {
		r.Reasons = append(r.Reasons, fmt.Sprintf("no results, exit code %d: %s", o.ExitCode, o.Said))
		return r
	}
	if o.ExitCode != 0 {
		r.Reasons = append(r.Reasons, fmt.Sprintf("exit code %d: %s", o.ExitCode, because(o, *sum)))
	}
	var compared []string
	if sum.Answer != nil {
		r.Answer, compared = sum.Answer.Sentence, sum.Answer.Cases
	}
	r.Cases = append(r.Cases, sum.Cases...)
	if why := disorder(r.Cases, compared); why != "" {
		r.Reasons = append(r.Reasons, why)
	}
	r.Answered = len(r.Reasons) == 0
	return r
}

// exitNoAnswer is evbench's exit code for a measurement without an answer.
const exitNoAnswer = 4

// because lists the faults of the cases of a run that has ended, or its last output if it has not
// completed.
func because(o Outcome, sum results.Summary) string {
	if o.ExitCode != exitNoAnswer {
		return o.Said
	}
	var out []string
	for _, c := range sum.Cases {
		if !c.Valid {
			out = append(out, c.Name+" is invalid ("+strings.Join(c.Reasons, "; ")+")")
		}
	}
	if open := unresolved(sum.Cases); len(open) > 0 {
		out = append(out, "unresolved: "+strings.Join(open, ", "))
	}
	if len(out) == 0 {
		return o.Said
	}
	return strings.Join(out, "; ")
}

// unresolved names the compared cases without an order.
func unresolved(cases []results.Case) []string {
	open := lists.Filter(cases, func(c results.Case) bool { return c.Compared && c.Verdict == results.Unresolved })
	return lists.Map(open, func(c results.Case) string { return c.Name })
}

const same = 1e-6

// disorder describes deviations from the predicted order of the compared cases; "": none.
func disorder(cases []results.Case, compared []string) string {
	var all []results.Case
	for _, name := range compared {
		i := slices.IndexFunc(cases, func(c results.Case) bool { return c.Name == name })
		if i < 0 || cases[i].RatioToControl == 0 {
			return name + " was not measured"
		}
		if cases[i].PredictedRatio == 0 {
			return "nothing is predicted for " + name
		}
		all = append(all, cases[i])
	}
	if len(all) == 0 {
		return "nothing is compared"
	}
	for _, a := range all {
		for _, b := range all {
			if a.PredictedRatio+same < b.PredictedRatio && a.RatioToControl >= b.RatioToControl {
				return fmt.Sprintf("wrong order: %s %.3f, %s %.3f; predicted %.3f, %.3f", a.Name, a.RatioToControl, b.Name, b.RatioToControl, a.PredictedRatio, b.PredictedRatio)
			}
		}
	}
	return ""
}

// judged reports whether the ratio can be compared with its prediction. For cases without phases
// the prediction is only an upper bound.
func judged(c results.Case) bool {
	return c.Mode == modes.Sync && !c.Control && c.PredictedRatio > 0 && c.RatioToControl > 0
}

func off(c results.Case) float64 { return 100 * math.Abs(c.RatioToControl-c.PredictedRatio) }

// String is the line about the run at its end.
func (r Run) String() string {
	text := fmt.Sprintf("%s: answered in %.0f s", r.Condition, r.Seconds)
	if !r.Answered {
		text = fmt.Sprintf("%s: not answered in %.0f s: %s", r.Condition, r.Seconds, brief(strings.Join(r.Reasons, "; ")))
	}
	sep := "; "
	for _, c := range r.Cases {
		if judged(c) {
			text += fmt.Sprintf("%s%s %.3f (predicted %.3f)", sep, c.Name, c.RatioToControl, c.PredictedRatio)
			sep = ", "
		}
	}
	return text
}
