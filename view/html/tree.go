package html

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"evbench/results"
	"evbench/view/figure"
	"evbench/view/parts"
)

// mostTrees is the most bytes of a run's trees on a page.
const mostTrees = 900 << 10

func treeFigure(index int, s figure.Source) figureView {
	run := parts.RunID(index)
	v := figureView{
		ID: run + "-tree", Name: "tree", Title: "Load of links in the fat tree",
		Caption: "Leaves are below, spines above; a dot is a server. The half of a cable at the leaf shows what the leaf sends to the spine, " +
			"the half at the spine what the spine sends to the leaf. Wider and darker (in a dark page: lighter) is more. Dead links are dashed and crossed out.",
	}
	cases, size := s.Run.Summary.Cases, 0
	for i, x := range parts.Trees(s.Run, s.Plans) {
		if !x.Known() {
			continue
		}
		d := x.Cables()
		if !d.Few() {
			v.Missing = fmt.Sprintf("The tree has %d cables between leaves and spines, too many for a page; evbench plot tree draws it.", len(d.Cables))
			return v
		}
		t := parts.Draw(d, 296, results.Label(cases[i], cases))
		t.ID, t.Case = fmt.Sprintf("%s-%d", v.ID, i), parts.CaseID(index, i)
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
func pack(l *parts.Loads) string {
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
func strip(l *parts.Loads) template.HTML {
	var b strings.Builder
	class := "few"
	if l.Phases > 120 {
		class = "many" // each is thin
	}
	for p := range l.Phases {
		fmt.Fprintf(&b, "M%d 24v-%.2f", p+1, 22*float64(slices.Max(l.Phase(p)))/float64(max(1, l.Most)))
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="strip" viewBox="0 0 %d 24" preserveAspectRatio="none" aria-hidden="true"><path class="%s" d="%s"/></svg>`, l.Phases, class, b.String()))
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
