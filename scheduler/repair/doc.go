// Package repair keeps the phases of a schedule, and moves the messages that the live links cannot carry
// in them, mostly to phases added at the end.
//
// It follows the fault-adaptive schedule FS of thesis 5.4.3, Algorithm 3, for any base, failures and
// fill, with colourings in the place of its integer program:
//
//  1. Each phase keeps what the live links of its leaves, and pods, carry: a largest b-matching,
//     changed where that spreads the moved messages more evenly (keep.go).
//  2. The messages kept get spines by list edge colouring. What it leaves over moves too.
//  3. A moved message goes where a phase has its servers and a spine free (fit.go).
//  4. The others go into as few added phases as servers and leaves allow, by König's theorem
//     (addPhases), and get spines as in 2. What is left over goes through 3 again.
//
// FORS is optimal, this result is not. On three levels planes are the spines, and each message with a
// plane also gets a top switch, from package pods.
package repair
