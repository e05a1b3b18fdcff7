package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/answer"
	"evbench/results"
)

// A Condition is an excessive change of one figure: below a limit that is not positive, or above
// one that is not negative.
//
//	condition = figure ( "<" | ">" ) [ "+" | "-" ] number "%"
//
// Blanks may stand anywhere between the parts.
type Condition struct {
	Figure string  `json:"figure"`
	Above  bool    `json:"above"` // ">", else "<"
	Limit  float64 `json:"limit_percent"`
}

func (c Condition) String() string {
	op := "<"
	if c.Above {
		op = ">"
	}
	return fmt.Sprintf("%s %s %s%%", c.Figure, op, strconv.FormatFloat(c.Limit, 'f', -1, 64))
}

// A SyntaxError gives the place of an error in a condition and what could stand there.
type SyntaxError struct {
	Column int // bytes, from 1
	reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.reason) }

// grammar matches the parts of a condition: figure, operator, number, %, start of the rest.
var grammar = regexp.MustCompile(`^[ \t]*(\w*)[ \t]*([<>=!]*)[ \t]*([-+.0-9]*)[ \t]*(%*)[ \t]*()`)

func ParseConditions(texts []string) ([]Condition, error) {
	out := []Condition{}
	for _, text := range texts {
		x, err := ParseCondition(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		out = append(out, x)
	}
	return out, nil
}

// ParseCondition reads a condition such as "events_per_s < -3%". It refuses a condition that holds
// for an unchanged run, or for no run.
func ParseCondition(text string) (Condition, error) {
	at := grammar.FindStringSubmatchIndex(text)
	word := func(i int) string { return text[at[2*i]:at[2*i+1]] }
	x, err := strconv.ParseFloat(word(3), 64)
	c := Condition{word(1), word(2) == ">", x}
	wrong := func(i int, format string, args ...any) (Condition, error) {
		return c, &SyntaxError{at[2*i] + 1, fmt.Sprintf(format, args...)}
	}
	rest := func(i int) string {
		if at[2*i] == len(text) {
			return "the end"
		}
		return strconv.Quote(text[at[2*i]:])
	}
	switch there := strings.Join(Figures, ", "); {
	case c.Figure == "":
		return wrong(1, "write a figure instead of %s; there are %s", rest(1), there)
	case !slices.Contains(Figures, c.Figure):
		return wrong(1, "no figure %q; there are %s", c.Figure, there)
	case word(2) != "<" && !c.Above:
		return wrong(2, "write < or > instead of %s", rest(2))
	case err != nil:
		return wrong(3, "write a change in per cent, such as -3%%, instead of %s", rest(3))
	case word(4) != "%":
		return wrong(4, "%% must follow %s instead of %s", word(3), rest(4))
	case at[10] < len(text):
		return wrong(5, "nothing may follow but %s does; write one condition per flag, or a comma between", rest(5))
	case c.Above && x < 0:
		return wrong(3, "> %s%% would hold where nothing changed; > takes 0%% or more", word(3))
	case !c.Above && x > 0:
		return wrong(3, "< %s%% would hold where nothing changed; < takes 0%% or less, such as -3%%", word(3))
	case x < -100:
		return wrong(3, "nothing falls by more than 100%%")
	}
	return c, nil
}

// A Regression is a change that is significant and too large.
type Regression struct {
	Case      string    `json:"case"`
	Figure    string    `json:"figure"`
	Condition Condition `json:"condition"`
	Change    float64   `json:"change_percent"`
	P         float64   `json:"p"`
}

// Undecided is a case, or a part of it, for which a condition cannot be decided.
type Undecided struct {
	Case   string `json:"case,omitempty"`
	Figure string `json:"figure,omitempty"`
	Reason string `json:"reason"`
}

// Judge checks a report against conditions. A case that is missing, invalid or measured too little
// is undecided: it has not passed, nor has one whose interval holds a change beyond the limit. Controls are not
// judged; but where one fell itself, ratios to it do not show a loss that all cases share.
func (r Report) Judge(conditions []Condition) (bad []Regression, open []Undecided) {
	bad, open = []Regression{}, []Undecided{}
	if len(conditions) == 0 {
		return bad, open
	}
	for _, name := range r.Missing {
		open = append(open, Undecided{Case: name, Reason: "the new run does not hold it"})
	}
	given := map[string]bool{}
	for _, c := range r.Cases {
		if c.Control {
			continue
		}
		b, o := c.judge(conditions, given)
		bad, open = append(bad, b...), append(open, o...)
	}
	for _, c := range conditions {
		if u, hidden := r.hidden(c, conditions); hidden {
			open = append(open, u)
		}
		if !given[c.Figure] {
			open = append(open, Undecided{Figure: c.Figure, Reason: "no case gives it in both runs"})
			given[c.Figure] = true // said
		}
	}
	return bad, open
}

// hidden reports whether the control fell by more than a condition on ratios allows, and not by the machine.
func (r Report) hidden(x Condition, all []Condition) (Undecided, bool) {
	if x.Figure != Ratio || x.Above || slices.ContainsFunc(all, func(y Condition) bool { return y.Figure == absolute }) {
		return Undecided{}, false
	}
	for _, c := range r.Cases {
		f, ok := c.figure(absolute)
		if !c.Control || !ok || !f.Significant || f.Change == nil || !x.holds(*f.Change) || results.Disturbed(r.next, -*f.Change/100) != "" {
			continue
		}
		return Undecided{c.Name, absolute, fmt.Sprintf("the control itself fell by %.2f %%, and ratios to it show no loss that all cases share: add '%s < %g%%'", -*f.Change, absolute, x.Limit)}, true
	}
	return Undecided{}, false
}

func (c Case) judge(conditions []Condition, given map[string]bool) (bad []Regression, open []Undecided) {
	switch n := len(c.LeftOut); {
	case n > 0:
		open = append(open, Undecided{Case: c.Name, Reason: fmt.Sprintf("%d repeats left out, the first: %s", n, c.LeftOut[0])})
	case len(c.Figures) == 0:
		open = append(open, Undecided{Case: c.Name, Reason: "no repeat of a run counts"})
	}
	if slices.ContainsFunc(conditions, func(x Condition) bool { return x.Figure == Ratio }) && !c.gives(Ratio) {
		given[Ratio] = true // said
		if len(c.Figures) > 0 {
			open = append(open, Undecided{c.Name, Ratio, "a run has no control beside it"})
		}
	}
	for _, f := range c.Figures {
		asked := slices.DeleteFunc(slices.Clone(conditions), func(x Condition) bool { return x.Figure != f.Name })
		if len(asked) == 0 {
			continue
		}
		given[f.Name] = true
		if reason := f.open(); reason != "" {
			open = append(open, Undecided{c.Name, f.Name, reason})
			continue
		}
		for _, x := range asked {
			switch x.place(f) {
			case answer.Below:
				bad = append(bad, Regression{c.Name, f.Name, x, *f.Change, f.P})
			case answer.Across:
				open = append(open, Undecided{c.Name, f.Name, x.unshown(f)})
			}
		}
	}
	return bad, open
}

func (c Case) gives(figure string) bool {
	return slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Name == figure })
}

// open says why no condition applies to the figure.
func (f Figure) open() string {
	if f.Unsaid == "" && f.Significant && f.Change == nil {
		return "the base is 0, and nothing is a per cent of it"
	}
	return f.Unsaid
}

func (c Condition) holds(change float64) bool {
	if c.Above {
		return change > c.Limit
	}
	return change < c.Limit
}
