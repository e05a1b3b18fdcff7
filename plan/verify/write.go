package verify

import (
	"fmt"
	"io"
)

// WriteText writes what was found in the plan of that name.
func (r *Report) WriteText(w io.Writer, name string) error {
	verdict := "valid"
	if !r.Valid {
		verdict = fmt.Sprintf("NOT valid, %d offences", r.Total)
	}
	_, err := fmt.Fprintf(w, "%s: %s\n%d servers, %d phases, %d messages\n", name, verdict, r.Servers, r.Phases, r.Messages)
	if r.LeftOut > 0 {
		fmt.Fprintf(w, "%d messages between unreachable leaves are left out\n", r.LeftOut)
	}
	if r.Valid {
		r.writeFigures(w)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, o := range r.Offences {
		fmt.Fprintf(w, "%s: %s\n", o.Kind, o.Text)
	}
	if more := r.Total - len(r.Offences); more > 0 {
		fmt.Fprintf(w, "… and %d more; --first %d shows all\n", more, r.Total)
	}
	return err
}

// writeFigures writes what a valid plan costs.
func (r *Report) writeFigures(w io.Writer) {
	if r.Duration > 0 {
		fmt.Fprintf(w, "duration %d message times, predicted efficiency %.3f\n", r.Duration, r.PredictedEfficiency)
	}
	if b := r.Bound; b != nil && b.Proven {
		fmt.Fprintf(w, "bound %d proven by %s: %s\n", b.Phases, b.Kind, r.distance())
	}
	if p := r.Paths; p != nil {
		fmt.Fprintf(w, "paths: at most %d from a leaf to a server, LMC %d, %d LIDs, %d LFT entries\n", p.Most, p.LMC, p.LIDs, p.Entries)
	}
}

// distance says how far a plan is from the proven bound.
func (r *Report) distance() string {
	switch {
	case r.Optimal():
		return "the plan is optimal"
	case !r.ContentionChecked:
		return "it holds for plans without contention"
	}
	return fmt.Sprintf("gap %d", r.Bound.Gap)
}
