package ibtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"evbench/internal/trust"
	"evbench/site/lft"
	"evbench/site/network"
)

// A Live is an OpenSM that keeps running while cables of its network are pulled and plugged in. It
// logs as OpenSM does by default: its output stays in a buffer of 4 KiB until flushed.
type Live struct {
	net    *network.Network
	run    *run
	sm     *process
	log    *os.File
	rest   string   // of the log, not yet looked at
	seen   []string // the last lines, for errors
	cancel context.CancelFunc
	ctx    context.Context
	engine string // that configured the tables last
	// flushes says that OpenSM writes each line of its log at once.
	flushes bool
}

// Start starts OpenSM and returns when the network is up. Close it.
func Start(ctx context.Context, n *network.Network, engine string, roots []network.Node, args ...string) (*Live, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := prepare(ctx, n, roots)
	if err != nil {
		cancel()
		return nil, err
	}
	l := &Live{net: n, run: r, cancel: cancel, ctx: ctx}
	if l.log, err = os.Create(l.LogFile()); err == nil {
		l.sm, err = start(r.command(ctx, "opensm", r.args(engine, l.LogFile(), args...)...))
	}
	if err == nil {
		err = l.up()
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Beside starts another OpenSM at a host, with its own log and cache, and waits until it has logged
// says, each line at once; "": it does not wait, and logs as by default. Close it before the first.
func (l *Live) Beside(ctx context.Context, host network.Node, engine, says string, args ...string) (*Live, error) {
	dir, err := os.MkdirTemp(l.run.dir, "beside-")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"guid2lid", "roots"} {
		if text, err := os.ReadFile(filepath.Join(l.run.dir, name)); err == nil {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				return nil, err
			}
		}
	}
	if says != "" {
		args = append([]string{"-d", "2"}, args...)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &run{dir: dir, roots: l.run.roots, lmc: l.run.lmc,
		env: append(slices.Clone(l.run.env), "SIM_HOST="+l.net.Info(host).Name, "OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir)}
	b := &Live{net: l.net, run: r, cancel: cancel, ctx: ctx, flushes: says != ""}
	if b.log, err = os.Create(b.LogFile()); err == nil {
		b.sm, err = start(r.command(ctx, "opensm", r.args(engine, b.LogFile(), args...)...))
	}
	if err == nil && says != "" {
		_, err = b.wait(says)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Kill ends OpenSM at once, without a shutdown; the network stays.
func (l *Live) Kill() { l.sm.stop() }

func (l *Live) up() error {
	line, err := l.wait(" tables configured on all switches")
	if err != nil {
		return fmt.Errorf("opensm: %w", err)
	}
	l.engine = lastEngine([]byte(line))
	if _, err := l.wait("SUBNET UP"); err != nil {
		return fmt.Errorf("opensm: %w", err)
	}
	return nil
}

func (l *Live) LogFile() string { return filepath.Join(l.run.dir, "opensm.log") }

func (l *Live) wait(text string) (string, error) {
	ctx, cancel := context.WithTimeout(l.ctx, Limit)
	defer cancel()
	for {
		line, rest, whole := strings.Cut(l.rest, "\n")
		if whole {
			l.rest, l.seen = rest, append(l.seen[max(0, len(l.seen)-20):], line)
			if strings.Contains(line, text) {
				return line, nil
			}
			continue
		}
		more, err := io.ReadAll(l.log)
		if err != nil {
			return "", err
		}
		if l.rest += string(more); len(more) > 0 {
			continue
		}
		select {
		case <-time.After(flushEvery):
			l.flush()
		case <-l.sm.ended:
			return "", fmt.Errorf("ended before it said %q:\n%s", text, strings.Join(l.seen, "\n"))
		case <-ctx.Done():
			return "", fmt.Errorf("did not say %q: %w; last lines:\n%s", text, ctx.Err(), strings.Join(l.seen, "\n"))
		}
	}
}

const flushEvery = 20 * time.Millisecond

// flush makes OpenSM write its log, as log rotation does. Before OpenSM is ready, the signal would
// end it. It also erases a log that OpenSM does not append to.
func (l *Live) flush() {
	if l.flushes {
		return
	}
	p, err := trust.Find(l.PID())
	if err != nil {
		return // it has ended
	}
	open, _ := p.Files()
	for _, f := range open {
		if f.Path == l.LogFile() && f.Append && p.Catches(syscall.SIGUSR1) {
			_ = p.Signal(syscall.SIGUSR1)
			break
		}
	}
	_ = p.Release()
}

// Unlink pulls the cable at a port, or with port 0 all cables of a switch, and
// waits until OpenSM has routed anew.
func (l *Live) Unlink(e network.End) error { return l.change("Unlink", e) }

// Relink plugs them in again, into the same ports of the same switches.
func (l *Live) Relink(e network.End) error { return l.change("ReLink", e) }

func (l *Live) change(what string, e network.End) error {
	if err := l.enter(what, e); err != nil {
		return err
	}
	return l.up()
}

// Until reads the tables of all switches back until they are right, or OpenSM routes no more: a cable
// or a switch that goes or comes causes several traps, and up to as many sweeps, the last of which may be
// said only when the next change has been made.
func (l *Live) Until(right func(*lft.Tables) bool) (*lft.Tables, error) {
	for {
		t, err := l.Tables()
		if err != nil || right(t) || l.up() != nil {
			return t, err
		}
	}
}

// sweep sends the signal that makes OpenSM read its files and route anew.
func (l *Live) sweep() error {
	if err := l.sm.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return l.up()
}

// Tables reads the tables of all switches back. Their network is the one given to Start.
func (l *Live) Tables() (*lft.Tables, error) {
	ctx, cancel := context.WithTimeout(l.ctx, Limit)
	defer cancel()
	out, err := l.run.command(ctx, "dump_fts").Output()
	if err != nil {
		return nil, fmt.Errorf("dump_fts: %w", err)
	}
	return readTables(l.net, l.engine, out)
}

func (l *Live) Close() {
	if l.sm != nil {
		l.sm.stop()
	}
	if l.log != nil {
		l.log.Close()
	}
	l.run.close()
	l.cancel()
}

// PID returns the process of OpenSM, for signals from outside.
func (l *Live) PID() int { return l.sm.cmd.Process.Pid }

// Forget skips OpenSM's output up to now, after another program made it route anew.
func (l *Live) Forget() error {
	l.rest = ""
	_, err := l.log.Seek(0, io.SeekEnd)
	return err
}

// Program returns a program of infiniband-diags that sees the simulated network, such as dump_fts
// or ibtracert. Its timeout is long: on a busy machine the simulated switches answer late.
func (l *Live) Program(ctx context.Context, name string, args ...string) *exec.Cmd {
	return l.run.command(ctx, name, append([]string{"-t", "20000"}, args...)...)
}

// Pull pulls the cable at a port, and does not wait for OpenSM.
func (l *Live) Pull(e network.End) error { return l.enter("Unlink", e) }

// Plug plugs it in again, into the same port of the same switch.
func (l *Live) Plug(e network.End) error { return l.enter("ReLink", e) }

func (l *Live) enter(what string, e network.End) error {
	if e.Port == 0 {
		return l.run.sim.enter("%s %q\n", what, l.net.Info(e.Node).Name)
	}
	return l.run.sim.enter("%s %q[%d]\n", what, l.net.Info(e.Node).Name, e.Port)
}

// Stamp reads the time at which OpenSM has written a line, in the year 0; the zero time
// if there is none.
func Stamp(line string) time.Time { return stamp(line) }

// Stamped returns a moment as OpenSM would write it, to compare with Stamp.
func Stamped(t time.Time) time.Time {
	t = t.Local()
	return time.Date(0, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
