package judge

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/internal/answer"
)

// A Case is one of several of a run.
type Case struct {
	Name     string         `json:"name"`
	Word     answer.Verdict `json:"verdict"`
	Sentence string         `json:"sentence"` // or why it has no verdict
	Verdict  *Verdict       `json:"-"`        // nil: it has none
}

// Together is the verdict on the worst of some cases, one at least with a verdict of its own, which then begins with
// the sentences of all. Who was slow in another case over the same links, was so in that one.
func Together(of []Case) *Verdict {
	for i := range of {
		of[i].Word = answer.Unknown
		if v := of[i].Verdict; v != nil {
			a := v.Answer()
			of[i].Word, of[i].Sentence = a.Verdict, a.Sentence
		}
	}
	judged := slices.DeleteFunc(slices.Clone(of), func(c Case) bool { return c.Verdict == nil })
	worst := slices.MinFunc(judged, func(a, b Case) int {
		return cmp.Or(cmp.Compare(rank(a.Word), rank(b.Word)), cmp.Compare(a.Verdict.share(), b.Verdict.share()))
	})
	v := worst.Verdict
	v.Cases, v.name = of, worst.Name
	for _, c := range judged {
		if slices.Equal(c.Verdict.Dead, v.Dead) {
			v.slow = cmp.Or(v.slow, c.Verdict.slow)
		}
	}
	return v
}

// rank is less for what is worse.
func rank(w answer.Verdict) int {
	return slices.Index([]answer.Verdict{answer.Bad, answer.Unknown, answer.Good}, w)
}

func (v *Verdict) share() float64 {
	if v.Measured == nil {
		return 0
	}
	return v.Measured.OfAtMost
}

// ofCase says of a finding which case is meant, where there are several. Those that none is known of may be worse.
func (v *Verdict) ofCase(e answer.Evidence) answer.Evidence {
	if v.Cases == nil || len(e.Findings) == 0 {
		return e
	}
	e.Findings[0].Text = fmt.Sprintf("the worst case is %q: %s", v.name, e.Findings[0].Text)
	for _, c := range v.Cases {
		if c.Verdict == nil && e.Findings[0].Place != answer.Below {
			e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("case %q has no verdict", c.Name)})
		}
	}
	return e
}
