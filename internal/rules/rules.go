// Package rules answers: which flags of a command, or fields of a file, go together? A rule is a line
// such as "--log --dump: only with --dir".
package rules

import (
	"regexp"
	"slices"
	"strings"
)

// A Rule is "NAME…: VERB NAME[=VALUE|VALUE] or …", where the verb is "not with", "only with",
// "needed", "needed with" or "one of them". What follows a comma, colon or semicolon is the reason, for messages.
type Rule struct {
	names        []string // as written, flags with dashes
	verb, with   string
	reason       string
	alternatives []string
}

var form = regexp.MustCompile(`^(.+?): (not with|only with|needed with|needed|one of them) ?([^,:;]*)(.*)$`)

// Parse reads a rule, and panics where it is none.
func Parse(line string) Rule {
	m := form.FindStringSubmatch(line)
	return Rule{strings.Fields(m[1]), m[2], m[3], m[4], strings.Split(m[3], " or ")}
}

// Break says how a rule is broken. Of what is missing Name is that, else what should not be there.
type Break struct {
	Name    string // as written
	Missing bool
	Reason  string // behind the name: " is missing, needed with …", "not with …"
}

// Broken returns nil where the rule holds for what is given, by name without dashes. value is that of
// a name; an empty one is not given.
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
