// Package twolevel answers: which next hop does each switch of a two-level tree take for
// each destination, by the exact rules that plans are made with, and what do those routes do
// (reach, loops, dead links, link loads)?
//
// It decides and counts; it runs no command and touches no kernel.
package twolevel

// The engines of this package, by their names on the command line.
const (
	Ftree  = "ftree"  // spine = destination rank mod spines; plans have OpenSM's, equal on whole trees
	MinHop = "minhop" // broken entries to the least used live spine, ties to the lowest
	Spread = "spread" // the same, ties rotated by source leaf
	ECMP   = "ecmp"   // every live spine, the kernel hashes
	Pinned = "pinned" // the plan's own paths, one per message
)
