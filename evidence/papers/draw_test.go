package papers

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/topology"
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
		{"jobs-efi", []string{"routes on each cable, up", "sssp", "sar-published", "150"}},
	} {
		f := figureOf(t, tt.name)
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

// TestKeptIsOpenSMs pulls links while OpenSM runs: updn with roots, and min-hop after
// ftree, keep its entries, entry by entry of all leaves.
func TestKeptIsOpenSMs(t *testing.T) {
	ibtest.Need(t)
	n := newRoutedTree(topology.Options{Ports: 4, Leaves: 5, Fill: []int{4, 3, 3, 4, 2}})
	whole := must(engines.FromTree(&n.tree.Live, 0))
	var roots []network.Node
	for k := range n.tree.Spines() {
		roots = append(roots, whole.Switch(n.tree.Leaves()+k))
	}
	links := must(n.tree.Random(4, 3))
	for _, tt := range []struct {
		engine, first, then string
		roots               []network.Node
	}{{"updn", engines.UpDown, engines.UpDown, roots}, {"ftree,opensm-minhop", "ftree", engines.OpenSMMinHop, nil}} {
		tables := compute(n.tree, tt.first, engines.Options{})
		live := expect.Value(ibtest.Start(t.Context(), whole, tt.engine, tt.roots))(t)
		defer live.Close()
		for i, l := range links {
			expect.Must(t, live.Unlink(network.End{Node: whole.Switch(l.Leaf), Port: uint8(n.tree.Ports() + 1 + l.Spine)}))
			now := must(n.tree.Without(links[:i+1]...))
			tables = compute(now, tt.then, engines.Options{Previous: tables})
			theirs := expect.Value(live.Until(func(theirs *lft.Tables) bool { return otherOnLeaves(now, tables, theirs) == "" }))(t)
			expect.Equal(t, otherOnLeaves(now, tables, theirs), "", "%v dead", now.DownNames())
		}
	}
}

// otherOnLeaves names the entries that messages between servers use and that differ.
func otherOnLeaves(tree *topology.Tree, got, want *lft.Tables) (other string) {
	for leaf := range tree.Leaves() {
		for server := range tree.Servers() {
			lid := want.Net.Info(network.Node(server)).LID
			if g, w := got.Row(leaf)[lid], want.Row(leaf)[lid]; g != w {
				other += fmt.Sprintf("leaf%d, server of rank %d: port %d, OpenSM has %d\n", leaf, server, g, w)
			}
		}
	}
	return other
}
