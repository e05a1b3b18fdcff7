package html

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/report"
	"evbench/results"
	"evbench/view/figure"
)

type fact struct{ Name, Text string }

func runID(index int) string { return "run" + strconv.Itoa(index+1) }

func describe(index int, in Input) runView {
	run := in.Source.Run
	m := run.Manifest
	v := runView{
		ID: runID(index), Name: run.Summary.Name, Path: in.Name, Kind: kindOf(run), Lead: lead(m, run.Summary.Rounds), Manifest: m,
		Incomplete: !run.Summary.Complete, Notes: in.Notes, Below: run.Summary.Notes(), Warnings: warnings(run), Facts: facts(m),
	}
	if run.Summary.Answer != nil {
		v.Answer, v.Why = unbroken.Replace(run.Summary.Answer.String()), run.Summary.Answer.Why
	}
	return v
}

func lead(m results.Manifest, rounds int) string {
	var parts []string
	if m.Host != "" {
		parts = append(parts, m.Host)
	}
	if r := m.Fabric.RateBitPerSec; r > 0 {
		parts = append(parts, "links of "+rate(float64(r)))
	}
	if m.Transport != "" {
		parts = append(parts, "over "+m.Transport)
	}
	if rounds > 0 {
		parts = append(parts, show.Plural(rounds, "round", "rounds"))
	}
	if !m.Started.IsZero() {
		parts = append(parts, clock(m.Started))
	}
	return strings.Join(parts, " · ")
}

func rate(x float64) string {
	u := results.RateUnitOf(x)
	return strconv.FormatFloat(x/u.Size, 'g', 4, 64) + " " + u.Name
}

func clock(t time.Time) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// warnings are the warnings of the manifest, then those of the cases, each once, with its cases.
func warnings(run *results.Run) []string {
	return append(slices.Clone(run.Manifest.Warnings), results.Grouped(run.Summary.Cases, func(c results.Case) []string { return c.Warnings })...)
}

func facts(m results.Manifest) []fact {
	all := []fact{
		{"name", m.Name},
		{"seed", strconv.FormatUint(m.Seed, 10)},
		{"started", clock(m.Started)},
		{"ended", clock(m.Ended)},
		{"complete", strconv.FormatBool(m.Complete)},
		{"host", m.Host},
		{"processor", fmt.Sprintf("%s, %d cores", cmp.Or(m.CPU, none), m.Cores)},
		{"kernel", m.Kernel},
		{"fabric", fabricText(m.Fabric)},
		{"transport", strings.TrimSpace(m.Transport + " " + m.IO)},
		{"control connection", m.Control},
		{"launch", m.Launch},
		{"built in", strings.Join(m.BuildTags, ", ")},
	}
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		all = append(all, fact{"version of " + name, m.Versions[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Plans)) {
		all = append(all, fact{"plan of " + name, m.Plans[name]})
	}
	for _, t := range m.RateSearch {
		all = append(all, fact{"tried at " + rate(float64(t.RateBitPerSec)), fmt.Sprintf("%.3f of the prediction", t.Share())})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" })
}

func fabricText(f results.Fabric) string {
	text := cmp.Or(f.Kind, none)
	if f.RateBitPerSec > 0 {
		text += fmt.Sprintf(", links of %s, %.3f of that for messages", rate(float64(f.RateBitPerSec)), f.Factor)
	}
	if f.MTU > 0 {
		text += fmt.Sprintf(", MTU %d", f.MTU)
	}
	if f.NIC != "" {
		text += ", " + f.NIC
	}
	return text
}

// unbroken keeps per cents and intervals on the line of their numbers.
var unbroken = strings.NewReplacer(" %", "\u00a0%", " (±", "\u00a0(±")

const none = "–"

type row struct {
	Run, RunID string
	Case       string
	ID         string // of the case, for the script
	Kind       kind
	Verdict    string        // one of verdicts
	Cells      []report.Cell // by columns
}

func rowsOf(index int, in Input, columns []report.Column) []row {
	cases := in.Source.Run.Summary.Cases
	return lists.Tabulate(len(cases), func(i int) row {
		c := cases[i]
		return row{
			Run: in.Name, RunID: runID(index), ID: caseID(index, i), Case: results.Label(c, cases), Kind: kindOf(in.Source.Run), Verdict: verdict(c),
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

func verdictLine(rows []row) string {
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

type kind struct{ Word, Text string }

func kindOf(run *results.Run) kind {
	switch f := run.Manifest.Fabric; {
	case f.Kind == "lab":
		return kind{"measured", "Measured on a lab of network namespaces on one machine."}
	case f.Kind == "hosts":
		return kind{"measured", "Measured on hosts."}
	case f.Kind == "emulate":
		return kind{"emulated", "A model: measured on emulated links, clocks in the program, not on a network."}
	case strings.HasPrefix(f.Kind, "sim"):
		return kind{"simulated", "Simulated: worked out in virtual time, not measured."}
	case f.Model:
		return kind{"model", "A model (" + f.Kind + "), not measured on a network."}
	}
	return kind{cmp.Or(run.Manifest.Fabric.Kind, none), "Fabric: " + cmp.Or(run.Manifest.Fabric.Kind, none) + "."}
}

func mixed(runs []Input) string {
	words := lists.Map(runs, func(in Input) string { return kindOf(in.Source.Run).Word })
	slices.Sort(words)
	if words = slices.Compact(words); len(words) < 2 {
		return ""
	}
	return "This page has " + strings.Join(words, " and ") + " runs side by side; each row and each part says which it is."
}

func legendOf(cases []results.Case) string {
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
	return unbroken.Replace(text) + wordsOf(cases) + " Dead: dead links and timed failures. Bound: the least number of phases in which no link is shared. " + none + ": not given."
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

// The page of a run and pages of a run that goes on share these.

func Style() template.CSS { return template.CSS(styleText) }

// Kind describes in a word and in a sentence how the results were made.
func Kind(run *results.Run) (word, text string) {
	k := kindOf(run)
	return k.Word, k.Text
}

// Lead says in one line what ran, and where.
func Lead(run *results.Run) string { return lead(run.Manifest, run.Summary.Rounds) }

// Verdict returns the table of the cases of a run, and the legend of its columns.
func Verdict(run *results.Run) (table template.HTML, legend string, err error) {
	p := page{Columns: report.Columns(run.Summary.Cases, figure.Source{Run: run}.How())}
	p.Rows = rowsOf(0, Input{Source: figure.Source{Run: run}}, p.Columns)
	table, err = executed("verdict", p)
	return table, legendOf(run.Summary.Cases), err
}

// Tree returns the drawing of one case over all its phases, with a description in words; "" where
// it has too many cables to draw.
func Tree(id, title string, x *figure.CaseTree) (template.HTML, error) {
	d := x.Cables()
	if !d.Few() {
		return "", nil
	}
	v := drawing{d, 296}.view(title)
	v.ID = id
	v.SVG = template.HTML(strings.Replace(string(v.SVG), " Arrow keys go from cable to cable.", "", 1)) // the page's script does that
	return executed("tree", v)
}

func executed(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := pageTemplate().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// A Document is a page without a run: an answer, and parts that show why.
type Document struct {
	Title  string
	Answer string // in a sentence or two
	Lead   string // what the answer is about, in a line
	Notes  []string
	Parts  []Part
}

// A Part is a section of a document. Empty fields are left out.
type Part struct {
	ID, Title, Text string
	Facts           [][]string // two texts a line: the subject, the fact
	Cables          *figure.Cables
	Figure          *figure.Figure
	Table           Table
}

// A Table has a column for each head. The columns with true in Numbers are right-aligned.
type Table struct {
	Head    []string
	Numbers []bool
	Rows    [][]string
}

// Right reports whether a column stands to the right.
func (t Table) Right(column int) bool { return column < len(t.Numbers) && t.Numbers[column] }

var (
	//go:embed document.html
	documentText string
	//go:embed document.css
	documentStyle string
)

// WriteDocument writes a page, in one file that needs no other.
func WriteDocument(w io.Writer, d Document) error {
	return pageTemplate().ExecuteTemplate(w, "document", struct {
		Document
		Style  template.CSS
		Script template.JS
	}{d, template.CSS(styleText + documentStyle), template.JS(scriptText)})
}
