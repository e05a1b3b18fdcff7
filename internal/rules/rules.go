// Package rules checks combinations of flags of a command, or of fields of a file. A rule is a line
// such as "--log --dump: only with --dir".
package rules

import (
	"slices"
	"strings"
)

// A Rule is "NAME…: VERB NAME[=VALUE|VALUE] or …", where the verb is "not with", "only with",
// "needed", "needed with" or "one of them". Text after a comma, colon or semicolon is the reason,
// for messages.
type Rule struct {
	names        []string // as written, flags with dashes
	verb, with   string
	reason       string
	alternatives []string
}

var verbs = []string{"not with", "only with", "needed with", "needed", "one of them"}

// Parse reads a rule, and panics if it is malformed.
func Parse(line string) Rule {
	names, rest, _ := strings.Cut(line, ": ")
	for _, verb := range verbs {
		if with, ok := strings.CutPrefix(rest, verb); ok {
			with, reason := strings.TrimPrefix(with, " "), ""
			if at := strings.IndexAny(with, ",:;"); at >= 0 {
				with, reason = with[:at], with[at:]
			}
			r := Rule{strings.Fields(names), verb, with, reason, strings.Split(with, " or ")}
			if slices.ContainsFunc(r.alternatives, func(one string) bool { return strings.Contains(one, " ") }) {
				break // names without an "or" between them
			}
			return r
		}
	}
	panic("rules: no rule: " + line)
}

// Break says how a rule is broken. Name is missing, or else should not be there.
type Break struct {
	Name    string // as written
	Missing bool
	Reason  string // after the name: " is missing, needed with …", "not with …"
}

// Broken returns nil if the rule holds for the given names, without dashes. value is the value of a
// name; a name with an empty value is not given.
func (r Rule) Broken(given func(string) bool, value func(string) string) *Break {
	here := slices.DeleteFunc(slices.Clone(r.names), func(n string) bool { return !given(bare(n)) || value(bare(n)) == "" })
	missing := slices.IndexFunc(r.names, func(n string) bool { return !slices.Contains(here, n) })
	holds := slices.ContainsFunc(r.alternatives, func(one string) bool {
		name, values, valued := strings.Cut(bare(one), "=")
		return valued && slices.Contains(strings.Split(values, "|"), value(name)) || !valued && given(name) && value(name) != "false"
	})
	switch r.verb {
	case "one of them":
		if len(here) == 0 {
			return &Break{strings.Join(r.names, " or "), true, "is missing" + r.reason}
		}
		if len(here) > 1 {
			return &Break{strings.Join(here, " and "), false, "give one of them"}
		}
	case "not with", "only with":
		if len(here) > 0 && holds == (r.verb == "not with") {
			return &Break{here[0], false, r.verb + " " + r.with + r.reason}
		}
	case "needed":
		if missing >= 0 {
			return &Break{r.names[missing], true, "is missing" + r.reason}
		}
	case "needed with":
		if missing >= 0 && holds {
			return &Break{r.names[missing], true, "is missing, needed with " + r.with + r.reason}
		}
	}
	return nil
}

func bare(name string) string { return strings.TrimPrefix(name, "--") }
