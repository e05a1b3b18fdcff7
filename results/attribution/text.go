package attribution

import (
	"fmt"
	"math"

	"evbench/internal/show"
)

// Text says what a cause does, as a clause: "server5 or its cable to leaf1 carries half its usual rate". sec is how
// long was measured.
func (c Cause) Text(sec float64) string {
	const fewStops = 10
	switch {
	case c.Stops == 1:
		return fmt.Sprintf("%s stood still for %.1f s at %.1f s", c.Name, c.Longest, c.First)
	case c.Stops > fewStops && sec > 0:
		return fmt.Sprintf("%s stood still for %.0f %% of the time", c.Name, 100*min(1, c.Stood/sec))
	case c.Stops > 0:
		return fmt.Sprintf("%s stood still %d times, up to %.1f s, first at %.1f s", c.Name, c.Stops, c.Longest, c.First)
	case c.Loses():
		return fmt.Sprintf("%s loses segments (%s sent again)", c.Name, show.Commas(int(c.Resent)))
	case c.AtTimes:
		return fmt.Sprintf("%s stalls at times (%d of %s)", c.Name, c.Slow, show.Plural(c.Pairs, "pair", "pairs"))
	}
	does := "carries"
	if c.One != "" {
		does = c.One + " at"
	}
	text := fmt.Sprintf("%s %s %s%s", c.Name, does, share(c.Share), c.when(sec))
	if c.Times == 0 && c.Slices > 1 && c.Found == c.Slices {
		text += ", in all rounds"
	}
	return text
}

// when says at which times it was slow; "": at all.
func (c Cause) when(sec float64) string {
	switch {
	case c.Times == 0:
		return ""
	case c.Times > 1:
		return fmt.Sprintf(" at times, first at %.1f s", c.From)
	case c.From == 0:
		return fmt.Sprintf(" until %.1f s", c.To)
	case c.To >= sec && sec > 0:
		return fmt.Sprintf(" from %.1f s on", c.From)
	}
	return fmt.Sprintf(" from %.1f s to %.1f s", c.From, c.To)
}

// Loses reports whether it is known by segments that were sent again.
func (c Cause) Loses() bool { return c.Stops == 0 && c.Resent > 0 && (c.Share == 0 || c.AtTimes) }

// share is a part of the usual rate in words.
func share(x float64) string {
	for _, s := range []struct {
		of   float64
		text string
	}{{1. / 2, "half its usual rate"}, {1. / 3, "a third of its usual rate"}, {1. / 4, "a quarter of its usual rate"}, {3. / 4, "three quarters of its usual rate"}} {
		const near = 0.06
		if math.Abs(x/s.of-1) < near {
			return s.text
		}
	}
	return fmt.Sprintf("%.0f %% of its usual rate", 100*x)
}
