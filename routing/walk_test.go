package routing

import "errors"

// A Report says what the tables do to all ordered pairs of servers. Of several
// next hops each is followed.
type Report struct {
	Pairs       int   // ordered pairs
	Unreachable int   // pairs with at least one path that ends without a route
	Loops       int   // pairs with at least one path that comes back to a switch
	DeadLinks   int   // pairs with at least one path over a dead link
	First       error // the first offence, with source, destination and switch
}

// OK reports whether every message arrives on every path.
func (r Report) OK() bool { return r.First == nil }

// Check follows every path of every pair. O(S²·paths).
func (t *Tables) Check() Report {
	var r Report
	for src := range t.Tree.Servers() {
		for dst := range t.Tree.Servers() {
			if src == dst {
				continue
			}
			r.Pairs++
			err := t.Walk(src, dst)
			switch {
			case errors.Is(err, ErrNoRoute):
				r.Unreachable++
			case errors.Is(err, ErrLoop):
				r.Loops++
			case errors.Is(err, ErrDeadLink):
				r.DeadLinks++
			}
			if err != nil && r.First == nil {
				r.First = err
			}
		}
	}
	return r
}
