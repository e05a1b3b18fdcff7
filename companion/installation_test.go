package companion

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"evbench/internal/expect"
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

// What was installed last comes back where somebody else has changed it, but not after Undo.
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
