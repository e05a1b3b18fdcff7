// Package failover decides what to do while events are being built and links die or
// come back: repair the tables at once, plan anew, put new routes in place before the
// old ones go, change the plan between two exchanges, take the old routes away.
//
// It is a state machine without a clock, a goroutine or a socket: it is told what
// happened and when, and answers with what to do next (see Machine). What it asks for
// is done elsewhere (package failover/loop), and takes as long as it takes; so the same
// machine also runs in virtual time, over two months of a failure log.
//
// Times are durations since any fixed moment.
package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/topology"
)

// A Policy is what is done about dead links.
type Policy string

// Policies, in order of what they do.
const (
	None     Policy = "none"      // nothing, until the link is back
	MinHop   Policy = "minhop"    // tables are re-routed, broken entries to the spine with fewest
	Spread   Policy = "spread"    // the same, rotated by source leaf
	Unsync   Policy = "unsync"    // tables by spread, and no phases while a link is dead
	FORS     Policy = "fors"      // the plan with the fewest phases for what is alive
	FORSHold Policy = "fors+hold" // the same; a link that came back is not used until it has stayed up for long
)

// Policies lists the valid names.
func Policies() []Policy { return []Policy{None, MinHop, Spread, Unsync, FORS, FORSHold} }

// DefaultHold is how long a link must have stayed up before it is used again.
const DefaultHold = 10 * time.Minute

// A LinkEvent is what one end of a leaf-spine link says about it.
type LinkEvent = topology.LinkEvent

// Options of a Machine.
type Options struct {
	// Tree is what the plan in use is for. Links dead in it are taken to be down.
	Tree *topology.Tree
	// Aid: routing tables are repaired at once, before anything is planned.
	Aid bool
	// replan: a plan for what is alive is made, installed and changed to.
	replan bool
	// hold is how long a link must have been up, without a flap, before it counts as
	// alive again; 0: at once.
	hold time.Duration
	// Debounce is how long after the first event of a change planning waits for more: a
	// dead switch takes many links with it, and both ends of each report it. Aid does
	// not wait.
	Debounce time.Duration
	// retry is how long after a failed attempt the next begins; attempts is how many
	// there are before the machine stays with what is in place, and says so.
	retry    time.Duration
	attempts int
	// Wait: while failures leave servers without a path to each other, the machine waits
	// for a link to return. Otherwise it ends the run.
	Wait bool
	// Limit is for how long at most it waits; that ends the run, too. 0: for ever. Where
	// nothing is done about dead links, it is for how long they are allowed.
	Limit time.Duration
}

// An Event is what happened: End, Aided, Planned, Installed, Updated, Switched, Cleaned,
// Looked, WorkerLost or Tick. Those that answer an action carry its ID.
type Event interface{ event() }

type (
	// End is what one end of a link says. Several are handled one after the other; give
	// the machine all that are known before doing what it asks for, best in one call.
	End struct {
		Link   topology.Link
		Leaf   bool
		Up     bool
		Reread bool
	}
	// Aided answers Aid.
	Aided struct {
		ID      int
		Changed int // routes
		Err     error
	}
	// Planned answers MakePlan.
	Planned struct {
		ID       int
		Source   Source
		Plan     time.Duration // what looking up or computing took
		Verify   time.Duration // what judging took
		Phases   int
		Hash     string
		Err      error
		Disjoint string // not empty: these dead links leave no plan; which servers cannot reach each other
	}
	// Installed answers Install.
	Installed struct {
		ID      int
		Changed int
		Err     error
	}
	// Updated answers Update: every worker has the plan, which holds from exchange From.
	// With Err nobody has taken it; or, after one without, nobody knows whether it has
	// come into use: no Switched will follow.
	Updated struct {
		ID   int
		From uint64
		Err  error
	}
	// Switched follows Updated: the last exchange on the old plan has ended everywhere,
	// and the first on the new one is done.
	Switched struct {
		ID     int
		Switch Switch
	}
	// Cleaned answers Clean.
	Cleaned struct {
		ID      int
		Changed int
		Err     error
	}
	// Looked answers Look: these links are dead, or with Err nobody can say.
	Looked struct {
		Dead []topology.Link
		Err  error
	}
	// WorkerLost ends it: the case cannot go on. What is under way is waited for, and
	// nothing else is asked for.
	WorkerLost struct{ Reason string }
	// Tick says only what time it is.
	Tick struct{}
)

func (End) event()        {}
func (Aided) event()      {}
func (Planned) event()    {}
func (Installed) event()  {}
func (Updated) event()    {}
func (Switched) event()   {}
func (Cleaned) event()    {}
func (Looked) event()     {}
func (WorkerLost) event() {}
func (Tick) event()       {}

// A Source is where a plan came from.
type Source string

// Sources of plans.
const (
	Computed Source = "computed"
	Kept     Source = "kept" // it was there already: links had been dead like this before
)

// An Action is what is to be done: Aid, MakePlan, Install, Update, Clean, Look, Allow or Stop. At most
// one of Aid, Install and Clean is under way at a time, and one MakePlan, one Update and one
// Look beside it. All but Allow and Stop are answered, in whatever order, by the event of the same ID, but for a
// MakePlan that a newer change has overtaken: nobody waits for that. The ID is that of the
// Record; 0 means the plan the machine began with, whose routes are put in place again.
type Action interface{ action() }

type (
	// Aid asks for tables, and detours for paths that are pinned, around these dead
	// links. Paths are those of the plan in use and, from Update on, of the plan that is
	// being changed to. It also undoes what a failed Install has left. With the same ID
	// again, routes may be missing: something has happened to a link meanwhile.
	Aid struct {
		ID   int
		Dead []topology.Link
	}
	// MakePlan asks for the plan of these dead links, judged.
	MakePlan struct {
		ID   int
		Dead []topology.Link
	}
	// Install asks for the routes of the plan of this ID, beside those of the plan in
	// use, read back. Like Aid it can be asked for again.
	Install struct{ ID int }
	// Update asks for the workers to take the plan of this ID from the next exchange on.
	Update struct{ ID int }
	// Clean asks for the routes of the plan in use only, read back.
	Clean struct{ ID int }
	// Look asks which links are dead now, by reading them: servers have no path to each
	// other, and before that ends the run, links that are back may not have been heard yet.
	Look struct{}
	// Allow says that messages wait for links, and for how long from now on that is no
	// fault of a server. Why is empty where the links are back. It replaces the one before
	// and is not answered.
	Allow struct {
		For time.Duration
		Why string
	}
	// Stop ends the run: no plan can go on.
	Stop struct{ Reason string }
)

func (Aid) action()      {}
func (MakePlan) action() {}
func (Install) action()  {}
func (Update) action()   {}
func (Clean) action()    {}
func (Look) action()     {}
func (Allow) action()    {}
func (Stop) action()     {}

// A Switch is how workers came to a new plan.
type Switch struct {
	From uint64 // the first exchange on the new plan

	Held     time.Duration // every worker had said how far it has begun
	InPlace  time.Duration // every worker had the plan
	LastOld  time.Duration // the last exchange on the old plan had ended everywhere; may be before InPlace
	FirstNew time.Duration // the first exchange on the new one had ended everywhere
}

// Add returns the switch with d added to every time.
func (s Switch) Add(d time.Duration) Switch {
	return Switch{From: s.From, Held: s.Held + d, InPlace: s.InPlace + d, LastOld: s.LastOld + d, FirstNew: s.FirstNew + d}
}

// A Record tells what was done about one change of what is alive. A time is 0 where that did not
// happen.
type Record struct {
	ID       int             // from 1
	Down, Up []topology.Link // what changed since the record before, by leaf and spine
	Dead     []topology.Link // what is not used from here on
	Held     []topology.Link // of these, up but held out

	Seen      time.Duration // the first event had been read
	Aided     time.Duration // repaired tables were in place
	Planned   time.Duration // the plan was there
	Verified  time.Duration // and judged
	Installed time.Duration // its routes were in place, and read back
	Updated   time.Duration // every worker had it
	Switch    Switch        // how it came into use
	Cleaned   time.Duration // the routes of the old one were gone

	Source        Source
	Phases        int
	Hash          string
	AidRoutes     int // routes written or deleted by first aid
	InstallRoutes int
	Attempts      int    // of installing; more than 1 after a failure
	Superseded    bool   // another change came before it was in use
	Err           string // why it is not in use, or why it took more than one attempt
	Disjoint      string // these servers cannot reach each other
	Done          bool   // nothing more is done about it
}

// Defaults of Policy.Options.
const (
	defaultDebounce = time.Millisecond
	defaultRetry    = 100 * time.Millisecond
	defaultAttempts = 5
)

// ParsePolicy returns the policy of a name.
func ParsePolicy(name string) (Policy, error) {
	if p := Policy(name); slices.Contains(Policies(), p) {
		return p, nil
	}
	names := make([]string, 0, len(Policies()))
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown policy %q; policies are %s", name, strings.Join(names, ", "))
}

// Options returns the options of a machine that follows the policy, from a plan for the
// tree. Only FORSHold holds links out; a hold of 0 means DefaultHold.
func (p Policy) Options(tree *topology.Tree, hold time.Duration) Options {
	o := Options{
		Tree: tree, Aid: p != None, replan: p == Unsync || p == FORS || p == FORSHold,
		Debounce: defaultDebounce, retry: defaultRetry, attempts: defaultAttempts,
	}
	if p == FORSHold {
		o.hold = hold
		if hold <= 0 {
			o.hold = DefaultHold
		}
	}
	return o
}
