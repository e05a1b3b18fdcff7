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

	"evbench/internal/lists"
	"evbench/results"
	"evbench/view/figure"
	"evbench/view/parts"
)

type fact struct{ Name, Text string }

func describe(index int, in Input) runView {
	run := in.Source.Run
	m := run.Manifest
	v := runView{
		ID: parts.RunID(index), Name: run.Summary.Name, Path: in.Name, Kind: parts.KindOf(run), Lead: parts.Lead(run), Manifest: m,
		Incomplete: !run.Summary.Complete, Notes: in.Notes, Below: run.Summary.Notes(), Warnings: warnings(run), Facts: facts(m),
	}
	if run.Summary.Answer != nil {
		v.Answer, v.Why = parts.Unbroken.Replace(run.Summary.Answer.String()), run.Summary.Answer.Why
	}
	return v
}

// warnings are the warnings of the manifest, then those of the cases, each once, with its cases.
func warnings(run *results.Run) []string {
	return append(slices.Clone(run.Manifest.Warnings), results.Grouped(run.Summary.Cases, func(c results.Case) []string { return c.Warnings })...)
}

func facts(m results.Manifest) []fact {
	all := []fact{
		{"name", m.Name},
		{"seed", strconv.FormatUint(m.Seed, 10)},
		{"started", parts.Clock(m.Started)},
		{"ended", parts.Clock(m.Ended)},
		{"complete", strconv.FormatBool(m.Complete)},
		{"host", m.Host},
		{"processor", fmt.Sprintf("%s, %d cores", cmp.Or(m.CPU, parts.None), m.Cores)},
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
		all = append(all, fact{"tried at " + parts.Rate(float64(t.RateBitPerSec)), fmt.Sprintf("%.3f of the prediction", t.Share())})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" })
}

func fabricText(f results.Fabric) string {
	text := cmp.Or(f.Kind, parts.None)
	if f.RateBitPerSec > 0 {
		text += fmt.Sprintf(", links of %s, %.3f of that for messages", parts.Rate(float64(f.RateBitPerSec)), f.Factor)
	}
	if f.MTU > 0 {
		text += fmt.Sprintf(", MTU %d", f.MTU)
	}
	if f.NIC != "" {
		text += ", " + f.NIC
	}
	return text
}

func mixed(runs []Input) string {
	words := lists.Map(runs, func(in Input) string { return parts.KindOf(in.Source.Run).Word })
	slices.Sort(words)
	if words = slices.Compact(words); len(words) < 2 {
		return ""
	}
	return "This page has " + strings.Join(words, " and ") + " runs side by side; each row and each part says which it is."
}

// A Document is a page without a run: an answer, and parts that show why.
type Document struct {
	Title  string
	Answer string // in a sentence or two
	Lead   string // what the answer is about, in a line
	Parts  []Part
}

// A Part is a section of a document. Empty fields are left out.
type Part struct {
	ID, Title, Text string
	Facts           [][]string // two texts a line: the subject, the fact
	Cables          *parts.Cables
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
	}{d, parts.Style() + template.CSS(documentStyle), template.JS(scriptText)})
}
