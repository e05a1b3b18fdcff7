package parts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/topology"
)

// Cables are the drawing of a network, on a page and in a figure: switches on levels, the lowest
// first, and the cables between them.
type Cables struct {
	Words  string // what a reader of the drawing sees
	Unit   string // of loads: bytes, or what is counted
	Hosts  string // what they are called
	Levels [][]Switch
	Cables []Cable
	Most   float64 // the load of the widest line
}

// A Switch has a name, and dots for its hosts.
type Switch struct {
	Name  string
	Hosts int
	// Named are the hosts that are named as slow, from 0; -1: the switch itself. 2: alone; 1: one of several. Names are theirs.
	Named map[int]int
	Names map[int]string
}

// A Cable joins a switch with one of a higher level. Title is shown under the pointer and
// begins with its name.
type Cable struct {
	Low, High            Place
	Up, Down             float64 // loads
	Title                string
	Dead, Slow, Deciding bool
	Timed                bool // dies during the run
	NamedUp, NamedDown   int  // as in Switch
}

// A Place is a switch of a level.
type Place struct{ Level, Index int }

// Compare orders places by level, then from left to right.
func (p Place) Compare(q Place) int { return cmp.Or(p.Level-q.Level, p.Index-q.Index) }

// mostLinks is the most cables drawn between leaves and spines; more would be a grey field, and a
// large file.
const mostLinks = 1500

// Few reports whether there are few enough cables to draw on a page.
func (d *Cables) Few() bool { return len(d.Cables) <= mostLinks }

// At returns where a switch stands, as shares of the width from the left and of the height from
// the lowest level.
func (d *Cables) At(p Place) (x, y float64) {
	return (float64(p.Index) + 0.5) / float64(len(d.Levels[p.Level])), float64(p.Level) / float64(max(1, len(d.Levels)-1))
}

// Beside returns, for each cable, how many before it join the same switches.
func (d *Cables) Beside() []int {
	out, twins := make([]int, len(d.Cables)), map[[2]Place]int{}
	for i, k := range d.Cables {
		pair := [2]Place{k.Low, k.High}
		out[i] = twins[pair]
		twins[pair]++
	}
	return out
}

// Amount writes a load: bytes with their unit, else the number alone.
func (d *Cables) Amount(x float64) string {
	if d.Unit == "bytes" {
		return show.Amount(x, "B")
	}
	return fmt.Sprintf("%.4g", x)
}

func (x *CaseTree) Cables() *Cables {
	t, totals := x.Tree, x.Totals()
	d := &Cables{Words: x.words(), Unit: "bytes", Hosts: "servers", Most: slices.Max(totals), Levels: [][]Switch{
		lists.Tabulate(t.Leaves(), func(leaf int) Switch { return Switch{Name: fmt.Sprintf("leaf%d", leaf), Hosts: t.ServersOn(leaf)} }),
		lists.Tabulate(t.Spines(), func(spine int) Switch { return Switch{Name: fmt.Sprintf("spine%d", spine)} }),
	}}
	if x.Loads != nil {
		d.Unit = "messages"
	}
	for id := range t.LowerLinks() {
		l := t.LinkOf(id)
		up := t.UpWire(l)
		d.Cables = append(d.Cables, Cable{
			Low: Place{0, l.Leaf}, High: Place{1, l.Spine}, Up: totals[up], Down: totals[up+1], Title: x.title(l, totals), Dead: !t.LinkAlive(l), Timed: x.Timed[l] != "",
		})
	}
	x.blame(d)
	return d
}

// blame marks who is named as slow: a server with its cable, a cable, a direction of it, a switch.
func (x *CaseTree) blame(d *Cables) {
	for _, c := range x.Causes {
		named := 2
		if len(c.Parts) > 1 {
			named = 1
		}
		d.Words += " Slow: " + c.Text(0) + "."
		for i, k := range d.Cables {
			l := x.Tree.LinkOf(i)
			low, high := x.Tree.SwitchName(l.Leaf), d.Levels[1][k.High.Index].Name
			whole := slices.Contains(c.Parts, x.Tree.LinkName(l))
			if whole || slices.Contains(c.Parts, low+" to "+high) {
				d.Cables[i].NamedUp = named
			}
			if whole || slices.Contains(c.Parts, high+" to "+low) {
				d.Cables[i].NamedDown = named
			}
		}
		for r := range x.Tree.Servers() {
			if leaf := x.Tree.Leaf(r); slices.Contains(c.Parts, x.Tree.HostName(r)) {
				d.Levels[0][leaf].Mark(r-x.Tree.First(leaf), x.Tree.HostName(r), named)
			}
		}
		for _, list := range d.Levels {
			for i, s := range list {
				if slices.Contains(c.Parts, s.Name) {
					list[i].Mark(-1, s.Name, named)
				}
			}
		}
	}
}

// Mark has a host be named, or with -1 the switch.
func (s *Switch) Mark(host int, as string, how int) {
	if s.Named == nil {
		s.Named, s.Names = map[int]int{}, map[int]string{}
	}
	s.Named[host], s.Names[host] = how, as
}

func (x *CaseTree) words() string {
	text := "No link is dead from the start."
	if dead := x.Tree.DownNames(); len(dead) > 0 {
		text = fmt.Sprintf("%d of %d links are dead: %s.", len(dead), x.Tree.LowerLinks(), show.Few(dead))
	}
	if len(x.Timed) > 0 {
		text += fmt.Sprintf(" %d die while events are built.", len(x.Timed))
	}
	l, shared := x.Loads, 0
	if l == nil {
		return text + " There is no plan with phases; shown is what the links carried in the part that counts."
	}
	for p := range l.Phases {
		if slices.Max(l.Phase(p)) > 1 {
			shared++
		}
	}
	return text + fmt.Sprintf(" In %d of %d phases a link carries more than one message; the most at once is %d.", shared, l.Phases, l.Most)
}

func (x *CaseTree) title(l topology.Link, totals []float64) string {
	if !x.Tree.LinkAlive(l) {
		return x.Tree.LinkName(l) + ": dead"
	}
	up, down := x.Tree.UpWire(l), x.Tree.UpWire(l)+1
	text := x.Tree.LinkName(l) + ":"
	if x.Loads != nil {
		text += fmt.Sprintf(" up %.0f, down %.0f messages in an exchange;", totals[up], totals[down])
	}
	if x.Carried != nil {
		text += fmt.Sprintf(" carried %s up, %s down", show.Amount(x.Carried[up], "B"), show.Amount(x.Carried[down], "B"))
		if x.Planned != nil {
			text += fmt.Sprintf(" (planned %s and %s)", show.Amount(x.Planned[up], "B"), show.Amount(x.Planned[down], "B"))
		}
		text += ";"
	}
	low, high := x.Tree.Ends(l)
	a, b := x.Tree.SwitchName(low.Switch), x.Tree.SwitchName(high.Switch)
	for _, p := range x.Ports {
		if (p.Switch == a && p.Port == b || p.Switch == b && p.Port == a) && (p.Cable == "" || p.Cable == x.Tree.LinkName(l)) {
			text += fmt.Sprintf(" %s counted %s %s;", p.Switch, show.Commas(int(p.Count)), p.Counter)
		}
	}
	if when := x.Timed[l]; when != "" {
		text += " dies " + when + ";"
	}
	return strings.TrimSuffix(text, ";")
}
