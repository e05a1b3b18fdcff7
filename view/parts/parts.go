// Package parts answers: what do the page of results and that of a run that goes on share? The table of cases with their verdicts, the
// drawing of cables with their loads, and the style. It draws no figure, and opens no file.
package parts

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/report"
	"evbench/results"
)

var (
	//go:embed parts.html
	text string
	//go:embed style.css
	style string

	templates = sync.OnceValue(Templates)
)

// Templates returns the templates of the parts, verdict and tree, to which a page adds its own.
func Templates() *template.Template { return template.Must(template.New("page").Parse(text)) }

// Style is the style of all pages.
func Style() template.CSS { return template.CSS(style) }

// Verdict returns the table of the cases of a run, and the legend of its columns.
func Verdict(run *results.Run) (table template.HTML, legend string, err error) {
	columns := report.Columns(run.Summary.Cases, How(run))
	table, err = executed("verdict", struct {
		Several bool
		Columns []report.Column
		Rows    []Row
	}{false, columns, Rows(0, "", run, columns)})
	return table, Legend(run.Summary.Cases), err
}

// Tree returns the drawing of one case over all its phases, with a description in words; "" where
// it has too many cables to draw.
func Tree(id, title string, x *CaseTree) (template.HTML, error) {
	d := x.Cables()
	if !d.Few() {
		return "", nil
	}
	v := Draw(d, 296, title)
	v.ID = id
	v.SVG = template.HTML(strings.Replace(string(v.SVG), " Arrow keys go from cable to cable.", "", 1)) // the page's script does that
	return executed("tree", v)
}

func executed(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := templates().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// How is the origin of a run's figures, in one word: measured, emulated, simulated, modelled.
func How(run *results.Run) string {
	switch f := run.Manifest.Fabric; {
	case f.Kind == "emulate":
		return "emulated"
	case strings.HasPrefix(f.Kind, "sim"):
		return "simulated"
	case f.Model && f.Kind != "lab" && f.Kind != "hosts":
		return "modelled"
	}
	return "measured"
}

// RunID names a run of a page for the script.
func RunID(index int) string { return "run" + strconv.Itoa(index+1) }

// CaseID names a case of a run for the script, "" where a drawing has all cases.
func CaseID(run, index int) string {
	if index < 0 {
		return ""
	}
	return fmt.Sprintf("%s-%d", RunID(run), index)
}

// Lead says in one line what ran, and where.
func Lead(run *results.Run) string {
	m, rounds := run.Manifest, run.Summary.Rounds
	var parts []string
	if m.Host != "" {
		parts = append(parts, m.Host)
	}
	if r := m.Fabric.RateBitPerSec; r > 0 {
		parts = append(parts, "links of "+Rate(float64(r)))
	}
	if m.Transport != "" {
		parts = append(parts, "over "+m.Transport)
	}
	if rounds > 0 {
		parts = append(parts, show.Plural(rounds, "round", "rounds"))
	}
	if !m.Started.IsZero() {
		parts = append(parts, Clock(m.Started))
	}
	return strings.Join(parts, " · ")
}

// Rate writes bit/s.
func Rate(x float64) string {
	u := results.RateUnitOf(x)
	return strconv.FormatFloat(x/u.Size, 'g', 4, 64) + " " + u.Name
}

// Clock writes a time.
func Clock(t time.Time) string {
	if t.IsZero() {
		return None
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Unbroken keeps per cents and intervals on the line of their numbers.
var Unbroken = strings.NewReplacer(" %", "\u00a0%", " (±", "\u00a0(±")

// None stands for what is not known.
const None = "–"

// A Row is a case in the table of verdicts.
type Row struct {
	Run, RunID string
	Case       string
	ID         string // of the case, for the script
	Kind       Kind
	Verdict    string        // one of verdicts
	Cells      []report.Cell // by columns
}

// Rows are those of the run of a page with this index, which is called name.
func Rows(index int, name string, run *results.Run, columns []report.Column) []Row {
	cases := run.Summary.Cases
	return lists.Tabulate(len(cases), func(i int) Row {
		c := cases[i]
		return Row{
			Run: name, RunID: RunID(index), ID: CaseID(index, i), Case: results.Label(c, cases), Kind: KindOf(run), Verdict: verdict(c),
			Cells: lists.Map(columns, func(x report.Column) report.Cell { return x.Cell(c) }),
		}
	})
}

// verdicts are all verdicts, in the order of the line above the table.
var verdicts = []string{results.Reference, results.Resolved, results.Ranked, results.Unresolved, "valid", wrong, invalid, incomplete}

// Names of cases that are not credible; invalid in results without verdicts.
const (
	wrong      = "wrong"
	invalid    = "invalid"
	incomplete = "incomplete"
)

func verdict(c results.Case) string {
	switch {
	case !c.Complete:
		return incomplete
	case !c.Valid && c.Verdict != "":
		return wrong
	case !c.Valid:
		return invalid
	case c.Verdict != "":
		return c.Verdict
	}
	return "valid"
}

// Count says how many cases have which verdict.
func Count(rows []Row) string {
	count := map[string]int{}
	for _, r := range rows {
		count[r.Verdict]++
	}
	if len(rows) == 0 {
		return "No case was measured."
	}
	if count["valid"] == len(rows) {
		return fmt.Sprintf("All %d cases are valid.", len(rows))
	}
	var parts []string
	for _, v := range verdicts {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	text := fmt.Sprintf("Of %d cases: %s.", len(rows), strings.Join(parts, ", "))
	if count[wrong]+count[invalid]+count[incomplete] > 0 {
		text += " The reasons stand below the table."
	}
	return text
}

// A Kind says in a word and in a sentence how results were made.
type Kind struct{ Word, Text string }

func KindOf(run *results.Run) Kind {
	switch f := run.Manifest.Fabric; {
	case f.Kind == "lab":
		return Kind{"measured", "Measured on a lab of network namespaces on one machine."}
	case f.Kind == "hosts":
		return Kind{"measured", "Measured on hosts."}
	case f.Kind == "emulate":
		return Kind{"emulated", "A model: measured on emulated links, clocks in the program, not on a network."}
	case strings.HasPrefix(f.Kind, "sim"):
		return Kind{"simulated", "Simulated: worked out in virtual time, not measured."}
	case f.Model:
		return Kind{"model", "A model (" + f.Kind + "), not measured on a network."}
	}
	return Kind{cmp.Or(run.Manifest.Fabric.Kind, None), "Fabric: " + cmp.Or(run.Manifest.Fabric.Kind, None) + "."}
}

// Legend explains the columns of the table of verdicts.
func Legend(cases []results.Case) string {
	text := "Efficiency is ideal time / time."
	some := func(is func(results.Case) bool) bool { return slices.ContainsFunc(cases, is) }
	if some(func(c results.Case) bool { return c.RatioToControl > 0 }) {
		text += " Ratio: to the healthy control of the same run"
		if some(func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Of == results.OfRatio }) {
			text += ", median over rounds, ± half of its 95 % interval"
		}
		text += "."
	}
	if some(func(c results.Case) bool { return c.RatioToControl > 1.0005 }) {
		text += " Above 1 a case was faster than its control; no link exceeded its rate."
	}
	if some(func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Over == results.OverExchanges }) {
		text += " *: too few rounds, the interval is over exchanges."
	}
	if some(func(c results.Case) bool { return c.Verdict != "" }) {
		text += fmt.Sprintf(" Resolved: that half is at most %s of the figure, and the control reached its prediction. Ranked: not resolved, but the interval overlaps no interval of a compared case, or the two differ by less than %[1]s. Unresolved: neither.",
			results.ToleranceText())
	}
	return Unbroken.Replace(text) + wordsOf(cases) + " Dead: dead links and timed failures. Bound: the least number of phases in which no link is shared. " + None + ": not given."
}

// wordsOf explains the words of the table that its cases have.
func wordsOf(cases []results.Case) (text string) {
	has := func(word string) bool {
		return slices.ContainsFunc(cases, func(c results.Case) bool {
			return strings.HasPrefix(c.Schedule, word) || strings.HasPrefix(c.Routing, word) || string(c.Mode) == word
		})
	}
	for _, x := range [][2]string{
		{string(modes.Sync), "Phase: a step of an exchange, in which each server sends to at most one and receives from at most one; then all wait."},
		{"linear-shift", "linear-shift: in each phase every server sends to the one that is so many places further."},
		{"fors", "FORS: schedule and paths planned together around dead links."},
		{string(modes.Ordered), "ordered: tokens instead of phases say when a message may start."},
		{string(modes.Unsync), "unsync: unsynchronised, without phases."},
		{string(modes.FreeRunning), "free: free-running, the order of the schedule without waiting."},
		{"pinned", "pinned: the plan, not a table, chooses the path of each message."},
		{"minhop", "minhop: tables with a shortest path to each destination through the port with the fewest."},
		{"ftree", "ftree: OpenSM's tables for fat trees."},
		{"spread", "spread: as minhop, but each leaf takes another spine in place of a dead link."},
	} {
		if has(x[0]) {
			text += " " + x[1]
		}
	}
	return text
}
