package host

import (
	"fmt"
	"strings"

	"evbench/internal/answer"
)

// Answer says whether this machine can carry a worker.
func (a Answer) Answer() answer.Answer {
	out := answer.Answer{Question: "Can this machine carry a worker?", Verdict: answer.Good}
	problems := portReasons(a.Ports)
	if a.AddressError != "" {
		problems = append([]string{a.AddressError}, problems...)
	}
	if len(problems) > 0 {
		out.Verdict, out.Sentence, out.Why = answer.Bad, "This machine cannot carry a worker.", problems
		return out
	}
	out.Sentence = fmt.Sprintf("This machine can carry a worker: %d cores, %s.", a.Cores, a.Platform)
	if len(a.Addresses) > 0 {
		out.Why = []string{"data goes over " + strings.Join(a.Addresses, ", ")}
	}
	return out
}
