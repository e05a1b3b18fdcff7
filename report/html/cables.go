package html

import (
	"cmp"
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// Cables are switches on levels, the lowest first, and the cables between them.
type Cables struct {
	Words  string // what a reader of the drawing sees
	Unit   string // of loads
	Levels [][]Switch
	Cables []Cable
	Most   float64 // the load of the widest line
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
}

// A Place is a switch of a level.
type Place struct{ Level, Index int }

// Compare orders places by level, then from left to right.
func (p Place) Compare(q Place) int { return cmp.Or(p.Level-q.Level, p.Index-q.Index) }

// cablesView is a drawing as the template shows it.
type cablesView struct {
	Title, Words, Unit string
	SVG                template.HTML
	Legend             []sign
}

// A sign is explained by a text.
type sign struct {
	Sign template.HTML
	Text string
}

const levelGap = 250

// Few reports whether there are few enough cables to draw.
func (c *Cables) Few() bool { return len(c.Cables) <= mostLinks }

// y is how far down a level stands.
func (c *Cables) y(level int) float64 { return spineY + levelGap*float64(len(c.Levels)-1-level) }

func (c *Cables) at(p Place) (x, y float64) {
	return place(p.Index, len(c.Levels[p.Level])), c.y(p.Level)
}

func (c *Cables) view(title string) *cablesView {
	v := &cablesView{Title: title, Words: c.Words, Unit: c.Unit}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="tree-svg" viewBox="0 0 %d %.0f" tabindex="0" role="group" aria-label="%d cables between switches. Arrow keys go from cable to cable.">`,
		treeWidth, c.y(0)+30+9*float64(c.hostRows()), len(c.Cables))
	fmt.Fprintf(&b, `<g class="links %s">`, many(len(c.Cables) > 120))
	twins, marks := map[[2]Place]int{}, ""
	loads, some := false, cableStates{}
	for _, k := range c.Cables {
		pair := [2]Place{k.Low, k.High}
		marks += c.draw(&b, k, 4*float64(twins[pair]))
		twins[pair]++
		loads = loads || k.Up+k.Down > 0
		some.add(k)
	}
	fmt.Fprintf(&b, `</g><g class="marks" aria-hidden="true">%s</g>`, marks)
	for level, list := range c.Levels {
		for i, s := range list {
			c.drawSwitch(&b, s, Place{level, i})
		}
	}
	b.WriteString(`</svg>`)
	v.SVG = template.HTML(b.String())
	if loads {
		for i := 1; i <= 6; i++ {
			line := fmt.Sprintf(`<svg viewBox="0 0 28 10" aria-hidden="true"><path class="l%d" d="M0 5H28"/></svg>`, i)
			v.Legend = append(v.Legend, sign{template.HTML(line), "≤ " + amount(c.Most*float64(i)/6, true)})
		}
	} else {
		v.Unit = ""
	}
	v.Legend = append(v.Legend, some.legend()...)
	return v
}

// draw draws a cable, shifted where it has twins, and returns its marks.
func (c *Cables) draw(b *strings.Builder, k Cable, shift float64) (marks string) {
	x1, y1 := c.at(k.Low)
	x2, y2 := c.at(k.High)
	x1, x2 = x1+shift, x2+shift
	xm, ym := (x1+x2)/2, (y1+y2)/2
	title := html(k.Title)
	near := func(share float64) string { return fmt.Sprintf("%.1f %.1f", x1+(x2-x1)*share, y1+(y2-y1)*share) }
	if k.Dead {
		fmt.Fprintf(b, `<g class="k dead"><title>%s</title><path class="h" d="M%.1f %.0fL%.1f %.0f"/></g>`, title, x1, y1, x2, y2)
		return fmt.Sprintf(`<path class="gone" d="M%.1f %.0fL%.1f %.0f"/><path class="x" d="M%sm-5 -5l10 10m0 -10l-10 10"/>`, x1, y1, x2, y2, near(0.2))
	}
	slow := ""
	if k.Slow {
		slow = " slow"
		marks += fmt.Sprintf(`<path class="sign slow" d="M%sm-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0"/>`, near(0.3))
	}
	if k.Deciding {
		marks += fmt.Sprintf(`<path class="sign deciding" d="M%sm0 -7l7 12h-14z"/>`, near(0.42))
	}
	up, down := step(k.Up/max(c.Most, 1e-9)), step(k.Down/max(c.Most, 1e-9))
	fmt.Fprintf(b, `<g class="k"><title>%s</title><path class="h" d="M%.1f %.0fL%.1f %.0f"/><path class="l%d%s" d="M%.1f %.0fL%.1f %.1f"/><path class="l%d%s" d="M%.1f %.1fL%.1f %.0f"/></g>`,
		title, x1, y1, x2, y2, up, slow, x1, y1, xm, ym, down, slow, xm, ym, x2, y2)
	return marks
}

// drawSwitch draws a switch with as much of its name as has room, and its hosts.
func (c *Cables) drawSwitch(b *strings.Builder, s Switch, p Place) {
	x, y := c.at(p)
	count := len(c.Levels[p.Level])
	width := min(float64(max(64, 8*len(s.Name)+8)), treeWidth/float64(count)-4)
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
	across := min(c.hostsPerRow(), s.Hosts)
	fmt.Fprintf(b, `<g class="servers"><title>%s: %d hosts</title>`, html(s.Name), s.Hosts)
	for i := range s.Hosts {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.0f" r="2.7"/>`, x-4*float64(across-1)+8*float64(i%across), y+19+9*float64(i/across))
	}
	b.WriteString(`</g>`)
}

// hostsPerRow is how many hosts stand side by side under a switch of the lowest level.
func (c *Cables) hostsPerRow() int {
	return max(1, int((treeWidth/float64(max(1, len(c.Levels[0])))-4)/8))
}

func (c *Cables) hostRows() (rows int) {
	for _, s := range c.Levels[0] {
		rows = max(rows, (s.Hosts+c.hostsPerRow()-1)/c.hostsPerRow())
	}
	return rows
}

// cableStates are those that a drawing has.
type cableStates struct{ dead, slow, deciding bool }

func (s *cableStates) add(k Cable) {
	s.dead, s.slow, s.deciding = s.dead || k.Dead, s.slow || k.Slow, s.deciding || k.Deciding
}

func (s *cableStates) legend() (out []sign) {
	for _, x := range []struct {
		there      bool
		path, text string
	}{
		{s.dead, `<path class="sign dead" d="M3 2l10 10m0 -10l-10 10"/>`, "dead"},
		{s.slow, `<path class="sign slow" d="M2 7a6 6 0 1 0 12 0a6 6 0 1 0 -12 0"/>`, "slow: below the usual speed"},
		{s.deciding, `<path class="sign deciding" d="M8 1l7 12h-14z"/>`, "decides"},
	} {
		if x.there {
			out = append(out, sign{template.HTML(`<svg class="sign" viewBox="0 0 16 14" aria-hidden="true">` + x.path + `</svg>`), x.text})
		}
	}
	return out
}
