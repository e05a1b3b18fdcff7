package papers

const otherLog = "another log: that of the thesis is not published; there each port counts by itself and flapping periods were picked by hand"

const otherTimes = "edge colouring instead of an integer program on a commercial solver; another machine (theirs an i7-1165G7, 8 threads)"

const countModel = "ours is exact for Algorithm 2, the thesis rounds; its speedups \"close to 2\" are 1.9"

// differs says of each figure, on one line, why ours are not theirs.
var differs = map[string]string{
	"fig4.1": otherLog,
	"fig4.3": otherLog + "; of its 2605 failures 549 were tests, and its 70 % is of all, ours of what is left without tests",
	"fig4.4": otherLog,
	"fig4.5": "link loads of OpenSM's tables against a testbed. Min-Hop spreads destinations as Ftree does when all ports are in use; " +
		"with 326 servers its order slips from leaf to leaf, as the thesis reports, and how far depends on the fill, which is not stated",
	"fig4.7": "non-synchronised: flows share links max-min fairly and all sources are asked at once, which uses the busiest link up; queues that block each other, which cost the testbed a third without failures, are not in it; " +
		"the healthy throughput is taken from the thesis for full phases, and 326 servers leave a tenth of the linear shift's phases empty",
	"fig4.8": "the overhead of a phase is taken as fixed, a choice made with both results known; the other reading is a series. With all ports in use every port serves 17 destinations, so that all single failures cost the same; on the testbed it was 9 to 26, hence 82 to 120. " +
		"Ours of 326 servers spread likewise, by the fill, which is not stated. Non-synchronised has no queues that block each other, see fig4.7, and how many sources are asked at a time is not stated: ours all; in the other series fragments leave a server one after the other",
	"sec4.4": "the small difference of two models, and non-synchronised has no queues that block each other, see fig4.7; the policies are reckoned on another log",
	"fig5.7": countModel + "; \"two\" at reduction 1 is 1.89; at reduction 2 its own BO/FS of 1.8 (5.5) gives LS/BO 1.0, as ours; 0.9 is ours, 0.95, from 3 on",
	"fig5.9": "the text states none of the factors; those of FORS are over S-1 phases, those of the equation over S",

	"fig5.10": countModel,
	"fig5.11": countModel,
	"fig5.12": countModel,
	"fig5.13": otherTimes,
	"fig6.5": "link loads against a testbed: it lost 141 to 137 with FORS and one dead link; ours needs no more phases then, 359, or 325 with 326 servers, than without. " +
		"Non-synchronised has no queues that block each other, see fig4.7; with FORS no link is as busy as a server that takes 142.71 Gbit/s. The fill with 326 servers is not stated",
	"sec6.6.3": otherTimes,
	"sec6.7.2": "the same reckoning gives the same number; plans that keep to few paths need LMC 0, one address for each server, at a few more phases",
}
