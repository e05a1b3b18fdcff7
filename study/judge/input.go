// Package judge answers: is a measured all-to-all exchange good, for its network? It does so in three steps, and a file uses only
// those of its own step and before (TestFilesUseThoseBefore has their order):
//
//   - Facts. The network with the hosts of the job is a fabric; what was measured is a foreign.Result. From these come plain
//     values, without opinion: the most that the network with its dead links could do (AtMost), the limit of forwarding tables
//     (Tables), rates of pairs beside the links that they share (Pairs), and what repairs, other tables, another order of messages and
//     a planned schedule would give. Judge puts them together, a Verdict.
//   - Findings. Each is a clause about some facts beside what they are held against, with what is not known about it.
//     answer.Decide makes the word and the first sentence of them all.
//   - Writers. Text and page say the answer and list the facts; JSON is the Verdict itself.
//
// The link rate is the rate of hosts' cables; efficiencies are shares of it at which hosts receive from each other.
// Slower links count with their own rate. The package opens no file and reads no clock.
package judge

import (
	"fmt"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/study/judge/foreign"
)

// An Input is the input of Judge.
type Input struct {
	Name       string           // of the network, for people
	Whole, Net *network.Network // with and without what is dead
	Roots      []network.Node   // top switches, nil where not given
	Hosts      network.Job
	// Readers and Builders are lists as topology.WithRoles takes them; "": all.
	Readers, Builders string
	Tables            *lft.Tables     // nil: none are judged
	Bytes             []int64         // what adapters send each other, by src·adapters + dst; nil: messages of one size
	Result            *foreign.Result // nil: none is judged
	Rate              float64         // of links, bit/s; 0: not known
	Good              Thresholds

	ResultFile, TablesFile string // for errors, "" where they are from none

	// Flags name the network, its dead parts and the hosts, for further commands.
	Flags []string
	Again []string // the flags of the result
}

// Thresholds say from which share on something is good; 0: as usual.
type Thresholds struct {
	Exchange float64 // the exchange, of the possible rate
	Pairs    float64 // the usual pair, of the link rate: one connection of TCP, or one process, does not fill a fast link
	Pair     float64 // a pair, of the usual one
}

// Usual are the usual thresholds.
var Usual = Thresholds{Exchange: 0.95, Pairs: 0.75, Pair: 0.8}

const (
	planHosts  = 1024 // up to which a schedule is made and other engines are tried
	boundHosts = 8192 // up to which trees of two levels have a bound; those of three: planHosts
	tooGood    = 1.02 // times what is possible: more than what a measurement may be off
)

func within(file string, err error) error {
	if err == nil || file == "" {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// notes are what people should know beside the figures.
type notes []string

func (n *notes) add(format string, a ...any) { *n = append(*n, fmt.Sprintf(format, a...)) }

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// readTables is the engine name that package lft gives to tables that it has read.
const readTables = "file"

func origin(engine string) string {
	if engine == readTables {
		return "the tables given"
	}
	return "engine " + engine
}
