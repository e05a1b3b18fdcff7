package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/internal/unit"
	"evbench/results"
)

// Only keeps some figures. Without names the text shows the ratios to the control, or all figures
// if no ratio can be compared.
func (c *Comparison) Only(names []string) {
	c.shown = names
	if len(names) == 0 {
		return
	}
	for i := range c.Cases {
		x := &c.Cases[i]
		x.Figures = slices.DeleteFunc(x.Figures, func(f Figure) bool { return !slices.Contains(names, f.Name) })
	}
	c.Geomean = slices.DeleteFunc(c.Geomean, func(g Geomean) bool { return !slices.Contains(names, g.Figure) })
}

func (c *Comparison) tables() []string {
	switch {
	case len(c.shown) > 0:
		return c.shown
	case c.says(Ratio):
		return []string{Ratio}
	}
	return Figures
}

func (c *Comparison) says(figure string) bool {
	return slices.ContainsFunc(c.Cases, func(x Case) bool {
		return slices.ContainsFunc(x.Figures, func(f Figure) bool { return f.Name == figure && f.Unsaid == "" })
	})
}

// WriteText writes the notes, one table for each figure, and the meaning of the signs.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "base: %s\nnew:  %s\n", c.Base.text(), c.New.text())
	for _, d := range c.Differences {
		fmt.Fprintf(&b, "differs: %s\n", show.Line(d.String()))
	}
	shown := c.tables()
	for _, name := range shown {
		if t := c.table(name); len(t) > 1 {
			b.WriteByte('\n')
			show.Align(&b, t, columns...)
		}
	}
	b.WriteByte('\n')
	c.footnotes(&b, shown)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Side) text() string {
	return show.Line(fmt.Sprintf("%s (%s on %s, %s)", s.Path, s.Name, s.Fabric, s.Started.UTC().Format(time.DateTime)))
}

// columns are a name, both medians with their intervals, the change and the test.
var columns = []show.Column{{}, {Right: true, Tight: true}, {}, {Right: true, Tight: true}, {}, {Right: true}, {}}

// table returns the lines of a figure. No cell contains a line break.
func (c *Comparison) table(figure string) [][]string {
	t := [][]string{{figure, "base", "", "new", "", "change", ""}}
	for _, x := range c.Cases {
		for _, f := range x.Figures {
			if f.Name == figure {
				t = append(t, []string{
					show.Line("  " + x.Name), valueText(figure, f.Base.Median), rangeText(f.Base),
					valueText(figure, f.New.Median), rangeText(f.New), changeText(f), testText(f),
				})
			}
		}
	}
	for _, g := range c.Geomean {
		if g.Figure == figure {
			t = append(t, []string{"  geomean", valueText(figure, g.Base), "", valueText(figure, g.New), "", percentText(g.Change), ""})
		}
	}
	return t
}

func valueText(figure string, x float64) string {
	switch figure {
	case "goodput_bit_per_s":
		return unit.Rate(math.Round(x)).String()
	case "barrier_wait_s":
		return secondsText(x)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func secondsText(x float64) string {
	for _, u := range []struct {
		name string
		sec  float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if x >= u.sec {
			return strconv.FormatFloat(x/u.sec, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(x*1e9, 'g', 4, 64) + "ns"
}

// rangeText writes the distance of the interval's end from the median, on the longer side.
func rangeText(c results.Interval) string {
	switch {
	case c.Lo == nil || c.Hi == nil:
		return "±∞"
	case c.Median == 0:
		return "±?"
	}
	return fmt.Sprintf("±%.1f%%", 100*max(*c.Hi-c.Median, c.Median-*c.Lo)/c.Median)
}

func percentText(x float64) string { return fmt.Sprintf("%+.2f%%", x) }

func changeText(f Figure) string {
	switch {
	case f.Observed == Exact && f.Unsaid == "" && !f.Significant:
		return "0.00%"
	case !f.Significant:
		return "~"
	case f.Change == nil:
		return "?"
	}
	return percentText(*f.Change)
}

func testText(f Figure) string {
	n := fmt.Sprintf("n=%d+%d %s", f.Base.N, f.New.N, f.Observed)
	switch {
	case f.Observed == Exact:
		return "exact"
	case f.Unsaid != "", f.against:
		return n
	}
	return fmt.Sprintf("p=%.3f %s", f.P, n)
}

func (c *Comparison) footnotes(b *strings.Builder, shown []string) {
	if len(c.NoControl) > 0 && !(isSimulated(c.Base.run) && isSimulated(c.New.run)) {
		fmt.Fprintf(b, "no control in the %s run: absolute figures hold only on a machine that is as quiet in both runs\n", strings.Join(c.NoControl, " and the "))
	}
	if len(shown) == 1 && shown[0] == Ratio && len(c.shown) == 0 {
		fmt.Fprintf(b, "%s: over the control of the same round; --metric shows %s\n", Ratio, strings.Join(Figures[1:], ", "))
	}
	fmt.Fprintf(b, "medians with %.0f %% intervals; ~: no significant change (p > %g)\n", 100*results.Confidence, alpha)
	wide, inside := false, false
	for _, x := range c.Cases {
		for _, f := range x.Figures {
			if slices.Contains(shown, f.Name) {
				wide = wide || f.Base.Lo == nil || f.New.Lo == nil
				inside = inside || f.Observed == Blocks
			}
		}
	}
	if wide {
		fmt.Fprintln(b, "±∞: too few observations for an interval; 6 repeats give one")
	}
	if inside {
		fmt.Fprintf(b, "blocks: fewer than %d repeats on a side, so parts of a run are observed; they do not show how runs differ\n", minObservations)
	}
	for _, x := range c.Cases {
		caseNotes(b, &x, shown)
	}
	for _, name := range c.Missing {
		fmt.Fprintf(b, "missing: case %q of the base is not in the new run\n", name)
	}
	for _, name := range c.Added {
		fmt.Fprintf(b, "added: case %q of the new run is not in the base\n", name)
	}
}

// caseNotes says why figures of a case are ~, reason by reason, and which parts are not compared.
func caseNotes(b *strings.Builder, x *Case, shown []string) {
	figures := map[string][]string{}
	var reasons []string
	note := func(reason, figure string) {
		if figures[reason] == nil {
			reasons = append(reasons, reason)
		}
		figures[reason] = append(figures[reason], figure)
	}
	for _, f := range x.Figures {
		if !slices.Contains(shown, f.Name) {
			continue
		}
		if f.Unsaid != "" {
			note("nothing can be said: "+f.Unsaid, f.Name)
		} else if f.Overlap {
			note("~ although p is small: repeats of one run lie among those of the other", f.Name)
		}
	}
	for _, r := range reasons {
		fmt.Fprintf(b, "%s: %s: %s\n", x.Name, strings.Join(figures[r], ", "), r)
	}
	if n := x.Rejected; n.Base+n.New > 0 {
		fmt.Fprintf(b, "%s: rejected slices do not count: %d of the base, %d of the new run\n", x.Name, n.Base, n.New)
	}
	for _, l := range x.LeftOut {
		fmt.Fprintf(b, "%s: not compared: %s\n", x.Name, l)
	}
}

func (c *Comparison) rows() *answer.Table {
	t := answer.Plain("case", "figure", "base_median", "base_lo", "base_hi", "base_n", "new_median", "new_lo", "new_hi", "new_n",
		"change_percent", "p", "significant", "observed")
	for _, x := range c.Cases {
		for _, f := range x.Figures {
			t.Add(x.Name, f.Name, f.Base.Median, f.Base.Lo, f.Base.Hi, f.Base.N, f.New.Median, f.New.Lo, f.New.Hi, f.New.N, f.Change, f.P, f.Significant, f.Observed)
		}
	}
	return t
}
