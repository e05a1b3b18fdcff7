package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"evbench/evidence/tool"
	"evbench/internal/proc"
	"evbench/internal/programs"
	"evbench/results"
	"evbench/site/host"
	"evbench/site/mpi"
)

//go:embed c/alltoall.c
var cSource []byte

const killAfter = 5 * time.Second

// Tools are the programs of the sides, and a directory for their files.
type tools struct {
	dir      string
	self     string // this binary
	evbench  string
	alltoall string // the C program
	machine  machine
}

type machine struct {
	CPUs int `json:"cpus"`
	// Processors are those that the ranks can keep busy at once: within affinity and quota.
	Processors int    `json:"processors"`
	Go         string `json:"go"`
	MPI        string `json:"mpi,omitempty"`
	// Busy is the share of all processors that others used before the first slot.
	Busy float64 `json:"busy_before"`
}

// prepare finds or makes the tools for the rows; the caller closes it.
func prepare(ctx context.Context, o *options, rs []row) (t *tools, err error) {
	needs := func(f func(side) bool) bool {
		return slices.ContainsFunc(rs, func(r row) bool { return f(r.Ours) || f(r.Theirs) })
	}
	t = &tools{machine: machine{CPUs: runtime.NumCPU(), Processors: host.Processors(), Go: runtime.Version()}}
	if needs(func(s side) bool { return s.kind == whole }) {
		if t.evbench, err = tool.Evbench(o.evbench); err != nil {
			return nil, err
		}
	}
	if t.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if t.dir, err = os.MkdirTemp("", "evbench-peer-"); err != nil {
		return nil, err
	}
	if needs(side.mpi) {
		if err = t.prepareMPI(ctx); err != nil {
			return nil, errors.Join(err, t.close())
		}
	}
	since := host.Watch()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), t.close())
	}
	t.machine.Busy = busy(since())
	return t, nil
}

// idleEnough is the highest load of the processors at the start. Other load need not affect both
// sides equally: MPI's ranks spin while they wait and ours sleep, so a ratio may then be wrong, and
// not only noisy.
const idleEnough = 0.1

// busy is the share of all processors used by others, 0..1; 0 if the kernel does not report it.
func busy(l results.Load) (share float64) {
	for _, sec := range []*float64{l.OthersSec, l.StealSec} {
		if sec != nil && l.WallSec > 0 {
			share += *sec / (l.WallSec * float64(l.Cores))
		}
	}
	return share
}

// mpi reports whether a side is started by mpirun.
func (s side) mpi() bool { return s.kind == cProgram || s.kind == bare && s.net != netTCP }

func (t *tools) close() error { return os.RemoveAll(t.dir) }

func (t *tools) prepareMPI(ctx context.Context) error {
	compiler, launcher := cmp.Or(os.Getenv("MPICC"), "mpicc"), mpi.Local(1)[0]
	needed := []string{compiler, launcher}
	t.alltoall = filepath.Join(filepath.Dir(t.self), "alltoall") // compiled beforehand: scripts/pack-peers
	_, err := os.Stat(t.alltoall)
	compiled := err == nil
	if compiled {
		needed = needed[1:]
	}
	for _, name := range needed {
		if _, err := exec.LookPath(name); err != nil {
			return proc.Usagef("%w: the C programs need an MPI, on Debian the packages openmpi-bin, libopenmpi-dev and gcc", err)
		}
	}
	said, err := t.output(t.command(ctx, launcher, "--version"))
	if err != nil {
		return err
	}
	t.machine.MPI, _, _ = strings.Cut(said, "\n")
	if mpi.Family == mpi.OpenMPI && !strings.Contains(t.machine.MPI, "Open MPI") {
		return proc.Usagef("mpirun is that of %q; the flags used here are those of Open MPI", t.machine.MPI)
	}
	if compiled {
		return nil
	}
	source := filepath.Join(t.dir, "alltoall.c")
	if err := os.WriteFile(source, cSource, 0o600); err != nil {
		return err
	}
	t.alltoall = filepath.Join(t.dir, "alltoall")
	if _, err := t.output(t.command(ctx, compiler, "-std=c11", "-O2", "-o", t.alltoall, source)); err != nil {
		return proc.Usage(err)
	}
	return nil
}

// command is a program that ends with ctx, and with this one, which gives it time to end.
func (t *tools) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := programs.Command(ctx, t.dir, name, args...)
	cmd.WaitDelay, cmd.SysProcAttr.Pdeathsig = killAfter, syscall.SIGTERM
	cmd.Stderr = &proc.Tail{}
	return cmd
}

const maxPrinted = 64 << 20

func (t *tools) output(cmd *exec.Cmd) (string, error) {
	out, err := proc.Output(cmd, maxPrinted)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, cmd.Stderr.(*proc.Tail))
	}
	return string(out), err
}

// told adds the output of an ended command to its error.
func told(cmd *exec.Cmd, err error) error {
	if err == nil {
		return nil
	}
	said := cmd.Stderr.(*proc.Tail).String()
	return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, said)
}

// warmup is how many exchanges run before the clock starts: the first opens connections.
const warmup = 2

// slot runs one side for an amount of work: exchanges, barriers or, for a side whose work is a
// duration, milliseconds.
func (t *tools) slot(ctx context.Context, r row, s side, amount int) (reading, error) {
	switch s.kind {
	case cProgram:
		return t.runC(ctx, r, s, amount, false)
	case whole:
		return t.runWhole(ctx, r, s, amount)
	}
	run := t.runTCP
	if s.net != netTCP {
		if mpi.Missing != nil {
			return reading{}, leftOut{"built without MPI (go build -tags mpi)"}
		}
		run = func(ctx context.Context, n int, bound bool, w Work) ([]report, error) {
			return t.runMPI(ctx, n, s.net, bound, w)
		}
	}
	reports, err := run(ctx, r.Ranks, r.bound(), workOf(r, s, amount))
	if err != nil {
		return reading{}, err
	}
	return judge(r, s, amount, reports)
}

// rate is the rate at which all ranks together send, in MB/s.
func rate(r row, exchanges int, seconds float64) float64 {
	return float64(r.Ranks*(r.Ranks-1)*r.Size) * float64(exchanges) / seconds / 1e6
}
