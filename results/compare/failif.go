package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Condition is a change of one figure that is too much: below a limit that is
// not positive, or above one that is not negative.
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

// A SyntaxError says where a condition goes wrong and what could stand there.
type SyntaxError struct {
	Column int // bytes, from 1
	reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.reason) }

// ParseCondition reads a condition such as "events_per_s < -3%".
func ParseCondition(text string) (c Condition, err error) {
	p := parser{text: text}
	if c.Figure, err = p.figure(); err != nil {
		return c, err
	}
	if c.Above, err = p.operator(); err != nil {
		return c, err
	}
	c.Limit, err = p.limit(c.Above)
	return c, err
}

// A parser stands before byte at of a condition.
type parser struct {
	text string
	at   int
}

// word skips blanks and takes the bytes that belong.
func (p *parser) word(belongs func(byte) bool) (word string, from int) {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
	from = p.at
	for p.at < len(p.text) && belongs(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at], from
}

func wrong(at int, format string, args ...any) error {
	return &SyntaxError{at + 1, fmt.Sprintf(format, args...)}
}

// rest names what stands at a place.
func (p *parser) rest(from int) string {
	if from >= len(p.text) {
		return "the end"
	}
	return strconv.Quote(p.text[from:])
}

func (p *parser) figure() (string, error) {
	word, from := p.word(func(b byte) bool {
		return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
	})
	switch {
	case word == "":
		return "", wrong(from, "a figure is wanted, not %s; there are %s", p.rest(from), strings.Join(Figures, ", "))
	case !slices.Contains(Figures, word):
		return "", wrong(from, "no figure %q; there are %s", word, strings.Join(Figures, ", "))
	}
	return word, nil
}

func (p *parser) operator() (above bool, err error) {
	word, from := p.word(func(b byte) bool { return strings.IndexByte("<>=!", b) >= 0 })
	if word != "<" && word != ">" {
		return false, wrong(from, "< or > is wanted, not %s", p.rest(from))
	}
	return word == ">", nil
}

// limit refuses what would hold for a run that has not changed, or for none.
func (p *parser) limit(above bool) (float64, error) {
	word, from := p.word(func(b byte) bool { return strings.IndexByte("+-.0123456789", b) >= 0 })
	x, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0, wrong(from, "a change in per cent is wanted, such as -3%%, not %s", p.rest(from))
	}
	if sign, at := p.word(func(b byte) bool { return b == '%' }); sign != "%" {
		return 0, wrong(at, "%% is wanted behind %s, not %s", word, p.rest(at))
	}
	if _, at := p.word(func(byte) bool { return false }); at < len(p.text) {
		return 0, wrong(at, "nothing may follow but %s does; write one condition per flag, or a comma between", p.rest(at))
	}
	switch {
	case above && x < 0:
		return 0, wrong(from, "> %s%% would hold where nothing changed; > takes 0%% or more", word)
	case !above && x > 0:
		return 0, wrong(from, "< %s%% would hold where nothing changed; < takes 0%% or less, such as -3%%", word)
	case x < -100:
		return 0, wrong(from, "nothing falls by more than 100%%")
	}
	return x, nil
}

// A Regression is a change that is significant and too much.
type Regression struct {
	Case      string    `json:"case"`
	Figure    string    `json:"figure"`
	Condition Condition `json:"condition"`
	Change    float64   `json:"change_percent"`
	P         float64   `json:"p"`
}

// Undecided is a case, or what of it, of which a condition cannot be told.
type Undecided struct {
	Case   string `json:"case,omitempty"`
	Figure string `json:"figure,omitempty"`
	Reason string `json:"reason"`
}

// Judge holds a report against conditions. A case that is missing, invalid or
// measured too little is undecided: it has not passed. Controls are not judged;
// they run once, to show whether the machine is fit.
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
		if !given[c.Figure] {
			open = append(open, Undecided{Figure: c.Figure, Reason: "no case gives it in both runs"})
			given[c.Figure] = true // said
		}
	}
	return bad, open
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
			if f.Significant && x.holds(*f.Change) {
				bad = append(bad, Regression{c.Name, f.Name, x, *f.Change, f.P})
			}
		}
	}
	return bad, open
}

func (c Case) gives(figure string) bool {
	return slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Name == figure })
}

// open says why no condition can be held against the figure.
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
