package notes

import (
	"regexp"
	"sync"

	"git-ralph/internal/text/lazyregexp"
)

// secretForm is one kind of secret. Group 1 of the regular expression, if any, is the part to
// replace. The expression is only tried around a hint. Hints with a capital letter match as
// they are, others in any case.
type secretForm struct {
	re    string
	hints words
	reach reach
}

type words []string

// reach is how much of a text meets an expression.
type reach bool

const (
	part  reach = false
	whole reach = true // a secret of many lines
)

// secretRule is a form whose expression is compiled when it is first needed.
type secretRule struct {
	hints []string
	re    func() *regexp.Regexp
	whole bool
}

var secretRules = sync.OnceValue(func() []secretRule {
	out := make([]secretRule, len(secretForms))
	for i, f := range secretForms {
		out[i] = secretRule{f.hints, lazyregexp.New(f.re),
			f.reach == whole}
	}
	return out
})

// secretForms are those that scanners of secrets know, one line a kind. They are data alone: as
// calls they were one function of 35 KB.
var secretForms = []secretForm{
	// keys
	{`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: ` +
		`BLOCK)?-----|(?:\\n|[\sA-Za-z0-9+/=:,-])*)`, words{"PRIVATE KEY"}, whole},
	{`PuTTY-User-Key-File-[0-9][\s\S]*?Private-MAC: [0-9a-f]+`, words{"PuTTY-User-Key-File"}, whole},
	{`\bAGE-SECRET-KEY-1[0-9A-Z]{20,}`, words{"AGE-SECRET-KEY-1"}, part},

	// a token that a line end has split
	{`\b(?:gh[pousr]_|github_pat_|glpat-|sk-(?:ant|proj|or)-|[sr]k_live_|xox[abp]-|npm_|hf_|pypi-|dop_v1_|hvs\.|` +
		`shpat_|glsa_|lin_api_|AKIA)[A-Za-z0-9_-]{4,}-?(?:\r?\n|\\r?\\?n|\\n)[ \t]*[A-Za-z0-9_-]{8,}`,
		words{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "k_live_", "xox",
			"npm_", "hf_", "pypi-", "dop_v1_", "hvs.", "shpat_", "glsa_", "lin_api_", "AKIA"}, part},

	// clouds
	{`\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b`,
		words{"AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA"}, part},
	{`(?i)aws_?secret_?(?:access_?)?key["']?\s*(?:[:=]|=>)\s*["']?([A-Za-z0-9/+]{40})\b`, words{"aws"}, part},
	{`(?i)\baccountkey=([A-Za-z0-9+/]{20,}={0,2})`, words{"accountkey="}, part},
	{`(?i)\bsharedaccesskey=([A-Za-z0-9+/]{20,}={0,2})`, words{"sharedaccesskey="}, part},
	{`[?&]sig=([A-Za-z0-9%+/]{30,})`, words{"sig="}, part},
	{`\b[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}`, words{"Q~"}, part},
	{`\bAIza[0-9A-Za-z_-]{35}`, words{"AIza"}, part},
	{`\bya29\.[0-9A-Za-z_-]{20,}`, words{"ya29."}, part},
	{`\bGOCSPX-[A-Za-z0-9_-]{20,}`, words{"GOCSPX-"}, part},
	{`\b(?:dop|doo|dor)_v1_[a-f0-9]{40,}`, words{"_v1_"}, part},
	{`\bHRKU-[A-Za-z0-9_-]{30,}`, words{"HRKU-"}, part},
	{`\bFlyV1 fm\d_[A-Za-z0-9+/=,_-]{20,}`, words{"FlyV1"}, part},
	{`\bdapi[a-f0-9]{32}(?:-\d)?\b`, words{"dapi"}, part},
	{`\bLTAI[A-Za-z0-9]{12,20}\b`, words{"LTAI"}, part},

	// forges, registries, builds
	{`\bgh[pousr]_[A-Za-z0-9]{30,}`, words{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, part},
	{`\bgithub_pat_[A-Za-z0-9_]{22,}`, words{"github_pat_"}, part},
	{`\bgl(?:pat|ptt|dt|rt|cbt|soat|ffct|imt|agent|oas)-[A-Za-z0-9_-]{20,}`,
		words{"glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glffct-", "glimt-", "glagent-",
			"gloas-"}, part},
	{`\bATBB[A-Za-z0-9]{24,}`, words{"ATBB"}, part},
	{`\bATATT[A-Za-z0-9_=-]{20,}`, words{"ATATT"}, part},
	{`\bnpm_[A-Za-z0-9]{36}\b`, words{"npm_"}, part},
	{`(?i)_auth(?:token)?\s*=\s*["']?([A-Za-z0-9+/=_.-]{8,})`, words{"_auth"}, part},
	{`\bpypi-[A-Za-z0-9_-]{50,}`, words{"pypi-"}, part},
	{`\brubygems_[a-f0-9]{40,}`, words{"rubygems_"}, part},
	{`\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`, words{"dckr_"}, part},
	{`"auth"\s*:\s*"([A-Za-z0-9+/]{8,}={0,2})"`, words{`"auth"`}, part},
	{`\\"auth\\"\s*:\s*\\"([A-Za-z0-9+/]{8,}={0,2})\\"`, words{`\"auth\"`}, part},
	{`\bAKCp[A-Za-z0-9]{60,}`, words{"AKCp"}, part},
	{`\bsntry[su]_[A-Za-z0-9+/=_-]{20,}`, words{"sntry"}, part},
	{`\bsq[up]_[a-f0-9]{40}\b`, words{"squ_", "sqp_"}, part},
	{`\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}`, words{".atlasv1."}, part},
	{`\bpul-[a-f0-9]{40}\b`, words{"pul-"}, part},
	{`\b(?:hvs|hvb|hvr)\.[A-Za-z0-9_-]{20,}`, words{"hvs.", "hvb.", "hvr."}, part},
	{`\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,}`, words{"dp."}, part},
	{`\bglc_[A-Za-z0-9+/=]{30,}`, words{"glc_"}, part},
	{`\bglsa_[A-Za-z0-9_]{20,}`, words{"glsa_"}, part},
	{`\bNRAK-[A-Z0-9]{20,}`, words{"NRAK-"}, part},
	{`\bPMAK-[a-f0-9-]{30,}`, words{"PMAK-"}, part},
	{`\bnfp_[A-Za-z0-9]{30,}`, words{"nfp_"}, part},
	{`\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{20,}`, words{"pscale_"}, part},
	{`\bsbp_[a-f0-9]{40}\b`, words{"sbp_"}, part},
	{`\btskey-[a-z]+-[A-Za-z0-9-]{10,}`, words{"tskey-"}, part},
	{`\bdt0[a-z]\d\d\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}`, words{"dt0"}, part},

	// models
	{`\bsk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20,}`, words{"sk-"}, part},
	{`\bsk-[A-Za-z0-9]{32,}`, words{"sk-"}, part},
	{`\bhf_[A-Za-z0-9]{30,}\b`, words{"hf_"}, part},
	{`\bgsk_[A-Za-z0-9]{40,}`, words{"gsk_"}, part},
	{`\br8_[A-Za-z0-9]{30,}`, words{"r8_"}, part},
	{`\bpplx-[A-Za-z0-9]{40,}`, words{"pplx-"}, part},
	{`\bxai-[A-Za-z0-9]{60,}`, words{"xai-"}, part},

	// chat, mail, payment, shops, tools
	{`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, words{"xox"}, part},
	{`\bxapp-\d-[A-Za-z0-9-]{20,}`, words{"xapp-"}, part},
	{`hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/]{20,})`, words{"hooks.slack.com"}, part},
	{`discord(?:app)?\.com/api/webhooks/(\d+/[A-Za-z0-9_-]{20,})`, words{"/webhooks/"}, part},
	{`\b\d{8,10}:AA[A-Za-z0-9_-]{30,}`, words{":aa"}, part},
	{`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, words{"SG."}, part},
	{`\bkey-[a-f0-9]{32}\b`, words{"key-"}, part},
	{`\b[a-f0-9]{32}-us\d{1,2}\b`, words{"-us"}, part},
	{`\bSK[a-f0-9]{32}\b`, words{"SK"}, part},
	{`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`, words{"k_live_", "k_test_"}, part},
	{`\bwhsec_[A-Za-z0-9+/=]{20,}`, words{"whsec_"}, part},
	{`\bsq0(?:atp|csp)-[A-Za-z0-9_-]{20,}`, words{"sq0"}, part},
	{`\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`, words{"shpat_", "shpca_", "shppa_", "shpss_"}, part},
	{`\blin_(?:api|oauth)_[A-Za-z0-9]{20,}`, words{"lin_"}, part},
	{`\bfig[dour]_[A-Za-z0-9_-]{20,}`, words{"figd_", "figo_", "figu_", "figr_"}, part},
	{`\b(?:ntn_|secret_)[A-Za-z0-9]{40,}`, words{"ntn_", "secret_"}, part},
	{`\bpat-(?:na|eu)\d-[a-f0-9-]{36}\b`, words{"pat-"}, part},
	{`\bCFPAT-[A-Za-z0-9_-]{40,}`, words{"CFPAT-"}, part},
	{`\bEZ[AT]K[A-Za-z0-9]{50,}`, words{"EZAK", "EZTK"}, part},
	{`\bsl\.[A-Za-z0-9_-]{100,}`, words{"sl."}, part},
	{`\bEAA[A-Za-z0-9]{80,}`, words{"EAA"}, part},

	// what carries a secret by its place
	{`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{10,}`, words{"eyJ"}, part},
	{`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{8,})`,
		words{"authorization"}, part},
	{`(?i)\b(?:x-api-key|x-auth-token|private-token)["']?\s*:\s*["']?([A-Za-z0-9._~+/=-]{8,})`,
		words{"x-api-key", "x-auth-token", "private-token"}, part},
	{`(?i)\b(?:set-)?cookie:\s*[^\s=;]+=([A-Za-z0-9._~+/%=-]{16,})`, words{"cookie:"}, part},
	{`(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:([^\s/@"'<>$\{\}]{3,})@[a-z0-9\[]`, words{"://"}, part},
	{`(?i)\b(?:login|user|account)\s+\S+\s+password\s+["']?([^\s"']{4,})`, words{"password"}, part},
	{`(?i)\bmachine\s+\S+\s+password\s+["']?([^\s"']{4,})`, words{"machine"}, part},
	{`\bsshpass\s+-p\s*["']?([^\s"'$]{3,})`, words{"sshpass"}, part},
	{`\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n|;&]*?\s-p["']?([^\s"'$]{3,})`,
		words{"mysql", "mariadb"}, part},
	{`\bcurl\b[^\n|;&]*?\s(?:-u|--user)[ =]?["']?[^\s:"'$]+:([^\s"'$]{3,})`, words{"curl"}, part},
	{`(?i)\bredis-cli\b[^\n|;&]*?\s-a\s+["']?([^\s"'$]{3,})`, words{"redis-cli"}, part},
}
