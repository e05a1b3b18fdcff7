package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"evbench/plan"
)

func diffCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "diff",
		Usage:     "say what one plan changes against another, and fail when it is worse",
		ArgsUsage: "OLD NEW",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "fail-on", Usage: "exit 3 when one of `FIGURES` is greater in NEW: " + strings.Join(plan.Regressible, ",")},
			&cli.BoolFlag{Name: "json", Usage: "print the difference as one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing; the exit code says it"},
		},
		Action: diffAction,
	}, "  evbench diff plan.txt plan.txt --fail-on phases,duration")
}

func diffAction(c *cli.Context) error {
	if err := needArgs(c, 2, 2, "OLD and NEW, two plan files,"); err != nil {
		return err
	}
	figures, err := listed(c, "fail-on")
	if err != nil {
		return err
	}
	var plans [2]*plan.Plan
	for i := range plans {
		p, err := loadPlan(c.Args().Get(i))
		if err != nil {
			return usagef("%s: %w", c.Args().Get(i), err)
		}
		plans[i] = p
	}
	d := plan.Compare(plans[0], plans[1])
	worse, err := d.Worse(figures)
	if err != nil {
		return usagef("--fail-on: %w", err)
	}
	switch {
	case c.Bool("quiet"):
	case c.Bool("json"):
		err = json.NewEncoder(c.App.Writer).Encode(struct {
			Schema string `json:"schema"`
			plan.Diff
			Worse []plan.Regression `json:"worse"`
		}{"evbench/diff/1", d, worse})
	default:
		err = describeDiff(c.App.Writer, d, worse)
	}
	if err == nil && len(worse) > 0 {
		err = &exitError{code: exitRegression}
	}
	return err
}

// loadPlan reads a plan that is complete and right, from a file or, "-", standard
// input.
func loadPlan(name string) (*plan.Plan, error) {
	if name == "-" {
		return plan.Read(os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return plan.Read(f)
}

// describeDiff prints a difference as a table: what both say, what each says,
// and by how much the new plan has more.
func describeDiff(w io.Writer, d plan.Diff, worse []plan.Regression) error {
	if d.SameHash {
		fmt.Fprintln(w, "the same plan, hash", d.New.Hash)
		if len(d.Lines) == 0 && d.Old == d.New {
			return nil
		}
	}
	t := new(diffTable)
	t.row("", "old", "new", "")
	for _, l := range d.Lines {
		t.row(l.Key, brief(l.Old), brief(l.New), "")
	}
	a, b := d.Old, d.New
	t.count("phases", a.Phases, b.Phases)
	t.row("bound", boundText(a), boundText(b), change(float64(b.Bound-a.Bound)))
	t.count("gap", a.Gap, b.Gap)
	t.row("duration", float(a.Duration), float(b.Duration), change(b.Duration-a.Duration))
	t.row("predicted efficiency", fmt.Sprintf("%.3f", a.PredictedEfficiency), fmt.Sprintf("%.3f", b.PredictedEfficiency), "")
	if a.LIDs+b.LIDs > 0 {
		t.count("paths", a.Paths, b.Paths)
		t.count("LMC", a.LMC, b.LMC)
		t.count("LIDs", a.LIDs, b.LIDs)
		t.count("LFT entries", a.ForwardingTableLength, b.ForwardingTableLength)
	}
	if err := t.write(w); err != nil {
		return err
	}
	describeMoves(w, d)
	for _, r := range worse {
		fmt.Fprintf(w, "worse: %s, %s instead of %s\n", r.Figure, float(r.New), float(r.Old))
	}
	return nil
}

// A diffTable has columns for a name, both plans and the change.
type diffTable [][4]string

func (t *diffTable) row(name, old, new, change string) {
	*t = append(*t, [4]string{name, old, new, change})
}

func (t *diffTable) count(name string, old, new int) {
	t.row(name, commas(old), commas(new), change(float64(new-old)))
}

// write aligns the columns; no line ends with blanks.
func (t *diffTable) write(w io.Writer) error {
	var width [4]int
	for _, row := range *t {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range *t {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", width[i], cell)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func describeMoves(w io.Writer, d plan.Diff) {
	m := d.Messages
	if m == nil {
		fmt.Fprintln(w, "different servers: messages are not compared")
		return
	}
	fmt.Fprintf(w, "messages: %s in both, %s in another phase, %s on another path, %s only old, %s only new\n",
		commas(m.Both), commas(m.Phase), commas(m.Path), commas(m.Old), commas(m.New))
	for _, x := range m.First {
		fmt.Fprintf(w, "  %s -> %s: %s -> %s\n", x.Src, x.Dst, placeText(x.Old), placeText(x.New))
	}
	if more := m.Moved - len(m.First); more > 0 {
		fmt.Fprintf(w, "  … and %s more\n", commas(more))
	}
}

func boundText(f plan.Figures) string {
	if f.Bound == 0 {
		return "none"
	}
	return fmt.Sprintf("%s (%s)", commas(f.Bound), brief(f.Proof))
}

func placeText(p *plan.Place) string {
	switch {
	case p == nil:
		return "absent"
	case p.Spine == "-":
		return fmt.Sprintf("phase %d", p.Phase)
	}
	return fmt.Sprintf("phase %d spine %s", p.Phase, p.Spine)
}

// change writes a difference with its sign, and none as nothing.
func change(by float64) string {
	switch {
	case by == 0:
		return ""
	case by > 0:
		return "+" + float(by)
	}
	return float(by)
}

// float writes a figure that mostly is a whole number, with one decimal where not.
func float(x float64) string {
	if x == math.Trunc(x) {
		return commas(int(x))
	}
	return fmt.Sprintf("%.1f", x)
}

// brief shortens a list of names so that a table stays one.
func brief(s string) string {
	const most = 40
	if len(s) <= most {
		return cmp.Or(s, "none")
	}
	at := strings.LastIndexByte(s[:most], ',')
	if at < 0 {
		at = most
	}
	return fmt.Sprintf("%s… (%d)", s[:at], 1+strings.Count(s, ","))
}
