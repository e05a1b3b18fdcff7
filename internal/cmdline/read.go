package cmdline

import (
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/proc"
)

// A Description is the text that defines commands, in the form explained in
// cmd/evbench/commands.txt, with the objects it refers to.
type Description struct {
	Text   string
	Words  map[string]string         // for {NAME} in the text
	Groups map[string][]cli.Flag     // in addition to the text's
	Do     map[string]cli.ActionFunc // by full name: "routes check"; none for commands with subcommands
	First  map[string]Words          // completes the first argument, by full name
	Values map[string]Words          // completes values, by the first name of the flag
}

// A section is a group of flags or a command.
type section struct {
	flags  []cli.Flag
	values []check // of single flags
	rules  []check // about combinations of flags
	help   []string
}

// A check reports wrong use.
type check func(*cli.Context) error

// Tasks makes the commands. It panics if the description is invalid.
func (d Description) Tasks() (tasks []Task) {
	groups, commands := map[string]*section{}, map[string]*cli.Command{}
	for name, flags := range d.Groups {
		groups[name] = &section{flags: flags}
	}
	for text := range strings.SplitSeq(strings.TrimSpace(d.Text), "\n\n") {
		head, rest, _ := strings.Cut(text, "\n")
		kind, name, _ := strings.Cut(head, " ")
		switch {
		case kind == "/":
		case kind == "##":
			tasks = append(tasks, Task{Name: name})
		case kind[0] == '@':
			groups[kind[1:]] = d.section(rest, groups)
		default:
			path, args := split(strings.TrimLeft(name, "~!"))
			says, rest, _ := strings.Cut(rest, "\n")
			c := d.command(path, d.section(rest, groups), args, !strings.ContainsAny(name[:1], "~!"))
			c.Usage, c.SkipFlagParsing = says, name[0] == '!'
			if up, _, below := cutLast(path); below {
				commands[up].Subcommands = append(commands[up].Subcommands, c)
			} else {
				t := &tasks[len(tasks)-1]
				t.Commands = append(t.Commands, c)
			}
			commands[path] = c
		}
	}
	for path, c := range commands {
		c.BashComplete = complete(c, d.First[path], d.Values)
	}
	return tasks
}

// split separates the full name of a command, in lower case, from its arguments.
func split(text string) (path, args string) {
	words := strings.Fields(text)
	n := slices.IndexFunc(words, func(w string) bool { return w != strings.ToLower(w) || strings.ContainsAny(w, "[|") })
	if n < 0 {
		return text, ""
	}
	return strings.Join(words[:n], " "), strings.Join(words[n:], " ")
}

func cutLast(path string) (up, name string, below bool) {
	i := strings.LastIndex(path, " ")
	return path[:max(i, 0)], path[i+1:], i >= 0
}

// command makes a command, which counts its arguments unless its action does.
func (d Description) command(path string, s *section, args string, counted bool) *cli.Command {
	_, name, _ := cutLast(path)
	c := &cli.Command{
		Name: name, ArgsUsage: args, Flags: s.flags, HideHelpCommand: true,
		Description: "Example:\n" + strings.Join(s.help, "\n"),
		Action:      noSubcommand,
	}
	c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return WrongFlag(err, c.Flags) }
	if do := d.Do[path]; do != nil {
		c.Action = func(ctx *cli.Context) error {
			if counted {
				if err := count(ctx, path); err != nil {
					return err
				}
			}
			for _, check := range slices.Concat(s.values, s.rules) {
				if err := check(ctx); err != nil {
					return proc.Usage(err)
				}
			}
			return do(ctx)
		}
	}
	return c
}

// count compares arguments with what a command takes: NAME, [NAME] and NAME….
func count(c *cli.Context, path string) error {
	words := strings.Fields(c.Command.ArgsUsage)
	most := len(words)
	if strings.Contains(c.Command.ArgsUsage, "…") || strings.Contains(c.Command.ArgsUsage, "...") {
		most = math.MaxInt
	}
	return Args(c, path, slices.DeleteFunc(words, func(w string) bool { return w[0] == '[' }), most)
}

// Args reports missing or surplus arguments.
func Args(c *cli.Context, path string, needed []string, most int) error {
	switch n := c.NArg(); {
	case n < len(needed):
		return proc.Usagef("%s: %s is missing; see %s %s --help", c.Command.Name, strings.TrimRight(needed[n], ".…"), c.App.Name, path)
	case n > most && most == 0:
		return proc.Usagef("%s: %q is one argument too many; it takes flags alone, whose lists have commas: %s %s --help", c.Command.Name, c.Args().First(), c.App.Name, path)
	case n > most:
		return proc.Usagef("%s: %q is one argument too many", c.Command.Name, c.Args().Get(most))
	}
	return nil
}

func (d Description) section(text string, groups map[string]*section) *section {
	s := &section{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, "{") {
			for name, word := range d.Words {
				line = strings.ReplaceAll(line, "{"+name+"}", word)
			}
		}
		switch line[0] {
		case '>':
			s.help = append(s.help, strings.TrimPrefix(line[1:], " "))
		case '+':
			g := groups[line[1:]]
			s.flags, s.values, s.rules = append(s.flags, g.flags...), append(s.values, g.values...), append(s.rules, g.rules...)
		case '?':
			s.rules = append(s.rules, rule(line[2:]))
		default:
			f, is := readFlag(line)
			s.flags = append(s.flags, f)
			if is != nil {
				s.values = append(s.values, is)
			}
		}
	}
	return s
}
