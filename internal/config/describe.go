package config

import "slices"

// Section is a table of ralph.toml with what its help says.
type Section struct {
	Title string // [loop], [[checks]], [mcp.NAME]
	Help  string
	Keys  []Key
}

// Key is one setting as a manual shows it.
type Key struct {
	Name     string // loop.mode; below a table with names checks.<name>.run
	Preset   string // the default in TOML; "" = none
	Help     string
	Values   []string // what it takes, when that is a list
	Flag     string   // of start, without the dashes
	Settable bool     // git ralph set may change it for a run
}

// Reference is every setting that is offered, in the order of ralph.toml.
func Reference() []Section {
	var out []Section
	for _, s := range schema().fields {
		out = appendSection(out, s)
	}
	return out
}

func appendSection(out []Section, s *spec) []Section {
	section := Section{Title: "[" + s.key + "]", Help: s.help}
	switch s.kind {
	case kindList:
		section.Title = "[[" + s.key + "]]"
	case kindMap:
		section.Title = "[" + s.key + ".NAME]"
	}
	var below []*spec
	for _, f := range s.fields {
		switch {
		case f.later:
		case !f.leaf():
			below = append(below, f)
		default:
			k := Key{Name: f.key, Help: f.help, Flag: f.flag, Settable: f.set,
				Values: slices.DeleteFunc(slices.Clone(f.enum), func(v string) bool { return v == "" })}
			if f.value != nil {
				k.Preset = tomlText(f.value)
			}
			section.Keys = append(section.Keys, k)
		}
	}
	if len(section.Keys) > 0 {
		out = append(out, section)
	}
	for _, f := range below {
		out = appendSection(out, f)
	}
	return out
}
