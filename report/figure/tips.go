package figure

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"evbench/results"
)

// A noted canvas keeps the texts that stand under the pointer.
type noted struct {
	vg.Canvas
	tips []tip
}

// A tip is what a part of a drawing says.
type tip struct {
	low, high vg.Point
	class     string
	text      string
}

// say gives the surroundings of a mark a text, where the drawing can have one.
func say(c draw.Canvas, m vg.Point, format string, values ...any) {
	const room = 6
	sayBox(c, vg.Point{X: m.X - room, Y: m.Y - room}, vg.Point{X: m.X + room, Y: m.Y + room}, fmt.Sprintf(format, values...))
}

func sayBox(c draw.Canvas, a, b vg.Point, text string) { sayClass(c, a, b, "", text) }

func sayClass(c draw.Canvas, a, b vg.Point, class, text string) {
	n := notedOf(c)
	if n == nil {
		return
	}
	n.tips = append(n.tips, tip{
		vg.Point{X: min(a.X, b.X), Y: min(a.Y, b.Y)}, vg.Point{X: max(a.X, b.X), Y: max(a.Y, b.Y)}, class, text,
	})
}

// notedOf returns the canvas that keeps texts, nil where none does. Plots draw on parts of parts of
// a canvas.
func notedOf(c vg.Canvas) *noted {
	for {
		switch x := c.(type) {
		case *noted:
			return x
		case draw.Canvas:
			c = x.Canvas
		default:
			return nil
		}
	}
}

// drawSVG returns a document of what is drawn, with its texts, and with a description of it all.
func drawSVG(width, height vg.Length, says string, paint func(draw.Canvas)) (string, error) {
	c := vgsvg.New(width, height)
	n := &noted{Canvas: c}
	paint(draw.NewCanvas(n, width, height))
	var b strings.Builder
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	svg := finish(b.String())
	if says != "" {
		svg = opening.ReplaceAllStringFunc(svg, func(tag string) string { return tag + "\n<desc>" + html.EscapeString(says) + "</desc>" })
	}
	if len(n.tips) == 0 {
		return svg, nil
	}
	var t strings.Builder
	t.WriteString("<g class=\"tips\" fill=\"none\" pointer-events=\"all\">")
	for _, x := range n.tips {
		class := ""
		if x.class != "" {
			class = fmt.Sprintf(" class=%q", x.class)
		}
		fmt.Fprintf(&t, "<rect%s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>\n",
			class, x.low.X, height-x.high.Y, max(1, x.high.X-x.low.X), max(1, x.high.Y-x.low.Y), html.EscapeString(x.text))
	}
	t.WriteString("</g>\n</svg>")
	return strings.Replace(svg, "</svg>", t.String(), 1), nil
}

var opening = regexp.MustCompile(`<svg[^>]*>`)

// mostSaid is of how many cases a description says each figure.
const mostSaid = 24

func sentences(parts []string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if n := len(parts) - mostSaid; n > 0 {
		parts = append(parts[:mostSaid:mostSaid], fmt.Sprintf("%d more", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

func (f *Figure) says() string {
	var parts []string
	for _, p := range f.Panels {
		text := p.Says
		if p.Title != "" {
			text = p.Title + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func rateText(x float64, u results.RateUnit) string { return figuresOf(x/u.Size) + " " + u.Name }

// figuresOf prints a number with three digits or more, and without an exponent.
func figuresOf(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 1 || x == 0:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// How says how the figures of a run came about, as a word: measured, emulated, simulated, modelled.
func (s Source) How() string {
	switch f := s.Run.Manifest.Fabric; {
	case f.Kind == "emulate":
		return "emulated"
	case strings.HasPrefix(f.Kind, "sim"):
		return "simulated"
	case f.Model && f.Kind != "lab" && f.Kind != "hosts":
		return "modelled"
	}
	return "measured"
}

// beyond says why rates of intervals are above what a link carries, where some are.
func (s Source) beyond(most float64) string {
	limit := s.linkLimit()
	if limit == 0 || most <= limit*1.001 {
		return ""
	}
	return fmt.Sprintf(" Some are above the %s that a link leaves for messages: a fragment counts in the interval in which the last of it came, so a short interval can have more than a link carries.",
		rateText(limit, results.RateUnitOf(limit)))
}
