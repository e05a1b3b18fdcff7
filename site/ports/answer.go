package ports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Fields is the JSON of a survey.
type Fields struct {
	File    string   `json:"file"`
	Hosts   int      `json:"hosts"`
	Known   int      `json:"known"`   // paths
	Missing int      `json:"missing"` // of which a switch or the destination has not answered
	Sprayed int      `json:"sprayed"`
	Near    int      `json:"one_switch"` // ordered pairs behind one switch
	Hops    int      `json:"hops"`       // addresses of switches
	Asked   int      `json:"questions"`
	Taken   []string `json:"ports_in_use,omitempty"`
	Failed  []string `json:"not_asked,omitempty"`
}

// Fields counts what was found.
func (s Survey) Fields(file string) Fields {
	f := Fields{File: file, Hosts: len(s.Paths.Hosts), Asked: s.Asked, Taken: s.Taken, Failed: s.Failed}
	seen := map[string]bool{}
	for _, r := range s.Paths.Rows {
		switch {
		case r.Port == None:
			f.Near++
		case r.Sprayed():
			f.Sprayed++
		case !r.Known():
			f.Missing++
		default:
			f.Known++
		}
		for _, h := range r.Hops {
			for _, a := range h {
				seen[a.String()] = true
			}
		}
	}
	f.Hops = len(seen)
	return f
}

// Answer says whether the way of each port is known. early is why the survey ended before all was asked; nil: it did not.
func (s Survey) Answer(early error) answer.Answer {
	f := s.Fields("")
	known := answer.Finding{Place: answer.At, Text: fmt.Sprintf("all %d paths between %d hosts behind different switches are known by their source ports", f.Known, f.Hosts)}
	var e answer.Evidence
	switch {
	case early != nil && errors.Is(early, context.Canceled):
		e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("the survey was interrupted: %d paths are known", f.Known)})
	case early != nil:
		e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("the survey ended early, with %d paths known: %v", f.Known, early)})
	case f.Sprayed > 0:
		e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("packets of one port took several ways, for %d ports, such as %s: the network sprays, or its paths change, and no port chooses a path",
			f.Sprayed, s.first(Row.Sprayed))})
	case f.Missing > 0:
		e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("%d of %d paths are not whole, such as %s, as a switch did not answer", f.Missing, f.Missing+f.Known,
			s.first(func(r Row) bool { return !r.Known() })), Remedy: "ask more slowly (--gap), or see whether it answers at all (traceroute)"})
	case len(s.Failed) > 0:
		e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("%d paths could not be asked for: %s", len(s.Failed), s.Failed[0])})
	case s.Short > 0:
		e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("%d pairs have no port for some way between their switches, after %d ports", s.Short, mostEach)})
	case f.Known == 0:
		e.Findings = []answer.Finding{{Place: answer.At, Text: fmt.Sprintf("all %d hosts are behind one switch, so no port chooses a path", f.Hosts)}}
	default:
		e.Findings = []answer.Finding{known}
	}
	e.Why = []string{fmt.Sprintf("%d questions; %d switch addresses answered; %d paths were asked for twice", f.Asked, f.Hops, s.Checked)}
	if s.Ways > 0 && s.Short == 0 {
		e.Why = append(e.Why, fmt.Sprintf("each pair has a port for each way between its switches, of which two have %d at most", s.Ways))
	}
	if f.Near > 0 {
		e.Why = append(e.Why, fmt.Sprintf("%d ordered pairs are behind one switch and need no port", f.Near))
	}
	if len(s.Taken) > 0 {
		e.Why = append(e.Why, "others have "+show.Few(s.Taken)+": other ports were asked for")
	}
	return answer.Decide(answer.Ways, e)
}

// first names the first row of a kind.
func (s Survey) first(kind func(Row) bool) string {
	r := s.Paths.Rows[slices.IndexFunc(s.Paths.Rows, kind)]
	return s.Paths.name(r)
}

// WriteText lists the hosts that are behind one switch.
func (s Survey) WriteText(w io.Writer) error {
	var groups [][]string
	for h, i := range s.Paths.groupOf() {
		if i == len(groups) {
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s.Paths.Hosts[h].Name)
	}
	for i, names := range groups {
		if _, err := fmt.Fprintf(w, "switch %d: %s\n", i, show.Few(names)); err != nil {
			return err
		}
	}
	return nil
}
