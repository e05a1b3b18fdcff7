package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evbench/internal/lists"
)

// A Place says where a figure lies beside its limit.
type Place int

// The places. A figure without a limit is stated: it was asked for, and nothing judges it.
const (
	stated Place = iota
	At           // wholly at the limit, or better
	Below        // wholly worse than the limit by more than its tolerance
	Across       // its interval holds both: more observations would tell
)

// A Figure is a number with the interval that holds it, in one unit. Lo and Hi are equal to Value
// where it is exact; NaN where there were too few observations for an interval.
type Figure struct{ Value, Lo, Hi float64 }

// Sure is a figure that was counted, not measured.
func Sure(x float64) Figure { return Figure{x, x, x} }

// A Limit is what a figure is held against, in the unit of the figure: a stated rate, a prediction,
// a bound, another run, a threshold.
type Limit struct {
	Value     float64
	Tolerance float64 // how far below it a figure is still at it
	Upper     bool    // more is worse: a time, a count of failures
}

// Beside says where the figure lies. Without an interval a figure beyond the limit is across.
func (f Figure) Beside(l Limit) Place {
	edge, worst, best := l.Value-l.Tolerance, f.Lo, f.Hi
	if l.Upper {
		edge, worst, best = -(l.Value + l.Tolerance), -f.Hi, -f.Lo
	}
	switch {
	case math.IsNaN(worst) || math.IsNaN(best):
		return Across
	case best < edge:
		return Below
	case worst >= edge:
		return At
	}
	return Across
}

// Rounds is about how many observations more show where the figure lies, of which there are n: the
// interval shrinks with their root. 0: not known.
func (f Figure) Rounds(l Limit, n int) int {
	distance := math.Abs(f.Value - l.Value)
	half := (f.Hi - f.Lo) / 2
	if n == 0 || distance == 0 || math.IsNaN(half) || half <= distance {
		return 0
	}
	const most = 10_000 // more is no advice
	more := float64(n) * (math.Pow(half/distance, 2) - 1)
	if more > most {
		return 0
	}
	return int(math.Ceil(more))
}

// A Doubt is what the input does not hold and the question needs.
type Doubt struct {
	Text   string // "one round has no interval"
	Remedy string // the one thing that settles it, and that is possible here: "measure more (--rounds)"; "": there is none
}

func (d Doubt) String() string {
	if d.Remedy == "" {
		return d.Text
	}
	return d.Text + ": " + d.Remedy
}

// A Finding is what the input shows on the question.
type Finding struct {
	Text   string // a clause that can begin a sentence, without a full stop: "linear shift reaches 50 % of its prediction"
	Place  Place
	Cause  string  // of a shortfall, where the evidence itself shows it; else ""
	Doubts []Doubt // about this finding alone: they take nothing from the others
}

// Evidence is what the input holds on a question: findings, the decisive one first, and what was not there.
type Evidence struct {
	Findings []Finding
	Doubts   []Doubt // about the question as a whole: an interrupted run, tables without lanes
	Why      []string
	Next     []string // commands
}

// Decide makes word and sentence of an answer: the only place in which that is done.
//
//   - A doubt about the whole question decides: NOT KNOWN, with the doubt as the reason.
//   - Without one, a shortfall that no doubt touches is BAD, whatever else is in doubt.
//   - GOOD needs that the first finding is known, and at least half of all.
//   - Without any finding the answer is not known.
//
// The sentence takes findings of the deciding kind while it stays within 30 words and three figures;
// what has no place stands below it, as reasons.
func Decide(q Question, e Evidence) Answer {
	a := Answer{Question: q.Ask, Next: e.Next}
	open := lists.Filter(e.Findings, Finding.open)
	bad := lists.Filter(e.Findings, Finding.bad)
	var parts []string
	switch {
	case len(e.Doubts) > 0:
		a.Verdict, parts = Unknown, lists.Map(e.Doubts, Doubt.String)
		parts = append(parts, lists.Map(e.Findings, Finding.clause)...)
	case len(bad) > 0:
		a.Verdict = Bad
		rest := lists.Filter(e.Findings, func(f Finding) bool { return !f.bad() })
		parts = lists.Map(slices.Concat(bad, rest), Finding.clause)
	case len(e.Findings) == 0:
		a.Verdict, parts = Unknown, []string{q.None}
	case e.Findings[0].open() || 2*len(open) > len(e.Findings):
		a.Verdict = Unknown
		rest := lists.Filter(e.Findings, func(f Finding) bool { return !f.open() })
		parts = lists.Map(slices.Concat(open, rest), Finding.clause)
	default:
		a.Verdict, parts = Good, lists.Map(e.Findings, Finding.clause)
	}
	var below []string
	a.Sentence, below = sentence(parts)
	a.Why = slices.Concat(below, e.Why)
	return a
}

func (f Finding) bad() bool  { return f.Place == Below && len(f.Doubts) == 0 }
func (f Finding) open() bool { return f.Place == Across || len(f.Doubts) > 0 }

// clause is the finding with its cause, or with what is in doubt about it.
func (f Finding) clause() string {
	switch {
	case len(f.Doubts) > 0 && f.Text == "":
		return f.Doubts[0].String()
	case len(f.Doubts) > 0:
		return f.Text + "; " + f.Doubts[0].String()
	case f.Cause != "":
		return f.Text + ": " + f.Cause
	}
	return f.Text
}

// The most words and figures of the first sentences: what a reader takes in at once.
const mostWords, mostFigures = 30, 3

// sentence joins the clauses that have a place in the first line, the first always; it returns the others.
func sentence(parts []string) (said string, rest []string) {
	for i, p := range parts {
		if p == "" {
			continue
		}
		next := strings.TrimSpace(said + " " + upperFirst(strings.TrimSuffix(p, ".")) + ".")
		if said != "" && (words(next) > mostWords || Numbers(next) > mostFigures) {
			return said, slices.DeleteFunc(slices.Clone(parts[i:]), func(s string) bool { return s == "" })
		}
		said = next
	}
	return said, nil
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if !unicode.IsLower(r) || strings.ContainsAny(strings.Fields(s)[0], "-_./:0123456789") {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

func words(s string) int { return len(strings.Fields(s)) }

// Numbers counts the figures of a sentence: words that begin with a digit, or a sign and one; not those in brackets,
// which belong to the one before, nor names with a digit.
func Numbers(s string) (n int) {
	for _, w := range strings.Fields(s) {
		if w = strings.TrimLeft(w, "+-−<>~"); w != "" && w[0] >= '0' && w[0] <= '9' {
			n++
		}
	}
	return n
}

// Needs says how many rounds more a figure needs, where that is known.
func Needs(f Figure, l Limit, n int) string {
	if more := f.Rounds(l, n); more > 0 {
		return fmt.Sprintf("about %d rounds more would show it (--rounds)", more)
	}
	return "measure more (--rounds)"
}
