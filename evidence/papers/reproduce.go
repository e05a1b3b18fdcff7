// Package papers computes the figures of E. Stein's thesis ("Smart scheduling and routing for data
// acquisition networks", Strasbourg 2024) and of four other documents anew, and compares them with
// the numbers in the texts. Documents lists every figure and table of all five, also those without
// a computation.
//
// A Figure is data only: rows of a series at a point, with the paper's numbers. A number that a
// paper only shows as a curve is not read off and has no published value. Other packages draw.
//
// Throughput comes from plans, by the models of package sim, and from a few constants of the thesis
// (see Constants). The model assumes that the overhead of a phase does not grow with the load. That
// was chosen with both results known, and fig4.8 shows the other choice: see
// docs/evidence/papers.md. Rates are Gbit/s of one server unless a row says otherwise. The package
// opens no file and reads no clock. All random numbers come from the seed, and equal input gives
// equal figures, except measured times.
package papers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/results"
	"evbench/study/failures"
)

type Options struct {
	// Seed draws failures, and feeds the plans.
	Seed uint64
	// Quick draws less often, and skips slow parts.
	Quick bool
	// Log is the log of failures for the figures of thesis 4.1 and 4.4. nil means the log of the
	// examples, as the figures state.
	Log *failures.History
	// Merge is the gap below which failures of a link count as one. 0 means ten
	// minutes, as in thesis 4.1.2.
	Merge time.Duration
	// Exclude are test periods of the log.
	Exclude []failures.Period
	// Clock returns the time since some moment, by a monotonic clock, for figures of computing
	// times.
	Clock func() time.Duration
	// Progress, when set, receives the present step.
	Progress func(figure, what string)
}

// A Figure is one figure, or one calculation in the text.
type Figure struct {
	Name    string   `json:"name"` // "fig4.8", "sec6.7.2"
	Title   string   `json:"title"`
	Paper   string   `json:"paper"`
	Section string   `json:"section"` // of the paper
	X       string   `json:"x"`       // what the rows' X is
	Setup   []string `json:"setup"`   // network, failures, engines, draws
	Differs string   `json:"differs"` // why ours are not theirs
	Rows    []Row    `json:"rows"`
}

// A Row is one point of a series.
type Row struct {
	Series string    `json:"series"`
	X      float64   `json:"x"`
	Label  string    `json:"label"` // of X, for people
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`           // rising: of all draws
	Detail bool      `json:"detail,omitempty"` // for drawings; tables leave it out
	Stated []Stated  `json:"stated,omitempty"` // by the paper, about this point
}

// A Stated is a number in the text of a paper.
type Stated struct {
	Of    Statistic `json:"of"`
	Value float64   `json:"value"`
	Where string    `json:"where"` // paper and section
	Quote string    `json:"quote"` // the words, as printed
}

// A Statistic is the statistic of the values that a stated number gives.
type Statistic string

const (
	Median Statistic = "median"
	Mean   Statistic = "mean"
	Min    Statistic = "min"
	Max    Statistic = "max"
)

// Value returns a statistic of the row's values.
func (r *Row) Value(s Statistic) float64 {
	n := len(r.Values)
	switch s {
	case Min:
		return r.Values[0]
	case Max:
		return r.Values[n-1]
	case Mean:
		sum := 0.0
		for _, v := range r.Values {
			sum += v
		}
		return sum / float64(n)
	}
	return results.Quantile(r.Values, 0.5)
}

type maker struct {
	name string
	fill func(*work)
	cost float64 // about the seconds of a processor with Quick
}

// makers are all figures, in the order of the thesis, then those of other papers.
var makers = []maker{
	{"fig4.1", flapIntervals, 0.1},
	{"fig4.3", durations, 0.1},
	{"fig4.4", days, 0.1},
	{"fig4.5", severalEngines, 1.2},
	{"fig4.7", racks, 0.4},
	{"fig4.8", synchronisation, 1.6},
	{"sec4.4", recommendation, 13.2},
	{"examples", workedExamples, 0.1},
	{"fig5.7", slowdown, 0.1},
	{"fig5.9", phaseFactor, 0.2},
	{"fig5.10", slowdown, 0.2},
	{"fig5.11", slowdown, 0.4},
	{"fig5.12", slowdown, 0.8},
	{"fig5.13", repairTimes, 0.5},
	{"fig6.5", scenarios, 3.2},
	{"sec6.6.3", forsTimes, 0.2},
	{"sec6.7.2", entries, 0.3},
	{"dmodc5", computingTimes, 1.2},
	{"dmodc-risk", risk, 0.2},
	{"dmodc-load", underLoad, 0.8},
	{"jobs-efi", jobsEFI, 0.2},
	{"jobs-load", jobsUnderLoad, 1},
	{"qft2", quasiGroups, 0.1},
	{"qft3", quasiJobs, 1.3},
	{"qft-table1", computingTimes, 0.5},
	{"qft8", quasi, 1.9},
	{"qft9", quasi, 2},
	{"memo-time", computingTimes, 0.1},
	{"memo-table1", restarts, 0.1},
}

// Cost estimates the work on a figure, relative to others.
func Cost(name string) float64 { return makers[slices.Index(Names(), name)].cost }

// Source is the place of a figure: paper and section.
func (f *Figure) Source() string { return f.Paper + " " + f.Section }

// Names returns all figures, those of the thesis first, in its order.
func Names() []string { return lists.Map(makers, func(m maker) string { return m.name }) }

func find(name string) (fill func(*work), err error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, fmt.Errorf("no figure %q; there are all, %s", name, strings.Join(Names(), ", "))
	}
	return makers[i].fill, nil
}

// Make computes a figure. When ctx ends it returns the context's error.
func Make(ctx context.Context, name string, o Options) (*Figure, error) {
	fill, err := find(name)
	if err != nil {
		return nil, err
	}
	o.Merge = cmp.Or(o.Merge, 10*time.Minute)
	w := &work{ctx, &o, empty(name)}
	if err := caught(func() { fill(w) }); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	w.state()
	return w.Figure, nil
}

type work struct {
	context.Context
	*Options
	*Figure
}

// A failed ends the current figure. Figures are scripts over networks that papers state, so a
// failure is a bug, a given input (a log), or the end of the context.
type failed struct{ error }

func check(err error) {
	if err != nil {
		panic(failed{err})
	}
}

func must[T any](x T, err error) T {
	check(err)
	return x
}

func caught(do func()) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case failed:
			err = x.error
		default:
			panic(x)
		}
	}()
	do()
	return nil
}

func empty(name string) *Figure {
	for _, d := range Documents() {
		for _, i := range d.Items {
			if i.Figure == name {
				return &Figure{Name: name, Title: i.Title, Paper: d.Paper, Section: i.section, X: i.x, Differs: i.differs}
			}
		}
	}
	panic("no row of items.csv has " + name)
}

func (w *work) tell(format string, args ...any) {
	check(w.Err())
	if w.Progress != nil {
		w.Progress(w.Name, fmt.Sprintf(format, args...))
	}
}

func (o *Options) draws(full, quick int) int {
	if o.Quick {
		return quick
	}
	return full
}

// points returns 0..n-1, or only some of them for Quick.
func (o *Options) points(n int, quick ...int) []int {
	if o.Quick {
		return quick
	}
	return lists.Range[int](n)
}

func (f *Figure) add(series string, x float64, label, unit string, values ...float64) *Row {
	slices.Sort(values)
	f.Rows = append(f.Rows, Row{Series: series, X: x, Label: label, Unit: unit, Values: values})
	return &f.Rows[len(f.Rows)-1]
}

// at is add for a whole x.
func (f *Figure) at(series string, x int, unit string, values ...float64) *Row {
	return f.add(series, float64(x), strconv.Itoa(x), unit, values...)
}

func (f *Figure) state() {
	for i := range f.Rows {
		r := &f.Rows[i]
		for _, s := range stated()[f.Name] {
			if s.series == r.Series && s.x == r.X {
				r.Stated = append(r.Stated, s.Stated)
			}
		}
	}
}

// each calls do for 0..n-1, on all CPUs.
func each(ctx context.Context, n int, do func(i int)) {
	check(parallel.Try(0, n, func(i int) error {
		return caught(func() {
			check(ctx.Err())
			do(i)
		})
	}))
}

func draw(ctx context.Context, n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	each(ctx, n, func(i int) { out[i] = f(i) })
	return out
}

// table returns the results of n draws, by column: f returns one number for each.
func table(ctx context.Context, n int, f func(i int) []float64) [][]float64 {
	rows := make([][]float64, n)
	each(ctx, n, func(i int) { rows[i] = f(i) })
	return lists.Tabulate(len(rows[0]), func(k int) []float64 {
		return lists.Map(rows, func(row []float64) float64 { return row[k] })
	})
}
