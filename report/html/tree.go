package html

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"math/bits"
	"regexp"
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
		v.Missing = "No plan of two levels says what the tree looks like, or nothing is known of its links."
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

// strip draws the largest load of each phase as bars above the slider, each where the slider is
// for it.
func strip(l *figure.Loads) template.HTML {
	var b strings.Builder
	for p := range l.Phases {
		fmt.Fprintf(&b, "M%d 24v-%.2f", p+1, 22*float64(busiest(l, p))/float64(max(1, l.Most)))
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="strip" viewBox="0 0 %d 24" preserveAspectRatio="none" aria-hidden="true"><path class="%s" d="%s"/></svg>`, l.Phases, many(l.Phases > 120), b.String()))
}

// many is the class of what has so many parts that each must be thin.
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

// inline turns an SVG document of package figure into one that stands in a page:
// without its header, hidden from screen readers, which read the caption, and
// in the colours of the page where it has those of paper and ink.
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
