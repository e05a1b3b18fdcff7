package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/fabric"
	"evbench/fabric/hosts/host"
	"evbench/transport/tcp"
	"evbench/worker"
)

// killAfter is how long a worker process may take to end before it is killed.
const killAfter = time.Second

// Threads is the launcher that runs every server in this process.
type Threads struct {
	// Options of the sockets of a rank.
	Options func(rank int) tcp.Options
	// Data is where a rank is reached; nil: where it listens.
	Data    func(rank int) Addresses
	Sockets Sockets
}

// Launch implements fabric.Launcher.
func (t Threads) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	n := j.Tree.Servers()
	if err := tcp.CheckFiles(openFiles(n)); err != nil {
		return nil, err
	}
	// Every worker drives its own sockets and sleeps in the kernel: with fewer
	// processors (in Go's sense) than workers, each wake-up waits for one.
	was := runtime.GOMAXPROCS(max(n, runtime.GOMAXPROCS(0)))
	listeners := make([]*tcp.Listener, 0, n)
	closeAll := func() error {
		runtime.GOMAXPROCS(was)
		var errs []error
		for _, l := range listeners {
			errs = append(errs, l.Close())
		}
		return errors.Join(errs...)
	}
	for rank := range j.Tree.Servers() {
		o := t.Options(rank)
		o.Token = j.Token
		l, err := tcp.Listen(o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", j.Tree.ServerName(rank), err), closeAll())
		}
		listeners = append(listeners, l)
	}
	var g errgroup.Group
	for rank, l := range listeners {
		g.Go(func() error {
			err := t.work(ctx, j, rank, l)
			if err != nil {
				j.Failed()
			}
			return err
		})
	}
	return func() error { return errors.Join(g.Wait(), closeAll()) }, nil
}

// openFiles is about how many descriptors n servers in one process need: both
// ends of a connection for each ordered pair, the barrier's, and some to spare.
func openFiles(n int) int { return 2*n*(n-1) + 64*n + 256 }

// MayOpen implements fabric.Launcher: all are in this process.
func (Threads) MayOpen(servers, connections int) error {
	return tcp.CheckFiles(openFiles(servers) + servers*connections)
}

func (t Threads) work(ctx context.Context, j fabric.Job, rank int, l *tcp.Listener) error {
	data := Addresses{l.Addr()}
	if t.Data != nil {
		data = t.Data(rank)
	}
	o := worker.Options{
		Token: j.Token, Server: j.Tree.Position(rank), Data: data.String(), Open: t.Sockets.open(l),
	}
	if rank == 0 { // for all: they share the machine and the process
		o.Load = host.Watch
	}
	return ended(ctx, Join(ctx, JoinWithin, j.Controller, o))
}

// ended drops the error of a worker that was told to end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Processes is the launcher that runs every server as a process on this machine: as
// "evbench worker" of this program.
type Processes struct {
	// Data is where a rank is reached.
	Data func(rank int) Addresses
	// Buffer as in Sockets.
	Buffer int
	// CPUs are the processors that servers stay on; "": any.
	CPUs string
	// Start starts the command of a rank; nil: here.
	Start func(rank int, cmd *exec.Cmd) error
}

// MayOpen implements fabric.Launcher: each has a process for itself.
func (Processes) MayOpen(_, connections int) error { return tcp.CheckFiles(connections) }

// Launch implements fabric.Launcher.
func (p Processes) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	dir, err := os.MkdirTemp("", "evbench-workers-")
	if err != nil {
		return nil, err
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(j.Token+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	var running []*exec.Cmd
	for rank := range j.Tree.Servers() {
		cmd := p.command(ctx, j, rank, token)
		if err = p.begin(rank, cmd); err != nil {
			err = fmt.Errorf("%s: %w", j.Tree.ServerName(rank), err)
			break
		}
		running = append(running, cmd)
	}
	if err != nil {
		for _, cmd := range running {
			err = errors.Join(err, cmd.Cancel())
		}
	}
	said := awaitAll(ctx, j, running)
	wait = func() error { return errors.Join(said(), os.RemoveAll(dir)) }
	if err != nil {
		return nil, errors.Join(err, wait())
	}
	return wait, nil
}

// command is a worker as its own process. It gets a moment to end in order.
func (p Processes) command(ctx context.Context, j fabric.Job, rank int, token string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "worker", "--controller", j.Controller, "--token-file", token,
		"--id", strconv.Itoa(j.Tree.Position(rank)), "--data", p.Data(rank).String(), "--socket-buffer", strconv.Itoa(p.Buffer))
	if p.CPUs != "" {
		cmd.Args = append(cmd.Args, "--cpus", p.CPUs)
	}
	cmd.Args[0] = os.Args[0]
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	cmd.Stderr = &strings.Builder{}
	// A Ctrl-C at the terminal is for this process; it lets the workers end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (p Processes) begin(rank int, cmd *exec.Cmd) error {
	if p.Start != nil {
		return p.Start(rank, cmd)
	}
	return cmd.Start()
}

// awaitAll waits for the workers beside the caller. said returns, once all have ended,
// what they had to say, in order of rank, unless they were told to end before.
func awaitAll(ctx context.Context, j fabric.Job, running []*exec.Cmd) (said func() error) {
	var all sync.WaitGroup
	errs := make([]error, len(running))
	for rank, cmd := range running {
		all.Go(func() {
			err := cmd.Wait()
			if err == nil || ctx.Err() != nil {
				return
			}
			said := strings.TrimSpace(cmd.Stderr.(*strings.Builder).String())
			errs[rank] = fmt.Errorf("%s: %w: %s", j.Tree.ServerName(rank), err, said)
			j.Failed()
		})
	}
	return func() error {
		all.Wait()
		return errors.Join(errs...)
	}
}

// Joining is the launcher of a fabric whose workers start themselves.
type Joining struct{}

// MayOpen implements fabric.Launcher. Workers that others start have limits of their own.
func (Joining) MayOpen(_, _ int) error { return nil }

// Launch implements fabric.Launcher.
func (Joining) Launch(context.Context, fabric.Job) (wait func() error, err error) {
	return func() error { return nil }, nil
}
