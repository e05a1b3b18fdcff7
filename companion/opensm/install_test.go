package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/scheduler"
)

// A fake is a subnet manager within the test: it takes the signal, loads the file
// and logs, or does what its answer says instead.
type fake struct {
	InstallOptions
	answer []func(f *fake) string

	mu     sync.Mutex
	held   []byte // what the switches hold
	silent bool   // ReadBack fails
}

const (
	loadedLog = "osm_ucast_mgr_process: file tables configured on all switches\nx -> SUBNET UP\n"
	minhopLog = "do_ucast_file_load: ERR 6302: cannot parse\nosm_ucast_mgr_process: minhop tables configured on all switches\nx -> SUBNET UP\n"
)

// loads takes the file.
func loads(f *fake) string {
	f.held, _ = os.ReadFile(filepath.Join(f.Dir, LFTsFile))
	return loadedLog
}

// sink takes every signal too, so that a late one does not end the test.
var sink = make(chan os.Signal, 1)

// serve answers signals, one answer each, the last for ever.
func serve(t *testing.T, answer ...func(f *fake) string) *fake {
	t.Helper()
	f := &fake{answer: answer}
	f.Dir, f.PID, f.Wait, f.LogFile = t.TempDir(), os.Getpid(), time.Minute, filepath.Join(t.TempDir(), "log")
	expect.Must(t, os.WriteFile(f.LogFile, []byte("before: "+loadedLog), 0o644))
	f.ReadBack = f.read
	f.find = self
	hup, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(sink, syscall.SIGHUP)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		defer close(done)
		for range hup {
			f.mu.Lock()
			text := f.answer[0](f)
			f.mu.Unlock()
			if len(f.answer) > 1 {
				f.answer = f.answer[1:]
			}
			log, err := os.OpenFile(f.LogFile, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = log.WriteString(text)
				err = errors.Join(err, log.Close())
			}
			if err != nil {
				panic(err)
			}
		}
	}()
	t.Cleanup(func() {
		signal.Stop(hup)
		close(hup)
		<-done
	})
	return f
}

func (f *fake) read(context.Context, int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silent {
		return nil, errors.New("no answer")
	}
	return f.held, nil
}

func twoPlans(t *testing.T) (first, second *Routes) {
	t.Helper()
	tree := treeOf(t, "FT(2;2,3)")
	n := networkOf(t, tree, 1)
	first = compute(t, build(t, tree, plan.Options{Schedule: "linear-shift"}), n, 1)
	second = compute(t, build(t, treeOf(t, "FT(2;2,3)", "leaf0-spine0"), plan.Options{Schedule: "fors", Objective: scheduler.FewestPaths}), n, 1)
	return first, second
}

func TestInstall(t *testing.T) {
	first, second := twoPlans(t)
	f := serve(t, loads)
	for _, r := range []*Routes{first, second} {
		expect.Must(t, Install(t.Context(), r, f.InstallOptions))
		files, err := r.files(f.Dir)
		held, _ := f.read(t.Context(), 0)
		if err != nil || !bytes.Equal(held, files[0].Text) {
			t.Errorf("the switches hold something else, %v", err)
		}
	}
	old, err := os.ReadFile(filepath.Join(f.Dir, LFTsFile+".old"))
	files, errFiles := first.files(f.Dir)
	if err = errors.Join(err, errFiles); err != nil || !bytes.Equal(old, files[0].Text) {
		t.Errorf("the earlier file was not kept: %v", err)
	}
}

// TestInstallTables installs tables that are no plan's, after a plan's, and does not those that
// lose packets.
func TestInstallTables(t *testing.T) {
	plan, _ := twoPlans(t)
	f := serve(t, loads)
	expect.Must(t, Install(t.Context(), plan, f.InstallOptions))
	r, err := OfTables(plan.Tables.Clone("sar", plan.Net))
	expect.Must(t, err)
	expect.Must(t, Install(t.Context(), r, f.InstallOptions))
	conf, err := os.ReadFile(filepath.Join(f.Dir, ConfFile))
	if err != nil || !strings.HasPrefix(string(conf), "# for tables of the engine sar\nrouting_engine file,no_fallback\n") {
		t.Errorf("%s, %v", conf, err)
	}
	for name, there := range map[string]bool{PathsFile: false, PathsFile + ".old": true, LIDsFile: true} {
		if _, err := os.Stat(filepath.Join(f.Dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan.Tables.LaneRow(0)[1] = 1
	if _, err := OfTables(plan.Tables); err == nil || !strings.Contains(err.Error(), "need 2 virtual lanes") {
		t.Errorf("%v", err)
	}
	plan.Tables.LaneRow(0)[1] = 0
	plan.Tables.Row(0)[plan.Net.Info(0).LID] = 255
	if _, err := OfTables(plan.Tables); err == nil || !strings.Contains(err.Error(), "missing entry") {
		t.Errorf("%v", err)
	}
}

// TestInstallRestores has each step fail once the second plan is to be loaded.
func TestInstallRestores(t *testing.T) {
	for _, c := range []struct {
		name   string
		bad    func(f *fake) string
		after  func(f *fake) string // the answer to the signal after restoring
		loaded bool
		says   []string
	}{
		{"falls back to minhop", func(*fake) string { return minhopLog }, loads, true,
			[]string{"by minhop, not from the file", "ERR 6302", "the earlier files are back and OpenSM has loaded them"}},
		{"keeps its tables", func(*fake) string { return loadedLog }, loads, true, []string{"differ in", "not port"}},
		{"cannot be read", func(f *fake) string {
			f.silent = true
			return loads(f)
		}, loads, true, []string{"read tables back: no answer"}},
		{"reads as nonsense", func(f *fake) string {
			f.held = []byte("nonsense")
			return loadedLog
		}, loads, true, []string{"tables read back: no forwarding table"}},
		{"never comes back", func(*fake) string { return minhopLog }, func(*fake) string { return minhopLog }, false,
			[]string{"HAS NOT LOADED THEM", "by minhop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := twoPlans(t)
			f := serve(t, loads, c.bad, c.after)
			o := f.InstallOptions
			expect.Must(t, Install(t.Context(), first, o))
			before, err := first.files(o.Dir)
			expect.Must(t, err)
			err = Install(t.Context(), second, o)
			e, ok := errors.AsType[*InstallError](err)
			if !ok || !e.restored || e.loaded != c.loaded || e.Unwrap() == nil {
				t.Fatalf("%v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v, want %q", err, s)
				}
			}
			for _, file := range before {
				if now, err := os.ReadFile(filepath.Join(o.Dir, file.Name)); err != nil || !bytes.Equal(now, file.Text) {
					t.Errorf("%s is not the earlier one, %v", file.Name, err)
				}
			}
		})
	}
}

// TestInstallIsCancelled while OpenSM works: the earlier files come back all the
// same.
func TestInstallIsCancelled(t *testing.T) {
	first, second := twoPlans(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("asked to stop")
	f := serve(t, loads, func(*fake) string {
		cancel(gone)
		return "nothing yet\n"
	}, loads)
	expect.Must(t, Install(t.Context(), first, f.InstallOptions))
	err := Install(ctx, second, f.InstallOptions)
	if e, ok := errors.AsType[*InstallError](err); !ok || !e.loaded || !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// TestInstallTimesOut where OpenSM does nothing, as with a wrong log.
func TestInstallTimesOut(t *testing.T) {
	first, _ := twoPlans(t)
	f := serve(t, func(*fake) string { return "" })
	f.Wait = 1 // ns
	f.InstallOptions.ReadBack = func(context.Context, int) ([]byte, error) { return nil, nil }
	err := Install(t.Context(), first, f.InstallOptions)
	e, ok := errors.AsType[*InstallError](err)
	if !ok || !e.restored || !strings.Contains(err.Error(), "not within 1ns") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, LFTsFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}

// TestInstallChecksFirst changes nothing where it cannot succeed.
func TestInstallChecksFirst(t *testing.T) {
	for _, c := range []struct {
		says  string
		spoil func(f *fake, r *Routes)
	}{
		{"not a process", func(f *fake, _ *Routes) { f.PID = 0 }},
		{"OpenSM, process 1073741823: os: process already finished", func(f *fake, _ *Routes) { f.PID = 1<<30 - 1 }},
		{"OpenSM's log", func(f *fake, _ *Routes) { f.LogFile += "x" }},
		{"no way to read", func(f *fake, _ *Routes) { f.ReadBack = nil }},
		{"as they are: no-such-program", func(f *fake, _ *Routes) { f.ReadBack = Command("no-such-program") }},
		{"as they are: sh: exit status 3: sorry", func(f *fake, _ *Routes) { f.ReadBack = Command("sh", "-c", "echo sorry >&2; exit 3") }},
		{"as they are: yes prints more than ", func(f *fake, _ *Routes) { f.ReadBack = Command("yes") }},
		{"start it once with", func(_ *fake, r *Routes) { r.kept = false }},
		{"missing entry", func(_ *fake, r *Routes) { r.Tables.Row(0)[4] = 255 }},
	} {
		t.Run(c.says, func(t *testing.T) {
			first, _ := twoPlans(t)
			f := serve(t, loads)
			c.spoil(f, first)
			err := Install(t.Context(), first, f.InstallOptions)
			if _, tried := errors.AsType[*InstallError](err); err == nil || tried || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(f.Dir); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	out, err := Command("sh", "-c", "echo $0", "word")(t.Context(), 9)
	if err != nil || string(out) != "word\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestInstallErrorSaysWhatIsLeft of all four outcomes.
func TestInstallErrorSaysWhatIsLeft(t *testing.T) {
	why, cause := errors.New("disk full"), errors.New("differ")
	for _, c := range []struct {
		e    InstallError
		want string
	}{
		{InstallError{cause, false, false, why}, "differ; THE EARLIER FILES ARE NOT BACK: disk full"},
		{InstallError{cause, true, false, nil}, "differ; there was no earlier file of tables"},
		{InstallError{cause, true, false, why}, "differ; the earlier files are back, but OpenSM HAS NOT LOADED THEM: disk full"},
		{InstallError{cause, true, true, nil}, "differ; the earlier files are back and OpenSM has loaded them"},
	} {
		if got := fmt.Sprint(&c.e); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
