package papers

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"evbench/internal/expect"
)

// TestEveryFigureHasPanels keeps the list of panels and that of figures together.
func TestEveryFigureHasPanels(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, name := range Names() {
		listed[name] = true
		expect.True(t, len(panels[name]) != 0, "%s is not drawn", name)
	}
	for name := range panels {
		expect.True(t, listed[name], "there is no figure %s to draw", name)
	}
}

// words returns the texts of an SVG document.
func words(t *testing.T, svg []byte) string {
	t.Helper()
	var out strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok {
			out.Write(text)
		}
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"fig4.1", []string{"interval", "stated in the text", "seconds", "100000"}},
		{"fig4.3", []string{"as logged", "corrected"}},
		{"fig4.4", []string{"10 or more", "day of the log"}},
		{"fig5.10", []string{"LS/BO", "FS", "stated in the text", "reduction"}},
		{"fig5.13", []string{"computation"}},
		{"jobs-efi", []string{"sssp, up: at most 160, 15 without", "sar, up: at most 60, 0 without", "s1_8", "grey: none"}},
	} {
		f := expect.Value(Make(context.Background(), tt.name, Options{Seed: 1, Quick: true}))(t)
		var svg bytes.Buffer
		expect.Must(t, f.WriteSVG(&svg))
		got := words(t, svg.Bytes())
		for _, w := range tt.want {
			expect.True(t, strings.Contains(got, w), "%s does not say %q: %s", tt.name, w, got)
		}
	}
}

// madeUp is a figure like fig4.8 and fig6.5, made up.
func madeUp(name string) *Figure {
	stated := []Stated{{Of: Median, Value: 2}}
	return &Figure{Name: name, Title: "made up", Rows: []Row{
		{Series: "first", X: 0, Label: "none", Values: []float64{1, 2, 3}, Stated: stated},
		{Series: "second", X: 1, Label: "some", Values: []float64{5}},
		{Series: "second, 326 servers", X: 1, Label: "some", Values: []float64{5}},
	}}
}

func TestBoxes(t *testing.T) {
	t.Parallel()
	f := madeUp("fig6.5")
	c := f.charts()
	expect.MustTrue(t, len(c) == 2 && len(c[0].Series) == 2 && len(c[1].Series) == 1 && c[1].Series[0].Name == "second" && c[0].Labels[1] == "some",
		"%+v", c)
	p := c[0].Series[0].Points[0]
	expect.True(t, len(p.Values) == 3 && len(p.Stated) == 1, "%+v", p)
	var svg bytes.Buffer
	expect.Must(t, f.WriteSVG(&svg))
	expect.Contains(t, words(t, svg.Bytes()), "some", "326 servers")
}

func TestNothing(t *testing.T) {
	t.Parallel()
	expect.Error(t, (&Figure{Name: "fig4.8"}).WriteSVG(io.Discard), "nothing to draw")
}
