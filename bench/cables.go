package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/topology"
)

// cables records which cables are down during a case, and which have been.
type cables struct {
	mu   sync.Mutex
	down map[string]time.Time // since when
	past map[string]outage    // the last of each cable
}

// An outage is the time for which a cable was down.
type outage struct {
	cable       string
	from, until time.Time // the zero until: the cable is still down
}

func (c *cables) tell(e topology.CableEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down == nil {
		c.down, c.past = map[string]time.Time{}, map[string]outage{}
	}
	if !e.Up {
		c.down[e.Cable] = e.Seen
	} else if from, ok := c.down[e.Cable]; ok {
		c.past[e.Cable] = outage{e.Cable, from, e.Seen}
		delete(c.down, e.Cable)
	}
}

// since returns the last outages of some cables that ended after moment or have not ended: ongoing
// ones first, then by end, the latest first.
func (c *cables) since(moment time.Time, of func(cable string) bool) []outage {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := lists.Map(slices.Sorted(maps.Keys(c.down)), func(cable string) outage { return outage{cable: cable, from: c.down[cable]} })
	for _, x := range slices.SortedFunc(maps.Values(c.past), func(a, b outage) int {
		return cmp.Or(b.until.Compare(a.until), cmp.Compare(a.cable, b.cable))
	}) {
		if x.until.After(moment) {
			out = append(out, x)
		}
	}
	return slices.DeleteFunc(out, func(x outage) bool { return !of(x.cable) })
}

const mostCables = 6 // in one text

// describe says which cables are down and which have been, and when.
func describe(all []outage) string {
	var dead, back []string
	for _, x := range all {
		if x.until.IsZero() {
			dead = append(dead, fmt.Sprintf("%s, since %s", x.cable, clock(x.from)))
		} else {
			back = append(back, fmt.Sprintf("%s, from %s to %s", x.cable, clock(x.from), clock(x.until)))
		}
	}
	var out []string
	if len(dead) > 0 {
		out = append(out, "messages wait for links that are dead and that evbench has not taken down: "+show.Some(dead, mostCables, "; "))
	}
	if len(back) > 0 {
		out = append(out, "links were dead that evbench has not taken down: "+show.Some(back, mostCables, "; "))
	}
	return strings.Join(out, "; ")
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }
