package inject

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"evbench/internal/lists"
	"evbench/topology"
)

// A Program is a command without a shell.
type Program struct {
	Args []string `json:"args"` // the first is looked up in PATH; "evbench" is this program
	Env  []string `json:"env,omitempty"`
}

// String is the command line as typed into a shell, with control characters escaped.
func (p Program) String() string {
	words := p.Args
	if len(p.Env) > 0 {
		words = slices.Concat([]string{"env"}, p.Env, p.Args)
	}
	return strings.Join(lists.Map(words, quote), " ")
}

var plainRE = regexp.MustCompile(`^[A-Za-z0-9_./:,@+%=-]+$`)

func quote(w string) string {
	switch {
	case plainRE.MatchString(w):
		return w
	case strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.Quote(w)
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// A Remedy brings a link up, and probes it. The first probe that can tell counts.
type Remedy struct {
	Up    Program   `json:"up"`
	Probe []Program `json:"probe"`
}

type recipe struct {
	down Program
	Remedy
}

type recipes func(topology.Link) (recipe, error)

func newRecipes(o Options) (recipes, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	switch o.Kind {
	case kindIBPortState:
		return portStates(o)
	case kindLab:
		if o.Tree != nil && !o.Tree.Plain() {
			return nil, errors.New("inject.kind lab: only for trees of two levels with single cables")
		}
		dir, err := filepath.Abs(o.Lab)
		if err != nil {
			return nil, fmt.Errorf("inject.lab: %w", err)
		}
		return func(l topology.Link) (recipe, error) { return labRecipe(dir, l), nil }, nil
	}
	return func(l topology.Link) (recipe, error) {
		if o.Tree != nil {
			if err := o.Tree.Countable(l); err != nil { // the commands get its number
				return recipe{}, fmt.Errorf("inject.kind %s: %w", o.Kind, err)
			}
		}
		return shellRecipe(o, l), nil
	}, nil
}

// fields are the options of the kinds; false means optional.
var fields = map[string]map[string]bool{
	kindCommand:     {"down": true, "up": true, "probe": true},
	kindSSH:         {"down": true, "up": true, "probe": true, "host": true},
	kindIBPortState: {"fabric": true, "host": false},
	kindLab:         {"lab": true},
}

// check names the first field that is missing, or unknown to the kind.
func (o *Options) check() error {
	takes, ok := fields[o.Kind]
	if !ok {
		return fmt.Errorf("inject.kind %q: there are command, ssh, ibportstate, lab", o.Kind)
	}
	for _, f := range []struct{ name, value string }{
		{"down", o.Down}, {"up", o.Up}, {"probe", o.Probe}, {"host", o.Host}, {"fabric", o.Fabric}, {"lab", o.Lab},
	} {
		needed, known := takes[f.name]
		switch {
		case f.value == "" && needed:
			return fmt.Errorf("inject.%s is missing, which kind %s needs", f.name, o.Kind)
		case f.value != "" && !known:
			return fmt.Errorf("inject.%s is not for kind %s", f.name, o.Kind)
		}
	}
	switch {
	case o.Host != "" && !hostRE.MatchString(o.Host):
		return fmt.Errorf("inject.host %q: write HOST or USER@HOST; {leaf} and {spine} may stand in it", o.Host)
	case o.Journal == "":
		return errors.New("inject.journal is missing")
	case o.Timeout < 0:
		return fmt.Errorf("inject.timeout %s: must be above 0", o.Timeout)
	}
	return nil
}

// hostRE is a valid host argument of ssh: nothing that ssh or a shell would interpret.
var hostRE = regexp.MustCompile(`^[A-Za-z0-9{_][A-Za-z0-9_.:@{}%-]*$`)

// fill inserts this program's names of a link and of the switches at its ends into a text. They
// consist of letters, digits, hyphens and slashes (leaf0, spine3, leaf0-spine3/1), so that a shell
// takes each for one word, quoted or not.
func (o *Options) fill(text string, l topology.Link) string {
	lower, upper := fmt.Sprintf("leaf%d", l.Leaf), fmt.Sprintf("spine%d", l.Spine)
	if o.Tree != nil {
		t := o.Tree.Named(nil)
		low, high := t.Ends(l)
		lower, upper = t.SwitchName(low.Switch), t.SwitchName(high.Switch)
	}
	return strings.NewReplacer(
		"{link}", l.String(),
		"{leaf}", lower,
		"{spine}", upper,
	).Replace(text)
}

func shellRecipe(o Options, l topology.Link) recipe {
	program := func(text string) Program {
		text = o.fill(text, l)
		if o.Kind == kindSSH {
			return bySSH(o.fill(o.Host, l), text)
		}
		return Program{Args: []string{"sh", "-c", text}}
	}
	return recipe{down: program(o.Down), Remedy: Remedy{Up: program(o.Up), Probe: []Program{program(o.Probe)}}}
}

// bySSH runs a text in the shell of a host. BatchMode, because no one can type a password.
func bySSH(host, text string) Program {
	return Program{Args: []string{"ssh", "-o", "BatchMode=yes", host, "--", text}}
}

// labRecipe sets the interface at the leaf down, and probes the other end of the cable, which runs
// only if both ends do.
func labRecipe(dir string, l topology.Link) recipe {
	leaf, spine := fmt.Sprintf("leaf%d", l.Leaf), fmt.Sprintf("spine%d", l.Spine)
	exec := func(node string, args ...string) Program {
		return Program{Args: append([]string{"evbench", "lab", "exec", node}, args...), Env: []string{"XDG_RUNTIME_DIR=" + dir}}
	}
	return recipe{
		down: exec(leaf, "ip", "link", "set", "dev", spine, "down"),
		Remedy: Remedy{
			Up:    exec(leaf, "ip", "link", "set", "dev", spine, "up"),
			Probe: []Program{exec(spine, "ip", "-o", "link", "show", "dev", leaf)},
		},
	}
}

func verdict(kind string, exit int, out string) linkState {
	switch kind {
	case kindIBPortState:
		// Its exit code also tells whether the far end answered.
		return portVerdict(out)
	case kindLab:
		switch {
		case exit != 0:
			return linkUnknown
		case strings.Contains(out, " state UP "):
			return linkUp
		case strings.Contains(out, " state DOWN ") || strings.Contains(out, " state LOWERLAYERDOWN "):
			return linkDown
		}
		return linkUnknown
	}
	switch exit {
	case 0:
		return linkUp
	case 1:
		return linkDown
	}
	return linkUnknown
}
