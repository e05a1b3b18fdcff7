package wire

// A Window is what a rank does in exchanges that follow one another in one order, without
// phases and barriers. Windows follow one another in the order of From; the worker begins
// one when all of its exchanges are granted.
//
// A fragment may start when the one before it on the send port has left, and a token has
// come from each rank in Await. A token is sent by who has received the fragment that was
// there before, on the receive port, the up-link or the down-link.
type Window struct {
	Run   uint32
	Epoch uint32 // of the plan
	From  uint64 // first exchange
	Count int    // of the exchanges
	Quiet bool   // nothing is under way when it begins: no token follows from windows before

	Sends Turns // in the order of the send port
	Takes Takes // in the order of the receive port
	Tells Tells
}

// To is the exchange after the last.
func (w *Window) To() uint64 { return w.From + uint64(w.Count) }

// A Turn is a fragment to be sent. The fragment is that of the event which To builds in
// the exchange.
type Turn struct {
	Exchange  int // from 0 in the window
	To, Spine int
	Await     []int // ranks, this one too: then what is awaited is its own receiving
}

// A Take is a fragment to be received.
type Take struct {
	Exchange    int
	From, Spine int
}

// A Tell is a token to be sent once a fragment has been received.
type Tell struct {
	After int // number of the Take, from 0; below 0 in the windows before, -1 the last of them
	To    int
	Send  int // which Turn of To in this window it is for, from 0
}
