// Package figure answers: which figures does a run have, what do they show, and how are they drawn?
// Every figure is a table of its data, which is its CSV, and one or more panels drawn from that
// table with gonum/plot, as SVG or PNG. It measures and judges nothing, and opens no file.
package figure

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/results"
)

// A Source is the data for figures.
type Source struct {
	Run *results.Run
	// Plans are the plans of the cases that have a schedule, by name of the case.
	Plans map[string]*plan.Plan
	// PairsMost is the greatest goodput of a pair in other runs shown beside this one, in bit/s:
	// all maps have one scale.
	PairsMost float64
}

// Only returns the source with only one case and its repeats.
func (s Source) Only(name string) (Source, error) {
	run := *s.Run
	run.Summary.Cases = nil
	var names []string
	for _, c := range s.Run.Summary.Cases {
		if c.Name == name {
			run.Summary.Cases = append(run.Summary.Cases, c)
		}
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	if run.Summary.Cases == nil {
		return s, fmt.Errorf("no case %q; there are %s", name, strings.Join(names, ", "))
	}
	return Source{&run, s.Plans, s.PairsMost}, nil
}

// A Figure is one figure of a run.
type Figure struct {
	Name, Title string
	Caption     string // what is shown, and what it must not be taken for
	Data        Table
	Panels      []Panel // none: the run has nothing to show here, and Missing says why
	Missing     string
}

// A Panel is one drawing of a figure.
type Panel struct {
	Title         string
	Says          string // what is to be seen, in words
	Plain         bool   // all that it shows is equal, as Says says
	Cells         *Cells // of a map with many squares; nil: each says its own
	Case          int    // index in the summary; -1: all cases
	plot          *plot.Plot
	width, height vg.Length
	Slim          vg.Length // a width for small screens, on which it can be read, too; 0: none
}

func (f *Figure) addOf(index int, title string, p Panel) {
	p.Case, p.Title = index, title
	f.Panels = append(f.Panels, p)
}

type kind struct {
	name, title string
	build       func(Source, *Figure)
}

var kinds = []kind{
	{"efficiency", "Efficiency beside its prediction", efficiency},
	{"rounds", "Ratio to the control, round by round", rounds},
	{"throughput", "Throughput per case", throughput},
	{"timeline", "Throughput over time", timeline},
	{"failover", "Fail-over", failover},
	{"servers", "Spread over servers", servers},
	{"pairs", "Throughput between pairs of servers", pairs},
	{"tree", "Load of links", tree},
	{"waits", "Barrier wait against transfer", waits},
	{"load", "Dead time and latency over offered load", offered},
}

func Names() []string { return lists.Map(kinds, func(k kind) string { return k.name }) }

// Title returns the title of one of these figures.
func Title(name string) string { return kinds[slices.Index(Names(), name)].title }

func Build(name string, s Source) (*Figure, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, fmt.Errorf("no figure %q; %s", name, show.Choices(name, Names()))
	}
	f := &Figure{Name: name, Title: kinds[i].title}
	kinds[i].build(s, f)
	return f, nil
}

func shorten(s string) string {
	const most = 34
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// A Table is the data of a figure.
type Table struct {
	Columns []string
	Rows    [][]string
}

// WriteCSV writes the table as CSV, the names of the columns first.
func (t Table) WriteCSV(w io.Writer) error {
	return show.WriteCSV(w, append([][]string{t.Columns}, t.Rows...))
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

func whole(n int) string { return strconv.Itoa(n) }

func bits(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }

func keyOf(c results.Case) results.SliceID { return results.SliceID{Case: c.Name, Repeat: c.Repeat} }

func samplesByCase(run *results.Run) map[results.SliceID][]results.Sample {
	sorted := slices.Clone(run.Samples)
	slices.SortStableFunc(sorted, func(a, b results.Sample) int { return cmp.Compare(a.TSec, b.TSec) })
	return lists.By(sorted, func(s results.Sample) results.SliceID { return results.SliceID{Case: s.Case, Repeat: s.Repeat} })
}

// wholeIntervals leaves out the samples of intervals cut short, such as the last one of a case.
// Below half the usual length, they are mostly noise.
func wholeIntervals(all []results.Sample) []results.Sample {
	least := usualInterval(all) / 2
	return slices.DeleteFunc(slices.Clone(all), func(s results.Sample) bool { return s.IntervalSec < least })
}

func usualInterval(all []results.Sample) float64 {
	return stat(all, func(s results.Sample) float64 { return s.IntervalSec }).Median
}

func stat(all []results.Sample, of func(results.Sample) float64) results.Stat {
	return results.NewStat(lists.Map(all, of))
}

type served struct {
	server  int
	goodput float64 // bit/s, payload received, mean over time
	waited  float64 // s in barriers
	sampled float64 // s
}

func byServer(list []results.Sample) []served {
	groups := lists.Groups(list, func(s results.Sample) int { return s.Server })
	out := lists.Map(groups, func(own []results.Sample) served {
		x := served{server: own[0].Server}
		for _, s := range own {
			x.goodput += s.GoodputBitPerSec * s.IntervalSec
			x.waited += s.BarrierWaitSec
			x.sampled += s.IntervalSec
		}
		if x.sampled > 0 {
			x.goodput /= x.sampled
		}
		return x
	})
	slices.SortFunc(out, func(a, b served) int { return cmp.Compare(a.server, b.server) })
	return out
}

type moment struct {
	t       float64 // s, the mean end of the interval
	servers int
	goodput results.Stat // bit/s
}

// moments joins the n-th samples of all servers, and leaves out those of intervals cut short.
func moments(all []results.Sample) []moment {
	count := map[int]int{}
	var joined [][]results.Sample
	for _, s := range all {
		n := count[s.Server]
		count[s.Server]++
		if n == len(joined) {
			joined = append(joined, nil)
		}
		joined[n] = append(joined[n], s)
	}
	least := usualInterval(all) / 2
	var out []moment
	for _, at := range joined {
		if usualInterval(at) >= least {
			t := stat(at, func(s results.Sample) float64 { return s.TSec })
			out = append(out, moment{t.Mean, len(at), stat(at, func(s results.Sample) float64 { return s.GoodputBitPerSec })})
		}
	}
	return out
}

// quartiles returns the least, the three quartiles and the greatest of values,
// which it sorts.
func quartiles(values []float64) (q [5]float64) {
	if len(values) == 0 {
		return q
	}
	slices.Sort(values)
	for i := range q {
		q[i] = results.Quantile(values, float64(i)/4)
	}
	return q
}
