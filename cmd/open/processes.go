package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"evbench/fabric"
	"evbench/internal/proc"
	"evbench/internal/trust"
	"evbench/transport/tcp"
)

const killAfter = time.Second

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
		return nil, errors.Join(err, trust.RemoveTemp(dir))
	}
	running, err := p.startAll(ctx, j, dir, token)
	if err != nil {
		for _, x := range running {
			err = errors.Join(err, x.cmd.Cancel())
		}
	}
	said := awaitAll(ctx, j, running)
	wait = func() error { return errors.Join(said(), trust.RemoveTemp(dir)) }
	if err != nil {
		return nil, errors.Join(err, wait())
	}
	return wait, nil
}

// A process of workers, and how it is begun, again where it was killed and the run goes on.
type process struct {
	name  string
	cmd   *exec.Cmd
	begin func() (*exec.Cmd, error)
}

// afterKill is how long a process that was killed stays away.
const afterKill = time.Second

func (p Processes) startAll(ctx context.Context, j fabric.Job, dir, token string) (running []process, err error) {
	if p.Inside == nil {
		for rank := range j.Tree.Servers() {
			x := process{name: j.Tree.ServerName(rank), begin: func() (*exec.Cmd, error) {
				cmd := p.command(ctx, j, token, "--transport", p.Transport, "--id", strconv.Itoa(j.Tree.Position(rank)), "--data", p.Data(rank).String())
				return cmd, p.begin(rank, cmd)
			}}
			if x.cmd, err = x.begin(); err != nil {
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
		x := process{name: filepath.Base(file), begin: func() (*exec.Cmd, error) {
			cmd := p.command(ctx, j, token, "--group", file)
			return cmd, cmd.Start()
		}}
		if x.cmd, err = x.begin(); err != nil {
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

// await waits until a process has ended by itself. Where the run goes on without it, one that was killed begins again.
func (x *process) await(ctx context.Context, again bool) error {
	for {
		err := x.cmd.Wait()
		if !again || x.cmd.ProcessState == nil || x.cmd.ProcessState.ExitCode() >= 0 || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(afterKill):
		case <-ctx.Done():
			return nil
		}
		if x.cmd, err = x.begin(); err != nil {
			return err
		}
	}
}

// awaitAll waits for the workers in parallel with the caller. said returns, once all have ended,
// their errors, in order, unless they were told to end before.
func awaitAll(ctx context.Context, j fabric.Job, running []process) (said func() error) {
	var all sync.WaitGroup
	errs := make([]error, len(running))
	for i, x := range running {
		all.Go(func() {
			err := x.await(ctx, j.Again)
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
