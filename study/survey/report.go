package survey

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// WriteText writes the report for people.
func (r *WhatIfReport) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	t := r.tree
	dead, all := t.Damage()
	fmt.Fprintf(out, "%s, %d servers, %d of %d links dead before\n", t.Notation(), t.Servers(), dead, all)
	if r.Incomplete {
		fmt.Fprintln(out, "INCOMPLETE: stopped; the numbers are those of the sets done")
	}
	for i := range r.Groups {
		r.Groups[i].writeText(out, r.k)
	}
	return out.Flush()
}

func (g *GroupReport) writeText(w io.Writer, k int) {
	fmt.Fprintf(w, "\n%s, %d more dead: %d of %d sets planned", g.Group, k, g.Done, g.Sets)
	if int64(g.Chosen) < g.Sets {
		fmt.Fprintf(w, ", of a sample of %d", g.Chosen)
	}
	if g.Unreachable > 0 {
		fmt.Fprintf(w, "; %d leave servers unreachable, first %s", g.Unreachable, strings.Join(g.First, ","))
	}
	fmt.Fprintln(w)
	lines := [][]string{{"  case", "", "before", "worst", "p5", "median", "p95", "best", "as bad", "worst set"}}
	for _, c := range g.Cases {
		lines = append(lines, c.textLines()...)
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

func (c *CaseReport) textLines() [][]string {
	if c.Planned == 0 {
		return [][]string{{"  " + c.Case.String(), "no plan", "", "", "", "", "", "", "", c.Reason}}
	}
	p, e := c.Phases, c.Efficiency
	phases, eff := strconv.Itoa, func(x float64) string { return fmt.Sprintf("%.3f", x) }
	line := func(head [3]string, worstFirst [5]string, sets int, set []string) []string {
		which := strings.Join(set, ",")
		if sets == c.Planned {
			which = "any"
		}
		return slices.Concat(head[:], worstFirst[:], []string{strconv.Itoa(sets), which})
	}
	before := []string{"none", ""}
	if c.Before.Phases > 0 {
		before = []string{phases(int(c.Before.Phases)), eff(c.Before.Efficiency)}
	}
	return [][]string{
		line([3]string{"  " + c.Case.String(), "phases", before[0]},
			[5]string{phases(p.Max), phases(p.P5), phases(p.Median), phases(p.P95), phases(p.Min)}, p.WorstSets, p.Worst),
		line([3]string{"", "efficiency", before[1]},
			[5]string{eff(e.Min), eff(e.P5), eff(e.Median), eff(e.P95), eff(e.Max)}, e.WorstSets, e.Worst),
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
	if c.AboveBound > 0 {
		fmt.Fprintf(&b, "; %d above the bound", c.AboveBound)
	}
	if c.Refused > 0 {
		fmt.Fprintf(&b, "; %d without a plan, first: %s", c.Refused, c.Reason)
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

// Document is the report with its answer.
func (r *WhatIfReport) Document() answer.Document {
	t := r.tree
	return answer.Document{Answer: r.Answer(), Text: r.WriteText, Schema: "evbench/whatif/1", Fields: struct {
		Topology   string        `json:"topology"`
		Fill       []int         `json:"fill"`
		Spines     int           `json:"spines"`
		Down       []string      `json:"down"` // before
		Servers    int           `json:"servers"`
		K          int           `json:"k"`
		Sample     int           `json:"sample"` // 0: all sets
		Seed       uint64        `json:"seed"`
		Incomplete bool          `json:"incomplete"`
		Groups     []GroupReport `json:"groups"`
	}{t.Notation(), t.Fill(), t.Spines(), t.DownNames(), t.Servers(), r.k, r.sample, r.seed, r.Incomplete, append([]GroupReport{}, r.Groups...)}}
}
