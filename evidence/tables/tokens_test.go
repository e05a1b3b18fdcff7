package tables_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"evbench/builder/modes"
	"evbench/evidence/tables"
	"evbench/internal/answer"
	"evbench/model/sim"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// tableRows returns the rows of a table of a tree, by the names of columns; there must be so many.
func tableRows(t *testing.T, make func(tables.Run, *topology.Tree, uint64) (*answer.Table, error), of topology.Options, n int) []map[string]any {
	t.Helper()
	table := expect.Value(make(tables.Run{}, topologytest.Tree(t, of), 1))(t)
	var b bytes.Buffer
	expect.Must(t, answer.Document{Schema: "evbench/table/1", Table: table}.Write(&b, "json"))
	var doc struct{ Rows []map[string]any }
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Rows) != n {
		t.Fatalf("%d rows, want %d; error %v of %s", len(doc.Rows), n, err, &b)
	}
	return doc.Rows
}

// Order with tokens is better than phases with barriers where sizes differ by half or more;
// without the tokens for links it is worse; what comes late costs all.
func TestTokensTable(t *testing.T) {
	portsOnly := 0
	for _, r := range tableRows(t, tables.TokensTable, topology.Options{Ports: 3, Leaves: 3}, 40) {
		of := func(name string) float64 { return r[name+"_ratio"].(float64) }
		for _, name := range []string{"phases", "fors_order", "planned", "ports_only", "phases_stragglers", "planned_stragglers"} {
			x := of(name)
			expect.True(t, x >= 0.2 && x <= 1, "%s of %v", name, r)
		}
		differ := r["sizes"] == "uniform50" || r["sizes"] == "exponential"
		expect.False(t, differ && of("planned") < of("phases")+0.05 || of("phases_stragglers") > of("phases") || of("planned_stragglers") > of("planned"), "%v", r)
		if differ && of("ports_only") < of("planned") {
			portsOnly++
		}
	}
	expect.True(t, portsOnly >= 13, "without tokens for links %d rows of 16 are worse", portsOnly)
}

// By sizes no plan is worse than its phases; where nine of sixteen links cannot be dead
// without cutting leaves apart, there are no rows.
func TestSizesTable(t *testing.T) {
	for ports, rows := range map[int]int{2: 14, 4: 21} {
		for _, r := range tableRows(t, tables.SizesTable, topology.Options{Ports: ports, Leaves: 4}, rows) {
			phases, planned := r["phases_ratio"].(float64), r["planned_ratio"].(float64)
			expect.True(t, phases <= planned+1e-9 && planned <= 1 && planned >= 0.6, "%v", r)
			for _, name := range []string{"window2_ratio", "window3_ratio", "window4_ratio"} {
				e := r[name].(float64)
				expect.True(t, e <= 1 && e >= 0.6, "%s of %v", name, r)
			}
		}
	}
}

// tiny is a network of six servers.
func tiny(t *testing.T) tables.SprayingOptions {
	return tables.SprayingOptions{
		Tree: topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}), Dead: []int{0, 1}, Draws: 2,
		Buffers: []int{1, 4}, Lanes: []int{1, 2}, BitPerSec: 1e11, Fragment: 32 << 10, Exchanges: 4,
		Network: sim.Lossless{Packet: 4096, Delay: 130 * time.Nanosecond, Cable: 50 * time.Nanosecond},
		Barrier: "tournament", Round: 500 * time.Nanosecond, Jitter: 200 * time.Nanosecond, Ways: tables.Ways(), Seed: 1,
	}
}

func worked(t *testing.T, o tables.SprayingOptions) (all []tables.SprayingFigure) {
	t.Helper()
	err := tables.Spraying(t.Context(), o, func(f tables.SprayingFigure) error { all = append(all, f); return nil })
	expect.Must(t, err)
	return all
}

// The table of a tiny network, to the letter, whatever the number of processors.
func TestSprayingTable(t *testing.T) {
	o := tiny(t)
	figures := worked(t, o)
	o.Workers = 1
	expect.True(t, reflect.DeepEqual(figures, worked(t, o)), "one worker has other figures")
	var got bytes.Buffer
	expect.Must(t, tables.SprayingTable(o, figures).WriteText(&got))
	golden(t, "spraying.txt", got.Bytes())
}

// What holds of every row: servers around their mean, packets in order where paths are given
// and there is one lane (on several they overtake each other), and a synchronised shift
// without dead links at about the full rate between barriers (servers are late by 0.1 of a
// fragment, and cables and switches take as long).
func TestSpraying(t *testing.T) {
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
		case f.Way.Mode == modes.Sync && f.Dead == 0 && !sprayed && f.Buffer > 1 && f.Phases.Median < 0.8:
			t.Errorf("%+v: a shift over whole leaves has no contention", f)
		}
	}
}

func TestSprayingRefuses(t *testing.T) {
	for want, change := range map[string]func(*tables.SprayingOptions){
		"at least two servers": func(o *tables.SprayingOptions) { o.Tree = nil },
		"at least one each":    func(o *tables.SprayingOptions) { o.Ways = nil },
		"draws: 0":             func(o *tables.SprayingOptions) { o.Draws = 0 },
		"fragment: 0 bytes":    func(o *tables.SprayingOptions) { o.Fragment = 0 },
		"exchanges: 0":         func(o *tables.SprayingOptions) { o.Exchanges = 0 },
		"links carry nothing":  func(o *tables.SprayingOptions) { o.BitPerSec = 0 },
		"cannot be negative":   func(o *tables.SprayingOptions) { o.Jitter = -1 },
		"buffer: 0 packets":    func(o *tables.SprayingOptions) { o.Buffers = []int{0} },
		"6 random dead links":  func(o *tables.SprayingOptions) { o.Dead = []int{6} },
		"lanes: 16":            func(o *tables.SprayingOptions) { o.Lanes = []int{16} },
		"dead links already": func(o *tables.SprayingOptions) {
			o.Tree = topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf0-spine0")
		},
		`shift in step, tables: no barrier "wall"`: func(o *tables.SprayingOptions) { o.Barrier = "wall" },
	} {
		o := tiny(t)
		change(&o)
		expect.Error(t, tables.Spraying(t.Context(), o, func(tables.SprayingFigure) error { return nil }), want)
	}
}

// An interrupt ends the work with what has been given: one worker has no more figures ready by then.
func TestSprayingInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o, given := tiny(t), 0
	o.Workers = 1
	err := tables.Spraying(ctx, o, func(tables.SprayingFigure) error { given++; cancel(); return nil })
	expect.True(t, errors.Is(err, context.Canceled) && given == 1, "%v after %d figures", err, given)
}
