package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// form says how the arguments of a command are written down.
type form struct {
	names []string // of its arguments, in order, as an object names them
	flags []string // that it takes
}

// forms are the commands that the page may give: those that steer a run and
// answer for a person. None of them starts a program.
var forms = map[string]form{
	"pause":   {},
	"resume":  {},
	"stop":    {flags: []string{"now"}},
	"inject":  {names: []string{"text"}},
	"skip":    {names: []string{"id"}, flags: []string{"cascade", "reason"}},
	"retry":   {names: []string{"id"}, flags: []string{"failed"}},
	"block":   {names: []string{"id", "reason"}},
	"unblock": {names: []string{"id"}},
	"approve": {names: []string{"text"}},
	"reject":  {names: []string{"text"}},
	"answer":  {names: []string{"id", "text"}},
	"set":     {names: []string{"key", "value"}},
}

// others are further names under which an argument is understood.
var others = map[string][]string{
	"id":     {"task", "task_id", "question", "question_id", "ids"},
	"text":   {"answer", "note", "reason", "comment", "why", "message"},
	"reason": {"text", "why"},
}

// Words turns a request into a command line: {"command": "skip", "args":
// ["T-003"]}, where args is a list of words, one word, or an object by name. An
// argument is never read as an option, whatever it begins with.
func Words(body []byte) ([]string, error) {
	var req struct {
		Command string          `json:"command"`
		Args    json.RawMessage `json:"args"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	f, known := forms[req.Command]
	if !known {
		return nil, fmt.Errorf("%q is no command of the page", req.Command)
	}
	var value any
	if len(req.Args) > 0 {
		if err := json.Unmarshal(req.Args, &value); err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
	}
	words, options := []string{}, []string{req.Command}
	switch v := value.(type) {
	case nil:
	case string:
		words = append(words, v)
	case []any:
		for _, x := range v {
			word, ok := plainText(x)
			if !ok {
				return nil, fmt.Errorf("an argument is a text or a number, not %T", x)
			}
			if flag := strings.TrimPrefix(word, "--"); flag != word && isSwitch(flag) && slices.Contains(f.flags, flag) {
				options = append(options, word)
				continue
			}
			words = append(words, word)
		}
	case map[string]any:
		var err error
		if words, err = f.named(v, &options); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("args is a list of words or an object, not %T", value)
	}
	if len(words) > 0 {
		words = append([]string{"--"}, words...)
	}
	return append(options, words...), nil
}

// isSwitch says whether an option stands alone.
func isSwitch(flag string) bool { return flag != "reason" }

// named puts the arguments of an object in order.
func (f form) named(args map[string]any, options *[]string) ([]string, error) {
	left := map[string]any{}
	for name, v := range args {
		left[strings.ToLower(name)] = v
	}
	take := func(names ...string) (any, bool) {
		for _, name := range names {
			if v, ok := left[name]; ok {
				delete(left, name)
				return v, true
			}
		}
		return nil, false
	}
	var words []string
	for _, name := range f.names {
		v, ok := take(append([]string{name}, others[name]...)...)
		if !ok {
			continue
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for _, x := range list {
			word, ok := plainText(x)
			if !ok {
				return nil, fmt.Errorf("%s is a text or a number, not %T", name, x)
			}
			words = append(words, word)
		}
	}
	for _, flag := range f.flags {
		v, ok := take(flag)
		if !ok {
			continue
		}
		switch on, isBool := v.(bool); {
		case isBool && on && isSwitch(flag):
			*options = append(*options, "--"+flag)
		case !isSwitch(flag):
			word, ok := plainText(v)
			if isBool || !ok {
				return nil, fmt.Errorf("%s is a text or a number, not %T", flag, v)
			}
			*options = append(*options, "--"+flag+"="+word)
		}
	}
	for name := range left {
		return nil, fmt.Errorf("the command takes no %q", name)
	}
	return words, nil
}

// plainText is a value of JSON as a word.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, !strings.ContainsRune(v, 0)
	case float64, bool:
		data, err := json.Marshal(v)
		return string(data), err == nil
	}
	return "", false
}
