package show_test

import (
	"strings"
	"testing"

	"evbench/internal/show"
	"evbench/testing/expect"
)

func TestCommas(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -999: "-999", -1000: "-1,000", 1234567: "1,234,567"} {
		expect.Equal(t, show.Commas(n), want, "%d", n)
	}
}

func TestFew(t *testing.T) {
	names := strings.Fields("a b c d e f g h i")
	for n, want := range map[int]string{0: "", 1: "a", 8: "a, b, c, d, e, f, g, h", 9: "a, b, c, d, e, f, g, … (9)"} {
		expect.Equal(t, show.Few(names[:n]), want, "%d", n)
	}
	expect.Equal(t, show.Plural(1, "run", "runs")+", "+show.Plural(2, "run", "runs"), "1 run, 2 runs", "plural")
}

// Rounding does not leave four digits before the point.
func TestAmount(t *testing.T) {
	for x, want := range map[float64]string{0: "0 B", 12.34: "12.3 B", 999.4: "999 B", 999.6: "1 kB", 9.414e9: "9.41 GB", 999.9e9: "1 TB", 2.5e15: "2.5e+03 TB"} {
		expect.Equal(t, show.Amount(x, "B"), want, "%v", x)
	}
}

// Numbers stand at the right, characters are counted and not bytes, no line ends with blanks,
// and a line may be short.
func TestAlign(t *testing.T) {
	var b strings.Builder
	err := show.Align(&b, [][]string{{"größe", "n", "±", ""}, {"a", "12", "±3", "x"}, {"b", "1", "", ""}, {"c"}},
		show.Column{}, show.Column{Right: true, Tight: true})
	const want = "größe   n ±\na      12 ±3  x\nb       1\nc\n"
	expect.True(t, err == nil && b.String() == want, "%v:\n%swant\n%s", err, b.String(), want)
}

func TestNearest(t *testing.T) {
	choices := []string{"run", "routes", "report", "reproduce", "validate", "man", "fabric", "e"}
	for name, want := range map[string]string{
		"rnu": "run", "rotes": "routes", "reprot": "report", "vaildate": "validate", "run": "run", "f": "e",
		"": "", "magic": "", "x-y-z": "", strings.Repeat("run", 30): "",
	} {
		expect.Equal(t, show.Nearest(name, choices), want, "%q", name)
	}
	expect.Equal(t, show.Nearest("run", nil), "", "of none")
}
