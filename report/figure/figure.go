// Package figure answers: which figures does a run have, what do they show, and
// how are they drawn? Every figure is a table of what it shows, which is its
// CSV, and one or more panels drawn from that table with gonum/plot, as SVG or
// PNG. It measures and judges nothing, and opens no file.
//
// Columns carry their units. Servers are positions, links have their names.
package figure

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"evbench/internal/show"
	"evbench/plan"
	"evbench/results"
)

// A Source is what figures are drawn from.
type Source struct {
	Run *results.Run
	// Plans are those of the cases that have a schedule, by name of the case.
	Plans map[string]*plan.Plan
	// PairsMost is the greatest goodput of a pair in other runs that are shown beside this one,
	// in bit/s: all maps have one scale.
	PairsMost float64
}

// Only returns the source with one case, and its repeats, alone.
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

var kinds = []struct {
	name, title string
	build       func(Source, *Figure)
}{
	{"efficiency", "Efficiency beside its prediction", efficiency},
	{"rounds", "Ratio to the control, round by round", rounds},
	{"throughput", "Throughput per case", throughput},
	{"timeline", "Throughput over time", timeline},
	{"failover", "Fail-over", failover},
	{"servers", "Spread over servers", servers},
	{"pairs", "Throughput between pairs of servers", pairs},
	{"tree", "Load of links", tree},
	{"waits", "Barrier wait against transfer", waits},
}

// Names returns the names of all figures.
func Names() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

// Title returns the title of a figure, "" for a name that is not known.
func Title(name string) string {
	for _, k := range kinds {
		if k.name == name {
			return k.title
		}
	}
	return ""
}

// Build makes the figure of a name.
func Build(name string, s Source) (*Figure, error) {
	for _, k := range kinds {
		if k.name == name {
			f := &Figure{Name: k.name, Title: k.title}
			k.build(s, f)
			return f, nil
		}
	}
	return nil, fmt.Errorf("no figure %q; %s", name, show.Choices(name, Names()))
}

func labels(all []results.Case) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = shorten(results.Label(c, all))
	}
	return out
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
	out := csv.NewWriter(w)
	if err := out.Write(t.Columns); err != nil {
		return err
	}
	return out.WriteAll(t.Rows)
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

func whole(n int) string { return strconv.Itoa(n) }

func bits(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }
