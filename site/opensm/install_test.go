package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/internal/trust"
	"evbench/plan"
	"evbench/scheduler/schedules"
	"evbench/site/netfile"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// A fake is a subnet manager within the test: it takes the signal, loads the file
// and logs, or does what its answer says instead. On a busy machine a signal comes late, from a test before that did
// not wait for its answer, or twice: what is answered depends on the file that is there, not on how many came.
type fake struct {
	Manager
	answer func(f *fake) string

	mu     sync.Mutex
	held   []byte // what the switches hold
	silent bool   // ReadBack fails
}

const (
	loadedLog = "osm_ucast_mgr_process: file tables configured on all switches\nx -> SUBNET UP\n"
	minhopLog = "do_ucast_file_load: ERR 6302: cannot parse\nosm_ucast_mgr_process: minhop tables configured on all switches\nx -> SUBNET UP\n"
)

// loads takes the file, if there is one.
func loads(f *fake) string {
	if text, err := os.ReadFile(filepath.Join(f.Dir, LFTsFile)); err == nil {
		f.held = text
	}
	return loadedLog
}

// given reports whether the tables file in the directory is the one that r writes.
func (f *fake) given(r *Routes) bool {
	files, err := r.texts(f.Dir)
	text, missing := os.ReadFile(filepath.Join(f.Dir, LFTsFile))
	return errors.Join(err, missing) == nil && bytes.Equal(text, files[0].Text)
}

// sink takes every signal too, so that a late one does not end the test.
var sink = make(chan os.Signal, 1)

// serve answers signals. The switches hold these tables.
func serve(t *testing.T, held *Routes, answer func(f *fake) string) *fake {
	t.Helper()
	f := &fake{answer: answer}
	var err error
	f.held, err = dump(held.Tables)
	expect.Must(t, err)
	f.Dir, f.LogFile = t.TempDir(), filepath.Join(t.TempDir(), "log")
	log, err := os.OpenFile(f.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) // stays open, as OpenSM's
	expect.Must(t, err)
	f.ReadBack = f.read
	f.find = self
	hup, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(sink, syscall.SIGHUP)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		defer close(done)
		for range hup {
			f.mu.Lock()
			text := f.answer(f)
			f.mu.Unlock()
			if _, err := log.WriteString(text); err != nil {
				panic(err)
			}
		}
	}()
	t.Cleanup(func() {
		signal.Stop(hup)
		close(hup)
		<-done
		log.Close()
	})
	return f
}

func (f *fake) install(t *testing.T, r *Routes) {
	t.Helper()
	expect.Must(t, expect.Err(f.Install(t.Context(), r)))
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
	n := networkOf(t, tree.Wires, 1)
	first = compute(t, build(t, tree, plan.Options{Schedule: "linear-shift"}), n, 1)
	second = compute(t, build(t, treeOf(t, "FT(2;2,3)", "leaf0-spine0"), plan.Options{Schedule: "fors", Objective: schedules.FewestPaths}), n, 1)
	return first, second
}

//gate:race
func TestInstall(t *testing.T) {
	first, second := twoPlans(t)
	f := serve(t, first, loads)
	for i, r := range []*Routes{first, second, first} {
		changed, err := f.Install(t.Context(), r)
		expect.False(t, (changed > 0) != (i > 0) || err != nil, "%d entries changed, %v", changed, err)
		files, err := r.texts(f.Dir)
		held, _ := f.read(t.Context(), 0)
		expect.False(t, err != nil || i > 0 && !bytes.Equal(held, files[0].Text), "the switches hold something else, %v", err)
	}
}

// TestInstallIsUndone: the tables of before the first installation come back, by this process or by
// another one, with the files that were there.
//
//gate:race
func TestInstallIsUndone(t *testing.T) {
	first, second := twoPlans(t)
	for _, lends := range []bool{true, false} {
		f := serve(t, first, loads)
		expect.Must(t, os.WriteFile(filepath.Join(f.Dir, ConfFile), []byte("# mine\n"), 0o600))
		i := f.Installation(lends)
		for range 2 {
			expect.Must(t, expect.Err(i.Install(t.Context(), second)))
		}
		if lends {
			other := Manager{Dir: f.Dir, LogFile: f.LogFile, ReadBack: f.ReadBack, find: self}
			expect.Is(t, expect.Err(other.Install(t.Context(), first)), trust.ErrLocked)
			expect.Must(t, i.Undo(t.Context()))
		} else {
			undo := func(x companion.Former) (companion.Switches, companion.Tables, error) {
				tables, err := Former(x.Files)
				return &f.Manager, tables, err
			}
			_, _, err := companion.Undo(t.Context(), f.Dir, undo)
			expect.Is(t, err, trust.ErrLocked)
			expect.Error(t, err, fmt.Sprintf("process %d on ", os.Getpid()))
			expect.Must(t, i.Close())
			former, changed, err := companion.Undo(t.Context(), f.Dir, undo)
			expect.False(t, former.Kind != Kind || changed == 0 || err != nil, "%+v, %d, %v", former, changed, err)
		}
		want := expect.Value(dump(first.Tables))(t)
		for name, want := range map[string]string{LFTsFile: string(want), ConfFile: "# mine\n", PathsFile: "", companion.FormerFile: ""} {
			if text, _ := os.ReadFile(filepath.Join(f.Dir, name)); string(text) != want {
				t.Errorf("lent %v: %s is %q", lends, name, text)
			}
		}
		expect.True(t, bytes.Equal(f.held, want), "lent %v: the switches hold others", lends)
	}
}

// A short Wait limits the way there, not the way back.
func TestShortWait(t *testing.T) {
	first, second := twoPlans(t)
	f := serve(t, first, func(f *fake) string {
		if f.given(second) {
			return ""
		}
		return loads(f)
	})
	f.Wait = time.Nanosecond
	expect.Error(t, expect.Err(f.Put(t.Context(), second)), "not within 1ns")
	_, _, err := f.Restore(t.Context(), first)
	expect.OK(t, err)
	held, _ := f.read(t.Context(), 0)
	expect.True(t, bytes.Equal(held, expect.Value(dump(first.Tables))(t)), "the switches hold others")
}

// TestInstallTables installs tables that are no plan's, after a plan's, and does not those that
// lose packets.
//
//gate:race
//gate:weekly13
func TestInstallTables(t *testing.T) {
	plan, _ := twoPlans(t)
	f := serve(t, plan, loads)
	f.install(t, plan)
	r := expect.Value(OfTables(plan.Tables.Clone("sar", plan.Net)))(t)
	f.install(t, r)
	conf, err := os.ReadFile(filepath.Join(f.Dir, ConfFile))
	expect.False(t, err != nil || !strings.HasPrefix(string(conf), "# for tables of the engine sar\nrouting_engine file,no_fallback\n"), "%s, %v", conf, err)
	for name, there := range map[string]bool{PathsFile: false, LIDsFile: true} {
		if _, err := os.Stat(filepath.Join(f.Dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan.Tables.LaneRow(0)[1] = 1
	expect.Error(t, expect.Err(OfTables(plan.Tables)), "need 2 virtual lanes")
	plan.Tables.LaneRow(0)[1] = 0
	plan.Tables.Row(0)[plan.Net.Info(0).LID] = 255
	expect.Error(t, expect.Err(OfTables(plan.Tables)), "missing entry")
}

// TestInstallRestores has OpenSM fail once the second plan is to be loaded, and the caller give up.
//
//gate:race
func TestInstallRestores(t *testing.T) {
	gone := errors.New("asked to stop")
	for _, c := range []struct {
		name  string
		bad   func(f *fake) string
		after func(f *fake) string // the answer for the second plan, before and after that
		says  []string
	}{
		{"keeps its tables", func(*fake) string { return loadedLog }, loads,
			[]string{"asked to stop", "OpenSM has not loaded the tables, the switches hold their former ones", "the former tables are back"}},
		{"a switch keeps its table", func(f *fake) string {
			before := f.held
			loads(f)
			at := func(text []byte) int { return 1 + bytes.Index(text[1:], []byte("Unicast lids")) }
			f.held = append(bytes.Clone(before[:at(before)]), f.held[at(f.held):]...)
			return loadedLog
		}, loads, []string{"not all switches have taken their tables: s1_0: tables read back differ in", "the former tables are back"}},
		{"cannot be read", func(f *fake) string {
			f.silent = true
			return loads(f)
		}, func(f *fake) string {
			f.silent = false
			return loads(f)
		}, []string{"read tables back: no answer", "the former tables are back"}},
		{"reads as nonsense", func(f *fake) string {
			f.held = []byte("nonsense")
			return loadedLog
		}, loads, []string{"read tables back: no forwarding table", "the former tables are back"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := twoPlans(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			f := serve(t, first, func(f *fake) string {
				if !f.given(first) {
					return c.after(f)
				}
				cancel(gone)
				return c.bad(f)
			})
			f.install(t, second)
			expect.Must(t, errors.Join(f.Close(), os.Remove(filepath.Join(f.Dir, companion.FormerFile))))
			files, err := second.texts(f.Dir)
			expect.Must(t, err)
			f.puts = nil // another process
			_, err = f.Install(ctx, first)
			if e, ok := errors.AsType[*companion.InstallError](err); !ok || e.Unwrap() == nil || !errors.Is(err, gone) {
				t.Fatalf("%v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v, want %q", err, s)
				}
			}
			for _, file := range files {
				expect.Equal(t, expect.Value(os.ReadFile(filepath.Join(f.Dir, file.Name)))(t), file.Text, "%s is not the earlier one", file.Name)
			}
		})
	}
}

// TestInstallSaysWhy: what the log says ends the waiting.
//
//gate:race
func TestInstallSaysWhy(t *testing.T) {
	first, second := twoPlans(t)
	f := serve(t, first, func(*fake) string { return minhopLog })
	_, err := f.Install(t.Context(), second)
	for _, s := range []string{"OpenSM has not loaded the tables", "by minhop, not from the file", "ERR 6302", "the former tables are back"} {
		if _, ok := errors.AsType[*companion.InstallError](err); !ok || !strings.Contains(err.Error(), s) {
			t.Errorf("%v, want %q", err, s)
		}
	}
}

// TestInstallLosesMaster: another subnet manager becomes master while OpenSM is to load tables, or OpenSM ends.
//
//gate:race
func TestInstallLosesMaster(t *testing.T) {
	for want, lose := range map[string]func(f *fake){
		"is not master of the subnet: that is the subnet manager at port GUID 0x00000000000002c9": func(f *fake) {
			f.Master = Command("echo", "sm guid 0x2c9, activity count 123 priority 14 state 3 SMINFO_MASTER")
		},
		"OpenSM: gone": func(f *fake) {
			f.find = func(string, string) (*Process, error) { return nil, errors.New("gone") }
		},
	} {
		first, second := twoPlans(t)
		f := serve(t, first, loads)
		f.find = func(string, string) (*Process, error) {
			p, err := self("", "")
			p.set.guid = 0x2c8
			return p, err
		}
		f.Master = Command("echo", "sm guid 0x2c8, activity count 123 priority 14 state 3 SMINFO_MASTER")
		f.install(t, first)
		read := f.ReadBack
		f.ReadBack = func(ctx context.Context, most int) ([]byte, error) {
			if text, _ := os.ReadFile(filepath.Join(f.Dir, LFTsFile)); !bytes.Equal(text, f.held) {
				lose(f)
			}
			return read(ctx, most)
		}
		f.mu.Lock()
		f.answer = func(*fake) string { return "" }
		f.mu.Unlock()
		_, err := f.Install(t.Context(), second)
		for _, s := range []string{want, "OpenSM has not loaded the tables, the switches hold their former ones", "the former tables are back"} {
			if _, tried := errors.AsType[*companion.InstallError](err); !tried || !strings.Contains(err.Error(), s) {
				t.Errorf("%v, want %q", err, s)
			}
		}
	}
}

// TestInstallTimesOut where OpenSM does nothing.
//
//gate:race
func TestInstallTimesOut(t *testing.T) {
	first, second := twoPlans(t)
	f := serve(t, first, func(*fake) string { return "" })
	f.Wait = 1 // ns
	_, err := f.Install(t.Context(), second)
	if _, ok := errors.AsType[*companion.InstallError](err); !ok || !strings.Contains(err.Error(), "not within 1ns: ") {
		t.Errorf("%v", err)
	}
}

// TestInstallChecksFirst changes nothing where it cannot succeed.
//
//gate:race
func TestInstallChecksFirst(t *testing.T) {
	masterIs := func(says string) Reader { return Command("echo", says) }
	for _, c := range []struct {
		says  string
		spoil func(f *fake, r *Routes)
	}{
		{"neither auto nor a process that can be signalled", func(f *fake, _ *Routes) { f.find, f.Process = nil, "0" }},
		{"OpenSM: process 1073741823: os: process already finished; auto finds the one that runs here", func(f *fake, _ *Routes) { f.find, f.Process = nil, "1073741823" }},
		{"reads its tables from /elsewhere/evbench.lfts, not from ", func(f *fake, _ *Routes) {
			f.find = func(string, string) (*Process, error) {
				p, err := self("", "")
				p.set.known, p.set.engine, p.set.lfts = true, "file,no_fallback", "/elsewhere/"+LFTsFile
				return p, err
			}
		}},
		{"is not master of the subnet: that is the subnet manager at port GUID 0x00000000000002c9", func(f *fake, _ *Routes) {
			f.Master = masterIs("sminfo: sm lid 1 sm guid 0x2c9, activity count 123 priority 14 state 3 SMINFO_MASTER")
			f.find = func(string, string) (*Process, error) {
				p, err := self("", "")
				p.set.guid = 0x2c8
				return p, err
			}
		}},
		{"SMINFO_STANDBY\\n\" is of another", func(f *fake, _ *Routes) {
			f.Master = masterIs("sminfo: sm lid 1 sm guid 0x2c9, activity count 123 priority 14 state 2 SMINFO_STANDBY")
		}},
		{"which subnet manager is master: ", func(f *fake, _ *Routes) { f.Master = masterIs("iberror: query failed") }},
		{"which subnet manager is master: false: exit status 1", func(f *fake, _ *Routes) { f.Master = Command("false") }},
		{"no way to read", func(f *fake, _ *Routes) { f.ReadBack = nil }},
		{"as they are: no-such-program", func(f *fake, _ *Routes) { f.ReadBack = Command("no-such-program") }},
		{"as they are: sh: exit status 3: sorry", func(f *fake, _ *Routes) { f.ReadBack = Command("sh", "-c", "echo sorry >&2; exit 3") }},
		{"as they are: yes prints more than ", func(f *fake, _ *Routes) { f.ReadBack = Command("yes") }},
		{"restart it with", func(_ *fake, r *Routes) { r.kept = false }},
		{"the network has no LIDs: read it again", func(_ *fake, r *Routes) {
			r.kept = false
			var text bytes.Buffer
			_ = netfile.WriteIB(&text, r.Net)
			r.before, _ = netfile.ReadIB(bytes.NewReader(regexp.MustCompile(`lid \d+`).ReplaceAll(text.Bytes(), []byte("lid 0"))))
		}},
		{"missing entry", func(_ *fake, r *Routes) { r.Tables.Row(0)[4] = 255 }},
	} {
		t.Run(c.says, func(t *testing.T) {
			first, _ := twoPlans(t)
			f := serve(t, first, loads)
			c.spoil(f, first)
			_, err := f.Install(t.Context(), first)
			if _, tried := errors.AsType[*companion.InstallError](err); err == nil || tried || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(f.Dir); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// TestUndoSays what the switches hold where the former tables do not come back: not those.
func TestUndoSays(t *testing.T) {
	first, second := twoPlans(t)
	f := serve(t, first, func(f *fake) string {
		if f.given(second) {
			return loads(f)
		}
		return ""
	})
	i := f.Installation(true)
	expect.Must(t, expect.Err(i.Install(t.Context(), second)))
	f.Wait, f.back = time.Millisecond, time.Millisecond
	err := i.Undo(t.Context())
	expect.Error(t, err, "THE FORMER TABLES ARE NOT RESTORED (evbench routes undo "+f.Dir+"): ", "the switches still hold those that evbench installed")
	expect.True(t, !strings.Contains(err.Error(), "their former ones"), "%v", err)
	f.mu.Lock()
	f.answer = loads
	f.mu.Unlock()
	f.Wait, f.back = 0, 0
	expect.Must(t, i.Undo(t.Context()))
}

// others returns the tables of a dump but for the first switch.
func others(dump []byte) []byte {
	_, rest, _ := bytes.Cut(dump, []byte("dumped\n"))
	return rest
}

// TestUndoWithoutASwitch: a switch that died meanwhile is no obstacle, because OpenSM gives it its table when it
// is back; one that never takes its table is given up.
func TestUndoWithoutASwitch(t *testing.T) {
	first, second := twoPlans(t)
	f := serve(t, first, loads)
	i := f.Installation(true)
	expect.Must(t, expect.Err(i.Install(t.Context(), second)))
	whole := f.ReadBack
	f.ReadBack = func(ctx context.Context, most int) ([]byte, error) {
		text, err := whole(ctx, most)
		return others(text), err
	}
	expect.Must(t, i.Undo(t.Context()))

	f.ReadBack = whole
	expect.Must(t, expect.Err(i.Install(t.Context(), second)))
	held := expect.Value(whole(t.Context(), 0))(t)
	stuck := bytes.TrimSuffix(held, others(held))
	f.ReadBack = func(ctx context.Context, most int) ([]byte, error) {
		text, err := whole(ctx, most)
		return append(bytes.Clone(stuck), others(text)...), err
	}
	f.Wait, f.back = time.Second, time.Second
	expect.Error(t, i.Undo(t.Context()), "not all switches have taken their tables: s1_0: ")
	expect.Must(t, i.Close())
	f.back = 0
	_, _, err := companion.Undo(t.Context(), f.Dir, func(x companion.Former) (companion.Switches, companion.Tables, error) {
		tables, err := Former(x.Files, "s1_0")
		return &f.Manager, tables, err
	})
	expect.Must(t, err)
}

// TestInstallUnwritable: a file that cannot be replaced, here because it is a mount, is an error before or after
// others are written; then the former ones are there, and nothing is said of former tables that are lost.
//
//gate:race
func TestInstallUnwritable(t *testing.T) {
	need.Namespaces(t)
	if !expect.OwnMounts(t) {
		return
	}
	for _, name := range []string{LFTsFile, ConfFile} {
		first, second := twoPlans(t)
		f := serve(t, first, loads)
		expect.Must(t, put(f.Dir, expect.Value(first.texts(f.Dir))(t)))
		mount := filepath.Join(f.Dir, name)
		expect.Must(t, unix.Mount(mount, mount, "", unix.MS_BIND, ""))
		_, err := f.Install(t.Context(), second)
		expect.Error(t, err, name, "device or resource busy", "the former tables are back, read back and compared")
		for _, file := range expect.Value(first.texts(f.Dir))(t) {
			expect.Equal(t, expect.Value(os.ReadFile(filepath.Join(f.Dir, file.Name)))(t), file.Text, "%s with a mount on %s", file.Name, name)
		}
		_, err = os.Stat(filepath.Join(f.Dir, companion.FormerFile))
		expect.Is(t, err, os.ErrNotExist)
		expect.Must(t, errors.Join(f.Close(), unix.Unmount(mount, 0)))
	}
}

func TestCommand(t *testing.T) {
	out, err := Command("sh", "-c", "echo $0", "word")(t.Context(), 9)
	expect.False(t, err != nil || string(out) != "word\n", "%q, %v", out, err)
}
