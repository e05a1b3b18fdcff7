package papers

// A statement is a number that the text of a paper gives, and the row it belongs to.
type statement struct {
	series string
	x      float64
	Stated
}

func says(series string, x float64, of Statistic, value float64, where, quote string) statement {
	return statement{series, x, Stated{of, value, "thesis " + where, quote}}
}

// stated holds, by figure, every number that we hold ours against. What the figures
// of the thesis only draw is not in it. A quote is the text's words.
var stated = map[string][]statement{
	"fig4.1": {
		says("interval", 600, Mean, 90, "4.1.2", "90% of the failures observed during the flapping period of the observed flapping links have a time interval of less than 10 minutes"),
	},
	"fig4.3": {
		says("as logged", 10, Mean, 33, "4.1.2", "33% of the observed failures have a duration of less than 10 seconds"),
		says("as logged", 60, Mean, 88, "4.1.2", "88% of observed failures are short-lived, lasting less than a minute"),
		says("as logged", 600, Mean, 97, "4.1.2", "97% conclude within 10 minutes"),
		says("corrected", 60, Mean, 24, "4.1.2", "24% of the failures lasting less than 1 minute"),
		says("corrected", 600, Mean, 60, "4.1.2", "60% lasting less than 10 minutes"),
		says("failures", 0, Mean, 2056, "4.1.4", "2056 were real network failures"),
		says("flaps", 0, Mean, 1778, "4.1.2", "1778 are attributed to flaps"),
		says("flapping periods", 0, Mean, 287, "4.1.2", "these flaps were reduced to 287 failures"),
		says("isolated", 0, Mean, 278, "4.1.4", "there remain 278 isolated failures"),
		says("share of flaps", 0, Mean, 70, "4.1.2", "nearly 70% of the failures result from flapping links"),
		says("longest", 0, Mean, 3, "4.1.2", "the longest failures lasting around 3 days"),
	},
	"fig4.4": {
		says("links that failed", 0, Mean, 150, "4.1.3", "150 links in the Event Builder network failed at least once"),
		says("days without failures", 0, Mean, 28, "4.1.3", "We observed 28, not necessarily consecutive, days without any failures"),
		says("consecutive days without failures, at most", 0, Mean, 6, "4.1.3", "a maximum of 6 consecutive days without failures"),
		says("failures of a link on a day, at most", 0, Mean, 200, "4.1.3", "more than 200 failures on a single day"),
	},
	"fig4.5": {
		says("Ftree", 0, Mean, 144, "4.2.2", "dropping from approximately 144 Gbps to 87 Gbps with just a single network failure"),
		says("Ftree to Min-Hop", 0, Mean, 144, "4.2.2", "dropping from approximately 144 Gbps to 87 Gbps with just a single network failure"),
		says("Ftree to Min-Hop", 1, Mean, 87, "4.2.2", "dropping from approximately 144 Gbps to 87 Gbps with just a single network failure"),
		says("Ftree, 326 servers", 0, Mean, 144, "4.2.2", "dropping from approximately 144 Gbps to 87 Gbps with just a single network failure"),
		says("Ftree to Min-Hop, 326 servers", 1, Mean, 87, "4.2.2", "dropping from approximately 144 Gbps to 87 Gbps with just a single network failure"),
		says("Min-Hop", 0, Mean, 53, "4.2.2", "Min-Hop performs really poorly with an average throughput of 53 Gbps per server"),
		says("Min-Hop, ports drawn", 0, Mean, 53, "4.2.2", "Min-Hop performs really poorly with an average throughput of 53 Gbps per server"),
		says("Min-Hop, ports drawn, 326 servers", 0, Mean, 53, "4.2.2", "Min-Hop performs really poorly with an average throughput of 53 Gbps per server"),
		says("Min-Hop, 326 servers", 0, Mean, 53, "4.2.2", "Min-Hop performs really poorly with an average throughput of 53 Gbps per server"),
	},
	"fig4.7": {
		says("synchronised", 18, Mean, 46, "2.3.3", "the actual total throughput achieved by the DAQ application is approximately 46 Tbps"),
		says("synchronised, credit", 18, Mean, 46, "2.3.3", "the actual total throughput achieved by the DAQ application is approximately 46 Tbps"),
		says("gain of synchronisation, credit", 18, Mean, 15, "4.3.3", "a throughput gain of about 15 Tbps over the non-synchronized all-to-all"),
		says("gain of synchronisation, full racks", 18, Mean, 15, "4.3.3", "a throughput gain of about 15 Tbps over the non-synchronized all-to-all"),
	},
	"fig4.8": {
		says("synchronised", 0, Median, 142.71, "4.3.4", "from a median of 142.71 Gbps without failures to 89.6 Gbps"),
		says("synchronised", 1, Median, 89.6, "4.3.4", "from a median of 142.71 Gbps without failures to 89.6 Gbps"),
		says("synchronised", 1, Min, 82, "4.3.4", "the minimum achieved throughput per server for a single failure with synchronized exchange is 82 Gbps"),
		says("synchronised", 1, Max, 120, "4.3.4", "while the maximum value is 120 Gbps"),
		says("synchronised, 326 servers", 1, Median, 89.6, "4.3.4", "from a median of 142.71 Gbps without failures to 89.6 Gbps"),
		says("synchronised, 326 servers", 1, Min, 82, "4.3.4", "the minimum achieved throughput per server for a single failure with synchronized exchange is 82 Gbps"),
		says("synchronised, 326 servers", 1, Max, 120, "4.3.4", "while the maximum value is 120 Gbps"),
		says("synchronised, overhead by load", 1, Median, 89.6, "4.3.4", "from a median of 142.71 Gbps without failures to 89.6 Gbps"),
		says("non-synchronised, 326 servers", 1, Median, 95.2, "4.4", "the non-synchronized application achieves a median throughput of 95.2 Gbps per server"),
		says("non-synchronised", 1, Median, 95.2, "4.4", "the non-synchronized application achieves a median throughput of 95.2 Gbps per server"),
		says("synchronised, credit, 326 servers", 0, Median, 142.71, "4.3.4", "from a median of 142.71 Gbps without failures to 89.6 Gbps"),
		says("synchronised, credit, 326 servers", 1, Median, 89.6, "4.3.4", "from a median of 142.71 Gbps without failures to 89.6 Gbps"),
		says("non-synchronised, credit, 326 servers", 1, Median, 95.2, "4.4", "the non-synchronized application achieves a median throughput of 95.2 Gbps per server"),
		says("non-synchronised, sender overhead", 1, Median, 95.2, "4.4", "the non-synchronized application achieves a median throughput of 95.2 Gbps per server"),
	},
	"sec4.4": {
		says("one dead link, synchronised", 0, Median, 29.2, "4.4", "the total application throughput during a failure is 29.2 Tbps for the synchronized application"),
		says("one dead link, non-synchronised", 0, Median, 31, "4.4", "compared to 31 Tbps for the non-synchronized application"),
		says("one dead link, synchronised, credit", 0, Median, 29.2, "4.4", "the total application throughput during a failure is 29.2 Tbps for the synchronized application"),
		says("one dead link, non-synchronised, credit", 0, Median, 31, "4.4", "compared to 31 Tbps for the non-synchronized application"),
		says("one dead link, difference, credit", 0, Median, 1.8, "4.4", "the synchronized application loses 1.8 Tbps compared to the non-synchronized one"),
		says("one dead link, difference", 0, Median, 1.8, "4.4", "the synchronized application loses 1.8 Tbps compared to the non-synchronized one"),
		says("one dead link, difference over 6.1e5 s", 0, Median, 1.1e6, "4.4", "a total loss of approximately 1.1×10^6 Tb over the months of March and April"),
	},
	"fig5.7": {
		says("LS", 1, Mean, 1.88, "5.5", "the slowdown of LS is 1.875, 1.88, and 1.9375, respectively, with a bandwidth reduction of 1"),
		says("BO", 1, Mean, 1, "5.5", "the slowdown of BO is 1, 1, and 1.5"),
		says("LS/BO", 1, Mean, 2, "5.3", "the bandwidth-optimal compared to the linear-shift scheduling shows a speedup factor of two"),
		says("LS/BO", 2, Mean, 0.9, "5.3", "the ratio is 0.9 and is closer to 1 when the bandwidth reduction increases"),
	},
	"examples": {
		says("BO, one dead link", 1, Mean, 4, "5.3", "The total duration of the all-to-all exchange in this case is of four unit of time"),
		says("LS, one dead link", 1, Mean, 4, "5.3", "the total duration of the all-to-all exchange in this scenario is four units of time"),
		says("equation 5.1", 2, Mean, 12, "5.4.1", "needs 12 phases to execute its full external exchange"),
		says("repair of bandwidth-optimal", 2, Mean, 12, "5.4.1", "moved to the additional phases P[8..11]"),
		says("moved, all", 2, Mean, 8, "5.4.1", "destination servers marked with the symbol \"*\" need to be removed from the original phases and moved"),
		says("equation 5.1", 3, Mean, 38, "6.2", "which means that we need at least 6 additional phases for the rescheduling of the communications"),
		says("moved, from leaf0", 3, Mean, 28, "6.2", "resulting in 28 communications that need to be rescheduled for the leaf switch 0"),
		says("moved, from leaves with a dead link", 3, Mean, 112, "6.2", "This totals 112 (28×4) communications that need to be rescheduled"),
	},
	"fig5.10": adaptive(1.875, 1, 1, 8),
	"fig5.11": adaptive(1.88, 1, 1, 10),
	"fig5.12": adaptive(1.9375, 1.5, 1.4, 8),
	"fig5.13": {
		says("computation", 8, Mean, 148.69, "5.6", "with a bandwidth reduction of 8 takes an average of 148.69 seconds"),
	},
	"fig6.5": {
		says(scenarioSeries[0], 1, Mean, 87.5, "6.6.2", "from 87-88 Gbps with the current approach to 137 Gbps with the failure scenario"),
		says(scenarioSeries[0]+", total", 0, Mean, 46, "7.1.1", "a global throughput reduction from 46 Tbps to 28 Tbps"),
		says(scenarioSeries[0]+", total", 1, Mean, 28, "6.6.2", "a total network throughput increase from 28 Tbps to 44 Tbps on average"),
		says(scenarioSeries[1]+", total", 1, Mean, 31, "7.1.1", "a global throughput reduction from 46 Tbps to 31 Tbps"),
		says(scenarioSeries[1]+", total", 1, Mean, 30, "7.1.3", "other approaches achieve, at best, 30 Tbps"),
		says("FORS", 0, Mean, 141, "7.1.3", "it achieves a throughput of 137 Gbps per server compared to 141 Gbps without failures"),
		says("FORS", 1, Mean, 137, "6.6.2", "from 87-88 Gbps with the current approach to 137 Gbps with the failure scenario"),
		says("FORS, total", 1, Mean, 44, "6.6.2", "a total network throughput increase from 28 Tbps to 44 Tbps on average"),
		says("FORS, total", 7, Mean, 43, "6.8", "tolerating the failure of two spine switches, with throughput decreasing from 44 Tbps to 43 Tbps"),
		says(scenarioSeries[0]+", 326 servers", 1, Mean, 87.5, "6.6.2", "from 87-88 Gbps with the current approach to 137 Gbps with the failure scenario"),
		says("FORS, 326 servers", 1, Mean, 137, "6.6.2", "from 87-88 Gbps with the current approach to 137 Gbps with the failure scenario"),
		says("FORS, 326 servers", 0, Mean, 141, "7.1.3", "it achieves a throughput of 137 Gbps per server compared to 141 Gbps without failures"),
	},
	"sec6.6.3": {
		says("computation", 0, Mean, 29.72, "6.6.3", "is 29.72 seconds, with a minimum value of 27.399 seconds and a maximum value of 37.554 seconds"),
		says("computation", 0, Min, 27.399, "6.6.3", "with a minimum value of 27.399 seconds"),
		says("computation", 0, Max, 37.554, "6.6.3", "a maximum value of 37.554 seconds"),
	},
	"sec6.7.2": {
		says("entries, any schedule", 0, Mean, 10469, "6.7.2", "each switch has 32 × 326 + 37 = 10,469 entries"),
		says("entries, any schedule, a path an entry"+larger, 0, Mean, 46728, "6.7.2", "computed as SP × S + L + SP = 36 × (36 × 36) + 36 + 36 = 46,728"),
		says("entries, any schedule"+larger, 0, Mean, 46728, "6.7.2", "computed as SP × S + L + SP = 36 × (36 × 36) + 36 + 36 = 46,728"),
		says("LMC, any schedule", 0, Mean, 5, "6.7.2", "the LMC value used to implement the FORS routing solution is 5"),
		says("entries, FORS with fewest phases", 0, Mean, 10469, "6.7.2", "each switch has 32 × 326 + 37 = 10,469 entries"),
		says("entries, FORS with fewest paths", 0, Mean, 10469, "6.7.2", "each switch has 32 × 326 + 37 = 10,469 entries"),
	},
	"dmodc5": {
		other("dmodc", 34992, Median, 1, dmodcPaper+" abstract", manyNodes),
		other("dmodc, 1 % of cables dead", 34992, Median, 1, dmodcPaper+" abstract", manyNodes),
	},
	"qft2": {
		other("PGFT, 8 ports", 64, Median, 8, quasiPaper+" I.B", "is twice the number in the PGFT topology, i.e., 16 versus 8 hosts"),
		other("QFT, 8 ports", 64, Median, 16, quasiPaper+" I.B", "is twice the number in the PGFT topology, i.e., 16 versus 8 hosts"),
		other("QFT/PGFT, 36 ports", 5832, Median, 2, quasiPaper+" I.B", largerGroups),
		other("QFT/PGFT, 36 ports", 1944, Median, 6, quasiPaper+" I.B", largerGroups),
		other("QFT/PGFT, 48 ports", 2304, Median, 12, quasiPaper+" I.B", largerGroups),
	},
	"memo-table1": restartSays(),
	"jobs-efi": {
		other("sssp", 0, Max, 160, slides+" Fig. 6", hotspot),
		other("sar-published", 0, Max, 60, slides+" Fig. 6", hotspot),
		other("sar", 0, Max, 60, slides+" Fig. 6", hotspot),
	},
	"qft-table1": {
		other("ftree, PGFT", 5832, Median, 4, quasiPaper+" Table I", "PGFT(3;18,9,36;1,9,18;1,2,1) 5832 4 1"),
		other("qft, PGFT", 5832, Median, 1, quasiPaper+" Table I", "PGFT(3;18,9,36;1,9,18;1,2,1) 5832 4 1"),
		other("qft, QFT", 5832, Median, 1, quasiPaper+" Table I", "QFT(3;18,9,36;1,9,18;1,2,1) 5832 NA 1"),
		other("ftree, PGFT", 34992, Median, 478, quasiPaper+" Table I", "PGFT(4;18,3,18,36;1,3,18,18;1,6,1,1) 34992 478 18"),
		other("qft, PGFT", 34992, Median, 18, quasiPaper+" Table I", "PGFT(4;18,3,18,36;1,3,18,18;1,6,1,1) 34992 478 18"),
		other("qft, QFT", 34992, Median, 17, quasiPaper+" Table I", "QFT(4;18,3,18,36;1,3,18,18;1,6,1,1) 34992 NA 17"),
	},
	"memo-time": {
		other("opensm-minhop", 1152, Median, 150, memoPaper+" section 1", "Inspected run time of OpenSM routing stage was ~2.5min on 1100 nodes cluster"),
	},
	"qft8": {
		quasiSays("updn-scatter", 2620, "Fig. 8", saturatesShifts),
		quasiSays("ftree", 4400, "Fig. 8", saturatesShifts),
		quasiSays("ftree with ports drawn", 4400, "Fig. 8", saturatesShifts),
		quasiSays("qft", 5700, "Fig. 8", saturatesShifts),
	},
	"qft9": {
		quasiSays("updn-scatter", 2480, "Fig. 9", saturatesRandom),
		quasiSays("ftree", 2740, "Fig. 9", saturatesRandom),
		quasiSays("qft", 2740, "Fig. 9", saturatesRandom),
	},
}

// other is a number that another paper than the thesis states.
func other(series string, x float64, of Statistic, value float64, where, quote string) statement {
	return statement{series, x, Stated{of, value, where, quote}}
}

const (
	manyNodes    = "complete re-routing of networks with tens of thousands of nodes in less than a second"
	largerGroups = "commonly 2x, but may be as large as 6x when using 36-port switches, or even reach 12x for 48-port switches"
	hotspot      = "Hotspot (max. EFI) reduction from 160 to 60"

	saturatesShifts = "show saturation at 2620MB/s, 4400MB/s, and the full link bandwidth 5700MB/s respectively"
	saturatesRandom = "show saturation at 2480MB/s, 2740MB/s and 2740MB/s respectively"
)

// quasiSays is what "Quasi Fat Trees" says of where a routing saturates.
func quasiSays(engine string, value float64, where, quote string) statement {
	return other(engine+quasiMost, quasiMessage, Median, value, quasiPaper+" "+where, quote)
}

// quasiMost is the end of the names of these series.
const quasiMost = ", most of 4536 hosts"

// adaptive is what thesis 5.5 says of Figures 5.10, 5.11, 5.12; half is half the
// links of a leaf.
func adaptive(ls, bo, boFS, half float64) []statement {
	const slow, fast = "the slowdown of LS is 1.875, 1.88, and 1.9375, respectively", "the slowdown of BO is 1, 1, and 1.5"
	return []statement{
		says("LS", 1, Mean, ls, "5.5", slow),
		says("BO", 1, Mean, bo, "5.5", fast),
		says("FS", 1, Mean, 1, "5.5", "For a bandwidth reduction of 1, the slowdown of FS is approximately 1"),
		says("LS/FS", 1, Mean, 2, "5.5", "The speedup of FS compared to LS is close to 2 with a bandwidth reduction of 1 for all topologies"),
		says("BO/FS", 1, Mean, boFS, "5.5", "Compared to BO, the speedup of FS is 1, 1, and 1.4"),
		says("BO/FS", 2, Mean, 1.8, "5.5", "It increases to approximately 1.8 for all topologies with a bandwidth reduction of 2"),
		says("BO", half, Mean, 2, "5.5", "reaching approximately 2 for all topologies when only half the bandwidth is available"),
		says("LS/FS", half, Mean, 1.02, "5.5", "decreases to 1.02 as the bandwidth reduction approaches half the available bandwidth"),
		says("BO/FS", half, Mean, 1.03, "5.5", "then decreases to 1.03 as the bandwidth reduction reaches half the available bandwidth"),
	}
}

const otherLog = "another log: that of the thesis is not published, and the shipped one was drawn with its counts, so that what was put in agrees and proves nothing. " +
	"In the thesis each port counts by itself, flapping periods were picked by hand"

const otherTimes = "edge colouring instead of an integer program on a commercial solver; another machine (theirs an i7-1165G7, 8 threads)"

const countModel = "ours is exact for Algorithm 2, the thesis rounds; its speedups \"close to 2\" are 1.9"

const repairModel = countModel + ". FS by the repair itself has as many phases as equation 5.1 gives, found by edge colouring instead of an integer program"

// differs says of each figure, on one line, why ours are not theirs.
var differs = map[string]string{
	"fig4.1": otherLog,
	"fig4.3": otherLog + "; of its 2605 failures 549 were tests, and its 70 % is of all, ours of what is left without tests",
	"fig4.4": otherLog,
	"fig4.5": "link loads of OpenSM's tables against a testbed. The order with dead links is the thesis': Ftree to Min-Hop, Ftree, Min-Hop and Up-Down. " +
		"Three conditions decide. How ports are chosen: OpenSM 3.3.23 takes the first of those with least load, so that Min-Hop is as Ftree when all ports are in use, and slips from leaf to leaf with 326 servers; drawn, it comes near 53. " +
		"How links die: if one by one, each with its sweep, Ftree to Min-Hop falls to Ftree at ten. The fill, which is not stated: it decides what one dead link costs. " +
		"AR: when a port counts as congested is not published",
	"fig4.7": "credit: with packets that wait for each other the gain is there; what decides is one FIFO for each input port, see docs/evidence/synchronising.md. The others, non-synchronised: flows share links max-min fairly and all sources are asked at once, which uses the busiest link up; queues that block each other, which cost the testbed a third without failures, are not in it; " +
		"the healthy throughput is taken from the thesis for full phases, and 326 servers leave a tenth of the linear shift's phases empty",
	"fig4.8": "the overhead of a phase is taken as fixed, a choice made with both results known; the other reading is a series. With all ports in use every port serves 17 destinations, so that all single failures cost the same; on the testbed it was 9 to 26, hence 82 to 120. " +
		"Ours of 326 servers spread likewise, by the fill, which is not stated. Non-synchronised has queues that block each other in the series credit only, see fig4.7, and how many sources are asked at a time is not stated: ours all; in the other series fragments leave a server one after the other",
	"sec4.4": "the small difference of two models, and non-synchronised has queues that block each other in the rows credit only, see fig4.7; the policies are reckoned on a log that was drawn, see fig4.3",
	"fig5.7": countModel + "; \"two\" at reduction 1 is 1.89; at reduction 2 its own BO/FS of 1.8 (5.5) gives LS/BO 1.0, as ours; 0.9 is ours, 0.95, from 3 on",
	"examples": "none in time units and phases. Of FT(2;4,8) the thesis counts what leaves with a dead link send and must not send at once; " +
		"what they receive has to be spread as well, over spines that differ from leaf to leaf, so that more moves, and from all leaves",
	"fig5.9": "the text states none of the factors; those of FORS are over S-1 phases, those of the equation over S",

	"fig5.10": repairModel,
	"fig5.11": repairModel,
	"fig5.12": repairModel,
	"fig5.13": otherTimes,
	"fig6.5": "link loads against a testbed: it lost 141 to 137 with FORS and one dead link; ours needs no more phases then, 359, or 325 with 326 servers, than without. " +
		"Non-synchronised has queues that block each other in the series credit only, see fig4.7; with FORS no link is as busy as a server that takes 142.71 Gbit/s. The fill with 326 servers is not stated",
	"sec6.6.3": otherTimes,
	"dmodc5": "another machine (theirs a 2.5 GHz Xeon E5-2680 v3, 24 threads at most), Go instead of C99; the text states no number of its curves but that of the abstract, " +
		"an upper limit for tens of thousands of nodes",
	"dmodc-risk": "the study is in another paper, which this one cites as [12]: networks, patterns and numbers are not stated. " +
		"It finds dmodc comparable or better over the whole range",
	"qft2": "6 at 36 ports is that of three leaves with the same parents; two, which the paper's rule allows, give 9. " +
		"The FT(3;4,2,8;1,2,8) of its Figure 1 (a) has 48 switches and ten ports at some, the 40 of the caption come with w3 = 4",
	"qft3":       "the paper states no number; it finds that QFT saturates later. Its jobs are of different sizes and have 300 hosts on average, which leaves a fifth idle",
	"qft-table1": "another machine, all CPUs; whole seconds there. NA is said of ftree on QFT, which Figure 8 of the paper runs",
	"dmodc-load": "the paper states nothing of load. Counting flows gives what permutations get, within 5 %, but not the order under shifts without a barrier: " +
		"ftree loses more than dmodc by it, and sssp least",
	"jobs-load": "the slides state nothing of load. What is best by the fullest cable is last: sssp leads all routes to a host down one cable, " +
		"where they meet at the host anyway; the others split them and let them meet those to other hosts",
	"jobs-efi": "neither the tree nor where the jobs are is printed. Ours has 60 by its look ahead; the algorithm as printed has 87. " +
		"It lets all leaves follow the weights from before a host, and these differ by leaf as soon as the order or the count is by job: the " +
		"routes to a host split, and a cable that already has all of one host gets parts of others; sssp leads those to one host down one cable",
	"memo-time":   "another machine, the algorithm that the memo proposes (hops by switch) instead of the one that it measured, and no subnet to be swept",
	"memo-table1": "the rules are the memo's; where entries are invalid in part (the last cable between switches, one of several, a LID) it says which, not how many",
	"qft8": "the paper gives neither the length of messages nor the order of cables, on which OpenSM's ftree depends: see docs/evidence/quasi.md; " +
		"5700 MB/s is above its own link of 5600",
	"qft9": "the paper does not give the length of messages, which decides: see docs/evidence/quasi.md",
	"sec6.7.2": "the same reckoning gives the same number; plans that keep to few paths need LMC 0, one address for each server, at a few more phases. " +
		"For FT(2;36,36) the thesis reckons without the power of two of its 10,469: 36 spines need LMC 6, 64 addresses a server, and 83,015 do not fit into " +
		"the 49,151 unicast addresses of InfiniBand",
}
