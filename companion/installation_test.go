package companion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"evbench/internal/trust"
	"evbench/testing/disktest"
	"evbench/testing/expect"
	"evbench/testing/need"
)

type text string

func (t text) Files() ([]File, error) { return []File{{"tables", string(t)}}, nil }

// oneSwitch holds one text. Whoever changes it beside somebody else is found by the race detector.
type oneSwitch struct{ held text }

func (s *oneSwitch) Before(context.Context, Tables) (Tables, error) { return s.held, nil }

func (s *oneSwitch) Put(_ context.Context, want Tables) (int, error) {
	s.held = want.(text)
	return 1, nil
}

func (s *oneSwitch) Restore(ctx context.Context, former Tables) (int, Tables, error) {
	n, err := s.Put(ctx, former)
	return n, nil, err
}

// What was installed last comes back where somebody else has changed it, but not after Undo.
//
//gate:race
func TestInstallAgain(t *testing.T) {
	s := &oneSwitch{held: "before"}
	i := &Installation{Switches: s, Kind: "one", Dir: t.TempDir()}
	holds := func(_ context.Context, want Tables) error {
		if s.held != want {
			return errors.New("others")
		}
		return nil
	}
	again := func(want bool, held text) {
		t.Helper()
		done, err := i.Again(t.Context(), holds)
		expect.True(t, done == want && err == nil && s.held == held, "%v, %v, %s is held", done, err, s.held)
	}
	again(false, "before")
	for _, plan := range []text{"first", "second"} {
		expect.Must(t, expect.Err(i.Install(t.Context(), plan)))
	}
	again(false, "second")
	s.held = "somebody's"
	again(true, "second")
	expect.Must(t, i.Undo(t.Context()))
	again(false, "before")
}

// Whatever installs at once, the tables of before the first come back.
//
//gate:race
func TestInstallationsOverlap(t *testing.T) {
	s := &oneSwitch{held: "before"}
	i := &Installation{Switches: s, Kind: "one", Dir: t.TempDir(), Lends: true}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			_, err := i.Install(t.Context(), text(fmt.Sprint("plan ", n)))
			expect.OK(t, err)
		})
	}
	all.Wait()
	expect.True(t, s.held != "before", "%s is held", s.held)
	expect.Must(t, i.Undo(t.Context()))
	expect.Equal(t, s.held, "before", "held in the end")
}

// One owner at a time: who follows the network, or runs on lent tables, keeps others out until it is done.
func TestOneOwner(t *testing.T) {
	s, dir := &oneSwitch{held: "before"}, filepath.Join(t.TempDir(), "new")
	of := func(lends bool) *Installation {
		return &Installation{Switches: s, Kind: "one", Dir: dir, Lends: lends}
	}
	refused := func(i *Installation) {
		t.Helper()
		held := s.held
		for _, err := range []error{i.Own(), i.Check(t.Context(), text("mine")), expect.Err(i.Install(t.Context(), text("mine")))} {
			expect.Is(t, err, trust.ErrLocked)
			expect.Error(t, err, fmt.Sprintf("process %d on ", os.Getpid()))
		}
		expect.Equal(t, s.held, held, "held")
	}
	follow, run := of(false), of(true)
	expect.Must(t, follow.Own())
	refused(run)
	expect.Must(t, expect.Err(follow.Install(t.Context(), text("followed"))))
	refused(run)
	expect.Must(t, follow.Close())
	expect.Must(t, run.Check(t.Context(), text("lent")))
	refused(follow)
	expect.Must(t, expect.Err(run.Install(t.Context(), text("lent"))))
	refused(follow)
	expect.Must(t, run.Undo(t.Context()))
	expect.Equal(t, s.held, "followed", "held after the run")
	// What was to be undone before the run is to be undone after it.
	_, _, err := Undo(t.Context(), dir, func(f Former) (Switches, Tables, error) { return s, text(f.Files[0].Text), nil })
	expect.True(t, err == nil && s.held == "before", "%v, %s is held", err, s.held)
	left := expect.Value(os.ReadDir(dir))(t)
	expect.True(t, len(left) == 0, "%v is left", left)
}

// Who has lost the lock changes nothing more.
func TestOwnerIsLost(t *testing.T) {
	s, dir := &oneSwitch{held: "before"}, t.TempDir()
	one, two := &Installation{Switches: s, Dir: dir}, &Installation{Switches: s, Dir: dir}
	expect.Must(t, expect.Err(one.Install(t.Context(), text("one"))))
	expect.Must(t, os.Remove(filepath.Join(dir, OwnerFile)))
	expect.Must(t, expect.Err(two.Install(t.Context(), text("two"))))
	expect.Error(t, expect.Err(one.Install(t.Context(), text("three"))), "removed or replaced while this process had it locked")
	_, err := one.Again(t.Context(), func(context.Context, Tables) error { return errors.New("others") })
	expect.Error(t, err, "removed or replaced")
	expect.Equal(t, s.held, "two", "held")
}

// TestDiskFull: former tables that cannot be recorded are not replaced, and what was recorded before still is.
func TestDiskFull(t *testing.T) {
	need.Namespaces(t)
	if !expect.OwnMounts(t) {
		return
	}
	s, dir := &oneSwitch{held: "before"}, t.TempDir()
	expect.Must(t, syscall.Mount("none", dir, "tmpfs", 0, "size=32k"))
	defer func() { expect.Must(t, syscall.Unmount(dir, 0)) }()
	was := []byte(nil)
	for range 2 {
		s.held = text(strings.Repeat("x", 64<<10))
		i := &Installation{Switches: s, Kind: "one", Dir: dir}
		err := expect.Err(i.Install(t.Context(), text("mine")))
		expect.Is(t, err, syscall.ENOSPC)
		expect.True(t, len(s.held) == 64<<10, "%.9s is held", s.held)
		now := expect.Value(readFormer(dir))(t)
		expect.True(t, string(now) == string(was), "%.9q is recorded", now)
		left := expect.Value(os.ReadDir(dir))(t)
		expect.True(t, len(left) == min(1, len(was)), "%v is left", left)
		s.held = "before" // the next finds a record
		expect.Must(t, errors.Join(expect.Err(i.Install(t.Context(), text("mine"))), i.Close()))
		was = expect.Value(readFormer(dir))(t)
	}
}

// TestEachCallFails: whichever call fails, the former tables are in the switches or in FormerFile, and the error names the file.
func TestEachCallFails(t *testing.T) {
	s, dir := &oneSwitch{}, ""
	undo := func(f Former) (Switches, Tables, error) { return s, text(f.Files[0].Text), nil }
	disktest.Each(t, func() error {
		s.held, dir = "before", t.TempDir()
		i := &Installation{Switches: s, Kind: "one", Dir: dir, Lends: true}
		err := expect.Err(i.Install(t.Context(), text("mine")))
		if err == nil {
			err = i.Undo(t.Context())
		}
		return errors.Join(err, i.Close())
	}, func(call string, err error) {
		expect.Error(t, err, dir)
		line, readErr := readFormer(dir)
		expect.OK(t, readErr, "%s", call)
		if line != nil {
			expect.OK(t, expect.Err2(Undo(t.Context(), dir, undo)), "%s: %v, and undo", call, err)
		}
		left := expect.Value(os.ReadDir(dir))(t)
		expect.True(t, s.held == "before" && len(left) == 0, "%s: %v; %s is held, %v is left", call, err, s.held, left)
	})
}
