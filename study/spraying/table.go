package spraying

import (
	"fmt"

	"evbench/internal/unit"
	"evbench/results"
	"evbench/study/survey"
)

// Table is a set of figures for printing.
func Table(o Options, figures []Figure) *survey.Table {
	queues := "a FIFO for each lane"
	if o.Network.PerOutput {
		queues = "a queue for each output"
	}
	out := survey.NewTable("spraying", o.Tree.Notation(), []string{
		fmt.Sprintf("%s, %d servers, fragments of %s, packets of %s, input buffers with %s",
			o.Tree.Notation(), o.Tree.Servers(), unit.Bytes(o.Fragment), unit.Bytes(o.Network.Packet), queues),
		fmt.Sprintf("links of %s, barrier %s with rounds of %s, servers late by up to %s, seed %d", unit.Rate(o.BitPerSec), o.Barrier, o.Round, o.Jitter, o.Seed),
		"share: of its link that a server received, mean of all, median of the draws of dead links; from, to: of the draws",
		"least, most: the servers that received least and most; in phases: share while no barrier is under way",
		"early: of all bytes, those that came before some sent earlier; held: the most that a server kept until these came",
		"half, p99: within which half and 99 % of the events were built",
	}, []survey.Column{
		survey.NewColumn("dead", "dead_links", 0), survey.NewColumn("buffer", "buffer_packets", 0), survey.NewColumn("lanes", "lanes", 0),
		survey.NewColumn("way", "way", 0), survey.NewColumn("draws", "draws", 0),
		survey.NewColumn("share", "share", 3), survey.NewColumn("from", "share_min", 3), survey.NewColumn("to", "share_max", 3),
		survey.NewColumn("in phases", "share_in_phases", 3),
		survey.NewColumn("least", "least_server", 3), survey.NewColumn("most", "most_server", 3),
		survey.NewColumn("early %", "early_percent", 1), survey.NewColumn("held KiB", "held_kib", 0),
		survey.NewColumn("half ms", "half_ms", 3), survey.NewColumn("p99 ms", "p99_ms", 3),
	})
	for _, f := range figures {
		var phases any
		if f.Way.Mode == results.Sync {
			phases = f.Phases.Median
		}
		out.Add(f.Dead, f.Buffer, f.Lanes, f.Way.Name, f.Runs, f.Share.Median, f.Share.Min, f.Share.Max, phases,
			f.Least.Median, f.Most.Median, 100*f.Early.Median, f.Held.Median/1024, 1e3*f.Half.Median, 1e3*f.Late.Median)
	}
	return out
}
