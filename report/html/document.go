package html

import (
	_ "embed"
	"html/template"
	"io"

	"evbench/report/figure"
)

// A Document is a page that is not of a run: an answer, and parts that show why.
type Document struct {
	Title  string
	Answer string // in a sentence or two
	Lead   string // what the answer is about, in a line
	Notes  []string
	Parts  []Part
}

// A Part is a section of a document. What is empty is left out.
type Part struct {
	ID, Title, Text string
	Facts           [][]string // two words a line: what it is, what there is to say
	Cables          *Cables
	Figure          *figure.Figure
	Table           Table
}

// A Table has a column for each head. Those of Numbers stand to the right.
type Table struct {
	Head    []string
	Numbers []bool
	Rows    [][]string
}

var (
	//go:embed document.html
	documentText string
	//go:embed document.css
	documentStyle string
)

var documentTemplate = template.Must(template.New("document").Parse(documentText))

type documentView struct {
	Title, Answer, Lead string
	Notes               []string
	Style               template.CSS
	Script              template.JS
	Parts               []partView
}

type partView struct {
	ID, Title, Text string
	Facts           [][]string
	Cables          *cablesView
	Panels          []panelView
	Columns         []head
	Rows            [][]entry
}

type head struct {
	Head  string
	Right bool
}

type entry struct {
	Text  string
	Right bool
}

// WriteDocument writes a page, in one file that needs no other.
func WriteDocument(w io.Writer, d Document) error {
	v := documentView{
		Title: d.Title, Answer: unbroken.Replace(d.Answer), Lead: unbroken.Replace(d.Lead), Notes: d.Notes,
		Style: template.CSS(styleText + documentStyle), Script: template.JS(scriptText),
	}
	for _, p := range d.Parts {
		part := partView{ID: p.ID, Title: p.Title, Text: p.Text, Facts: p.Facts}
		if p.Cables != nil {
			part.Cables = p.Cables.view(p.Title)
		}
		if p.Figure != nil {
			var err error
			if part.Panels, err = draw(p.Figure, 0); err != nil {
				return err
			}
		}
		right := func(i int) bool { return i < len(p.Table.Numbers) && p.Table.Numbers[i] }
		for i, name := range p.Table.Head {
			part.Columns = append(part.Columns, head{name, right(i)})
		}
		for _, row := range p.Table.Rows {
			var line []entry
			for i, text := range row {
				line = append(line, entry{text, right(i)})
			}
			part.Rows = append(part.Rows, line)
		}
		v.Parts = append(v.Parts, part)
	}
	return documentTemplate.Execute(w, v)
}
