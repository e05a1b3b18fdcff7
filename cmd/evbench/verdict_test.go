package main

import (
	"errors"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
)

// Exit code 4 is for what is wrong; for what is not resolved where that is required.
func TestVerdictOf(t *testing.T) {
	one := func(valid bool, verdict string, compared bool) results.Summary {
		return results.Summary{Cases: []results.Case{{Name: "a", Valid: true, Assessment: results.Assessment{Verdict: results.Reference}}, {Name: "b", Valid: valid, Assessment: results.Assessment{Verdict: verdict, Compared: compared}}}}
	}
	for _, tt := range []struct {
		name           string
		sum            results.Summary
		code, required int
	}{
		{"resolved", one(true, results.Resolved, true), exitDone, exitDone},
		{"ordered", one(true, results.Ordered, true), exitDone, exitDone},
		{"unresolved", one(true, results.Unresolved, true), exitDone, exitInvalid},
		{"unresolved, but not compared", one(true, results.Unresolved, false), exitDone, exitDone},
		{"wrong", one(false, results.Resolved, true), exitInvalid, exitInvalid},
		{"wrong, and not compared", one(false, results.Resolved, false), exitInvalid, exitInvalid},
		{"nothing measured", results.Summary{}, exitDone, exitDone},
	} {
		for _, required := range []bool{false, true} {
			want := tt.code
			if required {
				want = tt.required
			}
			code := exitDone
			if exit, ok := errors.AsType[*exitError](verdictOf(tt.sum, required, nil)); ok {
				code = exit.code
			}
			expect.Equal(t, code, want, "%s, required %t: exit code", tt.name, required)
		}
	}
	if err := errors.New("broken"); !errors.Is(verdictOf(one(false, results.Resolved, true), true, err), err) {
		t.Error("the error of a run is lost")
	}
}
