package show_test

import (
	"strings"
	"testing"

	"evbench/internal/show"
)

func TestCommas(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -999: "-999", -1000: "-1,000", 1234567: "1,234,567"} {
		if got := show.Commas(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestFew(t *testing.T) {
	names := strings.Fields("a b c d e f g h i")
	for n, want := range map[int]string{0: "", 1: "a", 8: "a, b, c, d, e, f, g, h", 9: "a, b, c, d, e, f, g, … (9)"} {
		if got := show.Few(names[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := show.Plural(1, "run", "runs") + ", " + show.Plural(2, "run", "runs"); got != "1 run, 2 runs" {
		t.Error(got)
	}
}

// Rounding does not leave four digits before the point.
func TestAmount(t *testing.T) {
	for x, want := range map[float64]string{0: "0 B", 12.34: "12.3 B", 999.4: "999 B", 999.6: "1 kB", 9.414e9: "9.41 GB", 999.9e9: "1 TB", 2.5e15: "2.5e+03 TB"} {
		if got := show.Amount(x, "B"); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// Numbers stand at the right, characters are counted and not bytes, no line ends with blanks,
// and a line may be short.
func TestAlign(t *testing.T) {
	var b strings.Builder
	err := show.Align(&b, [][]string{{"größe", "n", "±", ""}, {"a", "12", "±3", "x"}, {"b", "1", "", ""}, {"c"}},
		show.Column{}, show.Column{Right: true, Tight: true})
	const want = "größe   n ±\na      12 ±3  x\nb       1\nc\n"
	if err != nil || b.String() != want {
		t.Errorf("%v:\n%swant\n%s", err, b.String(), want)
	}
}

func TestNearest(t *testing.T) {
	choices := []string{"run", "routes", "report", "reproduce", "validate", "man", "fabric", "e"}
	for name, want := range map[string]string{
		"rnu": "run", "rotes": "routes", "reprot": "report", "vaildate": "validate", "run": "run", "f": "e",
		"": "", "magic": "", "x-y-z": "", strings.Repeat("run", 30): "",
	} {
		if got := show.Nearest(name, choices); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := show.Nearest("run", nil); got != "" {
		t.Errorf("of none: %q", got)
	}
}
