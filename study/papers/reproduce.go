// Package papers computes the figures of E. Stein's thesis ("Smart scheduling and
// routing for data acquisition networks", Strasbourg 2024) and of four other documents
// anew, and puts them beside the numbers that the texts state. Documents lists every figure
// and table of all five, those too that are not computed.
//
// A Figure is data only: rows of a series at a point, with what the paper says
// there. Numbers that a paper shows as a curve, and does not state, are not
// read off: there is no published number then. Drawing is left to others.
//
// Throughput comes from plans, by the models of package sim, and from a few constants
// of the thesis, which are all that is taken from there (see Constants). The overhead
// of a phase is taken not to grow with the load; that was chosen with both results
// known, and fig4.8 shows the other choice: see docs/evidence/thesis.md. Rates are
// Gbit/s of one server unless a row says otherwise. The package opens no file and reads
// no clock; everything random comes from the seed, and equal input gives equal figures,
// measured times excepted.
package papers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/internal/parallel"
	"evbench/results"
	"evbench/study/failures"
)

// Options say how to reproduce.
type Options struct {
	// Seed draws failures, and feeds the plans.
	Seed uint64
	// Quick draws less often, and leaves out what takes long.
	Quick bool
	// Log is what failures happened, for the figures of thesis 4.1 and 4.4. nil means
	// the log of the examples, which the figures say.
	Log *failures.History
	// Merge is the gap below which failures of a link count as one. 0 means ten
	// minutes, as in thesis 4.1.2.
	Merge time.Duration
	// Exclude are test periods of the log.
	Exclude []failures.Period
	// Clock returns the time since some moment, by a monotonic clock, for the figures
	// that are computing times.
	Clock func() time.Duration
	// Progress, when set, is told what is being worked out.
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

// A Statistic is what a stated number says of the values.
type Statistic string

// Statistics.
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
	fill func(context.Context, *Options, *Figure) error
}

// makers are all figures, in the order of the thesis, then those of other papers.
var makers = []maker{
	{"fig4.1", ofLog(flapIntervals)},
	{"fig4.3", ofLog(durations)},
	{"fig4.4", ofLog(days)},
	{"fig4.5", engines},
	{"fig4.7", racks},
	{"fig4.8", synchronisation},
	{"sec4.4", recommendation},
	{"examples", workedExamples},
	{"fig5.7", slowdown},
	{"fig5.9", phaseFactor},
	{"fig5.10", slowdown},
	{"fig5.11", slowdown},
	{"fig5.12", slowdown},
	{"fig5.13", repairTimes},
	{"fig6.5", scenarios},
	{"sec6.6.3", forsTimes},
	{"sec6.7.2", entries},
	{"dmodc5", computingTimes},
	{"dmodc-risk", risk},
	{"dmodc-load", underLoad},
	{"jobs-efi", jobsEFI},
	{"jobs-load", jobsUnderLoad},
	{"qft2", quasiGroups},
	{"qft3", quasiJobs},
	{"qft-table1", computingTimes},
	{"qft8", quasi},
	{"qft9", quasi},
	{"memo-time", computingTimes},
	{"memo-table1", restarts},
}

// Source says where a figure stands: paper and section.
func (f *Figure) Source() string { return f.Paper + " " + f.Section }

// Names returns all figures, those of the thesis first, in its order.
func Names() []string {
	var out []string
	for _, m := range makers {
		out = append(out, m.name)
	}
	return out
}

func find(name string) (*maker, error) {
	for i := range makers {
		if makers[i].name == name {
			return &makers[i], nil
		}
	}
	return nil, fmt.Errorf("no figure %q; there are all, %s", name, strings.Join(Names(), ", "))
}

// Make works out a figure. When ctx ends it returns the context's error.
func Make(ctx context.Context, name string, o Options) (*Figure, error) {
	m, err := find(name)
	if err != nil {
		return nil, err
	}
	if o.Merge == 0 {
		o.Merge = 10 * time.Minute
	}
	f := empty(name)
	if err := m.fill(ctx, &o, f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.state()
	return f, nil
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

func (o *Options) tell(figure, format string, args ...any) {
	if o.Progress != nil {
		o.Progress(figure, fmt.Sprintf(format, args...))
	}
}

func (o *Options) draws(full, quick int) int {
	if o.Quick {
		return quick
	}
	return full
}

// points returns 0..n-1, or if it has to be quick only some of them.
func (o *Options) points(n int, quick ...int) []int {
	if o.Quick {
		return quick
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func (f *Figure) add(series string, x float64, label, unit string, values ...float64) *Row {
	slices.Sort(values)
	f.Rows = append(f.Rows, Row{Series: series, X: x, Label: label, Unit: unit, Values: values})
	return &f.Rows[len(f.Rows)-1]
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

// each calls f for 0..n-1, on all CPUs.
func each(ctx context.Context, n int, f func(i int) error) error {
	return parallel.Try(0, n, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(i)
	})
}

// draw returns the n values of f, worked out on all CPUs.
func draw(ctx context.Context, n int, f func(i int) (float64, error)) ([]float64, error) {
	out := make([]float64, n)
	err := each(ctx, n, func(i int) (err error) {
		out[i], err = f(i)
		return err
	})
	return out, err
}
