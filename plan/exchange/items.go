package exchange

import (
	"slices"
	"strings"

	"git-ralph/internal/text"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// items reads a list of texts; a text alone is a list of one.
func (r *taskReader) items(n located.Node, key string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(text.Clean(s)); s != "" {
			out = append(out, s)
		}
	}
	switch v := n.Value.(type) {
	case string:
		add(v)
	case []located.Node:
		if len(v) > plan.MaxItems {
			r.Bad(n.Line, r.t.ID, "", "%s: %s has more than %d entries", r.name, key, plan.MaxItems)
			return nil
		}
		for _, e := range v {
			switch e := e.Value.(type) {
			case string:
				add(e)
			case located.Number:
				add(string(e))
			case nil:
			case *located.Object:
				if s, ok := r.itemOf(key, e); ok {
					add(s)
					continue
				}
				r.wrong(n, r.name, key, "a list of texts")
				return nil
			default:
				r.wrong(n, r.name, key, "a list of texts")
				return nil
			}
		}
	case *located.Object: // lists by the name of a group
		for _, k := range v.Keys {
			out = append(out, r.items(v.Fields[k], key)...)
		}
		r.lost.add(key, "its groups", r.t.ID)
	default:
		r.wrong(n, r.name, key, "a list of texts")
	}
	return out
}

// commandKeys of a criterion hold the command that proves it, textKeys what it
// says, in the order of preference.
var (
	commandKeys = []string{"testcommand", "command", "verificationcommand", "verifycommand", "verify", "cmd", "run"}
	textKeys    = []string{"text", "criterion", "description", "title", "name", "statement", "expected", "scenario",
		"step", "action"}
)

// itemOf is the text of an entry that is an object. Its command goes to verify;
// what else it says is lost by name.
func (r *taskReader) itemOf(list string, o *located.Object) (string, bool) {
	var words, command, textKey string
	for _, want := range textKeys {
		for _, k := range o.Keys {
			if s, ok := o.Fields[k].Value.(string); ok && text.Key(k) == want && s != "" && words == "" {
				words, textKey = s, k
			}
		}
	}
	spoken := map[string]bool{}
	if words == "" {
		words = givenWhenThen(o, spoken)
	}
	for _, k := range o.Keys {
		n := o.Fields[k]
		s, isText := n.Value.(string)
		switch {
		case k == textKey || spoken[k] || text.Key(k) == "id" && !isText:
		case isText && slices.Contains(commandKeys, text.Key(k)):
			if command = strings.TrimSpace(text.Clean(s)); command != "" && !slices.Contains(r.t.Verify, command) {
				r.t.Verify = append(r.t.Verify, command)
			}
		case r.says(n):
			r.lost.add(list+"."+k, "", r.t.ID)
		}
	}
	if words == "" && command != "" {
		words = "`" + command + "` passes"
		if strings.Contains(command, "`") {
			words = command
		}
	}
	return words, words != ""
}

// givenWhenThen is a scenario as a sentence; spoken are the keys that it uses.
func givenWhenThen(o *located.Object, spoken map[string]bool) string {
	var parts []string
	for _, want := range []string{"given", "when", "then"} {
		for _, k := range o.Keys {
			if s, ok := o.Fields[k].Value.(string); ok && text.Key(k) == want && s != "" {
				parts, spoken[k] = append(parts, want+" "+s), true
			}
		}
	}
	return strings.Join(parts, ", ")
}

func firstText(o *located.Object, keys ...string) (string, bool) {
	for _, k := range keys {
		if s, ok := o.Fields[k].Value.(string); ok && s != "" {
			return s, true
		}
	}
	return "", false
}

// dependencies reads ids, "1, 2", and objects that name a task.
func (r *taskReader) dependencies(n located.Node, key string) {
	add := func(id string) { r.t.DependsOn = append(r.t.DependsOn, plan.TaskID(id)) }
	list, ok := n.Value.([]located.Node)
	if !ok {
		list = []located.Node{n}
	}
	if len(list) > plan.MaxItems {
		r.Bad(n.Line, r.t.ID, "", "%s: %s has more than %d entries", r.name, key, plan.MaxItems)
		return
	}
	for _, e := range list {
		switch v := e.Value.(type) {
		case nil:
		case string:
			for one := range strings.SplitSeq(v, ",") {
				if one = strings.TrimSpace(one); one != "" {
					add(one)
				}
			}
		case located.Number:
			add(string(v))
		case *located.Object:
			r.dependency(e, key, v)
		default:
			r.wrong(n, r.name, key, "a list of texts")
			return
		}
	}
}

// dependency reads {"taskId": "x"} and {"depends_on_id": "x", "type": "blocks"}.
func (r *taskReader) dependency(e located.Node, key string, o *located.Object) {
	for _, want := range []string{"dependsonid", "taskid", "task", "id", "number"} {
		for _, k := range o.Keys {
			id := plainID(o.Fields[k])
			if text.Key(k) != want || id == "" {
				continue
			}
			kind, _ := firstText(o, "type")
			if kind != "" && kind != "blocks" && kind != "blocked_by" && kind != "depends_on" {
				r.lost.add(key, "only those that block are dependencies", r.t.ID)
				return
			}
			r.t.DependsOn = append(r.t.DependsOn, plan.TaskID(id))
			for _, other := range o.Keys {
				if name := text.Key(other); other != k && name != "type" && name != "issueid" && r.says(o.Fields[other]) {
					r.lost.add(key+"."+other, "", r.t.ID)
				}
			}
			return
		}
	}
	r.wrong(e, r.name, key, "a list of ids")
}

// criteria reads a list, or a text whose lines are bullets.
func (r *taskReader) criteria(n located.Node, key string) []string {
	if s, ok := n.Value.(string); ok {
		return cutBullets(text.Clean(s))
	}
	return r.items(n, key)
}

// verification reads {"type": "command", "command": "…", "expected": "…"} and
// {"commands": […]}.
func (r *taskReader) verification(key string, o *located.Object) {
	rest := &located.Object{Fields: map[string]located.Node{}}
	for _, k := range o.Keys {
		n := o.Fields[k]
		switch text.Key(k) {
		case "commands", "run", "verify":
			if _, ok := n.Value.([]located.Node); ok || text.Key(k) == "commands" {
				r.t.Verify = append(r.t.Verify, r.items(n, k)...)
				continue
			}
		case "type":
			continue
		case "criteria", "steps", "scenario", "checks":
			if _, ok := n.Value.([]located.Node); ok {
				r.t.Criteria = append(r.t.Criteria, r.items(n, k)...)
				continue
			}
		}
		rest.Keys = append(rest.Keys, k)
		rest.Fields[k] = n
	}
	if len(rest.Keys) == 0 {
		return
	}
	if text, ok := r.itemOf(key, rest); ok {
		r.t.Criteria = append(r.t.Criteria, text)
	}
}
