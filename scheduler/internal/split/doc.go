// Package split answers: over which spines do the messages of each pair of leaves go, such that the
// busiest link carries least, and what proves that no split is better?
//
// Let x(a,b,k) be the messages from leaf a to leaf b over spine k. They are n_a·n_b for each pair,
// and no link may carry more than K a cable. In a phase a cable carries one message, so K phases are
// needed; package phases shows that max(S-1, K) suffice.
//
// Bound (bound.go, hall.go) is the largest of four, each with a witness in integers: the messages of
// a server; what leaves a leaf over its live cables (thesis 5.4.1, equation 5.1); what a leaf has for
// a set of leaves over the spines that it shares with them (Hall's condition, found as the minimum cut
// of a transportation problem); and weights y on the links, the dual of the linear program above
// without "integer". By weak duality any y ≥ 0 proves a bound,
//
//	Σ over pairs of n_a·n_b·min over k of (y of the links) ≤ K·Σy,
//
// so the weights may come from anywhere, here from the loads of the descent, rounded to integers.
//
// Balance splits in three steps. The fluid (fluid.go) is fractional: it descends pair by pair on the
// loads above a ceiling until none is, or the loads that remain prove the ceiling too low, and are
// the weights of the bound. Rounding (split.go) leaves links a message too full; chains of moves put
// that right (chain.go). That whole messages reach the bound of the fractions is not proven:
// three-dimensional transportation is NP-hard, and its matrix not totally unimodular. No tree is known
// where they do not.
package split
