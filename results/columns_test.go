package results_test

import (
	"encoding/csv"
	"reflect"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
)

// Texts are quoted as encoding/csv quotes them.
func TestLineQuotes(t *testing.T) {
	for _, text := range []string{"", "a", "a,b", `say "a"`, "two\nlines", "a\rb", " a", "\u00a0a", `\.`, `\.x`, "größer", "\xff", "a\tb"} {
		var want strings.Builder
		w := csv.NewWriter(&want)
		expect.Must(t, w.Write([]string{text, "1", "2", "0", "0.500000000"}))
		w.Flush()
		x := results.ExchangeTime{Case: text, Repeat: 1, Exchange: 2, DurationSec: 0.5}
		expect.Equal(t, string(results.Exchanges.Line(nil, reflect.ValueOf(x))), want.String(), "%q", text)
	}
}
