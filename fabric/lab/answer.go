package lab

import (
	"fmt"

	"evbench/internal/answer"
)

// Answer says whether a lab can run here, and why not.
func (r Report) Answer() answer.Answer {
	a := answer.Answer{Question: "Can a lab run on this machine?", Verdict: answer.Of(r.Possible())}
	if r.Possible() {
		how := "with the rights of this process"
		if r.Mode == modeUserNamespace {
			how = "in a user namespace, without root"
		}
		a.Sentence = fmt.Sprintf("A lab can run here, %s (%s).", how, r.System)
		a.Next = []string{"evbench run quickstart"}
		return a
	}
	a.Sentence = fmt.Sprintf("A lab cannot run here (%s).", r.System)
	for _, c := range r.Checks {
		if !c.OK {
			a.Why = append(a.Why, fmt.Sprintf("%s: %s: %s", c.Mode, c.Name, c.Reason))
			if c.Cure != "" {
				a.Next = append(a.Next, c.Cure)
			}
			break
		}
	}
	a.Next = append(a.Next, "evbench run --fabric emulate quickstart")
	return a
}
