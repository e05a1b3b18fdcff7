package bench_test

import (
	"bytes"
	"errors"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
)

// A sink gets that of every case with a schedule, as the manifest names it.
func TestKeepsPlans(t *testing.T) {
	sink := &memory{keeps: results.Keeps{Plans: true}, plans: map[string][]byte{}}
	expect.Must(t, expect.Err(run(t, small, &inProcess{}, sink)))
	m := sink.manifests[0]
	expect.True(t, len(sink.plans) == len(m.Predictions)-1 && sink.early,
		"%d plans of %d cases, one without a schedule; before the manifest: %v", len(sink.plans), len(m.Predictions), sink.early)
	for name, text := range sink.plans {
		expect.True(t, bytes.Contains(text, []byte("# hash "+m.Plans[name]+"\n")),
			"plan of %q is not the one of hash %s:\n%s", name, m.Plans[name], text)
	}
}

// A plan that cannot be kept ends the run before anything is measured.
func TestPlansFail(t *testing.T) {
	full := errors.New("disk full")
	sink := &memory{keeps: results.Keeps{Plans: true}, plans: map[string][]byte{}, full: full}
	if _, err := run(t, small, &inProcess{}, sink); !errors.Is(err, full) || len(sink.samples) > 0 {
		t.Errorf("error %v, %d samples", err, len(sink.samples))
	}
}
