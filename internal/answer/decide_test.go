package answer

import (
	"math"
	"strings"
	"testing"

	"evbench/testing/expect"
)

func TestBeside(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name string
		f    Figure
		l    Limit
		want Place
	}{
		{"at", Figure{.99, .98, 1}, Limit{Value: 1, Tolerance: .03}, At},
		{"below", Figure{.5, .49, .51}, Limit{Value: 1, Tolerance: .03}, Below},
		{"across", Figure{.96, .9, 1}, Limit{Value: 1, Tolerance: .03}, Across},
		{"no interval", Figure{.07, nan, nan}, Limit{Value: 1}, Across},
		{"exact at the edge", Sure(.97), Limit{Value: 1, Tolerance: .03}, At},
		{"a time above", Figure{5, 4, 6}, Limit{Value: 3, Upper: true}, Below},
		{"a time at", Figure{2, 1, 3}, Limit{Value: 3, Upper: true}, At},
		{"a time across", Figure{2, 1, 4}, Limit{Value: 3, Upper: true}, Across},
	} {
		expect.Equal(t, tt.f.Beside(tt.l), tt.want, "%s", tt.name)
	}
}

func TestRounds(t *testing.T) {
	expect.Equal(t, Figure{-3, -9, 3}.Rounds(Limit{Value: 0}, 6), 18, "half 6, distance 3: four times as many")
	expect.Equal(t, Figure{-3, -98, 92}.Rounds(Limit{Value: -3}, 6), 0, "at the limit itself no number shows it")
	expect.Equal(t, Figure{-3, -4, -2}.Rounds(Limit{Value: 0}, 6), 0, "known")
}

// The rules, one by one: the word, the sentence, and what stands below.
func TestDecide(t *testing.T) {
	q := Question{"Is it fast?", "Nothing was measured."}
	slow := Finding{Text: "a reaches 50 % of its prediction", Place: Below}
	slowly := Finding{Text: "a reaches 50 % of its prediction", Place: Below, Cause: "spine1-leaf0 carries half its rate"}
	good := Finding{Text: "b reaches 99 % of its prediction", Place: At}
	open := Finding{Text: "c reaches 96 % (±5) of its prediction", Place: Across}
	rate := Doubt{"nothing says how fast the links are", "state fabric.rate"}
	stopped := Doubt{Text: "interrupted after 3 of 9 s"}
	unsure := Finding{Text: "each server receives 802 Mbit/s", Doubts: []Doubt{rate}}
	long := Finding{Text: strings.Repeat("word ", 28) + "end", Place: At}
	for _, tt := range []struct {
		name string
		e    Evidence
		want string
	}{
		{"nothing", Evidence{}, "NOT KNOWN: Nothing was measured."},
		{"a figure without a limit", Evidence{Findings: []Finding{{Text: "each server builds 1.32 events/s"}}}, "GOOD: Each server builds 1.32 events/s."},
		{"a shortfall", Evidence{Findings: []Finding{good, slow}}, "BAD: A reaches 50 % of its prediction. B reaches 99 % of its prediction."},
		{"with its cause", Evidence{Findings: []Finding{slowly}}, "BAD: A reaches 50 % of its prediction: spine1-leaf0 carries half its rate."},
		{"a doubt about another finding", Evidence{Findings: []Finding{unsure, slow}}, "BAD: A reaches 50 % of its prediction. Each server receives 802 Mbit/s; nothing says how fast the links are: state fabric.rate."},
		{"a doubt about the shortfall itself", Evidence{Findings: []Finding{{Text: slow.Text, Place: Below, Doubts: []Doubt{rate}}}},
			"NOT KNOWN: A reaches 50 % of its prediction; nothing says how fast the links are: state fabric.rate."},
		{"a doubt about the question", Evidence{Findings: []Finding{slow}, Doubts: []Doubt{stopped}}, "NOT KNOWN: Interrupted after 3 of 9 s. A reaches 50 % of its prediction."},
		{"a doubt alone", Evidence{Doubts: []Doubt{rate}}, "NOT KNOWN: Nothing says how fast the links are: state fabric.rate."},
		{"the first is open", Evidence{Findings: []Finding{open, good}}, "NOT KNOWN: C reaches 96 % (±5) of its prediction. B reaches 99 % of its prediction."},
		{"few are open", Evidence{Findings: []Finding{good, open}}, "GOOD: B reaches 99 % of its prediction. C reaches 96 % (±5) of its prediction."},
		{"most are open", Evidence{Findings: []Finding{good, open, open}}, "NOT KNOWN: C reaches 96 % (±5) of its prediction. C reaches 96 % (±5) of its prediction. B reaches 99 % of its prediction."},
		{"too long", Evidence{Findings: []Finding{long, good}}, "GOOD: " + "W" + long.Text[1:] + ".\n  because  b reaches 99 % of its prediction"},
		{"names keep their letters", Evidence{Findings: []Finding{{Text: "p.txt is valid"}}}, "GOOD: p.txt is valid."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			expect.Must(t, Decide(q, tt.e).WriteText(&b))
			expect.Equal(t, strings.TrimSpace(b.String()), tt.want, "answer")
		})
	}
}

func TestNumbers(t *testing.T) {
	expect.Equal(t, Numbers("One dead cable of 16 costs linear shift 42 % (±1); leaf0-spine1, −3 %"), 3, "numbers")
}
