// Records what Kubernetes' own parsers say of label selectors and quantities, as test data for ours:
//
//	go run . -out ../../src/metric/testdata
package main

import (
	"flag"
	"fmt"
	"log"
	"math/big"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

func main() {
	out := flag.String("out", ".", "folder to write to")
	flag.Parse()
	write(filepath.Join(*out, "selectors.tsv"),
		"# input<TAB>canonical form, or !error. From k8s.io/apimachinery v0.36.3 labels.Parse.",
		selectorInputs(), selectorLine)
	write(filepath.Join(*out, "quantities.tsv"),
		"# input<TAB>milli-units, or !error. From k8s.io/apimachinery v0.36.3 resource.ParseQuantity.",
		quantityInputs(), quantityLine)
}

func write(path, header string, inputs []string, line func(string) string) {
	var b strings.Builder
	b.WriteString(header + "\n")
	seen := map[string]bool{}
	for _, input := range inputs {
		if seen[input] {
			continue
		}
		seen[input] = true
		b.WriteString(escape(input) + "\t" + line(input) + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		log.Fatal(err)
	}
}

func escape(s string) string {
	return strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\r", "\\r").Replace(s)
}

func selectorLine(input string) string {
	selector, err := labels.Parse(input)
	if err != nil {
		return "!error"
	}
	requirements, _ := selector.Requirements()
	terms := map[string]bool{}
	type term struct{ key, op, text string }
	var list []term
	for _, r := range requirements {
		t := term{key: r.Key()}
		values := sorted(r.Values().UnsortedList())
		switch r.Operator() {
		case selection.Exists:
			t.op, t.text = "2", r.Key()
		case selection.DoesNotExist:
			t.op, t.text = "3", "!"+r.Key()
		case selection.In, selection.Equals, selection.DoubleEquals:
			t.op, t.text = "0", set(r.Key(), "=", " in ", values)
		case selection.NotIn, selection.NotEquals:
			t.op, t.text = "1", set(r.Key(), "!=", " notin ", values)
		default:
			return "!unsupported"
		}
		if !terms[t.text] {
			list = append(list, t)
		}
		terms[t.text] = true
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].key != list[j].key {
			return list[i].key < list[j].key
		}
		return list[i].op < list[j].op
	})
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = t.text
	}
	return strings.Join(texts, ",")
}

func sorted(values []string) []string {
	sort.Strings(values)
	return values
}

func set(key, one, many string, values []string) string {
	if len(values) == 1 {
		return key + one + values[0]
	}
	return key + many + "(" + strings.Join(values, ",") + ")"
}

func selectorInputs() []string {
	long63, long64 := strings.Repeat("a", 63), strings.Repeat("a", 64)
	dns253 := strings.Repeat(strings.Repeat("d", 62)+".", 4) + "d"
	inputs := []string{
		"", " ", ",", "a", " a ", "a,", ",a", "a,,b", "a b", "!a", "! a", "!!a", "!", "!a=b", "a!",
		"a=b", "a==b", "a===b", "a = b", "a =b", "a= b", "a=", "a==", "a!=", "a!=b", "a ! = b", "a=!b",
		"a=b,c=d", "c=d,a=b", "a=b , c != d", "a=b,a=b", "a=b,a!=b", "a=b,a", "a,!a", "a=b,", "a=b,,c",
		"a in (x)", "a in (x,y)", "a in (y,x,y)", "a in(x)", "a  in\t( x , y )", "a in x", "a in ()",
		"a in (", "a in (x", "a in (x,", "a in (,)", "a in (,x)", "a in (x,)", "a in (x,,y)", "a in (,,)",
		"a in (x y)", "a in (x),b", "a in (x)b", "a in ((x))", "a notin (x)", "a notin (x,y)",
		"a notin ()", "a notin (,x)", "a notin x", "a In (x)", "a NOTIN (x)", "in", "notin", "in in (in)",
		"notin notin (notin,in)", "in=notin", "a=in", "!in", "in notin (a)", "a in (in,notin)", "ain (x)",
		"a>1", "a<1", "a > 5,b=c", "a>x", "a>", "a)", "(a)", "a=(b)", "a=b)", "=b", "==b", "!=b", "a,=b",
		"app.kubernetes.io/name=web", "app.kubernetes.io/name in (web,api)", "/name=x", "a/=x", "a/b/c=x",
		"a//b=x", "A.b/c=x", "a.b/C=x", "a_b/c=x", "-a/b=x", "a-/b=x", "a..b/c=x", ".a/b=x", "a./b=x",
		"-a=b", "a-=b", "a.=b", ".a=b", "_a=b", "a_=b", "a.b_c-d=e", "0=1", "A=B", "a@b=c", "a:b=c", "a=b/c",
		"a=b:c", "a=b@c", "a=-b", "a=b-", "a=.b", "a=b.", "a=_b", "a=b_", "a=b.c_d-e", "a=B", "a=0.0.0.0_8080",
		"a=*", "*=a", "a=b;c=d", "a=\"b\"", "a='b'", "a=b\\,c", "a=caf\u00e9", "caf\u00e9=a", "a=b\n,c=d", "a\t=\tb",
		"a=b\r\n", "tier in (a,b),!canary,env!=dev,track", "track,env!=dev,tier in (b,a),!canary",
		long63 + "=x", long64 + "=x", "a=" + long63, "a=" + long64, "a in (" + long64 + ",x)",
		dns253 + "/a=x", dns253 + "x/a=x", "x/" + long63 + "=y", "x/" + long64 + "=y",
	}
	// All short texts over the grammar's own characters.
	alphabet := []string{"a", "=", "!", ",", "(", ")", " ", " in ", " notin "}
	var extend func(prefix string, depth int)
	extend = func(prefix string, depth int) {
		inputs = append(inputs, prefix)
		if depth == 0 {
			return
		}
		for _, c := range alphabet {
			extend(prefix+c, depth-1)
		}
	}
	extend("a", 3)
	extend("!", 3)
	extend("a in (", 3)
	extend("a,", 3)
	return inputs
}

var maxInt64 = big.NewInt(1<<63 - 1)

func quantityLine(input string) string {
	q, err := resource.ParseQuantity(input)
	if err != nil {
		return "!error"
	}
	// MilliValue goes wrong at the ends of int64; ours caps there.
	dec := new(inf.Dec).Set(q.AsDec())
	dec.Round(dec, 3, inf.RoundUp)
	milli := dec.UnscaledBig()
	if new(big.Int).Abs(milli).Cmp(maxInt64) >= 0 {
		if milli.Sign() < 0 {
			return fmt.Sprint(new(big.Int).Neg(maxInt64))
		}
		return fmt.Sprint(maxInt64)
	}
	fresh, err := resource.ParseQuantity(input) // AsDec changes the quantity's own form.
	// Of a negative value that does not fit its fast path MilliValue loses the sign (a bug of it).
	if err != nil || (fresh.MilliValue() != milli.Int64() && milli.Sign() >= 0) {
		log.Fatalf("%q: MilliValue is %d, the decimal %s", input, fresh.MilliValue(), milli)
	}
	return milli.String()
}

func quantityInputs() []string {
	inputs := []string{
		"", "-", "+", ".", "-.", "0.", ".0", "00", "-0", "+0", "5", "+5", "-5", "--5", "+-5", "5.", ".5", "1.2.3", "5x",
		"5 ", " 5", "5 m", "0x10", "1,5", "1_000", "NaN", "Inf", "infinity", "1e", "1E", "1e+", "1e-", "1e+-3", "1e-+3",
		"1e3", "1E3", "1e+3", "1e-3", "1e-4", "1.5e3", "1e0", "1e1.5", "1e3m", "1em", "1ee3", "1e3e3", "1E3Ki", "-1e3",
		"100e-9", "1e18", "1e19", "9e15", "9.3e15", "9223372036854775.807", "9223372036854775.808", "9223372036854775807",
		"9223372036854775807m", "9223372036854775808m", "-9223372036854775807m", "9223372036854775808", "-9223372036854775808",
		"99999999999999999999999999", "0.99999999999999999999999999", "0.0000000000000000000000001", "-0.0000000000000000000001",
		"0.0015", "-0.0015", "0.001", "0.0001", "1.0001", "1.0009999", "2.5", "2.50", "002.5", "000000000000000000000000000001",
		"1.00000000000000000000000000000", "3.000000000000000000001", "0.5Ki", "1.5Ki", "0.1Ki", "0.0001Ki", "1.23456789Gi",
		"7Ei", "8Ei", "9Ei", "0.000000000000000001Ei", "123456789012345678Ki", "1ki", "1K", "1mi", "1kI", "1Kii", "1iK", "1KK",
		"1mm", "m", "Ki", "E", "e", "1g", "1t", "1p", "1EE", "1Ee", "1E5", "1P", "9P", "10P", "1E+5", "1E-5", "1.5E", "1\u00b5",
		"1\u0661", "5\n", "5\t",
	}
	for _, suffix := range []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"} {
		for _, number := range []string{"0", "1", "-1", "1.5", "-1.5", "0.1", "12.345678", "999", "1000", "1024", "1.", ".25",
			"0001", "123456789", "1234567.891"} {
			inputs = append(inputs, number+suffix)
		}
	}
	return inputs
}
