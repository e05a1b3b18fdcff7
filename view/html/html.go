// Package html makes one page of the results of runs, in one file that needs no network. It has the
// answer first, in words, then the verdict on each case, the figures of view/figure, the fat tree
// with its loads phase by phase, and the content of the manifest. A small script changes the phase,
// shows figures under the pointer and sorts tables; the page without it has the same content.
//
// It measures and judges nothing, changes no figure but for rounding, and opens
// no file.
package html

import (
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/report"
	"evbench/results"
	"evbench/view/figure"
	"evbench/view/parts"
)

// An Input is one run.
type Input struct {
	Name   string // what people call it, such as its directory
	Source figure.Source
	Notes  []string // what reading it has to say
}

var (
	//go:embed page.html
	pageText string
	//go:embed page.js
	scriptText string
)

// pageTemplate holds the templates of pages of results and of documents.
var pageTemplate = sync.OnceValue(func() *template.Template {
	page := template.Must(parts.Templates().Funcs(templateFuncs).Parse(pageText))
	template.Must(page.New("document").Parse(documentText))
	return page
})

var templateFuncs = template.FuncMap{
	"unbroken": parts.Unbroken.Replace,
	"words":    func(s ...string) string { return strings.TrimSpace(strings.Join(s, " ")) },
	"join":     func(s []string) string { return strings.Join(s, ", ") },
	"share":    report.Share,
	"phases":   func(n, bound int) string { return report.Phases(n, bound).Text },
	"clock":    parts.Clock,
	"class": func(head string) string {
		return map[string]string{results.Wrong: "bad", results.Unresolved: "open"}[head]
	},
	"tree":   func(p Part) parts.Drawing { return parts.Draw(p.Cables, 250, p.Title) },
	"panels": func(f *figure.Figure) ([]panelView, error) { return draw(f, 0) },
}

type page struct {
	Title   string
	Style   template.CSS
	Script  template.JS
	Several bool // more than one run
	Mixed   string
	Columns []report.Column
	Rows    []parts.Row
	Count   string
	Legend  string
	Runs    []runView
	First   []part // before the verdict: what a run with fail-overs is about
	Parts   []part
	Beside  []Difference // of the runs behind the first
}

type part struct {
	ID, Title string
	Several   bool // runs
	Of        []figureView
}

// Write writes the page of one run or several. beside compares another run with the first; nil: they are not compared.
func Write(w io.Writer, runs []Input, beside func(base, other Input) Difference) error {
	p := page{
		Style: parts.Style(), Script: template.JS(scriptText),
		Several: len(runs) > 1, Mixed: mixed(runs), Runs: make([]runView, len(runs)),
	}
	p.Title = title(runs)
	cases := slices.Concat(lists.Map(runs, func(in Input) []results.Case { return in.Source.Run.Summary.Cases })...)
	p.Columns, p.Legend = report.Columns(cases, howOf(runs)), parts.Legend(cases)
	runs = oneScale(runs)
	for i, in := range runs {
		p.Rows = append(p.Rows, parts.Rows(i, in.Name, in.Source.Run, p.Columns)...)
	}
	p.Count = parts.Count(p.Rows)
	var errs []error
	for i, in := range runs {
		view, err := viewOf(i, in)
		p.Runs[i] = view
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p.Parts, p.Beside = partsOf(p.Runs), differencesOf(runs, beside)
	if i := slices.IndexFunc(p.Parts, func(x part) bool { return x.ID == "failover" }); i >= 0 {
		p.First, p.Parts = p.Parts[i:i+1:i+1], slices.Concat(p.Parts[:i], p.Parts[i+1:])
	}
	return pageTemplate().Execute(w, p)
}

func howOf(runs []Input) string {
	how := ""
	for i, in := range runs {
		switch h := parts.How(in.Source.Run); {
		case i == 0:
			how = h
		case h != how:
			return ""
		}
	}
	return how
}

// oneScale gives the maps of all runs the same scale.
func oneScale(runs []Input) []Input {
	if len(runs) < 2 {
		return runs
	}
	most := lists.MaxOf(runs, func(in Input) float64 { return in.Source.MostOfPairs() })
	out := slices.Clone(runs)
	for i := range out {
		out[i].Source.PairsMost = most
	}
	return out
}

// partsOf groups the figures by name, in their order. A caption that all runs share appears once.
func partsOf(runs []runView) (out []part) {
	for _, name := range figure.Names() {
		x := part{ID: name, Several: len(runs) > 1}
		for _, r := range runs {
			for _, f := range r.Figures {
				if f.Name != name {
					continue
				}
				f.Run, f.Kind = r.Path, r.Kind
				if n := len(x.Of); n > 0 && x.Of[n-1].Title == f.Title && f.Caption == x.Of[0].Caption {
					f.Caption = ""
				}
				x.Title = f.Title
				x.Of = append(x.Of, f)
			}
		}
		if len(x.Of) > 0 && slices.ContainsFunc(x.Of, func(f figureView) bool { return f.Title != x.Title }) {
			x.Title = figure.Title(name)
		}
		if x.Of != nil {
			out = append(out, x)
		}
	}
	return out
}

func title(runs []Input) string {
	if len(runs) == 1 {
		return runs[0].Source.Run.Summary.Name
	}
	return "several runs"
}

type runView struct {
	ID, Name, Path string
	Kind           parts.Kind
	Answer, Lead   string
	Incomplete     bool
	Notes, Why     []string
	Below          []results.Note // the verdict
	Warnings       []string
	Figures        []figureView
	Facts          []fact
	Manifest       results.Manifest
}

type figureView struct {
	ID, Name, Title, Caption, Missing string
	Run                               string // the path of the run
	Kind                              parts.Kind
	Panels                            []panelView
	Trees                             []parts.Drawing
	Plain                             []string // what drawings would say in which nothing differs
	// Heads, Rows and Legend are a table below the drawings.
	Heads  []string
	Rows   [][]string
	Legend string
}

// mostRows is how many fail-overs the page lists.
const mostRows = 100

// list makes the figure list fail-overs.
func (f *figureView) list(all []results.Failover) {
	f.Heads, f.Rows, f.Legend = report.FailoverRows(all[:min(len(all), mostRows)])
	if more := len(all) - mostRows; more > 0 {
		f.Legend += fmt.Sprintf(" %d more are in failovers.csv.", more)
	}
}

type panelView struct {
	Title, Label, Says string
	Case               string // see parts.Row
	Cells              string // for the script: see packCells
	Wide               bool
	SVG, Slim          template.HTML // Slim: for small screens, where there is one
}

func viewOf(index int, in Input) (runView, error) {
	v := describe(index, in)
	for _, name := range figure.Names() {
		if name == "tree" {
			v.Figures = append(v.Figures, treeFigure(index, in.Source))
			continue
		}
		if name == "failover" && !in.Source.HasFailovers() || name == "rounds" && in.Source.Run.Summary.Slices == nil || name == "load" && !in.Source.HasLoads() {
			continue
		}
		f, err := figure.Build(name, in.Source)
		if err != nil {
			return v, err
		}
		fv := figureView{ID: v.ID + "-" + name, Name: name, Title: f.Title, Caption: parts.Unbroken.Replace(f.Caption), Missing: f.Missing}
		fv.Plain = plain(f)
		if fv.Panels, err = draw(f, index); err != nil {
			return v, err
		}
		if name == "failover" {
			fv.list(in.Source.Run.Summary.Failovers())
		}
		v.Figures = append(v.Figures, fv)
	}
	return v, nil
}

// plain takes the panels in which nothing differs from a figure, and returns what each says.
func plain(f *figure.Figure) []string {
	var said []string
	titles := map[string][]string{}
	f.Panels = slices.DeleteFunc(f.Panels, func(p figure.Panel) bool {
		if p.Plain {
			if titles[p.Says] == nil {
				said = append(said, p.Says)
			}
			titles[p.Says] = append(titles[p.Says], p.Title)
		}
		return p.Plain
	})
	return lists.Map(said, func(text string) string {
		return fmt.Sprintf("Not drawn, since nothing differs: %s: %s", strings.Join(titles[text], "; "), parts.Unbroken.Replace(text))
	})
}

func draw(f *figure.Figure, index int) ([]panelView, error) {
	out, errs := make([]panelView, len(f.Panels)), make([]error, len(f.Panels))
	parallel.Each(0, len(f.Panels), func(_, i int) {
		p := f.Panels[i]
		svg, slim, err := p.SVG()
		label := f.Title
		if p.Title != "" {
			label += ": " + p.Title
		}
		out[i] = panelView{
			Title: p.Title, Label: label, Says: parts.Unbroken.Replace(p.Says), Case: parts.CaseID(index, p.Case), Cells: packCells(p.Cells), Wide: p.Case < 0, SVG: inline(svg), Slim: inline(slim),
		}
		errs[i] = err
	})
	return out, errors.Join(errs...)
}

// packCells writes the squares of a map for the script: the unit, the greatest number, the servers,
// and two bytes a square as base64 of URLs, in which HTML escapes nothing, 65535 for no value.
func packCells(c *figure.Cells) string {
	if c == nil {
		return ""
	}
	var out []byte
	for _, v := range c.Values {
		n := uint16(math.MaxUint16)
		if !math.IsNaN(v) {
			n = uint16(math.Round(min(1, v/c.Most) * (math.MaxUint16 - 1)))
		}
		out = binary.BigEndian.AppendUint16(out, n)
	}
	positions := strings.Trim(fmt.Sprint(c.Positions), "[]")
	return fmt.Sprintf("%s|%g|%s|%s", c.Unit, c.Most, positions, base64.URLEncoding.EncodeToString(out))
}
