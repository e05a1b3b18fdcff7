package figure

import (
	"errors"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"evbench/internal/show"
	"evbench/results"
)

// ErrNothing is wrapped by errors about figures for which a run has no data.
var ErrNothing = errors.New("nothing to draw")

// pixelsPerInch makes a PNG sharp on a screen and in print.
const pixelsPerInch = 192

// WriteSVG draws all panels of the figure as one SVG document.
func (f *Figure) WriteSVG(w io.Writer) error {
	if err := f.something(); err != nil {
		return err
	}
	width, height := f.size()
	return WriteDrawing(w, width, height, f.says(), f.draw)
}

// WriteDrawing writes what paint draws as an SVG document, with a description where says is not "".
func WriteDrawing(w io.Writer, width, height vg.Length, says string, paint func(draw.Canvas)) error {
	svg, err := drawSVG(width, height, says, paint)
	if err == nil {
		_, err = io.WriteString(w, svg)
	}
	return err
}

// WritePNG draws all panels of the figure as one picture.
func (f *Figure) WritePNG(w io.Writer) error {
	if err := f.something(); err != nil {
		return err
	}
	width, height := f.size()
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pixelsPerInch))
	f.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// SVG draws one panel without its title as an SVG document, and again with width Slim, "" where that is 0.
func (p Panel) SVG() (svg, slim string, err error) {
	svg, err = drawSVG(p.width, p.height, p.Says, p.plot.Draw)
	if err == nil && p.Slim > 0 {
		slim, err = drawSVG(p.Slim, p.height, p.Says, p.plot.Draw)
	}
	return svg, slim, err
}

// finish keeps squares of pictures square and sharp, and makes texts fit without Liberation Sans:
// it names families with the same widths, and states the intended length of each text, so that
// another font is squeezed and does not overlap its neighbour.
func finish(svg string) string {
	svg = strings.ReplaceAll(svg, "<image ", `<image preserveAspectRatio="none" style="image-rendering:pixelated" `)
	svg = strings.ReplaceAll(svg, "font-family:Liberation Sans", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif")
	return texts.ReplaceAllStringFunc(svg, func(element string) string {
		part := texts.FindStringSubmatch(element)
		size, err := strconv.ParseFloat(part[2], 64)
		if err != nil {
			return element
		}
		face := font.DefaultCache.Lookup(sans(vg.Length(size)), vg.Length(size))
		width := face.Width(html.UnescapeString(part[3])).Points()
		return fmt.Sprintf(`<text textLength="%.2f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`, width, part[1], part[3])
	})
}

var texts = regexp.MustCompile(`(?s)<text((?:[^>]*?)font-size:([0-9.]+)px[^>]*)>([^<]+)</text>`)

func (f *Figure) something() error {
	if len(f.Panels) == 0 {
		return errors.Join(ErrNothing, errors.New(f.Missing))
	}
	return nil
}

// Panels stand in rows of at most three, under a title each; one of all cases has a row
// of its own.
const (
	columns  = 3
	titleGap = vg.Length(20)
	gap      = vg.Length(14)
)

func (f *Figure) rows() (out [][]Panel) {
	for _, p := range f.Panels {
		n := len(out)
		if n > 0 && p.Case >= 0 && len(out[n-1]) < columns && out[n-1][0].Case >= 0 {
			out[n-1] = append(out[n-1], p)
		} else {
			out = append(out, []Panel{p})
		}
	}
	return out
}

func (f *Figure) size() (width, height vg.Length) {
	height = gap + titleGap
	for _, row := range f.rows() {
		across := gap
		for _, p := range row {
			across += p.width + gap
		}
		width = max(width, across)
		height += row[0].height + titleGap + gap
	}
	return width, height
}

func (f *Figure) draw(c draw.Canvas) {
	c.FillPolygon(Paper, box(c.Min, c.Max))
	heading(c, f.Title, vg.Point{X: c.Min.X + gap, Y: c.Max.Y - titleGap}, textSize+2)
	top := c.Max.Y - titleGap - gap
	for _, row := range f.rows() {
		left := c.Min.X + gap
		for _, p := range row {
			if p.Case >= 0 {
				heading(c, p.Title, vg.Point{X: left, Y: top - titleGap + 6}, textSize)
			}
			p.plot.Draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: left, Y: top - titleGap - p.height}, Max: vg.Point{X: left + p.width, Y: top - titleGap},
			}})
			left += p.width + gap
		}
		top -= row[0].height + titleGap + gap
	}
}

func heading(c draw.Canvas, s string, at vg.Point, size vg.Length) {
	style := textStyle(size, Ink)
	style.XAlign, style.YAlign = draw.XLeft, text.YBottom
	c.FillText(style, at, s)
}

// A noted canvas keeps the texts shown under the pointer.
type noted struct {
	vg.Canvas
	tips []tip
}

// A tip is the text of a part of a drawing.
type tip struct {
	low, high vg.Point
	class     string
	text      string
}

// say gives the surroundings of a mark a text, if the drawing can have one.
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

// notedOf returns the canvas that keeps texts, nil without one. Plots draw on parts of parts of a
// canvas.
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

// drawSVG returns a document of the drawing, with its texts, and with a description.
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

// mostSaid is the most cases for which a description lists each figure.
const mostSaid = 24

func sentences(parts []string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return ""
	}
	return show.Some(parts, mostSaid, "; ") + "."
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

// beyond says why rates of some intervals exceed the link rate, if any do.
func (s Source) beyond(most float64) string {
	limit := s.linkLimit()
	if limit == 0 || most <= limit*1.001 {
		return ""
	}
	return fmt.Sprintf(" Some are above the %s that a link leaves for messages: a fragment counts in the interval in which the last of it came, so a short interval can have more than a link carries.",
		rateText(limit, results.RateUnitOf(limit)))
}

// Writer returns the function that writes a figure in the form of a file's name; "": its table.
func Writer(name string) (func(*Figure, io.Writer) error, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case ext == ".svg":
		return (*Figure).WriteSVG, nil
	case ext == ".png":
		return (*Figure).WritePNG, nil
	case ext == ".csv" || name == "":
		return func(f *Figure, w io.Writer) error { return f.Data.WriteCSV(w) }, nil
	}
	return nil, fmt.Errorf("%s: ends in none of .svg, .png, .csv", name)
}
