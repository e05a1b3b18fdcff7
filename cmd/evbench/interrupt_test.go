package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urfave/cli/v2"
)

// holding are the commands that have something to put back, or end at once: each sees
// to its signals itself.
var holding = []string{
	"run", "accuracy", "controller", "worker", "host", "version", "lab doctor", "lab up", "lab exec", "lab down",
	"failures restore", "results export", "routes install", "routes follow", "mpi wrap",
}

// showing are those that show what they have when they are interrupted.
var showing = []string{"whatif", "reproduce", "table planner", "table routing", "table spraying", "sim"}

// Every other command reads, computes and prints: told to end, it prints nothing.
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
		"plan": tree, "table slowdown": tree, "table phases": tree, "table lmc": tree, "table sizes": tree, "table tokens": tree,
		"validate": {"hosts.yaml"}, "verify": {"plan.txt"}, "diff": {"plan.txt", "plan.txt"},
		"routes compute": append(tree, "-e", "ftree"), "routes check": append(tree, "-e", "ftree"), "routes export": append(tree, "-e", "ftree"),
		"routes diff": append(tree, "old", "new"), "routes jobs": append(tree, "jobs"),
		"topo show": tree, "topo convert": {"FT(2;2,2)"},
		"failures stats": {"log"}, "failures replay": append(tree, "log"),
		"man": nil, "examples": nil, "completion": {"bash"}, "complete": {"ru"}, "schema": nil, "compare": {"a", "b"}, "judge": {"--network", "FT(2;2,2)"}, "report": {"a"}, "why": {"a"}, "trace": {"a"}, "plot": {"loads", "a"},
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
		cancel(signalled{syscall.SIGTERM})
		var out, said bytes.Buffer
		code := run(ctx, slices.Concat([]string{"evbench"}, strings.Fields(name), args), &out, &said)
		if code != exitTerminated || out.Len() > 0 || said.String() != "evbench: terminated\n" {
			t.Errorf("%s: exit %d, printed %q, said %q", name, code, out.String(), said.String())
		}
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
func TestEndsWhileReading(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{
		syscall.SIGTERM: exitTerminated, syscall.SIGINT: exitInterrupted, syscall.SIGHUP: exitHungUp,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("is ignored here, and so by what is started")
			}
			dir := t.TempDir()
			if err := syscall.Mkfifo(filepath.Join(dir, "log"), 0o600); err != nil {
				t.Fatal(err)
			}
			p := begin(t, dir, "failures", "stats", "log", "-o", "stats.txt")
			f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY, 0) // as soon as it is read
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := p.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code, said := p.end(); code != want {
				t.Errorf("ended with %d, want %d:\n%s", code, want, said)
			}
			onlyThese(t, dir, "log")
		})
	}
}

// Work has a while to end by itself, and is then left behind.
func TestWithin(t *testing.T) {
	stopped, failed := errors.New("stopped"), errors.New("failed")
	for _, tt := range []struct {
		name             string
		stop, work, took time.Duration
		err, want        error
	}{
		{name: "done", stop: time.Hour, work: time.Minute, took: time.Minute},
		{"failed", time.Hour, time.Minute, time.Minute, failed, failed},
		{name: "ends after the signal", stop: time.Second, work: 3 * time.Second, took: 3 * time.Second},
		{"goes on", time.Second, time.Hour, 6 * time.Second, nil, stopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer time.AfterFunc(tt.stop, func() { cancel(stopped) }).Stop()
				began := time.Now()
				err := within(ctx, 5*time.Second, func() error { time.Sleep(tt.work); return tt.err })
				if took := time.Since(began); !errors.Is(err, tt.want) || took != tt.took {
					t.Errorf("%v after %v, want %v after %v", err, took, tt.want, tt.took)
				}
				time.Sleep(tt.work) // what is left behind ends, too
			})
		})
	}
}

func TestCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("stopped")
		count := func(give func(int) error) error {
			for i := range 3 {
				time.Sleep(time.Second)
				if err := give(i); err != nil {
					return err
				}
			}
			return nil
		}
		if all, err := collect(ctx, count); err != nil || len(all) != 3 {
			t.Errorf("%v, %v", all, err)
		}
		time.AfterFunc(2500*time.Millisecond, func() { cancel(cause) })
		if all, err := collect(ctx, count); !errors.Is(err, cause) || len(all) != 2 {
			t.Errorf("%v, %v", all, err)
		}
		time.Sleep(time.Minute)
	})
}

// A file that is being written when the signal comes is given up, not left half.
func TestUntilOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var b bytes.Buffer
	w := untilOver(ctx, &b)
	if _, err := io.WriteString(w, "one"); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("stopped")
	cancel(cause)
	if n, err := io.WriteString(w, "two"); n != 0 || !errors.Is(err, cause) || b.String() != "one" {
		t.Errorf("%d, %v: %q", n, err, b.String())
	}
}
