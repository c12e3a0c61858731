package gemini

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"git-ralph/internal/agent/client"
)

// TestedVersion is the version that the tests ran. Older ones are not known to
// ask the hook before every tool call.
const TestedVersion = "0.61.0"

// InstallHint is how to get a client that works.
const InstallHint = "npm install -g @google/gemini-cli@" + TestedVersion

// LoginHint is how to let it in.
const LoginHint = "run gemini once and log in, or set GEMINI_API_KEY"

// Probe finds the client, asks for its version and looks for a login. path is
// the client; "" = "gemini" in PATH of env. An error means that ctx ended;
// everything about the client is in Info.
func Probe(ctx context.Context, path string, env []string) (client.Info, error) {
	return client.Probe{Name: "Gemini CLI", Tested: TestedVersion, Install: InstallHint, Login: LoginHint,
		Find: func() []string { return find(path, env) },
		LoggedIn: func() bool {
			_, err := os.Stat(filepath.Join(client.Get(env, "HOME"), CredentialFile))
			return err == nil || keyed(env)
		}}.Run(ctx, env)
}

// packageVersion is the version in the package of the client's program, "" = not known.
func packageVersion(program string) string {
	for dir, n := filepath.Dir(program), 0; n < 3; dir, n = filepath.Dir(dir), n+1 {
		var p struct{ Name, Version string }
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err == nil && json.Unmarshal(data, &p) == nil && p.Name == "@google/gemini-cli" {
			return client.VersionIn(p.Version)
		}
	}
	return ""
}
