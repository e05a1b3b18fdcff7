package html

import (
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strings"

	"evbench/report/figure"
)

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
