package wire

// A Window is the work of a rank in consecutive exchanges, in one order, without phases and
// barriers. Windows follow one another in the order of From. The worker begins a window when all
// its exchanges are granted.
//
// A fragment may start when the one before it on the send port has left, and a token has arrived
// from each rank in Await. The sender of a token has received the previous fragment of the receive
// port, the up-link or the down-link.
type Window struct {
	Run   uint32
	Epoch uint32 // of the plan
	From  uint64 // first exchange
	Count int    // of the exchanges
	Quiet bool   // no fragment is under way when it begins: no token follows from earlier windows

	Sends Turns // in the order of the send port
	Takes Takes // in the order of the receive port
	Tells Tells
}

// To is the exchange after the last.
func (w *Window) To() uint64 { return w.From + uint64(w.Count) }

// A Turn is a fragment to send, of the event that To builds in the exchange.
type Turn struct {
	Exchange  int // from 0 in the window
	To, Spine int
	Await     []int // ranks; this rank itself stands for its own receive
}

// A Take is a fragment to receive.
type Take struct {
	Exchange    int
	From, Spine int
}

// A Tell is a token to send after a receive.
type Tell struct {
	After int // index of the Take, from 0; below 0 in earlier windows, -1 is their last Take
	To    int
	Send  int // index of the Turn of To in this window, from 0
}
