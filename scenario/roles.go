package scenario

import (
	"fmt"
	"strings"

	"evbench/builder"
	"evbench/topology"
)

func roleList(p *string) value {
	return tested(p, anyWord, func(s string) bool { return strings.TrimSpace(s) != "" }, "servers and leaves, such as server0-11,leaf3")
}

// withRoles sets a tree with the scenario's readers and builders. name is the field of an error.
func (s *Scenario) withRoles(t *topology.Tree) (name string, err error) {
	s.Tree = t
	if s.Readers == "" && s.Builders == "" {
		return "", nil
	}
	if _, err := t.WithRoles("", s.Builders); err != nil {
		return "builders", err
	}
	name = "readers"
	if s.Readers == "" {
		name = "builders"
	}
	if t, err = t.WithRoles(s.Readers, s.Builders); err == nil {
		s.Tree = t
		err = builder.RolesOf(t).Check()
	}
	return name, err
}

// overrideRoles applies overridden readers and builders.
func (s *Scenario) overrideRoles(o Overrides) error {
	if o["readers"] == "" && o["builders"] == "" {
		return nil
	}
	if name, err := s.withRoles(s.Tree); err != nil {
		return fmt.Errorf("--%s: %w", name, err)
	}
	for _, c := range s.Cases {
		if err := s.Sizes(c).Check(builder.RolesOf(s.Tree)); err != nil {
			return fmt.Errorf("--readers, --builders: case %q: sizes: %w", c.Name, err)
		}
	}
	return nil
}
