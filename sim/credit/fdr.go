package credit

// FDRFlit is what a flit of 64 bytes takes on a link of InfiniBand FDR (four lanes of 14
// Gbit/s, of which the flit-level model that FDR describes counts 0.8: 5,600 MB/s), in
// picoseconds.
const FDRFlit Time = 11429

// FDRFlitBytes is the length of a flit of FDR.
const FDRFlitBytes = 64

// FDR returns switches and adapters of InfiniBand FDR as the public flit-level model of
// OMNeT++ has them (garyson/ib_flit_sim, which Zahavi, Keslassy and Kolodny used for "Quasi
// Fat Trees", HOTI 2014): packets of 2 KB, one lane, an input buffer of 50 KB with a queue
// for each output and three reads at a time, whole packets, the oldest head first, 100 ns a
// switch, half of it before the crossbar. Times are in picoseconds, for links of FDRFlit.
//
// 24 bytes go each 4 ns through a crossbar and 16 each 2.5 ns in a host. Credits are reported
// each 256 ns by 8 bytes, which the next link knows when they begin to arrive. A host's sink
// needs 9.6 ns for a flit from its first bit on; the last of a packet that came alone has
// waited 7.771 ns in it.
func FDR() Params {
	const ns = 1000
	return Params{
		Packet: 32, Lanes: 1, Buffer: 800,
		Organisation: PerOutput, Arbitration: Oldest, CutThrough: true, Reads: 3,
		Delay: 100*ns - FDRFlit, After: 50 * ns, OutputQueue: 78, Cross: 10667,
		InOrder: true, CreditAtEnds: true, Update: 256 * ns, Overhead: 1429,
		Host: HostParams{
			Generate: 9600, Cross: 10000, Ahead: 4, Queue: 36, Take: 9600, Behind: 7771 - FDRFlit,
		},
	}
}
