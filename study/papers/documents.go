package papers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/internal/show"
)

// What the papers are called beside numbers.
const (
	thesis = "thesis"
	slides = "slides 2016"
)

// A Document is a paper with all its figures and tables, in its order.
type Document struct {
	Paper string `json:"paper"` // short, as in Figure.Paper
	Title string `json:"title"`
	Items []Item `json:"items"`
}

// An Item is a figure or table of a paper, or a calculation of its text that has a Figure.
type Item struct {
	Of     string `json:"of"` // "Fig. 4.5"
	Title  string `json:"title"`
	Figure string `json:"figure,omitempty"` // what reproduce takes; "": nothing is computed
	State  State  `json:"state"`
}

// A State is what there is of an item.
type State string

// States.
const (
	Beside   State = "ours beside it"  // computed, and the text states numbers
	NoNumber State = "ours, no number" // computed; the text states none
	Drawing  State = "drawing"         // that explains
	Notation State = "notation"
	Their    State = "needs their log"
)

// shown are an item that is computed by the figure of a name, drawn one that is not.
func shown(of, figure string) Item         { return Item{Of: of, Figure: figure} }
func plain(s State, of, title string) Item { return Item{Of: of, Title: title, State: s} }
func drawn(of, title string) Item          { return plain(Drawing, of, title) }

// documents are all papers.
var documents = []Document{
	{thesis, "E. Stein, Smart scheduling and routing for data acquisition networks, 2024", []Item{
		drawn("Fig. 2.1", "Logical fat tree LFT(3;2,2,4)"),
		drawn("Fig. 2.2", "Generalised fat tree FT(3;2,2,4)"),
		drawn("Fig. 2.3", "Generalised fat tree FT(3;2,2,2)"),
		drawn("Fig. 2.4", "All-to-all of four servers at once"),
		drawn("Fig. 2.5", "Linear shift of four servers"),
		drawn("Fig. 2.6", "Its routes on FT(2;2,2)"),
		drawn("Fig. 2.7", "The event builder network of LHCb"),
		drawn("Fig. 3.1", "A Dragonfly of 24 servers"),
		shown("Fig. 4.1", "fig4.1"),
		drawn("Fig. 4.2", "Duration of a flap, and interval between two"),
		shown("Fig. 4.3", "fig4.3"),
		shown("Fig. 4.4", "fig4.4"),
		shown("Fig. 4.5", "fig4.5"),
		drawn("Fig. 4.6", "The application without synchronisation"),
		shown("Fig. 4.7", "fig4.7"),
		shown("Fig. 4.8", "fig4.8"),
		shown("section 4.4", "sec4.4"),
		drawn("Tab. 5.1", "Linear shift as a Latin square"),
		drawn("Tab. 5.2", "The same as an orthogonal array"),
		drawn("Fig. 5.1", "Linear shift over Ftree, FT(2;2,2)"),
		drawn("Fig. 5.2", "A bandwidth reduction of 1, FT(2;4,4)"),
		drawn("Fig. 5.3", "Bandwidth-optimal on FT(2;2,2)"),
		plain(Notation, "Tab. 5.3", "Notation of Algorithm 1"),
		drawn("Fig. 5.4", "Min-Hop at its best and at its worst"),
		shown("Figs. 5.5, 5.6, 5.8, Tabs. 5.4, 6.1, 6.2", "examples"),
		shown("Fig. 5.7", "fig5.7"),
		shown("Fig. 5.9", "fig5.9"),
		shown("Fig. 5.10", "fig5.10"),
		shown("Fig. 5.11", "fig5.11"),
		shown("Fig. 5.12", "fig5.12"),
		shown("Fig. 5.13", "fig5.13"),
		drawn("Fig. 6.1", "Paths are determined by spines, FT(2;4,8)"),
		drawn("Fig. 6.2", "The same on three levels, FT(3;4,4,4)"),
		drawn("Fig. 6.3", "A reduction that is not uniform"),
		drawn("Fig. 6.4", "When a server transmits, FT(2;6,6), f = 2"),
		plain(Notation, "Tab. 6.3", "Notation of the integer program"),
		shown("Fig. 6.5", "fig6.5"),
		shown("section 6.6.3", "sec6.6.3"),
		shown("section 6.7.2", "sec6.7.2"),
	}},
	{dmodcPaper, "Gliksberg et al., High-Quality Fault Resiliency in Fat Trees", []Item{
		drawn("Fig. 1", "PGFT(3;2,2,3;1,2,2;1,2,1)"),
		plain(Notation, "Table 1", "Notation"),
		drawn("Fig. 2", "How costs spread in a degraded network"),
		drawn("Fig. 3", "How dividers spread"),
		drawn("Fig. 4", "Port of destination 20 at a divider of 4"),
		shown("Fig. 5", "dmodc5"),
		shown("section 4.3", "dmodc-risk"),
		shown("section 4.3, under load", "dmodc-load"),
	}},
	{quasiPaper, "Zahavi, Keslassy and Kolodny, Quasi Fat Trees for HPC Clouds", []Item{
		shown("Figs. 1, 2", "qft2"),
		shown("Fig. 3", "qft3"),
		drawn("Fig. 4", "Tuples of the nodes of a fat tree"),
		drawn("Fig. 5", "Ports of a switch"),
		drawn("Fig. 6", "The rule of connection"),
		drawn("Fig. 7", "A detour around a dead link"),
		shown("Table I", "qft-table1"),
		shown("Fig. 8", "qft8"),
		shown("Fig. 9", "qft9"),
	}},
	{slides, "Domke and Hoefler, Scheduling-Aware Routing for Supercomputers", []Item{
		plain(Their, "Fig. 1", "Batch jobs of Tsubame2.5 over time"),
		shown("Figs. 2, 3, 5, 6", "jobs-efi"),
		shown("Figs. 2, 3, under load", "jobs-load"),
		drawn("Fig. 4", "Flow chart of the filter between SLURM and OpenSM"),
		drawn("Fig. 7", "Packets out of order after re-routing"),
	}},
	{memoPaper, "Zahavi and Kalka, OpenSM Unicast Routing Enhancements for Scalability", []Item{
		shown("section 1", "memo-time"),
		shown("Table 1", "memo-table1"),
	}},
}

// Documents returns all papers with the state of every item.
func Documents() []Document {
	out := slices.Clone(documents)
	for i := range out {
		out[i].Items = slices.Clone(out[i].Items)
		for k := range out[i].Items {
			item := &out[i].Items[k]
			if item.Figure == "" {
				continue
			}
			item.State = NoNumber
			if len(stated[item.Figure]) > 0 {
				item.State = Beside
			}
			if m, err := find(item.Figure); err == nil {
				item.Title = m.title
			}
		}
	}
	return out
}

// WriteListJSON writes all documents, schema evbench/reproduce-list/1.
func WriteListJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Schema    string     `json:"schema"`
		Documents []Document `json:"documents"`
	}{"evbench/reproduce-list/1", Documents()})
}

// WriteList writes how many items are in which state, and then all of them by document.
func WriteList(w io.Writer) error {
	out := bufio.NewWriter(w)
	all := Documents()
	fmt.Fprintln(out, summary(all))
	var lines [][]string
	for _, d := range all {
		for _, item := range d.Items {
			lines = append(lines, []string{or(item.Figure, "-"), string(item.State), item.Of + ": " + item.Title})
		}
	}
	var table strings.Builder
	if err := show.Align(&table, lines); err != nil {
		return err
	}
	rest := strings.SplitAfter(table.String(), "\n")
	for _, d := range all {
		fmt.Fprintf(out, "\n%s: %s\n", d.Paper, d.Title)
		for range d.Items {
			fmt.Fprint(out, "  ", rest[0])
			rest = rest[1:]
		}
	}
	return out.Flush()
}

// summary is the answer: what there is of how many.
func summary(all []Document) string {
	count := map[State]int{}
	for _, d := range all {
		for _, item := range d.Items {
			count[item.State]++
		}
	}
	var rest []string
	for _, s := range []State{Drawing, Notation, Their} {
		if count[s] > 0 {
			rest = append(rest, fmt.Sprintf("%s %d", s, count[s]))
		}
	}
	return fmt.Sprintf("computed: %d, %d of them beside numbers of the texts\nnot computed: %s",
		count[Beside]+count[NoNumber], count[Beside], strings.Join(rest, ", "))
}
