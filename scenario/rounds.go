package scenario

import (
	"fmt"
	"slices"
	"time"
)

// Auto is the text for a number that the run finds.
const Auto = "auto"

// Rounds says how often the cases are measured. In a round each case, and the control, has one
// slice.
type Rounds struct {
	// Count is the number of rounds; 0: until all compared cases are resolved, or Limit is over.
	Count int
	// Limit bounds the time of rounds if Count is 0. At least one round runs.
	Limit time.Duration
}

const (
	maxRounds    = 1000
	defaultLimit = 100 * time.Second
	// defaultSlice is the default time of a case in a round.
	defaultSlice = 2 * time.Second
)

// once sets one round where more would add nothing: links that change during a case should do so
// once, and a single case has no comparison.
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
