package live

import (
	"fmt"
	"time"

	"evbench/sim"
)

// Hosts shows how far a step over all hosts is.
func (t *Terminal) Hosts(step string, done, all int) {
	switch {
	case t.Live() && done < all:
		t.Passing("%s: %d of %d hosts", step, done, all)
	case t.Live():
		t.End()
	case done == 0 && all == 1:
		t.Line(step + ": 1 host")
	case done == 0:
		t.Line(fmt.Sprintf("%s: %d hosts", step, all))
	}
}

// Simulated shows where a simulation stands.
func (t *Terminal) Simulated(x sim.Step) {
	head := fmt.Sprintf("[%d/%d] %s: ", x.Index+1, x.Count, x.Case.Name)
	switch {
	case x.Result != nil:
		t.Line(fmt.Sprintf("%s%s: %.2f events/s per server over %s, efficiency %.3f, predicted %.3f", head, x.Case.Model,
			x.Result.EventsPerSec.Mean, Seconds(time.Duration(x.Result.MeasuredSec*float64(time.Second))), x.Result.MeasuredEfficiency, x.Result.PredictedEfficiency))
	default:
		t.Passing("%s%s of %s", head, Seconds(x.Done), Seconds(x.Of))
	}
}
