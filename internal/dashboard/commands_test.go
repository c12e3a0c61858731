package dashboard

import (
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for _, x := range []struct{ why, body, want string }{
		{"a command alone", `{"command":"pause"}`, "pause"},
		{"no arguments", `{"command":"resume","args":null}`, "resume"},
		{"words", `{"command":"skip","args":["T-001","T-002"]}`, "skip|--|T-001|T-002"},
		{"one word", `{"command":"inject","args":"use the parser"}`, "inject|--|use the parser"},
		{"by name", `{"command":"answer","args":{"id":"Q1","text":"blue"}}`, "answer|--|Q1|blue"},
		{"by other names", `{"command":"answer","args":{"question":"Q1","answer":"blue"}}`, "answer|--|Q1|blue"},
		{"a number", `{"command":"set","args":{"key":"loop.max_iterations","value":7}}`, "set|--|loop.max_iterations|7"},
		{"several", `{"command":"retry","args":{"ids":["T-1","T-2"]}}`, "retry|--|T-1|T-2"},
		{"an option of the command", `{"command":"stop","args":["--now"]}`, "stop|--now"},
		{"an option by name", `{"command":"stop","args":{"now":true}}`, "stop|--now"},
		{"an option that is off", `{"command":"stop","args":{"now":false}}`, "stop"},
		{"an option with a text", `{"command":"skip","args":{"id":"T-1","reason":"-C /"}}`, "skip|--reason=-C /|--|T-1"},
		{"no option of the command is text", `{"command":"inject","args":["--help"]}`, "inject|--|--help"},
		{"text that ends the options", `{"command":"inject","args":["--","-C","/"]}`, "inject|--|--|-C|/"},
		{"an option of another command is text", `{"command":"pause","args":["--now"]}`, "pause|--|--now"},
	} {
		got, err := Words([]byte(x.body))
		if err != nil || strings.Join(got, "|") != x.want {
			t.Errorf("%s: %q, %v; want %q", x.why, strings.Join(got, "|"), err, x.want)
		}
	}
	for why, body := range map[string]string{
		"a command that starts programs": `{"command":"start"}`,
		"no command":                     `{}`,
		"an option as the command":       `{"command":"--help"}`,
		"an unknown argument":            `{"command":"pause","args":{"dir":"/"}}`,
		"an unknown key":                 `{"command":"pause","dir":"/"}`,
		"a reason that is none":          `{"command":"skip","args":{"id":"T-1","reason":true}}`,
		"a list in a list":               `{"command":"skip","args":[["T-1"]]}`,
		"a zero byte":                    `{"command":"inject","args":["a\u0000b"]}`,
		"no object":                      `"pause"`,
		"a number":                       `{"command":"pause","args":7}`,
	} {
		if got, err := Words([]byte(body)); err == nil {
			t.Errorf("%s was taken: %q", why, got)
		}
	}
}
