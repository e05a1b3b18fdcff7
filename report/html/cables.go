package html

import (
	"cmp"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"evbench/internal/show"
)

// Cables are switches on levels, the lowest first, and the cables between them.
type Cables struct {
	Words  string // what a reader of the drawing sees
	Unit   string // of loads
	Levels [][]Switch
	Cables []Cable
	Most   float64 // the load of the widest line

	servers bool // hosts are called so
	gap     int  // between levels; 0: levelGap
}

// A Switch has a name, and dots for its hosts.
type Switch struct {
	Name  string
	Hosts int
}

// A Cable joins a switch with one of a higher level. Title is shown under the pointer and
// begins with its name.
type Cable struct {
	Low, High            Place
	Up, Down             float64 // loads
	Title                string
	Dead, Slow, Deciding bool
	timed                bool // dies during the run
}

// A Place is a switch of a level.
type Place struct{ Level, Index int }

// Compare orders places by level, then from left to right.
func (p Place) Compare(q Place) int { return cmp.Or(p.Level-q.Level, p.Index-q.Index) }

// A treeView is a drawing as the template shows it.
type treeView struct {
	ID, Title   string
	Case        string // see row
	Words, Unit string
	SVG         template.HTML
	Legend      []sign
	Phases      int    // 0: no slider
	Data        string // for the script: see pack
	Strip       template.HTML
}

// A sign of the legend, and what it stands for: in all phases, and in one.
type sign struct {
	Sign        template.HTML
	Text, Phase string
}

// The size of a drawing.
const (
	treeWidth = 1120
	topY      = 34
	levelGap  = 250
)

// mostLinks is how many cables between leaves and spines are drawn; more would
// be a grey field, and a large file.
const mostLinks = 1500

// Few reports whether there are few enough cables to draw.
func (c *Cables) Few() bool { return len(c.Cables) <= mostLinks }

func (c *Cables) at(p Place) (x, y float64) {
	x = treeWidth * (float64(p.Index) + 0.5) / float64(len(c.Levels[p.Level]))
	return x, float64(topY + cmp.Or(c.gap, levelGap)*(len(c.Levels)-1-p.Level))
}

func (c *Cables) view(title string) treeView {
	v := treeView{Title: title, Words: c.Words, Unit: c.Unit}
	across, rows := c.hosts()
	_, bottom := c.at(Place{})
	var b, marks strings.Builder
	fmt.Fprintf(&b, `<svg class="tree-svg" viewBox="0 0 %d %.0f" tabindex="0" role="group" aria-label="%d cables between switches. Arrow keys go from cable to cable."><g class="links %s">`,
		treeWidth, bottom+30+9*float64(rows), len(c.Cables), many(len(c.Cables) > 120))
	twins := map[[2]Place]int{}
	loads, crossed, slow, deciding := false, false, false, false
	for _, k := range c.Cables {
		pair := [2]Place{k.Low, k.High}
		c.draw(&b, &marks, k, 4*float64(twins[pair]))
		twins[pair]++
		loads, crossed, slow, deciding = loads || k.Up+k.Down > 0, crossed || k.Dead || k.timed, slow || k.Slow, deciding || k.Deciding
	}
	fmt.Fprintf(&b, `</g><g class="marks" aria-hidden="true">%s</g>`, marks.String())
	for level, list := range c.Levels {
		for i, s := range list {
			c.drawSwitch(&b, s, Place{level, i}, across)
		}
	}
	v.SVG = template.HTML(b.String() + `</svg>`)
	add := func(there bool, svg, text, phase string) {
		if there {
			v.Legend = append(v.Legend, sign{template.HTML(`<svg ` + svg + `</svg>`), text, phase})
		}
	}
	const line = `viewBox="0 0 28 10" aria-hidden="true"><path class="`
	add(loads, line+`l0" d="M0 5H28"/>`, "0", "0")
	for i, phase := range [...]string{"1", "2", "3", "4–5", "6–8", "9 and more"} {
		add(loads, fmt.Sprintf(`%sl%d" d="M0 5H28"/>`, line, i+1), "≤ "+c.amount(c.Most*float64(i+1)/6), phase)
	}
	add(crossed, line+`gone" d="M0 5H28"/><path class="x" d="M10 1l8 8m0 -8l-8 8"/>`, "dead", "")
	const round = `class="sign" viewBox="0 0 16 14" aria-hidden="true"><path class="sign `
	add(slow, round+`slow" d="M2 7a6 6 0 1 0 12 0a6 6 0 1 0 -12 0"/>`, "slow: below the usual speed", "")
	add(deciding, round+`deciding" d="M8 1l7 12h-14z"/>`, "decides", "")
	if !loads {
		v.Unit = ""
	}
	return v
}

func (c *Cables) amount(x float64) string {
	if c.Unit == "bytes" {
		return show.Amount(x, "B")
	}
	return fmt.Sprintf("%.4g", x)
}

// draw draws a cable, shifted where it has twins: a wide line that nobody sees for the pointer, one for
// each direction, and marks that lie over all lines.
func (c *Cables) draw(b, marks *strings.Builder, k Cable, shift float64) {
	x1, y1 := c.at(k.Low)
	x2, y2 := c.at(k.High)
	x1, x2 = x1+shift, x2+shift
	whole := fmt.Sprintf("M%.1f %.0fL%.1f %.0f", x1, y1, x2, y2)
	mark := func(share float64, what string) {
		fmt.Fprintf(marks, what, fmt.Sprintf("%.1f %.1f", x1+(x2-x1)*share, y1+(y2-y1)*share))
	}
	class, slow := "k", ""
	switch {
	case k.Dead:
		class = "k dead"
		fmt.Fprintf(marks, `<path class="gone" d="%s"/>`, whole)
	case k.timed:
		class = "k timed"
		mark(0.2, `<path class="ring" d="M%sm-9 0a9 9 0 1 0 18 0a9 9 0 1 0 -18 0"/>`)
	}
	if k.Dead || k.timed {
		mark(0.2, `<path class="x" d="M%sm-5 -5l10 10m0 -10l-10 10"/>`)
	}
	if k.Slow && !k.Dead {
		slow = " slow"
		mark(0.3, `<path class="sign slow" d="M%sm-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0"/>`)
	}
	if k.Deciding && !k.Dead {
		mark(0.42, `<path class="sign deciding" d="M%sm0 -7l7 12h-14z"/>`)
	}
	fmt.Fprintf(b, `<g class="%s"><title>%s</title><path class="h" d="%s"/>`, class, html(k.Title), whole)
	if !k.Dead {
		half := func(load, x1, y1, x2, y2 float64) {
			fmt.Fprintf(b, `<path class="l%d%s" d="M%.1f %.0fL%.1f %.0f"/>`, step(load/max(c.Most, 1e-9)), slow, x1, y1, x2, y2)
		}
		half(k.Up, x1, y1, (x1+x2)/2, (y1+y2)/2)
		half(k.Down, (x1+x2)/2, (y1+y2)/2, x2, y2)
	}
	b.WriteString(`</g>`)
}

func step(share float64) int {
	if share <= 0 {
		return 0
	}
	return min(6, 1+int(share*6-1e-9))
}

func html(s string) string { return template.HTMLEscapeString(s) }

func (c *Cables) drawSwitch(b *strings.Builder, s Switch, p Place, across int) {
	x, y := c.at(p)
	width := min(float64(max(64, 8*len(s.Name)+8)), treeWidth/float64(len(c.Levels[p.Level]))-4)
	text, class := s.Name, "roomy"
	if float64(len(text))*7 > width {
		class = "tight"
	}
	if float64(len(text))*5.8 > width {
		text = strconv.Itoa(p.Index)
	}
	if float64(len(text))*5.8 > width {
		text = ""
	}
	fmt.Fprintf(b, `<g class="switch"><title>%s</title><rect x="%.1f" y="%.0f" width="%.1f" height="20" rx="4"/><text class="%s" x="%.1f" y="%.0f">%s</text></g>`,
		html(s.Name), x-width/2, y-10, max(2, width), class, x, y+4, html(text))
	if s.Hosts == 0 {
		return
	}
	what := "hosts"
	if c.servers {
		what = "servers"
	}
	across = min(across, s.Hosts)
	fmt.Fprintf(b, `<g class="servers"><title>%s: %d %s</title>`, html(s.Name), s.Hosts, what)
	for i := range s.Hosts {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.0f" r="2.7"/>`, x-4*float64(across-1)+8*float64(i%across), y+19+9*float64(i/across))
	}
	b.WriteString(`</g>`)
}

// hosts returns how many hosts stand side by side under a switch of the lowest level, and in how many rows.
func (c *Cables) hosts() (across, rows int) {
	across = max(1, int((treeWidth/float64(max(1, len(c.Levels[0])))-4)/8))
	for _, s := range c.Levels[0] {
		rows = max(rows, (s.Hosts+across-1)/across)
	}
	return across, rows
}
