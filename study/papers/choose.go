package papers

import (
	"io"
	"slices"

	"evbench/internal/show"
)

// Choose returns the figures that are asked for by name, in that order, each once; all are
// those of the thesis in its order.
func Choose(names []string) ([]string, error) {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, name := range names {
		if name == "all" {
			for _, l := range List() {
				add(l.Name)
			}
			continue
		}
		if _, err := find(name); err != nil {
			return nil, err
		}
		add(name)
	}
	return out, nil
}

// WriteList writes all figures in the order of the thesis.
func WriteList(w io.Writer) error {
	var lines [][]string
	for _, l := range List() {
		lines = append(lines, []string{l.Name, l.Title, "thesis " + l.Section})
	}
	return show.Align(w, lines)
}
