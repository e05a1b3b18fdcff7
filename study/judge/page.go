package judge

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/results"
	"evbench/scheduler"
	"evbench/site/network"
	"evbench/view/figure"
	"evbench/view/html"
	"evbench/view/parts"
)

// WritePage writes the verdict as one HTML page: the answer, the deciding part, the network with
// its dead and deciding links, repairs, and other remedies.
func (v *Verdict) WritePage(w io.Writer) error {
	a := v.Answer()
	d := html.Document{Title: "Verdict: all-to-all on " + v.Network, Answer: a.String()}
	if v.Measured != nil && !v.Measured.Given {
		d.Lead = "Measured: " + v.Measured.What
	}
	facts := v.lines()
	for _, because := range a.Why {
		if v.AtMost == nil || because != v.AtMost.Why { // which the lines have
			facts = append(facts, []string{"because", because})
		}
	}
	d.Parts = []html.Part{{ID: "why", Title: "What decides", Facts: facts}}
	if v.Pairs != nil {
		d.Parts = slices.Insert(d.Parts, 0, v.pairsPart())
	}
	network := v.networkPart()
	if network.Cables != nil {
		d.Parts = slices.Insert(d.Parts, 0, network)
	} else {
		d.Parts = append(d.Parts, network)
	}
	if len(v.Repairs) > 0 {
		d.Parts = append(d.Parts, v.repairsPart())
	}
	if len(v.Rerouted) > 0 {
		d.Parts = append(d.Parts, v.tablesPart())
	}
	if v.Tables != nil && v.Tables.Decides {
		d.Parts = append(d.Parts, v.sharingPart())
	}
	return html.WriteDocument(w, d)
}

func (v *Verdict) networkPart() html.Part {
	p := html.Part{ID: "network", Title: "The network"}
	switch d, err := v.over.drawing(v); {
	case err != nil:
		p.Text = fmt.Sprintf("The network is not drawn: %v.", err)
	case !d.Few():
		p.Text = fmt.Sprintf("%s The network has %d cables between switches, too many for a drawing.", d.Words, len(d.Cables))
	default:
		p.Cables = d
	}
	return p
}

func (v *Verdict) sharingPart() html.Part {
	t := v.Tables
	p := html.Part{ID: "sharing", Title: "Who shares the fullest links"}
	p.Table = html.Table{Head: []string{"link", "to", "pairs", "from"}, Numbers: []bool{false, false, true, false}}
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
	p.Text = fmt.Sprintf("%d %s pass each. Links with that many: %d.", t.Routes, v.unit, t.LinksAt)
	if most > 0 {
		p.Text += fmt.Sprintf(" Listed are the first %d pairs of each.", most)
	}
	return p
}

func (v *Verdict) pairsPart() html.Part {
	p, text := v.Pairs, ""
	most := p.Usual
	for _, x := range p.Pairs {
		most = max(most, x.Expected)
	}
	unit := results.RateUnitOf(most)
	rate := func(x float64) string { return fmt.Sprintf("%.3g", x/unit.Size) }
	t := html.Table{Head: []string{"from", "to", unit.Name, "expected", "pairs on the fullest link of the way"}, Numbers: []bool{false, false, true, true, true}}
	for _, x := range p.Pairs {
		t.Rows = append(t.Rows, []string{x.Src, x.Dst, rate(x.Rate), rate(x.Expected), fmt.Sprintf("%.3g", x.Sharing)})
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
		t.Rows = append(t.Rows, []string{strconv.Itoa(i + 1), r.Link, state, percent(r.Efficiency), fmt.Sprintf("%.5g", r.Phases+r.ByteTimes)})
	}
	text := fmt.Sprintf("Now at most %s. Each line states what is possible after its repair and those above it.", percent(v.AtMost.Efficiency))
	return html.Part{ID: "repairs", Title: "Repairs", Text: text, Table: t}
}

func slowText(share float64) string { return "slow, " + percent(share) + " of the usual rate" }

// tablesPart lists the tables that other engines compute, after the installed ones.
func (v *Verdict) tablesPart() html.Part {
	t := html.Table{Head: []string{"engine", "in phases", "without phases", v.unit + " on the fullest link"}, Numbers: []bool{false, true, true, true}}
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

// drawing returns the network by levels, with the dead cables between its switches, too. A network
// without levels is an error.
func (f *fabric) drawing(v *Verdict) (*parts.Cables, error) {
	levels, err := network.Ranks(f.whole, v.roots)
	if err != nil {
		return nil, err
	}
	d := &parts.Cables{Unit: v.unit, Hosts: "hosts"}
	at := make([]parts.Place, f.whole.Nodes())
	for i := range f.whole.Switches() {
		s := f.whole.Switch(i)
		level := max(0, levels[s]-1)
		for len(d.Levels) <= level {
			d.Levels = append(d.Levels, nil)
		}
		at[s] = parts.Place{Level: level, Index: len(d.Levels[level])}
		d.Levels[level] = append(d.Levels[level], parts.Switch{Name: f.name(s)})
	}
	named := cmp.Or(v.Pairs, &Pairs{})
	f.drawHosts(d, at, named.named)
	routes, deciding := map[network.End]int64{}, f.deciding(v)
	if v.Tables != nil {
		for _, l := range v.Tables.loads {
			routes[l.End] = l.Routes
		}
	}
	cables, names := f.allCables()
	for _, c := range cables {
		if levels[c.A.Node] > levels[c.B.Node] {
			c.A, c.B = c.B, c.A
		}
		k := parts.Cable{
			Low: at[c.A.Node], High: at[c.B.Node], Up: float64(routes[c.A]), Down: float64(routes[c.B]), Slow: f.slow[c.A] > 0,
			Dead: c.A.Port == 0 || !f.net.Has(c), Deciding: deciding[c.A] || deciding[c.B],
			NamedUp: named.ends[c.A], NamedDown: named.ends[c.B],
		}
		var says []string
		switch {
		case k.Dead:
			says = append(says, "dead")
		case v.Tables != nil:
			says = append(says, fmt.Sprintf("%d %s up, %d down", routes[c.A], v.unit, routes[c.B]))
		}
		if k.Slow {
			says = append(says, slowText(f.slow[c.A]))
		}
		if k.Deciding {
			says = append(says, "decides")
		}
		k.Title = cmp.Or(names[c], f.name(c.A.Node)+"-"+f.name(c.B.Node)) + ": " + cmp.Or(strings.Join(says, "; "), "alive")
		d.Most = max(d.Most, k.Up, k.Down)
		d.Cables = append(d.Cables, k)
	}
	slices.SortStableFunc(d.Cables, func(a, b parts.Cable) int { return cmp.Or(a.Low.Compare(b.Low), a.High.Compare(b.High)) })
	d.Words = strings.Replace(drawingWords(d.Cables, v.Tables != nil), "more routes", "more "+v.unit, 1)
	return d, nil
}

// drawHosts adds the hosts of the job to their switches, and marks those that are named.
func (f *fabric) drawHosts(d *parts.Cables, at []parts.Place, named map[string]int) {
	for _, h := range f.hosts.Nodes {
		p := at[f.net.Leaf(h).Node]
		leaf := &d.Levels[p.Level][p.Index]
		if how := named[f.name(h)]; how > 0 {
			leaf.Mark(leaf.Hosts, f.name(h), how)
		}
		leaf.Hosts++
	}
}

func drawingWords(cables []parts.Cable, routes bool) string {
	dead := lists.CountIf(cables, func(k parts.Cable) bool { return k.Dead })
	deciding := lists.CountIf(cables, func(k parts.Cable) bool { return k.Deciding && !k.Dead })
	text := fmt.Sprintf("Cables between switches: %d; dead (crossed out): %d", len(cables), dead)
	if slow := lists.CountIf(cables, func(k parts.Cable) bool { return k.Slow }); slow > 0 {
		text += fmt.Sprintf(", slow (circle): %d", slow)
	}
	if deciding > 0 {
		text += fmt.Sprintf(", deciding (triangle): %d", deciding)
	}
	text += "."
	if routes {
		text += " The lower half of a cable shows what goes up, the upper half what comes down; wider is more routes."
	}
	return text + " A dot is a host of the job, or an adapter."
}

// allCables are the cables between switches, and the missing ones of a tree of two levels, which have port 0, and names
// of those that are links of the tree.
func (f *fabric) allCables() (cables []network.Cable, names map[network.Cable]string) {
	cables, names = f.whole.SwitchCables(), map[network.Cable]string{}
	for id := range f.links() {
		l := f.tree.LinkOf(id)
		c, there := f.places.Cable(l)
		if low, high := f.tree.Ends(l); !there {
			c = network.Cable{A: network.End{Node: f.places.Node(low.Switch)}, B: network.End{Node: f.places.Node(high.Switch)}}
		}
		if names[c] = f.tree.LinkName(l); !there && f.tree.Levels() == 2 && !f.tree.LinkAlive(l) && !f.tree.Absent(l) {
			cables = append(cables, c)
		}
	}
	return cables, names
}

// deciding are the ports of the deciding links, where nobody is slow: the fullest ones of the tables, where these exceed the
// link of a host; else those that prove the bound.
func (f *fabric) deciding(v *Verdict) map[network.End]bool {
	out, b := map[network.End]bool{}, v.bound
	if v.Pairs != nil && len(v.Pairs.Causes) > 0 {
		return out // who is slow is drawn
	}
	if t := v.Tables; t != nil {
		longest := float64(v.each) / t.Unphased
		for _, l := range t.loads {
			if t.Decides && float64(l.Routes)/f.capacity(l.End) > longest*(1-1e-9) {
				out[l.End] = true
			}
		}
		return out
	}
	if b == nil || f.tree.Levels() == 3 {
		return out
	}
	mark := func(leaf, spine int) {
		for l := range f.tree.Joining(leaf, spine) {
			if f.tree.LinkAlive(l) {
				out[f.port(l)] = true
			}
		}
	}
	switch b.Kind {
	case scheduler.KindLeaf, scheduler.KindHall:
		for spine := range f.tree.Spines() {
			mark(b.At, spine)
		}
	case scheduler.KindLP:
		for _, w := range v.AtMost.Weights {
			mark(w.of.Leaf, w.of.Spine)
		}
	}
	return out
}
