package html

import (
	"html/template"
	"strings"

	"evbench/report"
	"evbench/report/figure"
	"evbench/results"
)

// What pages of a run that goes on show as the page of a run does.

// Style is the style sheet.
func Style() template.CSS { return template.CSS(styleText) }

// Kind says in a word and in a sentence how results come about.
func Kind(run *results.Run) (word, text string) {
	k := kindOf(run)
	return k.Word, k.Text
}

// Lead says in one line what is run, and where.
func Lead(run *results.Run) string { return lead(run.Manifest, run.Summary.Rounds) }

// Verdict returns the table of the cases of a run, and what explains its columns.
func Verdict(run *results.Run) (table template.HTML, legend string, err error) {
	p := page{Columns: report.Columns(run.Summary.Cases, figure.Source{Run: run}.How())}
	p.Rows = rowsOf(0, Input{Source: figure.Source{Run: run}}, p.Columns)
	table, err = executed("verdict", p)
	return table, legendOf(run.Summary.Cases), err
}

// Tree returns the drawing of one case over all its phases, with what there is to say in
// words; "" where it has too many cables to be drawn.
func Tree(id, title string, x *figure.CaseTree) (template.HTML, error) {
	if x.Tree.LowerLinks() > mostLinks {
		return "", nil
	}
	v := viewTree(id, title, "", x)
	v.Phases, v.Data, v.Strip = 0, "", ""
	v.SVG = template.HTML(strings.Replace(string(v.SVG), " Arrow keys go from cable to cable.", "", 1)) // the page's script does that
	return executed("tree", v)
}

func executed(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := pageTemplate.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}
