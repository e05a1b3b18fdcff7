// Package page makes one HTML page of a verdict: the answer, what decides it, the network with
// its dead and deciding links, repairs, and what else would help. It judges nothing.
package page

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/report/figure"
	"evbench/report/html"
	"evbench/study/judge"
)

// Write writes the page.
func Write(w io.Writer, v *judge.Verdict) error {
	d := html.Document{Title: "Verdict: all-to-all on " + v.Network, Answer: v.Answer()}
	if v.Measured != nil && !v.Measured.Given {
		d.Lead = "Measured: " + v.Measured.What
	}
	d.Parts = append(d.Parts, html.Part{ID: "why", Title: "What decides", Facts: v.Lines()}, network(v))
	if v.Pairs != nil {
		d.Parts = append(d.Parts, pairs(v.Pairs))
	}
	if len(v.Repairs) > 0 {
		d.Parts = append(d.Parts, repairs(v))
	}
	if len(v.Rerouted) > 0 {
		d.Parts = append(d.Parts, rerouted(v))
	}
	if t := v.Tables; t != nil && t.Decides {
		d.Parts = append(d.Parts, sharing(t))
	}
	return html.WriteDocument(w, d)
}

// network draws the switches and cables.
func network(v *judge.Verdict) html.Part {
	p := html.Part{ID: "network", Title: "The network"}
	d := v.Drawing
	if d == nil {
		p.Text = fmt.Sprintf("The network is not drawn: %v.", v.NotDrawn)
		return p
	}
	c := &html.Cables{Unit: "routes on a link", Words: words(v)}
	for _, level := range d.Levels {
		var list []html.Switch
		for _, s := range level {
			list = append(list, html.Switch{Name: s.Name, Hosts: s.Hosts})
		}
		c.Levels = append(c.Levels, list)
	}
	for _, k := range d.Cables {
		c.Most = max(c.Most, float64(k.Up), float64(k.Down))
		c.Cables = append(c.Cables, html.Cable{
			Low: place(k.Low), High: place(k.High), Up: float64(k.Up), Down: float64(k.Down),
			Title: title(k, d.Routes), Dead: k.Dead, Deciding: k.Deciding, Slow: k.Slow > 0,
		})
	}
	if p.Cables = c; !c.Few() {
		p.Cables, p.Text = nil, fmt.Sprintf("%s The network has %d cables between switches, too many for a drawing.", c.Words, len(c.Cables))
	}
	return p
}

func place(p [2]int) html.Place { return html.Place{Level: p[0], Index: p[1]} }

func title(k judge.DrawnCable, routes bool) string {
	var parts []string
	if k.Dead {
		parts = append(parts, "dead")
	} else if routes {
		parts = append(parts, fmt.Sprintf("%d routes up, %d down", k.Up, k.Down))
	}
	if k.Slow > 0 {
		parts = append(parts, "slow, "+percent(k.Slow)+" of the usual rate")
	}
	if k.Deciding {
		parts = append(parts, "decides")
	}
	if parts == nil {
		parts = append(parts, "alive")
	}
	return k.Name + ": " + strings.Join(parts, "; ")
}

// words say what the drawing shows.
func words(v *judge.Verdict) string {
	dead, slow, deciding := 0, 0, 0
	for _, k := range v.Drawing.Cables {
		if k.Dead {
			dead++
		} else if k.Deciding {
			deciding++
		}
		if k.Slow > 0 {
			slow++
		}
	}
	text := fmt.Sprintf("Cables between switches: %d, of which dead (crossed out): %d", len(v.Drawing.Cables), dead)
	if slow > 0 {
		text += fmt.Sprintf(", slow (circle): %d", slow)
	}
	if deciding > 0 {
		text += fmt.Sprintf(", deciding (triangle): %d", deciding)
	}
	text += "."
	if v.Drawing.Routes {
		text += " The lower half of a cable shows what goes up, the upper half what comes down; wider is more routes."
	}
	return text + " A dot is a host of the job."
}

// sharing lists who shares the fullest links, by destination.
func sharing(t *judge.Tables) html.Part {
	p := html.Part{ID: "sharing", Title: "Who shares the fullest links"}
	p.Table = html.Table{Head: []string{"link", "to", "routes", "from"}, Numbers: []bool{false, false, true, false}}
	var most int64
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
			most = int64(len(l.Pairs))
		}
	}
	p.Text = fmt.Sprintf("%d routes pass each. Links with that many: %d.", t.Routes, t.LinksAt)
	if most > 0 {
		p.Text += fmt.Sprintf(" Listed are the first %d pairs of each.", most)
	}
	return p
}

// pairs are the matrix of rates, and the slowest pairs.
func pairs(p *judge.Pairs) html.Part {
	t := html.Table{Head: []string{"from", "to", "Gbit/s", "expected", "pairs on the fullest link of the way"}, Numbers: []bool{false, false, true, true, true}}
	for _, x := range p.Pairs {
		t.Rows = append(t.Rows, []string{x.Src, x.Dst, gigabit(x.Rate), gigabit(x.Expected), fmt.Sprintf("%.3g", x.Sharing)})
	}
	text := ""
	if p.Slow > len(p.Pairs) {
		text = fmt.Sprintf("The slowest %d of %d slow pairs are listed.", len(p.Pairs), p.Slow)
	}
	return html.Part{ID: "pairs", Title: "Rate of each pair", Text: text, Figure: figure.Matrix("Rate of each pair of hosts, in the order of the job", p.Matrix), Table: t}
}

func gigabit(x float64) string { return fmt.Sprintf("%.3g", x/1e9) }

// repairs are all repairs, in their order.
func repairs(v *judge.Verdict) html.Part {
	t := html.Table{Head: []string{"order", "link", "is", "then at most, of the link rate", "phases"}, Numbers: []bool{true, false, false, true, true}}
	for i, r := range v.Repairs {
		t.Rows = append(t.Rows, []string{strconv.Itoa(i + 1), r.Link, state(r), percent(r.Efficiency), fmt.Sprintf("%.5g", r.Phases)})
	}
	text := fmt.Sprintf("Now at most %s. Each line is what is possible after its repair and those above.", percent(v.AtMost.Efficiency))
	return html.Part{ID: "repairs", Title: "Repairs", Text: text, Table: t}
}

// state says what is wrong with a link.
func state(r judge.Repair) string {
	if r.Slow > 0 {
		return "slow, " + percent(r.Slow) + " of the usual rate"
	}
	return "dead"
}

// rerouted are the tables that other engines compute, after those that are installed.
func rerouted(v *judge.Verdict) html.Part {
	t := html.Table{Head: []string{"engine", "in phases", "without phases", "routes on the fullest link"}, Numbers: []bool{false, true, true, true}}
	add := func(name string, x judge.Tables) {
		t.Rows = append(t.Rows, []string{name, percent(x.Phased), percent(x.Unphased), strconv.FormatInt(x.Routes, 10)})
	}
	name := v.Tables.Engine + " (judged)"
	if name == "file (judged)" {
		name = "the tables given"
	}
	add(name, *v.Tables)
	for _, x := range v.Rerouted {
		add(x.Engine, x)
	}
	return html.Part{ID: "tables", Title: "Other tables", Text: "Of the link rate, by tables that other engines compute for this network.", Table: t}
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
