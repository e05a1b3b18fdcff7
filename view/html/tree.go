package html

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/results"
	"evbench/view/figure"
)

// mostTrees is the most bytes of a run's trees on a page.
const mostTrees = 900 << 10

func treeFigure(index int, s figure.Source) figureView {
	run := runID(index)
	v := figureView{
		ID: run + "-tree", Name: "tree", Title: "Load of links in the fat tree",
		Caption: "Leaves are below, spines above; a dot is a server. The half of a cable at the leaf shows what the leaf sends to the spine, " +
			"the half at the spine what the spine sends to the leaf. Wider and darker (in a dark page: lighter) is more. Dead links are dashed and crossed out.",
	}
	cases, size := s.Run.Summary.Cases, 0
	for i, x := range s.Trees() {
		if !x.Known() {
			continue
		}
		d := x.Cables()
		if !d.Few() {
			v.Missing = fmt.Sprintf("The tree has %d cables between leaves and spines, too many for a page; evbench plot tree draws it.", len(d.Cables))
			return v
		}
		t := drawing{d, 296}.view(results.Label(cases[i], cases))
		t.ID, t.Case = fmt.Sprintf("%s-%d", v.ID, i), caseID(index, i)
		if l := x.Loads; l != nil {
			t.Phases, t.Data, t.Strip = l.Phases, pack(l), strip(l)
		}
		if size += len(t.SVG) + len(t.Data); size > mostTrees {
			v.Caption += fmt.Sprintf(" For the page not to grow too large, only %d of %d cases are drawn; evbench plot tree --case NAME draws another.", len(v.Trees), len(cases))
			break
		}
		v.Trees = append(v.Trees, t)
	}
	if v.Trees == nil {
		v.Missing = "No plan of two levels describes the network as a tree, or nothing is known about its links; links.csv has what each carried."
	}
	return v
}

// pack writes the loads of all phases for the script: the number of bits of a
// load, a colon, and the loads of each wire in each phase, so many bits each,
// highest bit first, as base64 of URLs.
func pack(l *figure.Loads) string {
	width := max(1, bits.Len(uint(l.Most)))
	var out []byte
	var word uint64
	filled := 0
	for p := range l.Phases {
		for _, n := range l.Phase(p) {
			word, filled = word<<width|uint64(n), filled+width
			for filled >= 8 {
				filled -= 8
				out = append(out, byte(word>>filled))
			}
		}
	}
	if filled > 0 {
		out = append(out, byte(word<<(8-filled)))
	}
	return fmt.Sprintf("%d:%s", width, base64.URLEncoding.EncodeToString(out))
}

// strip draws the largest load of each phase as bars above the slider, each at the slider's
// position for that phase.
func strip(l *figure.Loads) template.HTML {
	var b strings.Builder
	for p := range l.Phases {
		fmt.Fprintf(&b, "M%d 24v-%.2f", p+1, 22*float64(slices.Max(l.Phase(p)))/float64(max(1, l.Most)))
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="strip" viewBox="0 0 %d 24" preserveAspectRatio="none" aria-hidden="true"><path class="%s" d="%s"/></svg>`, l.Phases, many(l.Phases > 120), b.String()))
}

// many is the class of a drawing with so many parts that each must be thin.
func many(yes bool) string {
	if yes {
		return "many"
	}
	return "few"
}

// inline adapts an SVG document of package figure to a page: without its header, hidden from screen
// readers, which read the caption, and with the page's colours in place of paper and ink.
func inline(svg string) template.HTML {
	if i := strings.Index(svg, "<svg"); i > 0 {
		svg = svg[i:]
	}
	svg = colours.Replace(comments.ReplaceAllString(svg, ""))
	svg = numbers.ReplaceAllString(svg, "$1")
	svg = strings.Replace(svg, "<svg ", `<svg aria-hidden="true" focusable="false" `, 1)
	return template.HTML(svg) // made by figure; texts in it are escaped there
}

var (
	comments = regexp.MustCompile(`(?s)<!--.*?-->\s*`)
	// Two digits behind the point are a hundredth of a pixel.
	numbers = regexp.MustCompile(`(\d\.\d\d)\d+`)
)

var colours = strings.NewReplacer(
	hex(figure.Ink), "var(--ink)", hex(figure.Faint), "var(--faint)", hex(figure.Paper), "var(--card)",
)

func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

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
)

// A drawing is cables with so many pixels between levels.
type drawing struct {
	*figure.Cables
	gap float64
}

func (c drawing) at(p figure.Place) (x, y float64) {
	x, y = c.At(p)
	return treeWidth * x, topY + c.gap*float64(len(c.Levels)-1)*(1-y)
}

func (c drawing) view(title string) treeView {
	v := treeView{Title: title, Words: c.Words, Unit: c.Unit}
	across, rows := c.hosts()
	_, bottom := c.at(figure.Place{})
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
			c.drawSwitch(&b, s, figure.Place{Level: level, Index: i}, across)
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
func (c drawing) roomy() string {
	for _, list := range c.Levels {
		if len(list) > 8 || slices.ContainsFunc(list, func(s figure.Switch) bool { return len(s.Name) > 7 }) {
			return ""
		}
	}
	return " roomy"
}

// equal reports whether all cables that are not dead carry the same, both up and down.
func (c drawing) equal() bool {
	return !slices.ContainsFunc(c.Cables.Cables, func(k figure.Cable) bool { return !k.Dead && (k.Up != c.Most || k.Down != c.Most) })
}

// draw draws a cable, shifted where it has parallel cables: an invisible wide line for the pointer,
// one for each direction, and marks above all lines.
func (c drawing) draw(b, marks *strings.Builder, k figure.Cable, scale, shift float64) {
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
	fmt.Fprintf(b, `<g class="%s"><title>%s</title><path class="h" d="%s"/>`, class, html(k.Title), whole)
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

func html(s string) string { return template.HTMLEscapeString(s) }

func (c drawing) drawSwitch(b *strings.Builder, s figure.Switch, p figure.Place, across int) {
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
		s.Named[-1], html(s.Name), x-width/2, y-10, max(2, width), class, x, y+4, html(text))
	if s.Hosts == 0 {
		return
	}
	across = min(across, s.Hosts)
	fmt.Fprintf(b, `<g class="servers"><title>%s: %d %s</title>`, html(s.Name), s.Hosts, c.Hosts)
	for i := range s.Hosts {
		cx, cy := x-4*float64(across-1)+8*float64(i%across), y+19+9*float64(i/across)
		if how := s.Named[i]; how > 0 {
			fmt.Fprintf(b, `<path class="named%d" d="M%.1f %.0fV%.0f"/><circle class="named%d" cx="%.1f" cy="%.0f" r="5"/><text x="%.1f" y="%.0f">%s</text>`,
				how, cx, y+10, cy, how, cx, cy, cx, y+41+9*float64((s.Hosts-1)/across), html(s.Names[i]))
			continue
		}
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.0f" r="2.7"/>`, cx, cy)
	}
	b.WriteString(`</g>`)
}

// hosts returns how many hosts stand side by side under a switch of the lowest level, and in how many rows.
func (c drawing) hosts() (across, rows int) {
	across = max(1, int((treeWidth/float64(max(1, len(c.Levels[0])))-4)/8))
	for _, s := range c.Levels[0] {
		rows = max(rows, (s.Hosts+across-1)/across)
	}
	return across, rows
}
