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

// Lines are the lines that name a tree in files of plans. The hash of a plan covers them (scheduler/judge has the list).
func (w Words) Lines() (text string) {
	for _, line := range [][2]string{{"topology", w.Notation}, {"fill", w.Fill}, {"spines", w.Spines}, {"down", cmp.Or(w.Down, "none")},
		{"readers", w.Readers}, {"builders", w.Builders}} {
		if line[1] != "" {
			text += fmt.Sprintf("# %s %s\n", line[0], line[1])
		}
	}
	return text
}

// DeadText says how many links are dead, of how many.
func (v *Live) DeadText() string {
	dead, all := v.damage(false)
	if v.tops == 0 {
		return fmt.Sprintf("%d of %d links", dead, all)
	}
	above, more := v.damage(true)
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
