// Package pods plans three levels of switches: pods of leaves and planes, and above each plane its top
// switches.
//
// Planes are the spines of two levels, and a message between pods takes a top switch of its plane. In a
// phase the messages of a plane between pods are edges of a bipartite multigraph of pods and pods, and top
// switches are its colours. Where a plane has as many live top switches as a pod has leaves, all of their
// links alive, König's theorem gives the colours: no pod sends more messages over the plane than it has
// leaves. If all planes are such, the two lower levels are planned alone (lower.go), as two levels, and
// tops.go colours each phase.
//
// Otherwise a top switch is a list of colours, which differ between pairs of pods, and list edge colouring
// is NP-complete. So the search has the top switches in view from the start:
//
//	split     messages over planes, links to top switches among the loads    split.go
//	phases    each a perfect matching of cables, as in package phases        exchange.go
//	exchange  cycles of two phases change places until planes find top switches
//	place     what is left over goes to other planes or phases, or added ones place.go
//	tops      a top switch for each message                                  tops.go
//
// There phases may exceed the bound. Plan tries several numbers of phases and keeps the best.
//
// Few paths: where pods are alike a rotation, else one path for each leaf and destination and list
// scheduling (paths.go, streams.go). Pin finds planes and top switches for the phases of a schedule that
// has none (pin.go).
package pods
