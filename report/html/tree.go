package html

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"evbench/internal/show"
	"evbench/report/figure"
	"evbench/results"
	"evbench/topology"
)

func treeFigure(index int, s figure.Source) figureView {
	run := runID(index)
	v := figureView{
		ID: run + "-tree", Name: "tree", Title: "Load of links in the fat tree",
		Caption: "Leaves are below, spines above; a dot is a server. The half of a cable at the leaf shows what the leaf sends to the spine, " +
			"the half at the spine what the spine sends to the leaf. Wider and darker (in a dark page: lighter) is more. Dead links are dashed and crossed out.",
	}
	cases := s.Run.Summary.Cases
	for i, x := range s.Trees() {
		switch {
		case !x.Known():
		case x.Tree.LowerLinks() > mostLinks:
			v.Missing = fmt.Sprintf("The tree has %d cables between leaves and spines, too many for a page; evbench plot tree draws it.", x.Tree.LowerLinks())
			return v
		default:
			v.Trees = append(v.Trees, viewTree(fmt.Sprintf("%s-%d", v.ID, i), results.Label(cases[i], cases), caseID(index, i), x))
		}
	}
	if v.Trees == nil {
		v.Missing = "No plan of two levels describes the tree, or nothing is known about its links."
	}
	return v
}

func viewTree(id, title, of string, x *figure.CaseTree) treeView {
	t, totals := x.Tree, x.Totals()
	c := Cables{Words: words(x), Unit: "bytes", Levels: make([][]Switch, 2), servers: true, gap: 296}
	if x.Loads != nil {
		c.Unit = "messages"
	}
	for leaf := range t.Leaves() {
		c.Levels[0] = append(c.Levels[0], Switch{fmt.Sprintf("leaf%d", leaf), t.On(leaf)})
	}
	for id := range t.LowerLinks() {
		l := t.LinkOf(id)
		up, down := totals[t.UpWire(l)], totals[t.UpWire(l)+1]
		c.Most = max(c.Most, up, down)
		c.Cables = append(c.Cables, Cable{
			Low: Place{0, l.Leaf}, High: Place{1, l.Spine}, Up: up, Down: down, Title: linkTitle(x, l, totals), Dead: !t.LinkAlive(l), timed: x.Timed[l] != "",
		})
	}
	for spine := range t.Spines() {
		c.Levels[1] = append(c.Levels[1], Switch{Name: fmt.Sprintf("spine%d", spine)})
	}
	v := c.view(title)
	v.ID, v.Case = id, of
	if l := x.Loads; l != nil {
		v.Phases, v.Data, v.Strip = l.Phases, pack(l), strip(l)
	}
	return v
}

func words(x *figure.CaseTree) string {
	var parts []string
	if dead := x.Tree.Dead(); len(dead) > 0 {
		names := make([]string, len(dead))
		for i, l := range dead {
			names[i] = l.String()
		}
		const most = 12
		if len(names) > most {
			names = append(names[:most], fmt.Sprintf("and %d more", len(dead)-most))
		}
		parts = append(parts, fmt.Sprintf("%d of %d links are dead: %s.", len(dead), x.Tree.LowerLinks(), strings.Join(names, ", ")))
	} else {
		parts = append(parts, "No link is dead from the start.")
	}
	if len(x.Timed) > 0 {
		parts = append(parts, fmt.Sprintf("%d die while events are built.", len(x.Timed)))
	}
	if l := x.Loads; l != nil {
		shared := 0
		for p := range l.Phases {
			if busiest(l, p) > 1 {
				shared++
			}
		}
		parts = append(parts, fmt.Sprintf("In %d of %d phases a link carries more than one message; the most at once is %d.", shared, l.Phases, l.Most))
	} else {
		parts = append(parts, "There is no plan with phases; shown is what the links carried in the part that counts.")
	}
	return strings.Join(parts, " ")
}

func busiest(l *figure.Loads, phase int) (most uint16) {
	for _, n := range l.Phase(phase) {
		most = max(most, n)
	}
	return most
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
		fmt.Fprintf(&b, "M%d 24v-%.2f", p+1, 22*float64(busiest(l, p))/float64(max(1, l.Most)))
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

func linkTitle(x *figure.CaseTree, l topology.Link, totals []float64) string {
	if !x.Tree.LinkAlive(l) {
		return l.String() + ": dead"
	}
	up := x.Tree.UpWire(l)
	down := up + 1
	text := l.String() + ":"
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
	if when := x.Timed[l]; when != "" {
		text += " dies " + when + ";"
	}
	return strings.TrimSuffix(text, ";")
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

// mostLinks is the most cables drawn between leaves and spines; more would be a grey field, and a
// large file.
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

// draw draws a cable, shifted where it has parallel cables: an invisible wide line for the pointer,
// one for each direction, and marks above all lines.
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
