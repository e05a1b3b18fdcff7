// Package scheduler decides which server sends to which, in which phase, and, where the schedule
// chooses paths, through which spine.
//
// In one phase a server sends to at most one server and hears from at most one. Over all phases
// every ordered pair of different servers meets exactly once, or each pair that has a path
// (Options.DropUnreachable). Servers are ranks 0..S-1 of a topology.Tree. The only random numbers
// are those of the seed: equal input, equal schedule, for any number of CPUs.
//
// ByName makes a schedule by its name on the command line, of one of three kinds:
//
//   - A formula says who meets whom: LinearShift, XOR, BandwidthOptimal (formula.go, levels.go) and
//     the forms for dead spines, Published and ForsClosed (published*.go, closed*.go).
//   - FORS computes the fewest phases that the live cables allow, with a path for each message.
//   - "repair:" and a name keeps that schedule and moves the messages that have lost their path.
//
// Pin looks for the paths of a schedule that has none.
//
// # The steps of FORS
//
// FORS has the name and the aim of thesis chapter 6, which writes the question as an integer
// program. Here it is answered by an edge colouring, in polynomial time. Each step takes the result
// of the one before:
//
//	bound     a tree, its dead links, its roles      at least B phases, with a witness
//	balance   n_a·n_b messages a pair of leaves      a load for each pair and spine, link load ≤ K
//	phases    the messages of each pair and spine    a phase for each, no cable twice in one
//	lift      phases of pairs of leaves              phases of pairs of servers
//	cables    lanes of a spine                       parallel cables, in the end
//
// Bound (bound.go, hall.go) takes the largest of four, each with a witness in integers: the
// messages of a server; what leaves a leaf over its live cables (thesis 5.4.1); what it has for a
// set of leaves over the spines that it shares with them (Hall); and weights on the links, the dual
// of the linear program that splits messages over spines.
//
// Balance splits the messages such that the largest link load is least. A fractional split
// (fluid.go) descends pair by pair on loads above a ceiling, until none is, or the loads that
// remain prove the ceiling too low: they are the weights of the bound. Rounding (split.go) leaves
// links a message too full; chains of moves put it right (repair.go). That whole messages reach the
// bound of the fractions is not proven: three-dimensional transportation is NP-hard. No tree is
// known where they do not.
//
// Phases colours a bipartite multigraph (phases.go, internal/coloring). Its nodes are the cables up
// and the cables down, its edges the messages. By König's theorem as many colours suffice as the
// fullest node has edges, max(S-1, K). Fillers make the graph regular, such that each leaf sends
// and hears no more than its servers can in a phase.
//
// Lift (lift.go) chooses the two servers of each message by two more colourings, one for each
// destination leaf and one for each source leaf, also by König's theorem.
//
// # Few paths
//
// On InfiniBand the address holds the spine, so how many spines a leaf uses towards a destination
// decides addresses and table entries (thesis 6.7.2). The objectives paths and balanced choose
// spines before phases (paths.go): a rotation where leaves are alike, else a spread of destinations
// over spines (paths_spread.go) and a search for phases (paths_timing.go) that König's theorem does
// not promise. FORS without an objective is what remains where that search ends empty.
//
// # Three levels
//
// Planes are the spines of two levels, and a message between pods takes a top switch of its plane
// (pods.go). Where the top switches suffice for any traffic of their leaves, the steps above run on
// planes, and a colouring for each phase finds top switches. Otherwise the split has top switches
// in view (pods_split.go), phases exchange messages until each plane can be coloured
// (pods_exchange.go), and what is left over goes to other planes or phases (pods_repair.go). There
// phases may exceed the bound.
//
// # Repair
//
// A repaired schedule (repairbase*.go) follows the fault-adaptive schedule of thesis 5.4.3,
// Algorithm 3: each phase keeps a largest b-matching of what its live links carry, the others go
// where a phase has room, or into added phases.
package scheduler
