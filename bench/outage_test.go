package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// A link that is back is not used for a while, and what overlaps is one.
func TestUnused(t *testing.T) {
	a, b := topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 2, Spine: 0}
	for _, tt := range []struct {
		name string
		hold time.Duration
		in   []scenario.Timed
		want string
	}{
		{"nothing", 0, nil, ""},
		{"until the end", 0, []scenario.Timed{{Links: []topology.Link{a}, At: 3}}, "leaf0-spine1 3+0"},
		{"two links", 0, []scenario.Timed{{Links: []topology.Link{b, a}, At: 3, For: 4}}, "leaf0-spine1 3+4 leaf2-spine0 3+4"},
		{"held", 2, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 4}}, "leaf0-spine1 3+6"},
		{"held to the end", 20, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 4}}, "leaf0-spine1 3+0"},
		{"flaps", 0, []scenario.Timed{{Links: []topology.Link{a}, At: 6, For: 1}, {Links: []topology.Link{a}, At: 3, For: 1}}, "leaf0-spine1 3+1 leaf0-spine1 6+1"},
		{"flaps held", 2, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 1}, {Links: []topology.Link{a}, At: 6, For: 1}}, "leaf0-spine1 3+6"},
		{"flaps held to the end", 9, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 1}, {Links: []topology.Link{a}, At: 6, For: 9}, {Links: []topology.Link{a}, At: 17, For: 1}}, "leaf0-spine1 3+0"},
	} {
		var got []string
		for _, f := range outages(tt.in, tt.hold, 20) {
			got = append(got, fmt.Sprintf("%s %d+%d", f.Name, f.At, f.For))
		}
		expect.Equal(t, strings.Join(got, " "), tt.want, "%s", tt.name)
	}
	expect.Equal(t, longestOutage([]scenario.Timed{{At: 3, For: 4}, {At: 14}}, 20), 6, "longest outage")
}

// Rates are of whole intervals between two moments.
func TestSeries(t *testing.T) {
	var s series
	for i, bytes := range []uint64{100, 200, 300, 400} {
		for range 2 { // servers
			s.add(results.Sample{TSec: 0.1*float64(i+1) + 0.002, IntervalSec: 0.1, PayloadBytes: bytes})
		}
	}
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	for _, tt := range []struct {
		from, to int
		want     float64
	}{{0, 400, 500}, {0, 100, 200}, {50, 350, 500}, {300, 1000, 800}} {
		if got := s.rate(at(tt.from), at(tt.to), 10); got == nil || *got < tt.want-1e-6 || *got > tt.want+1e-6 {
			t.Errorf("%d to %d ms: %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
	if got := s.rate(at(110), at(290), 10); got != nil {
		t.Errorf("a rate of no interval: %v", *got)
	}
}
