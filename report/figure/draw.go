package figure

import (
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// ErrNothing is wrapped by errors about figures that a run has nothing for.
var ErrNothing = errors.New("nothing to draw")

// pixelsPerInch makes a PNG sharp on a screen and in print.
const pixelsPerInch = 192

// WriteSVG draws all panels of the figure as one SVG document.
func (f *Figure) WriteSVG(w io.Writer) error {
	if err := f.something(); err != nil {
		return err
	}
	width, height := f.size()
	svg, err := drawSVG(width, height, f.says(), f.draw)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, svg)
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

// SVG draws one panel without its title as an SVG document.
func (p Panel) SVG() (string, error) { return p.svg(p.width) }

// SlimSVG draws it as wide as Slim says, "" where that is 0.
func (p Panel) SlimSVG() (string, error) {
	if p.Slim == 0 {
		return "", nil
	}
	return p.svg(p.Slim)
}

func (p Panel) svg(width vg.Length) (string, error) {
	return drawSVG(width, p.height, p.Says, p.plot.Draw)
}

// finish keeps squares of pictures square and sharp, and makes texts fit where
// Liberation Sans is missing: it names families that have its widths, and says how
// long each text was meant to be, so that another font is squeezed rather than
// running into what is beside it.
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
