package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"evbench/internal/proc"
	"evbench/testing/expect"
)

// holding are the commands that have something to put back, or end at once: each sees
// to its signals itself.
var holding = []string{"watch",
	"run", "accuracy", "paths", "controller", "worker", "host", "version", "lab doctor", "lab up", "lab exec", "lab down",
	"failures restore", "results export", "routes install", "routes undo", "routes follow", "mpi wrap", "mpi options",
}

// showing are those that show what they have when they are interrupted.
var showing = []string{"whatif", "sim", "merge"}

// Every other command reads, computes and prints: told to end, it prints nothing.
//
//gate:race
func TestComputingEnds(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	tree := []string{"-t", "FT(2;2,2)"}
	var plan bytes.Buffer
	if code := run(t.Context(), []string{"evbench", "plan", "-t", "FT(2;2,2)"}, &plan, io.Discard); code != exitDone {
		t.Fatal(code)
	}
	write(t, dir, "plan.txt", plan.String())
	write(t, dir, "hosts.yaml", fmt.Sprintf(hostsScenario, "1s"))
	write(t, dir, "jobs", "a: h0,h1\n")
	arguments := map[string][]string{
		"plan":     tree,
		"validate": {"hosts.yaml"}, "verify": {"plan.txt"}, "diff": {"plan.txt", "plan.txt"},
		"routes compute": append(tree, "-e", "ftree"), "routes check": append(tree, "-e", "ftree"), "routes export": append(tree, "-e", "ftree"),
		"routes diff": append(tree, "old", "new"), "routes jobs": append(tree, "jobs"),
		"topo show": tree, "topo convert": {"FT(2;2,2)"},
		"failures stats": {"log"}, "failures replay": append(tree, "log"),
		"man": nil, "new": {"lab"}, "examples": nil, "completion": {"bash"}, "schema": nil, "compare": {"a", "b"}, "judge": {"--network", "FT(2;2,2)"}, "report": {"a"}, "why": {"a"}, "trace": {"a"}, "plot": {"loads", "a"},
	}
	for _, name := range leaves("", newApp(io.Discard, io.Discard).Commands) {
		if slices.Contains(holding, name) || slices.Contains(showing, name) {
			continue
		}
		args, ok := arguments[name]
		if !ok {
			t.Errorf("%s: say in this test what it is called with, or that it holds something", name)
			continue
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(proc.Signal{Sig: syscall.SIGTERM})
		var out, said bytes.Buffer
		code := run(ctx, slices.Concat([]string{"evbench"}, strings.Fields(name), args), &out, &said)
		expect.False(t, code != exitTerminated || out.Len() > 0 || said.String() != "evbench: terminated\n",
			"%s: exit %d, printed %q, said %q", name, code, out.String(), said.String())
	}
}

// leaves are the names of the commands without commands below.
func leaves(head string, cmds []*cli.Command) (names []string) {
	for _, c := range cmds {
		name := strings.TrimSpace(head + " " + c.Name)
		if len(c.Subcommands) == 0 {
			names = append(names, name)
		}
		names = append(names, leaves(name, c.Subcommands)...)
	}
	return names
}

// A command that is told to end does so in the middle of a file without an end.
//
//gate:race
func TestEndsWhileReading(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{
		syscall.SIGTERM: exitTerminated, syscall.SIGINT: exitInterrupted, syscall.SIGHUP: exitHungUp,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("is ignored here, and so by what is started")
			}
			dir := t.TempDir()
			expect.Must(t, syscall.Mkfifo(filepath.Join(dir, "log"), 0o600))
			p := begin(t, dir, "failures", "stats", "log", "-o", "stats.txt")
			opened := make(chan *os.File, 1)
			go func() {
				f, _ := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY, 0) // as soon as it is read
				opened <- f
			}()
			select {
			case f := <-opened:
				defer f.Close()
			case <-p.gone():
				p.await("the log is read")
			}
			expect.Must(t, p.cmd.Process.Signal(sig))
			code, said := p.end()
			expect.True(t, code == want, "ended with %d, want %d:\n%s", code, want, said)
			onlyThese(t, dir, "log")
		})
	}
}

// The terminal may say more than once that it has gone. The test signals its own
// thread: such a signal has arrived when the call returns, and none can come
// after stop, when nothing catches it.
func TestNotifyHangUp(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run under nohup")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, stop := proc.Notify(t.Context())
	defer stop()
	for range 3 {
		expect.Must(t, syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGHUP))
		<-ctx.Done()
	}
	expect.Equal(t, exitCode(context.Cause(ctx), nil, io.Discard), exitHungUp, "exit code")
	var said bytes.Buffer
	exitCode(proc.Signal{Sig: os.Interrupt}, proc.Signal{Sig: os.Interrupt}, &said)
	expect.Equal(t, said.String(), "evbench: interrupted\n", "the last word after Ctrl-C")
	expect.Equal(t, exitCode(nil, fmt.Errorf("plans: %w", proc.Signal{Sig: os.Interrupt}), io.Discard), exitInterrupted, "exit code of a rank whose launcher has sent SIGUSR1")
}

// An interrupted survey prints what is done, marked incomplete, and exits 130.
//
//gate:race
func TestWhatIfInterrupted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"whatif", "-t", "FT(2;4,4)", "--k", "2"}, "INCOMPLETE"},
		{[]string{"whatif", "-t", "FT(2;4,4)", "--k", "2", "--json"}, `"incomplete":true`},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(proc.Signal{Sig: syscall.SIGINT})
		var stdout, stderr bytes.Buffer
		code := run(ctx, append([]string{"evbench"}, c.args...), &stdout, &stderr)
		expect.False(t, code != exitInterrupted || !strings.Contains(stdout.String(), c.want),
			"%v: exit %d, stdout %q, stderr %q", c.args, code, stdout.String(), stderr.String())
	}
}
