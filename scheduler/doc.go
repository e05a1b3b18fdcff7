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
//   - A formula says who meets whom: LinearShift, XOR, BandwidthOptimal (formula.go) and the forms
//     for dead spines, Published and ForsClosed (published*.go, closed*.go).
//   - FORS computes the fewest phases that the live cables allow, with a path for each message.
//   - "repair:" and a name keeps that schedule and moves the messages that have lost their path
//     (package repair).
//
// Pin looks for the paths of a schedule that has none.
//
// # Exchanges of any network
//
// A Problem is hosts, links with room and share, messages, and the candidate paths of each message: the one of given
// tables, or one for each source port that is known. A Plan gives each message a phase and a path. Planners are
// functions of it, and know no network:
//
//	package  from                                       to
//	order    one path a message                         phases; in steps with lengths where links are slow
//	balance  several                                    a path each such that the fullest link is emptiest, then order
//	list     the live paths of a tree, and bytes        a start and a path for each fragment, without phases
//
// A Proof is a time that no plan goes below, with weights of links (Prove): a single link is the simplest, and to find
// the best weights is the dual of a linear program. To find the fewest phases is NP-hard where paths are given.
//
// # The steps of FORS
//
// FORS has the name and the aim of thesis chapter 6. The thesis finds phases by a formula for
// uniform failures (6.3) and spines by an integer program for each phase (6.5). Here both follow, for
// any failures, from edge colourings, in polynomial time. Each step takes the result of the one
// before:
//
//	step     package    from                               to
//	bound    split      a tree, its dead links, roles      at least B phases, with a witness
//	balance  split      n_a·n_b messages a pair of leaves  messages a pair and spine, link load ≤ K
//	phases   phases     messages of a pair and spine       a phase for each, no cable twice in one
//	lift     phases     phases of pairs of leaves          phases of pairs of servers
//	cables   slots      lanes of a spine                   parallel cables, in the end
//
// Packages are those of scheduler/internal; fattree is the tree as they see it, with servers and leaves
// numbered from 0, and slots the table that the result fills. A schedule of max(S-1, K) phases exists
// for each split: so the number of phases is decided by bound and balance alone, and B = K proves it
// least.
//
// # Few paths
//
// On InfiniBand the address holds the spine, so how many spines a leaf uses towards a destination
// decides addresses and table entries (thesis 6.7.2). The objectives paths and balanced choose
// spines before phases (package paths): a rotation where leaves are alike (phases), else a spread of
// destinations over spines (spread.go, over parallel cables cables.go) and a search for phases
// (timing.go, swap.go) that König's theorem does not promise. FORS without an
// objective is what remains where that search ends empty.
//
// # Three levels
//
// Package pods takes the place of balance and phases where top switches are scarce, and finds top
// switches.
package scheduler
