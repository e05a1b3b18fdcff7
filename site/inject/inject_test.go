package inject

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// TestMain can be the run that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("EVBENCH_TEST_INJECT"); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}

// limits are time limits of tests that have to wait for them. What ends in time needs no
// longer one; a shell may be slow to begin on a busy machine, and is then tried again with
// the next.
var limits = []time.Duration{300 * time.Millisecond, 3 * time.Second, 30 * time.Second, 5 * time.Minute}

// within tries limits until nothing is wrong, and fails the test with what still is.
func within(t *testing.T, try func(limit time.Duration) (wrong []string)) {
	t.Helper()
	var wrong []string
	for _, limit := range limits {
		if wrong = try(limit); len(wrong) == 0 {
			return
		}
		t.Logf("within %s: %q", limit, wrong)
	}
	t.Errorf("%q", wrong)
}

// complain adds what is wrong to a list.
func complain(wrong *[]string, bad bool, format string, args ...any) {
	if bad {
		*wrong = append(*wrong, fmt.Sprintf(format, args...))
	}
}

var (
	link  = topology.Link{Leaf: 0, Spine: 3}
	other = topology.Link{Leaf: 1, Spine: 0}
)

// network is a directory in which a file for each link says that it is down.
func options(dir string) Options {
	return Options{
		Kind: kindCommand, Journal: filepath.Join(dir, "journal"),
		Down:  fmt.Sprintf("echo {leaf}/{spine} >> '%s/log' && touch '%s/{link}'", dir, dir),
		Up:    fmt.Sprintf("rm '%s/{link}'", dir),
		Probe: fmt.Sprintf("test ! -e '%s/{link}'", dir),
	}
}

func isDown(t *testing.T, dir string, l topology.Link) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, l.String()))
	expect.MustFalse(t, err != nil && !errors.Is(err, fs.ErrNotExist), "%v", err)
	return err == nil
}

func open(t *testing.T, o Options) *Injector {
	t.Helper()
	i := expect.Value(Open(o))(t)
	return i
}

func closed(t *testing.T, i *Injector, journal string) {
	t.Helper()
	expect.OK(t, i.Close(), "Close")
	expect.Is(t, expect.Err(os.Stat(journal)), fs.ErrNotExist)
}

func TestDownAndUp(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	i := open(t, o)
	both := []topology.Link{link, other}
	expect.Must(t, errors.Join(i.Check(t.Context(), both), i.Down(t.Context(), both), i.Down(t.Context(), both)))
	expect.True(t, isDown(t, dir, link) && isDown(t, dir, other), "links are not down")
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	expect.True(t, err == nil && string(log) == "leaf0/spine3\nleaf1/spine0\n", "down ran for %q, %v", log, err)
	expect.Must(t, i.Up(t.Context(), []topology.Link{link}))
	s, err := probed(t, i, link)
	expect.True(t, s == linkUp && err == nil && !isDown(t, dir, link), "%s is %s, %v", link, s, err)
	p := i.Pending()
	expect.True(t, len(p) == 1 && p[0] == other, "pending: %v", p)
	closed(t, i, o.Journal)
	expect.True(t, !isDown(t, dir, other), "Close has left a link down")
}

func treeOf(t *testing.T, notation string) *topology.Tree {
	t.Helper()
	return topologytest.Tree(t, expect.Value(topology.Parse(notation))(t))
}

// Commands get our names of the switches at the ends of a link, on every tree; journals and errors what the
// network calls it. A journal of any link can be read back.
func TestNames(t *testing.T) {
	named := treeOf(t, "FT(2;2,2)")
	named = named.Named(&topology.Names{Switches: []string{"hall1", "hall2", "core1", "core2"}})
	for _, tt := range []struct {
		tree       *topology.Tree
		link       topology.Link
		ends, name string
	}{
		{named, topology.Link{Leaf: 1}, "leaf1 spine0", "hall2-core1"},
		{treeOf(t, "PGFT(2;2,2;1,2;1,2)"), topology.Link{Leaf: 1, Cable: 2}, "leaf1 spine0", "leaf1-spine0/1"},
		{treeOf(t, "FT(3;2,2,2)"), topology.Link{Leaf: 3, Spine: 1}, "leaf3 pod1-spine1", "leaf3-spine1"},
		{treeOf(t, "FT(3;2,2,2)"), topology.Link{Leaf: 1, Spine: 1, Above: true}, "pod1-spine1 spine1-top0", "pod1-spine1-top0"},
	} {
		within(t, func(limit time.Duration) (wrong []string) {
			dir := t.TempDir()
			o := options(dir)
			o.Tree, o.Timeout = tt.tree, limit
			o.Down, o.Up, o.Probe = fmt.Sprintf("echo {leaf} {spine} > '%s/down'", dir), "exit 3", fmt.Sprintf("test ! -e '%s/down'", dir)
			i := open(t, o)
			err := i.Down(t.Context(), []topology.Link{tt.link})
			log, _ := os.ReadFile(filepath.Join(dir, "down"))
			complain(&wrong, err != nil || strings.TrimSpace(string(log)) != tt.ends, "ends %q, %v", log, err)
			err = i.Close()
			complain(&wrong, err == nil || !strings.Contains(err.Error(), "STILL DOWN by journal "+o.Journal+": "+tt.name+";"), "Close: %v", err)
			if len(wrong) > 0 {
				return wrong // there may be no journal
			}
			a := expect.Value(Restore(t.Context(), o.Journal, true, func(string) {}))(t)
			expect.True(t, len(a.Links) == 1 && a.Links[0].Link == tt.name, "%+v", a.Links)
			return wrong
		})
	}
	_, err := Open(Options{Kind: kindLab, Lab: "/", Journal: "j", Tree: treeOf(t, "FT(3;2,2,2)")})
	expect.Error(t, err, "only for trees of two levels")
}

// The journal says that a link is down before it is touched.
func TestJournalFirst(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	o.Down = fmt.Sprintf(`tail -n 1 '%s' | grep -q '"link":"{link}"' && %s`, o.Journal, o.Down)
	i := open(t, o)
	expect.OK(t, i.Down(t.Context(), []topology.Link{link}))
	closed(t, i, o.Journal)
}

func TestWhatGoesWrong(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *Options, dir string)
		reason reason
		want   string
	}{
		{"fails", func(o *Options, _ string) { o.Down = "echo one >&2; echo no such port >&2; exit 3" },
			failed, "leaf0-spine3: the command for down failed with exit code 3: no such port"},
		{"is not there", func(o *Options, _ string) { o.Down = "no-such-program-at-all" }, failed, "failed with exit code 127: "},
		{"kills itself", func(o *Options, _ string) { o.Down = "kill -9 $$" }, failed, "no exit code: signal: killed"},
		{"hangs", func(o *Options, _ string) { o.Down = "echo wait >&2; sleep 1000" },
			hung, "leaf0-spine3: the command for down did not end within LIMIT and was killed: wait"},
		{"lies", func(o *Options, _ string) { o.Down = "true" },
			lied, "leaf0-spine3: the command for down succeeded, but the probe still reports up after LIMIT"},
		{"probe cannot tell afterwards", func(o *Options, dir string) {
			o.Probe = "test ! -e '" + dir + "/{link}' || { echo who knows >&2; exit 7; }"
		}, unclear, "leaf0-spine3: the probe cannot tell its state for LIMIT after down: exit code 7: who knows"},
		{"probe hangs afterwards", func(o *Options, dir string) {
			o.Probe = "test ! -e '" + dir + "/{link}' || sleep 1000"
		}, unclear, "cannot tell its state for LIMIT after down: it did not end"},
		{"probe cannot tell", func(o *Options, _ string) { o.Probe = "exit 2" },
			unclear, "leaf0-spine3: the probe cannot tell its state: exit code 2"},
		{"is down", func(o *Options, dir string) { o.Probe = "exit 1" }, alreadyDown, "leaf0-spine3 is down already"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			within(t, func(limit time.Duration) (wrong []string) {
				dir := t.TempDir()
				o := options(dir)
				o.Timeout = limit
				tt.change(&o, dir)
				o.Up = fmt.Sprintf("rm -f '%s/{link}'", dir)
				i := open(t, o)
				err := i.Down(t.Context(), []topology.Link{link})
				want := strings.ReplaceAll(tt.want, "LIMIT", limit.String())
				e, ok := errors.AsType[*linkError](err)
				complain(&wrong, !ok || e.Reason != tt.reason || !strings.Contains(err.Error(), want), "error %v, want %q", err, want)
				touched := tt.reason != alreadyDown && tt.name != "probe cannot tell"
				got := len(i.Pending()) > 0
				complain(&wrong, got != touched, "pending: %v, want %v", got, touched)
				err = i.Close()
				_, there := os.Stat(o.Journal)
				complain(&wrong, err != nil || !errors.Is(there, fs.ErrNotExist), "Close: %v; the journal: %v", err, there)
				complain(&wrong, isDown(t, dir, link), "the link was left down")
				return wrong
			})
		})
	}
}

// What does not come up stays in the journal; restore brings it up later.
func TestUpGoesWrong(t *testing.T) {
	for name, tt := range map[string]struct{ up, want string }{
		"fails": {"echo busy >&2; exit 1", "leaf0-spine3: the command for up failed with exit code 1: busy"},
		"hangs": {"sleep 1000", "leaf0-spine3: the command for up did not end within LIMIT"},
		"lies":  {"true", "leaf0-spine3: the command for up succeeded, but the probe still reports down after LIMIT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, func(limit time.Duration) (wrong []string) {
				dir := t.TempDir()
				o := options(dir)
				o.Timeout = limit
				o.Up = fmt.Sprintf("if test -e '%s/cured'; then rm '%s/{link}'; else %s; fi", dir, dir, tt.up)
				i := open(t, o)
				err := i.Down(t.Context(), []topology.Link{link})
				complain(&wrong, err != nil, "Down: %v", err)
				err = i.Close()
				want := strings.ReplaceAll(tt.want, "LIMIT", limit.String())
				complain(&wrong, err == nil || !strings.HasPrefix(err.Error(), want) ||
					!strings.Contains(err.Error(), "STILL DOWN by journal "+o.Journal+": leaf0-spine3; evbench failures restore "+o.Journal), "Close: %v", err)
				if len(wrong) > 0 {
					return wrong // there may be no journal
				}
				r := restored(t, o.Journal)
				complain(&wrong, len(r.Links) != 1 || r.Links[0].Outcome != stillDown || r.Links[0].Error == "", "restored: %+v", r)
				expect.Must(t, os.WriteFile(filepath.Join(dir, "cured"), nil, 0o600))
				r = restored(t, o.Journal)
				complain(&wrong, len(r.Links) != 1 || r.Links[0].Outcome != broughtUp || isDown(t, dir, link), "restored: %+v", r)
				return wrong
			})
		})
	}
}

// A command that fails because the link is up has done no harm.
func TestUpOfWhatIsUp(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	i := open(t, o)
	err := i.Down(t.Context(), []topology.Link{link})
	expect.Must(t, errors.Join(err, os.Remove(filepath.Join(dir, link.String()))))
	closed(t, i, o.Journal)
}

// All that a hanging command has started is killed with it.
func TestHangingGroup(t *testing.T) {
	within(t, func(limit time.Duration) (wrong []string) {
		dir := t.TempDir()
		pipe := filepath.Join(dir, "pipe")
		expect.Must(t, syscall.Mkfifo(pipe, 0o600))
		r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0) // waits for no writer
		expect.Must(t, err)
		defer r.Close()
		o := options(dir)
		o.Timeout = limit
		o.Down = fmt.Sprintf("sh -c 'echo >&3; sleep 1000' 3> '%s' & sleep 1000", pipe)
		o.Up = "true"
		i := open(t, o)
		err = i.Down(t.Context(), []topology.Link{link})
		e, ok := errors.AsType[*linkError](err)
		complain(&wrong, !ok || e.Reason != hung, "error %v", err)
		said, err := io.ReadAll(r) // ends when nobody can write to it any more
		complain(&wrong, err != nil || len(said) == 0, "the program in the background said %q, %v", said, err)
		err = i.Close()
		complain(&wrong, err != nil, "closed: %v", err)
		return wrong
	})
}

// A run that is told to stop kills the command, and Close mends.
func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	expect.Must(t, syscall.Mkfifo(pipe, 0o600))
	o := options(dir)
	o.Down += fmt.Sprintf("; echo > '%s'; sleep 1000", pipe)
	i := open(t, o)
	ctx, cancel := context.WithCancelCause(t.Context())
	told := errors.New("told to")
	go func() {
		os.ReadFile(pipe) // the link is down, and the command still runs
		cancel(told)
	}()
	expect.Is(t, i.Down(ctx, []topology.Link{link}), told)
	expect.True(t, isDown(t, dir, link), "the link is not down")
	closed(t, i, o.Journal)
	expect.True(t, !isDown(t, dir, link), "the link was left down")
}

// A panic that is on its way passes Close.
func TestPanic(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	func() {
		defer func() { recover() }()
		i := open(t, o)
		defer closed(t, i, o.Journal)
		expect.OK(t, i.Down(t.Context(), []topology.Link{link}))
		panic("on its way")
	}()
	expect.True(t, !isDown(t, dir, link), "the link was left down")
}

// victim takes two links down and waits to be killed.
func victim(dir string) {
	i, err := Open(options(dir))
	if err == nil {
		err = i.Down(context.Background(), []topology.Link{link, other})
	}
	fmt.Println("down", err)
	select {}
}

// A killed run leaves links down; the next one says so and refuses, and Restore
// brings them up.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "EVBENCH_TEST_INJECT="+dir)
	out := expect.Value(cmd.StdoutPipe())(t)
	expect.Must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	expect.False(t, !lines.Scan() || lines.Text() != "down <nil>", "the run said %q", lines.Text())

	_, err := Open(o)
	expect.Error(t, err, fmt.Sprintf(", process %d, since ", cmd.Process.Pid))
	expect.Error(t, expect.Err(Restore(t.Context(), o.Journal, false, func(string) {})), "in use by a run on")
	cmd.Process.Kill()
	cmd.Wait()

	_, err = Open(o)
	expect.MustTrue(t, err != nil && strings.Contains(err.Error(), "leaf0-spine3, leaf1-spine0 were left down by a run on "),
		"after a killed run: %v", err)
	if err := os.Remove(filepath.Join(dir, other.String())); err != nil { // somebody has mended it
		t.Fatal(err)
	}
	r := restored(t, o.Journal)
	expect.True(t, len(r.Links) == 2 && r.Links[0].Outcome == broughtUp && r.Links[1].Outcome == wasUp && !isDown(t, dir, link), "restored: %+v", r)
	expect.Equal(t, len(restored(t, o.Journal).Links), 0, "restored again")
	closed(t, open(t, o), o.Journal)
}

func restored(t *testing.T, journal string) *Account {
	t.Helper()
	r, err := Restore(t.Context(), journal, false, func(string) {})
	expect.OK(t, err, "Restore")
	return r
}

// A command may leave somebody behind who keeps its output open.
func TestBackground(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	o.Down = "sleep 3 & " + o.Down
	i := open(t, o)
	expect.OK(t, i.Down(t.Context(), []topology.Link{link}))
	closed(t, i, o.Journal)
}

// probed is the state of a link now.
func probed(t *testing.T, i *Injector, l topology.Link) (linkState, error) {
	t.Helper()
	r, err := i.recipe(l)
	if err != nil {
		return linkUnknown, err
	}
	a, err := i.operate.probe(t.Context(), r.Probe)
	return a.state, err
}
