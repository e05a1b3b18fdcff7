package survey

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"evbench/plan"
	"evbench/plan/verify"
	"evbench/topology"
)

// PlannerOptions say how to measure the planner.
type PlannerOptions struct {
	// Clock returns the time since some moment, by a monotonic clock.
	Clock func() time.Duration
	// Allocated returns how many bytes the process has allocated since it
	// started, freed ones included.
	Allocated func() uint64
	// Quick takes 40 plans where the full measurement takes 1,000, and fewer of
	// the large trees.
	Quick bool
	// Most is how many plans of one kind are made at most. 0 means all.
	Most int
	// Progress, when set, is told what is being measured.
	Progress func(work string)
}

// A Figure is what was measured for one piece of work.
type Figure struct {
	Work string
	// Published is what the thesis says of the same work, with the place, or "not
	// stated".
	Published string
	Runs      int
	// Median and Max are the times of one plan: schedule, spines, bound and tables.
	Median, Max time.Duration
	// Allocated is the median of what one plan allocated, in bytes, freed or not:
	// no less than what it held at any moment.
	Allocated uint64
	// Judged plans were read back from their file form by verify; Valid of them
	// had no offence, their bound recomputed from its witness.
	Judged, Valid int
	// AtBound plans have exactly as many phases as the bound; -1 where that is not
	// asked.
	AtBound int
	// Note says what else there is: phases, gaps, or why there is no figure.
	Note string
}

// A work is one figure to be measured.
type work struct {
	name, published string
	trials          []trial
	measure         func(*planner, work, *Figure) error
}

// A trial is one plan to make.
type trial struct {
	label string
	tree  *topology.Tree
	plan  func() (*plan.Plan, error)
	text  bool // judge the text form, which leaves out what only Build fills in
}

// planner measures.
type planner struct {
	PlannerOptions
	ctx  context.Context
	rows []work
}

// Planner measures the planner on fixed work, one plan at a time with all CPUs,
// and hands each figure to give as it is ready. When ctx ends it stops between
// two plans and returns the context's error.
func Planner(ctx context.Context, o PlannerOptions, give func(Figure) error) error {
	p := &planner{PlannerOptions: o, ctx: ctx}
	if err := p.list(); err != nil {
		return err
	}
	for _, w := range p.rows {
		if o.Progress != nil {
			o.Progress(w.name)
		}
		if o.Most > 0 && len(w.trials) > o.Most {
			w.trials = w.trials[:o.Most]
		}
		f := Figure{Work: w.name, Published: w.published, AtBound: -1}
		if err := w.measure(p, w, &f); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f.Note = "no figure: " + err.Error()
		}
		if err := give(f); err != nil {
			return err
		}
	}
	return nil
}

// planning times the plans of a work and judges them.
func (p *planner) planning(w work, f *Figure) error {
	var times []time.Duration
	var bytes []uint64
	var phases, gaps []int
	f.AtBound = 0
	if _, err := w.trials[0].plan(); err != nil { // and warm up
		return err
	}
	for _, t := range w.trials {
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		before, start := p.Allocated(), p.Clock()
		made, err := t.plan()
		took, after := p.Clock()-start, p.Allocated()
		if err != nil {
			return fmt.Errorf("%s: %w", t.label, err)
		}
		times, bytes = append(times, took), append(bytes, after-before)
		phases, gaps = append(phases, made.Phases()), append(gaps, made.Gap())
		if made.Gap() == 0 {
			f.AtBound++
		}
		report, err := judge(made, t.text)
		if err != nil {
			return fmt.Errorf("%s: %w", t.label, err)
		}
		if f.Judged++; report.Valid {
			f.Valid++
		} else if f.Note == "" {
			f.Note = fmt.Sprintf("NOT VALID: %s: %s; ", t.label, report.Offences[0].Text)
		}
	}
	f.Runs, f.Median, f.Max, f.Allocated = len(times), median(times), slices.Max(times), median(bytes)
	f.Note += phaseNote(phases, gaps)
	return nil
}

// phaseNote writes the phases in the order of the trials when there are few, else
// their range, and the worst gap.
func phaseNote(phases, gaps []int) string {
	text := fmt.Sprintf("%d–%d phases", slices.Min(phases), slices.Max(phases))
	if len(phases) <= 6 {
		text = strings.Trim(strings.ReplaceAll(fmt.Sprint(phases), " ", ", "), "[]") + " phases"
	}
	if g := slices.Max(gaps); g > 0 {
		text += fmt.Sprintf(", at most %d above the bound", g)
	}
	return text
}

// read writes a plan in its file form and reads it as the judge does.
func read(p *plan.Plan, text bool) (*verify.File, error) {
	r, w := io.Pipe()
	go func() {
		write := p.WriteJSON
		if text {
			write = p.WriteText
		}
		w.CloseWithError(write(w))
	}()
	defer r.Close() // ends the writer when the reader gives up
	return verify.Read(r)
}

func judge(p *plan.Plan, text bool) (*verify.Report, error) {
	file, err := read(p, text)
	if err != nil {
		return nil, err
	}
	return verify.Check(file, verify.Options{Bound: !text}), nil
}

// judging times the judge alone, on plans that have been read.
func (p *planner) judging(w work, f *Figure) error {
	made, err := w.trials[0].plan()
	if err != nil {
		return err
	}
	file, err := read(made, w.trials[0].text)
	if err != nil {
		return err
	}
	var times []time.Duration
	var bytes []uint64
	for range 5 {
		before, start := p.Allocated(), p.Clock()
		report := verify.Check(file, verify.Options{Bound: true})
		times, bytes = append(times, p.Clock()-start), append(bytes, p.Allocated()-before)
		if f.Judged++; report.Valid {
			f.Valid++
		}
	}
	f.Runs, f.Median, f.Max, f.Allocated = len(times), median(times), slices.Max(times), median(bytes)
	f.Note = fmt.Sprintf("%d messages", len(file.Messages))
	return nil
}

// PlannerTable is a set of figures for printing.
func PlannerTable(figures []Figure) *Table {
	out := &Table{name: "planner", Notes: []string{
		"time in the process of one plan: schedule, spines, bound, tables; one plan at a time, all CPUs",
		"memory: median of all bytes that one plan allocated, freed or not: an upper bound on what it held at any moment",
		"valid: of the plans judged after writing and reading them back; at bound: plans with no more phases than proven necessary",
		"published: the thesis, with an integer program on a commercial solver, on an i7-1165G7 with 8 threads",
	}, columns: []Column{
		{"work", "work", 0}, {"published", "published", 0}, {"runs", "runs", 0}, {"median ms", "median_ms", 2}, {"max ms", "max_ms", 2},
		{"MB", "allocated_mb", 1}, {"valid", "valid", 0}, {"at bound", "at_bound", 0}, {"note", "note", 0},
	}}
	for _, f := range figures {
		row := []any{f.Work, f.Published, f.Runs, nil, nil, nil, nil, nil, f.Note}
		if f.Runs > 0 {
			row[3], row[4], row[5] = milliseconds(f.Median), milliseconds(f.Max), float64(f.Allocated)/1e6
			row[6] = fmt.Sprintf("%d/%d", f.Valid, f.Judged)
		}
		if f.Runs > 0 && f.AtBound >= 0 {
			row[7] = fmt.Sprintf("%d/%d", f.AtBound, f.Runs)
		}
		out.rows = append(out.rows, row)
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
