package report_test

import (
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/report"
	"evbench/results"
)

// FuzzTable: whatever summary is read, its table is there, rows stay on their line and
// nothing in it is obeyed by a terminal.
func FuzzTable(f *testing.F) {
	s := quickstart()
	s.Cases[1].Failovers = []results.Failover{{ID: 1, Down: []string{"leaf0-spine0"}, Source: "kept", Reason: "a\nb"}}
	s.Cases[1].LinkEvents = []results.LinkEvent{{Link: "leaf0-spine0", RoutesSec: 1}}
	s.Slices = s.Slices[:2]
	var b strings.Builder
	expect.Must(f, s.Write(&b))
	f.Add(b.String(), 80)
	f.Add(`{"schema":"evbench/summary/1","cases":[{"name":"a\nb\u001b[2J","schedule":"c\nd"}]}`, 3)
	f.Fuzz(func(t *testing.T, text string, width int) {
		s, err := results.ReadSummary(strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		expect.Must(t, report.Table(&b, s, report.Options{Width: width % 500}))
		out := b.String()
		expect.MustTrue(t, !strings.ContainsAny(out, "\x1b\r\x07\u009b") && strings.HasSuffix(out, "\n"), "%q became %q", text, out)
		n := len(b.String())
		expect.MustTrue(t, n <= 1000*(len(text)+1000), "%d bytes became %d", len(text), n)
	})
}
