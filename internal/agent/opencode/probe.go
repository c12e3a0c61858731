package opencode

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/internal/agent/client"
)

// TestedVersion is the version that the tests ran. Older ones are not known to
// load our plugin before the first tool call.
const TestedVersion = "1.18.33"

// InstallHint is how to get a client that works.
const InstallHint = "npm install -g opencode-ai@" + TestedVersion

// LoginHint is how to let it in.
const LoginHint = "opencode auth login, or set the key of a provider (ANTHROPIC_API_KEY, OPENAI_API_KEY, …)"

// Probe finds the client, asks for its version and looks for a login. path is
// the client; "" = "opencode" in PATH of env. An error means that ctx ended;
// everything about the client is in Info.
func Probe(ctx context.Context, path string, env []string) (client.Info, error) {
	return client.Probe{Name: "opencode", Tested: TestedVersion, Install: InstallHint, Login: LoginHint,
		Find: func() []string {
			if found := find(path, env); found != "" {
				return []string{found}
			}
			return nil
		},
		LoggedIn: func() bool {
			for _, key := range Credentials() {
				if client.Get(env, key) != "" {
					return true
				}
			}
			data, err := os.ReadFile(filepath.Join(client.Get(env, "HOME"), CredentialFile))
			return err == nil && strings.Contains(string(data), `"type"`)
		}}.Run(ctx, env)
}
