package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"evbench/evidence/tool"
	"evbench/internal/programs"
	"evbench/results"
	"evbench/results/store"
	"evbench/site/host"
)

// Names of files of a round.
const (
	scenarioFile = "soak.yaml"
	tokenFile    = "token"
	resultsDir   = "out"
	socketFile   = "control"
)

// A stage is one round under way: a directory of its own, and a mark by which all its processes can
// be found.
type stage struct {
	dir     string
	mark    string // in the environment
	evbench string
	s       *Script
	main    *program   // evbench run or controller
	work    []*program // workers started by the soak, by rank
	all     []*program // including busy loops
	seen    Seen
	hit     time.Time // when a process was killed or a connection cut
}

// play runs one round and judges it. It always removes all traces of the round.
func play(ctx context.Context, o *options, s *Script) (out outcome, seen Seen, err error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return out, seen, err
	}
	ctx, stop := context.WithCancel(ctx)
	g := &stage{dir: dir, mark: "EVBENCH_SOAK=" + filepath.Base(dir), evbench: o.evbench, s: s, seen: Seen{Race: o.race}}
	defer func() {
		stop()
		g.sweep()
		g.gone(time.Now(), programs.Patience)
		err = errors.Join(err, os.RemoveAll(dir))
		for _, p := range g.all {
			<-p.done
		}
	}()
	before, began, load := readPlace(), time.Now(), host.Watch()
	if err := g.write(scenarioFile, s.YAML()); err != nil {
		return out, seen, err
	}
	if err := s.Kind.rule().play(g, ctx); err != nil {
		return out, seen, err
	}
	<-g.main.done
	g.end(before, load)
	out = g.outcome(time.Since(began))
	out.Findings = Judge(s, g.seen)
	out.Accused, out.Falsely = accused(s, g.seen.Said)
	if out.anomalies() > 0 {
		out.Repeat = o.repeat(s.Round)
	}
	return out, g.seen, nil
}

func (g *stage) begin(ctx context.Context, args ...string) (*program, error) {
	return g.add(programs.Command(ctx, g.dir, g.evbench, args...))
}

// add starts a program of the round.
func (g *stage) add(cmd *exec.Cmd) (*program, error) {
	p, err := g.start(cmd)
	if err == nil {
		g.all = append(g.all, p)
	}
	return p, err
}

func (g *stage) beginRun(ctx context.Context) (err error) {
	g.main, err = g.begin(ctx, "run", "-v", scenarioFile, "-o", resultsDir)
	return err
}

// links lets the scenario run, which may take links down by itself, and disturbs it.
func (g *stage) links(ctx context.Context) error {
	hogs, stop := context.WithCancel(ctx)
	defer stop()
	for range g.s.Hogs {
		if _, err := g.add(tool.BusyLoop(hogs, g.dir)); err != nil {
			return err
		}
	}
	if err := g.beginRun(ctx); err != nil {
		return err
	}
	var beside sync.WaitGroup
	beside.Go(g.sample)
	beside.Go(g.stops)
	beside.Go(g.pulse)
	beside.Go(func() { g.strikes(ctx) })
	beside.Wait()
	return nil
}

// sample reads the resources of the program every second, while it measures.
func (g *stage) sample() {
	since, ok := g.main.measures()
	for i := 1; ok && g.main.until(since.Add(time.Duration(i)*time.Second)); i++ {
		if u, alive := usage(g.holder(g.main)); alive {
			g.seen.Usage = append(g.seen.Usage, u)
		}
	}
}

// stops stops the program with its process group, as Ctrl-Z does, and continues it.
func (g *stage) stops() {
	since, ok := g.main.measures()
	for _, s := range g.s.Stops {
		if !ok || !g.main.until(since.Add(s.At)) || g.main.signalGroup(syscall.SIGSTOP) != nil {
			return
		}
		g.main.until(time.Now().Add(s.For))
		if g.main.signalGroup(syscall.SIGCONT) != nil {
			return
		}
	}
}

// end waits until everything has ended and checks the rest.
func (g *stage) end(before place, load func() results.Load) {
	since := cmp.Or(g.hit, time.Now())
	for _, p := range g.all {
		if p.cmd.Path == g.evbench {
			p.until(since.Add(programs.Patience))
		}
	}
	g.gone(since, programs.Patience)
	g.seen.Gone = time.Since(since)
	g.seen.Residue = g.residue(before, g.s.Kind == KillController, scenarioFile, tokenFile, resultsDir)
	if g.sweep() > 0 {
		g.gone(time.Now(), programs.Patience)
	}
	ours := time.Duration(0)
	for _, p := range g.all {
		<-p.done
		ours += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	if l := load(); l.OthersSec != nil && l.WallSec > 0 {
		g.seen.Others = max(0, *l.OthersSec-ours.Seconds()) / (l.WallSec * float64(l.Cores))
	}
	for rank, p := range g.work {
		g.seen.Workers = append(g.seen.Workers, Exit{Server: rank, Code: p.cmd.ProcessState.ExitCode(), Said: p.heard.String()})
	}
	g.seen.Code, g.seen.Said = g.main.cmd.ProcessState.ExitCode(), g.main.heard.String()
	if r, err := store.Read(g.path(resultsDir)); err == nil {
		g.seen.Run = r
	} else if !errors.Is(err, os.ErrNotExist) {
		g.seen.Said += fmt.Sprintf("soak: results: %v\n", err)
	}
}

func (g *stage) outcome(took time.Duration) outcome {
	out := outcome{
		Round: g.s.Round, Kind: g.s.Kind, Policy: g.s.Policy, Ordered: g.s.Ordered, Seed: g.s.Seed, Seconds: took.Seconds(), ExitCode: g.seen.Code,
	}
	if a, b, ok := Quarters(g.seen.Usage); ok {
		out.Second, out.Last = &a, &b
	}
	if g.seen.Run == nil {
		return out
	}
	for _, c := range g.seen.Run.Summary.Cases {
		out.LinkEvents += len(c.LinkEvents)
		out.Built += c.EventsBuilt
		out.Lost += c.EventsLost
		out.Duplicate += c.EventsDuplicate
	}
	return out
}
