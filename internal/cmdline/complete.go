package cmdline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A Candidate is a word that may stand where one is being written.
type Candidate struct{ Word, Says string }

// Names are the arguments of commands, and the values of flags, that are one of a few.
type Names struct {
	Arguments func(c *cli.Command) []Candidate
	Values    func(flag string) []Candidate // by the flag's first name
}

// Complete returns how the last word can go on; nothing where a file may stand.
func Complete(app *cli.App, names Names, words []string) []Candidate {
	if len(words) == 0 {
		return nil
	}
	before, now := words[:len(words)-1], words[len(words)-1]
	helps := len(before) > 0 && before[0] == "help"
	if helps {
		before = before[1:]
	}
	at := &cli.Command{Subcommands: app.Commands, Flags: append(slices.Clone(app.Flags), cli.HelpFlag)}
	arguments, flag := 0, ""
	for _, w := range before {
		next := Subcommand(at, w)
		switch {
		case flag != "":
			flag = ""
		case w == "--" || at.SkipFlagParsing:
			return nil
		case strings.HasPrefix(w, "-"):
			if name := strings.TrimLeft(w, "-"); takesValue(at, name) {
				flag = name
			}
		case next != nil && arguments == 0:
			at = next
		default:
			arguments++
		}
	}
	var all []Candidate
	switch {
	case flag != "":
		all = names.Values(firstName(at, flag))
	case strings.HasPrefix(now, "-"):
		all = flagsOf(at)
	case arguments > 0:
	case len(at.Subcommands) > 0:
		all = commandsBelow(at)
		if at.Name == "" && !helps {
			all = append(all, Candidate{"help", "say what a command takes"})
		}
	case helps:
	default:
		all = names.Arguments(at)
	}
	return slices.DeleteFunc(all, func(x Candidate) bool { return !strings.HasPrefix(x.Word, now) })
}

func commandsBelow(c *cli.Command) (out []Candidate) {
	for _, s := range c.Subcommands {
		if !s.Hidden {
			out = append(out, Candidate{s.Name, s.Usage})
		}
	}
	return out
}

// flagValue is what a flag's usage calls its value.
var flagValue = regexp.MustCompile("`([^`]*)`")

func flagsOf(c *cli.Command) (out []Candidate) {
	for _, f := range c.Flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		says := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			says = flagValue.ReplaceAllString(d.GetUsage(), "$1")
		}
		out = append(out, Candidate{"--" + f.Names()[0], says})
	}
	if c.Name != "" {
		out = append(out, Candidate{"--help", "show help"})
	}
	return out
}

// firstName returns the first name of a flag.
func firstName(c *cli.Command, flag string) string {
	if f := flagOf(c, flag); f != nil {
		return f.Names()[0]
	}
	return flag
}
