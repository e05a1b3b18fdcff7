package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/cmd/open"
	"evbench/cmd/open/tables"
	"evbench/internal/proc"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/site/mpi"
	"evbench/view/live"
)

// tokenVariable is the environment variable with the secret of a run whose ranks are started
// together.
const tokenVariable = "EVBENCH_TOKEN"

// endGrace is how long a worker that failed, or the case of one that was told to end, waits for the
// controller, which may be writing results: the launcher kills all ranks when one has ended.
const endGrace = 3 * time.Second

func runStarted(c *cli.Context, name string, s *scenario.Scenario, planned []bench.Planned, at open.Place, do use) error {
	if at.By != "" {
		// A batch system signals launcher and ranks, and the launcher signals the ranks again: a second
		// signal must not end a rank that writes results. The launcher kills ranks that stay.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	}
	r, err := newStarted(c, name, s, at)
	if err == nil {
		err = checkMemory(s, max(at.Locals, 1))
	}
	if err == nil {
		err = r.Enter()
	}
	if err != nil {
		return quietly(at, err, c.Int("controller-rank"))
	}
	if !r.Controls() {
		return leave(c, r, work(c, r))
	}
	return leave(c, r, do(c, measurement{scenario: s, planned: planned, open: open.Joined, describe: r.Describe, control: r.Listen}))
}

// obey has a launcher end c's context until stop is called: by SIGUSR1, which a launcher passes on and
// then kills nobody, while mpirun of Open MPI 5 kills ranks half a second after its Ctrl-C, whatever is
// asked of it; or by its own end, after which that of Open MPI 4 may leave ranks behind.
func obey(c *cli.Context) (stop func()) {
	ctx, cancel := context.WithCancelCause(c.Context)
	c.Context = ctx
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	launcher := os.Getppid()
	go func() {
		look := time.NewTicker(time.Second)
		defer look.Stop()
		for {
			select {
			case <-told:
				cancel(proc.Signal{Sig: os.Interrupt})
			case <-look.C:
				if os.Getppid() != launcher {
					cancel(fmt.Errorf("the launcher of this rank, process %d, has ended", launcher))
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(nil) }
}

// newStarted makes the checks with the same result on every rank.
func newStarted(c *cli.Context, name string, s *scenario.Scenario, at open.Place) (*open.Rank, error) {
	r, err := ours.NewRank(s, name, at, c.Int("controller-rank"))
	if err == nil {
		err = open.CheckHosts(s)
	}
	if err == nil {
		err = r.FindControl()
	}
	if err != nil {
		return nil, err
	}
	if r.Carried() {
		if c.Bool("tls") {
			err = usagef("--tls: %s carries the control connection; launch.control: tcp:HOST:PORT has one of its own", strings.ToUpper(s.Transport))
		}
		return r, err
	}
	if r.Control, err = secured(c, r.Control); err != nil {
		return nil, err
	}
	if r.Token, err = sharedToken(c, os.Getenv); r.Controls() {
		warnOpen(c) // one warning is enough
	}
	return r, err
}

// sharedToken returns the secret given to every rank.
func sharedToken(c *cli.Context, env open.Lookup) (string, error) {
	if c.IsSet("token-file") {
		return readToken(c)
	}
	if token := strings.TrimSpace(env(tokenVariable)); token != "" {
		return token, nil
	}
	return "", usagef("the control connection is TCP and needs a secret that all ranks know: --token-file FILE, or in the environment: "+
		"export %s=$(head -c 24 /dev/urandom | base64)", tokenVariable)
}

// leave ends this rank. An error ends all ranks.
func leave(c *cli.Context, r *open.Rank, err error) error {
	code := exitDone
	if err != nil || r.Controls() {
		code = exitCode(context.Cause(c.Context), err, c.App.ErrWriter)
	}
	if err := r.Leave(code, code != exitDone && code != exitInvalid); err != nil {
		return err
	}
	return &exitError{code: code}
}

// work is one server. Its case outlives a signal for a moment: the controller gets it, too, and asks
// for the results. The server stays until the controller has written them.
func work(c *cli.Context, r *open.Rank) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.Context))
	defer cancel(nil)
	unhook := context.AfterFunc(c.Context, func() {
		time.AfterFunc(endGrace, func() { cancel(fmt.Errorf("told to end: %w", context.Cause(c.Context))) })
	})
	defer unhook()
	err := r.Serve(ctx, logger(c, c.App.ErrWriter))
	switch {
	case err == nil:
		return nil
	case c.Context.Err() != nil:
		return &exitError{code: exitCode(context.Cause(c.Context), nil, c.App.ErrWriter)}
	}
	machine, _ := os.Hostname() // without a name the rank suffices
	err = fmt.Errorf("rank %d on %s: %w", r.Place.Rank, machine, err)
	fmt.Fprintln(c.App.ErrWriter, "evbench:", err)
	wait := time.NewTimer(endGrace)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-c.Context.Done():
	}
	return &exitError{code: exitFailed}
}

// quietly lets one rank print an error common to all: the rank printer, or, if a file or machine is
// to blame, one on each machine. The others end without an error, since a launcher that sees one
// fail kills the ranks that still have to print.
func quietly(at open.Place, err error, printer int) error {
	if at.Size > 0 && printer >= at.Size {
		printer = 0
	}
	_, file := errors.AsType[*fs.PathError](err)
	_, here := errors.AsType[*host.MemoryError](err)
	_, absent := errors.AsType[*mpi.AbsentError](err) // others may wait without end
	if err == nil || at.By == "" || at.Rank == printer || absent || (file || here) && at.Local == 0 {
		return err
	}
	return &exitError{code: exitDone}
}

// alone refuses a run that starts its own servers, but has itself been started several times.
func alone(at open.Place, s *scenario.Scenario) error {
	if at.Size > 1 {
		return usagef("launch: {kind: %s}: each of the %d ranks would run all of %s: write launch: {kind: started}, or start evbench once",
			cmp.Or(s.Launch.Kind, scenario.LaunchLocal), at.Size, s.Name)
	}
	return nil
}

// bySSH reaches the hosts of a scenario by ssh, and shows on a terminal how far it is.
func bySSH(c *cli.Context, s *scenario.Scenario, bar *live.Terminal) (*open.SSH, error) {
	servers, err := open.PlaceServers(s, tables.Placement)
	if err != nil {
		return nil, usage(err)
	}
	r, err := ours.NewSSH(c.Context, s, servers)
	if err == nil {
		r.Client.Progress = bar.Hosts
	}
	return r, err
}

func runSSH(c *cli.Context, s *scenario.Scenario, planned []bench.Planned, do use) error {
	if err := open.CheckHosts(s); err != nil {
		return err
	}
	r, err := bySSH(c, s, newTerminal(c.App.ErrWriter, c.Bool("quiet")))
	if err != nil {
		return err
	}
	return do(c, measurement{scenario: s, planned: planned, open: r.Open, control: func() (open.Control, error) {
		listen, err := r.Check(c.Context)
		if err != nil {
			return open.Control{}, err
		}
		listen, err = secured(c, listen)
		return open.Control{Address: listen, Token: rand.Text()}, err
	}})
}
