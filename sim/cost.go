package sim

import (
	"math"
	"time"
)

// What the fluid model takes for a fragment of n servers, at least: so much, n times.
const (
	fluidEqual   = 100 * time.Nanosecond
	fluidUnequal = 500 * time.Nanosecond
)

// FluidTime estimates how long the fluid model takes for a case whose fragments have so many
// bytes on average, rather too short than too long.
func (c *Case) FluidTime(fragment int) time.Duration {
	each := fluidUnequal
	if c.Equal {
		each = fluidEqual
	}
	n := float64(c.Plan.Tree.Servers())
	exchange := (n - 1) * 8 * float64(fragment) / c.BitPerSec
	exchanges := 1 + c.Case.PredictedEfficiency*c.Duration.Seconds()/exchange
	return time.Duration(min(exchanges*n*n*n*float64(each), math.MaxInt64/2))
}
