package routing

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the tables for people: one line per switch, one column per
// destination, in each the spine on a leaf ("." for its own servers, "-" for
// none, several joined by "+") and the leaf on a spine.
func (t *Tables) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s, dead: %s\n# columns: destination servers by rank 0..%d\n",
		t.Engine, orNone(t.Tree.DownNames()), t.Tree.Servers()-1)
	for sw := range t.Tree.Leaves() + t.Tree.Spines() {
		fmt.Fprintf(out, "%-8s", t.name(Switch(sw)))
		for dst := range t.Tree.Servers() {
			fmt.Fprintf(out, " %s", t.cell(Switch(sw), dst))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

func (t *Tables) cell(sw Switch, dst int) string {
	ports := t.Ports(sw, dst)
	if len(ports) == 0 {
		return "-"
	}
	cells := make([]string, len(ports))
	for i, p := range ports {
		switch {
		case int(sw) >= t.Tree.Leaves():
			cells[i] = fmt.Sprint(p)
		case int(p) < t.Tree.Ports():
			cells[i] = "."
		default:
			cells[i] = fmt.Sprint(int(p) - t.Tree.Ports())
		}
	}
	return strings.Join(cells, "+")
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}
