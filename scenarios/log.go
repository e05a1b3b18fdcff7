// Package scenarios answers: which examples are there? It holds their texts, for where the
// files are not.
package scenarios

import _ "embed" // of files beside this one

// FailuresLHCb is failures-lhcb.log: two months of failures of FT(2;20,18), CSV. It is not
// LHCb's log, which is not published: it was drawn with the counts of thesis 4.1
// (study/policy/lhcblog_test.go).
//
//go:embed failures-lhcb.log
var FailuresLHCb string
