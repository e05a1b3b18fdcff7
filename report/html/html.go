// Package html makes one page of the results of runs, in one file that needs no
// network. It has the answer first, in words, then the verdict on each case, the
// figures of report/figure, the fat tree with its loads phase by phase, and what the
// manifest says. A small script moves the phase, shows figures under the pointer and
// sorts tables; without it the page says the same.
//
// It measures and judges nothing, changes no figure but for rounding, and opens
// no file.
package html

import (
	_ "embed"
	"errors"
	"html/template"
	"io"

	"evbench/internal/parallel"
	"evbench/report/figure"
	"evbench/results"
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
	//go:embed style.css
	styleText string
	//go:embed page.js
	scriptText string
)

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A page is what the template takes.
type page struct {
	Title   string
	Style   template.CSS
	Script  template.JS
	Several bool // more than one run
	Mixed   string
	Columns []column
	Rows    []row
	Count   string
	Legend  string
	Runs    []runView
}

// Write writes the page of one run or several.
func Write(w io.Writer, runs []Input) error {
	p := page{
		Style: template.CSS(styleText), Script: template.JS(scriptText),
		Several: len(runs) > 1, Mixed: mixed(runs), Runs: make([]runView, len(runs)),
	}
	p.Title = title(runs)
	var cases []results.Case
	for _, in := range runs {
		cases = append(cases, in.Source.Run.Summary.Cases...)
	}
	p.Columns, p.Legend = columnsOf(cases), legendOf(cases)
	for i, in := range runs {
		p.Rows = append(p.Rows, rowsOf(i, in, p.Columns)...)
	}
	p.Count = verdictLine(p.Rows)
	var errs []error
	for i, in := range runs {
		view, err := viewOf(i, in)
		p.Runs[i] = view
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return pageTemplate.Execute(w, p)
}

func title(runs []Input) string {
	if len(runs) == 1 {
		return runs[0].Source.Run.Summary.Name
	}
	return "several runs"
}

// A runView is one run as the template shows it.
type runView struct {
	ID, Name, Path string
	Kind           kind
	Answer, Lead   string
	Incomplete     bool
	Notes          []string
	Below          []note // the verdict
	Warnings       []string
	Figures        []figureView
	Facts          []fact
	Scenario       string
	Preflight      []string
	Hosts          []hostView
	Predictions    []prediction
}

// A figureView is one figure as the template shows it.
type figureView struct {
	ID, Name, Title, Caption, Missing string
	Panels                            []panelView
	Trees                             []treeView
}

type panelView struct {
	Title, Label string
	Wide         bool
	SVG, Slim    template.HTML // Slim: for small screens, where there is one
}

func viewOf(index int, in Input) (runView, error) {
	v := describe(index, in)
	for _, name := range figure.Names() {
		if name == "tree" {
			v.Figures = append(v.Figures, treeFigure(v.ID, in.Source))
			continue
		}
		if name == "failover" && !in.Source.HasFailovers() || name == "rounds" && in.Source.Run.Summary.Slices == nil {
			continue
		}
		f, err := figure.Build(name, in.Source)
		if err != nil {
			return v, err
		}
		fv := figureView{ID: v.ID + "-" + name, Name: name, Title: f.Title, Caption: unbroken.Replace(f.Caption), Missing: f.Missing}
		if fv.Panels, err = draw(f); err != nil {
			return v, err
		}
		v.Figures = append(v.Figures, fv)
	}
	return v, nil
}

// draw draws the panels of a figure on all processors.
func draw(f *figure.Figure) ([]panelView, error) {
	out, errs := make([]panelView, len(f.Panels)), make([]error, len(f.Panels))
	parallel.Each(0, len(f.Panels), func(_, i int) {
		p := f.Panels[i]
		svg, err := p.SVG()
		label := f.Title
		if p.Title != "" {
			label += ": " + p.Title
		}
		slim, slimErr := p.SlimSVG()
		out[i], errs[i] = panelView{p.Title, label, p.Case < 0, inline(svg), inline(slim)}, errors.Join(err, slimErr)
	})
	return out, errors.Join(errs...)
}
