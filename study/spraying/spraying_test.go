package spraying

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"evbench/results"
	"evbench/sim"
	"evbench/topology"
	"evbench/topology/topologytest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// tiny is a network of six servers.
func tiny(t *testing.T) Options {
	return Options{
		Tree: topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}), Dead: []int{0, 1}, Draws: 2,
		Buffers: []int{1, 4}, Lanes: []int{1, 2}, BitPerSec: 1e11, Fragment: 32 << 10, Exchanges: 4,
		Network: sim.Lossless{Packet: 4096, Delay: 130 * time.Nanosecond, Cable: 50 * time.Nanosecond},
		Barrier: "tournament", Round: 500 * time.Nanosecond, Jitter: 200 * time.Nanosecond, Ways: Ways(), Seed: 1,
	}
}

func worked(t *testing.T, o Options) (all []Figure) {
	t.Helper()
	err := Work(t.Context(), o, func(f Figure) error { all = append(all, f); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The table of a tiny network, to the letter, whatever the number of processors.
func TestTable(t *testing.T) {
	o := tiny(t)
	figures := worked(t, o)
	o.Workers = 1
	if again := worked(t, o); !reflect.DeepEqual(figures, again) {
		t.Error("one worker has other figures")
	}
	var got bytes.Buffer
	if err := Table(o, figures).WriteText(&got); err != nil {
		t.Fatal(err)
	}
	const name = "testdata/tiny.txt"
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%s has changed (%v); -update rewrites it. Now:\n%s", name, err, got.String())
	}
}

// What holds of every row: servers around their mean, packets in order where paths are given
// and there is one lane (on several they overtake each other), and a synchronised shift
// without dead links at about the full rate between barriers (servers are late by 0.1 of a
// fragment, and cables and switches take as long).
func TestFigures(t *testing.T) {
	for _, f := range worked(t, tiny(t)) {
		sprayed := strings.HasSuffix(f.Way.Name, "spray") || strings.HasSuffix(f.Way.Name, "adaptive")
		switch {
		case f.Least.Median > f.Share.Median || f.Most.Median < f.Share.Median || f.Most.Max > 1.001:
			t.Errorf("%+v: servers", f)
		case !sprayed && f.Lanes == 1 && (f.Early.Max > 0 || f.Held.Max > 0):
			t.Errorf("%+v: out of order on one path", f)
		case sprayed && f.Early.Max > 0 && f.Held.Max == 0:
			t.Errorf("%+v: early, and nothing held", f)
		case f.Half.Median <= 0 || f.Late.Median < f.Half.Median:
			t.Errorf("%+v: times", f)
		case f.Runs != max(1, 2*f.Dead):
			t.Errorf("%+v: draws", f)
		case f.Way.Mode == results.Sync && f.Dead == 0 && !sprayed && f.Buffer > 1 && f.Phases.Median < 0.8:
			t.Errorf("%+v: a shift over whole leaves has no contention", f)
		}
	}
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"at least two servers":                     func(o *Options) { o.Tree = nil },
		"at least one each":                        func(o *Options) { o.Ways = nil },
		"draws: 0":                                 func(o *Options) { o.Draws = 0 },
		"fragment: 0 bytes":                        func(o *Options) { o.Fragment = 0 },
		"exchanges: 0":                             func(o *Options) { o.Exchanges = 0 },
		"links carry nothing":                      func(o *Options) { o.BitPerSec = 0 },
		"cannot be negative":                       func(o *Options) { o.Jitter = -1 },
		"buffer: 0 packets":                        func(o *Options) { o.Buffers = []int{0} },
		"6 random dead links":                      func(o *Options) { o.Dead = []int{6} },
		"lanes: 16":                                func(o *Options) { o.Lanes = []int{16} },
		"dead links already":                       func(o *Options) { o.Tree = topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf0-spine0") },
		`shift in step, tables: no barrier "wall"`: func(o *Options) { o.Barrier = "wall" },
	} {
		o := tiny(t)
		change(&o)
		if err := Work(t.Context(), o, func(Figure) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// An interrupt ends the work with what has been given.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	given := 0
	err := Work(ctx, tiny(t), func(Figure) error { given++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || given != len(Ways()) {
		t.Errorf("%v after %d figures", err, given)
	}
}
