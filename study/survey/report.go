package survey

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/internal/show"
)

// WriteText writes the report for people.
func (r *WhatIfReport) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	t := r.tree
	fmt.Fprintf(out, "%s, %d servers, %d of %d links dead before\n",
		t.Notation(), t.Servers(), len(t.Dead()), t.AllLinks())
	if r.Incomplete {
		fmt.Fprintln(out, "INCOMPLETE: stopped; the numbers are those of the sets done")
	}
	for i := range r.Groups {
		r.Groups[i].writeText(out, r.k, r.base)
	}
	return out.Flush()
}

func (g *GroupReport) writeText(w io.Writer, k int, base []outcome) {
	fmt.Fprintf(w, "\n%s, %d more dead: %d of %d sets planned", g.Group, k, g.Done, g.Sets)
	if int64(g.Chosen) < g.Sets {
		fmt.Fprintf(w, ", of a sample of %d", g.Chosen)
	}
	if g.Unreachable > 0 {
		fmt.Fprintf(w, "; %d leave servers unreachable, first %s", g.Unreachable, strings.Join(g.First, ","))
	}
	fmt.Fprintln(w)
	lines := [][]string{{"  case", "", "before", "worst", "p5", "median", "p95", "best", "as bad", "worst set"}}
	for i, c := range g.Cases {
		lines = append(lines, c.textLines(base[i])...)
	}
	var columns [9]show.Column
	for i := 2; i < len(columns); i++ {
		columns[i].Right = true
	}
	show.Align(w, lines, columns[:]...)
	for _, c := range g.Cases {
		fmt.Fprintf(w, "  %s: %s\n", c.Case, c.histograms())
	}
}

func (c *CaseReport) textLines(base outcome) [][]string {
	if c.Planned == 0 {
		return [][]string{{"  " + c.Case.String(), "no plan", "", "", "", "", "", "", "", c.reason}}
	}
	p, e := c.Phases, c.Efficiency
	phases, eff := strconv.Itoa, func(x float64) string { return fmt.Sprintf("%.3f", x) }
	line := func(name, what, before string, worst, p5, median, p95, best string, sets int, set []string) []string {
		which := strings.Join(set, ",")
		if sets == c.Planned {
			which = "any"
		}
		return []string{name, what, before, worst, p5, median, p95, best, strconv.Itoa(sets), which}
	}
	before := []string{"none", ""}
	if base.phases > 0 {
		before = []string{phases(base.phases), eff(base.efficiency)}
	}
	return [][]string{
		line("  "+c.Case.String(), "phases", before[0],
			phases(p.Max), phases(p.p5), phases(p.Median), phases(p.p95), phases(p.Min), p.sets, p.Worst),
		line("", "efficiency", before[1],
			eff(e.Min), eff(e.p5), eff(e.Median), eff(e.p95), eff(e.Max), e.sets, e.Worst),
	}
}

// histograms writes "phases 63×12 64×4; efficiency 0.50–0.55×16".
func (c *CaseReport) histograms() string {
	if c.Planned == 0 {
		return "no plan"
	}
	var b strings.Builder
	b.WriteString("phases")
	for _, bin := range c.Phases.Histogram {
		fmt.Fprintf(&b, " %d×%d", bin.Value, bin.Count)
	}
	b.WriteString("; efficiency")
	for _, bin := range c.Efficiency.Histogram {
		fmt.Fprintf(&b, " %s×%d", steps(bin.Value), bin.Count)
	}
	if c.above > 0 {
		fmt.Fprintf(&b, "; %d above the bound", c.above)
	}
	if c.Refused > 0 {
		fmt.Fprintf(&b, "; %d without a plan, first: %s", c.Refused, c.reason)
	}
	return b.String()
}

// steps names the bin of an efficiency; 1 has its own.
func steps(from float64) string {
	if from >= 1 {
		return "1"
	}
	return fmt.Sprintf("%.2f–%.2f", from, from+0.05)
}

// The JSON form of a report, schema evbench/whatif/1.
type (
	reportJSON struct {
		Schema     string      `json:"schema"`
		Topology   string      `json:"topology"`
		Fill       []int       `json:"fill"`
		Spines     int         `json:"spines"`
		Down       []string    `json:"down"` // before
		Servers    int         `json:"servers"`
		K          int         `json:"k"`
		Sample     int         `json:"sample"` // 0: all sets
		Seed       uint64      `json:"seed"`
		Incomplete bool        `json:"incomplete"`
		Groups     []groupJSON `json:"groups"`
	}
	groupJSON struct {
		Group       string     `json:"group"`
		Sets        int64      `json:"sets"`
		Chosen      int        `json:"chosen"`
		Done        int        `json:"done"`
		Unreachable int        `json:"unreachable"`
		First       []string   `json:"first_unreachable,omitempty"`
		Cases       []caseJSON `json:"cases"`
	}
	caseJSON struct {
		Schedule   string             `json:"schedule"`
		Routing    string             `json:"routing"`
		Planned    int                `json:"planned"`
		Refused    int                `json:"refused"`
		Reason     string             `json:"reason,omitempty"`
		AboveBound int                `json:"above_bound"`
		Before     beforeJSON         `json:"before"`
		Phases     *distJSON[int]     `json:"phases"` // null without a plan
		Efficiency *distJSON[float64] `json:"predicted_efficiency"`
	}
	beforeJSON struct {
		Phases     int     `json:"phases"`
		Efficiency float64 `json:"predicted_efficiency"`
	}
	distJSON[T int | float64] struct {
		Min       T            `json:"min"`
		P5        T            `json:"p5"`
		Median    T            `json:"median"`
		P95       T            `json:"p95"`
		Max       T            `json:"max"`
		Worst     []string     `json:"worst_set"`
		WorstSets int          `json:"sets_as_bad"`
		Histogram []binJSON[T] `json:"histogram"`
	}
	binJSON[T int | float64] struct {
		From  T   `json:"from"`
		Count int `json:"count"`
	}
)

// WriteJSON writes the report as one document, schema evbench/whatif/1.
func (r *WhatIfReport) WriteJSON(w io.Writer) error {
	t := r.tree
	doc := reportJSON{
		Schema: "evbench/whatif/1", Topology: t.Notation(), Fill: t.Fill(), Spines: t.Spines(), Down: t.DownNames(),
		Servers: t.Servers(), K: r.k, Sample: r.sample, Seed: r.seed, Incomplete: r.Incomplete, Groups: []groupJSON{},
	}
	for _, g := range r.Groups {
		out := groupJSON{
			Group: g.Group, Sets: g.Sets, Chosen: g.Chosen, Done: g.Done, Unreachable: g.Unreachable, First: g.First,
		}
		for i, c := range g.Cases {
			j := caseJSON{
				Schedule: c.Case.Schedule, Routing: c.Case.Routing, Planned: c.Planned, Refused: c.Refused, Reason: c.reason,
				AboveBound: c.above, Before: beforeJSON{r.base[i].phases, r.base[i].efficiency},
			}
			if c.Planned > 0 {
				j.Phases, j.Efficiency = distOf(c.Phases), distOf(c.Efficiency)
			}
			out.Cases = append(out.Cases, j)
		}
		doc.Groups = append(doc.Groups, out)
	}
	return json.NewEncoder(w).Encode(doc)
}

func distOf[T int | float64](d Distribution[T]) *distJSON[T] {
	out := &distJSON[T]{d.Min, d.p5, d.Median, d.p95, d.Max, d.Worst, d.sets, nil}
	for _, b := range d.Histogram {
		out.Histogram = append(out.Histogram, binJSON[T]{b.Value, b.Count})
	}
	return out
}
