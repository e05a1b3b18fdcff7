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

// mostLinks is how many cables between leaves and spines are drawn; more would
// be a grey field, and a large file.
const mostLinks = 1500

// A treeView is the tree of one case.
type treeView struct {
	ID, Title string
	Case      string // see row
	SVG       template.HTML
	Phases    int    // 0: no slider
	Data      string // for the script: see pack
	Unit      string // of the loads shown without a phase
	Strip     template.HTML
	Text      string // what there is to say in words
	Steps     []swatch
}

// A swatch is one step of the legend.
type swatch struct {
	Class, Phase, Total string
}

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
		case x.Tree.Leaves()*x.Tree.Spines() > mostLinks:
			v.Missing = fmt.Sprintf("The tree has %d cables between leaves and spines, too many for a page; evbench plot tree draws it.", x.Tree.Leaves()*x.Tree.Spines())
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
	v := treeView{ID: id, Title: title, Case: of, SVG: drawTree(x), Unit: "bytes", Text: words(x)}
	if l := x.Loads; l != nil {
		v.Unit, v.Phases = "messages", l.Phases
		v.Data, v.Strip = pack(l), strip(l)
	}
	most := 0.0
	for _, n := range x.Totals() {
		most = max(most, n)
	}
	v.Steps = legend(most, x.Loads)
	return v
}

// legend explains the steps in which loads are shown: of one phase, and of the
// whole case.
func legend(most float64, l *figure.Loads) []swatch {
	phase := [...]string{"0", "1", "2", "3", "4–5", "6–8", "9 and more"}
	out := []swatch{{"l0", "0", "0"}}
	for i := 1; i <= 6; i++ {
		text := amount(most*float64(i)/6, l != nil)
		out = append(out, swatch{fmt.Sprintf("l%d", i), phase[i], "≤ " + text})
	}
	return out
}

// amount prints messages or bytes.
func amount(x float64, messages bool) string {
	if messages {
		return fmt.Sprintf("%.4g", x)
	}
	return show.Amount(x, "B")
}

// step returns the step of the legend for a share of the largest load.
func step(share float64) int {
	if share <= 0 {
		return 0
	}
	return min(6, 1+int(share*6-1e-9))
}

// words says what a reader of the drawing sees.
func words(x *figure.CaseTree) string {
	var parts []string
	if dead := x.Dead(); len(dead) > 0 {
		names := make([]string, len(dead))
		for i, l := range dead {
			names[i] = l.String()
		}
		const most = 12
		if len(names) > most {
			names = append(names[:most], fmt.Sprintf("and %d more", len(dead)-most))
		}
		parts = append(parts, fmt.Sprintf("%d of %d links are dead: %s.", len(dead), x.Tree.Leaves()*x.Tree.Spines(), strings.Join(names, ", ")))
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

// The size of a drawing of a tree.
const (
	treeWidth = 1120
	spineY    = 34
	leafY     = 330
)

// drawTree draws the cables, with the loads of the whole case.
func drawTree(x *figure.CaseTree) template.HTML {
	t := x.Tree
	var b strings.Builder
	rows := serverRows(t)
	fmt.Fprintf(&b, `<svg class="tree-svg" viewBox="0 0 %d %d" tabindex="0" role="group" aria-label="Links between %d leaves and %d spines. Arrow keys go from link to link.">`,
		treeWidth, leafY+30+rows*9, t.Leaves(), t.Spines())
	fmt.Fprintf(&b, `<g class="links %s">`, many(t.Leaves()*t.Spines() > 120))
	totals := x.Totals()
	most := 1e-9
	for _, v := range totals {
		most = max(most, v)
	}
	for leaf := range t.Leaves() {
		for spine := range t.Spines() {
			drawLink(&b, x, topology.Link{Leaf: leaf, Spine: spine}, totals, most)
		}
	}
	b.WriteString(`</g>`)
	drawDead(&b, x)
	for spine := range t.Spines() {
		drawSwitch(&b, "spine", spine, place(spine, t.Spines()), spineY, t.Spines())
	}
	for leaf := range t.Leaves() {
		drawSwitch(&b, "leaf", leaf, place(leaf, t.Leaves()), leafY, t.Leaves())
		drawServers(&b, t, leaf)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// place is where the i-th of n switches stands.
func place(i, n int) float64 { return treeWidth * (float64(i) + 0.5) / float64(n) }

// drawLink draws one cable: a wide line that nobody sees for the pointer, and one
// for each direction.
func drawLink(b *strings.Builder, x *figure.CaseTree, l topology.Link, totals []float64, most float64) {
	x1, x2 := place(l.Leaf, x.Tree.Leaves()), place(l.Spine, x.Tree.Spines())
	xm, ym := (x1+x2)/2, (leafY+spineY)/2.0
	title := html(linkTitle(x, l, totals))
	if !x.Tree.Alive(l.Leaf, l.Spine) {
		fmt.Fprintf(b, `<g class="k dead"><title>%s</title><path class="h" d="M%.1f %dL%.1f %d"/></g>`, title, x1, leafY, x2, spineY)
		return
	}
	class := "k"
	if x.Timed[l] != "" {
		class = "k timed"
	}
	up, down := step(totals[x.Tree.Up(l.Leaf, l.Spine)]/most), step(totals[x.Tree.Down(l.Leaf, l.Spine)]/most)
	fmt.Fprintf(b, `<g class="%s"><title>%s</title><path class="h" d="M%.1f %dL%.1f %d"/><path class="l%d" d="M%.1f %dL%.1f %.0f"/><path class="l%d" d="M%.1f %.0fL%.1f %d"/></g>`,
		class, title, x1, leafY, x2, spineY, up, x1, leafY, xm, ym, down, xm, ym, x2, spineY)
}

func html(s string) string { return template.HTMLEscapeString(s) }

// linkTitle says what there is to say of a link over the whole case.
func linkTitle(x *figure.CaseTree, l topology.Link, totals []float64) string {
	if !x.Tree.Alive(l.Leaf, l.Spine) {
		return l.String() + ": dead"
	}
	up, down := x.Tree.Up(l.Leaf, l.Spine), x.Tree.Down(l.Leaf, l.Spine)
	text := l.String() + ":"
	if x.Loads != nil {
		text += fmt.Sprintf(" up %.0f, down %.0f messages in an exchange;", totals[up], totals[down])
	}
	if x.Carried != nil {
		text += fmt.Sprintf(" carried %s up, %s down", amount(x.Carried[up], false), amount(x.Carried[down], false))
		if x.Planned != nil {
			text += fmt.Sprintf(" (planned %s and %s)", amount(x.Planned[up], false), amount(x.Planned[down], false))
		}
		text += ";"
	}
	if when := x.Timed[l]; when != "" {
		text += " dies " + when + ";"
	}
	return strings.TrimSuffix(text, ";")
}

// drawDead draws dead links over all others, and marks those that die later.
func drawDead(b *strings.Builder, x *figure.CaseTree) {
	b.WriteString(`<g class="marks" aria-hidden="true">`)
	cross := func(l topology.Link, class string) {
		x1, x2 := place(l.Leaf, x.Tree.Leaves()), place(l.Spine, x.Tree.Spines())
		xm, ym := x1+(x2-x1)*0.2, leafY+(spineY-leafY)*0.2
		if class == "dead" {
			fmt.Fprintf(b, `<path class="gone" d="M%.1f %dL%.1f %d"/>`, x1, leafY, x2, spineY)
		}
		fmt.Fprintf(b, `<path class="x" d="M%.1f %.1fl10 10m0 -10l-10 10"/>`, xm-5, ym-5)
		if class == "timed" {
			fmt.Fprintf(b, `<circle class="ring" cx="%.1f" cy="%.1f" r="9"/>`, xm, ym)
		}
	}
	for _, l := range x.Dead() {
		cross(l, "dead")
	}
	for leaf := range x.Tree.Leaves() {
		for spine := range x.Tree.Spines() {
			if l := (topology.Link{Leaf: leaf, Spine: spine}); x.Timed[l] != "" {
				cross(l, "timed")
			}
		}
	}
	b.WriteString(`</g>`)
}

func drawSwitch(b *strings.Builder, what string, index int, x float64, y, count int) {
	name := fmt.Sprintf("%s%d", what, index)
	text, class := name, "roomy"
	width := min(64, treeWidth/float64(count)-4)
	switch {
	case width < 48:
		text = fmt.Sprint(index)
	case width < 60:
		class = "tight"
	}
	fmt.Fprintf(b, `<g class="switch"><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="20" rx="4"/><text class="%s" x="%.1f" y="%d">%s</text></g>`,
		name, x-width/2, y-10, width, class, x, y+4, text)
}

// perRow is how many servers stand side by side under a leaf.
func perRow(t *topology.Tree) int { return max(1, int((treeWidth/float64(t.Leaves())-4)/8)) }

func serverRows(t *topology.Tree) int {
	most := 0
	for _, n := range t.Fill() {
		most = max(most, n)
	}
	return (most + perRow(t) - 1) / perRow(t)
}

// drawServers draws the servers of a leaf as dots, in rows.
func drawServers(b *strings.Builder, t *topology.Tree, leaf int) {
	n, across := t.On(leaf), perRow(t)
	across = min(across, max(n, 1))
	if n == 0 {
		return
	}
	left := place(leaf, t.Leaves()) - 4*float64(across-1)
	fmt.Fprintf(b, `<g class="servers"><title>leaf%d: %d servers</title>`, leaf, n)
	for i := range n {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%d" r="2.7"/>`, left+8*float64(i%across), leafY+19+9*(i/across))
	}
	b.WriteString(`</g>`)
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
