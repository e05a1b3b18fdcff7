package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/fabric"
	"evbench/internal/proc"
	"evbench/internal/trust"
	"evbench/site/host"
	"evbench/transport/tcp"
	"evbench/worker"
)

const killAfter = time.Second

// Threads is the launcher that runs every server in this process.
type Threads struct {
	// Options of the sockets of a rank.
	Options func(rank int) tcp.Options
	// Data is the address of a rank for others; nil: its listening address.
	Data    func(rank int) Addresses
	Sockets Sockets
}

func (t Threads) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	n := j.Tree.Servers()
	if err := tcp.CheckFiles(openFiles(n, n)); err != nil {
		return nil, err
	}
	var all []thread
	for rank := range n {
		all = append(all, thread{server: j.Tree.Position(rank), socket: t.Options(rank)})
		if t.Data != nil {
			all[rank].data = t.Data(rank)
		}
	}
	return beside(ctx, j, all, t.Sockets)
}

// A thread is a server that shares its process with others.
type thread struct {
	server int
	data   Addresses // nil: its listening address
	socket tcp.Options
}

func beside(ctx context.Context, j fabric.Job, all []thread, sockets Sockets) (wait func() error, err error) {
	// Every worker drives its own sockets and sleeps in the kernel: with fewer processors (in Go's
	// sense) than workers, each wake-up waits for one.
	was := runtime.GOMAXPROCS(max(len(all), runtime.GOMAXPROCS(0)))
	listeners := make([]*tcp.Listener, 0, len(all))
	closeAll := func() error {
		runtime.GOMAXPROCS(was)
		var errs []error
		for _, l := range listeners {
			errs = append(errs, l.Close())
		}
		return errors.Join(errs...)
	}
	for _, t := range all {
		t.socket.Token = j.Token
		l, err := tcp.Listen(t.socket)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("server%d: %w", t.server, err), closeAll())
		}
		listeners = append(listeners, l)
	}
	var g errgroup.Group
	for i, l := range listeners {
		g.Go(func() error {
			o := worker.Options{Token: j.Token, Server: all[i].server, Data: all[i].data.String(), Open: sockets.Open(l)}
			if all[i].data == nil {
				o.Data = l.Addr()
			}
			if i == 0 { // for all: they share the machine and the process
				o.Load = host.Watch
			}
			err := ended(ctx, Join(ctx, JoinWithin, j.Controller, o))
			if err != nil {
				j.Failed()
			}
			return err
		})
	}
	return func() error { return errors.Join(g.Wait(), closeAll()) }, nil
}

// openFiles is about how many descriptors some of n servers in one process need: two connections
// with each other server, the barrier's, and a reserve.
func openFiles(some, n int) int { return 2*some*(n-1) + 64*some + 256 }

// MayOpen implements fabric.Launcher: all are in this process.
func (Threads) MayOpen(servers, connections int) error {
	return tcp.CheckFiles(openFiles(servers, servers) + servers*connections)
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Processes is the launcher that runs every server as a process on this machine: as "evbench
// worker" of this program. With Inside, a process has as many servers as its limit of open files
// permits.
type Processes struct {
	// Transport is the name of a transport that is not Launched.
	Transport string
	// Data is the address of a rank for others.
	Data func(rank int) Addresses
	// Buffer as in Sockets.
	Buffer int
	// CPUs are the processors of the servers; "": any.
	CPUs string
	// Start starts the command of a rank; nil: on this machine.
	Start func(rank int, cmd *exec.Cmd) error
	// Inside names the network namespace of a rank; nil: the process is in the right one.
	Inside func(rank int) string
}

func (p Processes) MayOpen(servers, connections int) error {
	if p.Inside == nil { // each has its own process
		return tcp.CheckFiles(connections)
	}
	each := Fit(servers)
	return tcp.CheckFiles(openFiles(each, servers) + each*connections)
}

func (p Processes) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	dir, err := trust.TempDir("")
	if err != nil {
		return nil, err
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(j.Token+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running, err := p.startAll(ctx, j, dir, token)
	if err != nil {
		for _, x := range running {
			err = errors.Join(err, x.cmd.Cancel())
		}
	}
	said := awaitAll(ctx, j, running)
	wait = func() error { return errors.Join(said(), os.RemoveAll(dir)) }
	if err != nil {
		return nil, errors.Join(err, wait())
	}
	return wait, nil
}

type process struct {
	name string
	cmd  *exec.Cmd
}

func (p Processes) startAll(ctx context.Context, j fabric.Job, dir, token string) (running []process, err error) {
	if p.Inside == nil {
		for rank := range j.Tree.Servers() {
			x := process{j.Tree.ServerName(rank), p.command(ctx, j, token, "--transport", p.Transport, "--id", strconv.Itoa(j.Tree.Position(rank)), "--data", p.Data(rank).String())}
			if err := p.begin(rank, x.cmd); err != nil {
				return running, fmt.Errorf("%s: %w", x.name, err)
			}
			running = append(running, x)
		}
		return running, nil
	}
	n := j.Tree.Servers()
	most := Fit(n)
	if most == 0 {
		return nil, tcp.CheckFiles(openFiles(1, n))
	}
	for i, ranks := range split(n, most) {
		file, err := p.writeMembers(j, dir, i, ranks)
		if err != nil {
			return running, err
		}
		x := process{filepath.Base(file), p.command(ctx, j, token, "--group", file)}
		if err := x.cmd.Start(); err != nil {
			return running, fmt.Errorf("%s: %w", j.Tree.ServerName(ranks[0]), err)
		}
		running = append(running, x)
	}
	return running, nil
}

// command is a process of one worker or several. It gets a moment to end in order.
func (p Processes) command(ctx context.Context, j fabric.Job, token string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"worker", "--controller", j.Controller, "--token-file", token,
		"--socket-buffer", strconv.Itoa(p.Buffer)}, args...)...)
	if p.CPUs != "" {
		cmd.Args = append(cmd.Args, "--cpus", p.CPUs)
	}
	cmd.Args[0] = os.Args[0]
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	cmd.Stderr = &proc.Tail{}
	// A Ctrl-C at the terminal is for this process; it lets the workers end.
	cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	return cmd
}

func (p Processes) begin(rank int, cmd *exec.Cmd) error {
	if p.Start != nil {
		return p.Start(rank, cmd)
	}
	return cmd.Start()
}

// awaitAll waits for the workers in parallel with the caller. said returns, once all have ended,
// their errors, in order, unless they were told to end before.
func awaitAll(ctx context.Context, j fabric.Job, running []process) (said func() error) {
	var all sync.WaitGroup
	errs := make([]error, len(running))
	for i, x := range running {
		all.Go(func() {
			err := x.cmd.Wait()
			if err == nil || ctx.Err() != nil {
				return
			}
			said := x.cmd.Stderr.(*proc.Tail).String()
			errs[i] = fmt.Errorf("%s: %w: %s", x.name, err, said)
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

// MayOpen implements fabric.Launcher. Workers started otherwise have limits of their own.
func (Joining) MayOpen(_, _ int) error { return nil }

func (Joining) Launch(context.Context, fabric.Job) (wait func() error, err error) {
	return func() error { return nil }, nil
}
