package live

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/internal/expect"
	"evbench/topology"
)

// nowhere is a browser that takes everything.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Flush()                      {}

// BenchmarkFollow is what a browser costs with 64 servers: drawing and sending what an
// interval changes, what a dead link does, and what the end of a slice does.
func BenchmarkFollow(b *testing.B) {
	text := "topology: FT(2;8,8)\ncontrol: off\nduration: 24s\nrounds: 2\ncases:\n"
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		text += "  - {name: " + name + ", schedule: fors, failures: [leaf0-spine0]}\n"
	}
	l, err := Listen(b.Context(), "127.0.0.1:0")
	expect.Must(b, err)
	s := Serve(l, slog.New(slog.DiscardHandler))
	defer s.End("") //nolint:errcheck // nobody is there
	x := NewStory(b, strings.TrimSpace(text)+"\n", s.Take)
	for i := range x.Cases {
		x.Slice(1, i, 5)
	}
	out, sent := stream{nowhere{}, http.NewResponseController(nowhere{})}, map[string]int{}
	draw := func(b *testing.B, events ...bench.Event) {
		for n := 0; b.Loop(); n++ {
			if n%24 == 0 { // the next slice
				x.Say(x.Of(2, 1), bench.Installing{})
			}
			for _, e := range events {
				x.Say(x.Of(2, 1), e)
			}
			parts, _, err := s.draw()
			if err == nil {
				err = out.parts(parts, sent)
			}
			expect.Must(b, err)
		}
	}
	b.Run("interval", func(b *testing.B) {
		draw(b, bench.Measuring{Elapsed: time.Second, Interval: 5, EventsPerSec: 5})
	})
	b.Run("links", func(b *testing.B) {
		draw(b, bench.LinksChanged{Down: []topology.Link{{Leaf: 3, Spine: 3}}}, bench.LinksChanged{Up: []topology.Link{{Leaf: 3, Spine: 3}}})
	})
	b.Run("slice", func(b *testing.B) {
		draw(b, bench.Installing{}, bench.RoundDone{Summary: x.Standing()})
	})
}
