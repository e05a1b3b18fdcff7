// Package failover decides what to do when links fail or come back during event building: repair
// the tables at once, make a new plan, install its routes beside the old ones, change the plan
// between two exchanges, remove the old routes.
//
// It is a state machine without a clock, a goroutine or a socket: it gets events with their times,
// and answers with the next actions (see Machine). Package failover/loop executes the actions,
// which take any time. So the same machine also runs in virtual time, over two months of a failure
// log.
//
// Times are durations since any fixed moment.
package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/topology"
)

// A Policy is the reaction to dead links.
type Policy string

// Policies, in order of effort.
const (
	None     Policy = "none"      // nothing, until the link is back
	MinHop   Policy = "minhop"    // tables are re-routed, broken entries to the spine with fewest
	Spread   Policy = "spread"    // the same, rotated by source leaf
	Unsync   Policy = "unsync"    // tables by spread, without phases while a link is dead
	FORS     Policy = "fors"      // the plan with the fewest phases for the live links
	FORSHold Policy = "fors+hold" // the same; a link that came back is unused until it has stayed up for Options.hold
)

// Reorder is the policy on networks of any shape, whose tables others change: these are read again, and the
// messages get the best order over them.
const Reorder Policy = "reorder"

// Policies lists the policies on trees.
func Policies() []Policy { return []Policy{None, MinHop, Spread, Unsync, FORS, FORSHold} }

// DefaultHold is how long a link must have stayed up before it is used again.
const DefaultHold = 10 * time.Minute

// A LinkEvent is a report of one end of a leaf-spine link.
type LinkEvent = topology.LinkEvent

// Options of a Machine.
type Options struct {
	// Tree is the tree of the plan in use. Its dead links count as down.
	Tree *topology.Tree
	// Aid: routing tables are repaired at once, before anything is planned.
	Aid bool
	// replan: a plan for the live links is made, installed and adopted.
	replan bool
	// hold is how long a link must have been up, without a flap, before it is used again; 0: at
	// once.
	hold time.Duration
	// Debounce is how long after the first event of a change planning waits for more: a dead switch
	// takes many links down, and both ends of each report it. Aid does not wait.
	Debounce time.Duration
	// retry is the pause after a failed attempt. After attempts attempts the machine keeps the
	// routes in place and reports that.
	retry    time.Duration
	attempts int
	// Wait: while failures leave servers without a path to each other, the machine waits
	// for a link to return. Otherwise it ends the run.
	Wait bool
	// Limit is the longest such wait; its end ends the run, too. 0: forever. If the policy does
	// nothing about dead links, it is how long they are allowed.
	Limit time.Duration
}

// An Event is one of End, Moved, Aided, Planned, Installed, Updated, Switched, Cleaned, Looked, WorkerLost
// and Tick. Answers to an action carry its ID.
type Event interface{ event() }

type (
	// End is a report of one end of a link. Several are handled one after the other; pass the
	// machine all known ones before executing its actions, best in one call.
	End struct {
		Link   topology.Link
		Leaf   bool
		Up     bool
		Reread bool
	}
	// Moved says that the network has other tables, by whoever manages them: a plan over them is made.
	Moved struct{}
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
		Plan     time.Duration // for looking up or computing it
		Verify   time.Duration // for judging it
		Phases   int
		Hash     string
		Err      error
		Disjoint string // not empty: these dead links leave no plan; names servers that cannot reach each other
	}
	// Installed answers Install.
	Installed struct {
		ID      int
		Changed int
		Err     error
	}
	// Updated answers Update: every worker has the plan, which holds from exchange From. With Err
	// no worker has adopted it; or, after one without Err, it is unknown whether it came into use,
	// and no Switched will follow.
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
	// Looked answers Look with the dead links, or with Err if they are unknown.
	Looked struct {
		Dead []topology.Link
		Err  error
	}
	// WorkerLost ends the case. The machine waits for actions under way and asks for no others.
	WorkerLost struct{ Reason string }
	// Tick only gives the time.
	Tick struct{}
)

func (End) event()        {}
func (Moved) event()      {}
func (Aided) event()      {}
func (Planned) event()    {}
func (Installed) event()  {}
func (Updated) event()    {}
func (Switched) event()   {}
func (Cleaned) event()    {}
func (Looked) event()     {}
func (WorkerLost) event() {}
func (Tick) event()       {}

// Disconnected is an error that says that servers have no path to each other, so that there is no plan.
type Disconnected interface {
	error
	Disconnected()
}

// A Source is where a plan came from.
type Source string

// Sources of plans.
const (
	Computed Source = "computed"
	Kept     Source = "kept" // made before: the same links had been dead
)

// An Action is one of Aid, MakePlan, Hold, Install, Update, Clean, Look, Allow and Stop. At most one of
// Aid, Install and Clean is under way at a time, beside one MakePlan, one Update and one Look. All
// but Hold, Allow and Stop are answered, in any order, by the event of the same ID; only a MakePlan that
// a newer change has overtaken needs no answer. The ID equals the ID of the Record; 0 means the plan the
// machine began with, whose routes are installed again.
type Action interface{ action() }

type (
	// Aid asks for tables, and detours for pinned paths, around these dead links. Paths are those
	// of the plan in use and, from Update on, of the plan being changed to. It also undoes a failed
	// Install. Repeated with the same ID it means that routes may be missing, since the state of a
	// link has changed meanwhile.
	Aid struct {
		ID   int
		Dead []topology.Link
	}
	// MakePlan asks for a judged plan for these dead links.
	MakePlan struct {
		ID   int
		Dead []topology.Link
	}
	// Hold asks for the workers to begin no exchange, and to have the plan of this ID at hand, while its
	// routes are written: Update follows, or another Hold. With ID 0 they go on as before.
	Hold struct{ ID int }
	// Install asks for the routes of the plan of this ID, beside those of the plan in use, read
	// back. Like Aid it may be repeated.
	Install struct{ ID int }
	// Update asks for the workers to take the plan of this ID from the next exchange on.
	Update struct{ ID int }
	// Clean asks for the routes of the plan in use only, read back.
	Clean struct{ ID int }
	// Look asks for reading which links are dead now: servers have no path to each other, and
	// before that ends the run, reports of returned links may still be missing.
	Look struct{}
	// Allow says that messages wait for links, and for how long from now on servers are not to
	// blame. Why is empty if the links are back. It replaces the previous one and is not answered.
	Allow struct {
		For time.Duration
		Why string
	}
	// Stop ends the run: no plan can go on.
	Stop struct{ Reason string }
)

func (Aid) action()      {}
func (MakePlan) action() {}
func (Hold) action()     {}
func (Install) action()  {}
func (Update) action()   {}
func (Clean) action()    {}
func (Look) action()     {}
func (Allow) action()    {}
func (Stop) action()     {}

// A Switch is the times of the workers' change to a new plan.
type Switch struct {
	From uint64 // the first exchange on the new plan

	Held     time.Duration // every worker had reported its last begun exchange
	InPlace  time.Duration // every worker had the plan
	LastOld  time.Duration // the last exchange on the old plan had ended everywhere; may be before InPlace
	FirstNew time.Duration // the first exchange on the new one had ended everywhere
}

// Add returns the switch with d added to every time.
func (s Switch) Add(d time.Duration) Switch {
	return Switch{From: s.From, Held: s.Held + d, InPlace: s.InPlace + d, LastOld: s.LastOld + d, FirstNew: s.FirstNew + d}
}

// A Record tells what was done about one change of the live links. Times of steps that did not
// happen are 0.
type Record struct {
	ID       int             // from 1
	Down, Up []topology.Link // changed since the record before, by leaf and spine
	Dead     []topology.Link // unused from here on
	Held     []topology.Link // of these, up but held out

	Seen      time.Duration // the first event had been read
	Aided     time.Duration // repaired tables were in place
	Planned   time.Duration // the plan was made
	Verified  time.Duration // the plan was judged
	Installed time.Duration // its routes were in place, and read back
	Updated   time.Duration // every worker had it
	Switch    Switch        // of the workers
	Cleaned   time.Duration // the routes of the old plan were gone

	Source        Source
	Phases        int
	Hash          string
	AidRoutes     int // routes written or deleted by Aid
	InstallRoutes int
	Attempts      int    // of installing; more than 1 after a failure
	Superseded    bool   // another change came before it was in use
	Err           string // why it is not in use, or why it took several attempts
	Disjoint      string // these servers cannot reach each other
	Done          bool   // no further action will follow
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
	names := lists.Map(Policies(), func(p Policy) string { return string(p) })
	return "", fmt.Errorf("unknown policy %q; policies are %s", name, strings.Join(names, ", "))
}

// Options returns the options of a machine that follows the policy, starting from a plan for the
// tree. Only FORSHold holds links out; a hold of 0 means DefaultHold.
func (p Policy) Options(tree *topology.Tree, hold time.Duration) Options {
	o := Options{
		Tree: tree, Aid: p != None, replan: p == Unsync || p == FORS || p == FORSHold || p == Reorder,
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
