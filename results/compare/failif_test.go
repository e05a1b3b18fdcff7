package compare_test

import (
	"errors"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results/compare"
)

func TestParseCondition(t *testing.T) {
	for in, want := range map[string]compare.Condition{
		"events_per_s < -3%":          {"events_per_s", false, -3},
		"goodput_bit_per_s<-0.5%":     {"goodput_bit_per_s", false, -0.5},
		" barrier_wait_s  >  +10 % ":  {"barrier_wait_s", true, 10},
		"measured_efficiency\t< -.5%": {"measured_efficiency", false, -0.5},
		"events_per_s < 0%":           {"events_per_s", false, 0},
		"events_per_s > 0%":           {"events_per_s", true, 0},
	} {
		if got, err := compare.ParseCondition(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                             "column 1: a figure is wanted, not the end; there are ratio_to_control, events_per_s, goodput_bit_per_s, measured_efficiency, barrier_wait_s",
		" <":                           `column 2: a figure is wanted, not "<"`,
		"speed < -3%":                  `column 1: no figure "speed"; there are ratio_to_control, events_per_s,`,
		"events_per_s":                 "column 13: < or > is wanted, not the end",
		"events_per_s <= -3%":          `column 14: < or > is wanted, not "<= -3%"`,
		"events_per_s < x":             `column 16: a change in per cent is wanted, such as -3%, not "x"`,
		"events_per_s < 1e999%":        "column 17: % is wanted behind 1, not \"e999%\"",
		"events_per_s < -3":            "column 18: % is wanted behind -3, not the end",
		"events_per_s < -3%%":          `column 18: % is wanted behind -3, not "%%"`,
		"events_per_s < -3% && x > 1%": `column 20: nothing may follow but "&& x > 1%" does; write one condition per flag, or a comma between`,
		"events_per_s < 3%":            "column 16: < 3% would hold where nothing changed; < takes 0% or less, such as -3%",
		"events_per_s > -3%":           "column 16: > -3% would hold where nothing changed; > takes 0% or more",
		"events_per_s < -101%":         "column 16: nothing falls by more than 100%",
		"events_per_s < --3%":          "column 16: a change in per cent is wanted",
	} {
		_, err := compare.ParseCondition(in)
		if _, ok := errors.AsType[*compare.SyntaxError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// What is read prints as something that reads as the same.
func FuzzParseCondition(f *testing.F) {
	f.Add("events_per_s < -3%")
	f.Add(" barrier_wait_s>+1.5 %")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := compare.ParseCondition(text)
		if err != nil {
			bad, ok := errors.AsType[*compare.SyntaxError](err)
			expect.MustTrue(t, ok && bad.Column >= 1 && bad.Column <= len(text)+1, "%q: %v is not within the text", text, err)
			return
		}
		again, err := compare.ParseCondition(c.String())
		expect.True(t, err == nil && again == c, "%q is %+v, prints as %q, and reads as %+v, %v", text, c, c, again, err)
	})
}

// A regression is significant and beyond the limit; either alone is none.
func TestJudge(t *testing.T) {
	fall := []compare.Condition{{Figure: "events_per_s", Limit: -3}}
	for _, tt := range []struct {
		name       string
		base, next []float64
		conditions []compare.Condition
		bad, open  int
	}{
		{"equal", []float64{8, 8, 8, 8}, []float64{8, 8, 8, 8}, fall, 0, 0},
		{"regression", []float64{8, 8.1, 8.2, 8.1}, []float64{7, 7.1, 7, 7.2}, fall, 1, 0},
		{"better", []float64{7, 7.1, 7, 7.2}, []float64{8, 8.1, 8.2, 8.1}, fall, 0, 0},
		{"significant, within the limit", []float64{8, 8.01, 8.02, 8.01}, []float64{7.9, 7.91, 7.9, 7.92}, fall, 0, 0},
		{"beyond, not significant", []float64{8, 9, 7, 5}, []float64{8, 5, 5.5, 6}, fall, 0, 0},
		{"too few", []float64{8, 8, 8}, []float64{1, 1, 1, 1}, fall, 0, 1},
		{"not asked for", []float64{8, 8, 8, 8}, []float64{1, 1, 1, 1}, []compare.Condition{{Figure: "events_per_s", Above: true, Limit: 1}}, 0, 0},
		{"two conditions", []float64{8, 8, 8, 8}, []float64{1, 1, 1, 1}, append([]compare.Condition{{Figure: "barrier_wait_s", Above: true, Limit: 10}}, fall...), 2, 0},
		{"not given", []float64{8, 8, 8, 8}, []float64{8, 8, 8, 8}, []compare.Condition{{Figure: "measured_efficiency", Limit: -3}}, 0, 1},
		{"from nothing", []float64{0, 0, 0, 0}, []float64{8, 8, 8, 8}, fall, 0, 1},
		{"to nothing", []float64{8, 8, 8, 8}, []float64{0, 0, 0, 0}, fall, 1, 0},
		{"no conditions", []float64{8, 8, 8}, []float64{1}, nil, 0, 0},
	} {
		r := compare.Runs(repeats(map[string][]float64{"a": tt.base}), repeats(map[string][]float64{"a": tt.next}), compare.Options{})
		bad, open := r.Judge(tt.conditions)
		expect.True(t, len(bad) == tt.bad && len(open) == tt.open, "%s: regressions %+v, undecided %+v", tt.name, bad, open)
	}
}

// A case that is missing has not passed; a control is not judged.
func TestJudgeCases(t *testing.T) {
	fall := []compare.Condition{{Figure: "events_per_s", Limit: -3}}
	base := repeats(map[string][]float64{"control (before)": {8, 8, 8, 8}, "a": {8, 8, 8, 8}, "b": {8, 8, 8, 8}})
	next := repeats(map[string][]float64{"control (before)": {1, 1, 1, 1}, "b": {8, 8, 8, 8}})
	bad, open := compare.Runs(base, next, compare.Options{}).Judge(fall)
	expect.True(t, len(bad) == 0 && len(open) == 1 && open[0].Case == "a" && open[0].Reason == "the new run does not hold it",
		"regressions %+v, undecided %+v", bad, open)
}
