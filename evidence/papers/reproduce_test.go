package papers

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"evbench/internal/answer"
	"evbench/scheduler"
	"evbench/study/failures"
	"evbench/testing/expect"
	"evbench/topology"
)

var update = flag.Bool("update", false, "rewrite golden files")

// ticks is a clock that advances a millisecond a reading.
func ticks() func() time.Duration {
	var now time.Duration
	return func() time.Duration { now += time.Millisecond; return now }
}

// leftOut is whether no test makes a figure: with -short, those that take long.
func leftOut(name string) bool { return testing.Short() && name != "sec4.4" && Cost(name) > 1 }

// quick makes every figure once for all tests.
var quick = sync.OnceValues(func() (*Report, error) {
	r := &Report{Quick: true, Seed: 1, Constants: Constants()}
	o := Options{Seed: 1, Quick: true, Clock: ticks()}
	for _, name := range slices.DeleteFunc(Names(), leftOut) {
		with := o
		if name == "sec4.4" { // all of the log takes seconds; one week has the worst link, too
			with.Exclude = []failures.Period{{From: time.Date(2024, 3, 8, 0, 0, 0, 0, time.UTC), To: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)}}
		}
		f, err := Make(context.Background(), name, with)
		if err != nil {
			return nil, err
		}
		r.Figures = append(r.Figures, f)
	}
	return r, nil
})

func report(t *testing.T) *Report {
	t.Helper()
	r := expect.Value(quick())(t)
	return r
}

func figureOf(t *testing.T, name string) *Figure {
	t.Helper()
	if leftOut(name) {
		t.Skip("this figure takes long")
	}
	r := report(t)
	i := slices.IndexFunc(r.Figures, func(f *Figure) bool { return f.Name == name })
	return r.Figures[i]
}

// row returns the values of a series at a point.
func (f *Figure) row(t *testing.T, series string, x float64) *Row {
	t.Helper()
	for i := range f.Rows {
		if f.Rows[i].Series == series && f.Rows[i].X == x {
			return &f.Rows[i]
		}
	}
	t.Fatalf("%s has no row %q at %g", f.Name, series, x)
	return nil
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	expect.True(t, math.Abs(got-want) <= within, "%s: got %g, want %g within %g", what, got, want, within)
}

// golden holds a text against what it was, or parts of it: read the diff.
func golden(t *testing.T, name, got string, width int, parts func(string) string) {
	t.Helper()
	if *update {
		expect.Must(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want := expect.Value(os.ReadFile(name))(t)
	wantLines := strings.Split(parts(string(want)), "\n")
	for i, line := range strings.Split(got, "\n") {
		expect.True(t, utf8.RuneCountInString(line) <= width, "line %d is wider than %d: %s", i+1, width, line)
		expect.MustTrue(t, i < len(wantLines) && line == wantLines[i], "line %d is %q; see -update", i+1, line)
	}
}

// TestGolden holds the whole text.
func TestGolden(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	r := report(t)
	expect.Must(t, r.WriteText(&got))
	golden(t, "testdata/quick.txt", got.String(), textWidth, func(text string) string {
		parts := strings.Split(text, "\n\n")
		return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
			name, _, _ := strings.Cut(part, " ")
			return slices.Contains(Names(), name) && leftOut(name)
		}), "\n\n")
	})
}

func TestEveryStatementHasItsRow(t *testing.T) {
	t.Parallel()
	for name, list := range stated() {
		if leftOut(name) {
			continue
		}
		f := figureOf(t, name)
		for _, s := range list {
			expect.False(t, s.Quote == "" || !strings.HasPrefix(s.Where, f.Paper+" ") || s.Value == 0 && name != "memo-table1",
				"%s, %s at %g: %+v is not whole", name, s.series, s.x, s.Stated)
			if strings.Contains(s.series, "sender overhead") || strings.Contains(s.series, "credit") || strings.HasSuffix(s.series, ", most of 4536 hosts") || s.x == 34992 {
				continue // which quick leaves out
			}
			expect.True(t, slices.Contains(f.row(t, s.series, s.x).Stated, s.Stated), "%s, %s at %g: not in its row", name, s.series, s.x)
		}
	}
}

func TestEveryFigureSaysWhy(t *testing.T) {
	t.Parallel()
	for _, f := range report(t).Figures {
		expect.True(t, f.Differs != "" && len(f.Setup) != 0 && len(f.Rows) != 0, "%s: no setup, no reason or no rows", f.Name)
		seen := map[string]bool{}
		for i := range f.Rows {
			r := &f.Rows[i]
			expect.True(t, len(r.Values) != 0 && slices.IsSorted(r.Values) && !slices.ContainsFunc(r.Values, math.IsNaN),
				"%s, %s at %g: values %v", f.Name, r.Series, r.X, r.Values)
			if key := r.Series + r.Label; seen[key] && !r.Detail {
				t.Errorf("%s: two rows %s at %s", f.Name, r.Series, r.Label)
			} else {
				seen[key] = true
			}
		}
	}
}

// TestKnown are numbers that follow from the thesis' own formulas.
func TestKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		figure, series string
		x, want        float64
	}{
		{"fig4.8", "synchronised", 0, healthyGbit},
		{"fig5.10", "LS", 1, 1.875},
		{"fig5.11", "LS", 1, 340.0 * 2 / 360},
		{"fig5.12", "LS", 1, 1.9375},
		{"fig5.12", "BO", 1, 1.5},
		{"fig5.11", "FS", 10, 680.0 / 360},
		{"fig5.9", "FT(2;16,32)", 1, 530.0 / 512},
		{"fig6.5", "FORS", 0, healthyGbit},
		{"fig6.5", "FORS", 2, healthyGbit * 359 / 378},
		{"fig6.5", "FORS", 3, healthyGbit * 359 / 400},
		{"fig6.5", "FORS", 7, healthyGbit * 359 / 378},
		{"fig6.5", "FORS", 8, healthyGbit * 359 / 425},
		{"fig5.12", "FS / equation 5.1", 8, 1},
		{"sec6.7.2", "entries, any schedule", 0, 10469},
		{"sec6.7.2", "entries, any schedule" + larger, 0, 64*1296 + 71},
		{"examples", "bound", 3, 38},
		{"examples", "FORS", 3, 38},
		{"dmodc-risk", "dmodc, shifts", 0, 1},
		{"dmodc-risk", "ftree, shifts", 0, 1},
		{"dmodc-load", "dmodc, shifts, flows", 0, 1},
		{"jobs-load", "sssp, fullest cable", 0, 160},
		{"jobs-load", "sar, fullest cable", 0, 60},
		{"qft2", "PGFT, 36 ports", 3888, 108},
		{"qft2", "QFT, 36 ports", 1296, 324},
		{"sec6.7.2", "entries, FORS with fewest paths", 0, 363},
	} {
		if leftOut(tt.figure) {
			continue
		}
		f := figureOf(t, tt.figure)
		near(t, tt.figure+" "+tt.series, f.row(t, tt.series, tt.x).Value(Median), tt.want, 1e-3)
	}
}

// What fig6.5 says of the leaf with three dead links.
func TestLeafOfThreeDeadLinks(t *testing.T) {
	phases := func(fill []int, dead int) int {
		tree := failureCase{count: dead, leaves: []int{0}}.dead(expect.Value(topology.New(topology.Options{Ports: 20, Leaves: 18, Fill: fill}))(t), 0, 1)
		return scheduler.LowerBound(tree, scheduler.Options{}).Phases
	}
	other := slices.Clone(fillA)
	slices.Reverse(other)
	for dead, want := range map[int][2]int{1: {325, 325}, 2: {325, 325}, 3: {344, 327}} {
		expect.Equal(t, [2]int{phases(fillA, dead), phases(other, dead)}, want, "%d dead links at a leaf of 19, of 18", dead)
	}
}

// TestOrder sees that what the thesis finds, ours finds too.
func TestOrder(t *testing.T) {
	t.Parallel()
	f := figureOf(t, "fig6.5")
	for i, c := range failureCases {
		x := float64(i)
		sync, free, ours := f.row(t, scenarioSeries[0], x), f.row(t, scenarioSeries[1], x), f.row(t, "FORS", x)
		expect.False(t, i > 0 && !(sync.Value(Max) < free.Value(Min) && free.Value(Max) < ours.Value(Min)),
			"%s: %v, %v, %v do not rise", c.label, sync.Values, free.Values, ours.Values)
		expect.True(t, ours.Value(Max) <= healthyGbit+1e-3 && free.Value(Max) <= healthyGbit, "%s: more than without failures", c.label)
	}
	e := figureOf(t, "fig4.5")
	if m, f := e.row(t, "Min-Hop, 326 servers", 0).Value(Mean), e.row(t, "Ftree, 326 servers", 0).Value(Mean); m >= 0.8*f {
		t.Errorf("326 servers: min-hop %g is not much worse than ftree %g", m, f)
	}
	for _, dead := range []float64{1, 4, 10} {
		last := math.Inf(1)
		for _, series := range []string{"Ftree to Min-Hop", "Ftree", "Min-Hop", "Min-Hop, ports drawn"} {
			v := e.row(t, series+", 326 servers", dead).Value(Mean)
			expect.True(t, v < last, "%g dead links: %s reaches %g, the one before %g", dead, series, v, last)
			last = v
		}
		for _, suffix := range []string{"", ", 326 servers"} {
			m, u := e.row(t, "Min-Hop"+suffix, dead), e.row(t, "Up-Down"+suffix, dead)
			expect.True(t, slices.Equal(m.Values, u.Values), "%g dead links%s: Min-Hop %v, Up-Down %v", dead, suffix, m.Values, u.Values)
		}
	}
}

// TestModels works small exchanges out by hand.
func TestModels(t *testing.T) {
	t.Parallel()
	n := newRoutedTree(lhcb())
	p := n.current(n.dead(1, 1))
	// 359 phases carry one message a wire and cost their overhead, the rest waits.
	duration := p.Cost(func(_, _ int) float64 { return 1 }, 1).Duration
	for _, tt := range []struct {
		name string
		rate rater
		want float64
	}{
		{"synchronised", synchronised, 200 * 359 / (duration + 359*(200/142.71-1))},
		{"proportional", proportional, 142.71 * 359 / duration},
		// One port of the leaf takes the 17 destinations of the dead one besides 17 of its
		// own from 20 servers, where each server sends 359 messages. Flows that all begin
		// at once use that port up.
		{"unsynchronised", unsynchronised, 200 * 359.0 / (34 * 20)},
	} {
		near(t, tt.name, tt.rate(t.Context(), p), tt.want, 1e-3)
	}
}

func TestShiftByPosition(t *testing.T) {
	t.Parallel()
	o := lhcb()
	o.Fill = fillA
	n := newRoutedTree(o)
	p := n.over(n.tree, n.ftree)
	c := p.Cost(func(_, _ int) float64 { return 1 }, 1)
	expect.False(t, p.Phases() != 359 || c.Duration != 359 || c.Ideal != 325 || p.Messages() != 326*325,
		"%d phases, duration %g, ideal %g, %d messages", p.Phases(), c.Duration, c.Ideal, p.Messages())
}

func TestCSVAndJSON(t *testing.T) {
	t.Parallel()
	r := report(t)
	for _, f := range r.Figures {
		var out bytes.Buffer
		expect.Must(t, f.WriteCSV(&out))
		lines, err := csv.NewReader(&out).ReadAll()
		expect.MustTrue(t, err == nil, "%s: %v", f.Name, err)
		expect.True(t, len(lines) > len(f.Rows) && lines[1][0] == f.Name, "%s: %d lines for %d rows", f.Name, len(lines), len(f.Rows))
	}
	var out bytes.Buffer
	expect.Must(t, answer.Document{Schema: "evbench/reproduce/1", Fields: r}.Write(&out, "json"))
	var doc struct {
		Schema  string
		Figures []Figure
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Schema != "evbench/reproduce/1" || len(doc.Figures) != len(r.Figures) {
		t.Errorf("%v, schema %q, %d figures", err, doc.Schema, len(doc.Figures))
	}
}

func TestSameSeedSameFigure(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fig4.1", "fig4.7", "fig5.10"} {
		again := expect.Value(Make(context.Background(), name, Options{Seed: 1, Quick: true}))(t)
		var a, b bytes.Buffer
		expect.Must(t, errors.Join(figureOf(t, name).WriteCSV(&a), again.WriteCSV(&b)))
		expect.True(t, a.String() == b.String(), "%s differs when made again", name)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"fig4.5", "fig4.7", "fig5.9", "fig5.11", "fig5.13", "fig6.5", "dmodc5", "dmodc-risk", "qft2", "qft3"} {
		expect.Is(t, expect.Err(Make(ctx, name, Options{Seed: 1, Quick: true})), context.Canceled)
	}
	expect.Error(t, expect.Err(Make(ctx, "fig9.9", Options{})), `no figure "fig9.9"; there are all, fig4.1`)
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	r := Row{Values: []float64{1, 2, 4, 9}}
	for s, want := range map[Statistic]float64{Min: 1, Max: 9, Mean: 4, Median: 3} {
		near(t, string(s), r.Value(s), want, 0)
	}
}

// TestWorkers makes what is worked out on all processors again on one: nothing depends on
// their number. The race detector is for this test, which is small for its sake.
func TestWorkers(t *testing.T) {
	o := Options{Seed: 1, Quick: true}
	n := newRoutedTree(topology.Options{Ports: 4, Leaves: 6})
	made := func() string {
		w := &work{t.Context(), &o, &Figure{}}
		w.add("rates", 0, "", gbit, n.rates(w, 2, 6, 1, series{plan: asToday, rate: synchronised})...)
		w.seriesRows(n, "", []int{2}, engineCases)
		w.scenario(n, 2, 6, ", small")
		racks, err := Make(w, "fig4.7", o)
		var out bytes.Buffer
		expect.Must(t, errors.Join(err, w.WriteCSV(&out), racks.WriteCSV(&out)))
		return out.String()
	}
	all := made()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	expect.Equal(t, made(), all, "by all processors\n%s\nby one", all)
}

func TestList(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	expect.Must(t, List().Write(&got, "text"))
	golden(t, "testdata/list.txt", got.String(), 99, func(all string) string { return all })
}

// TestDocuments sees that each figure stands in the document that it says it is of, once,
// and that there is a state of everything else.
func TestDocuments(t *testing.T) {
	t.Parallel()
	of := map[string]string{}
	seen := map[string]bool{}
	for _, d := range Documents() {
		for _, item := range d.Items {
			key := d.Paper + " " + item.Of
			expect.True(t, item.Of != "" && item.Title != "" && item.State != "" && !seen[key],
				"%s: %+v is not whole, or there are two", d.Paper, item)
			seen[key] = true
			if item.Figure == "" {
				continue
			}
			expect.True(t, of[item.Figure] == "", "%s is listed twice", item.Figure)
			of[item.Figure] = d.Paper
		}
	}
	for _, name := range Names() {
		expect.True(t, of[name] != "", "%s is of no document", name)
		delete(of, name)
	}
	for name := range of {
		t.Errorf("there is no figure %s", name)
	}
}

func TestListJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	expect.Must(t, List().Write(&out, "json"))
	var doc struct {
		Schema    string
		Documents []Document
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Schema != "evbench/reproduce-list/1" || len(doc.Documents) != 5 {
		t.Fatalf("%v, schema %q, %d documents", err, doc.Schema, len(doc.Documents))
	}
	for _, item := range doc.Documents[0].Items {
		expect.False(t, item.Figure == "fig5.9" && item.State != NoNumber || item.Figure == "fig4.8" && item.State != Beside, "%+v", item)
	}
}
