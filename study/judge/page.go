package judge

import (
	"fmt"
	"io"
	"strconv"

	"evbench/internal/hostlist"
	"evbench/report/figure"
	"evbench/report/html"
)

// WritePage writes the verdict as one HTML page: the answer, what decides it, the network with
// its dead and deciding links, repairs, and what else would help.
func (v *Verdict) WritePage(w io.Writer) error {
	d := html.Document{Title: "Verdict: all-to-all on " + v.Network, Answer: v.Answer().String()}
	if v.Measured != nil && !v.Measured.Given {
		d.Lead = "Measured: " + v.Measured.What
	}
	d.Parts = append(d.Parts, html.Part{ID: "why", Title: "What decides", Facts: v.Lines()}, v.networkPart())
	for _, x := range []struct {
		there bool
		part  func(*Verdict) html.Part
	}{
		{v.Pairs != nil, (*Verdict).pairsPart},
		{len(v.Repairs) > 0, (*Verdict).repairsPart},
		{len(v.Rerouted) > 0, (*Verdict).tablesPart},
		{v.Tables != nil && v.Tables.Decides, (*Verdict).sharingPart},
	} {
		if x.there {
			d.Parts = append(d.Parts, x.part(v))
		}
	}
	return html.WriteDocument(w, d)
}

func (v *Verdict) networkPart() html.Part {
	p := html.Part{ID: "network", Title: "The network", Cables: v.drawing}
	if v.drawing == nil {
		p.Text = fmt.Sprintf("The network is not drawn: %v.", v.notDrawn)
	} else if !v.drawing.Few() {
		p.Cables, p.Text = nil, fmt.Sprintf("%s The network has %d cables between switches, too many for a drawing.", v.drawing.Words, len(v.drawing.Cables))
	}
	return p
}

func (v *Verdict) sharingPart() html.Part {
	t := v.Tables
	p := html.Part{ID: "sharing", Title: "Who shares the fullest links"}
	p.Table = html.Table{Head: []string{"link", "to", "routes", "from"}, Numbers: []bool{false, false, true, false}}
	most := 0
	for _, l := range t.Links {
		from, order := map[string][]string{}, []string(nil)
		for _, x := range l.Pairs {
			if from[x.Dst] == nil {
				order = append(order, x.Dst)
			}
			from[x.Dst] = append(from[x.Dst], x.Src)
		}
		for _, dst := range order {
			p.Table.Rows = append(p.Table.Rows, []string{l.From + " to " + l.To, dst, strconv.Itoa(len(from[dst])), hostlist.Compress(from[dst])})
		}
		if l.Routes > int64(len(l.Pairs)) {
			most = len(l.Pairs)
		}
	}
	p.Text = fmt.Sprintf("%d routes pass each. Links with that many: %d.", t.Routes, t.LinksAt)
	if most > 0 {
		p.Text += fmt.Sprintf(" Listed are the first %d pairs of each.", most)
	}
	return p
}

func (v *Verdict) pairsPart() html.Part {
	gigabit := func(x float64) string { return fmt.Sprintf("%.3g", x/1e9) }
	p, text := v.Pairs, ""
	t := html.Table{Head: []string{"from", "to", "Gbit/s", "expected", "pairs on the fullest link of the way"}, Numbers: []bool{false, false, true, true, true}}
	for _, x := range p.Pairs {
		t.Rows = append(t.Rows, []string{x.Src, x.Dst, gigabit(x.Rate), gigabit(x.Expected), fmt.Sprintf("%.3g", x.Sharing)})
	}
	if p.Slow > len(p.Pairs) {
		text = fmt.Sprintf("The slowest %d of %d slow pairs are listed.", len(p.Pairs), p.Slow)
	}
	return html.Part{ID: "pairs", Title: "Rate of each pair", Text: text, Figure: figure.Matrix("Rate of each pair of hosts, in the order of the job", p.matrix), Table: t}
}

func (v *Verdict) repairsPart() html.Part {
	t := html.Table{Head: []string{"order", "link", "is", "then at most, of the link rate", "phases"}, Numbers: []bool{true, false, false, true, true}}
	for i, r := range v.Repairs {
		state := "dead"
		if r.Slow > 0 {
			state = slowText(r.Slow)
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(i + 1), r.Link, state, percent(r.Efficiency), fmt.Sprintf("%.5g", r.Phases)})
	}
	text := fmt.Sprintf("Now at most %s. Each line is what is possible after its repair and those above.", percent(v.AtMost.Efficiency))
	return html.Part{ID: "repairs", Title: "Repairs", Text: text, Table: t}
}

func slowText(share float64) string { return "slow, " + percent(share) + " of the usual rate" }

// tablesPart lists the tables that other engines compute, after those that are installed.
func (v *Verdict) tablesPart() html.Part {
	t := html.Table{Head: []string{"engine", "in phases", "without phases", "routes on the fullest link"}, Numbers: []bool{false, true, true, true}}
	for i, x := range append([]Tables{*v.Tables}, v.Rerouted...) {
		name := x.Engine
		if i == 0 && name == readTables {
			name = origin(name)
		} else if i == 0 {
			name += " (judged)"
		}
		t.Rows = append(t.Rows, []string{name, percent(x.Phased), percent(x.Unphased), strconv.FormatInt(x.Routes, 10)})
	}
	return html.Part{ID: "tables", Title: "Other tables", Text: "Of the link rate, by tables that other engines compute for this network.", Table: t}
}
