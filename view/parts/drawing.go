package parts

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
)

// A Drawing is cables as the template tree shows them.
type Drawing struct {
	ID, Title   string
	Case        string // see Row
	Words, Unit string
	SVG         template.HTML
	Legend      []sign
	Phases      int    // 0: no slider
	Data        string // for the script: the loads of all phases
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
)

// A canvas has cables with so many pixels between levels.
type canvas struct {
	*Cables
	gap float64
}

func (c canvas) at(p Place) (x, y float64) {
	x, y = c.At(p)
	return treeWidth * x, topY + c.gap*float64(len(c.Levels)-1)*(1-y)
}

// Draw draws cables with so many pixels between levels.
func Draw(d *Cables, gap float64, title string) Drawing {
	c, v := canvas{d, gap}, Drawing{Title: title, Words: d.Words, Unit: d.Unit}
	across, rows := c.hosts()
	_, bottom := c.at(Place{})
	var b, marks strings.Builder
	fmt.Fprintf(&b, `<svg class="tree-svg%s" viewBox="0 0 %d %.0f" tabindex="0" role="group" aria-label="%d cables between switches. Arrow keys go from cable to cable."><g class="links %s">`,
		c.roomy(), treeWidth, bottom+37+9*float64(rows), len(c.Cables.Cables), many(len(c.Cables.Cables) > 120))
	loads, crossed, slow, deciding := false, false, false, false
	var named [3]bool
	beside, scale := c.Beside(), c.Most
	if c.equal() {
		scale *= 6 // no darker than a link of few
	}
	for i, k := range c.Cables.Cables {
		c.draw(&b, &marks, k, scale, 4*float64(beside[i]))
		loads, crossed, slow, deciding = loads || k.Up+k.Down > 0, crossed || k.Dead || k.Timed, slow || k.Slow, deciding || k.Deciding
		named[k.NamedUp], named[k.NamedDown] = true, true
	}
	fmt.Fprintf(&b, `</g><g class="marks" aria-hidden="true">%s</g>`, marks.String())
	for level, list := range c.Levels {
		for i, s := range list {
			c.drawSwitch(&b, s, Place{Level: level, Index: i}, across)
			for _, how := range s.Named {
				named[how] = true
			}
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
		add(loads, fmt.Sprintf(`%sl%d" d="M0 5H28"/>`, line, i+1), "≤ "+c.Amount(scale*float64(i+1)/6), phase)
	}
	add(crossed, line+`gone" d="M0 5H28"/><path class="x" d="M10 1l8 8m0 -8l-8 8"/>`, "dead", "")
	add(named[2], line+`named2" d="M0 5H28"/>`, "named as slow", "")
	add(named[1], line+`named1" d="M0 5H28"/>`, "one of these is slow", "")
	const round = `class="sign" viewBox="0 0 16 14" aria-hidden="true"><path class="sign `
	add(slow, round+`slow" d="M2 7a6 6 0 1 0 12 0a6 6 0 1 0 -12 0"/>`, "slow: below the usual speed", "")
	add(deciding, round+`deciding" d="M8 1l7 12h-14z"/>`, "decides", "")
	if !loads {
		v.Unit = ""
	}
	return v
}

// roomy is a class for drawings whose switches have room for their names on a small screen, too.
func (c canvas) roomy() string {
	for _, list := range c.Levels {
		if len(list) > 8 || slices.ContainsFunc(list, func(s Switch) bool { return len(s.Name) > 7 }) {
			return ""
		}
	}
	return " roomy"
}

// equal reports whether all cables that are not dead carry the same, both up and down.
func (c canvas) equal() bool {
	return !slices.ContainsFunc(c.Cables.Cables, func(k Cable) bool { return !k.Dead && (k.Up != c.Most || k.Down != c.Most) })
}

// draw draws a cable, shifted where it has parallel cables: an invisible wide line for the pointer,
// one for each direction, and marks above all lines.
func (c canvas) draw(b, marks *strings.Builder, k Cable, scale, shift float64) {
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
	case k.Timed:
		class = "k timed"
		mark(0.2, `<path class="ring" d="M%sm-9 0a9 9 0 1 0 18 0a9 9 0 1 0 -18 0"/>`)
	}
	if k.Dead || k.Timed {
		mark(0.2, `<path class="x" d="M%sm-5 -5l10 10m0 -10l-10 10"/>`)
	}
	if k.Slow && !k.Dead {
		slow = " slow"
		mark(0.3, `<path class="sign slow" d="M%sm-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0"/>`)
	}
	if k.Deciding && !k.Dead {
		mark(0.42, `<path class="sign deciding" d="M%sm0 -7l7 12h-14z"/>`)
	}
	fmt.Fprintf(b, `<g class="%s"><title>%s</title><path class="h" d="%s"/>`, class, escaped(k.Title), whole)
	if !k.Dead {
		half := func(load, x1, y1, x2, y2 float64) {
			fmt.Fprintf(b, `<path class="l%d%s" d="M%.1f %.0fL%.1f %.0f"/>`, step(load/max(scale, 1e-9)), slow, x1, y1, x2, y2)
		}
		half(k.Up, x1, y1, (x1+x2)/2, (y1+y2)/2)
		half(k.Down, (x1+x2)/2, (y1+y2)/2, x2, y2)
		named := func(how int, x1, y1, x2, y2 float64) {
			if how > 0 {
				fmt.Fprintf(marks, `<path class="named%d" d="M%.1f %.0fL%.1f %.0f"/>`, how, x1, y1, x2, y2)
			}
		}
		named(k.NamedUp, x1, y1, (x1+x2)/2, (y1+y2)/2)
		named(k.NamedDown, (x1+x2)/2, (y1+y2)/2, x2, y2)
	}
	b.WriteString(`</g>`)
}

func step(share float64) int {
	if share <= 0 {
		return 0
	}
	return min(6, 1+int(share*6-1e-9))
}

func escaped(s string) string { return template.HTMLEscapeString(s) }

func (c canvas) drawSwitch(b *strings.Builder, s Switch, p Place, across int) {
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
	fmt.Fprintf(b, `<g class="switch named%d"><title>%s</title><rect x="%.1f" y="%.0f" width="%.1f" height="20" rx="4"/><text class="%s" x="%.1f" y="%.0f">%s</text></g>`,
		s.Named[-1], escaped(s.Name), x-width/2, y-10, max(2, width), class, x, y+4, escaped(text))
	if s.Hosts == 0 {
		return
	}
	across = min(across, s.Hosts)
	fmt.Fprintf(b, `<g class="servers"><title>%s: %d %s</title>`, escaped(s.Name), s.Hosts, c.Hosts)
	for i := range s.Hosts {
		cx, cy := x-4*float64(across-1)+8*float64(i%across), y+19+9*float64(i/across)
		if how := s.Named[i]; how > 0 {
			fmt.Fprintf(b, `<path class="named%d" d="M%.1f %.0fV%.0f"/><circle class="named%d" cx="%.1f" cy="%.0f" r="5"/><text x="%.1f" y="%.0f">%s</text>`,
				how, cx, y+10, cy, how, cx, cy, cx, y+41+9*float64((s.Hosts-1)/across), escaped(s.Names[i]))
			continue
		}
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.0f" r="2.7"/>`, cx, cy)
	}
	b.WriteString(`</g>`)
}

// hosts returns how many hosts stand side by side under a switch of the lowest level, and in how many rows.
func (c canvas) hosts() (across, rows int) {
	across = max(1, int((treeWidth/float64(max(1, len(c.Levels[0])))-4)/8))
	return across, lists.MaxOf(c.Levels[0], func(s Switch) int { return (s.Hosts + across - 1) / across })
}

// many is the class of a drawing with so many parts that each must be thin.
func many(yes bool) string {
	if yes {
		return "many"
	}
	return "few"
}
