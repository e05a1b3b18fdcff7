package compare_test

import (
	"encoding/json"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
	"evbench/results/compare"
)

// FuzzRuns: a run is no better and no worse than itself, and what is said of it is a
// document.
func FuzzRuns(f *testing.F) {
	run := repeats(map[string][]float64{"a": {8, 10, 9, 11, 12}, "b": {4}})
	run.Summary.Schema = results.SummarySchema
	var s strings.Builder
	expect.Must(f, run.Summary.Write(&s))
	f.Add(s.String(), "b,0,1,1,0,1,2,3,4,0,0,0,0,0\nb,0,2,1,0,1,2,3,4,0,0,0,0,0\n")
	f.Add(s.String(), "b,0,1e18,1e-18,0,1,2,3,4,1e18,0,0,0,0\nb,0,2,1e18,0,1,2,3,4,0,0,0,0,0\n")
	f.Fuzz(func(t *testing.T, summary, samples string) {
		sum, err := results.ReadSummary(strings.NewReader(summary))
		if err != nil {
			return
		}
		run := &results.Run{Summary: sum}
		for line := range strings.Lines(samples) {
			record, fields := results.Samples.New(), strings.Split(strings.TrimSuffix(line, "\n"), ",")
			if len(fields) != len(results.Samples.Columns) || results.Samples.Parse(record, fields) != nil {
				return
			}
			run.Samples = append(run.Samples, record.Interface().(results.Sample))
		}
		if compare.Check(run) != nil {
			return
		}
		for _, d := range compare.Differences(run, run) {
			t.Errorf("a run differs from itself: %s", d)
		}
		r := compare.Runs(run, run, compare.Options{Invalid: true})
		expect.OK(t, expect.Err(json.Marshal(r)), "%q, %q", summary, samples)
		for _, c := range r.Cases {
			for _, x := range c.Figures {
				expect.True(t, !x.Significant, "a run is significantly other than itself: %+v", x)
			}
		}
	})
}
