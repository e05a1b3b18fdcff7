package answer

import "fmt"

// A Question is what a command answers.
type Question struct {
	Ask  string // ends with a question mark
	None string // the sentence where nothing was found, and nothing doubted
}

// About fills in what the question is about, where its text has a place for that.
func (q Question) About(what ...any) Question {
	q.Ask = fmt.Sprintf(q.Ask, what...)
	return q
}

// The table of questions: all that commands answer.
var (
	// Of runs, measured and simulated.
	Speed  = Question{"How fast are events built?", "No case was measured."}
	Cost   = Question{"What do the dead links cost?", "No case was measured."}
	Death  = Question{"What does a link cost that dies during the run?", "No case was measured."}
	Follow = Question{"How long does a dead link cost, and how much?", "No link died while events were built."}
	Load   = Question{"Does the network take the events that a clock offers?", "No case was measured."}
	Knee   = Question{"Which rate of events does the network take without dead time?", "No rate was measured."}
	Reach  = Question{"What would these plans reach?", "No case was simulated."}
	Time   = Question{"Where did the time go?", "No case has a prediction to compare with."}
	Near   = Question{"How far are predictions from what was measured?", "No case was measured."}
	Worse  = Question{"Is %s worse than %s?", "Both runs hold no case that can be compared."}

	// Of plans.
	Takes   = Question{"How long does the exchange take?", "No plan was made."}
	Without = Question{"How long does the exchange take without %s?", "No plan was made."}
	Order   = Question{"In which order of messages is the exchange shortest over these tables?", "No order was made."}
	Start   = Question{"When does each fragment start so that the exchange is shortest over these tables?", "No order was made."}
	Hosts   = Question{"In which order of hosts does the collective take the fewest steps?", "No order was made."}
	Valid   = Question{"Are these scenarios valid?", "No scenario was given."}
	Claims  = Question{"Is this plan what it claims to be?", "Nothing was checked."}

	// Of networks, their tables and their failures.
	Ways       = Question{"Which way do connections between these hosts take, by source port?", "No path was found."}
	Connect    = Question{"Do these tables connect all hosts?", "No pair of hosts was looked at."}
	Exchange   = Question{"Is this all-to-all exchange good for its network?", "No result was given."}
	Collective = Question{"Is this collective good for its network?", "No result was given."}
	Changes    = Question{"What do the new tables change?", "No table was given."}
	Convert    = Question{"Which network was written?", "No network was written."}
	Restore    = Question{"Are the links up that a run took down?", "No link was looked at."}
	Wrapped    = Question{"How fast does the program exchange, with the plan and without?", "The program made no MPI_Alltoall or MPI_Alltoallv."}
	Install    = Question{"Do the switches take the paths of this plan?", "Nothing was checked."}
	Replay     = Question{"Which failures of the log does the scenario replay?", "The log holds no failure."}
	WhatIf     = Question{"What does the death of %s cost?", "No set of links was looked at."}
	Over       = Question{"What does an exchange take, in the best order over the tables, when cables die?", "No set of cables was looked at."}
	Policy     = Question{"Which policy loses least over this log of failures?", "The log holds no failure."}
	Failures   = Question{"How often do links fail, and for how long?", "The log holds no failure."}

	// Of machines and work.
	Lab    = Question{"Can a lab run on this machine?", "Nothing was looked at."}
	Fits   = Question{"Does the lab of %s fit on this machine?", "Nothing was looked at."}
	Host   = Question{"Can this machine carry a worker?", "Nothing was looked at."}
	Slow   = Question{"What makes these machines slow before any run?", "Nothing was looked at."}
	Health = Question{"Is every server and cable as fast as usual?", "No burst was measured."}
	Shard  = Question{"Is shard %s done?", "No set of the shard was done."}
)
