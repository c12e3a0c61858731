package notes

import (
	"regexp"
	"sync"
)

// secretRule finds one kind of secret. Group 1, where there is one, is the
// part that is replaced. Only the surroundings of a hint meet the regular
// expression; hints with a capital letter count as they are, others in any case.
type secretRule struct {
	hints []string
	re    func() *regexp.Regexp
	whole bool // a secret of many lines: all of the text meets the expression
}

func rule(re string, hints ...string) secretRule {
	return secretRule{hints: hints, re: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })}
}

func (r secretRule) all() secretRule {
	r.whole = true
	return r
}

// secretRules are the forms that scanners of secrets know, one line a kind.
var secretRules = sync.OnceValue(func() []secretRule {
	return []secretRule{
		// keys
		rule(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: `+
			`BLOCK)?-----|(?:\\n|[\sA-Za-z0-9+/=:,-])*)`, "PRIVATE KEY").all(),
		rule(`PuTTY-User-Key-File-[0-9][\s\S]*?Private-MAC: [0-9a-f]+`, "PuTTY-User-Key-File").all(),
		rule(`\bAGE-SECRET-KEY-1[0-9A-Z]{20,}`, "AGE-SECRET-KEY-1"),

		// a token that a line end has split
		rule(`\b(?:gh[pousr]_|github_pat_|glpat-|sk-(?:ant|proj|or)-|[sr]k_live_|xox[abp]-|npm_|hf_|pypi-|dop_v1_|hvs\.|`+
			`shpat_|glsa_|lin_api_|AKIA)[A-Za-z0-9_-]{4,}-?(?:\r?\n|\\r?\\?n|\\n)[ \t]*[A-Za-z0-9_-]{8,}`,
			"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "k_live_", "xox", "npm_", "hf_",
			"pypi-", "dop_v1_", "hvs.", "shpat_", "glsa_", "lin_api_", "AKIA"),

		// clouds
		rule(`\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b`, "AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA"),
		rule(`(?i)aws_?secret_?(?:access_?)?key["']?\s*(?:[:=]|=>)\s*["']?([A-Za-z0-9/+]{40})\b`, "aws"),
		rule(`(?i)\baccountkey=([A-Za-z0-9+/]{20,}={0,2})`, "accountkey="),
		rule(`(?i)\bsharedaccesskey=([A-Za-z0-9+/]{20,}={0,2})`, "sharedaccesskey="),
		rule(`[?&]sig=([A-Za-z0-9%+/]{30,})`, "sig="),
		rule(`\b[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}`, "Q~"),
		rule(`\bAIza[0-9A-Za-z_-]{35}`, "AIza"),
		rule(`\bya29\.[0-9A-Za-z_-]{20,}`, "ya29."),
		rule(`\bGOCSPX-[A-Za-z0-9_-]{20,}`, "GOCSPX-"),
		rule(`\b(?:dop|doo|dor)_v1_[a-f0-9]{40,}`, "_v1_"),
		rule(`\bHRKU-[A-Za-z0-9_-]{30,}`, "HRKU-"),
		rule(`\bFlyV1 fm\d_[A-Za-z0-9+/=,_-]{20,}`, "FlyV1"),
		rule(`\bdapi[a-f0-9]{32}(?:-\d)?\b`, "dapi"),
		rule(`\bLTAI[A-Za-z0-9]{12,20}\b`, "LTAI"),

		// forges, registries, builds
		rule(`\bgh[pousr]_[A-Za-z0-9]{30,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		rule(`\bgithub_pat_[A-Za-z0-9_]{22,}`, "github_pat_"),
		rule(`\bgl(?:pat|ptt|dt|rt|cbt|soat|ffct|imt|agent|oas)-[A-Za-z0-9_-]{20,}`, "glpat-", "glptt-", "gldt-",
			"glrt-", "glcbt-", "glsoat-", "glffct-", "glimt-", "glagent-", "gloas-"),
		rule(`\bATBB[A-Za-z0-9]{24,}`, "ATBB"),
		rule(`\bATATT[A-Za-z0-9_=-]{20,}`, "ATATT"),
		rule(`\bnpm_[A-Za-z0-9]{36}\b`, "npm_"),
		rule(`(?i)_auth(?:token)?\s*=\s*["']?([A-Za-z0-9+/=_.-]{8,})`, "_auth"),
		rule(`\bpypi-[A-Za-z0-9_-]{50,}`, "pypi-"),
		rule(`\brubygems_[a-f0-9]{40,}`, "rubygems_"),
		rule(`\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`, "dckr_"),
		rule(`"auth"\s*:\s*"([A-Za-z0-9+/]{8,}={0,2})"`, `"auth"`),
		rule(`\\"auth\\"\s*:\s*\\"([A-Za-z0-9+/]{8,}={0,2})\\"`, `\"auth\"`),
		rule(`\bAKCp[A-Za-z0-9]{60,}`, "AKCp"),
		rule(`\bsntry[su]_[A-Za-z0-9+/=_-]{20,}`, "sntry"),
		rule(`\bsq[up]_[a-f0-9]{40}\b`, "squ_", "sqp_"),
		rule(`\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}`, ".atlasv1."),
		rule(`\bpul-[a-f0-9]{40}\b`, "pul-"),
		rule(`\b(?:hvs|hvb|hvr)\.[A-Za-z0-9_-]{20,}`, "hvs.", "hvb.", "hvr."),
		rule(`\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,}`, "dp."),
		rule(`\bglc_[A-Za-z0-9+/=]{30,}`, "glc_"),
		rule(`\bglsa_[A-Za-z0-9_]{20,}`, "glsa_"),
		rule(`\bNRAK-[A-Z0-9]{20,}`, "NRAK-"),
		rule(`\bPMAK-[a-f0-9-]{30,}`, "PMAK-"),
		rule(`\bnfp_[A-Za-z0-9]{30,}`, "nfp_"),
		rule(`\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{20,}`, "pscale_"),
		rule(`\bsbp_[a-f0-9]{40}\b`, "sbp_"),
		rule(`\btskey-[a-z]+-[A-Za-z0-9-]{10,}`, "tskey-"),
		rule(`\bdt0[a-z]\d\d\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}`, "dt0"),

		// models
		rule(`\bsk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20,}`, "sk-"),
		rule(`\bsk-[A-Za-z0-9]{32,}`, "sk-"),
		rule(`\bhf_[A-Za-z0-9]{30,}\b`, "hf_"),
		rule(`\bgsk_[A-Za-z0-9]{40,}`, "gsk_"),
		rule(`\br8_[A-Za-z0-9]{30,}`, "r8_"),
		rule(`\bpplx-[A-Za-z0-9]{40,}`, "pplx-"),
		rule(`\bxai-[A-Za-z0-9]{60,}`, "xai-"),

		// chat, mail, payment, shops, tools
		rule(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox"),
		rule(`\bxapp-\d-[A-Za-z0-9-]{20,}`, "xapp-"),
		rule(`hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/]{20,})`, "hooks.slack.com"),
		rule(`discord(?:app)?\.com/api/webhooks/(\d+/[A-Za-z0-9_-]{20,})`, "/webhooks/"),
		rule(`\b\d{8,10}:AA[A-Za-z0-9_-]{30,}`, ":aa"),
		rule(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, "SG."),
		rule(`\bkey-[a-f0-9]{32}\b`, "key-"),
		rule(`\b[a-f0-9]{32}-us\d{1,2}\b`, "-us"),
		rule(`\bSK[a-f0-9]{32}\b`, "SK"),
		rule(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`, "k_live_", "k_test_"),
		rule(`\bwhsec_[A-Za-z0-9+/=]{20,}`, "whsec_"),
		rule(`\bsq0(?:atp|csp)-[A-Za-z0-9_-]{20,}`, "sq0"),
		rule(`\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`, "shpat_", "shpca_", "shppa_", "shpss_"),
		rule(`\blin_(?:api|oauth)_[A-Za-z0-9]{20,}`, "lin_"),
		rule(`\bfig[dour]_[A-Za-z0-9_-]{20,}`, "figd_", "figo_", "figu_", "figr_"),
		rule(`\b(?:ntn_|secret_)[A-Za-z0-9]{40,}`, "ntn_", "secret_"),
		rule(`\bpat-(?:na|eu)\d-[a-f0-9-]{36}\b`, "pat-"),
		rule(`\bCFPAT-[A-Za-z0-9_-]{40,}`, "CFPAT-"),
		rule(`\bEZ[AT]K[A-Za-z0-9]{50,}`, "EZAK", "EZTK"),
		rule(`\bsl\.[A-Za-z0-9_-]{100,}`, "sl."),
		rule(`\bEAA[A-Za-z0-9]{80,}`, "EAA"),

		// what carries a secret by its place
		rule(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{10,}`, "eyJ"),
		rule(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{8,})`, "authorization"),
		rule(`(?i)\b(?:x-api-key|x-auth-token|private-token)["']?\s*:\s*["']?([A-Za-z0-9._~+/=-]{8,})`, "x-api-key",
			"x-auth-token", "private-token"),
		rule(`(?i)\b(?:set-)?cookie:\s*[^\s=;]+=([A-Za-z0-9._~+/%=-]{16,})`, "cookie:"),
		rule(`(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:([^\s/@"'<>$\{\}]{3,})@[a-z0-9\[]`, "://"),
		rule(`(?i)\b(?:login|user|account)\s+\S+\s+password\s+["']?([^\s"']{4,})`, "password"),
		rule(`(?i)\bmachine\s+\S+\s+password\s+["']?([^\s"']{4,})`, "machine"),
		rule(`\bsshpass\s+-p\s*["']?([^\s"'$]{3,})`, "sshpass"),
		rule(`\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n|;&]*?\s-p["']?([^\s"'$]{3,})`, "mysql", "mariadb"),
		rule(`\bcurl\b[^\n|;&]*?\s(?:-u|--user)[ =]?["']?[^\s:"'$]+:([^\s"'$]{3,})`, "curl"),
		rule(`(?i)\bredis-cli\b[^\n|;&]*?\s-a\s+["']?([^\s"'$]{3,})`, "redis-cli"),
	}
})
