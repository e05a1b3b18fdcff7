package results

// A Failover describes the reaction to one change of live links while events were built. Times are
// seconds since the case's measured part began. The time of a step that did not happen is null in
// JSON, and empty in failovers.csv.
type Failover struct {
	Case   string   `json:"-" col:"case" unit:"" key:"yes"`
	Repeat int      `json:"-" col:"repeat" unit:""`
	ID     int      `json:"id" unit:"" key:"yes"` // from 1, in a case
	Down   []string `json:"down,omitempty" unit:""`
	Up     []string `json:"up,omitempty" unit:""`
	Dead   []string `json:"dead" unit:""`           // what is not used from then on
	Held   []string `json:"held,omitempty" unit:""` // of these, up but held out

	FailoverTimes

	Source     string `json:"source,omitempty" unit:""` // "computed" or "kept"
	Phases     int    `json:"phases,omitempty" unit:"phase"`
	PlanHash   string `json:"plan_hash,omitempty" unit:""`
	From       uint64 `json:"from_exchange,omitempty" unit:"exchange"`
	Routes     int    `json:"routes_changed" unit:"route"`
	Attempts   int    `json:"attempts,omitempty" unit:""`
	Superseded bool   `json:"superseded,omitempty" unit:""`
	Reason     string `json:"reason,omitempty" unit:""` // why it is not in use, or took more than one attempt; first FromOutside

	// Events per second of each server, computed from the payload of all: before the change, from
	// the change to the end of the first exchange on the new plan (of the repair, if that is all),
	// and after it, until the next change. Null: too short to tell, unlike 0.
	BeforeEventsPerSec *float64 `json:"before_events_per_s" unit:"event/s"`
	DuringEventsPerSec *float64 `json:"during_events_per_s" unit:"event/s"`
	AfterEventsPerSec  *float64 `json:"after_events_per_s" unit:"event/s"`
}

// FailoverTimes are the times of the steps.
type FailoverTimes struct {
	SetSec       *float64 `json:"set_s" unit:"s"`       // the link was changed, where evbench did it
	SeenSec      *float64 `json:"seen_s" unit:"s"`      // the event had been read
	AidedSec     *float64 `json:"aided_s" unit:"s"`     // first aid was in place
	PlannedSec   *float64 `json:"planned_s" unit:"s"`   // the plan was there
	VerifiedSec  *float64 `json:"verified_s" unit:"s"`  // and judged
	InstalledSec *float64 `json:"installed_s" unit:"s"` // its routes were in place and read back
	UpdatedSec   *float64 `json:"updated_s" unit:"s"`   // every worker had it
	LastOldSec   *float64 `json:"last_old_s" unit:"s"`  // the last exchange on the old plan had ended
	FirstNewSec  *float64 `json:"first_new_s" unit:"s"` // the first on the new plan had ended
	CleanedSec   *float64 `json:"cleaned_s" unit:"s"`   // old routes were gone
}

// Failovers returns the fail-overs of all cases, each with the name of its case.
func (s Summary) Failovers() []Failover {
	var out []Failover
	for _, c := range s.Cases {
		for _, f := range c.Failovers {
			f.Case, f.Repeat = c.Name, c.Repeat
			out = append(out, f)
		}
	}
	return out
}

// FromOutside begins the reason of a record about links that changed without evbench.
const FromOutside = "changed from outside"
