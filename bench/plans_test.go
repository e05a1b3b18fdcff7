package bench_test

import (
	"bytes"
	"errors"
	"testing"

	"evbench/results"
)

// A sink gets that of every case with a schedule, as the manifest names it.
func TestKeepsPlans(t *testing.T) {
	sink := &memory{keeps: results.Keeps{Plans: true}, plans: map[string][]byte{}}
	if _, err := run(t, small, &inProcess{}, sink); err != nil {
		t.Fatal(err)
	}
	m := sink.manifests[0]
	if len(sink.plans) != len(m.Predictions)-1 || !sink.early {
		t.Errorf("%d plans of %d cases, one without a schedule; before the manifest: %v", len(sink.plans), len(m.Predictions), sink.early)
	}
	for name, text := range sink.plans {
		if !bytes.Contains(text, []byte("# hash "+m.Plans[name]+"\n")) {
			t.Errorf("plan of %q is not the one of hash %s:\n%s", name, m.Plans[name], text)
		}
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
