package config

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes. In files it is "50MB" (powers of 1000), "1MiB" or
// "1M" (powers of 1024, as in git config), or a plain number of bytes.
type Size int64

// USD is money in millionths of a dollar; in files and JSON it is dollars.
type USD int64

// maxUSD bounds amounts so that sums of many of them cannot overflow.
const maxUSD = 1_000_000_000

type unit struct {
	name  string
	bytes int64
}

// sizeUnits stand in the order in which String tries them: the largest that
// divides, decimal before binary.
func sizeUnits() []unit {
	return []unit{
		{"TB", 1e12}, {"TiB", 1 << 40}, {"GB", 1e9}, {"GiB", 1 << 30},
		{"MB", 1e6}, {"MiB", 1 << 20}, {"KB", 1e3}, {"KiB", 1 << 10},
		{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
	}
}

// ParseSize reads the text form of a Size.
func ParseSize(text string) (Size, error) {
	bad := fmt.Errorf("must be a size such as \"50MB\" or \"1MiB\", not %s", quote(text))
	number := strings.TrimSpace(text)
	factor := int64(1)
	for _, u := range sizeUnits() {
		if len(number) > len(u.name) && strings.EqualFold(number[len(number)-len(u.name):], u.name) {
			number, factor = strings.TrimSpace(number[:len(number)-len(u.name)]), u.bytes
			break
		}
	}
	amount, ok := decimal(number)
	if !ok {
		return 0, bad
	}
	if amount.Sign() < 0 {
		return 0, fmt.Errorf("must not be negative, not %s", quote(text))
	}
	amount.Mul(amount, new(big.Rat).SetInt64(factor))
	if amount.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) > 0 {
		return 0, fmt.Errorf("must be a size below 8 EiB, not %s", quote(text))
	}
	if !amount.IsInt() {
		return 0, fmt.Errorf("must be a whole number of bytes, not %s", quote(text))
	}
	return Size(amount.Num().Int64()), nil
}

// String is the shortest text form that ParseSize reads back.
func (s Size) String() string {
	if s != 0 {
		for _, u := range sizeUnits() {
			if int64(s)%u.bytes == 0 {
				return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
			}
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// ParseUSD reads dollars: 2, 0.25, $50. A part below a millionth is refused.
func ParseUSD(text string) (USD, error) {
	amount, ok := decimal(strings.TrimPrefix(strings.TrimSpace(text), "$"))
	if !ok {
		return 0, fmt.Errorf("must be an amount in dollars such as 2.50, not %s", quote(text))
	}
	if amount.Sign() < 0 {
		return 0, fmt.Errorf("must not be negative, not %s", quote(text))
	}
	if amount.Cmp(new(big.Rat).SetInt64(maxUSD)) > 0 {
		return 0, fmt.Errorf("must be at most %d dollars, not %s", maxUSD, quote(text))
	}
	amount.Mul(amount, new(big.Rat).SetInt64(1e6))
	if !amount.IsInt() {
		return 0, fmt.Errorf("must be a whole number of millionths of a dollar, not %s", quote(text))
	}
	return USD(amount.Num().Int64()), nil
}

// decimal reads a plain decimal number exactly. Exponents are allowed, but
// kept small: big.Rat would spend minutes and gigabytes on 1e999999999.
func decimal(text string) (*big.Rat, bool) {
	if len(text) == 0 || len(text) > 40 || strings.Trim(text, "+-.0123456789eE_") != "" {
		return nil, false
	}
	text = strings.ReplaceAll(text, "_", "")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(text[i+1:]); err != nil || exp > 30 || exp < -30 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// String is dollars without needless zeros: 2, 0.25.
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%06d", sign, n/1e6, n%1e6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalJSON writes dollars as a number.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// ParseDuration reads "20m", "1h30m", "0s" and, for runs that take days, "2d"
// or "1d12h". Negative ones are refused.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	bad := fmt.Errorf("must be a duration such as \"20m\" or \"1h30m\", not %s", quote(text))
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("must not be negative, not %s", quote(text))
	}
	var days time.Duration
	rest := text
	if before, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(before, 10, 16)
		if err != nil {
			return 0, bad
		}
		days, rest = time.Duration(n)*24*time.Hour, after
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, bad
	}
	if d < 0 || days+d < days {
		return 0, errors.New("must be a shorter duration")
	}
	return days + d, nil
}

// FormatDuration is the short text form that ParseDuration reads back: "20m",
// where time.Duration says 20m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// parseBool reads git's words for true and false.
func parseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("must be true or false, not %s", quote(text))
}

// parseInt reads a whole number with git's suffixes k, m, g (powers of 1024)
// and, for percentages, a percent sign.
func parseInt(text string, percent bool) (int64, error) {
	number := strings.TrimSpace(text)
	factor := int64(1)
	if percent {
		number = strings.TrimSpace(strings.TrimSuffix(number, "%"))
	} else if n := len(number); n > 1 {
		switch number[n-1] {
		case 'k', 'K':
			number, factor = number[:n-1], 1<<10
		case 'm', 'M':
			number, factor = number[:n-1], 1<<20
		case 'g', 'G':
			number, factor = number[:n-1], 1<<30
		}
	}
	v, err := strconv.ParseInt(number, 10, 64)
	if err != nil || v > math.MaxInt64/factor || v < math.MinInt64/factor {
		return 0, fmt.Errorf("must be a whole number, not %s", quote(text))
	}
	return v * factor, nil
}

// quote shows a value in a message: on one line, cut when long.
func quote(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strconv.Quote(text)
}
