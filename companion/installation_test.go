package companion

import (
	"context"
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
