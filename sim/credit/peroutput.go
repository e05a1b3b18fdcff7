package credit
type perOutput struct{}
func newPerOutput(e *Engine) *perOutput {return nil}
func (*perOutput) offer(e *Engine, h int32, pkt int32, at Time) {}
func (*perOutput)	handle(e *Engine, ev event){}
func (*perOutput)	used(e *Engine, ch int32) int64{return 0}
