package guard

import "testing"

// TestArithmetic: arithmetic runs the commands in its subscripts, also in those that
// a variable holds, and whether the array is set or not.
func TestArithmetic(t *testing.T) {
	p := New("/work/proj", "/home/a")
	for line, want := range map[string]bool{
		`echo $((a[$(git push)]))`:                    false,
		`(( a[$(git push >&2)] ))`:                    false,
		`echo ${a[$(git push)]}`:                      false,
		`echo "${a[$(git push)]:-x}"`:                 false,
		`for ((i=a[$(git push)];;)); do :; done`:      false,
		`i='b[$(git push)]'; a[i]=1`:                  false,
		`i='b[$(git push)]'; echo ${x:i}`:             false,
		`x='a[$(git push)]'; [[ $x -eq 1 ]]`:          false,
		`x='a[$(git push)]'; [[ x -gt 1 ]]`:           false,
		`[[ 1 -lt 'a[$(git push)]' ]]`:                false,
		`x='$(git push)'; echo "${x@P}"`:              false,
		`scalar register`:                             false,
		`scalar list`:                                 true,
		`echo $((a[1]+2)) ${a[i]} ${x:1:2}`:           true,
		`x=3; [[ $x -eq 3 ]]`:                         true,
		`[[ $(wc -l < f) -gt 3 ]]`:                    true,
		`[[ $n -lt ${#a[@]} ]]`:                       true,
		`echo ${a[$(git rev-list --count HEAD)]}`:     true,
		`declare -A m; m[$(date +%F)]=1; m['$(x)']=1`: true,
		`x='$(git push)'; echo "${x@Q}"`:              true,
	} {
		if v := p.Judge(line); v.Allowed() != want {
			t.Errorf("%s: %s %s", line, v.Verdict, v.Reason)
		}
	}
}
