package main

import (
	"math"
	"strings"
)

// An Order is two cases of which the referee says that one is better by more than orderBy.
type Order struct {
	Of           string // the column in which they differ
	A, B         Case
	Ours, Theirs float64 // A over B, less 1
	Out          bool
}

const orderBy = 0.03

// orderFields are the columns by which cases are ordered.
var orderFields = []string{"topology", "routing", "buf_flits"}

// Orders compares the order of routings, buffers, and healthy against dead, of
// saturated throughput and of exchanges.
func Orders(all []Runs) (orders []Order) {
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			a, b := &all[i], &all[j]
			of, ok := differ(a.Case, b.Case)
			if !ok || left(a.Case) || left(b.Case) {
				continue
			}
			o := Order{Of: of, A: a.Case, B: b.Case}
			if a.Case["offered"] == "batch" {
				o.Ours = a.Mean.Batch/b.Mean.Batch - 1
				o.Theirs = a.Case.number("batch_cycles")/b.Case.number("batch_cycles") - 1
			} else if saturated(a.Case) && saturated(b.Case) {
				o.Ours = a.Mean.Accepted/b.Mean.Accepted - 1
				o.Theirs = a.Case.number("accepted")/b.Case.number("accepted") - 1
			}
			if math.Abs(o.Theirs) > orderBy {
				o.Out = o.Ours*o.Theirs <= 0
				orders = append(orders, o)
			}
		}
	}
	return orders
}

// differ returns the one column of a case in which two differ.
func differ(a, b Case) (of string, ok bool) {
	for _, f := range []string{"sim", "traffic", "pipeline", "vcs", "vls", "packet_flits", "max_parallel_reads",
		"msg_packets", "injection", "offered", "warmup_cycles", "measured_cycles", "warm_us", "total_us", "seed"} {
		if a[f] != b[f] {
			return "", false
		}
	}
	for _, f := range orderFields {
		if a[f] == b[f] || f == "routing" && of == "topology" && sameRule(a[f], b[f]) {
			continue
		}
		if of != "" || f == "topology" && !deadAndHealthy(a[f], b[f]) {
			return "", false
		}
		of = f
	}
	return of, of != ""
}

func deadAndHealthy(a, b string) bool {
	return strings.HasPrefix(a, "ft44") && strings.HasPrefix(b, "ft44")
}

// sameRule reports whether two routings are the same where no link is dead.
func sameRule(a, b string) bool {
	return strings.TrimSuffix(a, "-next") == strings.TrimSuffix(b, "-next")
}
