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

// A Table has a column for each head. Those that Numbers says stand to the right.
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

var _ = template.Must(pageTemplate.New("document").Parse(documentText))

// WriteDocument writes a page, in one file that needs no other.
func WriteDocument(w io.Writer, d Document) error {
	return pageTemplate.ExecuteTemplate(w, "document", struct {
		Document
		Style  template.CSS
		Script template.JS
	}{d, template.CSS(styleText + documentStyle), template.JS(scriptText)})
}
