package verify_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"evbench/verify"
)

const head = "# evbench plan 1\n# topology FT(2;2,2)\n"

// Hand-written plans may leave out what has a default, say a whole spine, be in
// any order and use any blanks; the hash is that of the canonical text.
func TestReadHandWritten(t *testing.T) {
	canonical := judgeHash(t, "# evbench plan 1\n# topology FT(2;2,2)\n# fill 2,2\n# down leaf0-spine1,leaf1-spine1\n0 0 1 -\n1 0 2 0\n1 3 1 0\n")
	for _, text := range []string{
		"\n## mine\n#  evbench  plan 1\n# down spine1\n# topology FT( 2; 2 ,2)\n# x-note anything\n\n1\t3  1 0\r\n## between\n0 0 1 -\n   \n 1 0 2 0",
		"# evbench plan 1\n# topology FT(2;2,2)\n# fill 2, 2\n# spines 2\n# down leaf1-spine1, leaf0-spine1, spine1\n1 0 2 0\n1 3 1 0\n0 0 1 -\n",
		` {"messages":[[1,3,1,0],[1,0,2,0],` + "\n" + `[ 0 , 0, 1, -1 ]],"schema":"evbench/plan/1","x-note":{"a":["}\"{"]},"topology":"FT(2;2,2)","down":["spine1"]} ` + "\n",
	} {
		if got := judgeHash(t, text); got != canonical {
			t.Errorf("hash %s, want %s of\n%s", got, canonical, text)
		}
	}
}

// judgeHash returns the hash that the judge finds.
func judgeHash(t *testing.T, text string) string {
	t.Helper()
	f, err := verify.Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(f.Messages) != 3 || f.Routing != "pinned" || f.Schedule != "" {
		t.Fatalf("%+v\n%s", f, text)
	}
	f.Hash = "?"
	for _, o := range verify.Check(f, verify.Options{First: 100}).Offences {
		if _, h, ok := strings.Cut(o.Text, "canonical text has "); ok {
			return h
		}
	}
	t.Fatal("no hash found wrong")
	return ""
}

func TestReadErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", " \n ", "empty: a plan file starts with"},
		{"not a plan", "hello\n", `line 1: not a plan file: it starts with "# evbench plan 1"`},
		{"another file", "# something else\n", "line 1: not a plan file"},
		{"version", "\n# evbench plan 2\n", `line 2: plan version "2"; version 1 is read`},
		{"no topology", "# evbench plan 1\n0 0 1 -\n", "no topology"},
		{"notation", "# evbench plan 1\n# topology 4x8\n", `line 2: topology "4x8": write FT(2;M0,M1)`},
		{"one server", "# evbench plan 1\n# topology FT(2;1,1)\n", "line 2: 1 servers"},
		{"too many servers", "# evbench plan 1\n# topology FT(2;254,4096)\n", "line 2: 1040384 servers: plans of at most 16384 are judged"},
		{"fill", head + "# fill 2,x\n", `line 3: fill "2,x": entry 1, "x", is not a number`},
		{"overfull", head + "# fill 2,3\n", "line 3: fill of leaf1 = 3: must be 0..2"},
		{"spines", head + "# spines 0\n", "line 3: 0 spines: must be at least 1"},
		{"spines not a number", head + "# spines many\n", `line 3: spines "many" is not a number`},
		{"too many spines", head + "# spines 999\n", "line 3: 999 spines: must be 1..254"},
		{"down", head + "# down leaf0-spine1,leaf9-spine0\n", `line 3: no link "leaf9-spine0"; FT(2;2,2) has leaf0..leaf1 and spine0..spine1`},
		{"routing", head + "# routing pined\n", `line 3: no routing "pined"; there are pinned, none, ftree`},
		{"phases", head + "# phases 0\n", "line 3: 0 phases: must be at least 1"},
		{"bound without witness", head + "# bound 3\n", `line 3: bound "3": write a number of phases and what proves it`},
		{"unknown witness", head + "# bound 3 luck\n", `line 3: no witness "luck"; there are server, leaf0..leaf1 and lp`},
		{"bound 0", head + "# bound 0 server\n", "line 3: a bound of 0 phases"},
		{"unknown header", head + "# colour red\n", `line 3: unknown header "colour"; there are topology, fill, spines, down, schedule, routing, phases, bound, hash, x-…`},
		{"header twice", head + "# phases 3\n# phases 3\n", `line 4: header "phases" a second time, after line 3`},
		{"no value", head + "# down\n", `line 3: header "down" has no value`},
		{"no key", head + "#\n", "line 3: a header line without a key"},
		{"late header", head + "0 0 1 -\n# phases 3\n", `line 4: "# phases 3": header lines come before the first message`},
		{"three columns", head + "0 0 1\n", `line 3: "0 0 1": no spine; a message is "phase src dst spine"`},
		{"five columns", head + "0 0 1 - 4\n", "line 3: \"0 0 1 - 4\": more than four columns"},
		{"word", head + "0 0 1 -\n0 a 1 -\n", `line 4: "0 a 1 -": src is not a number`},
		{"negative", head + "-1 0 1 -\n", "phase is not a number"},
		{"dash for dst", head + "0 0 - -\n", "dst is not a number"},
		{"run together", head + "0 0 1x -\n", "dst is not a number"},
		{"huge", head + "0 0 99999999999999999999 -\n", "dst is larger than 16777216"},
		{"endless", head + strings.Repeat("0 0 1 -\n", 70000), "line 65563: more than 65560 messages; all pairs of 4 servers are 12"},
		{"long line", head + "# x-" + strings.Repeat("a", 1<<22) + "\n", "line 3: longer than 4194304 bytes"},
	} {
		_, err := verify.Read(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestReadJSONErrors(t *testing.T) {
	doc := func(fields string) string {
		return "{\"schema\":\"evbench/plan/1\",\n\"topology\":\"FT(2;2,2)\",\n" + fields + "}"
	}
	weights := func(w string) string { return doc(`"bound":{"phases":3,"kind":"lp","weights":[` + w + `]}`) }
	for _, tt := range []struct{ name, text, want string }{
		{"empty object", "{}", `schema ""; "evbench/plan/1" is read`},
		{"schema", `{"schema":"evbench/plan/2"}`, `schema "evbench/plan/2"`},
		{"cut off", `{"schema":"evbench`, "line 1: the document ends in the middle"},
		{"cut off in a message", doc(`"messages":[[0,0`), "line 3: "},
		{"no colon", `{"schema" 1}`, "line 1: '1' where ':' should be"},
		{"no comma", `{"schema":"a" "b"}`, `line 1: '"' where ',' or '}' should be`},
		{"more", doc(`"phases":3`) + "\n{}", "line 4: '{' after the end of the document"},
		{"unknown field", doc(`"colour":1`), `line 3: unknown field "colour"; there are schema, topology`},
		{"field twice", doc(`"topology":"x"`), `line 3: field "topology" a second time, after line 2`},
		{"wrong type", doc(`"phases":"3"`), "line 3: phases: json: cannot unmarshal string"},
		{"missing value", doc(`"phases":`), "line 3: phases: unexpected end of JSON input"},
		{"key", `{schema:1}`, "line 1: a field's name: invalid character"},
		{"down", doc(`"down":["leaf5-spine0"]`), `line 3: down: no link "leaf5-spine0"`},
		{"fill", doc(`"fill":[2]`), "line 3: fill: fill names 1 leaves"},
		{"float", doc(`"messages":[[0,0,1.5,0]]`), "messages[0]: line 3: '.' where ',' should be"},
		{"word", doc(`"messages":[[0,a,1,0]]`), "messages[0]: line 3: src is not a whole number"},
		{"negative phase", doc(`"messages":[[-1,0,1,0]]`), "phase is not a whole number"},
		{"spine -2", doc(`"messages":[[0,0,1,-1],[1,0,1,-2]]`), "messages[1]: line 3: spine is neither a number nor -1"},
		{"spine -11", doc(`"messages":[[0,0,1,-11]]`), "spine is neither a number nor -1"},
		{"huge", doc(`"messages":[[0,99999999999,1,0]]`), "src is larger than 16777216"},
		{"three columns", doc(`"messages":[[0,0,1]]`), "messages[0]: line 3: ']' where ',' should be"},
		{"not a list", doc(`"messages":{}`), "line 3: '{' where '[' should be"},
		{"endless", doc(`"messages":[` + strings.Repeat("[0,0,1,-1],", 70000) + `[0,0,1,-1]]`), "line 3: messages: more than 65560; all pairs of 4 servers are 12"},
		{"weight off the tree", weights(`{"link":"leaf7-spine0","direction":"up","weight":1}`), `line 3: bound: weights[0]: no link "leaf7-spine0"`},
		{"weight on a spine", weights(`{"link":"spine0","direction":"up","weight":1}`), `weights[0]: "spine0" is not a link`},
		{"direction", weights(`{"link":"leaf0-spine0","direction":"left","weight":1}`), `weights[0]: direction "left": must be up`},
		{"negative weight", weights(`{"link":"leaf0-spine0","direction":"up","weight":-1}`), "weights[0]: -1 is negative"},
		{"weight twice", weights(`{"link":"leaf0-spine0","direction":"up","weight":1},{"link":"leaf0-spine0","direction":"up","weight":1}`), "weights[1]: leaf0-spine0 up has a weight already"},
		{"long value", doc(`"schedule":"` + strings.Repeat("a", 1<<22) + `"`), "line 3: a value longer than 4194304 bytes"},
	} {
		_, err := verify.Read(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A reader that fails is not a plan that ends.
func TestReadPassesReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"", head + "0 0 1 -\n", `{"schema":"evbench/plan/1"`, `{"schema":"evbench/plan/1","topology":"FT(2;2,2)"}`} {
		_, err := verify.Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("after %q: error %v, want %v", text, err, broken)
		}
	}
}

// What Read states is what the file states.
func TestReadStates(t *testing.T) {
	d := greedy("dead", tree(t, optionsOf(2, 3)))
	for _, text := range []string{d.text(), d.json(t)} {
		f, err := verify.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if f.Schedule != "test" || f.Routing != "pinned" || f.Phases != d.phases || fmt.Sprint(f.Bound.Phases, " ", f.Bound.Kind) != d.bound ||
			f.Hash != d.stated() || f.Tree.Notation() != "FT(2;2,3)" || len(f.Messages) != len(d.messages) {
			t.Errorf("%+v", f)
		}
	}
}
