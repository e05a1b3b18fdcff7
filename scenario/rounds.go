package scenario

import (
	"fmt"
	"slices"
	"time"
)

// Auto is how a number is written that the run finds out.
const Auto = "auto"

// Rounds says how often the cases are measured. In a round each case has one slice, and
// so has the control.
type Rounds struct {
	// Count is how many rounds there are; 0: until all that is compared is resolved, or
	// Limit is over.
	Count int
	// Limit is for how long rounds go on, where Count is 0. One round there always is.
	Limit time.Duration
}

const (
	maxRounds    = 1000
	defaultLimit = 100 * time.Second
	// defaultSlice is how long a case is measured in a round, where neither says.
	defaultSlice = 2 * time.Second
)

// once leaves one round where more would say nothing: links that change while a case is
// measured are to do so once, and a case alone is compared with nothing.
func (d *document) once(f fields, s *Scenario) {
	if f.Given("rounds") {
		return
	}
	alone := !s.Control && len(s.Cases) == 1
	if alone || slices.ContainsFunc(s.Cases, func(c Case) bool { return len(c.Timed) > 0 }) {
		s.Rounds.Count = 1
	}
}

func (d *document) answer(at field, s *Scenario) {
	f, _ := d.section(at, answerFields, "cases: needed; write answer: {cases: [NAME, NAME]}")
	for _, e := range d.List(f.Get("cases")) {
		name := ""
		if !d.scalar(e, word(&name)) {
			continue
		}
		if !slices.Contains(s.CaseNames(), name) {
			d.Fail(e, "%v", s.noCase(name))
			continue
		}
		s.Answer = append(s.Answer, name)
	}
}

func (s *Scenario) overrideRounds(o Overrides) error {
	switch {
	case o["limit"] == "":
		return nil
	case s.Rounds.Count > 0 && o["rounds"] != "":
		return fmt.Errorf("--limit: is for --rounds %s; there are %d", Auto, s.Rounds.Count)
	}
	s.Rounds.Count = 0
	return nil
}
