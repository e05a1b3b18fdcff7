package topology

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/show"
)

// Words are what names a tree in files and on command lines: the notation, servers by leaf
// ("4,4,3"), spines where the notation does not say them, all missing links in our names, and the
// lists of WithRoles where some server has one role; "" what goes without saying.
type Words struct{ Notation, Fill, Spines, Down, Readers, Builders string }

func (t *Tree) Words() Words {
	w := Words{
		Notation: t.Notation(), Fill: strings.ReplaceAll(strings.Trim(fmt.Sprint(t.fill), "[]"), " ", ","),
		Down: strings.Join(LinkNames(t.Missing()), ","),
	}
	if t.tops == 0 && t.cables == 1 && t.spines != t.ports {
		w.Spines = strconv.Itoa(t.spines)
	}
	if t.Divided() {
		w.Readers, w.Builders = t.RoleLists()
	}
	return w
}

// Keys are those of Lines, in their order. The hash of a plan covers these lines.
var Keys = []string{"topology", "fill", "spines", "down", "readers", "builders"}

// Lines are the lines that name a tree in files of plans.
func (w Words) Lines() (text string) {
	for i, value := range []string{w.Notation, w.Fill, w.Spines, cmp.Or(w.Down, "none"), w.Readers, w.Builders} {
		if value != "" {
			text += fmt.Sprintf("# %s %s\n", Keys[i], value)
		}
	}
	return text
}

// DeadText says how many links are dead, of how many.
func (t *Tree) DeadText() string {
	dead, all := t.damage(false)
	if t.tops == 0 {
		return fmt.Sprintf("%d of %d links", dead, all)
	}
	above, more := t.damage(true)
	return fmt.Sprintf("%d of %d links and %d of %d top links", dead, all, above, more)
}

// ServersText says how many servers there are, and how many read and build where some do one alone.
func (t *Tree) ServersText() string {
	text := fmt.Sprintf("%d servers", t.Servers())
	if t.Divided() {
		text += fmt.Sprintf(" (%s, %s)", show.Plural(t.Readers(), "reader", "readers"), show.Plural(t.Builders(), "builder", "builders"))
	}
	return text
}
