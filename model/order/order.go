// Package order answers: what does an exchange over the forwarding tables of a network promise, whose messages stand in
// the best order found, and how is that plan written? The order is of package scheduler/order.
package order

import (
	"evbench/scheduler"
	"evbench/scheduler/order"
	"evbench/scheduler/schedules"
)

// Name is the schedule's name.
const Name = schedules.PathColoring

// None is the phase of a pair without a message.
const None = scheduler.None

// A Problem is an exchange over tables, a Schedule its order.
type (
	Problem  = order.Exchange
	Schedule = scheduler.Plan
)
