// Package routing turns a view of a fabric into routes: for each switch and
// destination the next hop, by named engines, and what those routes do (reach,
// loops, dead links, link loads).
//
// It decides and counts; it runs no command and touches no kernel.
package routing

// The engines of this package, by their names on the command line.
const (
	Ftree  = "ftree"  // spine = destination rank mod spines; plans have OpenSM's, equal on whole trees
	MinHop = "minhop" // broken entries to the least used live spine, ties to the lowest
	Spread = "spread" // the same, ties rotated by source leaf
	ECMP   = "ecmp"   // every live spine, the kernel hashes
	Pinned = "pinned" // the plan's own paths, one per message
)
